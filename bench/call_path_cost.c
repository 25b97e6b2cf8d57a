/*-------------------------------------------------------------------------
 *
 * call_path_cost.c
 *	  What it costs to take a call path, and to count a wait by it.
 *
 * Separate from the benchmarks of a server: here everything is in the cache,
 * and nobody else counts.  Built and run by call_path_cost.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <stdlib.h>

#include "machine/clock.h"
#include "machine/frames.h"
#include "store/counter_map.h"

#undef printf

#define ROUNDS 2000
#define CALLS 200
#define MAX_DEPTH 32
#define KEY_WORDS (MAX_DEPTH + 2)

typedef enum CprobeBenchPart
{
	CPROBE_BENCH_CAPTURE,		/* walk the frames */
	CPROBE_BENCH_CLAIM,			/* and find the counters in the map */
	CPROBE_BENCH_COUNT,			/* and add to them */
	CPROBE_BENCH_PARTS
} CprobeBenchPart;

static CprobeSharedMap *map;
static double best_ns[CPROBE_BENCH_PARTS];
static int	found_depth;
static volatile int work;

static uint32
intern(const CprobeModuleIdentity *identity)
{
	static uint32 count = 0;

	(void) identity;
	return ++count;
}

static inline void
run_once(CprobeBenchPart part, const void *frame)
{
	uint64		key[KEY_WORDS];
	pg_atomic_uint64 *values;

	found_depth = cprobe_frames_capture(frame, &key[1], MAX_DEPTH);
	if (part == CPROBE_BENCH_CAPTURE)
		return;
	key[0] = ((uint64) found_depth << 32) | 5;
	values = cprobe_map_claim_short(map, 1, key, 1 + (uint32) found_depth);
	if (part == CPROBE_BENCH_CLAIM)
		return;
	pg_atomic_fetch_add_u64(&values[0], 1);
	pg_atomic_fetch_add_u64(&values[1], 1000);
}

/* The fastest of many rounds: what the code takes when nothing disturbs it. */
static __attribute__((noinline))
void
measure(void)
{
	for (int part = 0; part < CPROBE_BENCH_PARTS; part++)
	{
		best_ns[part] = 1e9;
		for (int round = 0; round < ROUNDS; round++)
		{
			uint64		begin_ns = cprobe_clock_now_ns();

			for (int i = 0; i < CALLS; i++)
				run_once((CprobeBenchPart) part, __builtin_frame_address(0));
			best_ns[part] = Min(best_ns[part],
								(double) (cprobe_clock_now_ns() - begin_ns) /
								CALLS);
		}
	}
}

static __attribute__((noinline))
void
descend(int levels)
{
	if (levels == 0)
		measure();
	else
		descend(levels - 1);
	work++;
}

int
main(void)
{
	static const int depths[] = {4, 8, 16, 24, 32};

	map = calloc(1, cprobe_map_size(2000, KEY_WORDS, 2));
	if (map == NULL)
		return 1;
	cprobe_map_init(map, 2000, KEY_WORDS, 2);
	cprobe_frames_init(intern, "/proc/self/exe", NULL);
	printf("frames  walk ns  and map ns  and counters ns\n");
	for (int i = 0; i < (int) lengthof(depths); i++)
	{
		/* Behind the hook's caller come descend and main. */
		descend(depths[i] - 2);
		printf("%6d  %7.1f  %10.1f  %15.1f\n", found_depth,
			   best_ns[CPROBE_BENCH_CAPTURE], best_ns[CPROBE_BENCH_CLAIM],
			   best_ns[CPROBE_BENCH_COUNT]);
	}
	return 0;
}
