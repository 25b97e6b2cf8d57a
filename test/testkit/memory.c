/*-------------------------------------------------------------------------
 *
 * memory.c
 *	  Using up the spare room of main shared memory.
 *
 * Separate from locks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "storage/shmem.h"

PG_FUNCTION_INFO_V1(tk_fill_shared_memory);

#define TESTKIT_FILL_MIN_BYTES 8

/* tk_fill_shared_memory(): bytes taken, for good. */
Datum
tk_fill_shared_memory(PG_FUNCTION_ARGS)
{
	int64		taken = 0;

	(void) fcinfo;
	for (Size bytes = 64 * 1024 * 1024; bytes >= TESTKIT_FILL_MIN_BYTES;)
	{
		if (ShmemAllocNoError(bytes) != NULL)
			taken += (int64) bytes;
		else
			bytes /= 2;
	}
	PG_RETURN_INT64(taken);
}
