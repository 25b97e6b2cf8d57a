/*-------------------------------------------------------------------------
 *
 * path_cost.c
 *	  What code paths that do not sleep take, with whatever is hooked now.
 *
 * Separate from hook_cost.c, which is about a wait.
 *
 * Each function gives the fastest of many short rounds, so that what else runs
 * on the machine does not count.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/rmgr.h"
#include "access/table.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/pg_control.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/rel.h"

#include "machine/clock.h"
#include "testkit.h"

PG_FUNCTION_INFO_V1(tk_wal_record_cost);
PG_FUNCTION_INFO_V1(tk_report_cost);

#define TESTKIT_ROUND_CALLS 100
#define TESTKIT_MAX_PAYLOAD_BYTES 4000

static void
testkit_check_rounds(int rounds)
{
	if (rounds < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d rounds are none", rounds)));
}

/* tk_wal_record_cost(rounds int, bytes int): ns for a record with that payload. */
Datum
tk_wal_record_cost(PG_FUNCTION_ARGS)
{
	int			rounds = PG_GETARG_INT32(0);
	uint64		best_ns = PG_UINT64_MAX;
	uint32		bytes = (uint32) PG_GETARG_INT32(1);
	char	   *payload;

	testkit_check_rounds(rounds);
	if (bytes < 1 || bytes > TESTKIT_MAX_PAYLOAD_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a payload of %u bytes is not between 1 and %d",
						bytes, TESTKIT_MAX_PAYLOAD_BYTES)));
	payload = palloc0(bytes);
	for (int round = 0; round < rounds; round++)
	{
		uint64		begin_ns;

		CHECK_FOR_INTERRUPTS();
		begin_ns = cprobe_clock_now_ns();
		for (int i = 0; i < TESTKIT_ROUND_CALLS; i++)
		{
			XLogBeginInsert();
			XLogRegisterData(payload, bytes);
			(void) XLogInsert(RM_XLOG_ID, XLOG_NOOP);
		}
		best_ns = Min(best_ns, cprobe_clock_now_ns() - begin_ns);
	}
	PG_RETURN_FLOAT8((double) best_ns / TESTKIT_ROUND_CALLS);
}

/*
 * tk_report_cost(relation regclass, rounds int): ns for a report of the
 * statistics of one table.  The server expects reports between transactions
 * and says so by an assertion, which release builds do not have.
 */
Datum
tk_report_cost(PG_FUNCTION_ARGS)
{
	int			rounds = PG_GETARG_INT32(1);
	uint64		best_ns = PG_UINT64_MAX;
	Relation	relation;

	testkit_check_rounds(rounds);
	relation = table_open(PG_GETARG_OID(0), AccessShareLock);
	for (int round = 0; round < rounds; round++)
	{
		uint64		begin_ns;

		CHECK_FOR_INTERRUPTS();
		begin_ns = cprobe_clock_now_ns();
		for (int i = 0; i < TESTKIT_ROUND_CALLS; i++)
		{
			pgstat_count_heap_scan(relation);
			(void) pgstat_report_stat(true);
		}
		best_ns = Min(best_ns, cprobe_clock_now_ns() - begin_ns);
	}
	table_close(relation, AccessShareLock);
	PG_RETURN_FLOAT8((double) best_ns / TESTKIT_ROUND_CALLS);
}
