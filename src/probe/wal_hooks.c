/*-------------------------------------------------------------------------
 *
 * wal_hooks.c
 *	  Counting WAL records, flushes of WAL, and reports of statistics.
 *
 * Separate: see wal_hooks.h.
 *
 * Cost: a record some ns, and 60 ns for one in N that is timed; a flush two
 * looks at the clock; a report some ns, and a look at the clock if it handed
 * something over.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecord.h"
#include "executor/instrument.h"
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
 * Where this process counts: looked up again when its block or its kind
 * changes, as early in the life of a WAL sender.
 */
static CprobeSharedCode *cprobe_wal_block = NULL;
static BackendType cprobe_wal_type;
static uint64 *cprobe_wal_counts;

/*
 * Does the process report its statistics by pgstat_report_stat alone?  Then
 * what is left to count behind a record can wait until then.
 */
static bool cprobe_wal_reports;

/*
 * The record that was counted last, and how many the server had counted for
 * this process before it; -1 = it is settled.
 */
static int64 cprobe_wal_open_records = -1;
static uint64 cprobe_wal_open_bytes;
static uint64 cprobe_wal_open_images;

/* The server's count of full WAL buffers when it was last looked at. */
static uint64 cprobe_wal_full_seen = 0;

static pg_noinline uint64 *
cprobe_wal_find(void)
{
	CprobeSharedCode *mine = cprobe_code_mine;

	if (mine == NULL && (mine = cprobe_code_find()) == NULL)
	{
		/* What happens until it is measured again does not count. */
		cprobe_wal_block = NULL;
		return NULL;
	}
	if (cprobe_wal_block == NULL)
		cprobe_wal_full_seen = CPROBE_WAL_BUFFERS_FULL_COUNT();
	cprobe_wal_block = mine;
	cprobe_wal_type = MyBackendType;
	cprobe_wal_counts = mine->counts.wal[cprobe_slot_my_type()];
	cprobe_wal_reports = MyBackendType == B_BACKEND ||
		MyBackendType == B_BG_WORKER ||
		MyBackendType == B_AUTOVAC_WORKER;
	cprobe_wal_open_records = -1;
	return cprobe_wal_counts;
}

/*
 * Another library's hook may have been called in the middle and switched the
 * measuring off, so the block is looked up again behind each call.
 */
static inline uint64 *
cprobe_wal_mine(void)
{
	CprobeSharedCode *mine = cprobe_code_mine;

	if (likely(mine != NULL && mine == cprobe_wal_block &&
			   MyBackendType == cprobe_wal_type))
		return cprobe_wal_counts;
	return cprobe_wal_find();
}

static pg_noinline void
cprobe_wal_time(uint64 *wal, uint64 begin_ns)
{
	uint64		duration_ns = cprobe_clock_now_ns() - begin_ns;

	wal[CPROBE_WAL_TIMED]++;
	wal[CPROBE_WAL_TIMED_NS] += duration_ns;
	wal[CPROBE_WAL_HISTOGRAM + cprobe_histogram_bucket(duration_ns)]++;
}

/*
 * Count what the server's counter of full buffers has grown by since it was
 * last looked at.  Up to 17 it starts anew when the process reports.
 */
static inline void
cprobe_wal_settle_full(uint64 *wal)
{
	uint64		full = CPROBE_WAL_BUFFERS_FULL_COUNT();

	if (likely(full == cprobe_wal_full_seen))
		return;
	wal[CPROBE_WAL_BUFFERS_FULL] += full > cprobe_wal_full_seen ?
		full - cprobe_wal_full_seen : full;
	cprobe_wal_full_seen = full;
}

/*
 * Count what was not known yet when the last record was counted.  A counter of
 * full buffers that others add to is only looked at around an insertion.
 */
static inline void
cprobe_wal_settle(uint64 *wal)
{
	/* Not inserted: the server makes it anew, and calls again at once. */
	if (unlikely(pgWalUsage.wal_records == cprobe_wal_open_records))
	{
		wal[CPROBE_WAL_RECORDS]--;
		wal[CPROBE_WAL_BYTES] -= cprobe_wal_open_bytes;
		wal[CPROBE_WAL_FULL_PAGE_IMAGES] -= cprobe_wal_open_images;
	}
	cprobe_wal_open_records = -1;
	if (CPROBE_WAL_BUFFERS_FULL_IS_OWN)
		cprobe_wal_settle_full(wal);
}

