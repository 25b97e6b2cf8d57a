/*-------------------------------------------------------------------------
 *
 * waits.c
 *	  Functions behind the views waits, wait_histogram, backend_waits and
 *	  query_waits: completed waits, exactly.
 *
 * Separate from the views of what happens now (backends.c) and of samples
 * (samples.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/float.h"

#include "probe/event_names.h"
#include "probe/snapshot.h"
#include "sql/rows.h"

PG_FUNCTION_INFO_V1(cprobe_waits);
PG_FUNCTION_INFO_V1(cprobe_wait_histogram);
PG_FUNCTION_INFO_V1(cprobe_backend_waits);
PG_FUNCTION_INFO_V1(cprobe_query_waits);

#define CPROBE_WAITS_COLUMNS 11
#define CPROBE_WAIT_HISTOGRAM_COLUMNS 6
#define CPROBE_BACKEND_WAITS_COLUMNS 10
#define CPROBE_QUERY_WAITS_COLUMNS 7

#define CPROBE_NS_PER_US 1000.0

/* Sum of an event's histogram over the shards. */
static CprobeHistogram
cprobe_waits_histogram(uint32 epoch, uint32 event)
{
	CprobeHistogram sum = {0};

	for (uint32 shard = 0; shard < CPROBE_HISTOGRAM_SHARDS; shard++)
		cprobe_histogram_merge(&sum,
							   cprobe_region_histogram(epoch, shard, event));
	return sum;
}

static CprobeEvent
cprobe_waits_describe(uint32 event)
{
	return cprobe_event_index_describe(&cprobe_region->events, event);
}

/* Time of all waits that are not idle, ns. */
static double
cprobe_waits_busy_ns(const CprobeWaits *totals, uint32 event_count)
{
	double		busy_ns = 0;

	for (uint32 e = 0; e < event_count; e++)
	{
		if (!cprobe_waits_describe(e).idle)
			busy_ns += (double) totals[e].time_ns;
	}
	return busy_ns;
}

static void
cprobe_waits_put_quantile(CprobeRows *rows, const CprobeHistogram *histogram,
						  double fraction)
{
	double		ns = cprobe_histogram_quantile_ns(histogram, fraction);

	if (ns < 0)
		cprobe_rows_put_null(rows);
	else
		cprobe_rows_put_ms(rows, ns);
}

static void
cprobe_waits_put_row(CprobeRows *rows, uint32 epoch, uint32 number,
					 const CprobeWaits *waits, double busy_ns)
{
	CprobeEvent event = cprobe_waits_describe(number);
	CprobeHistogram histogram = cprobe_waits_histogram(epoch, number);

	cprobe_rows_put_text(rows, cprobe_event_names_type(&event));
	cprobe_rows_put_text(rows, cprobe_event_names_event(&event));
	cprobe_rows_put_bool(rows, event.idle);
	cprobe_rows_put_int8(rows, waits->waits);
	cprobe_rows_put_ms(rows, (double) waits->time_ns);
	cprobe_rows_put_ms(rows, (double) waits->time_ns / (double) waits->waits);
	cprobe_rows_put_ms(rows, (double) histogram.max_ns);
	cprobe_waits_put_quantile(rows, &histogram, 0.50);
	cprobe_waits_put_quantile(rows, &histogram, 0.95);
	cprobe_waits_put_quantile(rows, &histogram, 0.99);
	if (event.idle || busy_ns <= 0)
		cprobe_rows_put_null(rows);
	else
		cprobe_rows_put_float8(rows, (double) waits->time_ns / busy_ns);
	cprobe_rows_end_row(rows);
}

Datum
cprobe_waits(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeSnapshot *snapshot;
	CprobeWaits *totals;
	double		busy_ns;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_WAITS_COLUMNS);
	snapshot = cprobe_snapshot_take();
	totals = cprobe_snapshot_totals(snapshot);
	busy_ns = cprobe_waits_busy_ns(totals, snapshot->event_count);
	for (uint32 e = 0; e < snapshot->event_count; e++)
	{
		if (totals[e].waits > 0)
			cprobe_waits_put_row(&rows, snapshot->epoch, e, &totals[e],
								 busy_ns);
	}
	return (Datum) 0;
}

