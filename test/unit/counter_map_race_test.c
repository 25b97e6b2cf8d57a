/*-------------------------------------------------------------------------
 *
 * counter_map_race_test.c
 *	  The counter map with many writers, readers and resets at once.
 *
 * Separate from counter_map_test.c, which has one process.
 *
 * Every key is made of a small number: the other words follow from it, and so
 * does the amount by which its second counter grows.  So a row that mixes two
 * keys, or one key with another's counters, gives itself away.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "store/counter_map.h"

#include "tap.h"
#include "workers.h"

#define KEY_WORDS 3
#define VALUE_WORDS 2
#define WRITERS 4
#define ADDS 100000
#define KEYS 10000

/* What the workers of a test share. */
typedef struct CprobeMapRace
{
	pg_atomic_uint32 epoch;
	pg_atomic_uint32 done;		/* writers that have ended */
	pg_atomic_uint64 rows_read;
	uint32		keys;			/* a writer takes keys below this number */
	bool		own_keys;		/* each writer has keys of its own */
	int			reset_every;	/* additions of a writer; 0 = never */
	CprobeSharedMap *map;
} CprobeMapRace;

static CprobeMapRace *
new_race(uint32 limit, uint32 keys, bool own_keys)
{
	CprobeMapRace *race = cprobe_workers_share(sizeof(*race));

	pg_atomic_init_u32(&race->epoch, 1);
	race->keys = keys;
	race->own_keys = own_keys;
	race->map = cprobe_workers_share(cprobe_map_size(limit, KEY_WORDS,
													 VALUE_WORDS));
	cprobe_map_init(race->map, limit, KEY_WORDS, VALUE_WORDS);
	return race;
}

/* Distinct odd numbers: what a row of another key would not divide by. */
static uint64
step_of(uint64 number)
{
	return number * 2 + 1000003;
}

static void
make_key(uint64 number, uint64 key[KEY_WORDS])
{
	key[0] = number;
	key[1] = number * UINT64CONST(0x9E3779B97F4A7C15);
	key[2] = ~number;
}

static bool
key_is_whole(const CprobeMapRow *row)
{
	uint64		key[KEY_WORDS];

	make_key(row->key[0], key);
	return memcmp(key, row->key, sizeof(key)) == 0;
}

/* As hooks do: claim, then add, then count what found no place. */
static void
add_once(CprobeMapRace *race, uint32 epoch, uint64 number)
{
	uint64		key[KEY_WORDS];
	pg_atomic_uint64 *values;

	make_key(number, key);
	values = cprobe_map_claim(race->map, epoch, key);
	if (values == NULL)
	{
		cprobe_map_drop(race->map);
		return;
	}
	pg_atomic_fetch_add_u64(&values[0], 1);
	pg_atomic_fetch_add_u64(&values[1], step_of(number));
}

static void
write_all(CprobeMapRace *race, int worker)
{
	uint64		state = (uint64) worker + 1;

	for (int i = 0; i < ADDS; i++)
	{
		uint64		number = cprobe_workers_random(&state) % race->keys;

		if (race->own_keys)
			number = number * WRITERS + (uint64) worker;
		if (race->reset_every != 0 && i % race->reset_every == 0)
			pg_atomic_fetch_add_u32(&race->epoch, 1);
		add_once(race, pg_atomic_read_u32(&race->epoch), number);
	}
	pg_atomic_fetch_add_u32(&race->done, 1);
}

/* Read until the writers are done; violations. */
static uint64
read_all(CprobeMapRace *race, bool check_values)
{
	uint64		violations = 0;

	do
	{
		CprobeMapRow row;
		uint32		position = 0;
		uint32		epoch = pg_atomic_read_u32(&race->epoch);

		while (cprobe_map_next(race->map, epoch, &position, &row))
		{
			pg_atomic_fetch_add_u64(&race->rows_read, 1);
			if (!key_is_whole(&row) || row.values[0] > WRITERS * ADDS)
				violations++;
			else if (check_values && row.values[1] % step_of(row.key[0]) != 0)
				violations++;
		}
	} while (pg_atomic_read_u32(&race->done) < WRITERS);
	return violations;
}

/* Workers from WRITERS on read. */
static uint64
write_or_read(int worker, void *arg)
{
	if (worker >= WRITERS)
		return read_all(arg, true);
	write_all(arg, worker);
	return 0;
}

/* Sum of both counters over all rows, and the number of different keys. */
typedef struct CprobeMapSums
{
	uint64		counts;
	uint32		rows;
	uint32		wrong;			/* counters that do not fit the key */
} CprobeMapSums;

