/*-------------------------------------------------------------------------
 *
 * inspect.c
 *	  What the testkit knows of a lock, and what the product says of it.
 *
 * Separate because only this part calls functions of the product, which it
 * finds when they are called: the testkit can be loaded without it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "storage/shmem.h"
#include "utils/builtins.h"

#include "testkit.h"

PG_FUNCTION_INFO_V1(tk_lock_offset);
PG_FUNCTION_INFO_V1(tk_lock_tranche);
PG_FUNCTION_INFO_V1(tk_lock_name);
PG_FUNCTION_INFO_V1(tk_lock_name_at);
PG_FUNCTION_INFO_V1(tk_wal_insert_lock_count);

#define TESTKIT_PRODUCT "contention_probe"

typedef char *(*CprobeTestNameFunction) (uint16 tranche, uint64 offset);
typedef int (*CprobeTestCountFunction) (void);

static void *
testkit_product_function(const char *name)
{
	return (void *) load_external_function(TESTKIT_PRODUCT, name, true, NULL);
}

static LWLock *
testkit_lwlock(FunctionCallInfo fcinfo)
{
	CprobeTestLock lock;

	lock = testkit_lock_locate(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	if (lock.lwlock == NULL)
	{
		testkit_lock_forget(&lock);
		elog(ERROR, "this works with LWLocks only");
	}
	return lock.lwlock;
}

/* 0 for a lock in dynamic shared memory. */
static uint64
testkit_offset(const LWLock *lock)
{
	if (!ShmemAddrIsValid(lock))
		return 0;
	return (uint64) ((char *) lock - testkit_shmem_start());
}

/* tk_lock_offset(lock text): distance from the start of shared memory. */
Datum
tk_lock_offset(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64((int64) testkit_offset(testkit_lwlock(fcinfo)));
}

/* tk_lock_tranche(lock text): id of its tranche. */
Datum
tk_lock_tranche(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(testkit_lwlock(fcinfo)->tranche);
}

/* tk_lock_name(lock text): the product's name of that lock. */
Datum
tk_lock_name(PG_FUNCTION_ARGS)
{
	CprobeTestNameFunction name;
	LWLock	   *lock = testkit_lwlock(fcinfo);

	name = (CprobeTestNameFunction) testkit_product_function("cprobe_lock_name");
	PG_RETURN_TEXT_P(cstring_to_text(name(lock->tranche,
										  testkit_offset(lock))));
}

/* tk_lock_name_at(tranche int, "offset" bigint): the same for any two. */
Datum
tk_lock_name_at(PG_FUNCTION_ARGS)
{
	CprobeTestNameFunction name;

	name = (CprobeTestNameFunction) testkit_product_function("cprobe_lock_name");
	PG_RETURN_TEXT_P(cstring_to_text(name((uint16) PG_GETARG_INT32(0),
										  (uint64) PG_GETARG_INT64(1))));
}

/* tk_wal_insert_lock_count(): as the product has counted them. */
Datum
tk_wal_insert_lock_count(PG_FUNCTION_ARGS)
{
	CprobeTestCountFunction count;

	(void) fcinfo;
	count = (CprobeTestCountFunction)
		testkit_product_function("cprobe_wal_insert_lock_count");
	PG_RETURN_INT32(count());
}
