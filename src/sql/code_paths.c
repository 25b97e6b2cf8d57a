/*-------------------------------------------------------------------------
 *
 * code_paths.c
 *	  Functions behind the views of code paths that need not sleep:
 *	  spinlocks, wal_insertion, wal_insertion_histogram, pgstat_reports and
 *	  pgstat_flushes.
 *
 * Separate from the views of waits and of locks: here a row is a code path.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/wait_event.h"
#include "utils/float.h"
#include "utils/pgstat_internal.h"

#include "compat.h"
#include "probe/code_counts.h"
#include "probe/snapshot.h"
#include "probe/stats_flush.h"
#include "sql/busy_time.h"
#include "sql/rows.h"

PG_FUNCTION_INFO_V1(cprobe_spinlocks);
PG_FUNCTION_INFO_V1(cprobe_wal_insertion);
PG_FUNCTION_INFO_V1(cprobe_wal_insertion_histogram);
PG_FUNCTION_INFO_V1(cprobe_pgstat_reports);
PG_FUNCTION_INFO_V1(cprobe_pgstat_flushes);

#define CPROBE_SPINLOCKS_COLUMNS 8
#define CPROBE_WAL_INSERTION_COLUMNS 21
#define CPROBE_WAL_INSERTION_HISTOGRAM_COLUMNS 4
#define CPROBE_PGSTAT_REPORTS_COLUMNS 8
#define CPROBE_PGSTAT_FLUSHES_COLUMNS 7

#define CPROBE_NS_PER_US 1000.0

/* Paths of source files are shown from here on. */
#define CPROBE_SOURCE_ROOT "src/"

/* How far from the start of a path that is looked for. */
static const char *
cprobe_code_paths_file(const char *path)
{
	const char *root = strstr(path, "/" CPROBE_SOURCE_ROOT);

	return root != NULL ? root + 1 : path;
}

/* Counts of a level at which they may not exist: NULL then. */
static void
cprobe_code_paths_put_count(CprobeRows *rows, const uint64 *counts, int which)
{
	if (counts == NULL)
		cprobe_rows_put_null(rows);
	else
		cprobe_rows_put_int8(rows, counts[which]);
}

static void
cprobe_code_paths_put_ms(CprobeRows *rows, const uint64 *counts, int which)
{
	if (counts == NULL)
		cprobe_rows_put_null(rows);
	else
		cprobe_rows_put_ms(rows, (double) counts[which]);
}

/* One row for each place; the view adds up those that are the same. */
Datum
cprobe_spinlocks(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	uint32		epoch;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_SPINLOCKS_COLUMNS);
	if (!cprobe_code_is_active())
		return (Datum) 0;
	epoch = cprobe_region_epoch();
	for (int i = 0; i < CPROBE_SITES; i++)
	{
		CprobeSharedSite *site = &cprobe_code_sites()->sites[i];
		CprobeSharedSpins *spins = &site->spins[epoch % CPROBE_SITE_PARITIES];

		if (pg_atomic_read_u32(&site->state) != CPROBE_SITE_READY)
			continue;
		pg_read_barrier();
		if (pg_atomic_read_u64(&spins->contended) == 0)
			continue;
		cprobe_rows_put_text(&rows, site->function);
		cprobe_rows_put_text(&rows, cprobe_code_paths_file(site->file));
		cprobe_rows_put_int4(&rows, site->line);
		cprobe_rows_put_int8(&rows, pg_atomic_read_u64(&spins->contended));
		cprobe_rows_put_int8(&rows, pg_atomic_read_u64(&spins->spins));
		cprobe_rows_put_int8(&rows, pg_atomic_read_u64(&spins->sleeps));
		cprobe_rows_put_ms(&rows, (double) pg_atomic_read_u64(&spins->time_ns));
		cprobe_rows_put_ms(&rows, (double) pg_atomic_read_u64(&spins->max_ns));
		cprobe_rows_end_row(&rows);
	}
	return (Datum) 0;
}

/* Waits for an event of all processes of a type, living and gone. */
static CprobeWaits
cprobe_code_paths_waits(const CprobeSnapshot *snapshot, uint32 type,
						uint32 info)
{
	uint32		event = cprobe_event_index_number(&cprobe_region->events, info,
												  false);
	CprobeWaits sum = cprobe_snapshot_departed(snapshot, type)[event];

	for (uint32 i = 0; i < snapshot->slot_count; i++)
	{
		const CprobeSlotCopy *slot = &snapshot->slots[i];

		if (!slot->used || !slot->alive || slot->type != type)
			continue;
		sum.waits += slot->waits[event].waits;
		sum.time_ns += slot->waits[event].time_ns;
	}
	return sum;
}

static void
cprobe_code_paths_put_waits(CprobeRows *rows, const CprobeWaits *waits)
{
	cprobe_rows_put_int8(rows, waits->waits);
	cprobe_rows_put_ms(rows, (double) waits->time_ns);
}

