/*-------------------------------------------------------------------------
 *
 * lwlock_hooks.c
 *	  Counting acquisitions of LWLocks, and timing one in N.
 *
 * Separate: see lwlock_hooks.h.
 *
 * Cost: where nothing is timed a hook adds one to a counter and notes or
 * strikes out one lock, then goes on to the server's function by a jump, so
 * that the server's stack is as it would be without it.
 *
 * A lock is counted and listed before the server takes it.  So the list of a
 * process that waits contains the lock that it waits for, as the last one.
 *
 * Rules for everything here: no allocation, no ereport, no lock, no system
 * call, no unbounded loop; errno kept; only this process's block and bounded
 * atomics are written.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/wait_event.h"

#include "compat.h"
#include "machine/clock.h"
#include "probe/code_counts.h"
#include "probe/lwlock_hooks.h"
#include "probe/lwlock_near.h"
#include "probe/slot.h"

double		cprobe_timed_fraction = CPROBE_TIMED_FRACTION_DEFAULT;

static bool (*cprobe_lwlock_acquire) (LWLock *lock, LWLockMode mode);
static bool (*cprobe_lwlock_conditional_acquire) (LWLock *lock, LWLockMode mode);
static bool (*cprobe_lwlock_acquire_or_wait) (LWLock *lock, LWLockMode mode);
static void (*cprobe_lwlock_release) (LWLock *lock);
static void (*cprobe_lwlock_release_all) (void);
static bool (*cprobe_lwlock_wait_for_var) (LWLock *lock, CPROBE_LOCK_VARIABLE * variable, uint64 old_value, uint64 *new_value);

/* Since when the lock that is timed is held. */
static uint64 cprobe_lwlock_timed_since_ns;

/* Choosing by a count alone would fall in step with loops of the server. */
static uint32 cprobe_timed_random = 2463534242U;

int32
cprobe_timed_next(void)
{
	double		mean;

	if (cprobe_timed_fraction <= 0)
		return PG_INT32_MAX;
	mean = 1 / cprobe_timed_fraction;
	if (mean < 1 || mean > PG_INT32_MAX / 4)
		return mean < 1 ? 1 : PG_INT32_MAX;
	cprobe_timed_random ^= cprobe_timed_random << 13;
	cprobe_timed_random ^= cprobe_timed_random >> 17;
	cprobe_timed_random ^= cprobe_timed_random << 5;
	return 1 + (int32) (cprobe_timed_random % (uint32) (2 * mean - 1));
}

void
cprobe_lwlock_hooks_choose_anew(void)
{
	cprobe_code_local.countdown = 1;
}

/* Note a lock that is about to be held. */
static inline void
cprobe_lwlock_note(CprobeSharedCode *mine, LWLock *lock, LWLockMode mode)
{
	uint32		count = mine->held_count;

	if (unlikely(count >= CPROBE_CODE_HELD_LOCKS))
	{
		mine->held_beyond++;
		return;
	}
	mine->held[count] = (uintptr_t) lock | (uintptr_t) mode;
	mine->held_count = count + 1;
}

/* Strike out a lock that is not the last one; false if it is not listed. */
static pg_noinline bool
cprobe_lwlock_strike(CprobeSharedCode *mine, LWLock *lock)
{
	uint32		count = mine->held_count;

	for (uint32 i = count; i-- > 0;)
	{
		if ((mine->held[i] & ~CPROBE_CODE_HELD_MODE_MASK) != (uintptr_t) lock)
			continue;
		for (; i + 1 < count; i++)
			mine->held[i] = mine->held[i + 1];
		mine->held_count = count - 1;
		return true;
	}
	return false;
}

/* A lock that is timed is released now. */
static pg_noinline void
cprobe_lwlock_account_hold(LWLock *lock)
{
	uint64		duration_ns = cprobe_clock_now_ns() -
	cprobe_lwlock_timed_since_ns;
	CprobeSharedHold *hold;

	cprobe_code_local.timed_lock = NULL;
	if (cprobe_code_mine == NULL || !cprobe_code_is_active())
		return;
	hold = cprobe_code_hold(cprobe_region_epoch(), cprobe_code_cell(lock));
	pg_atomic_fetch_add_u64(&hold->time_ns, duration_ns);
	cprobe_histogram_add(&hold->histogram, duration_ns);
}

