/*-------------------------------------------------------------------------
 *
 * blockers.h
 *	  Who keeps the waiters of a lock waiting?
 *
 * Separate because the sampler and several views ask it.
 *
 * Not for hooks: looks at all slots.  Takes no lock, does not throw.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_BLOCKERS_H
#define CPROBE_BLOCKERS_H

#include "probe/lock_key.h"

/*
 * Pid of a process that holds the lock: at the level full of any, below of one
 * that sleeps and says so; else of the
 * one that last woke a waiter of it, which may have released it for good.  0
 * if neither is known.
 */
extern int	cprobe_blocker_pid(CprobeLockKey lock);

/* Pids of all known holders, at most limit; their number. */
extern int	cprobe_blocker_holders(CprobeLockKey lock, int *pids, int limit);

#endif							/* CPROBE_BLOCKERS_H */
