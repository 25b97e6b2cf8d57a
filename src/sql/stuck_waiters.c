/*-------------------------------------------------------------------------
 *
 * stuck_waiters.c
 *	  Function behind the view stuck_waiters.
 *
 * Separate from backends.c: it judges, looks several times, and opens files.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"

#include "machine/clock.h"
#include "probe/outside_waits.h"
#include "probe/stacks.h"
#include "probe/stuck.h"
#include "probe/symbols.h"
#include "sql/living.h"
#include "sql/lock_text.h"
#include "sql/rows.h"

PG_FUNCTION_INFO_V1(cprobe_stuck_waiters);

#define CPROBE_STUCK_WAITERS_COLUMNS 9

/* Time between two looks at a lock that is free, in us. */
#define CPROBE_STUCK_LOOK_PAUSE_US 5000

/*
 * Judge a long wait.  A lock that is free is looked at again, until it has
 * been free often enough or the wait is over (false).
 */
static bool
cprobe_stuck_waiters_judge(const CprobeLiving *living,
						   const CprobeCurrentWait *wait, CprobeStuck *stuck)
{
	for (int free_looks = 0;; free_looks++)
	{
		CprobeCurrentWait now;

		CHECK_FOR_INTERRUPTS();
		*stuck = cprobe_stuck_judge(wait, free_looks);
		now = cprobe_process_wait(living->number, living->pid);
		if (!now.waiting || now.sequence != wait->sequence)
			return false;
		if (stuck->verdict != CPROBE_VERDICT_UNDECIDED)
			return true;
		pg_usleep(CPROBE_STUCK_LOOK_PAUSE_US);
	}
}

/* The known holders' pids; NULL if none is known, or they are not for all. */
static void
cprobe_stuck_waiters_put_holders(CprobeRows *rows, const CprobeStuck *stuck)
{
	Datum		pids[CPROBE_STUCK_MAX_HOLDERS];

	if (stuck->holder_count == 0 || !rows->all_stats)
	{
		cprobe_rows_put_null(rows);
		return;
	}
	for (int i = 0; i < stuck->holder_count; i++)
		pids[i] = Int32GetDatum(stuck->holders[i]);
	cprobe_rows_put_datum(rows,
						  PointerGetDatum(construct_array(pids,
														  stuck->holder_count,
														  INT4OID,
														  sizeof(int32), true,
														  TYPALIGN_INT)));
}

/* The waiter's call path, as it was taken when it went to sleep. */
static void
cprobe_stuck_waiters_put_stack(CprobeRows *rows, const CprobeCurrentWait *wait)
{
	CprobeStackRow row;

	if (!cprobe_stack_read(wait->stack, &row))
	{
		cprobe_rows_put_null(rows);
		return;
	}
	cprobe_rows_put_text(rows, cprobe_symbols_path(cprobe_symbols_begin(),
												   row.frames, row.depth));
}

static void
cprobe_stuck_waiters_put_row(CprobeRows *rows, const CprobeLiving *living,
							 const CprobeCurrentWait *wait,
							 const CprobeStuck *stuck)
{
	bool		visible = cprobe_rows_may_see(rows, living->user_id);
	uint64		now_ns = cprobe_clock_now_ns();

	cprobe_rows_put_pid(rows, visible ? living->pid : 0);
	cprobe_rows_put_text(rows, living->type_name);
	cprobe_rows_put_text(rows, cprobe_lock_text(wait->lock, wait->has_page ?
												&wait->page : NULL));
	cprobe_rows_put_text(rows, cprobe_lock_mode_name(wait->mode));
	cprobe_rows_put_ms(rows, (double) (now_ns - wait->since_ns));
	cprobe_rows_put_text(rows, cprobe_lock_state_text(&stuck->state));
	cprobe_stuck_waiters_put_holders(rows, stuck);
	cprobe_rows_put_text(rows, cprobe_verdict_name(stuck->verdict));
	cprobe_stuck_waiters_put_stack(rows, wait);
	cprobe_rows_end_row(rows);
}

Datum
cprobe_stuck_waiters(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeLiving living;
	uint32		position = 0;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_STUCK_WAITERS_COLUMNS);
	while (cprobe_living_next(&position, &living))
	{
		CprobeCurrentWait wait = cprobe_process_wait(living.number,
													 living.pid);
		CprobeStuck stuck;

		if (!cprobe_stuck_is_long(&wait, cprobe_clock_now_ns()))
			continue;
		if (cprobe_stuck_waiters_judge(&living, &wait, &stuck))
			cprobe_stuck_waiters_put_row(&rows, &living, &wait, &stuck);
	}
	return (Datum) 0;
}
