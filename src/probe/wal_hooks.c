/*-------------------------------------------------------------------------
 *
 * wal_hooks.c
 *	  Counting WAL records, flushes of WAL, and reports of statistics.
 *
 * Separate: see wal_hooks.h.
 *
 * Cost: a record some ns, and 60 ns for one in N that is timed; a flush or a
 * report two looks at the clock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecord.h"
#include "pgstat.h"

#include "compat.h"
#include "machine/clock.h"
#include "probe/code_counts.h"
#include "probe/lwlock_hooks.h"
#include "probe/slot.h"
#include "probe/stats_flush.h"
#include "probe/wal_hooks.h"

static XLogRecPtr (*cprobe_wal_insert) (CPROBE_WAL_INSERT_ARGS);
static void (*cprobe_wal_flush) (XLogRecPtr record);
static long (*cprobe_report_statistics) (bool force);

/* Records until the next that is timed. */
static int32 cprobe_wal_countdown = 1;

/*
 * Another library's hook may have been called in the middle and switched the
 * measuring off, so the block is looked up again behind each call.
 */
static uint64 *
cprobe_wal_mine(void)
{
	CprobeSharedCode *mine = cprobe_code_mine;

	if (unlikely(mine == NULL) && (mine = cprobe_code_find()) == NULL)
		return NULL;
	return mine->counts.wal[cprobe_slot_my_type()];
}

/*
 * An invalid position means that the record was not inserted: the server
 * makes it anew, with a page image, and calls again.
 */
static XLogRecPtr
cprobe_wal_insert_hook(CPROBE_WAL_INSERT_ARGS)
{
	uint64		bytes = ((XLogRecord *) data->data)->xl_tot_len;
	uint64		buffers_full = CPROBE_WAL_BUFFERS_FULL_COUNT();
	bool		timed = --cprobe_wal_countdown <= 0;
	uint64		begin_ns = timed ? cprobe_clock_now_ns() : 0;
	XLogRecPtr	end = cprobe_wal_insert(CPROBE_WAL_INSERT_PASS);
	uint64	   *wal;

	if (unlikely(timed))
		cprobe_wal_countdown = cprobe_timed_next();
	if (end == InvalidXLogRecPtr || (wal = cprobe_wal_mine()) == NULL)
		return end;
	wal[CPROBE_WAL_RECORDS]++;
	wal[CPROBE_WAL_BYTES] += bytes;
	wal[CPROBE_WAL_FULL_PAGE_IMAGES] += (uint64) page_images;
	wal[CPROBE_WAL_BUFFERS_FULL] +=
		CPROBE_WAL_BUFFERS_FULL_COUNT() - buffers_full;
	if (unlikely(timed))
	{
		uint64		duration_ns = cprobe_clock_now_ns() - begin_ns;

		wal[CPROBE_WAL_TIMED]++;
		wal[CPROBE_WAL_TIMED_NS] += duration_ns;
		wal[CPROBE_WAL_HISTOGRAM + cprobe_histogram_bucket(duration_ns)]++;
	}
	return end;
}

void
cprobe_wal_hooks_choose_anew(void)
{
	cprobe_wal_countdown = 1;
}

/* Sleeps, writes and syncs of this process, as far as they are timed. */
static uint64
cprobe_wal_calls(CprobeSharedSlot *slot)
{
	return pg_atomic_read_u64(&slot->hits[CPROBE_HOOK_SEM_WAIT]) +
		pg_atomic_read_u64(&slot->hits[CPROBE_HOOK_PWRITE]) +
		pg_atomic_read_u64(&slot->hits[CPROBE_HOOK_PWRITEV]) +
		pg_atomic_read_u64(&slot->hits[CPROBE_HOOK_FSYNC]) +
		pg_atomic_read_u64(&slot->hits[CPROBE_HOOK_FDATASYNC]);
}

/* A flush has found its work done if it has neither slept nor written. */
static void
cprobe_wal_flush_hook(XLogRecPtr record)
{
	CprobeSharedSlot *slot = cprobe_slot_mine();
	uint64		begin_ns = cprobe_clock_now_ns();
	uint64		calls_before = slot == NULL ? 0 : cprobe_wal_calls(slot);
	uint64	   *wal;

	cprobe_wal_flush(record);
	if (slot == NULL || (wal = cprobe_wal_mine()) == NULL)
		return;
	wal[CPROBE_WAL_FLUSHES]++;
	wal[CPROBE_WAL_FLUSH_NS] += cprobe_clock_now_ns() - begin_ns;
	if (cprobe_wal_calls(slot) == calls_before)
		wal[CPROBE_WAL_FLUSHES_DONE]++;
}

static long
cprobe_report_statistics_hook(bool force)
{
	uint64		begin_ns = cprobe_clock_now_ns();
	uint64		failures_before = cprobe_stats_flush_failures();
	long		result = cprobe_report_statistics(force);
	CprobeSharedCode *mine = cprobe_code_mine;
	uint64	   *reports;

	if (mine == NULL && (mine = cprobe_code_find()) == NULL)
		return result;
	reports = mine->counts.reports;
	reports[CPROBE_REPORT_CALLS]++;
	reports[CPROBE_REPORT_NS] += cprobe_clock_now_ns() - begin_ns;
	if (force)
		reports[CPROBE_REPORT_FORCED]++;
	if (cprobe_stats_flush_failures() != failures_before)
		reports[CPROBE_REPORT_PARTIAL]++;
	else if (result != 0)
		reports[CPROBE_REPORT_POSTPONED]++;

	/* Nothing is held between commands, whatever the list may have missed. */
	cprobe_code_hold_nothing(mine);
	return result;
}

#define CPROBE_WAL_DETOUR(name, hook) \
	{.symbol = name, .replacement = (void *) hook##_hook, \
		.original = (void **) &hook}

static const CprobeDetour cprobe_wal_detours[CPROBE_WAL_HOOKS] = {
	[CPROBE_WAL_INSERT_RECORD] =
	CPROBE_WAL_DETOUR("XLogInsertRecord", cprobe_wal_insert),
	[CPROBE_WAL_FLUSH] =
	CPROBE_WAL_DETOUR("XLogFlush", cprobe_wal_flush),
	[CPROBE_WAL_REPORT_STATISTICS] =
	CPROBE_WAL_DETOUR("pgstat_report_stat", cprobe_report_statistics),
};

void
cprobe_wal_hook_describe(CprobeWalHook hook, CprobeDetour *detour)
{
	*detour = cprobe_wal_detours[hook];
}
