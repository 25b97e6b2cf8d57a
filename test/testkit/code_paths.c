/*-------------------------------------------------------------------------
 *
 * code_paths.c
 *	  Taking locks in ways that are hard to follow from outside.
 *
 * Separate from locks.c: nobody waits here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "storage/buf_internals.h"
#include "utils/builtins.h"

#include "testkit.h"

PG_FUNCTION_INFO_V1(tk_fail_holding);
PG_FUNCTION_INFO_V1(tk_nest);
PG_FUNCTION_INFO_V1(tk_nest_many);

static CprobeTestLock
testkit_lwlock(const char *name)
{
	CprobeTestLock lock = testkit_lock_locate(name);

	if (lock.lwlock == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is no LWLock", name)));
	return lock;
}

/* tk_fail_holding(lock text): an error while the lock is held. */
Datum
tk_fail_holding(PG_FUNCTION_ARGS)
{
	CprobeTestLock lock = testkit_lwlock(text_to_cstring(PG_GETARG_TEXT_PP(0)));

	LWLockAcquire(lock.lwlock, LW_EXCLUSIVE);
	ereport(ERROR,
			(errcode(ERRCODE_RAISE_EXCEPTION),
			 errmsg("an error with a lock held")));
	PG_RETURN_VOID();
}

/*
 * tk_nest(first text, second text): takes the first lock shared, tries for it
 * exclusively (and fails), takes the second exclusively, tries for that (and
 * fails); releases the first one first; whether all went that way.
 */
Datum
tk_nest(PG_FUNCTION_ARGS)
{
	CprobeTestLock first = testkit_lwlock(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	CprobeTestLock second = testkit_lwlock(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	bool		right = true;

	LWLockAcquire(first.lwlock, LW_SHARED);
	right &= !LWLockConditionalAcquire(first.lwlock, LW_EXCLUSIVE);
	right &= LWLockConditionalAcquire(second.lwlock, LW_EXCLUSIVE);
	right &= !LWLockConditionalAcquire(second.lwlock, LW_SHARED);
	LWLockRelease(first.lwlock);
	LWLockRelease(second.lwlock);
	PG_RETURN_BOOL(right);
}

/*
 * tk_nest_many(n int): holds the first n buffer mapping locks at once, and
 * releases them in the order in which they were taken.
 */
Datum
tk_nest_many(PG_FUNCTION_ARGS)
{
	int			count = PG_GETARG_INT32(0);

	if (count < 0 || count > NUM_BUFFER_PARTITIONS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d locks are outside of 0 to %d", count,
						NUM_BUFFER_PARTITIONS)));
	for (int i = 0; i < count; i++)
		LWLockAcquire(BufMappingPartitionLockByIndex(i), LW_SHARED);
	for (int i = 0; i < count; i++)
		LWLockRelease(BufMappingPartitionLockByIndex(i));
	PG_RETURN_VOID();
}
