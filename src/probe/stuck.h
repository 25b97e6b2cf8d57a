/*-------------------------------------------------------------------------
 *
 * stuck.h
 *	  Why does a process wait so long for a lock?
 *
 * Separate because both the sampler, which logs it, and the view
 * stuck_waiters judge by the same rules.
 *
 * Not for hooks: looks at all slots and opens files.  Takes no lock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_STUCK_H
#define CPROBE_STUCK_H

#include "probe/lock_state.h"
#include "probe/snapshot.h"

#define CPROBE_STUCK_AFTER_DEFAULT_MS 1000
#define CPROBE_STUCK_AFTER_MIN_MS 10
#define CPROBE_STUCK_AFTER_MAX_MS 3600000

/* Holders that are named. */
#define CPROBE_STUCK_MAX_HOLDERS 16

/*
 * Looks, one after the other, at which a lock must be free while the same
 * waiter still sleeps on it.  One is not enough: a lock is free for a moment
 * between release and the waiter's waking.
 */
#define CPROBE_STUCK_FREE_LOOKS 3

typedef enum CprobeVerdict
{
	CPROBE_VERDICT_UNDECIDED,	/* free, but not seen so often enough */
	CPROBE_VERDICT_LOST_WAKEUP, /* nobody holds it and nobody wakes */
	CPROBE_VERDICT_HOLDER_STOPPED,	/* a known holder is stopped */
	CPROBE_VERDICT_LONG_HOLD	/* it is held */
} CprobeVerdict;

typedef struct CprobeStuck
{
	CprobeVerdict verdict;
	CprobeLockState state;
	int			holder_count;	/* known holders; 0 = unknown */
	int			holders[CPROBE_STUCK_MAX_HOLDERS];	/* pids */
} CprobeStuck;

/* GUC contention_probe.stuck_after, ms */
extern int	cprobe_stuck_after_ms;

/* Is that wait for an LWLock or content lock, and longer than stuck_after? */
extern bool cprobe_stuck_is_long(const CprobeCurrentWait *wait,
								 uint64 now_ns);

/*
 * Judge a long wait.  free_looks: looks before this one at which the lock was
 * free in the same wait.
 */
extern CprobeStuck cprobe_stuck_judge(const CprobeCurrentWait *wait,
									  int free_looks);

/* For display. */
extern const char *cprobe_verdict_name(CprobeVerdict verdict);

/* "free", "exclusive", "shared (2)", "unknown"; static or palloc'd. */
extern const char *cprobe_lock_state_text(const CprobeLockState *state);

#endif							/* CPROBE_STUCK_H */
