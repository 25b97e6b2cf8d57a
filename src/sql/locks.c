/*-------------------------------------------------------------------------
 *
 * locks.c
 *	  Functions behind the views lwlocks, lwlock_tranches, buffer_locks,
 *	  lock_handoffs, wal_insert_locks and wal_insert_occupancy.
 *
 * Separate from the views of wait events (waits.c): here a row is a lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "probe/lock_account.h"
#include "probe/numa_areas.h"
#include "probe/shmem_areas.h"
#include "probe/wal_insert_locks.h"
#include "sql/acquires.h"
#include "sql/lock_text.h"
#include "sql/map_rows.h"
#include "sql/rows.h"
#include "sql/settings.h"

PG_FUNCTION_INFO_V1(cprobe_lwlocks);
PG_FUNCTION_INFO_V1(cprobe_lwlock_tranches);
PG_FUNCTION_INFO_V1(cprobe_buffer_locks);
PG_FUNCTION_INFO_V1(cprobe_lock_handoffs);
PG_FUNCTION_INFO_V1(cprobe_wal_insert_locks);
PG_FUNCTION_INFO_V1(cprobe_wal_insert_occupancy);

#define CPROBE_LWLOCKS_COLUMNS (20 + CPROBE_ACQUIRES_COLUMNS)
#define CPROBE_LWLOCK_TRANCHES_COLUMNS (13 + CPROBE_ACQUIRES_COLUMNS)
#define CPROBE_BUFFER_LOCKS_COLUMNS 10
#define CPROBE_LOCK_HANDOFFS_COLUMNS 8
#define CPROBE_WAL_INSERT_LOCKS_COLUMNS 6
#define CPROBE_WAL_INSERT_OCCUPANCY_COLUMNS 3

/* Columns that are NULL where nothing is known of waits. */
#define CPROBE_LOCK_WAITS_COLUMNS 11
#define CPROBE_PAGE_WAITS_COLUMNS 4

#define CPROBE_WHOLE_KEY PG_UINT64_MAX
#define CPROBE_TRANCHE_KEY (~CPROBE_LOCK_OFFSET_MASK)

/* Of two entries of a lock: the longest wait, and any of the last wakers. */
#define CPROBE_LOCK_MAXIMA \
	((UINT64CONST(1) << CPROBE_LOCK_MAX_NS) | \
	 (UINT64CONST(1) << CPROBE_LOCK_LAST_WAKER))

static void
cprobe_locks_put_p95(CprobeRows *rows, const uint64 *values)
{
	CprobeHistogram histogram = {.max_ns = values[CPROBE_LOCK_MAX_NS]};

	for (int i = 0; i < CPROBE_HISTOGRAM_BUCKETS; i++)
	{
		histogram.counts[i] = values[CPROBE_LOCK_HISTOGRAM + i];
		histogram.total += histogram.counts[i];
	}
	if (histogram.total == 0)
		cprobe_rows_put_null(rows);
	else
		cprobe_rows_put_ms(rows, cprobe_histogram_quantile_ns(&histogram, 0.95));
}

/* Time that only stamped waits have: NULL if there are none. */
static void
cprobe_locks_put_stamped_ms(CprobeRows *rows, uint64 stamped, uint64 ns)
{
	if (stamped == 0)
		cprobe_rows_put_null(rows);
	else
		cprobe_rows_put_ms(rows, (double) ns);
}

/* A sampled mean: NULL if there are no samples. */
static void
cprobe_locks_put_sampled(CprobeRows *rows, uint64 sum, uint64 samples)
{
	if (samples == 0)
		cprobe_rows_put_null(rows);
	else
		cprobe_rows_put_float8(rows, (double) sum / (double) samples);
}

/*
 * No waits counted: where not every process is hooked that means nothing.
 */
static bool
cprobe_locks_waits_unknown(uint64 waits)
{
	return waits == 0 &&
		(!cprobe_region_is_preloaded() ||
		 cprobe_instrument == CPROBE_INSTRUMENT_NONE);
}

