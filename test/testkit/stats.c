/*-------------------------------------------------------------------------
 *
 * stats.c
 *	  Holding the lock of an entry of the cumulative statistics.
 *
 * Separate from locks.c: these locks lie in dynamic shared memory and are
 * found by what they are of.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "utils/pgstat_internal.h"
#include "utils/wait_event.h"

#include "testkit.h"

PG_FUNCTION_INFO_V1(tk_hold_stats);

/* tk_hold_stats(relation regclass, ms int): hold its entry's lock. */
Datum
tk_hold_stats(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);
	int			ms = PG_GETARG_INT32(1);
	PgStat_EntryRef *entry =
	pgstat_get_entry_ref_locked(PGSTAT_KIND_RELATION, MyDatabaseId,
								relation, false);

	if (entry == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the entry's lock was not to be had")));
	pg_usleep((long) ms * 1000);
	pgstat_unlock_entry(entry);
	PG_RETURN_VOID();
}
