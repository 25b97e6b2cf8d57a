/*-------------------------------------------------------------------------
 *
 * code_paths.c
 *	  Functions behind the views of code paths that need not sleep:
 *	  pgstat_flushes.
 *
 * Separate from the views of waits and of locks: here a row is a code path.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/pgstat_internal.h"

#include "compat.h"
#include "probe/stats_flush.h"
#include "sql/rows.h"

PG_FUNCTION_INFO_V1(cprobe_pgstat_flushes);

#define CPROBE_PGSTAT_FLUSHES_COLUMNS 6

Datum
cprobe_pgstat_flushes(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_PGSTAT_FLUSHES_COLUMNS);
	for (int kind = CPROBE_STATS_KIND_FIRST; kind <= CPROBE_STATS_KIND_LAST; kind++)
	{
		CprobeFlush flush;

		if (!cprobe_stats_flush_counts(kind))
			continue;
		flush = cprobe_stats_flush_read(kind);
		cprobe_rows_put_text(&rows,
							 pgstat_get_kind_info((PgStat_Kind) kind)->name);
		cprobe_rows_put_int8(&rows, flush.flushes);
		cprobe_rows_put_int8(&rows, flush.entries);
		cprobe_rows_put_int8(&rows, flush.lock_failures);
		cprobe_rows_put_ms(&rows, (double) flush.time_ns);
		cprobe_rows_put_ms(&rows, (double) flush.max_ns);
		cprobe_rows_end_row(&rows);
	}
	return (Datum) 0;
}