/* Waits that are known at every level, of one backend type. */
typedef struct CprobeWalWaits
{
	CprobeWaits insertion;		/* for insertion locks, whatever for */
	CprobeWaits buffer;
	CprobeWaits write_lock;
	CprobeWaits write;
	CprobeWaits sync;
} CprobeWalWaits;

static CprobeWalWaits
cprobe_wal_waits_read(const CprobeSnapshot *snapshot, uint32 type)
{
	CprobeWalWaits waits;

	waits.insertion = cprobe_code_paths_waits(snapshot, type,
											  PG_WAIT_LWLOCK | LWTRANCHE_WAL_INSERT);
	waits.buffer = cprobe_code_paths_waits(snapshot, type,
										   PG_WAIT_LWLOCK | WALBufMappingLock->tranche);
	waits.write_lock = cprobe_code_paths_waits(snapshot, type,
											   PG_WAIT_LWLOCK | WALWriteLock->tranche);
	waits.write = cprobe_code_paths_waits(snapshot, type,
										  WAIT_EVENT_WAL_WRITE);
	waits.sync = cprobe_code_paths_waits(snapshot, type, WAIT_EVENT_WAL_SYNC);
	return waits;
}

static bool
cprobe_wal_is_shown(const CprobeWalWaits *waits, const uint64 *wal)
{
	return waits->insertion.waits + waits->buffer.waits +
		waits->write_lock.waits + waits->write.waits +
		waits->sync.waits > 0 ||
		(wal != NULL && wal[CPROBE_WAL_RECORDS] + wal[CPROBE_WAL_FLUSHES] > 0);
}

static CprobeHistogram
cprobe_wal_histogram(const uint64 *wal)
{
	CprobeHistogram histogram = {.max_ns = PG_UINT64_MAX};

	for (int i = 0; i < CPROBE_HISTOGRAM_BUCKETS; i++)
	{
		histogram.counts[i] = wal[CPROBE_WAL_HISTOGRAM + i];
		histogram.total += histogram.counts[i];
	}
	return histogram;
}

/* Of the timed records: what all would have taken, mean, and 95th percentile. */
static void
cprobe_wal_put_times(CprobeRows *rows, const uint64 *wal)
{
	CprobeHistogram histogram;
	double		mean_ns;

	if (wal == NULL || wal[CPROBE_WAL_TIMED] == 0)
	{
		cprobe_rows_put_null(rows);
		cprobe_rows_put_null(rows);
		cprobe_rows_put_null(rows);
		return;
	}
	histogram = cprobe_wal_histogram(wal);
	mean_ns = (double) wal[CPROBE_WAL_TIMED_NS] / (double) wal[CPROBE_WAL_TIMED];
	cprobe_rows_put_ms(rows, mean_ns * (double) wal[CPROBE_WAL_RECORDS]);
	cprobe_rows_put_ms(rows, mean_ns);
	cprobe_rows_put_ms(rows, cprobe_histogram_quantile_ns(&histogram, 0.95));
}

static void
cprobe_wal_put_row(CprobeRows *rows, uint32 type, const CprobeWalWaits *waits,
				   const uint64 *wal)
{
	CprobeWaits lock = waits->insertion;

	/* What is slept for others' insertions is slept for the same event. */
	if (wal != NULL)
	{
		lock.waits -= Min(lock.waits, wal[CPROBE_WAL_FINISH_WAITS]);
		lock.time_ns -= Min(lock.time_ns, wal[CPROBE_WAL_FINISH_NS]);
	}
	cprobe_rows_put_text(rows, cprobe_region_type_name(type));
	cprobe_code_paths_put_count(rows, wal, CPROBE_WAL_RECORDS);
	cprobe_code_paths_put_count(rows, wal, CPROBE_WAL_BYTES);
	cprobe_code_paths_put_count(rows, wal, CPROBE_WAL_FULL_PAGE_IMAGES);
	cprobe_wal_put_times(rows, wal);
	cprobe_code_paths_put_waits(rows, &lock);
	cprobe_code_paths_put_count(rows, wal, CPROBE_WAL_FINISH_WAITS);
	cprobe_code_paths_put_ms(rows, wal, CPROBE_WAL_FINISH_NS);
	cprobe_code_paths_put_count(rows, wal, CPROBE_WAL_BUFFERS_FULL);
	cprobe_code_paths_put_waits(rows, &waits->buffer);
	cprobe_code_paths_put_count(rows, wal, CPROBE_WAL_FLUSHES);
	cprobe_code_paths_put_ms(rows, wal, CPROBE_WAL_FLUSH_NS);
	cprobe_code_paths_put_count(rows, wal, CPROBE_WAL_FLUSHES_DONE);
	cprobe_code_paths_put_waits(rows, &waits->write_lock);
	cprobe_rows_put_ms(rows, (double) waits->write.time_ns);
	cprobe_rows_put_ms(rows, (double) waits->sync.time_ns);
	cprobe_rows_end_row(rows);
}

