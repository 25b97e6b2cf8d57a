/*-------------------------------------------------------------------------
 *
 * burn.c
 *	  CPU time spent where it can be named.
 *
 * Separate from locks.c, whose "spin" reads the clock and so spends its time
 * in the C library.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "fmgr.h"
#include "miscadmin.h"

#include "testkit.h"

PG_FUNCTION_INFO_V1(tk_burn);

/* Some 100 us between two looks at the clock. */
#define TESTKIT_BURN_STEPS 100000

static double
testkit_cpu_ms(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (double) used.tv_sec * 1000.0 + (double) used.tv_nsec / 1e6;
}

/* All in here, and nothing in what it calls. */
pg_noinline uint64
testkit_burn_cpu(uint64 seed)
{
	for (int i = 0; i < TESTKIT_BURN_STEPS; i++)
		seed = (seed ^ (seed >> 29)) * UINT64CONST(0xBF58476D1CE4E5B9) + 1;
	return seed;
}

/* tk_burn(ms int): use that much CPU time; what it was in ms. */
Datum
tk_burn(PG_FUNCTION_ARGS)
{
	int			ms = PG_GETARG_INT32(0);
	double		begin_ms = testkit_cpu_ms();
	volatile uint64 sink = 1;

	while (testkit_cpu_ms() - begin_ms < ms)
	{
		CHECK_FOR_INTERRUPTS();
		sink = testkit_burn_cpu(sink);
	}
	PG_RETURN_FLOAT8(testkit_cpu_ms() - begin_ms);
}
