/*-------------------------------------------------------------------------
 *
 * locks.c
 *	  Holding locks, waiting for them, and losing a wake-up.
 *
 * Separate from finding them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/dsm.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "machine/clock.h"
#include "testkit.h"

PG_FUNCTION_INFO_V1(tk_hold);
PG_FUNCTION_INFO_V1(tk_wait_on);
PG_FUNCTION_INFO_V1(tk_acquire_many);
PG_FUNCTION_INFO_V1(tk_is_held);
PG_FUNCTION_INFO_V1(tk_chain);
PG_FUNCTION_INFO_V1(tk_lose_wakeup);
PG_FUNCTION_INFO_V1(tk_rescue);
PG_FUNCTION_INFO_V1(tk_dsm_create);
PG_FUNCTION_INFO_V1(tk_dsm_drop);
PG_FUNCTION_INFO_V1(tk_spin_hold);
PG_FUNCTION_INFO_V1(tk_spin_wait);

/* Nobody holds a lock for longer: a test that went wrong must end. */
#define TESTKIT_MAX_HOLD_MS 60000

/* A spinlock that is held for minutes makes the server panic. */
#define TESTKIT_MAX_SPIN_MS 5000

#define TESTKIT_POLL_US 500

/* Looks, one after the other, at which a lock must be held. */
#define TESTKIT_HELD_LOOKS 10

#define TESTKIT_NS_PER_MS (CPROBE_NS_PER_S / 1000)

static double
testkit_ms_since(uint64 begin_ns)
{
	return (double) (cprobe_clock_now_ns() - begin_ns) / CPROBE_NS_PER_MS;
}

static CprobeTestMode
testkit_mode(const char *name)
{
	if (strcmp(name, "exclusive") == 0)
		return TESTKIT_EXCLUSIVE;
	if (strcmp(name, "shared") == 0)
		return TESTKIT_SHARED;
	if (strcmp(name, "until free") == 0)
		return TESTKIT_UNTIL_FREE;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("mode \"%s\" is none of exclusive, shared, until free",
					name)));
}

static void
testkit_check_ms(int ms, int max_ms)
{
	if (ms < 0 || ms > max_ms)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d ms is outside of 0 to %d", ms, max_ms)));
}

/* False: waited until the lock was free, and did not get it. */
static bool
testkit_acquire(const CprobeTestLock *lock, CprobeTestMode mode)
{
	if (lock->lwlock == NULL)
		LockBuffer(lock->buffer, mode == TESTKIT_SHARED ?
				   BUFFER_LOCK_SHARE : BUFFER_LOCK_EXCLUSIVE);
	else if (mode == TESTKIT_UNTIL_FREE)
		return LWLockAcquireOrWait(lock->lwlock, LW_EXCLUSIVE);
	else
		LWLockAcquire(lock->lwlock, mode == TESTKIT_SHARED ?
					  LW_SHARED : LW_EXCLUSIVE);
	return true;
}

static void
testkit_release(const CprobeTestLock *lock)
{
	if (lock->lwlock == NULL)
		LockBuffer(lock->buffer, BUFFER_LOCK_UNLOCK);
	else
		LWLockRelease(lock->lwlock);
}

static bool
testkit_is_held(const CprobeTestLock *lock)
{
	LWLock	   *lwlock = lock->lwlock;

	if (lwlock == NULL)
	{
		BufferDesc *descriptor = GetBufferDescriptor(lock->buffer - 1);

		lwlock = CPROBE_CONTENT_LWLOCK(descriptor);
		if (lwlock == NULL)
			return CPROBE_BUFFER_IS_LOCKED_EXCLUSIVE(descriptor) ||
				CPROBE_BUFFER_SHARE_HOLDERS(descriptor) > 0;
	}
	return (pg_atomic_read_u32(&lwlock->state) &
			(CPROBE_LWLOCK_EXCLUSIVE | CPROBE_LWLOCK_SHARED_MASK)) != 0;
}

/*
 * Return once somebody holds the lock, and not just for a moment.  The sleep
 * is none that the server would show as a wait.
 */
static void
testkit_await_holder(const CprobeTestLock *lock)
{
	uint64		begin_ns = cprobe_clock_now_ns();
	int			looks = 0;

	while (looks < TESTKIT_HELD_LOOKS)
	{
		looks = testkit_is_held(lock) ? looks + 1 : 0;
		CHECK_FOR_INTERRUPTS();
		if (testkit_ms_since(begin_ns) > TESTKIT_MAX_HOLD_MS)
			elog(ERROR, "nobody took the lock");
		pg_usleep(TESTKIT_POLL_US);
	}
}

/* How a holder passes the time. */
typedef enum CprobeTestPastime
{
	TESTKIT_SLEEP,				/* asleep, in what the server shows as no wait */
	TESTKIT_LATCH,				/* asleep, on its latch under a wait event */
	TESTKIT_SPIN				/* awake */
} CprobeTestPastime;

