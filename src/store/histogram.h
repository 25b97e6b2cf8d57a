/*-------------------------------------------------------------------------
 *
 * histogram.h
 *	  Histograms of durations with logarithmic buckets.
 *
 * Separate because it knows nothing of what is measured: pure arithmetic on
 * an array of counts, unit-tested without a server.
 *
 * Bucket 0 holds [0, 256) ns, bucket i holds [2^(i+7), 2^(i+8)) ns, the last
 * one everything from 2^38 ns (4.6 minutes) on.  A sleep never takes less
 * than some 100 ns, so finer buckets below would stay empty.
 *
 * The shared form is written with atomic adds by any process and read without
 * locks: a reader may see a wait's bucket before its maximum, or the reverse.
 * Nothing here throws, allocates or locks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_HISTOGRAM_H
#define CPROBE_HISTOGRAM_H

#include "port/atomics.h"
#include "port/pg_bitutils.h"

#define CPROBE_HISTOGRAM_BUCKETS 32
#define CPROBE_HISTOGRAM_SHIFT 8

typedef struct CprobeSharedHistogram
{
	/* durations per bucket; atomic add by any process */
	pg_atomic_uint64 counts[CPROBE_HISTOGRAM_BUCKETS];
	/* longest duration, ns; raised by compare-and-swap by any process */
	pg_atomic_uint64 max_ns;
} CprobeSharedHistogram;

/* A reader's private sum of one or more shared histograms. */
typedef struct CprobeHistogram
{
	uint64		counts[CPROBE_HISTOGRAM_BUCKETS];
	uint64		total;			/* sum of counts */
	uint64		max_ns;
} CprobeHistogram;

static inline int
cprobe_histogram_bucket(uint64 duration_ns)
{
	int			bucket;

	if (duration_ns < (UINT64CONST(1) << CPROBE_HISTOGRAM_SHIFT))
		return 0;
	bucket = pg_leftmost_one_pos64(duration_ns) - CPROBE_HISTOGRAM_SHIFT + 1;
	return Min(bucket, CPROBE_HISTOGRAM_BUCKETS - 1);
}

/*
 * Hot path: one atomic add, and a compare-and-swap only for a new maximum.
 * The loop ends: each failure means that another process raised the maximum,
 * and after a few of them the value is left to the next wait.
 */
static inline void
cprobe_histogram_add(CprobeSharedHistogram *shared, uint64 duration_ns)
{
	uint64		max_ns = pg_atomic_read_u64(&shared->max_ns);
	int			tries = 16;

	pg_atomic_fetch_add_u64(&shared->counts[cprobe_histogram_bucket(duration_ns)], 1);
	while (duration_ns > max_ns && tries-- > 0)
	{
		if (pg_atomic_compare_exchange_u64(&shared->max_ns, &max_ns, duration_ns))
			break;
	}
}

/* Lower bound of a bucket, ns, inclusive. */
extern uint64 cprobe_histogram_lower_ns(int bucket);

/* Upper bound of a bucket, ns, exclusive; PG_UINT64_MAX for the last. */
extern uint64 cprobe_histogram_upper_ns(int bucket);

/* Set every count and the maximum to zero. */
extern void cprobe_histogram_clear(CprobeSharedHistogram *shared);

/* Add a shared histogram to a private sum that the caller zeroed first. */
extern void cprobe_histogram_merge(CprobeHistogram *sum,
								   CprobeSharedHistogram *shared);

/*
 * Estimate of the duration, ns, below which the given fraction (0 to 1) of
 * the durations lies: linear within the bucket, never above the maximum.
 * Negative when the histogram is empty.
 */
extern double cprobe_histogram_quantile_ns(const CprobeHistogram *sum,
										   double fraction);

#endif							/* CPROBE_HISTOGRAM_H */
