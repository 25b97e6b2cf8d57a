/*-------------------------------------------------------------------------
 *
 * samples.c
 *	  Functions behind the views history and profile: what the sampler saw.
 *
 * Separate from the exact views, so that the two are not mixed up.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "machine/topology.h"
#include "probe/region.h"
#include "sampler/tick.h"
#include "sql/lock_text.h"
#include "sql/rows.h"

PG_FUNCTION_INFO_V1(cprobe_history);
PG_FUNCTION_INFO_V1(cprobe_profile);

#define CPROBE_HISTORY_COLUMNS 13
#define CPROBE_PROFILE_COLUMNS 6

static void
cprobe_history_put_number(CprobeRows *rows, int number)
{
	if (number >= 0)
		cprobe_rows_put_int4(rows, number);
	else
		cprobe_rows_put_null(rows);
}

static void
cprobe_history_put_row(CprobeRows *rows, const CprobeHistoryRow *row)
{
	bool		visible = cprobe_rows_may_see(rows, row->user_id);

	cprobe_rows_put_timestamp(rows, row->sampled_at);
	cprobe_rows_put_pid(rows, visible ? row->pid : 0);
	cprobe_rows_put_text(rows, cprobe_region_type_name(row->type));
	cprobe_rows_put_oid(rows, row->database_id);
	cprobe_rows_put_oid(rows, row->user_id);
	cprobe_rows_put_query_id(rows, visible ? row->query_id : 0);
	cprobe_rows_put_event(rows, row->info);
	if (row->lock == 0)
	{
		cprobe_rows_put_null(rows);
		cprobe_rows_put_null(rows);
	}
	else
	{
		cprobe_rows_put_text(rows, cprobe_lock_text(row->lock, row->has_page ?
													&row->page : NULL));
		cprobe_rows_put_text(rows, cprobe_lock_mode_name(row->mode));
	}
	cprobe_rows_put_pid(rows, rows->all_stats ? row->blocker_pid : 0);
	cprobe_history_put_number(rows, row->cpu);
	cprobe_history_put_number(rows, cprobe_cpu_node(row->cpu));
	cprobe_rows_end_row(rows);
}

Datum
cprobe_history(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	uint64		oldest;
	uint64		newest;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_HISTORY_COLUMNS);
	cprobe_ring_bounds(cprobe_region_history(), &oldest, &newest);
	for (uint64 n = oldest; n <= newest; n++)
	{
		CprobeRingRow packed;
		CprobeHistoryRow row;

		CHECK_FOR_INTERRUPTS();
		if (!cprobe_ring_read(cprobe_region_history(), n, &packed))
			continue;
		row = cprobe_history_row_unpack(&packed);
		cprobe_history_put_row(&rows, &row);
	}
	return (Datum) 0;
}

/*
 * Users without pg_read_all_stats see no query ids here: a row is the sum
 * over users.
 */
Datum
cprobe_profile(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeMapRow row;
	uint32		position = 0;
	uint32		epoch;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_PROFILE_COLUMNS);
	epoch = cprobe_region_epoch();
	while (cprobe_map_next(cprobe_region_profile(), epoch, &position, &row))
	{
		CprobeProfileKey key = cprobe_profile_key_unpack(row.key);

		CHECK_FOR_INTERRUPTS();
		cprobe_rows_put_text(&rows, cprobe_region_type_name(key.type));
		cprobe_rows_put_query_id(&rows, rows.all_stats ? key.query_id : 0);
		cprobe_rows_put_event(&rows, key.info);
		cprobe_rows_put_int8(&rows, row.values[0]);
		cprobe_rows_put_bool(&rows, key.idle);
		cprobe_rows_end_row(&rows);
	}
	return (Datum) 0;
}
