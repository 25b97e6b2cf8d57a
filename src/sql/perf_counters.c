/*-------------------------------------------------------------------------
 *
 * perf_counters.c
 *	  Function behind the view perf_counters.
 *
 * Separate from run_queue: these counters must be asked for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"

#include "probe/perf_account.h"
#include "sql/living.h"
#include "sql/rows.h"

PG_FUNCTION_INFO_V1(cprobe_perf_counters);

#define CPROBE_PERF_COUNTERS_COLUMNS 13

/* Counters of a process, or a sum. */
typedef struct CprobePerfRow
{
	bool		counted[CPROBE_PERF_COUNTERS];
	uint8		errors[CPROBE_PERF_COUNTERS];
	uint64		values[CPROBE_PERF_COUNTERS];
	TimestampTz updated_at;
} CprobePerfRow;

static bool
cprobe_perf_is_counted(uint8 error)
{
	return error == 0 || error == CPROBE_PERF_USER_ONLY;
}

/* Copy what a process shows; false if it shows nothing. */
static bool
cprobe_perf_copy(uint32 number, int pid, CprobePerfRow *row)
{
	CprobeSharedPerf *perf = cprobe_perf_get(number);

	memset(row, 0, sizeof(*row));
	if (pg_atomic_read_u32(&perf->pid) != (uint32) pid)
		return false;
	pg_read_barrier();
	row->updated_at = (TimestampTz) pg_atomic_read_u64(&perf->updated_at);
	for (int i = 0; i < CPROBE_PERF_COUNTERS; i++)
	{
		row->errors[i] = perf->errors[i];
		row->counted[i] = cprobe_perf_is_counted(perf->errors[i]);
		row->values[i] = pg_atomic_read_u64(&perf->values[i]);
	}
	return true;
}

/* "cycles, instructions: this machine has no such counter; ..." or NULL. */
static const char *
cprobe_perf_reasons(const CprobePerfRow *row)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < CPROBE_PERF_COUNTERS; i++)
	{
		bool		last = i + 1 == CPROBE_PERF_COUNTERS ||
		row->errors[i + 1] != row->errors[i];
		bool		first = i == 0 || row->errors[i - 1] != row->errors[i];

		if (row->errors[i] == 0)
			continue;
		if (text.len > 0)
			appendStringInfoString(&text, first ? "; " : ", ");
		appendStringInfoString(&text, cprobe_perf_counter_name((CprobePerfCounter) i));
		if (last)
			appendStringInfo(&text, ": %s", cprobe_perf_reason(row->errors[i]));
	}
	return text.len > 0 ? text.data : NULL;
}

static void
cprobe_perf_put_count(CprobeRows *rows, const CprobePerfRow *row,
					  CprobePerfCounter counter)
{
	if (row->counted[counter])
		cprobe_rows_put_int8(rows, row->values[counter]);
	else
		cprobe_rows_put_null(rows);
}

/* From task_clock on. */
static void
cprobe_perf_put(CprobeRows *rows, const CprobePerfRow *row,
				const char *reason)
{
	if (row->counted[CPROBE_PERF_TASK_CLOCK])
		cprobe_rows_put_ms(rows, (double) row->values[CPROBE_PERF_TASK_CLOCK]);
	else
		cprobe_rows_put_null(rows);
	cprobe_perf_put_count(rows, row, CPROBE_PERF_CONTEXT_SWITCHES);
	cprobe_perf_put_count(rows, row, CPROBE_PERF_CPU_MIGRATIONS);
	cprobe_perf_put_count(rows, row, CPROBE_PERF_PAGE_FAULTS);
	cprobe_perf_put_count(rows, row, CPROBE_PERF_CYCLES);
	cprobe_perf_put_count(rows, row, CPROBE_PERF_INSTRUCTIONS);
	if (row->counted[CPROBE_PERF_CYCLES] &&
		row->counted[CPROBE_PERF_INSTRUCTIONS] &&
		row->values[CPROBE_PERF_CYCLES] > 0)
		cprobe_rows_put_float8(rows,
							   (double) row->values[CPROBE_PERF_INSTRUCTIONS] /
							   (double) row->values[CPROBE_PERF_CYCLES]);
	else
		cprobe_rows_put_null(rows);
	cprobe_perf_put_count(rows, row, CPROBE_PERF_LLC_MISSES);
	cprobe_perf_put_count(rows, row, CPROBE_PERF_NODE_LOAD_MISSES);
	cprobe_rows_put_timestamp(rows, row->updated_at);
	cprobe_rows_put_text(rows, reason);
	cprobe_rows_end_row(rows);
}

static void
cprobe_perf_add(CprobePerfRow *sum, const CprobePerfRow *row)
{
	sum->updated_at = Max(sum->updated_at, row->updated_at);
	for (int i = 0; i < CPROBE_PERF_COUNTERS; i++)
	{
		sum->counted[i] |= row->counted[i];
		sum->values[i] += row->values[i];
	}
}

static void
cprobe_perf_put_living(CprobeRows *rows, const CprobeLiving *living,
					   CprobePerfRow *sum)
{
	CprobePerfRow row;
	bool		shown = cprobe_perf_copy(living->number, living->pid, &row);

	if (shown)
		cprobe_perf_add(sum, &row);
	cprobe_rows_put_pid(rows, cprobe_rows_may_see(rows, living->user_id) ?
						living->pid : 0);
	cprobe_rows_put_text(rows, living->type_name);
	cprobe_perf_put(rows, &row, shown ? cprobe_perf_reasons(&row) :
					"it has not ended a transaction with contention_probe.perf_events on");
}

Datum
cprobe_perf_counters(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobePerfRow sum = {0};
	CprobePerfRow departed = {0};
	CprobeSharedPerf *left;
	CprobeLiving living;
	uint32		position = 0;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_PERF_COUNTERS_COLUMNS);
	cprobe_perf_show_mine();
	while (cprobe_living_next(&position, &living))
		cprobe_perf_put_living(&rows, &living, &sum);
	left = cprobe_perf_get(cprobe_region->slot_count);
	for (int i = 0; i < CPROBE_PERF_COUNTERS; i++)
	{
		departed.values[i] = pg_atomic_read_u64(&left->values[i]);
		departed.counted[i] = departed.values[i] > 0;
	}
	cprobe_rows_put_null(&rows);
	cprobe_rows_put_text(&rows, "departed");
	cprobe_perf_put(&rows, &departed, NULL);
	cprobe_perf_add(&sum, &departed);
	cprobe_rows_put_null(&rows);
	cprobe_rows_put_text(&rows, "total");
	cprobe_perf_put(&rows, &sum, NULL);
	return (Datum) 0;
}