/* One row for each bucket that is not empty. */
static void
cprobe_waits_put_buckets(CprobeRows *rows, uint32 epoch, uint32 number)
{
	CprobeEvent event = cprobe_waits_describe(number);
	CprobeHistogram histogram = cprobe_waits_histogram(epoch, number);

	for (int b = 0; b < CPROBE_HISTOGRAM_BUCKETS; b++)
	{
		uint64		upper_ns = cprobe_histogram_upper_ns(b);

		if (histogram.counts[b] == 0)
			continue;
		cprobe_rows_put_text(rows, cprobe_event_names_type(&event));
		cprobe_rows_put_text(rows, cprobe_event_names_event(&event));
		cprobe_rows_put_float8(rows, (double) cprobe_histogram_lower_ns(b) /
							   CPROBE_NS_PER_US);
		cprobe_rows_put_float8(rows, upper_ns == PG_UINT64_MAX ?
							   get_float8_infinity() :
							   (double) upper_ns / CPROBE_NS_PER_US);
		cprobe_rows_put_int8(rows, histogram.counts[b]);
		cprobe_rows_put_bool(rows, event.idle);
		cprobe_rows_end_row(rows);
	}
}

Datum
cprobe_wait_histogram(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	uint32		epoch;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_WAIT_HISTOGRAM_COLUMNS);
	epoch = cprobe_region_epoch();
	for (uint32 e = 0; e < cprobe_region->events.event_count; e++)
		cprobe_waits_put_buckets(&rows, epoch, e);
	return (Datum) 0;
}

/* Rows of one process, or (slot NULL) of all departed ones of a type. */
static void
cprobe_waits_put_process(CprobeRows *rows, const CprobeSlotCopy *slot,
						 const char *type_name, const CprobeWaits *waits)
{
	bool		visible = slot != NULL &&
	cprobe_rows_may_see(rows, slot->role_id);

	for (uint32 e = 0; e < cprobe_region->events.event_count; e++)
	{
		CprobeEvent event;

		if (waits[e].waits == 0)
			continue;
		event = cprobe_waits_describe(e);
		cprobe_rows_put_pid(rows, visible ? slot->pid : 0);
		cprobe_rows_put_timestamp(rows, visible ? slot->start_time : 0);
		cprobe_rows_put_text(rows, type_name);
		cprobe_rows_put_oid(rows, slot != NULL ? slot->database_id : InvalidOid);
		cprobe_rows_put_oid(rows, slot != NULL ? slot->role_id : InvalidOid);
		cprobe_rows_put_text(rows, cprobe_event_names_type(&event));
		cprobe_rows_put_text(rows, cprobe_event_names_event(&event));
		cprobe_rows_put_bool(rows, event.idle);
		cprobe_rows_put_int8(rows, waits[e].waits);
		cprobe_rows_put_ms(rows, (double) waits[e].time_ns);
		cprobe_rows_end_row(rows);
	}
}

Datum
cprobe_backend_waits(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeSnapshot *snapshot;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_BACKEND_WAITS_COLUMNS);
	snapshot = cprobe_snapshot_take();
	for (uint32 i = 0; i < snapshot->slot_count; i++)
	{
		const CprobeSlotCopy *slot = &snapshot->slots[i];

		if (slot->used && slot->alive)
			cprobe_waits_put_process(&rows, slot,
									 cprobe_snapshot_type_name(slot),
									 slot->waits);
	}
	for (uint32 type = 0; type < CPROBE_TYPES; type++)
		cprobe_waits_put_process(&rows, NULL, cprobe_region_type_name(type),
								 cprobe_snapshot_departed(snapshot, type));
	return (Datum) 0;
}

/* A key can stand twice in the map: the view adds rows of the same key. */
Datum
cprobe_query_waits(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeMapRow row;
	uint32		position = 0;
	uint32		epoch;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_QUERY_WAITS_COLUMNS);
	epoch = cprobe_region_epoch();
	while (cprobe_map_next(cprobe_region_query_events(), epoch, &position, &row))
	{
		CprobeEvent event = cprobe_waits_describe((uint32) row.key[2]);
		Oid			user_id = (Oid) row.key[0];

		CHECK_FOR_INTERRUPTS();
		if (row.values[0] == 0)
			continue;
		cprobe_rows_put_oid(&rows, (Oid) (row.key[0] >> 32));
		cprobe_rows_put_oid(&rows, user_id);
		cprobe_rows_put_query_id(&rows, cprobe_rows_may_see(&rows, user_id) ?
								 row.key[1] : 0);
		cprobe_rows_put_text(&rows, cprobe_event_names_type(&event));
		cprobe_rows_put_text(&rows, cprobe_event_names_event(&event));
		cprobe_rows_put_int8(&rows, row.values[0]);
		cprobe_rows_put_ms(&rows, (double) row.values[1]);
		cprobe_rows_end_row(&rows);
	}
	return (Datum) 0;
}
