/*-------------------------------------------------------------------------
 *
 * history_ring_test.c
 *	  The ring of sampled rows: order, overwriting, clearing, fast writers.
 *
 * Separate: a program of its own, as every unit test.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <stdlib.h>

#include "store/history_ring.h"

#include "tap.h"
#include "workers.h"

static CprobeSharedRing *
new_ring(uint32 capacity)
{
	CprobeSharedRing *ring = calloc(1, cprobe_ring_size(capacity));

	if (ring == NULL)
		abort();
	cprobe_ring_init(ring, capacity);
	return ring;
}

/* Row number n: every word follows from n. */
static void
make_row(uint64 n, CprobeRingRow *row)
{
	for (int i = 0; i < CPROBE_RING_ROW_WORDS; i++)
		row->words[i] = (n + (uint64) i) * UINT64CONST(0x9E3779B97F4A7C15);
}

static void
append_rows(CprobeSharedRing *ring, uint64 from, uint64 to)
{
	CprobeRingRow row;

	for (uint64 n = from; n <= to; n++)
	{
		make_row(n, &row);
		cprobe_ring_append(ring, &row);
	}
}

static bool
row_is(const CprobeRingRow *row, uint64 n)
{
	CprobeRingRow expected;

	make_row(n, &expected);
	return memcmp(row, &expected, sizeof(expected)) == 0;
}

/* Rows in bounds that can be read and are what was written. */
static uint64
count_readable(CprobeSharedRing *ring)
{
	uint64		oldest;
	uint64		newest;
	uint64		readable = 0;

	cprobe_ring_bounds(ring, &oldest, &newest);
	for (uint64 n = oldest; n <= newest; n++)
	{
		CprobeRingRow row;

		if (cprobe_ring_read(ring, n, &row) && row_is(&row, n))
			readable++;
	}
	return readable;
}

static void
check_bounds(CprobeSharedRing *ring, uint64 oldest, uint64 newest,
			 const char *name)
{
	uint64		got_oldest;
	uint64		got_newest;

	cprobe_ring_bounds(ring, &got_oldest, &got_newest);
	cprobe_tap_ok(got_oldest == oldest && got_newest == newest,
				  "%s: rows %llu to %llu", name,
				  (unsigned long long) oldest, (unsigned long long) newest);
}

static void
test_filling(void)
{
	CprobeSharedRing *ring = new_ring(5);
	CprobeRingRow row;

	check_bounds(ring, 1, 0, "an empty ring");
	append_rows(ring, 1, 1);
	check_bounds(ring, 1, 1, "one row");
	append_rows(ring, 2, 4);
	check_bounds(ring, 1, 4, "one place left");
	append_rows(ring, 5, 5);
	check_bounds(ring, 1, 5, "full");
	cprobe_tap_equal(count_readable(ring), 5, "a full ring has all rows");
	cprobe_tap_ok(!cprobe_ring_read(ring, 6, &row), "a row that is not yet there is not read");
	append_rows(ring, 6, 6);
	check_bounds(ring, 2, 6, "one row over");
	cprobe_tap_ok(!cprobe_ring_read(ring, 1, &row), "an overwritten row is not read");
	cprobe_tap_equal(count_readable(ring), 5, "the last five are");
	append_rows(ring, 7, 1003);
	check_bounds(ring, 999, 1003, "many times around");
	cprobe_tap_equal(count_readable(ring), 5, "still the last five");
	free(ring);
}

static void
test_one_place(void)
{
	CprobeSharedRing *ring = new_ring(1);

	append_rows(ring, 1, 3);
	check_bounds(ring, 3, 3, "a ring of one place");
	cprobe_tap_equal(count_readable(ring), 1, "a ring of one place has the last row");
	free(ring);
}

/* reset() */
static void
test_clear(void)
{
	CprobeSharedRing *ring = new_ring(5);

	cprobe_ring_clear(ring);
	check_bounds(ring, 1, 0, "an empty ring, cleared");
	append_rows(ring, 1, 3);
	cprobe_ring_clear(ring);
	cprobe_tap_equal(count_readable(ring), 0, "a cleared ring shows nothing");
	append_rows(ring, 4, 5);
	check_bounds(ring, 4, 5, "rows behind the clearing");
	cprobe_tap_equal(count_readable(ring), 2, "what comes afterwards is shown");
	append_rows(ring, 6, 20);
	check_bounds(ring, 16, 20, "when the clearing is forgotten");
	free(ring);
}

