/*-------------------------------------------------------------------------
 *
 * counter_map_test.c
 *	  The counter map of one process: keys, capacity, drops and epochs.
 *
 * Separate from counter_map_race_test.c, where many use it at once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <stdlib.h>

#include "store/counter_map.h"

#include "tap.h"

#define KEY_WORDS 3
#define VALUE_WORDS 2

/*
 * A new map.  What lies behind its memory is watched by the sanitizers and by
 * valgrind.
 */
static CprobeSharedMap *
new_map(uint32 limit, uint32 key_words, uint32 value_words)
{
	CprobeSharedMap *map = calloc(1, cprobe_map_size(limit, key_words,
													 value_words));

	if (map == NULL)
		abort();
	cprobe_map_init(map, limit, key_words, value_words);
	return map;
}

/* Key number i: differs from the others in one word, by turns. */
static void
make_key(uint64 i, uint64 key[CPROBE_MAP_MAX_KEY_WORDS])
{
	memset(key, 0, CPROBE_MAP_MAX_KEY_WORDS * sizeof(uint64));
	key[i % KEY_WORDS] = i;
}

static uint32
count_rows(CprobeSharedMap *map, uint32 epoch, uint64 *value_sum)
{
	CprobeMapRow row;
	uint32		position = 0;
	uint32		rows = 0;

	*value_sum = 0;
	while (cprobe_map_next(map, epoch, &position, &row))
	{
		rows++;
		*value_sum += row.values[0];
	}
	return rows;
}

static void
test_claim_and_find(void)
{
	CprobeSharedMap *map = new_map(100, KEY_WORDS, VALUE_WORDS);
	uint64		key[CPROBE_MAP_MAX_KEY_WORDS] = {0};
	uint64		near[CPROBE_MAP_MAX_KEY_WORDS] = {0, 0, 1};
	pg_atomic_uint64 *values;

	cprobe_tap_ok(cprobe_map_find(map, 1, key) == NULL, "a new map is empty");
	values = cprobe_map_claim(map, 1, key);
	cprobe_tap_ok(values != NULL && pg_atomic_read_u64(&values[0]) == 0 &&
				  pg_atomic_read_u64(&values[1]) == 0,
				  "a key of zeroes can be claimed, and its counters start at 0");
	cprobe_tap_ok(cprobe_map_claim(map, 1, key) == values &&
				  cprobe_map_find(map, 1, key) == values,
				  "the same key leads to the same counters");
	cprobe_tap_ok(cprobe_map_find(map, 1, near) == NULL,
				  "a key that differs in its last word is another");
	cprobe_tap_ok(cprobe_map_claim(map, 1, near) != values &&
				  cprobe_map_used(map, 1) == 2,
				  "and has counters of its own");
	free(map);
}

/* What the views do: every entry once, with its own key and values. */
static void
test_iteration(void)
{
	enum
	{
		KEYS = 2000
	};
	CprobeSharedMap *map = new_map(KEYS, KEY_WORDS, VALUE_WORDS);
	static bool seen[KEYS];
	CprobeMapRow row;
	uint32		position = 0;
	int			wrong = 0;
	int			rows = 0;

	for (uint64 i = 0; i < KEYS; i++)
	{
		uint64		key[CPROBE_MAP_MAX_KEY_WORDS];
		pg_atomic_uint64 *values;

		/* Key 0 is all zeroes; 1, 2 and 3 lie in different words. */
		make_key(i, key);
		values = cprobe_map_claim(map, 7, key);
		if (values == NULL)
			continue;
		pg_atomic_fetch_add_u64(&values[0], i);
		pg_atomic_fetch_add_u64(&values[1], i * 3);
	}
	while (cprobe_map_next(map, 7, &position, &row))
	{
		uint64		i = row.values[0];
		uint64		key[CPROBE_MAP_MAX_KEY_WORDS];

		rows++;
		make_key(i, key);
		if (i >= KEYS || seen[i] || row.values[1] != i * 3 ||
			memcmp(key, row.key, KEY_WORDS * sizeof(uint64)) != 0)
			wrong++;
		else
			seen[i] = true;
	}
	cprobe_tap_equal((uint64) rows, KEYS, "every key is read once");
	cprobe_tap_equal((uint64) wrong, 0, "with its own counters");
	cprobe_tap_ok(!cprobe_map_next(map, 7, &position, &row),
				  "behind the last one there is nothing");
	free(map);
}

