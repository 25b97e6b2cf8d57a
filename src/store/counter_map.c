/*-------------------------------------------------------------------------
 *
 * counter_map.c
 *	  Claiming, finding and reading the entries of a counter map.
 *
 * Separate from its users: see counter_map.h for the protocol.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "store/counter_map.h"

#define CPROBE_MAP_PHASE_MASK UINT64CONST(3)
#define CPROBE_MAP_BUSY UINT64CONST(1)
#define CPROBE_MAP_READY UINT64CONST(2)

/* Attempts at a contended compare-and-swap before giving up. */
#define CPROBE_MAP_MAX_TRIES 64

StaticAssertDecl(sizeof(pg_atomic_uint64) == sizeof(uint64),
				 "entries are laid out as an array of 64-bit words");

/* A key that is looked for, and the states of an entry that would hold it. */
typedef struct CprobeMapTarget
{
	const uint64 *key;
	uint32		words;			/* of the key; the entry's others are 0 */
	uint32		epoch;
	uint32		first;			/* entry where the probing begins */
	uint64		busy;
	uint64		ready;
} CprobeMapTarget;

typedef enum CprobeMapMatch
{
	CPROBE_MATCH_OTHER,			/* another key, or not readable yet */
	CPROBE_MATCH_FREE,			/* may be claimed */
	CPROBE_MATCH_FOUND,
	CPROBE_MATCH_STALE			/* the caller's epoch is over */
} CprobeMapMatch;

static uint32
cprobe_map_capacity(uint32 limit)
{
	return pg_nextpower2_32(Max(limit, 8)) * 2;
}

static inline Size
cprobe_map_entry_words(const CprobeSharedMap *map)
{
	return (Size) 1 + map->key_words + map->value_words;
}

static inline pg_atomic_uint64 *
cprobe_map_entry(CprobeSharedMap *map, uint32 index)
{
	pg_atomic_uint64 *entries = (pg_atomic_uint64 *) (map + 1);

	return entries + (Size) index * cprobe_map_entry_words(map);
}

Size
cprobe_map_size(uint32 limit, uint32 key_words, uint32 value_words)
{
	Size		entry_bytes = sizeof(uint64) * (1 + key_words + value_words);

	return sizeof(CprobeSharedMap) +
		(Size) cprobe_map_capacity(limit) * entry_bytes;
}

void
cprobe_map_init(CprobeSharedMap *map, uint32 limit, uint32 key_words,
				uint32 value_words)
{
	Assert(key_words <= CPROBE_MAP_MAX_KEY_WORDS);
	Assert(value_words <= CPROBE_MAP_MAX_VALUE_WORDS);
	map->capacity = cprobe_map_capacity(limit);
	map->limit = limit;
	map->key_words = key_words;
	map->value_words = value_words;
	pg_atomic_init_u64(&map->used, 0);
	pg_atomic_init_u64(&map->dropped, 0);
}

static inline uint64
cprobe_map_state(uint32 epoch, uint64 hash, uint64 phase)
{
	return ((uint64) epoch << 32) | ((hash >> 32) & ~CPROBE_MAP_PHASE_MASK) |
		phase;
}

static inline CprobeMapTarget
cprobe_map_aim(const CprobeSharedMap *map, uint32 epoch, const uint64 *key,
			   uint32 words)
{
	uint64		hash = cprobe_map_hash(key, words);
	CprobeMapTarget target = {
		.key = key,
		.words = words,
		.epoch = epoch,
		.first = (uint32) hash & (map->capacity - 1),
		.busy = cprobe_map_state(epoch, hash, CPROBE_MAP_BUSY),
		.ready = cprobe_map_state(epoch, hash, CPROBE_MAP_READY),
	};

	return target;
}

/*
 * Is the key words' content that of the entry?  Caller saw READY.  The words
 * behind a short key need no look: its own words tell its length.
 */
static inline bool
cprobe_map_key_equal(pg_atomic_uint64 *entry, const CprobeMapTarget *target)
{
	pg_read_barrier();
	for (uint32 i = 0; i < target->words; i++)
	{
		if (pg_atomic_read_u64(&entry[1 + i]) != target->key[i])
			return false;
	}
	return true;
}