/*
 * A writer that was killed half way through a row: the next one goes on, and
 * nobody reads the half row.  The places lie behind the head.
 */
static void
test_killed_writer(void)
{
	CprobeSharedRing *ring = new_ring(4);
	CprobeSharedRingPlace *places = (CprobeSharedRingPlace *) (ring + 1);
	CprobeRingRow row;

	append_rows(ring, 1, 4);

	/* Row 5 was to go where row 1 is. */
	pg_atomic_write_u64(&places[0].sequence, 0);
	pg_atomic_write_u64(&places[0].words[0], 12345);
	cprobe_tap_ok(!cprobe_ring_read(ring, 1, &row) && !cprobe_ring_read(ring, 5, &row),
				  "a half written row is not read, neither as old nor as new");
	cprobe_tap_equal(count_readable(ring), 3, "all others are");
	append_rows(ring, 5, 6);
	check_bounds(ring, 3, 6, "the next writer goes on");
	cprobe_tap_equal(count_readable(ring), 4, "and the place is whole again");
	free(ring);
}

#define READERS 3
#define RACE_ROWS 2000000

typedef struct CprobeRingRace
{
	CprobeSharedRing *ring;
	bool		clears;			/* the first reader clears as well */
	pg_atomic_uint32 done;
	pg_atomic_uint64 rows_read;
	pg_atomic_uint64 rows_gone;
} CprobeRingRace;

/* Read all rows once; how many were not what was written under their number. */
static uint64
read_rows(CprobeRingRace *race, uint64 *last_newest)
{
	uint64		oldest;
	uint64		newest;
	uint64		violations = 0;

	cprobe_ring_bounds(race->ring, &oldest, &newest);
	if (newest < *last_newest || newest + 1 - oldest > race->ring->capacity)
		violations++;
	*last_newest = newest;
	for (uint64 n = oldest; n <= newest; n++)
	{
		CprobeRingRow row;

		if (!cprobe_ring_read(race->ring, n, &row))
			pg_atomic_fetch_add_u64(&race->rows_gone, 1);
		else if (!row_is(&row, n))
			violations++;
		else
			pg_atomic_fetch_add_u64(&race->rows_read, 1);
	}
	return violations;
}

/* Worker 0 writes, the others read until it is done, and once more. */
static uint64
write_or_read(int number, void *arg)
{
	CprobeRingRace *race = arg;
	uint64		last_newest = 0;
	uint64		violations = 0;
	bool		done;

	if (number == 0)
	{
		append_rows(race->ring, 1, RACE_ROWS);
		pg_atomic_write_u32(&race->done, 1);
		return 0;
	}
	do
	{
		done = pg_atomic_read_u32(&race->done) != 0;
		pg_read_barrier();
		violations += read_rows(race, &last_newest);
		if (race->clears && number == 1 && !done)
			cprobe_ring_clear(race->ring);
	} while (!done);
	return violations;
}

static void
test_fast_writer(CprobeWorkerKind kind, uint32 capacity, bool clears,
				 const char *name)
{
	CprobeRingRace *race = cprobe_workers_share(sizeof(*race));

	race->ring = cprobe_workers_share(cprobe_ring_size(capacity));
	race->clears = clears;
	cprobe_ring_init(race->ring, capacity);
	cprobe_tap_equal(cprobe_workers_run(kind, 1 + READERS, write_or_read, race), 0,
					 "%s, %u places: no reader sees a torn row, or one under another's number",
					 name, capacity);
	cprobe_tap_note("%llu rows read, %llu overwritten under the reader's eyes",
					(unsigned long long) pg_atomic_read_u64(&race->rows_read),
					(unsigned long long) pg_atomic_read_u64(&race->rows_gone));
	if (!clears)
		cprobe_tap_equal(count_readable(race->ring), capacity,
						 "%s, %u places: in the end the last rows are there", name, capacity);
}

int
main(void)
{
	test_filling();
	test_one_place();
	test_clear();
	test_killed_writer();
	test_fast_writer(CPROBE_WORKER_PROCESSES, 1, false, "processes");
	test_fast_writer(CPROBE_WORKER_PROCESSES, 7, false, "processes");
	test_fast_writer(CPROBE_WORKER_PROCESSES, 1000, false, "processes");
	test_fast_writer(CPROBE_WORKER_PROCESSES, 1000, true, "processes, and clearing");
	test_fast_writer(CPROBE_WORKER_THREADS, 7, false, "threads");
	return cprobe_tap_done();
}
