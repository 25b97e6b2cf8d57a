/*-------------------------------------------------------------------------
 *
 * held_locks.h
 *	  A process that goes to sleep tells which LWLocks it holds.
 *
 * Separate because it serves readers who look for a holder, not the accounts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_HELD_LOCKS_H
#define CPROBE_HELD_LOCKS_H

#include "probe/slot.h"

/*
 * Publish the held locks in the slot, and take that back after the sleep.
 * Hook context.  Cost: some ns if none is held.
 */
extern void cprobe_held_locks_publish(CprobeSharedSlot *slot);
extern void cprobe_held_locks_retract(CprobeSharedSlot *slot);

/*
 * This process has waited for a lock, and probably holds it now.  Needed on
 * servers that cannot list the locks of a process.  Hook context.
 */
extern void cprobe_held_locks_remember(CprobeLockKey lock);

/* Does the sleeping owner of the slot hold the lock, as it says? */
extern bool cprobe_held_locks_has(CprobeSharedSlot *slot, CprobeLockKey lock);

#endif							/* CPROBE_HELD_LOCKS_H */