static CprobeMapSums
sum_rows(CprobeMapRace *race)
{
	CprobeMapSums sums = {0};
	CprobeMapRow row;
	uint32		position = 0;

	while (cprobe_map_next(race->map, pg_atomic_read_u32(&race->epoch),
						   &position, &row))
	{
		sums.rows++;
		sums.counts += row.values[0];
		if (!key_is_whole(&row) ||
			row.values[1] != row.values[0] * step_of(row.key[0]))
			sums.wrong++;
	}
	return sums;
}

/*
 * Nothing is lost, nothing counted twice, and readers see whole rows, whoever
 * claims first.
 */
static void
test_writers(CprobeWorkerKind kind, bool own_keys, const char *name)
{
	CprobeMapRace *race = new_race(65536, KEYS, own_keys);
	uint32		keys = own_keys ? KEYS * WRITERS : KEYS;
	CprobeMapSums sums;

	cprobe_tap_equal(cprobe_workers_run(kind, WRITERS + 2, write_or_read, race), 0,
					 "%s: two readers see no row that mixes keys or counters", name);
	sums = sum_rows(race);
	cprobe_tap_equal(sums.counts, WRITERS * ADDS, "%s: nothing is lost", name);
	cprobe_tap_equal(sums.wrong, 0, "%s: every counter belongs to its key", name);

	/* A key stands twice only if two have claimed it at the same moment. */
	cprobe_tap_ok(sums.rows > keys / 2 && sums.rows <= keys + keys / 10,
				  "%s: keys that stand twice are few", name);
	cprobe_tap_note("%u rows for %u keys; %llu rows read meanwhile", sums.rows,
					keys, (unsigned long long) pg_atomic_read_u64(&race->rows_read));
	cprobe_tap_equal(cprobe_map_used(race->map, 1), sums.rows,
					 "%s: the entries in use are the rows", name);
}

/* max_queries reached under load. */
static void
test_limit(CprobeWorkerKind kind, const char *name)
{
	CprobeMapRace *race = new_race(100, 5000, false);
	uint64		dropped;
	CprobeMapSums sums;

	cprobe_tap_equal(cprobe_workers_run(kind, WRITERS + 1, write_or_read, race), 0,
					 "%s, map too small: a reader sees whole rows", name);
	sums = sum_rows(race);
	dropped = pg_atomic_read_u64(&race->map->dropped);
	cprobe_tap_ok(sums.rows <= 100, "%s, map too small: the limit holds", name);
	cprobe_tap_ok(sums.rows >= 95, "%s, map too small: it is used up", name);
	cprobe_tap_equal(sums.counts + dropped, WRITERS * ADDS,
					 "%s, map too small: what is not in it was counted as dropped", name);
	cprobe_tap_equal(sums.wrong, 0, "%s, map too small: what is in it is right", name);
}

/* As write_or_read, but counters are not compared. */
static uint64
write_or_read_keys(int worker, void *arg)
{
	if (worker >= WRITERS)
		return read_all(arg, false);
	write_all(arg, worker);
	return 0;
}

/*
 * Resets under load.  A writer that is overtaken by a reset may add its one
 * count to what was claimed there since (see the caveat in counter_map.h), so
 * counters are not compared; keys must be whole, and counts not absurd.
 */
static void
test_resets(CprobeWorkerKind kind, const char *name)
{
	CprobeMapRace *race = new_race(64, 200, false);
	uint64		state = 99;
	CprobeMapSums sums;
	uint32		epoch;

	race->reset_every = 50;
	cprobe_tap_equal(cprobe_workers_run(kind, WRITERS + 2, write_or_read_keys, race), 0,
					 "%s, resets: keys are whole and no count is absurd", name);
	cprobe_tap_note("%u resets, %llu rows read", pg_atomic_read_u32(&race->epoch) - 1,
					(unsigned long long) pg_atomic_read_u64(&race->rows_read));

	/* Afterwards the map is as good as new. */
	epoch = pg_atomic_fetch_add_u32(&race->epoch, 1) + 1;
	for (int i = 0; i < ADDS; i++)
		add_once(race, epoch, cprobe_workers_random(&state) % 64);
	sums = sum_rows(race);
	cprobe_tap_ok(sums.rows == 64 && sums.counts == ADDS && sums.wrong == 0,
				  "%s, resets: the next epoch has every place, and counts right", name);
}

int
main(void)
{
	test_writers(CPROBE_WORKER_PROCESSES, false, "processes, the same keys");
	test_writers(CPROBE_WORKER_PROCESSES, true, "processes, keys of their own");
	test_writers(CPROBE_WORKER_THREADS, false, "threads, the same keys");
	test_limit(CPROBE_WORKER_PROCESSES, "processes");
	test_resets(CPROBE_WORKER_PROCESSES, "processes");
	test_resets(CPROBE_WORKER_THREADS, "threads");
	return cprobe_tap_done();
}