static void
cprobe_locks_put_nulls(CprobeRows *rows, int columns)
{
	while (columns-- > 0)
		cprobe_rows_put_null(rows);
}

/* From waits to inferred_waits: the columns that locks and tranches share. */
static void
cprobe_locks_put_waits(CprobeRows *rows, const uint64 *values)
{
	uint64		waits = values[CPROBE_LOCK_WAITS];
	uint64		not_exclusive = values[CPROBE_LOCK_SHARED] +
	values[CPROBE_LOCK_UNTIL_FREE];

	if (cprobe_locks_waits_unknown(waits))
	{
		cprobe_locks_put_nulls(rows, CPROBE_LOCK_WAITS_COLUMNS);
		return;
	}
	cprobe_rows_put_int8(rows, waits);
	cprobe_rows_put_ms(rows, (double) values[CPROBE_LOCK_TIME_NS]);
	cprobe_rows_put_int8(rows, values[CPROBE_LOCK_SHARED]);
	cprobe_rows_put_int8(rows, waits > not_exclusive ?
						 waits - not_exclusive : 0);
	cprobe_locks_put_stamped_ms(rows, values[CPROBE_LOCK_STAMPED],
								values[CPROBE_LOCK_QUEUE_NS]);
	cprobe_locks_put_stamped_ms(rows, values[CPROBE_LOCK_STAMPED],
								values[CPROBE_LOCK_WAKEUP_NS]);
	if (waits == 0)
		cprobe_rows_put_null(rows);
	else
		cprobe_rows_put_ms(rows, (double) values[CPROBE_LOCK_TIME_NS] /
						   (double) waits);
	cprobe_rows_put_ms(rows, (double) values[CPROBE_LOCK_MAX_NS]);
	cprobe_locks_put_p95(rows, values);
	cprobe_rows_put_int8(rows, values[CPROBE_LOCK_PROVEN]);
	cprobe_rows_put_int8(rows, values[CPROBE_LOCK_INFERRED]);
}

static void
cprobe_locks_put_until_free(CprobeRows *rows, const uint64 *values)
{
	if (cprobe_locks_waits_unknown(values[CPROBE_LOCK_WAITS]))
		cprobe_rows_put_null(rows);
	else
		cprobe_rows_put_int8(rows, values[CPROBE_LOCK_UNTIL_FREE]);
}

/*
 * Locks that were waited for: by hooked processes, or as the sampler saw.
 * Content locks that are no LWLocks have their own views.
 */
static bool
cprobe_locks_is_shown(const CprobeMapRow *row)
{
	uint64		waits = row->values[CPROBE_LOCK_WAITS];

	return (waits > 0 ||
			(cprobe_locks_waits_unknown(waits) &&
			 row->values[CPROBE_LOCK_QUEUE_SAMPLES] > 0)) &&
		CPROBE_LOCK_KEY_TRANCHE(row->key[0]) != CPROBE_TRANCHE_BUFFER;
}

static CprobeMapRows
cprobe_locks_read(uint64 key_mask)
{
	return cprobe_map_rows_read(cprobe_region_locks(), cprobe_region_epoch(),
								CPROBE_LOCK_MAXIMA, key_mask);
}

/* The nodes on which locks lie, -1 = not known; by row. */
static int *
cprobe_locks_find_homes(const CprobeMapRows *locks)
{
	int		   *homes = palloc((locks->count + 1) * sizeof(int));
	void	  **addresses = palloc((locks->count + 1) * sizeof(void *));
	uint32	   *places = palloc((locks->count + 1) * sizeof(uint32));
	int		   *nodes = palloc((locks->count + 1) * sizeof(int));
	int			asked = 0;

	for (uint32 i = 0; i < locks->count; i++)
	{
		uint64		offset = CPROBE_LOCK_KEY_OFFSET(locks->rows[i].key[0]);

		homes[i] = -1;
		if (offset == 0)
			continue;
		places[asked] = i;
		addresses[asked++] = cprobe_shmem_address(offset);
	}
	cprobe_numa_nodes_of(addresses, nodes, asked);
	for (int i = 0; i < asked; i++)
		homes[places[i]] = nodes[i];
	return homes;
}