/* This lock was chosen, and has been acquired. */
static pg_noinline void
cprobe_lwlock_begin_hold(LWLock *lock)
{
	cprobe_code_local.countdown = cprobe_timed_next();
	cprobe_code_local.timed_lock = lock;
	cprobe_lwlock_timed_since_ns = cprobe_clock_now_ns();
}

static pg_noinline bool
cprobe_lwlock_acquire_timed(LWLock *lock, LWLockMode mode)
{
	bool		result = cprobe_lwlock_acquire(lock, mode);

	cprobe_lwlock_begin_hold(lock);
	return result;
}

/* Nothing is measured, or the process does not know its block yet. */
static pg_noinline bool
cprobe_lwlock_acquire_unknown(LWLock *lock, LWLockMode mode)
{
	CprobeSharedCode *mine = cprobe_code_find();

	if (mine != NULL)
	{
		mine->counts.cells[cprobe_code_cell(lock)][mode]++;
		cprobe_lwlock_note(mine, lock, mode);
	}
	return cprobe_lwlock_acquire(lock, mode);
}

static bool
cprobe_lwlock_acquire_hook(LWLock *lock, LWLockMode mode)
{
	CprobeSharedCode *mine = cprobe_code_mine;

	if (unlikely(mine == NULL))
		return cprobe_lwlock_acquire_unknown(lock, mode);
	mine->counts.cells[cprobe_code_cell(lock)][mode]++;
	cprobe_lwlock_note(mine, lock, mode);
	if (unlikely(--cprobe_code_local.countdown <= 0))
		return cprobe_lwlock_acquire_timed(lock, mode);
	return cprobe_lwlock_acquire(lock, mode);
}

static bool
cprobe_lwlock_conditional_acquire_hook(LWLock *lock, LWLockMode mode)
{
	CprobeSharedCode *mine = cprobe_code_mine;
	bool		acquired = cprobe_lwlock_conditional_acquire(lock, mode);

	if (unlikely(mine == NULL) && (mine = cprobe_code_find()) == NULL)
		return acquired;
	if (!acquired)
	{
		mine->counts.cells[cprobe_code_cell(lock)][CPROBE_CELL_CONDITIONAL_FAILURES]++;
		return false;
	}
	mine->counts.cells[cprobe_code_cell(lock)][mode]++;
	cprobe_lwlock_note(mine, lock, mode);
	if (unlikely(--cprobe_code_local.countdown <= 0))
		cprobe_lwlock_begin_hold(lock);
	return true;
}

/* False: the lock was not free, and now it is; it was not acquired. */
static bool
cprobe_lwlock_acquire_or_wait_hook(LWLock *lock, LWLockMode mode)
{
	CprobeSharedCode *mine = cprobe_code_mine;
	bool		acquired = cprobe_lwlock_acquire_or_wait(lock, mode);

	if (unlikely(mine == NULL) && (mine = cprobe_code_find()) == NULL)
		return acquired;
	if (!acquired)
	{
		mine->counts.cells[cprobe_code_cell(lock)][CPROBE_CELL_NOT_ACQUIRED]++;
		return false;
	}
	mine->counts.cells[cprobe_code_cell(lock)][mode]++;
	cprobe_lwlock_note(mine, lock, mode);
	if (unlikely(--cprobe_code_local.countdown <= 0))
		cprobe_lwlock_begin_hold(lock);
	return true;
}

/*
 * Common part of all ways to release a lock; may be run twice for one.  False
 * if it is not listed: it is one beyond the list, or was taken while nothing
 * was measured, or has been struck out already.
 */
static inline bool
cprobe_lwlock_note_release(LWLock *lock)
{
	CprobeSharedCode *mine = cprobe_code_mine;
	uint32		count;

	if (unlikely(lock == cprobe_code_local.timed_lock))
		cprobe_lwlock_account_hold(lock);
	if (unlikely(mine == NULL))
		return true;
	count = mine->held_count - 1;
	if (likely(count < CPROBE_CODE_HELD_LOCKS &&
			   (mine->held[count] ^ (uintptr_t) lock) <= CPROBE_CODE_HELD_MODE_MASK))
	{
		mine->held_count = count;
		return true;
	}
	return cprobe_lwlock_strike(mine, lock);
}

