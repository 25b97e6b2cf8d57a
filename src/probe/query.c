/*-------------------------------------------------------------------------
 *
 * query.c
 *	  Following nested statements through the executor's hooks.
 *
 * Separate: see query.h.
 *
 * Cost at top level: three compares and two stores for each of plan, run and
 * finish; no exception frame, for an error there ends in the client's idle
 * wait, where the level is put back to zero.  If the next command comes so
 * early that there is no such wait, its statements count as nested: they are
 * credited to their own ids all the same.  Nested statements pay an exception
 * frame each, as in any extension of the executor.
 *
 * A statement that is not the one which the server reports is nested as well,
 * though no statement runs around it: that of a deferred trigger, which runs
 * in COMMIT, or any when track_activities is off.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "optimizer/planner.h"
#include "tcop/utility.h"

#include "compat.h"
#include "machine/frames.h"
#include "probe/attachment.h"
#include "probe/hooks.h"
#include "probe/query.h"

static ExecutorRun_hook_type prev_ExecutorRun = NULL;
static ExecutorFinish_hook_type prev_ExecutorFinish = NULL;
static ProcessUtility_hook_type prev_ProcessUtility = NULL;
static planner_hook_type prev_planner = NULL;

/* 0 outside of statements, 1 in a top-level one, more in nested ones. */
static int	cprobe_query_level = 0;

/* Query id of the innermost nested statement, 0 at top level. */
static uint64 cprobe_query_nested_id = 0;

uint64
cprobe_query_current(void)
{
	if (cprobe_query_nested_id != 0)
		return cprobe_query_nested_id;

	/* Before the status entry is ours it holds a predecessor's values. */
	if (MyBEEntry == NULL || MyBEEntry->st_procpid != MyProcPid)
		return 0;
	return (uint64) MyBEEntry->st_query_id;
}

bool
cprobe_query_client_idle(void)
{
	BackendState state = STATE_UNDEFINED;

	if (MyBEEntry != NULL && MyBEEntry->st_procpid == MyProcPid)
		state = MyBEEntry->st_state;
	switch (state)
	{
		case STATE_RUNNING:
		case STATE_FASTPATH:
			return false;
		case STATE_IDLE:
		case STATE_IDLEINTRANSACTION:
		case STATE_IDLEINTRANSACTION_ABORTED:
			cprobe_query_level = 0;
			cprobe_query_nested_id = 0;
			return true;
		default:
			/* track_activities is off, or the session is starting. */
			return cprobe_query_level == 0;
	}
}

/* The id that a nested statement's waits go to. */
static uint64
cprobe_query_inner_id(uint64 query_id)
{
	return query_id != 0 ? query_id : cprobe_query_nested_id;
}

/* Is that of a statement at level 0 what the server reports anyway? */
static inline bool
cprobe_query_is_reported(uint64 query_id)
{
	return query_id == 0 || query_id == cprobe_query_current();
}

/*
 * Call body, nested or at top level.  A macro because PG_TRY needs the call
 * in the same function.
 */
#define CPROBE_QUERY_FRAME(query_id, body) \
	do { \
		int			saved_level = cprobe_query_level; \
		uint64		saved_id = cprobe_query_nested_id; \
		\
		cprobe_frames_refresh_if_stale(); \
		if (likely(saved_level == 0 && \
				   cprobe_query_is_reported((uint64) (query_id)))) \
		{ \
			cprobe_query_level = 1; \
			body; \
			cprobe_query_level = 0; \
			break; \
		} \
		PG_TRY(); \
		{ \
			cprobe_query_level = saved_level + 1; \
			cprobe_query_nested_id = \
				cprobe_query_inner_id((uint64) (query_id)); \
			body; \
		} \
		PG_FINALLY(); \
		{ \
			cprobe_query_level = saved_level; \
			cprobe_query_nested_id = saved_id; \
		} \
		PG_END_TRY(); \
	} while (0)

static void
cprobe_query_run_chained(CPROBE_EXECUTOR_RUN_ARGS)
{
	if (prev_ExecutorRun)
		prev_ExecutorRun(CPROBE_EXECUTOR_RUN_PASS);
	else
		standard_ExecutorRun(CPROBE_EXECUTOR_RUN_PASS);
}

static void
cprobe_query_ExecutorRun(CPROBE_EXECUTOR_RUN_ARGS)
{
	cprobe_attachment_check();
	CPROBE_QUERY_FRAME(query_desc->plannedstmt->queryId,
					   cprobe_query_run_chained(CPROBE_EXECUTOR_RUN_PASS));
}

static void
cprobe_query_finish_chained(QueryDesc *query_desc)
{
	if (prev_ExecutorFinish)
		prev_ExecutorFinish(query_desc);
	else
		standard_ExecutorFinish(query_desc);
}

static void
cprobe_query_ExecutorFinish(QueryDesc *query_desc)
{
	CPROBE_QUERY_FRAME(query_desc->plannedstmt->queryId,
					   cprobe_query_finish_chained(query_desc));
}

static void
cprobe_query_utility_chained(CPROBE_UTILITY_ARGS)
{
	if (prev_ProcessUtility)
		prev_ProcessUtility(CPROBE_UTILITY_PASS);
	else
		standard_ProcessUtility(CPROBE_UTILITY_PASS);
}

static void
cprobe_query_ProcessUtility(CPROBE_UTILITY_ARGS)
{
	cprobe_attachment_check();
	CPROBE_QUERY_FRAME(statement->queryId,
					   cprobe_query_utility_chained(CPROBE_UTILITY_PASS));
}

static PlannedStmt *
cprobe_query_planner_chained(CPROBE_PLANNER_ARGS)
{
	if (prev_planner)
		return prev_planner(CPROBE_PLANNER_PASS);
	return standard_planner(CPROBE_PLANNER_PASS);
}

static PlannedStmt *
cprobe_query_planner(CPROBE_PLANNER_ARGS)
{
	PlannedStmt *volatile plan = NULL;

	CPROBE_QUERY_FRAME(parse->queryId,
					   plan = cprobe_query_planner_chained(CPROBE_PLANNER_PASS));
	return plan;
}

void
cprobe_query_install_hooks(void)
{
	prev_ExecutorRun = ExecutorRun_hook;
	ExecutorRun_hook = cprobe_query_ExecutorRun;
	prev_ExecutorFinish = ExecutorFinish_hook;
	ExecutorFinish_hook = cprobe_query_ExecutorFinish;
	prev_ProcessUtility = ProcessUtility_hook;
	ProcessUtility_hook = cprobe_query_ProcessUtility;
	prev_planner = planner_hook;
	planner_hook = cprobe_query_planner;

	cprobe_hook_set_state(CPROBE_HOOK_EXECUTOR_RUN, CPROBE_HOOK_ACTIVE, "");
	cprobe_hook_set_state(CPROBE_HOOK_EXECUTOR_FINISH, CPROBE_HOOK_ACTIVE, "");
	cprobe_hook_set_state(CPROBE_HOOK_PROCESS_UTILITY, CPROBE_HOOK_ACTIVE, "");
	cprobe_hook_set_state(CPROBE_HOOK_PLANNER, CPROBE_HOOK_ACTIVE, "");
}
