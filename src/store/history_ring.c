/*-------------------------------------------------------------------------
 *
 * history_ring.c
 *	  Appending to and reading from the ring of sampled rows.
 *
 * Separate from the sampler, which decides what a row means.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "store/history_ring.h"

static inline CprobeSharedRingPlace *
cprobe_ring_place(CprobeSharedRing *ring, uint64 n)
{
	CprobeSharedRingPlace *places = (CprobeSharedRingPlace *) (ring + 1);

	return &places[(n - 1) % ring->capacity];
}

Size
cprobe_ring_size(uint32 capacity)
{
	return sizeof(CprobeSharedRing) +
		(Size) capacity * sizeof(CprobeSharedRingPlace);
}

void
cprobe_ring_init(CprobeSharedRing *ring, uint32 capacity)
{
	ring->capacity = capacity;
	pg_atomic_init_u64(&ring->head, 0);
	pg_atomic_init_u64(&ring->first, 1);
}

void
cprobe_ring_append(CprobeSharedRing *ring, const CprobeRingRow *row)
{
	uint64		n = pg_atomic_read_u64(&ring->head) + 1;
	CprobeSharedRingPlace *place = cprobe_ring_place(ring, n);

	pg_atomic_write_u64(&place->sequence, 0);
	pg_write_barrier();
	for (int i = 0; i < CPROBE_RING_ROW_WORDS; i++)
		pg_atomic_write_u64(&place->words[i], row->words[i]);
	pg_write_barrier();
	pg_atomic_write_u64(&place->sequence, n);
	pg_write_barrier();
	pg_atomic_write_u64(&ring->head, n);
}

void
cprobe_ring_clear(CprobeSharedRing *ring)
{
	pg_atomic_write_u64(&ring->first, pg_atomic_read_u64(&ring->head) + 1);
}

void
cprobe_ring_bounds(CprobeSharedRing *ring, uint64 *oldest, uint64 *newest)
{
	uint64		first = pg_atomic_read_u64(&ring->first);

	*newest = pg_atomic_read_u64(&ring->head);
	*oldest = *newest >= ring->capacity ? *newest - ring->capacity + 1 : 1;
	*oldest = Max(*oldest, first);
}

bool
cprobe_ring_read(CprobeSharedRing *ring, uint64 n, CprobeRingRow *row)
{
	CprobeSharedRingPlace *place = cprobe_ring_place(ring, n);

	if (pg_atomic_read_u64(&place->sequence) != n)
		return false;
	pg_read_barrier();
	for (int i = 0; i < CPROBE_RING_ROW_WORDS; i++)
		row->words[i] = pg_atomic_read_u64(&place->words[i]);
	pg_read_barrier();
	return pg_atomic_read_u64(&place->sequence) == n;
}