static void
cprobe_lwlock_release_hook(LWLock *lock)
{
	if (unlikely(!cprobe_lwlock_note_release(lock)) &&
		cprobe_code_mine->held_beyond > 0)
		cprobe_code_mine->held_beyond--;
	cprobe_lwlock_release(lock);
}

/* Not every server releases them one by one through LWLockRelease. */
static void
cprobe_lwlock_release_all_hook(void)
{
	if (cprobe_code_mine != NULL)
		cprobe_code_hold_nothing(cprobe_code_mine);
	cprobe_code_local.timed_lock = NULL;
	cprobe_lwlock_release_all();
}

/*
 * Waits for others' insertions of WAL.  What was slept in the call is known
 * from the account of waits, without looking at the clock.
 */
static bool
cprobe_lwlock_wait_for_var_hook(LWLock *lock, CPROBE_LOCK_VARIABLE * variable,
								uint64 old_value, uint64 *new_value)
{
	CprobeSharedSlot *slot;
	CprobeSharedWaits *waits;
	uint64		waits_before;
	uint64		time_before_ns;
	uint64	   *wal;
	bool		result;

	if (cprobe_code_mine == NULL || lock->tranche != LWTRANCHE_WAL_INSERT ||
		(slot = cprobe_slot_mine()) == NULL)
		return cprobe_lwlock_wait_for_var(lock, variable, old_value, new_value);
	waits = &slot->waits[cprobe_event_index_number(&cprobe_region->events,
												   PG_WAIT_LWLOCK | LWTRANCHE_WAL_INSERT,
												   false)];
	waits_before = pg_atomic_read_u64(&waits->waits);
	time_before_ns = pg_atomic_read_u64(&waits->time_ns);
	result = cprobe_lwlock_wait_for_var(lock, variable, old_value, new_value);
	if (likely(pg_atomic_read_u64(&waits->waits) <= waits_before) ||
		cprobe_code_mine == NULL)
		return result;
	wal = cprobe_code_mine->counts.wal[cprobe_slot_my_type()];
	wal[CPROBE_WAL_FINISH_WAITS] +=
		pg_atomic_read_u64(&waits->waits) - waits_before;
	wal[CPROBE_WAL_FINISH_NS] +=
		pg_atomic_read_u64(&waits->time_ns) - time_before_ns;
	return result;
}

#define CPROBE_LWLOCK_DETOUR(name, hook) \
	.symbol = name, .replacement = (void *) hook##_hook, \
	.original = (void **) &hook

static const CprobeDetour cprobe_lwlock_detours[CPROBE_LWLOCK_HOOKS] = {
	[CPROBE_LWLOCK_ACQUIRE] =
	{CPROBE_LWLOCK_DETOUR("LWLockAcquire", cprobe_lwlock_acquire),.near_code = CPROBE_NEAR_ACQUIRE},
	[CPROBE_LWLOCK_CONDITIONAL_ACQUIRE] =
	{CPROBE_LWLOCK_DETOUR("LWLockConditionalAcquire", cprobe_lwlock_conditional_acquire)},
	[CPROBE_LWLOCK_ACQUIRE_OR_WAIT] =
	{CPROBE_LWLOCK_DETOUR("LWLockAcquireOrWait", cprobe_lwlock_acquire_or_wait)},
	[CPROBE_LWLOCK_RELEASE] =
	{CPROBE_LWLOCK_DETOUR("LWLockRelease", cprobe_lwlock_release),.near_code = CPROBE_NEAR_RELEASE},
	[CPROBE_LWLOCK_RELEASE_ALL] =
	{CPROBE_LWLOCK_DETOUR("LWLockReleaseAll", cprobe_lwlock_release_all)},
	[CPROBE_LWLOCK_WAIT_FOR_VAR] =
	{CPROBE_LWLOCK_DETOUR("LWLockWaitForVar", cprobe_lwlock_wait_for_var)},
};

void
cprobe_lwlock_hook_describe(CprobeLWLockHook hook, CprobeDetour *detour)
{
	*detour = cprobe_lwlock_detours[hook];
}
