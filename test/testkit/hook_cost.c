/*-------------------------------------------------------------------------
 *
 * hook_cost.c
 *	  What the product's hook costs for one wait, without the sleep.
 *
 * Separate because it plays a sleeping process to the product: for
 * benchmarks, in a cluster of their own, on a lock that nobody else uses.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "testkit.h"

PG_FUNCTION_INFO_V1(tk_hook_cost);

#define TESTKIT_MAX_WAITS 1000000

/* Memory that is walked over between two waits, to find the caches cold. */
#define TESTKIT_COLD_BYTES (4 * 1024 * 1024)
#define TESTKIT_LINE_BYTES 64

typedef bool (*CprobeTestStart) (int hook, uint32 info, void *frame);
typedef void (*CprobeTestEnd) (bool unfinished);

/* One run. */
typedef struct CprobeTestCost
{
	CprobeTestStart start;
	CprobeTestEnd end;
	LWLock	   *lock;			/* NULL: a wait that is not for a lock */
	uint32		info;
	char	   *cold;			/* NULL: caches stay warm */
} CprobeTestCost;

static double
testkit_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec * 1e9 + (double) now.tv_nsec;
}

/* As if the server had queued this process for the lock, or taken it off. */
static void
testkit_set_queued(LWLock *lock, bool queued)
{
	int			me = queued ? CPROBE_MY_PROC_NUMBER() : CPROBE_NO_PROC;

	if (lock == NULL)
		return;
	MyProc->lwWaitLink.next = CPROBE_NO_PROC;
	MyProc->lwWaitLink.prev = CPROBE_NO_PROC;
	lock->waiters.head = me;
	lock->waiters.tail = me;
	if (queued)
		pg_atomic_fetch_or_u32(&lock->state, CPROBE_LWLOCK_HAS_WAITERS);
	else
		pg_atomic_fetch_and_u32(&lock->state, ~CPROBE_LWLOCK_HAS_WAITERS);
	MyProc->lwWaiting = queued ? LW_WS_WAITING : LW_WS_NOT_WAITING;
	MyProc->lwWaitMode = LW_EXCLUSIVE;
}

static void
testkit_chill(char *memory)
{
	if (memory == NULL)
		return;
	for (int i = 0; i < TESTKIT_COLD_BYTES; i += TESTKIT_LINE_BYTES)
		((volatile char *) memory)[i]++;
}

/* One wait; the lock's address is in this frame, as in the server's. */
static __attribute__((noinline))
double
testkit_one_wait(const CprobeTestCost *cost)
{
	LWLock	   *volatile lock = cost->lock;
	double		begin;
	double		spent;

	testkit_set_queued(lock, true);
	*(volatile uint32 *) my_wait_event_info = cost->info;
	testkit_chill(cost->cold);
	begin = testkit_now_ns();
	cost->start(0, cost->info, __builtin_frame_address(0));
	spent = testkit_now_ns() - begin;
	testkit_set_queued(lock, false);
	testkit_chill(cost->cold);
	begin = testkit_now_ns();
	cost->end(false);
	spent += testkit_now_ns() - begin;
	*(volatile uint32 *) my_wait_event_info = 0;
	return spent;
}

static int
testkit_compare_doubles(const void *a, const void *b)
{
	double		left = *(const double *) a;
	double		right = *(const double *) b;

	return left < right ? -1 : left > right;
}

static Datum
testkit_cost_row(FunctionCallInfo fcinfo, double *spent, int count)
{
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {false, false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	qsort(spent, (size_t) count, sizeof(double), testkit_compare_doubles);
	values[0] = Float8GetDatum(spent[count / 2]);
	values[1] = Float8GetDatum(spent[(int) ((double) count * 0.99)]);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values,
											 nulls));
}

/*
 * tk_hook_cost(lock text, waits int, cold bool): median and p99, in ns, of
 * what the hook does for a wait for that LWLock; with an empty name, for a
 * wait that is not for a lock.  What the four looks at the clock take is
 * within.
 */
Datum
tk_hook_cost(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int			count = PG_GETARG_INT32(1);
	CprobeTestCost cost = {.info = PG_WAIT_EXTENSION};
	double	   *spent;

	if (count < 1 || count > TESTKIT_MAX_WAITS)
		elog(ERROR, "number of waits out of range");
	cost.start = (CprobeTestStart)
		load_external_function("contention_probe", "cprobe_wait_start", true, NULL);
	cost.end = (CprobeTestEnd)
		load_external_function("contention_probe", "cprobe_wait_end", true, NULL);
	if (name[0] != '\0')
	{
		cost.lock = testkit_lock_locate(name).lwlock;
		if (cost.lock == NULL)
			elog(ERROR, "this works with LWLocks only");
		cost.info = PG_WAIT_LWLOCK | cost.lock->tranche;
	}
	if (PG_GETARG_BOOL(2))
		cost.cold = palloc0(TESTKIT_COLD_BYTES);
	spent = palloc(count * sizeof(double));
	HOLD_INTERRUPTS();
	for (int i = 0; i < count; i++)
		spent[i] = testkit_one_wait(&cost);
	RESUME_INTERRUPTS();
	return testkit_cost_row(fcinfo, spent, count);
}
