/*-------------------------------------------------------------------------
 *
 * outside_look.h
 *	  Following the waits for locks of processes that are not hooked.
 *
 * Separate from finding the locks (queue_locks.h) and from one look at all
 * processes (tick.h).
 *
 * The sampler cannot see a wait begin.  It knows when it first saw it, to a
 * sample interval.  A process that waits for the same lock again and again may
 * look as if it had waited all the time; so before a wait counts as long, the
 * kernel is asked whether the process has run meanwhile.
 *
 * The sampler alone calls these.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_OUTSIDE_LOOK_H
#define CPROBE_OUTSIDE_LOOK_H

#include "probe/outside_waits.h"

/* Allocate. May throw. */
extern void cprobe_outside_look_init(void);

/*
 * Look at a process that is not hooked and waits under an event.  Behind
 * cprobe_queue_locks_look.  Fills in the wait and shows it to readers; false
 * if it is not for a lock.
 */
extern bool cprobe_outside_look(uint32 number, int pid, uint32 info,
								uint64 now_ns, CprobeCurrentWait *wait);

/* The process does not wait for a lock, or it is hooked, or gone. */
extern void cprobe_outside_end(uint32 number);

#endif							/* CPROBE_OUTSIDE_LOOK_H */
