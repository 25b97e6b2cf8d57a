/*-------------------------------------------------------------------------
 *
 * perf_account.h
 *	  Each process's perf counters, where others can read them.
 *
 * Separate from opening and reading them (machine/perf_events.h).
 *
 * A process opens counters for itself at the end of a transaction, when
 * contention_probe.perf_events asks for them, and shows what they say at the
 * end of transactions, at most every 10 ms, and when it leaves.  Nobody needs
 * to be allowed to look at another process.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_PERF_ACCOUNT_H
#define CPROBE_PERF_ACCOUNT_H

#include "machine/perf_events.h"
#include "probe/region.h"

typedef enum CprobePerfLevel
{
	CPROBE_PERF_OFF,
	CPROBE_PERF_SOFTWARE,
	CPROBE_PERF_HARDWARE
} CprobePerfLevel;

/* GUC contention_probe.perf_events, a CprobePerfLevel */
extern int	cprobe_perf_events;

/*
 * Counters of the process with a number.  Written by it alone, read word by
 * word.
 */
typedef struct CprobeSharedPerf
{
	pg_atomic_uint32 pid;		/* whose they are; 0 = nobody's */
	uint8		errors[CPROBE_PERF_COUNTERS];	/* as in CprobePerfSet */
	pg_atomic_uint64 updated_at;	/* TimestampTz */
	pg_atomic_uint64 values[CPROBE_PERF_COUNTERS];
} CprobeSharedPerf;

/* [slot_count] is the sum of those that have left, since server start. */
static inline CprobeSharedPerf *
cprobe_perf_get(uint32 number)
{
	return (CprobeSharedPerf *) cprobe_region_perf() + number;
}

/* perf_account.c's: what is open, and the work of the next function. */
extern int	cprobe_perf_level;
extern void cprobe_perf_follow(void);

/*
 * Open, close or read counters, whatever is due.  At the end of a
 * transaction.  Does not throw.  Cost: a compare when off; else 25 ns, and
 * every 10 ms about 0.5 us for each counter.
 */
static inline void
cprobe_perf_at_transaction(void)
{
	if (unlikely(cprobe_perf_events != CPROBE_PERF_OFF ||
				 cprobe_perf_level != CPROBE_PERF_OFF))
		cprobe_perf_follow();
}

/* Show what they say now, whenever it was last done. Does not throw. */
extern void cprobe_perf_show_mine(void);

/* The region is about to go: close them, and count anew in the next one. */
extern void cprobe_perf_forget(void);

/* The process leaves: add to the sum, and close them. */
extern void cprobe_perf_leave(void);

#endif							/* CPROBE_PERF_ACCOUNT_H */