/* The same of a single lock. */
static int
cprobe_locks_find_home(CprobeLockKey lock)
{
	void	   *address = cprobe_shmem_address(CPROBE_LOCK_KEY_OFFSET(lock));
	int			node = -1;

	cprobe_numa_nodes_of(&address, &node, 1);
	return node;
}

/* Where the lock lies, and how far it was handed over. */
static void
cprobe_locks_put_distances(CprobeRows *rows, const uint64 *values, int home)
{
	if (home < 0)
		cprobe_rows_put_null(rows);
	else
		cprobe_rows_put_int4(rows, home);
	cprobe_rows_put_int8(rows, values[CPROBE_LOCK_REMOTE]);
	cprobe_rows_put_int8(rows, values[CPROBE_LOCK_SMT]);
}

/* Waits in order to acquire, not for the release only. */
static uint64
cprobe_locks_acquire_waits(const uint64 *values)
{
	uint64		until_free = values[CPROBE_LOCK_UNTIL_FREE];

	return values[CPROBE_LOCK_WAITS] - Min(values[CPROBE_LOCK_WAITS], until_free);
}

static void
cprobe_lwlocks_put_row(CprobeRows *rows, CprobeLockKey lock,
					   const uint64 *values, int home,
					   CprobeAcquires *acquires)
{
	uint64		samples = values[CPROBE_LOCK_SAMPLES];

	cprobe_rows_put_text(rows, cprobe_lock_text(lock, NULL));
	cprobe_rows_put_text(rows, cprobe_lock_tranche_text(lock));
	cprobe_locks_put_waits(rows, values);
	cprobe_locks_put_sampled(rows, values[CPROBE_LOCK_EXCLUSIVE_SAMPLES],
							 samples);
	cprobe_locks_put_sampled(rows, values[CPROBE_LOCK_SHARED_SAMPLES],
							 samples);
	cprobe_locks_put_sampled(rows, values[CPROBE_LOCK_QUEUE_SAMPLES],
							 samples);
	cprobe_locks_put_until_free(rows, values);
	cprobe_locks_put_distances(rows, values, home);
	cprobe_acquires_put_lock(rows, acquires, lock,
							 cprobe_locks_acquire_waits(values));
	cprobe_rows_end_row(rows);
}

static void
cprobe_lwlock_tranches_put_row(CprobeRows *rows, CprobeLockKey lock,
							   const uint64 *values, CprobeAcquires *acquires)
{
	cprobe_rows_put_text(rows, cprobe_lock_tranche_text(lock));
	cprobe_locks_put_waits(rows, values);
	cprobe_locks_put_until_free(rows, values);
	cprobe_acquires_put_tranche(rows, acquires, CPROBE_LOCK_KEY_TRANCHE(lock),
								cprobe_locks_acquire_waits(values));
	cprobe_rows_end_row(rows);
}

/* First the locks that were waited for, then those that only were acquired. */
Datum
cprobe_lwlocks(PG_FUNCTION_ARGS)
{
	static const uint64 no_waits[CPROBE_LOCK_VALUE_WORDS] = {0};
	CprobeRows	rows;
	CprobeMapRows locks;
	int		   *homes;
	CprobeAcquires *acquires;
	CprobeLockKey lock;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_LWLOCKS_COLUMNS);
	acquires = cprobe_acquires_read();
	locks = cprobe_locks_read(CPROBE_WHOLE_KEY);
	homes = cprobe_locks_find_homes(&locks);
	for (uint32 i = 0; i < locks.count; i++)
	{
		if (cprobe_locks_is_shown(&locks.rows[i]))
			cprobe_lwlocks_put_row(&rows, locks.rows[i].key[0],
								   locks.rows[i].values, homes[i], acquires);
	}
	while (cprobe_acquires_next_lock(acquires, &lock))
		cprobe_lwlocks_put_row(&rows, lock, no_waits,
							   cprobe_locks_find_home(lock), acquires);
	return (Datum) 0;
}

