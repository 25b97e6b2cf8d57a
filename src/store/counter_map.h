/*-------------------------------------------------------------------------
 *
 * counter_map.h
 *	  A bounded map from a few words of key to a few counters, shared by all
 *	  processes and written without locks.
 *
 * Separate because query waits, profiles and later lock instances all need
 * the same thing, and because its protocol can be tested without a server.
 *
 * Shape: a power-of-two array of entries { state, key words, value words },
 * open addressing, at most CPROBE_MAP_MAX_PROBES looked at.  "limit" bounds
 * the entries in use, about half of the array, so that probes stay short.
 * What finds no place is dropped and counted.
 *
 * Protocol.  state = epoch (32 bits) | tag (30 bits of the hash) | phase.
 *	1. A writer walks the probe sequence of its key.  An entry of its epoch
 *	   that is READY and has its tag and key is the answer.
 *	2. An entry with state 0, or READY in an older epoch, is free: the writer
 *	   reserves one of "limit", then swaps the state to BUSY by
 *	   compare-and-swap, zeroes the values, stores the key, and after a write
 *	   barrier sets READY.  BUSY in an older epoch is not free: its writer was
 *	   overtaken by a reset, and two would store their keys over each other.
 *	3. An entry that is BUSY under the same tag may be about to hold the same
 *	   key.  Nobody waits for it: the writer goes on and may claim a second
 *	   entry for the same key.  So a key can stand twice, and readers must add
 *	   up what has the same key.
 *	   The same follows when an entry that was passed over because it was BUSY
 *	   in an older epoch becomes free.
 *	4. A reader notes the state, reads key and values behind read barriers,
 *	   and takes them only if the state is unchanged, READY and of its epoch.
 * Reset is a new epoch: no entry is touched.
 *
 * Caveat: a writer that found its entry and is descheduled during a reset
 * until another key has claimed that entry adds one count to the wrong key.
 * It takes a reset and a reclaim within a few instructions of the writer, and
 * costs one wait; a check after the add would not make it impossible either.
 *
 * Any process, any context; does not throw, allocate, lock or loop without a
 * bound.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_COUNTER_MAP_H
#define CPROBE_COUNTER_MAP_H

#include "port/atomics.h"

#define CPROBE_MAP_MAX_PROBES 64
#define CPROBE_MAP_MAX_KEY_WORDS 34
#define CPROBE_MAP_MAX_VALUE_WORDS 64

typedef struct CprobeSharedMap
{
	/* Immutable after startup. */
	uint32		capacity;		/* entries in the array, a power of two */
	uint32		limit;			/* entries that may be in use at once */
	uint32		key_words;		/* 64-bit words of a key */
	uint32		value_words;	/* 64-bit counters of an entry */

	/* epoch << 32 | entries in use; compare-and-swap by any process */
	pg_atomic_uint64 used;

	/* additions that found no place since the reset; atomic add by any */
	pg_atomic_uint64 dropped;
} CprobeSharedMap;

/* One entry as a reader sees it: a private copy. */
typedef struct CprobeMapRow
{
	uint64		key[CPROBE_MAP_MAX_KEY_WORDS];
	uint64		values[CPROBE_MAP_MAX_VALUE_WORDS];
} CprobeMapRow;

/* Bytes of a map for that many entries in use, array included. */
extern Size cprobe_map_size(uint32 limit, uint32 key_words,
							uint32 value_words);

/* Set up zeroed memory of that size. Startup only. */
extern void cprobe_map_init(CprobeSharedMap *map, uint32 limit,
							uint32 key_words, uint32 value_words);

/*
 * The counters of a key, claimed if it was not there, or NULL when there is
 * no place; the drop is not counted yet (cprobe_map_drop).  Valid until the
 * epoch changes.
 */
extern pg_atomic_uint64 *cprobe_map_claim(CprobeSharedMap *map, uint32 epoch,
										  const uint64 *key);

/*
 * As cprobe_map_claim, for a map whose keys have different lengths: only the
 * first words of the key are given and looked at, the others are stored as 0.
 * The words given must tell their own number.  Not to be mixed with calls for
 * whole keys on one map.
 */
extern pg_atomic_uint64 *cprobe_map_claim_short(CprobeSharedMap *map,
												uint32 epoch,
												const uint64 *key,
												uint32 words);

/*
 * As cprobe_map_claim, but when there is no place the entry with the smallest
 * first counter, c, among those looked at gives way with probability 1 in
 * c + 1; what it had counted is added to "dropped".  So the keys that come
 * often stay, and one that starts to come often gets in.  random: any number
 * that differs from call to call.  The counters must not be kept for a second
 * use: the entry may be another key's by then.
 */
extern pg_atomic_uint64 *cprobe_map_claim_or_replace(CprobeSharedMap *map,
													 uint32 epoch,
													 const uint64 *key,
													 uint64 random);

/* As cprobe_map_claim, but never claims: NULL when the key is not there. */
extern pg_atomic_uint64 *cprobe_map_find(CprobeSharedMap *map, uint32 epoch,
										 const uint64 *key);

/*
 * Where a key is looked for; also for who keeps the counters of some keys at
 * hand.  A round like those of xxHash64 for each word, whose key half does not
 * wait for the word before, then the finalizer of MurmurHash3.  5 ns, and 1.4
 * ns a word.
 */
static inline uint64
cprobe_map_hash(const uint64 *key, uint32 words)
{
	uint64		hash = UINT64CONST(0x9E3779B97F4A7C15) + words;

	for (uint32 i = 0; i < words; i++)
	{
		hash ^= key[i] * UINT64CONST(0xC2B2AE3D27D4EB4F);
		hash = (hash << 31) | (hash >> 33);
		hash *= UINT64CONST(0x9E3779B185EBCA87);
	}
	hash ^= hash >> 33;
	hash *= UINT64CONST(0xFF51AFD7ED558CCD);
	hash ^= hash >> 33;
	hash *= UINT64CONST(0xC4CEB9FE1A85EC53);
	hash ^= hash >> 33;
	return hash;
}

static inline void
cprobe_map_drop(CprobeSharedMap *map)
{
	pg_atomic_fetch_add_u64(&map->dropped, 1);
}

/* Entries in use in this epoch. */
extern uint32 cprobe_map_used(CprobeSharedMap *map, uint32 epoch);

/*
 * Where the entry stands whose counters these are: a number by which another
 * process can read it in the same epoch.
 */
extern uint32 cprobe_map_position(CprobeSharedMap *map,
								  const pg_atomic_uint64 *values);

/* Copy the entry at a position; false unless it is whole and of this epoch. */
extern bool cprobe_map_read(CprobeSharedMap *map, uint32 epoch,
							uint32 position, CprobeMapRow *row);

/*
 * Copy the next entry of this epoch at or behind *position, which starts at 0
 * and is moved on. False at the end.
 */
extern bool cprobe_map_next(CprobeSharedMap *map, uint32 epoch,
							uint32 *position, CprobeMapRow *row);

#endif							/* CPROBE_COUNTER_MAP_H */