static void
test_limit(uint32 limit)
{
	CprobeSharedMap *map = new_map(limit, KEY_WORDS, VALUE_WORDS);
	uint32		claimed = 0;
	uint32		dropped = 0;
	uint32		lost = 0;
	uint64		value_sum;

	for (uint64 i = 1; i <= (uint64) limit * 3; i++)
	{
		uint64		key[CPROBE_MAP_MAX_KEY_WORDS];
		pg_atomic_uint64 *values;

		make_key(i, key);
		values = cprobe_map_claim(map, 1, key);
		if (values == NULL)
		{
			cprobe_map_drop(map);
			dropped++;
			continue;
		}
		claimed++;
		pg_atomic_fetch_add_u64(&values[0], 1);
		if (cprobe_map_find(map, 1, key) != values)
			lost++;
	}
	cprobe_tap_equal(claimed, limit, "limit %u: so many keys have a place", limit);
	cprobe_tap_equal(cprobe_map_used(map, 1), limit, "limit %u: so many are in use", limit);
	cprobe_tap_equal(pg_atomic_read_u64(&map->dropped), dropped,
					 "limit %u: the others are counted as dropped", limit);
	cprobe_tap_ok(count_rows(map, 1, &value_sum) == limit &&
				  value_sum == limit && lost == 0,
				  "limit %u: what has a place keeps it", limit);
	free(map);
}

/* A full map must go on counting what it has. */
static void
test_full_map_still_counts(void)
{
	CprobeSharedMap *map = new_map(16, 1, 1);
	uint64		key = 1;
	pg_atomic_uint64 *values = cprobe_map_claim(map, 1, &key);

	for (key = 2; key < 100; key++)
		(void) cprobe_map_claim(map, 1, &key);
	key = 99;
	cprobe_tap_ok(cprobe_map_find(map, 1, &key) == NULL, "a full map takes no more");
	key = 1;
	cprobe_tap_ok(cprobe_map_claim(map, 1, &key) == values,
				  "but gives what it has");
	free(map);
}

/* reset(): the next epoch starts empty, in the same memory. */
static void
test_epochs(uint32 before, uint32 after, const char *name)
{
	CprobeSharedMap *map = new_map(64, KEY_WORDS, VALUE_WORDS);
	uint64		key[CPROBE_MAP_MAX_KEY_WORDS];
	pg_atomic_uint64 *values;
	uint64		value_sum;
	uint32		claimed = 0;

	for (uint64 i = 0; i < 64; i++)
	{
		make_key(i, key);
		values = cprobe_map_claim(map, before, key);
		pg_atomic_fetch_add_u64(&values[0], 5);
	}
	make_key(1, key);
	cprobe_tap_ok(cprobe_map_used(map, after) == 0 &&
				  cprobe_map_find(map, after, key) == NULL &&
				  count_rows(map, after, &value_sum) == 0,
				  "%s: a new epoch starts empty", name);
	for (uint64 i = 100; i < 164; i++)
	{
		make_key(i, key);
		values = cprobe_map_claim(map, after, key);
		if (values == NULL || pg_atomic_read_u64(&values[0]) != 0)
			continue;
		pg_atomic_fetch_add_u64(&values[0], 1);
		claimed++;
	}
	cprobe_tap_equal(claimed, 64, "%s: it has all places again, with counters at 0", name);
	cprobe_tap_ok(count_rows(map, after, &value_sum) == 64 && value_sum == 64,
				  "%s: and nothing of the old one in its rows", name);
	make_key(1000, key);
	cprobe_tap_ok(cprobe_map_claim(map, before, key) == NULL &&
				  cprobe_map_used(map, after) == 64,
				  "%s: who is late and still in the old epoch takes no place", name);
	free(map);
}

