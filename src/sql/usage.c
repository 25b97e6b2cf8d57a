/*-------------------------------------------------------------------------
 *
 * usage.c
 *	  Functions behind the views run_queue and machine_summary.
 *
 * Separate from the views of waits: these are the kernel's counters.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "probe/lock_account.h"
#include "probe/numa_areas.h"
#include "probe/usage.h"
#include "sql/living.h"
#include "sql/map_rows.h"
#include "sql/rows.h"

PG_FUNCTION_INFO_V1(cprobe_run_queue);
PG_FUNCTION_INFO_V1(cprobe_machine_summary);

#define CPROBE_RUN_QUEUE_COLUMNS 12
#define CPROBE_MACHINE_SUMMARY_COLUMNS 7

#define CPROBE_NO_SCHEDSTATS \
	"the kernel keeps no schedstat (CONFIG_SCHED_INFO is off)"

/* A number that only the scheduler's statistics have. */
static void
cprobe_usage_put_sched_ms(CprobeRows *rows, const CprobeUsage *usage,
						  CprobeProcessCounter counter)
{
	if (usage->has_sched)
		cprobe_rows_put_ms(rows, (double) usage->counters[counter]);
	else
		cprobe_rows_put_null(rows);
}

/* From cpu_time on. */
static void
cprobe_usage_put(CprobeRows *rows, const CprobeUsage *usage)
{
	const uint64 *counters = usage->counters;

	cprobe_usage_put_sched_ms(rows, usage, CPROBE_PROCESS_CPU_NS);
	cprobe_rows_put_ms(rows, (double) counters[CPROBE_PROCESS_USER_NS]);
	cprobe_rows_put_ms(rows, (double) counters[CPROBE_PROCESS_SYSTEM_NS]);
	cprobe_usage_put_sched_ms(rows, usage, CPROBE_PROCESS_DELAY_NS);
	if (usage->has_sched)
		cprobe_rows_put_int8(rows, counters[CPROBE_PROCESS_TIMESLICES]);
	else
		cprobe_rows_put_null(rows);
	cprobe_rows_put_int8(rows, counters[CPROBE_PROCESS_VOLUNTARY]);
	cprobe_rows_put_int8(rows, counters[CPROBE_PROCESS_INVOLUNTARY]);
	cprobe_rows_put_int8(rows, counters[CPROBE_PROCESS_MINOR_FAULTS]);
	cprobe_rows_put_int8(rows, counters[CPROBE_PROCESS_MAJOR_FAULTS]);
	cprobe_rows_put_text(rows, usage->has_sched ? NULL :
						 CPROBE_NO_SCHEDSTATS);
	cprobe_rows_end_row(rows);
}

static void
cprobe_usage_sum(CprobeUsage *sum, const CprobeUsage *usage)
{
	sum->has_sched |= usage->has_sched;
	for (int i = 0; i < CPROBE_PROCESS_COUNTERS; i++)
		sum->counters[i] += usage->counters[i];
}

static void
cprobe_usage_put_living(CprobeRows *rows, const CprobeLiving *living,
						CprobeUsage *sum)
{
	CprobeUsage usage;

	if (!cprobe_usage_read(living->pid, &usage))
		return;
	cprobe_usage_sum(sum, &usage);
	cprobe_rows_put_pid(rows, cprobe_rows_may_see(rows, living->user_id) ?
						living->pid : 0);
	cprobe_rows_put_text(rows, living->type_name);
	cprobe_usage_put(rows, &usage);
}

static void
cprobe_usage_put_sum(CprobeRows *rows, const char *name,
					 const CprobeUsage *usage)
{
	cprobe_rows_put_null(rows);
	cprobe_rows_put_text(rows, name);
	cprobe_usage_put(rows, usage);
}

Datum
cprobe_run_queue(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeUsage sum = {0};
	CprobeUsage departed = {0};
	CprobeLiving living = {
		.pid = PostmasterPid,
		.type_name = "postmaster",
	};
	uint32		position = 0;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_RUN_QUEUE_COLUMNS);
	cprobe_usage_put_living(&rows, &living, &sum);
	while (cprobe_living_next(&position, &living))
		cprobe_usage_put_living(&rows, &living, &sum);
	departed.has_sched = sum.has_sched;
	for (int i = 0; i < CPROBE_PROCESS_COUNTERS; i++)
		departed.counters[i] =
			pg_atomic_read_u64(&cprobe_region->departed_usage[i]);
	cprobe_usage_put_sum(&rows, "departed", &departed);
	cprobe_usage_sum(&sum, &departed);
	cprobe_usage_put_sum(&rows, "total", &sum);
	return (Datum) 0;
}

/* What all rates are made of. */
typedef struct CprobeSummary
{
	CprobeRows	rows;
	double		seconds;		/* since the reset */
	double		transactions;
} CprobeSummary;

static void
cprobe_summary_put(CprobeSummary *summary, const char *metric,
				   const char *unit, double value, const char *reason)
{
	CprobeRows *rows = &summary->rows;

	cprobe_rows_put_text(rows, metric);
	cprobe_rows_put_text(rows, unit);
	if (reason != NULL)
	{
		cprobe_rows_put_null(rows);
		cprobe_rows_put_null(rows);
		cprobe_rows_put_null(rows);
	}
	else
	{
		cprobe_rows_put_float8(rows, value);
		if (summary->seconds > 0)
			cprobe_rows_put_float8(rows, value / summary->seconds);
		else
			cprobe_rows_put_null(rows);
		if (summary->transactions > 0)
			cprobe_rows_put_float8(rows, value / summary->transactions);
		else
			cprobe_rows_put_null(rows);
	}
	cprobe_rows_put_null(rows);
	cprobe_rows_put_text(rows, reason);
	cprobe_rows_end_row(rows);
}