static inline CprobeMapMatch
cprobe_map_examine(pg_atomic_uint64 *entry, uint64 state,
				   const CprobeMapTarget *target)
{
	uint32		entry_epoch = (uint32) (state >> 32);

	if (state == target->ready && cprobe_map_key_equal(entry, target))
		return CPROBE_MATCH_FOUND;
	if (state == 0)
		return CPROBE_MATCH_FREE;
	if ((int32) (entry_epoch - target->epoch) > 0)
		return CPROBE_MATCH_STALE;
	/* A busy entry of an older epoch: its writer will still fill it. */
	if (entry_epoch == target->epoch ||
		(state & CPROBE_MAP_PHASE_MASK) != CPROBE_MAP_READY)
		return CPROBE_MATCH_OTHER;
	return CPROBE_MATCH_FREE;
}

/* Take one of "limit" for this epoch. */
static bool
cprobe_map_reserve(CprobeSharedMap *map, uint32 epoch)
{
	uint64		used = pg_atomic_read_u64(&map->used);

	for (int tries = 0; tries < CPROBE_MAP_MAX_TRIES; tries++)
	{
		uint32		used_epoch = (uint32) (used >> 32);
		uint32		count = used_epoch == epoch ? (uint32) used : 0;

		if ((int32) (used_epoch - epoch) > 0 || count >= map->limit)
			return false;
		if (pg_atomic_compare_exchange_u64(&map->used, &used,
										   ((uint64) epoch << 32) | (count + 1)))
			return true;
	}
	return false;
}

/* Give a reservation back: another process claimed the entry first. */
static void
cprobe_map_unreserve(CprobeSharedMap *map, uint32 epoch)
{
	uint64		used = pg_atomic_read_u64(&map->used);

	for (int tries = 0; tries < CPROBE_MAP_MAX_TRIES; tries++)
	{
		if ((uint32) (used >> 32) != epoch || (uint32) used == 0)
			return;
		if (pg_atomic_compare_exchange_u64(&map->used, &used, used - 1))
			return;
	}
}

/* Fill an entry that this process has just set to BUSY, and publish it. */
static pg_atomic_uint64 *
cprobe_map_publish(CprobeSharedMap *map, pg_atomic_uint64 *entry,
				   const CprobeMapTarget *target)
{
	for (uint32 i = 0; i < map->value_words; i++)
		pg_atomic_write_u64(&entry[1 + map->key_words + i], 0);
	for (uint32 i = 0; i < map->key_words; i++)
		pg_atomic_write_u64(&entry[1 + i],
							i < target->words ? target->key[i] : 0);
	pg_write_barrier();
	pg_atomic_write_u64(&entry[0], target->ready);
	return &entry[1 + map->key_words];
}

/*
 * Find the key, or claim an entry for it.  A key does not lie behind a free
 * entry, where the search may end, unless it replaced another there: then
 * past_free must be true.
 */
static inline pg_atomic_uint64 *
cprobe_map_lookup(CprobeSharedMap *map, const CprobeMapTarget *target,
				  bool claim, bool past_free)
{
	for (uint32 probe = 0; probe < CPROBE_MAP_MAX_PROBES; probe++)
	{
		uint32		index = (target->first + probe) & (map->capacity - 1);
		pg_atomic_uint64 *entry = cprobe_map_entry(map, index);
		uint64		state = pg_atomic_read_u64(&entry[0]);

		switch (cprobe_map_examine(entry, state, target))
		{
			case CPROBE_MATCH_FOUND:
				return &entry[1 + map->key_words];
			case CPROBE_MATCH_STALE:
				return NULL;
			case CPROBE_MATCH_OTHER:
				continue;
			case CPROBE_MATCH_FREE:
				break;
		}
		if (!claim || !cprobe_map_reserve(map, target->epoch))
		{
			if (!past_free)
				return NULL;
			claim = false;
			continue;
		}
		if (pg_atomic_compare_exchange_u64(&entry[0], &state, target->busy))
			return cprobe_map_publish(map, entry, target);
		/* Someone was faster: perhaps with our key, so look again. */
		cprobe_map_unreserve(map, target->epoch);
		if (cprobe_map_examine(entry, state, target) == CPROBE_MATCH_FOUND)
			return &entry[1 + map->key_words];
	}
	return NULL;
}

pg_atomic_uint64 *
cprobe_map_claim(CprobeSharedMap *map, uint32 epoch, const uint64 *key)
{
	CprobeMapTarget target = cprobe_map_aim(map, epoch, key, map->key_words);

	return cprobe_map_lookup(map, &target, true, false);
}

