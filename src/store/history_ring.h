/*-------------------------------------------------------------------------
 *
 * history_ring.h
 *	  A bounded ring of sampled rows: one writer, any number of readers.
 *
 * Separate because the protocol is that of a ring of words and knows nothing
 * of what a row means.
 *
 * Protocol.  Rows are numbered from 1 on and row n lives in place
 * (n - 1) % capacity.  The writer stores 0 into the place's sequence, then a
 * write barrier, the words, a write barrier, the sequence n, and then the
 * head n.  A reader takes a row only if the sequence is n before and after it
 * copied the words; otherwise the row was overwritten meanwhile and is gone.
 * Clearing moves "first": rows below it are not shown.
 *
 * The writer is one process (the sampler); a second writer would break the
 * protocol.  A writer that died half way leaves one place with sequence 0.
 * Nothing here throws, allocates, locks or loops without a bound.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_HISTORY_RING_H
#define CPROBE_HISTORY_RING_H

#include "port/atomics.h"

#define CPROBE_RING_ROW_WORDS 10

typedef struct CprobeRingRow
{
	uint64		words[CPROBE_RING_ROW_WORDS];
} CprobeRingRow;

typedef struct CprobeSharedRingPlace
{
	/* number of the row that is here, 0 while it is being written */
	pg_atomic_uint64 sequence;
	/* the row; written by the single writer, guarded by sequence */
	pg_atomic_uint64 words[CPROBE_RING_ROW_WORDS];
} CprobeSharedRingPlace;

typedef struct CprobeSharedRing
{
	uint32		capacity;		/* rows; immutable after startup */
	/* number of the newest row, 0 = none yet; the writer's */
	pg_atomic_uint64 head;
	/* number of the oldest row to show; set by whoever clears the ring */
	pg_atomic_uint64 first;
} CprobeSharedRing;

extern Size cprobe_ring_size(uint32 capacity);

/* Set up zeroed memory of that size. Startup only. */
extern void cprobe_ring_init(CprobeSharedRing *ring, uint32 capacity);

/* Append a row. The single writer only. */
extern void cprobe_ring_append(CprobeSharedRing *ring,
							   const CprobeRingRow *row);

/* Hide all rows up to now. */
extern void cprobe_ring_clear(CprobeSharedRing *ring);

/* Numbers of the oldest and newest rows that can be asked for. */
extern void cprobe_ring_bounds(CprobeSharedRing *ring, uint64 *oldest,
							   uint64 *newest);

/* Copy row number n; false if it has been overwritten. */
extern bool cprobe_ring_read(CprobeSharedRing *ring, uint64 n,
							 CprobeRingRow *row);

#endif							/* CPROBE_HISTORY_RING_H */
