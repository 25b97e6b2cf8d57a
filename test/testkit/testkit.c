/*-------------------------------------------------------------------------
 *
 * testkit.c
 *	  Loading of the test-only extension: its shared memory and locks.
 *
 * Separate from what the tests call.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"

#include "compat.h"
#include "testkit.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

static CprobeTestShared *testkit_state = NULL;

static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

static void
testkit_shmem_request(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(sizeof(CprobeTestShared));
	RequestNamedLWLockTranche(TESTKIT_TRANCHE, TESTKIT_LOCKS);
}

static void
testkit_shmem_startup(void)
{
	bool		found;

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	testkit_state = ShmemInitStruct("contention_probe_testkit",
									sizeof(CprobeTestShared), &found);
	if (!found)
	{
		memset(testkit_state, 0, sizeof(*testkit_state));
		SpinLockInit(&testkit_state->spinlock);
	}
	LWLockRelease(AddinShmemInitLock);
}

CprobeTestShared *
testkit_shared(void)
{
	if (testkit_state == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("contention_probe_testkit must be loaded via \"shared_preload_libraries\"")));
	return testkit_state;
}

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = testkit_shmem_request;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = testkit_shmem_startup;
}