pg_atomic_uint64 *
cprobe_map_claim_short(CprobeSharedMap *map, uint32 epoch, const uint64 *key,
					   uint32 words)
{
	CprobeMapTarget target = cprobe_map_aim(map, epoch, key, words);

	Assert(words <= map->key_words);
	return cprobe_map_lookup(map, &target, true, false);
}

/* The READY entry with the smallest first counter on the key's way. */
static pg_atomic_uint64 *
cprobe_map_smallest(CprobeSharedMap *map, const CprobeMapTarget *target,
					uint64 *state, uint64 *count)
{
	pg_atomic_uint64 *smallest = NULL;

	for (uint32 probe = 0; probe < CPROBE_MAP_MAX_PROBES; probe++)
	{
		uint32		index = (target->first + probe) & (map->capacity - 1);
		pg_atomic_uint64 *entry = cprobe_map_entry(map, index);
		uint64		entry_state = pg_atomic_read_u64(&entry[0]);
		uint64		entry_count = pg_atomic_read_u64(&entry[1 + map->key_words]);

		if ((uint32) (entry_state >> 32) != target->epoch ||
			(entry_state & CPROBE_MAP_PHASE_MASK) != CPROBE_MAP_READY ||
			(smallest != NULL && entry_count >= *count))
			continue;
		smallest = entry;
		*state = entry_state;
		*count = entry_count;
	}
	return smallest;
}

pg_atomic_uint64 *
cprobe_map_claim_or_replace(CprobeSharedMap *map, uint32 epoch,
							const uint64 *key, uint64 random)
{
	CprobeMapTarget target = cprobe_map_aim(map, epoch, key, map->key_words);
	pg_atomic_uint64 *values = cprobe_map_lookup(map, &target, true, true);
	pg_atomic_uint64 *entry;
	uint64		state = 0;
	uint64		count = 0;

	if (values != NULL)
		return values;
	entry = cprobe_map_smallest(map, &target, &state, &count);
	if (entry == NULL || cprobe_map_hash(&random, 1) % (count + 1) != 0)
		return NULL;
	if (!pg_atomic_compare_exchange_u64(&entry[0], &state, target.busy))
		return NULL;
	pg_atomic_fetch_add_u64(&map->dropped, count);
	return cprobe_map_publish(map, entry, &target);
}

pg_atomic_uint64 *
cprobe_map_find(CprobeSharedMap *map, uint32 epoch, const uint64 *key)
{
	CprobeMapTarget target = cprobe_map_aim(map, epoch, key, map->key_words);

	return cprobe_map_lookup(map, &target, false, true);
}

uint32
cprobe_map_used(CprobeSharedMap *map, uint32 epoch)
{
	uint64		used = pg_atomic_read_u64(&map->used);

	return (uint32) (used >> 32) == epoch ? (uint32) used : 0;
}

uint32
cprobe_map_position(CprobeSharedMap *map, const pg_atomic_uint64 *values)
{
	Size		words = (Size) (values - cprobe_map_entry(map, 0));

	return (uint32) (words / cprobe_map_entry_words(map));
}

bool
cprobe_map_read(CprobeSharedMap *map, uint32 epoch, uint32 position,
				CprobeMapRow *row)
{
	pg_atomic_uint64 *entry;
	uint64		state;

	if (position >= map->capacity)
		return false;
	entry = cprobe_map_entry(map, position);
	state = pg_atomic_read_u64(&entry[0]);
	if ((uint32) (state >> 32) != epoch ||
		(state & CPROBE_MAP_PHASE_MASK) != CPROBE_MAP_READY)
		return false;
	pg_read_barrier();
	for (uint32 i = 0; i < map->key_words; i++)
		row->key[i] = pg_atomic_read_u64(&entry[1 + i]);
	for (uint32 i = 0; i < map->value_words; i++)
		row->values[i] = pg_atomic_read_u64(&entry[1 + map->key_words + i]);
	pg_read_barrier();
	return pg_atomic_read_u64(&entry[0]) == state;
}

bool
cprobe_map_next(CprobeSharedMap *map, uint32 epoch, uint32 *position,
				CprobeMapRow *row)
{
	while (*position < map->capacity)
	{
		if (cprobe_map_read(map, epoch, (*position)++, row))
			return true;
	}
	return false;
}
