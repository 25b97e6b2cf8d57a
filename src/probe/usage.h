/*-------------------------------------------------------------------------
 *
 * usage.h
 *	  What processes use of the machine: CPU time, run-queue delay, switches,
 *	  and how many transactions they end.
 *
 * Separate from waits: these are the kernel's counters, which run anyway and
 * cost nothing until somebody reads them.
 *
 * The living are read from /proc when asked for.  A process that ends leaves
 * its numbers in the region, as its last act: so sums over the living and the
 * departed lack only what a process does after that, and processes that were
 * killed or never had a transaction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_USAGE_H
#define CPROBE_USAGE_H

#include "machine/topology.h"
#include "probe/slot.h"

/* What one process has used since it started. */
typedef struct CprobeUsage
{
	bool		has_sched;		/* else CPU_NS, DELAY_NS, TIMESLICES are 0 */
	uint64		counters[CPROBE_PROCESS_COUNTERS];
} CprobeUsage;

/* Count transactions, and what processes that leave have used. _PG_init. */
extern void cprobe_usage_install(void);

/*
 * What a living process has used.  False if it has left.  Opens three files:
 * about 30 us.  Does not throw.
 */
extern bool cprobe_usage_read(int pid, CprobeUsage *usage);

/*
 * Add up all processes of this server: its postmaster, the living, and those
 * that have left.  Does not throw.
 */
extern CprobeUsage cprobe_usage_total(void);

/* Remember that total as the start of counting. By who resets. */
extern void cprobe_usage_mark_reset(void);

/* Sum of a counter over all slots and the departed of this epoch. */
extern uint64 cprobe_machine_counter_total(CprobeMachineCounter counter);

/* The process was on one CPU and is on another. Hook context. */
extern void cprobe_machine_count_move(CprobeSharedSlot *slot, int from,
									  int to);

/*
 * The process is on this CPU now.  Hook context.  Cost: 3 ns where the C
 * library knows the CPU, 10 to 20 ns through the vDSO.
 */
static inline void
cprobe_machine_see_cpu(CprobeSharedSlot *slot)
{
	int			cpu = cprobe_cpu_now();
	int			last = (int) pg_atomic_read_u32(&slot->cpu) - 1;

	if (likely(cpu == last))
		return;
	pg_atomic_write_u32(&slot->cpu, (uint32) (cpu + 1));
	if (last >= 0 && cpu >= 0)
		cprobe_machine_count_move(slot, last, cpu);
}

#endif							/* CPROBE_USAGE_H */