/*
 * A writer may be stopped in the middle of claiming an entry and go on after a
 * reset.  If another had taken the entry meanwhile, one would store its key
 * over the other's.  The test makes an entry as the stopped writer left it.
 */
static void
test_entry_of_a_stopped_writer(void)
{
	CprobeSharedMap *map = new_map(8, 1, 1);
	pg_atomic_uint64 *entries = (pg_atomic_uint64 *) (map + 1);
	uint64		key = 42;
	uint64		busy;
	uint64		value_sum;
	pg_atomic_uint64 *stopped;
	pg_atomic_uint64 *values;

	/* Where the key goes, and its state word; busy is 1 and ready is 2. */
	stopped = cprobe_map_claim(map, 1, &key) - 2;
	busy = (pg_atomic_read_u64(stopped) & ~UINT64CONST(3)) | 1;
	pg_atomic_write_u64(stopped, busy);

	cprobe_tap_ok(cprobe_map_find(map, 1, &key) == NULL,
				  "an entry that is being claimed is not found");
	values = cprobe_map_claim(map, 2, &key);
	cprobe_tap_ok(values != NULL && values - 2 != stopped,
				  "an entry that a stopped writer holds is left to it after a reset");
	cprobe_tap_ok(pg_atomic_read_u64(stopped) == busy &&
				  stopped >= entries && stopped < entries + 3 * map->capacity,
				  "and is not changed");

	/*
	 * The writer goes on: its entry is one of an old epoch and free.  The key
	 * may then stand twice, which readers add up.
	 */
	pg_atomic_write_u64(stopped, busy + 1);
	pg_atomic_fetch_add_u64(values, 1);
	pg_atomic_fetch_add_u64(cprobe_map_claim(map, 2, &key), 1);
	cprobe_tap_ok(count_rows(map, 2, &value_sum) <= 2 && value_sum == 2,
				  "what was counted meanwhile is not lost");
	free(map);
}

static void
test_shapes(void)
{
	int			wrong = 0;

	for (uint32 key_words = 1; key_words <= CPROBE_MAP_MAX_KEY_WORDS; key_words++)
	{
		for (uint32 value_words = 1; value_words <= CPROBE_MAP_MAX_VALUE_WORDS; value_words++)
		{
			CprobeSharedMap *map = new_map(10, key_words, value_words);
			uint64		key[CPROBE_MAP_MAX_KEY_WORDS] = {3, 4, 5, 6};
			pg_atomic_uint64 *values;
			CprobeMapRow row;
			uint32		position = 0;

			for (uint64 i = 0; i < 10; i++)
			{
				key[key_words - 1] = i;
				values = cprobe_map_claim(map, 1, key);
				pg_atomic_write_u64(&values[value_words - 1], i + 1);
			}
			while (cprobe_map_next(map, 1, &position, &row))
			{
				if (row.values[value_words - 1] != row.key[key_words - 1] + 1)
					wrong++;
			}
			free(map);
		}
	}
	cprobe_tap_equal((uint64) wrong, 0, "keys and counters of every width stay apart");
}

