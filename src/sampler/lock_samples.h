/*-------------------------------------------------------------------------
 *
 * lock_samples.h
 *	  Sampling how locks are held, and reporting waiters that are stuck.
 *
 * Separate from the look at the processes (tick.h): here a row is a lock.
 *
 * The sampler alone calls these.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_LOCK_SAMPLES_H
#define CPROBE_LOCK_SAMPLES_H

#include "probe/snapshot.h"

/*
 * Locks looked at in each tick: the WAL insertion locks, and those with the
 * most waits.  The others have no samples (NULL in the views).
 */
#define CPROBE_SAMPLED_LOCKS 512

/* Look at the locks. */
extern void cprobe_lock_samples_run(uint32 epoch);

/* Counters of a lock that somebody waits for now; NULL if there is no room. */
extern pg_atomic_uint64 *cprobe_lock_samples_claim(uint32 epoch,
												   const CprobeCurrentWait *wait);

/* A process that is not hooked waits for a page: count that. */
extern void cprobe_lock_samples_count_page(uint32 epoch,
										   const CprobeCurrentWait *wait);

/* What the sampler remembers of a long wait of one process. */
typedef struct CprobeStuckWatch
{
	uint32		sequence;		/* of the wait */
	int			free_looks;		/* in a row */
	bool		logged;
} CprobeStuckWatch;

/* Judge the wait of a process if it is long; log it once. May log. */
extern void cprobe_lock_samples_watch(CprobeStuckWatch *watch, int pid,
									  const char *type_name,
									  const CprobeCurrentWait *wait,
									  uint64 now_ns);

#endif							/* CPROBE_LOCK_SAMPLES_H */
