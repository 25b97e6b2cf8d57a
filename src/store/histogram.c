/*-------------------------------------------------------------------------
 *
 * histogram.c
 *	  Bounds, sums and quantiles of logarithmic histograms.
 *
 * Separate from the header, which holds only what hooks need inline.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "store/histogram.h"

uint64
cprobe_histogram_lower_ns(int bucket)
{
	if (bucket <= 0)
		return 0;
	return UINT64CONST(1) << (bucket + CPROBE_HISTOGRAM_SHIFT - 1);
}

uint64
cprobe_histogram_upper_ns(int bucket)
{
	if (bucket >= CPROBE_HISTOGRAM_BUCKETS - 1)
		return PG_UINT64_MAX;
	return UINT64CONST(1) << (bucket + CPROBE_HISTOGRAM_SHIFT);
}

void
cprobe_histogram_clear(CprobeSharedHistogram *shared)
{
	for (int i = 0; i < CPROBE_HISTOGRAM_BUCKETS; i++)
		pg_atomic_write_u64(&shared->counts[i], 0);
	pg_atomic_write_u64(&shared->max_ns, 0);
}

void
cprobe_histogram_merge(CprobeHistogram *sum, CprobeSharedHistogram *shared)
{
	for (int i = 0; i < CPROBE_HISTOGRAM_BUCKETS; i++)
	{
		uint64		count = pg_atomic_read_u64(&shared->counts[i]);

		sum->counts[i] += count;
		sum->total += count;
	}
	sum->max_ns = Max(sum->max_ns, pg_atomic_read_u64(&shared->max_ns));
}

double
cprobe_histogram_quantile_ns(const CprobeHistogram *sum, double fraction)
{
	double		rank = fraction * (double) sum->total;
	double		below = 0;

	if (sum->total == 0)
		return -1;
	for (int i = 0; i < CPROBE_HISTOGRAM_BUCKETS; i++)
	{
		double		count = (double) sum->counts[i];
		double		lower = (double) cprobe_histogram_lower_ns(i);
		double		upper;

		if (count == 0 || below + count < rank)
		{
			below += count;
			continue;
		}
		upper = Min((double) cprobe_histogram_upper_ns(i),
					(double) sum->max_ns);
		if (upper < lower)
			return lower;
		return lower + (upper - lower) * Max(rank - below, 0) / count;
	}
	return (double) sum->max_ns;
}
