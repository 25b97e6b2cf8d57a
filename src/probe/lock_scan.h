/*-------------------------------------------------------------------------
 *
 * lock_scan.h
 *	  Which lock a process sleeps on, found in its stack and proven by the
 *	  lock's own queue.
 *
 * Separate from the measuring of waits: this is a search over some words of
 * memory, and can be tested with any words.
 *
 * A process that is about to sleep has the lock's address in a register or in
 * the frames above.  Every word that points into main shared memory, is
 * aligned, and leads to a lock of the tranche that the wait event names is a
 * candidate.  A candidate is proven if its queue of waiters, walked from tail
 * to head, is whole and holds this process: a process is in one queue only.
 * If none is proven (a releaser took the process off the queue between the
 * two looks) a single candidate is the answer, marked so; two are none.
 *
 * What is proven can be wrong in one case only: the queue of another lock of
 * the same tranche, whose address also lies in these words, is replaced by
 * that of ours, element for element, while we walk it.
 *
 * Hook context: reads only, bounded, no locks, does not throw.  Cost: about
 * 10 ns where the place of the last hit holds the lock again, otherwise some
 * 50 ns; besides a few cache lines for the queue.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_LOCK_SCAN_H
#define CPROBE_LOCK_SCAN_H

#include "storage/lwlock.h"

typedef enum CprobeProof
{
	CPROBE_PROOF_NONE,			/* not known: no candidate, or several */
	CPROBE_PROOF_INFERRED,		/* the only candidate */
	CPROBE_PROOF_PROVEN			/* this process is in its queue */
} CprobeProof;

typedef struct CprobeLockFind
{
	CprobeProof proof;
	void	   *lock;			/* LWLock, or BufferDesc for content locks
								 * that are not LWLocks; NULL if not known */
} CprobeLockFind;

/*
 * Search the words around a frame for an LWLock of a tranche: the registers
 * that the hook's function spilled below its frame address, and the frames
 * above it.
 */
extern CprobeLockFind cprobe_lock_scan_stack(void *frame, uint16 tranche);

/* The same for a buffer whose content lock has a queue of its own. */
extern CprobeLockFind cprobe_lock_scan_stack_buffer(void *frame);

/* The search itself, over any words. hint: index to try first, or -1. */
extern CprobeLockFind cprobe_lock_scan_words(const uintptr_t *words,
											 int count, uint16 tranche,
											 int *hint);

#endif							/* CPROBE_LOCK_SCAN_H */