/* Keys of different lengths: the first word tells how many follow. */
static void
test_short_keys(void)
{
	CprobeSharedMap *map = new_map(100, 8, 1);
	CprobeMapRow row;
	uint32		position = 0;
	int			wrong = 0;
	int			rows = 0;

	for (uint64 length = 1; length <= 8; length++)
	{
		uint64		key[8] = {length, 0, 7, 7, 7, 7, 7, 7};

		pg_atomic_fetch_add_u64(cprobe_map_claim_short(map, 1, key, (uint32) length), length);
		key[7] = 99;			/* behind the end of all but the longest */
		if (length < 8)
			pg_atomic_fetch_add_u64(cprobe_map_claim_short(map, 1, key, (uint32) length), length);
	}
	while (cprobe_map_next(map, 1, &position, &row))
	{
		uint64		length = row.key[0];

		rows++;
		if (row.values[0] != (length < 8 ? 2 * length : length))
			wrong++;
		for (uint64 i = Max(length, 2); i < 8; i++)
		{
			if (row.key[i] != 0)
				wrong++;
		}
	}
	cprobe_tap_equal((uint64) rows, 8, "keys of eight lengths are eight keys");
	cprobe_tap_equal((uint64) wrong, 0, "what lies behind a short key is not part of it");
	free(map);
}

static void
test_positions(void)
{
	CprobeSharedMap *map = new_map(50, KEY_WORDS, VALUE_WORDS);
	CprobeMapRow row;
	int			wrong = 0;

	for (uint64 i = 0; i < 50; i++)
	{
		uint64		key[CPROBE_MAP_MAX_KEY_WORDS];
		pg_atomic_uint64 *values;

		make_key(i, key);
		values = cprobe_map_claim(map, 3, key);
		pg_atomic_write_u64(&values[1], i);
		if (!cprobe_map_read(map, 3, cprobe_map_position(map, values), &row) ||
			row.values[1] != i ||
			memcmp(row.key, key, KEY_WORDS * sizeof(uint64)) != 0)
			wrong++;
		if (cprobe_map_read(map, 4, cprobe_map_position(map, values), &row))
			wrong++;
	}
	cprobe_tap_equal((uint64) wrong, 0, "an entry can be read by its position, in its epoch only");
	cprobe_tap_ok(!cprobe_map_read(map, 3, map->capacity, &row) &&
				  !cprobe_map_read(map, 3, PG_UINT32_MAX, &row),
				  "positions outside of the map hold nothing");
	free(map);
}

/*
 * Many keys that come once, a few that come often, too few places: the frequent
 * ones must be found in the end, and nothing may vanish uncounted.
 */
static void
test_replacing(void)
{
	enum
	{
		PLACES = 64, FREQUENT = 16, ADDITIONS = 100000
	};
	CprobeSharedMap *map = new_map(PLACES, 1, 1);
	uint64		value_sum;
	uint64		refused = 0;
	uint32		rows;
	int			kept = 0;

	for (uint64 i = 0; i < ADDITIONS; i++)
	{
		/* Every second one is frequent; those start late. */
		uint64		key = (i % 2 == 0 && i > 1000) ? (i / 2) % FREQUENT : 1000 + i;
		pg_atomic_uint64 *values = cprobe_map_claim_or_replace(map, 1, &key, i);

		if (values != NULL)
			pg_atomic_fetch_add_u64(&values[0], 1);
		else
			refused++;
	}
	rows = count_rows(map, 1, &value_sum);
	for (uint64 key = 0; key < FREQUENT; key++)
	{
		if (cprobe_map_find(map, 1, &key) != NULL)
			kept++;
	}
	cprobe_tap_equal(rows, PLACES, "with replacing, a full map stays full");
	cprobe_tap_equal((uint64) kept, FREQUENT, "keys that come often get in and stay");
	cprobe_tap_equal(value_sum + refused + pg_atomic_read_u64(&map->dropped), ADDITIONS,
					 "what gave way is counted as dropped");
	free(map);
}

int
main(void)
{
	test_claim_and_find();
	test_iteration();
	test_limit(1);
	test_limit(16);
	test_limit(5000);
	test_full_map_still_counts();
	test_epochs(1, 2, "epoch 1 to 2");
	test_epochs(1, 1000, "epoch 1 to 1000");
	test_entry_of_a_stopped_writer();
	test_shapes();
	test_short_keys();
	test_positions();
	test_replacing();
	return cprobe_tap_done();
}
