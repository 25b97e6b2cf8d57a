/*-------------------------------------------------------------------------
 *
 * usage.c
 *	  Adding up what processes use of the machine.
 *
 * Separate: see usage.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"

#include "machine/process_times.h"
#include "probe/activity.h"
#include "probe/perf_account.h"
#include "probe/usage.h"

/* The process whose leaving is prepared for; children inherit another's. */
static int	cprobe_usage_pid = 0;

bool
cprobe_usage_read(int pid, CprobeUsage *usage)
{
	CprobeProcessStat stat;
	CprobeProcessSched sched = {0};
	CprobeProcessSwitches switches = {0};
	uint64		tick_ns = cprobe_process_tick_ns();

	memset(usage, 0, sizeof(*usage));
	if (!cprobe_process_stat_read(pid, &stat))
		return false;
	usage->has_sched = cprobe_process_sched_read(pid, &sched);
	cprobe_process_switches_read(pid, &switches);
	usage->counters[CPROBE_PROCESS_USER_NS] = stat.user_ticks * tick_ns;
	usage->counters[CPROBE_PROCESS_SYSTEM_NS] = stat.system_ticks * tick_ns;
	usage->counters[CPROBE_PROCESS_CPU_NS] = sched.cpu_ns;
	usage->counters[CPROBE_PROCESS_DELAY_NS] = sched.delay_ns;
	usage->counters[CPROBE_PROCESS_TIMESLICES] = sched.timeslices;
	usage->counters[CPROBE_PROCESS_VOLUNTARY] = switches.voluntary;
	usage->counters[CPROBE_PROCESS_INVOLUNTARY] = switches.involuntary;
	usage->counters[CPROBE_PROCESS_MINOR_FAULTS] = stat.minor_faults;
	usage->counters[CPROBE_PROCESS_MAJOR_FAULTS] = stat.major_faults;
	return true;
}

static void
cprobe_usage_add(CprobeUsage *sum, int pid)
{
	CprobeUsage usage;

	if (!cprobe_usage_read(pid, &usage))
		return;
	sum->has_sched |= usage.has_sched;
	for (int i = 0; i < CPROBE_PROCESS_COUNTERS; i++)
		sum->counters[i] += usage.counters[i];
}

/*
 * The departed are read last: a process that leaves in between is counted
 * twice for a moment rather than not at all, and no sum runs backwards.
 */
CprobeUsage
cprobe_usage_total(void)
{
	CprobeUsage sum = {0};

	cprobe_usage_add(&sum, PostmasterPid);
	for (uint32 i = 0; i < cprobe_region->slot_count; i++)
	{
		int			pid = cprobe_activity_proc_pid(i);

		if (pid != 0)
			cprobe_usage_add(&sum, pid);
	}
	for (int i = 0; i < CPROBE_PROCESS_COUNTERS; i++)
		sum.counters[i] += pg_atomic_read_u64(&cprobe_region->departed_usage[i]);
	return sum;
}

void
cprobe_usage_mark_reset(void)
{
	CprobeUsage sum = cprobe_usage_total();

	for (int i = 0; i < CPROBE_PROCESS_COUNTERS; i++)
		pg_atomic_write_u64(&cprobe_region->reset_usage[i], sum.counters[i]);
}

uint64
cprobe_machine_counter_total(CprobeMachineCounter counter)
{
	uint32		epoch = cprobe_region_epoch();
	uint64		sum;

	sum = pg_atomic_read_u64(&cprobe_region->departed_machine[epoch % CPROBE_PARITIES][counter]);
	for (uint32 i = 0; i < cprobe_region->slot_count; i++)
	{
		CprobeSharedSlot *slot = cprobe_slot_get(i);

		if (slot->pid != 0 && slot->epoch == epoch)
			sum += pg_atomic_read_u64(&slot->machine[counter]);
	}
	return sum;
}

/* A move after a reset counts; epoch 0 is a slot that nobody reads. */
void
cprobe_machine_count_move(CprobeSharedSlot *slot, int from, int to)
{
	uint32		epoch = cprobe_region_epoch();

	if (slot->epoch != epoch && slot->epoch != 0)
		cprobe_slot_renew(slot, epoch);
	cprobe_counter_add(&slot->machine[CPROBE_MIGRATIONS], 1);
	if (cprobe_cpu_node(from) != cprobe_cpu_node(to))
		cprobe_counter_add(&slot->machine[CPROBE_NODE_CHANGES], 1);
}

/* before_shmem_exit: the process leaves what it has used. */
static void
cprobe_usage_leave(int code, Datum arg)
{
	CprobeUsage usage;

	(void) code;
	(void) arg;
	if (!cprobe_region_is_current())
		return;
	cprobe_perf_leave();
	if (!cprobe_usage_read(MyProcPid, &usage))
		return;
	for (int i = 0; i < CPROBE_PROCESS_COUNTERS; i++)
		pg_atomic_fetch_add_u64(&cprobe_region->departed_usage[i],
								usage.counters[i]);
}

static void
cprobe_usage_count_transaction(void)
{
	CprobeSharedSlot *slot = cprobe_slot_mine();

	if (slot == NULL)
		return;
	if (unlikely(slot->epoch != cprobe_region_epoch()))
		cprobe_slot_renew(slot, cprobe_region_epoch());
	cprobe_counter_add(&slot->machine[CPROBE_TRANSACTIONS], 1);
}

/*
 * Cost: 3 ns a transaction.  The callback at exit is registered before a
 * commit, where an error does no harm; a session's start is a transaction.
 */
static void
cprobe_usage_at_transaction(XactEvent event, void *arg)
{
	(void) arg;
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
			if (likely(cprobe_usage_pid == MyProcPid))
				break;
			cprobe_usage_pid = MyProcPid;
			before_shmem_exit(cprobe_usage_leave, (Datum) 0);
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			cprobe_usage_count_transaction();
			cprobe_perf_at_transaction();
			break;
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			cprobe_perf_at_transaction();
			break;
		default:
			break;
	}
}

void
cprobe_usage_install(void)
{
	RegisterXactCallback(cprobe_usage_at_transaction, NULL);
}