Datum
cprobe_lwlock_tranches(PG_FUNCTION_ARGS)
{
	static const uint64 no_waits[CPROBE_LOCK_VALUE_WORDS] = {0};
	CprobeRows	rows;
	CprobeMapRows tranches;
	CprobeAcquires *acquires;
	CprobeLockKey lock;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_LWLOCK_TRANCHES_COLUMNS);
	acquires = cprobe_acquires_read();
	tranches = cprobe_locks_read(CPROBE_TRANCHE_KEY);
	for (uint32 i = 0; i < tranches.count; i++)
	{
		if (cprobe_locks_is_shown(&tranches.rows[i]))
			cprobe_lwlock_tranches_put_row(&rows, tranches.rows[i].key[0],
										   tranches.rows[i].values, acquires);
	}
	while (cprobe_acquires_next_tranche(acquires, &lock))
		cprobe_lwlock_tranches_put_row(&rows, lock, no_waits, acquires);
	return (Datum) 0;
}

static void
cprobe_buffer_locks_put_counts(CprobeRows *rows, const uint64 *values)
{
	uint64		waits = values[CPROBE_PAGE_WAITS];

	if (cprobe_locks_waits_unknown(waits))
		cprobe_locks_put_nulls(rows, CPROBE_PAGE_WAITS_COLUMNS);
	else
	{
		cprobe_rows_put_int8(rows, waits);
		cprobe_rows_put_ms(rows, (double) values[CPROBE_PAGE_TIME_NS]);
		cprobe_rows_put_int8(rows, values[CPROBE_PAGE_SHARED]);
		cprobe_rows_put_int8(rows, waits - Min(values[CPROBE_PAGE_SHARED],
											   waits));
	}
	cprobe_rows_put_int8(rows, values[CPROBE_PAGE_SAMPLES]);
}

Datum
cprobe_buffer_locks(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeMapRows pages;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_BUFFER_LOCKS_COLUMNS);
	pages = cprobe_map_rows_read(cprobe_region_pages(), cprobe_region_epoch(),
								 0, CPROBE_WHOLE_KEY);
	for (uint32 i = 0; i < pages.count; i++)
	{
		const uint64 *values = pages.rows[i].values;
		CprobePage	page;
		CprobePageParts parts;

		if (values[CPROBE_PAGE_WAITS] == 0 && values[CPROBE_PAGE_SAMPLES] == 0)
			continue;
		memcpy(page.words, pages.rows[i].key, sizeof(page.words));
		parts = cprobe_page_parts(&page);
		cprobe_rows_put_oid(&rows, parts.database);
		cprobe_rows_put_oid(&rows, parts.relation);
		cprobe_rows_put_text(&rows, parts.relation_name);
		cprobe_rows_put_text(&rows, cprobe_fork_name(parts.fork));
		cprobe_rows_put_int8(&rows, parts.block);
		cprobe_buffer_locks_put_counts(&rows, values);
		cprobe_rows_end_row(&rows);
	}
	return (Datum) 0;
}

static void
cprobe_handoffs_put_row(CprobeRows *rows, const CprobeMapRow *row)
{
	bool		known = row->key[3] != CPROBE_HANDOFF_NO_WAKER;
	uint64		stamped = known ? row->values[CPROBE_HANDOFF_COUNT] : 0;

	cprobe_rows_put_text(rows, cprobe_lock_text(row->key[0], NULL));
	cprobe_rows_put_text(rows, cprobe_lock_tranche_text(row->key[0]));
	cprobe_rows_put_query_id(rows, rows->all_stats ? row->key[1] : 0);
	cprobe_rows_put_query_id(rows, rows->all_stats ? row->key[2] : 0);
	cprobe_rows_put_text(rows, known ?
						 cprobe_region_type_name((uint32) row->key[3]) : NULL);
	cprobe_rows_put_int8(rows, row->values[CPROBE_HANDOFF_COUNT]);
	cprobe_locks_put_stamped_ms(rows, stamped,
								row->values[CPROBE_HANDOFF_QUEUE_NS]);
	cprobe_locks_put_stamped_ms(rows, stamped,
								row->values[CPROBE_HANDOFF_WAKEUP_NS]);
	cprobe_rows_end_row(rows);
}

