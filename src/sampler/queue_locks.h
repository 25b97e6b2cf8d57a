/*-------------------------------------------------------------------------
 *
 * queue_locks.h
 *	  Which lock does a process wait for that does not say so?
 *
 * Separate from the look at the processes (tick.h): here locks are gone
 * through, and the processes in their queues are told apart.
 *
 * A process that is not hooked shows the tranche that it waits for, and it is
 * in the queue of one lock of that tranche.  So once in a look the locks of
 * the tranches that are waited for are gone through: first those on which a
 * queue has been found before, and those whose place is known; then, if there
 * are waiters left, one more stretch of the buffers' content locks, or of the
 * areas of shared memory that may hold a lock of that tranche.  The stretches
 * are bounded, so that a waiter may be found some looks later.  Locks outside
 * of main shared memory are not found.
 *
 * Queues are read without their locks: a queue that changes under the look is
 * given up where it stops to fit together, and its members are found the next
 * time.
 *
 * The sampler alone calls these.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_QUEUE_LOCKS_H
#define CPROBE_QUEUE_LOCKS_H

#include "probe/lock_key.h"

/* Allocate. May throw. */
extern void cprobe_queue_locks_init(void);

/* Does every process of this server say itself what it waits for? */
extern bool cprobe_queue_all_are_hooked(void);

/* Find the locks of all processes that wait for one and are not hooked. */
extern void cprobe_queue_locks_look(void);

/* The lock that a process was found to wait for in this look; 0 = none. */
extern CprobeLockKey cprobe_queue_locks_get(uint32 number);

/* Tranche of the lock that a wait event is for, 0 if it is for no lock. */
extern uint16 cprobe_queue_tranche(uint32 info);

#endif							/* CPROBE_QUEUE_LOCKS_H */
