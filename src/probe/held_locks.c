/*-------------------------------------------------------------------------
 *
 * held_locks.c
 *	  Publishing the LWLocks that a sleeping process holds.
 *
 * Separate: see held_locks.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/lwlock.h"

#include "probe/held_locks.h"
#include "probe/lock_scan.h"
#include "probe/shmem_areas.h"

/* Looks at a list that changes. */
#define CPROBE_HELD_MAX_TRIES 100

/* Add one lock; extra ones are only counted. Locks in DSM are left out. */
static void
cprobe_held_locks_add(LWLock *lock, LWLockMode mode, void *context)
{
	CprobeSharedSlot *slot = context;
	uint64		offset = cprobe_shmem_offset(lock);

	(void) mode;
	if (offset == 0)
		return;
	if (slot->held_count < CPROBE_HELD_LOCKS)
		slot->held_locks[slot->held_count] =
			CPROBE_LOCK_KEY(lock->tranche, offset);
	slot->held_count++;
}

#if CPROBE_LISTS_HELD_LWLOCKS

void
cprobe_held_locks_remember(CprobeLockKey lock)
{
	(void) lock;
}

static void
cprobe_held_locks_collect(CprobeSharedSlot *slot)
{
	ForEachLWLockHeldByMe(cprobe_held_locks_add, slot);
}

#else

/*
 * The server does not list what it holds.  It can be asked about a lock, so
 * the locks that this process has lately waited for, and then probably got,
 * are asked about.  A lock that it got without waiting stays unknown.
 */
#define CPROBE_HELD_RECENT 8

static CprobeLockKey cprobe_recent_locks[CPROBE_HELD_RECENT];
static uint32 cprobe_recent_next;

void
cprobe_held_locks_remember(CprobeLockKey lock)
{
	if (CPROBE_LOCK_KEY_OFFSET(lock) == 0 ||
		CPROBE_LOCK_KEY_TRANCHE(lock) == CPROBE_TRANCHE_BUFFER)
		return;
	for (int i = 0; i < CPROBE_HELD_RECENT; i++)
	{
		if (cprobe_recent_locks[i] == lock)
			return;
	}
	cprobe_recent_locks[cprobe_recent_next++ % CPROBE_HELD_RECENT] = lock;
}

static void
cprobe_held_locks_collect(CprobeSharedSlot *slot)
{
	for (int i = 0; i < CPROBE_HELD_RECENT; i++)
	{
		LWLock	   *lock;

		if (cprobe_recent_locks[i] == 0)
			continue;
		lock = cprobe_shmem_address(CPROBE_LOCK_KEY_OFFSET(cprobe_recent_locks[i]));
		if (LWLockHeldByMe(lock))
			cprobe_held_locks_add(lock, LW_EXCLUSIVE, slot);
	}
}

#endif

void
cprobe_held_locks_publish(CprobeSharedSlot *slot)
{
	/* Not while a reader may believe the list of the last sleep. */
	cprobe_held_locks_retract(slot);
	slot->held_count = 0;
	cprobe_held_locks_collect(slot);
	if (slot->held_count == 0)
		return;
	pg_write_barrier();
	pg_atomic_write_u32(&slot->held_sequence,
						pg_atomic_read_u32(&slot->held_sequence) | 1);
}

void
cprobe_held_locks_retract(CprobeSharedSlot *slot)
{
	uint32		sequence = pg_atomic_read_u32(&slot->held_sequence);

	if (unlikely((sequence & 1) != 0))
		pg_atomic_write_u32(&slot->held_sequence, sequence + 1);
}

bool
cprobe_held_locks_has(CprobeSharedSlot *slot, CprobeLockKey lock)
{
	for (int tries = 0; tries < CPROBE_HELD_MAX_TRIES; tries++)
	{
		uint32		sequence = pg_atomic_read_u32(&slot->held_sequence);
		bool		found = false;

		if ((sequence & 1) == 0)
			return false;
		pg_read_barrier();
		for (uint32 i = 0; i < Min(slot->held_count, CPROBE_HELD_LOCKS); i++)
			found |= slot->held_locks[i] == lock;
		pg_read_barrier();
		if (pg_atomic_read_u32(&slot->held_sequence) == sequence)
			return found;
	}
	return false;
}
