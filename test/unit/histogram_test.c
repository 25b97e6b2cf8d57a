/*-------------------------------------------------------------------------
 *
 * histogram_test.c
 *	  Logarithmic histograms: bounds, sums, quantiles, and many writers.
 *
 * Separate: a program of its own, as every unit test.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <stdlib.h>

#include "store/histogram.h"

#include "tap.h"
#include "workers.h"

/* The C library's, not the server's. */
#undef qsort

#define LAST (CPROBE_HISTOGRAM_BUCKETS - 1)
#define SAMPLES 5000

/* What the header says, counted out: no logarithm, no bit trick. */
static int
expected_bucket(uint64 ns)
{
	int			bucket = 0;

	for (uint64 bound = 256; ns >= bound && bucket < LAST; bound *= 2)
		bucket++;
	return bucket;
}

/* An error of one at a power of two would shift every percentile. */
static void
test_buckets_at_powers_of_two(void)
{
	int			wrong = 0;

	for (int bit = 0; bit < 64; bit++)
	{
		uint64		power = UINT64CONST(1) << bit;

		for (int delta = -1; delta <= 1; delta++)
		{
			uint64		ns = power + (uint64) (int64) delta;

			if (cprobe_histogram_bucket(ns) != expected_bucket(ns))
			{
				cprobe_tap_note("2^%d%+d is put into bucket %d", bit, delta,
								cprobe_histogram_bucket(ns));
				wrong++;
			}
		}
	}
	cprobe_tap_equal((uint64) wrong, 0,
					 "every power of two, one less and one more lie in their bucket");
	cprobe_tap_equal((uint64) cprobe_histogram_bucket(0), 0,
					 "no time at all is in the first bucket");
	cprobe_tap_equal((uint64) cprobe_histogram_bucket(PG_UINT64_MAX), LAST,
					 "the longest time is in the last bucket");
}

/* A gap or an overlap would show a wait in two rows of the view, or in none. */
static void
test_bounds_meet(void)
{
	bool		meet = true;
	bool		inside = true;

	for (int i = 0; i <= LAST; i++)
	{
		uint64		lower = cprobe_histogram_lower_ns(i);
		uint64		upper = cprobe_histogram_upper_ns(i);

		if (i < LAST && upper != cprobe_histogram_lower_ns(i + 1))
			meet = false;
		if (cprobe_histogram_bucket(lower) != i ||
			cprobe_histogram_bucket(upper - 1) != i)
			inside = false;
	}
	cprobe_tap_ok(meet, "the upper bound of a bucket is the lower one of the next");
	cprobe_tap_ok(inside, "both ends of a bucket lie in it");
	cprobe_tap_equal(cprobe_histogram_lower_ns(0), 0, "the first bucket starts at 0");
	cprobe_tap_equal(cprobe_histogram_upper_ns(0), 256, "the first bucket ends at 256 ns");
	cprobe_tap_equal(cprobe_histogram_lower_ns(LAST), UINT64CONST(1) << 38,
					 "the last bucket starts at 2^38 ns");
	cprobe_tap_equal(cprobe_histogram_upper_ns(LAST), PG_UINT64_MAX,
					 "the last bucket has no end");
}

static void
test_overflow_bucket(void)
{
	CprobeSharedHistogram shared = {0};
	CprobeHistogram sum = {0};

	cprobe_histogram_add(&shared, UINT64CONST(1) << 38);
	cprobe_histogram_add(&shared, UINT64CONST(1) << 50);
	cprobe_histogram_add(&shared, PG_UINT64_MAX);
	cprobe_histogram_merge(&sum, &shared);
	cprobe_tap_equal(sum.counts[LAST], 3, "what is too long is counted in the last bucket");
	cprobe_tap_equal(sum.total, 3, "and nowhere else");
	cprobe_tap_equal(sum.max_ns, PG_UINT64_MAX, "and the maximum is right");
}

static void
test_merge_and_clear(void)
{
	CprobeSharedHistogram first = {0};
	CprobeSharedHistogram second = {0};
	CprobeHistogram sum = {0};

	cprobe_histogram_add(&first, 100);
	cprobe_histogram_add(&first, 1000);
	cprobe_histogram_add(&second, 1010);
	cprobe_histogram_add(&second, 70000);
	cprobe_histogram_merge(&sum, &first);
	cprobe_histogram_merge(&sum, &second);
	cprobe_tap_ok(sum.total == 4 && sum.counts[0] == 1 &&
				  sum.counts[cprobe_histogram_bucket(1000)] == 2,
				  "a sum over shards has the durations of all");
	cprobe_tap_equal(sum.max_ns, 70000, "and the longest of all");

	cprobe_histogram_clear(&first);
	memset(&sum, 0, sizeof(sum));
	cprobe_histogram_merge(&sum, &first);
	cprobe_tap_ok(sum.total == 0 && sum.max_ns == 0, "a cleared one is empty");
	cprobe_tap_ok(cprobe_histogram_quantile_ns(&sum, 0.5) < 0,
				  "an empty one has no median");
}

static int
compare_ns(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	return (x > y) - (x < y);
}

/*
 * One duration of a distribution; u is even over 0 to 1.  The shapes: even,
 * even in the logarithm, exponential, always the same, and two peaks.
 */
static uint64
draw(int shape, double u)
{
	switch (shape)
	{
		case 0:
			return (uint64) (u * 5e6);
		case 1:
			return (uint64) exp2(u * 40);
		case 2:
			return (uint64) (-log(1 - u * 0.999999) * 2e5);
		case 3:
			return 123456;
		default:
			return (uint64) (u < 0.7 ? 800 + u * 100 : 9e8 + u * 1e8);
	}
}