Datum
cprobe_wal_insertion(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeSnapshot *snapshot;
	CprobeCodeCounts *counts = NULL;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_WAL_INSERTION_COLUMNS);
	snapshot = cprobe_snapshot_take();
	if (cprobe_code_is_active())
		counts = cprobe_code_read();
	for (uint32 type = 0; type < CPROBE_TYPES; type++)
	{
		CprobeWalWaits waits = cprobe_wal_waits_read(snapshot, type);
		const uint64 *wal = counts != NULL ? counts->wal[type] : NULL;

		if (cprobe_wal_is_shown(&waits, wal))
			cprobe_wal_put_row(&rows, type, &waits, wal);
	}
	return (Datum) 0;
}

Datum
cprobe_wal_insertion_histogram(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeCodeCounts *counts;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_WAL_INSERTION_HISTOGRAM_COLUMNS);
	if (!cprobe_code_is_active())
		return (Datum) 0;
	counts = cprobe_code_read();
	for (uint32 type = 0; type < CPROBE_TYPES; type++)
	{
		for (int b = 0; b < CPROBE_HISTOGRAM_BUCKETS; b++)
		{
			uint64		records = counts->wal[type][CPROBE_WAL_HISTOGRAM + b];
			uint64		upper_ns = cprobe_histogram_upper_ns(b);

			if (records == 0)
				continue;
			cprobe_rows_put_text(&rows, cprobe_region_type_name(type));
			cprobe_rows_put_float8(&rows, (double) cprobe_histogram_lower_ns(b) /
								   CPROBE_NS_PER_US);
			cprobe_rows_put_float8(&rows, upper_ns == PG_UINT64_MAX ?
								   get_float8_infinity() :
								   (double) upper_ns / CPROBE_NS_PER_US);
			cprobe_rows_put_int8(&rows, records);
			cprobe_rows_end_row(&rows);
		}
	}
	return (Datum) 0;
}

/* Waits for the locks of the statistics system, of all processes. */
static CprobeWaits
cprobe_pgstat_lock_waits(void)
{
	static const uint32 tranches[] = {
		LWTRANCHE_PGSTATS_DSA, LWTRANCHE_PGSTATS_HASH, LWTRANCHE_PGSTATS_DATA
	};
	CprobeSnapshot *snapshot = cprobe_snapshot_take();
	CprobeWaits *totals = cprobe_snapshot_totals(snapshot);
	CprobeWaits sum = {0};

	for (size_t i = 0; i < lengthof(tranches); i++)
	{
		uint32		event = cprobe_event_index_number(&cprobe_region->events,
													  PG_WAIT_LWLOCK | tranches[i],
													  false);

		sum.waits += totals[event].waits;
		sum.time_ns += totals[event].time_ns;
	}
	return sum;
}

/* What part of the time at work it was; NULL where no sample was taken. */
static void
cprobe_code_paths_put_share(CprobeRows *rows, uint64 time_ns, double busy_ns)
{
	if (busy_ns > 0)
		cprobe_rows_put_float8(rows, (double) time_ns / busy_ns);
	else
		cprobe_rows_put_null(rows);
}

Datum
cprobe_pgstat_reports(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeWaits waits;
	const uint64 *reports = NULL;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_PGSTAT_REPORTS_COLUMNS);
	if (cprobe_code_is_active())
		reports = cprobe_code_read()->reports;
	waits = cprobe_pgstat_lock_waits();
	cprobe_code_paths_put_count(&rows, reports, CPROBE_REPORT_CALLS);
	cprobe_code_paths_put_ms(&rows, reports, CPROBE_REPORT_NS);
	cprobe_code_paths_put_count(&rows, reports, CPROBE_REPORT_FORCED);
	cprobe_code_paths_put_count(&rows, reports, CPROBE_REPORT_PARTIAL);
	cprobe_code_paths_put_count(&rows, reports, CPROBE_REPORT_POSTPONED);
	cprobe_code_paths_put_waits(&rows, &waits);
	cprobe_code_paths_put_share(&rows, reports != NULL ?
								reports[CPROBE_REPORT_NS] : 0, reports != NULL ?
								cprobe_busy_time_ns() : 0);
	cprobe_rows_end_row(&rows);
	return (Datum) 0;
}

Datum
cprobe_pgstat_flushes(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	double		busy_ns;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_PGSTAT_FLUSHES_COLUMNS);
	busy_ns = cprobe_busy_time_ns();
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
		cprobe_code_paths_put_share(&rows, flush.time_ns, busy_ns);
		cprobe_rows_end_row(&rows);
	}
	return (Datum) 0;
}