static inline void
cprobe_wal_count(uint64 *wal, uint64 bytes, uint64 images)
{
	cprobe_wal_open_records = pgWalUsage.wal_records;
	cprobe_wal_open_bytes = bytes;
	cprobe_wal_open_images = images;
	wal[CPROBE_WAL_RECORDS]++;
	wal[CPROBE_WAL_BYTES] += bytes;
}

/*
 * One that is timed, has page images, comes after something special, or behind
 * which the full buffers must be counted at once.
 */
static pg_noinline XLogRecPtr
cprobe_wal_insert_special(CPROBE_WAL_INSERT_ARGS)
{
	uint64	   *wal = cprobe_wal_mine();
	uint64		begin_ns = 0;
	XLogRecPtr	end;

	if (wal == NULL)
		return cprobe_wal_insert(CPROBE_WAL_INSERT_PASS);
	cprobe_wal_settle(wal);
	cprobe_wal_full_seen = CPROBE_WAL_BUFFERS_FULL_COUNT();
	cprobe_wal_count(wal, ((XLogRecord *) data->data)->xl_tot_len,
					 (uint64) page_images);
	wal[CPROBE_WAL_FULL_PAGE_IMAGES] += (uint64) page_images;
	if (--cprobe_wal_countdown <= 0)
	{
		cprobe_wal_countdown = cprobe_timed_next();
		begin_ns = cprobe_clock_now_ns();
	}
	end = cprobe_wal_insert(CPROBE_WAL_INSERT_PASS);

	/* Another library's hook may have switched the measuring off. */
	if (cprobe_wal_mine() != wal)
		return end;
	if (begin_ns != 0 && pgWalUsage.wal_records != cprobe_wal_open_records)
		cprobe_wal_time(wal, begin_ns);
	cprobe_wal_settle(wal);
	cprobe_wal_settle_full(wal);
	return end;
}

/*
 * A record is counted before it is inserted, so that nothing has to be kept
 * over the call: the hook ends in a jump.  Whether it was inserted is looked at
 * when the next one comes, or at the end of the transaction.
 */
static XLogRecPtr
cprobe_wal_insert_hook(CPROBE_WAL_INSERT_ARGS)
{
	if (unlikely(!CPROBE_WAL_BUFFERS_FULL_IS_OWN ||
				 cprobe_code_mine == NULL ||
				 cprobe_code_mine != cprobe_wal_block ||
				 MyBackendType != cprobe_wal_type ||
				 !cprobe_wal_reports || cprobe_wal_countdown <= 1 ||
				 page_images > 0 ||
				 pgWalUsage.wal_records == cprobe_wal_open_records ||
				 CPROBE_WAL_BUFFERS_FULL_COUNT() != cprobe_wal_full_seen))
		return cprobe_wal_insert_special(CPROBE_WAL_INSERT_PASS);
	cprobe_wal_countdown--;
	cprobe_wal_count(cprobe_wal_counts,
					 ((XLogRecord *) data->data)->xl_tot_len, 0);
	return cprobe_wal_insert(CPROBE_WAL_INSERT_PASS);
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

/*
 * Most reports come too soon after the last one and do nothing: no clock is
 * read for them.  The others are timed from their first entry on.
 */
static long
cprobe_report_statistics_hook(bool force)
{
	uint64		failures_before = cprobe_stats_flush_failures();
	long		result;
	CprobeSharedCode *mine;
	uint64	   *reports;
	uint64	   *wal;
	uint64		begin_ns;

	if ((wal = cprobe_wal_mine()) != NULL)
		cprobe_wal_settle(wal);
	cprobe_stats_flush_begin_report();
	result = cprobe_report_statistics(force);
	begin_ns = cprobe_stats_flush_end_report();
	mine = cprobe_code_mine;
	if (mine == NULL && (mine = cprobe_code_find()) == NULL)
		return result;
	reports = mine->counts.reports;
	reports[CPROBE_REPORT_CALLS]++;
	if (begin_ns != 0)
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
