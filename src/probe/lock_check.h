/*-------------------------------------------------------------------------
 *
 * lock_check.h
 *	  Does a piece of memory look like an LWLock of a tranche?
 *
 * Separate because everyone who follows an address that was found, and not
 * handed over, asks this first: hooks, the sampler, the names of locks.
 *
 * Hook context; reads only, does not throw.  A few loads.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_LOCK_CHECK_H
#define CPROBE_LOCK_CHECK_H

#include "storage/lwlock.h"
#include "storage/proc.h"

#include "compat.h"
#include "probe/shmem_areas.h"

/* Can this be an end of a queue of processes? */
static inline bool
cprobe_lock_queue_end_is_valid(int end)
{
	return end == CPROBE_NO_PROC ||
		(end >= 0 && (uint32) end < ProcGlobal->allProcCount);
}

/*
 * In main shared memory, aligned, of that tranche, and with a queue that has
 * possible ends.  The ends change one at a time, but each is valid at any
 * moment.
 */
static inline bool
cprobe_lock_looks_valid(const void *address, uint16 tranche)
{
	const volatile LWLock *lock = (const volatile LWLock *) address;

	return ((uintptr_t) address & (sizeof(uint32) - 1)) == 0 &&
		cprobe_shmem_contains(address, sizeof(LWLock)) &&
		lock->tranche == tranche &&
		cprobe_lock_queue_end_is_valid(lock->waiters.head) &&
		cprobe_lock_queue_end_is_valid(lock->waiters.tail);
}

/* The same by distance. */
static inline bool
cprobe_lock_is_valid(uint16 tranche, uint64 offset)
{
	return offset != 0 &&
		offset < cprobe_shmem_end - cprobe_shmem_start &&
		cprobe_lock_looks_valid(cprobe_shmem_address(offset), tranche);
}

/* Does an LWLock lie at each of so many places at equal distances? */
static inline bool
cprobe_lock_array_is_valid(const void *first, size_t stride, int count,
						   uint16 tranche)
{
	for (int i = 0; i < count; i++)
	{
		if (!cprobe_lock_looks_valid((const char *) first + stride * (size_t) i,
									 tranche))
			return false;
	}
	return count > 0;
}

#endif							/* CPROBE_LOCK_CHECK_H */