/* How many fractions of this shape are estimated outside of their bucket? */
static int
count_wrong_quantiles(int shape, const double *fractions, int count)
{
	static uint64 exact[SAMPLES];
	CprobeSharedHistogram shared = {0};
	CprobeHistogram sum = {0};
	uint64		state = 88172645463325252 + (uint64) shape;
	double		last = -1;
	int			wrong = 0;

	for (int i = 0; i < SAMPLES; i++)
	{
		double		u = (double) (cprobe_workers_random(&state) >> 11) / 9007199254740992.0;

		exact[i] = draw(shape, u);
		cprobe_histogram_add(&shared, exact[i]);
	}
	qsort(exact, SAMPLES, sizeof(exact[0]), compare_ns);
	cprobe_histogram_merge(&sum, &shared);
	for (int i = 0; i < count; i++)
	{
		int			rank = Max((int) ceil(fractions[i] * SAMPLES), 1);
		int			bucket = cprobe_histogram_bucket(exact[rank - 1]);
		double		estimate = cprobe_histogram_quantile_ns(&sum, fractions[i]);

		if (estimate < (double) cprobe_histogram_lower_ns(bucket) ||
			estimate > (double) cprobe_histogram_upper_ns(bucket) ||
			estimate > (double) sum.max_ns || estimate < last)
			wrong++;
		last = estimate;
	}
	return wrong;
}

/*
 * The views promise: right to a factor of two.  That is so exactly if the
 * estimate lies in the bucket of the exact quantile.
 */
static void
test_quantiles_against_exact(void)
{
	static const double fractions[] = {0, 0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1};
	static const char *const names[] = {"even", "logarithmic", "exponential", "constant", "two-peaked"};

	for (int shape = 0; shape < 5; shape++)
		cprobe_tap_equal((uint64) count_wrong_quantiles(shape, fractions, 11), 0,
						 "%s durations: quantiles rise, lie in the bucket of the exact one, and not above the maximum",
						 names[shape]);
}

static void
test_quantiles_at_the_ends(void)
{
	CprobeSharedHistogram shared = {0};
	CprobeHistogram sum = {0};

	cprobe_histogram_add(&shared, 300000000);
	cprobe_histogram_merge(&sum, &shared);
	cprobe_tap_ok(cprobe_histogram_quantile_ns(&sum, 1) == 3e8,
				  "the last quantile of one duration is that duration");
	cprobe_tap_ok(cprobe_histogram_quantile_ns(&sum, 0.5) >= 268435456.0 &&
				  cprobe_histogram_quantile_ns(&sum, 0.5) <= 3e8,
				  "its median lies in its bucket");
	cprobe_tap_ok(cprobe_histogram_quantile_ns(&sum, 2) <= 3e8 &&
				  cprobe_histogram_quantile_ns(&sum, -1) >= 0,
				  "fractions outside of 0 to 1 do no harm");

	/* A reader may see a wait's bucket before its maximum. */
	sum.max_ns = 0;
	cprobe_tap_ok(cprobe_histogram_quantile_ns(&sum, 0.99) == 268435456.0,
				  "a maximum that lags behind gives the lower bound");
}

#define WRITERS 4
#define ADDS 20000

typedef struct CprobeHistogramRace
{
	CprobeSharedHistogram histogram;
	pg_atomic_uint32 done;		/* writers that have ended */
} CprobeHistogramRace;

/* Workers 0 to WRITERS - 1 add; the last one reads until they are done. */
static uint64
race(int number, void *arg)
{
	CprobeHistogramRace *shared = arg;
	uint64		state = (uint64) number + 1;
	uint64		last_total = 0;
	uint64		last_max = 0;
	uint64		violations = 0;

	if (number < WRITERS)
	{
		for (int i = 0; i < ADDS; i++)
			cprobe_histogram_add(&shared->histogram,
								 cprobe_workers_random(&state) >> 24);
		cprobe_histogram_add(&shared->histogram,
							 (UINT64CONST(1) << 41) + (uint64) number);
		pg_atomic_fetch_add_u32(&shared->done, 1);
		return 0;
	}
	do
	{
		CprobeHistogram sum = {0};

		cprobe_histogram_merge(&sum, &shared->histogram);
		if (sum.total < last_total || sum.max_ns < last_max ||
			sum.total > WRITERS * (ADDS + 1))
			violations++;
		last_total = sum.total;
		last_max = sum.max_ns;
	} while (pg_atomic_read_u32(&shared->done) < WRITERS);
	return violations;
}

static void
test_many_writers(CprobeWorkerKind kind, const char *kind_name)
{
	CprobeHistogramRace *shared = cprobe_workers_share(sizeof(*shared));
	CprobeHistogram sum = {0};

	cprobe_tap_equal(cprobe_workers_run(kind, WRITERS + 1, race, shared), 0,
					 "%s: a reader never sees a count or the maximum fall", kind_name);
	cprobe_histogram_merge(&sum, &shared->histogram);
	cprobe_tap_equal(sum.total, WRITERS * (ADDS + 1),
					 "%s: no duration is lost", kind_name);
	cprobe_tap_equal(sum.max_ns, (UINT64CONST(1) << 41) + WRITERS - 1,
					 "%s: the maximum is the longest of all", kind_name);
}

int
main(void)
{
	test_buckets_at_powers_of_two();
	test_bounds_meet();
	test_overflow_bucket();
	test_merge_and_clear();
	test_quantiles_against_exact();
	test_quantiles_at_the_ends();
	test_many_writers(CPROBE_WORKER_PROCESSES, "processes");
	test_many_writers(CPROBE_WORKER_THREADS, "threads");
	return cprobe_tap_done();
}