Datum
cprobe_lock_handoffs(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeMapRows handoffs;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_LOCK_HANDOFFS_COLUMNS);
	handoffs = cprobe_map_rows_read(cprobe_region_handoffs(),
									cprobe_region_epoch(), 0,
									CPROBE_WHOLE_KEY);
	for (uint32 i = 0; i < handoffs.count; i++)
	{
		if (handoffs.rows[i].values[CPROBE_HANDOFF_COUNT] > 0)
			cprobe_handoffs_put_row(&rows, &handoffs.rows[i]);
	}
	return (Datum) 0;
}

/* The counters of one lock, zeroes if it was neither waited for nor seen. */
static void
cprobe_locks_find(const CprobeMapRows *locks, CprobeLockKey lock,
				  CprobeMapRow *found)
{
	memset(found, 0, sizeof(*found));
	for (uint32 i = 0; i < locks->count; i++)
	{
		if (locks->rows[i].key[0] == lock)
			*found = locks->rows[i];
	}
}

Datum
cprobe_wal_insert_locks(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeMapRows locks;
	int			count;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_WAL_INSERT_LOCKS_COLUMNS);
	locks = cprobe_locks_read(CPROBE_WHOLE_KEY);
	count = cprobe_wal_insert_lock_count();
	for (int i = 0; i < count; i++)
	{
		CprobeMapRow row;
		uint64		offset = cprobe_shmem_offset(cprobe_wal_insert_lock(i));

		cprobe_locks_find(&locks,
						  CPROBE_LOCK_KEY(LWTRANCHE_WAL_INSERT, offset),
						  &row);
		cprobe_rows_put_int4(&rows, i);
		if (cprobe_locks_waits_unknown(row.values[CPROBE_LOCK_WAITS]))
			cprobe_locks_put_nulls(&rows, 2);
		else
		{
			cprobe_rows_put_int8(&rows, row.values[CPROBE_LOCK_WAITS]);
			cprobe_rows_put_ms(&rows,
							   (double) row.values[CPROBE_LOCK_TIME_NS]);
		}
		cprobe_locks_put_stamped_ms(&rows, row.values[CPROBE_LOCK_STAMPED],
									row.values[CPROBE_LOCK_QUEUE_NS]);
		cprobe_locks_put_stamped_ms(&rows, row.values[CPROBE_LOCK_STAMPED],
									row.values[CPROBE_LOCK_WAKEUP_NS]);
		cprobe_locks_put_sampled(&rows,
								 row.values[CPROBE_LOCK_EXCLUSIVE_SAMPLES],
								 row.values[CPROBE_LOCK_SAMPLES]);
		cprobe_rows_end_row(&rows);
	}
	return (Datum) 0;
}

Datum
cprobe_wal_insert_occupancy(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	int			count;
	uint64		held[CPROBE_WAL_OCCUPANCY];
	uint64		total = 0;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_WAL_INSERT_OCCUPANCY_COLUMNS);
	count = cprobe_wal_insert_lock_count();
	if (count == 0)
		return (Datum) 0;
	count = Min(count, CPROBE_WAL_OCCUPANCY - 1);
	for (int i = 0; i <= count; i++)
	{
		held[i] = pg_atomic_read_u64(&cprobe_region->wal_locks_held[i]);
		total += held[i];
	}
	for (int i = 0; i <= count; i++)
	{
		cprobe_rows_put_int4(&rows, i);
		cprobe_rows_put_int8(&rows, held[i]);
		cprobe_locks_put_sampled(&rows, held[i], total);
		cprobe_rows_end_row(&rows);
	}
	return (Datum) 0;
}
