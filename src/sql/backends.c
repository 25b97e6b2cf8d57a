/*-------------------------------------------------------------------------
 *
 * backends.c
 *	  Function behind the view backends: what each process does now.
 *
 * Separate from the views of completed waits: here the server's own entries
 * and the current wait of each slot are read, at the moment of the query.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"

#include "machine/clock.h"
#include "probe/activity.h"
#include "probe/blockers.h"
#include "probe/event_names.h"
#include "probe/outside_waits.h"
#include "probe/snapshot.h"
#include "sql/lock_text.h"
#include "sql/rows.h"

PG_FUNCTION_INFO_V1(cprobe_backends);

#define CPROBE_BACKENDS_COLUMNS 14

/* What is known of one living process. */
typedef struct CprobeProcess
{
	int			pid;
	const char *type_name;
	Oid			database_id;
	Oid			user_id;
	const char *state;
	uint64		query_id;
	uint32		info;			/* wait event, 0 = none */
	bool		has_age;
	uint64		age_ns;			/* of the current wait */
	CprobeCurrentWait wait;		/* if has_age */
	bool		has_waits;
	CprobeWaits waits;			/* completed ones, without the idle */
} CprobeProcess;

static const char *
cprobe_backends_type_name(const CprobeActivity *activity)
{
	const char *name = NULL;

	if (activity->type == B_BG_WORKER)
		name = GetBackgroundWorkerTypeByPid(activity->pid);
	return name != NULL ? name : GetBackendTypeDesc(activity->type);
}

/* Who it is, from its status entry, or else from its slot. */
static bool
cprobe_backends_identify(CprobeProcess *process, uint32 number)
{
	CprobeActivity activity;
	CprobeSharedSlot *slot = cprobe_slot_get(number);
	int			index = cprobe_activity_find(process->pid);

	if (index >= 0 && cprobe_activity_read(index, &activity) &&
		activity.pid == process->pid)
	{
		process->type_name = cprobe_backends_type_name(&activity);
		process->database_id = activity.database_id;
		process->user_id = activity.user_id;
		process->state = cprobe_activity_state_name(activity.state);
		process->query_id = activity.query_id;
		return true;
	}
	if (!cprobe_snapshot_slot_is_of(slot, process->pid))
		return false;
	process->type_name = slot->worker_type[0] != '\0' ?
		pstrdup(slot->worker_type) : cprobe_region_type_name(slot->type);
	process->database_id = slot->database_id;
	process->user_id = slot->role_id;
	return true;
}

static void
cprobe_backends_sum_waits(CprobeProcess *process, CprobeSharedSlot *slot)
{
	process->has_waits = true;
	if (slot->epoch != cprobe_region_epoch())
		return;
	for (uint32 e = 0; e < cprobe_region->events.event_count; e++)
	{
		uint64		waits = pg_atomic_read_u64(&slot->waits[e].waits);

		if (waits == 0 ||
			cprobe_event_index_describe(&cprobe_region->events, e).idle)
			continue;
		process->waits.waits += waits;
		process->waits.time_ns += pg_atomic_read_u64(&slot->waits[e].time_ns);
	}
}

/*
 * Its current wait and its completed ones, from its slot; if it is not hooked,
 * its wait for a lock as the sampler sees it.
 */
static void
cprobe_backends_read_waits(CprobeProcess *process, uint32 number)
{
	CprobeSharedSlot *slot = cprobe_slot_get(number);
	CprobeCurrentWait wait;
	uint64		now_ns;

	if (cprobe_snapshot_slot_is_of(slot, process->pid))
		cprobe_backends_sum_waits(process, slot);
	wait = cprobe_process_wait(number, process->pid);
	if (!wait.waiting || wait.info != process->info)
		return;
	now_ns = cprobe_clock_now_ns();
	process->has_age = true;
	process->wait = wait;
	process->age_ns = now_ns > wait.since_ns ? now_ns - wait.since_ns : 0;
	if (wait.query_id != 0)
		process->query_id = wait.query_id;
}

/* The lock that it waits for, how, and who keeps it waiting. */
static void
cprobe_backends_put_lock(CprobeRows *rows, const CprobeProcess *process)
{
	const CprobeCurrentWait *wait = &process->wait;

	if (wait->lock == 0)
	{
		cprobe_rows_put_null(rows);
		cprobe_rows_put_null(rows);
		cprobe_rows_put_null(rows);
		return;
	}
	cprobe_rows_put_text(rows, cprobe_lock_text(wait->lock, wait->has_page ?
												&wait->page : NULL));
	cprobe_rows_put_text(rows, cprobe_lock_mode_name(wait->mode));
	cprobe_rows_put_pid(rows, rows->all_stats ?
						cprobe_blocker_pid(wait->lock) : 0);
}

static void
cprobe_backends_put_row(CprobeRows *rows, const CprobeProcess *process)
{
	bool		visible = cprobe_rows_may_see(rows, process->user_id);

	cprobe_rows_put_pid(rows, visible ? process->pid : 0);
	cprobe_rows_put_text(rows, process->type_name);
	cprobe_rows_put_oid(rows, process->database_id);
	cprobe_rows_put_oid(rows, process->user_id);
	cprobe_rows_put_query_id(rows, visible ? process->query_id : 0);
	cprobe_rows_put_text(rows, visible ? process->state : NULL);
	if (process->info == 0)
	{
		cprobe_rows_put_null(rows);
		cprobe_rows_put_null(rows);
	}
	else
		cprobe_rows_put_event(rows, process->info);
	if (process->has_age)
		cprobe_rows_put_ms(rows, (double) process->age_ns);
	else
		cprobe_rows_put_null(rows);
	if (process->has_waits)
	{
		cprobe_rows_put_int8(rows, process->waits.waits);
		cprobe_rows_put_ms(rows, (double) process->waits.time_ns);
	}
	else
	{
		cprobe_rows_put_null(rows);
		cprobe_rows_put_null(rows);
	}
	cprobe_backends_put_lock(rows, process);
	cprobe_rows_end_row(rows);
}

Datum
cprobe_backends(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_BACKENDS_COLUMNS);
	for (uint32 i = 0; i < cprobe_region->slot_count; i++)
	{
		CprobeProcess process = {0};

		process.pid = cprobe_activity_proc_pid(i);
		process.info = cprobe_activity_proc(i)->wait_event_info;
		if (process.pid == 0 || !cprobe_backends_identify(&process, i))
			continue;
		cprobe_backends_read_waits(&process, i);
		cprobe_backends_put_row(&rows, &process);
	}
	return (Datum) 0;
}