static CprobeTestPastime
testkit_pastime(const char *name)
{
	if (strcmp(name, "sleep") == 0)
		return TESTKIT_SLEEP;
	if (strcmp(name, "latch") == 0)
		return TESTKIT_LATCH;
	if (strcmp(name, "spin") == 0)
		return TESTKIT_SPIN;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("\"%s\" is none of sleep, latch, spin", name)));
}

/* Sleep on the latch for that long, or until it is set. */
static void
testkit_sleep_on_latch(uint64 ns)
{
	(void) WaitLatch(MyLatch,
					 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 (long) (ns / TESTKIT_NS_PER_MS + 1), PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
}

/*
 * Pass the time with locks held.  The latch is left set: whoever set it
 * meanwhile is served once the lock is released.
 */
static void
testkit_pass(int ms, CprobeTestPastime pastime)
{
	uint64		end_ns;
	uint64		now_ns;

	end_ns = cprobe_clock_now_ns() + (uint64) ms * TESTKIT_NS_PER_MS;
	while ((now_ns = cprobe_clock_now_ns()) < end_ns)
	{
		if (pastime == TESTKIT_LATCH)
			testkit_sleep_on_latch(end_ns - now_ns);
		else if (pastime == TESTKIT_SLEEP)
			pg_usleep(TESTKIT_POLL_US);
	}
	if (pastime == TESTKIT_LATCH)
		SetLatch(MyLatch);
}

/* tk_hold(lock text, mode text, ms int, pastime text): ms held. */
Datum
tk_hold(PG_FUNCTION_ARGS)
{
	CprobeTestMode mode = testkit_mode(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	int			ms = PG_GETARG_INT32(2);
	CprobeTestPastime pastime;
	CprobeTestLock lock;
	uint64		begin_ns;
	double		held_ms = 0;

	testkit_check_ms(ms, TESTKIT_MAX_HOLD_MS);
	pastime = testkit_pastime(text_to_cstring(PG_GETARG_TEXT_PP(3)));
	lock = testkit_lock_locate(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	if (testkit_acquire(&lock, mode))
	{
		begin_ns = cprobe_clock_now_ns();
		testkit_pass(ms, pastime);
		held_ms = testkit_ms_since(begin_ns);
		testkit_release(&lock);
	}
	testkit_lock_forget(&lock);
	PG_RETURN_FLOAT8(held_ms);
}

/*
 * tk_wait_on(lock text, mode text, once_held bool): ms that it took to get
 * the lock; once_held: begin when somebody holds it.
 */
Datum
tk_wait_on(PG_FUNCTION_ARGS)
{
	CprobeTestMode mode = testkit_mode(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	CprobeTestLock lock;
	uint64		begin_ns;
	double		waited_ms;
	bool		acquired;

	lock = testkit_lock_locate(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	if (PG_GETARG_BOOL(2))
		testkit_await_holder(&lock);
	begin_ns = cprobe_clock_now_ns();
	acquired = testkit_acquire(&lock, mode);
	waited_ms = testkit_ms_since(begin_ns);
	if (acquired)
		testkit_release(&lock);
	testkit_lock_forget(&lock);
	PG_RETURN_FLOAT8(waited_ms);
}

/* tk_acquire_many(lock text, mode text, n int): ms that it took. */
Datum
tk_acquire_many(PG_FUNCTION_ARGS)
{
	CprobeTestMode mode = testkit_mode(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	int			count = PG_GETARG_INT32(2);
	CprobeTestLock lock;
	uint64		begin_ns;
	double		taken_ms;

	lock = testkit_lock_locate(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	begin_ns = cprobe_clock_now_ns();
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (testkit_acquire(&lock, mode))
			testkit_release(&lock);
	}
	taken_ms = testkit_ms_since(begin_ns);
	testkit_lock_forget(&lock);
	PG_RETURN_FLOAT8(taken_ms);
}

/* tk_is_held(lock text): does anybody hold it now? */
Datum
tk_is_held(PG_FUNCTION_ARGS)
{
	CprobeTestLock lock;
	bool		held;

	lock = testkit_lock_locate(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	held = testkit_is_held(&lock);
	testkit_lock_forget(&lock);
	PG_RETURN_BOOL(held);
}

/* tk_chain(first text, second text): hold one, wait for the other. */
Datum
tk_chain(PG_FUNCTION_ARGS)
{
	CprobeTestLock first;
	CprobeTestLock second;
	uint64		begin_ns;
	double		waited_ms;

	first = testkit_lock_locate(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	second = testkit_lock_locate(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	(void) testkit_acquire(&first, TESTKIT_EXCLUSIVE);
	begin_ns = cprobe_clock_now_ns();
	(void) testkit_acquire(&second, TESTKIT_EXCLUSIVE);
	waited_ms = testkit_ms_since(begin_ns);
	testkit_release(&second);
	testkit_release(&first);
	testkit_lock_forget(&second);
	testkit_lock_forget(&first);
	PG_RETURN_FLOAT8(waited_ms);
}

/*
 * tk_lose_wakeup(lock text, ms int): hold the lock until somebody waits for
 * it, for so long at most, then release it without waking the waiter.  True
 * if there was one: it sleeps then on a lock that nobody holds, until
 * somebody takes and releases the lock, as tk_rescue does.
 *
 * The lock's state says for the moment of the release that nobody waits; the
 * queue itself stays as it is.  If another process begins to wait in that
 * moment, it sets the flag again and the release wakes both: so the caller
 * must see to it that there is one waiter.
 */
Datum
tk_lose_wakeup(PG_FUNCTION_ARGS)
{
	int			ms = PG_GETARG_INT32(1);
	CprobeTestLock lock;
	uint64		begin_ns;
	bool		waited_for;

	testkit_check_ms(ms, TESTKIT_MAX_HOLD_MS);
	lock = testkit_lock_locate(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	if (lock.lwlock == NULL)
		elog(ERROR, "this works with LWLocks only");

	LWLockAcquire(lock.lwlock, LW_EXCLUSIVE);
	begin_ns = cprobe_clock_now_ns();
	do
	{
		waited_for = (pg_atomic_read_u32(&lock.lwlock->state) &
					  CPROBE_LWLOCK_HAS_WAITERS) != 0;
		/* The waiter sets the flag before it sleeps: give it the time. */
		pg_usleep(10000);
	} while (!waited_for && testkit_ms_since(begin_ns) < ms);

	if (waited_for)
		pg_atomic_fetch_and_u32(&lock.lwlock->state,
								~CPROBE_LWLOCK_HAS_WAITERS);
	LWLockRelease(lock.lwlock);
	if (waited_for)
		pg_atomic_fetch_or_u32(&lock.lwlock->state,
							   CPROBE_LWLOCK_HAS_WAITERS);
	PG_RETURN_BOOL(waited_for);
}

/* tk_rescue(lock text): take and release the lock, which wakes its waiters. */
Datum
tk_rescue(PG_FUNCTION_ARGS)
{
	CprobeTestLock lock;

	lock = testkit_lock_locate(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	if (testkit_acquire(&lock, TESTKIT_EXCLUSIVE))
		testkit_release(&lock);
	testkit_lock_forget(&lock);
	PG_RETURN_VOID();
}

/* tk_dsm_create(): the lock 'dsm', in a segment that outlives the session. */
Datum
tk_dsm_create(PG_FUNCTION_ARGS)
{
	CprobeTestShared *shared = testkit_shared();
	dsm_segment *segment;

	(void) fcinfo;
	if (shared->dsm_exists)
		elog(ERROR, "the lock \"dsm\" exists");
	if (shared->dsm_tranche == 0)
		shared->dsm_tranche = CPROBE_NEW_TRANCHE_ID(TESTKIT_DSM_TRANCHE);
	CPROBE_REGISTER_TRANCHE(shared->dsm_tranche, TESTKIT_DSM_TRANCHE);
	segment = dsm_create(sizeof(LWLock), 0);
	LWLockInitialize(dsm_segment_address(segment), shared->dsm_tranche);
	dsm_pin_segment(segment);
	dsm_pin_mapping(segment);
	shared->dsm_segment = dsm_segment_handle(segment);
	shared->dsm_exists = true;
	PG_RETURN_VOID();
}

/* tk_dsm_drop(): the segment goes when no session has it mapped any more. */
Datum
tk_dsm_drop(PG_FUNCTION_ARGS)
{
	CprobeTestShared *shared = testkit_shared();

	(void) fcinfo;
	if (shared->dsm_exists)
		dsm_unpin_segment(shared->dsm_segment);
	shared->dsm_exists = false;
	PG_RETURN_VOID();
}

/* tk_spin_hold(ms int): hold a spinlock; ms held. */
Datum
tk_spin_hold(PG_FUNCTION_ARGS)
{
	CprobeTestShared *shared = testkit_shared();
	int			ms = PG_GETARG_INT32(0);
	uint64		begin_ns;
	double		held_ms;

	testkit_check_ms(ms, TESTKIT_MAX_SPIN_MS);
	HOLD_INTERRUPTS();
	SpinLockAcquire(&shared->spinlock);
	begin_ns = cprobe_clock_now_ns();
	testkit_pass(ms, TESTKIT_SLEEP);
	held_ms = testkit_ms_since(begin_ns);
	SpinLockRelease(&shared->spinlock);
	RESUME_INTERRUPTS();
	PG_RETURN_FLOAT8(held_ms);
}

/* tk_spin_wait(): take and release that spinlock; ms that it took. */
Datum
tk_spin_wait(PG_FUNCTION_ARGS)
{
	CprobeTestShared *shared = testkit_shared();
	uint64		begin_ns = cprobe_clock_now_ns();

	(void) fcinfo;
	HOLD_INTERRUPTS();
	SpinLockAcquire(&shared->spinlock);
	SpinLockRelease(&shared->spinlock);
	RESUME_INTERRUPTS();
	PG_RETURN_FLOAT8(testkit_ms_since(begin_ns));
}