/* How shared memory lies on the nodes, in words. */
static void
cprobe_summary_put_placement(CprobeSummary *summary)
{
	CprobeRows *rows = &summary->rows;
	CprobeNumaAreas *answers = cprobe_numa_areas_read();
	double		share;
	char	   *detail = cprobe_numa_describe(answers, &share);

	cprobe_rows_put_text(rows, "memory_placement");
	cprobe_rows_put_text(rows, "share");
	if (detail != NULL)
		cprobe_rows_put_float8(rows, share);
	else
		cprobe_rows_put_null(rows);
	cprobe_rows_put_null(rows);
	cprobe_rows_put_null(rows);
	cprobe_rows_put_text(rows, detail);
	if (detail != NULL)
		cprobe_rows_put_null(rows);
	else if (answers->error != 0)
		cprobe_rows_put_text(rows, psprintf("move_pages is refused: %s",
											strerror(answers->error)));
	else
		cprobe_rows_put_text(rows, "no look has been taken yet");
	cprobe_rows_end_row(rows);
}

/* The kernel's counters since the reset. */
static void
cprobe_summary_put_usage(CprobeSummary *summary)
{
	static const struct
	{
		const char *metric;
		const char *unit;
		CprobeProcessCounter counter;
		bool		sched;
		double		scale;
	}			metrics[] =
	{
		{"cpu_time", "ms", CPROBE_PROCESS_CPU_NS, true, 1e-6},
		{"user_time", "ms", CPROBE_PROCESS_USER_NS, false, 1e-6},
		{"system_time", "ms", CPROBE_PROCESS_SYSTEM_NS, false, 1e-6},
		{"run_queue_delay", "ms", CPROBE_PROCESS_DELAY_NS, true, 1e-6},
		{"timeslices", "count", CPROBE_PROCESS_TIMESLICES, true, 1},
		{"voluntary_switches", "count", CPROBE_PROCESS_VOLUNTARY, false, 1},
		{"involuntary_switches", "count", CPROBE_PROCESS_INVOLUNTARY, false, 1},
		{"minor_faults", "count", CPROBE_PROCESS_MINOR_FAULTS, false, 1},
		{"major_faults", "count", CPROBE_PROCESS_MAJOR_FAULTS, false, 1},
	};
	CprobeUsage total = cprobe_usage_total();

	for (int i = 0; i < (int) lengthof(metrics); i++)
	{
		uint64		now = total.counters[metrics[i].counter];
		uint64		then = pg_atomic_read_u64(&cprobe_region->reset_usage[metrics[i].counter]);

		cprobe_summary_put(summary, metrics[i].metric, metrics[i].unit,
						   now > then ?
						   (double) (now - then) * metrics[i].scale : 0,
						   metrics[i].sched && !total.has_sched ?
						   CPROBE_NO_SCHEDSTATS : NULL);
	}
}

/* Hand-offs of locks, and those between nodes. */
static void
cprobe_summary_put_handoffs(CprobeSummary *summary)
{
	CprobeMapRows rows = cprobe_map_rows_read(cprobe_region_distances(),
											  cprobe_region_epoch(), 0,
											  PG_UINT64_MAX);
	uint64		all = 0;
	uint64		remote = 0;

	for (uint32 i = 0; i < rows.count; i++)
	{
		uint64		key = rows.rows[i].key[0];
		uint64		count = rows.rows[i].values[CPROBE_HANDOFF_COUNT];

		all += count;
		if (CPROBE_DISTANCE_FROM(key) != CPROBE_DISTANCE_TO(key))
			remote += count;
	}
	cprobe_summary_put(summary, "handoffs", "count", (double) all, NULL);
	cprobe_summary_put(summary, "remote_handoffs", "count", (double) remote,
					   NULL);
}

Datum
cprobe_machine_summary(PG_FUNCTION_ARGS)
{
	CprobeSummary summary = {0};
	TimestampTz since;

	cprobe_rows_begin(&summary.rows, fcinfo, CPROBE_MACHINE_SUMMARY_COLUMNS);
	since = (TimestampTz) pg_atomic_read_u64(&cprobe_region->stats_since);
	summary.seconds = (double) (GetCurrentTimestamp() - since) / USECS_PER_SEC;
	summary.transactions =
		(double) cprobe_machine_counter_total(CPROBE_TRANSACTIONS);
	cprobe_summary_put(&summary, "transactions", "count",
					   summary.transactions, NULL);
	cprobe_summary_put_usage(&summary);
	cprobe_summary_put(&summary, "migrations", "count",
					   (double) cprobe_machine_counter_total(CPROBE_MIGRATIONS),
					   NULL);
	cprobe_summary_put(&summary, "node_changes", "count",
					   (double) cprobe_machine_counter_total(CPROBE_NODE_CHANGES),
					   NULL);
	cprobe_summary_put_handoffs(&summary);
	cprobe_summary_put_placement(&summary);
	return (Datum) 0;
}
