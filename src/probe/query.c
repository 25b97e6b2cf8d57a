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

/* What to chain to: who hooked before, else the server itself. */
static ExecutorRun_hook_type prev_ExecutorRun = standard_ExecutorRun;
static ExecutorFinish_hook_type prev_ExecutorFinish = standard_ExecutorFinish;
static ProcessUtility_hook_type prev_ProcessUtility = standard_ProcessUtility;
static planner_hook_type prev_planner = standard_planner;

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

/*
 * A statement begins.  If it is a top-level one that the server reports, there
 * is nothing to keep but the level: true, and the caller ends with
 * cprobe_query_leave_top.  At level 0 no nested id is set.
 */
static inline bool
cprobe_query_enter_top(uint64 query_id)
{
	cprobe_frames_refresh_if_stale();
	if (unlikely(cprobe_query_level != 0))
		return false;
	if (unlikely(query_id != 0 && MyBEEntry != NULL &&
				 query_id != (uint64) MyBEEntry->st_query_id))
		return false;
	cprobe_query_level = 1;
	return true;
}

static inline void
cprobe_query_leave_top(void)
{
	cprobe_query_level = 0;
}

/*
 * Call body as that of a nested statement.  A macro because PG_TRY needs the
 * call in the same function; those functions are apart from the hooks, which
 * else would pay for the exception frame even when they need none.
 */
#define CPROBE_QUERY_NESTED(query_id, body) \
	do { \
		int			saved_level = cprobe_query_level; \
		uint64		saved_id = cprobe_query_nested_id; \
		\
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

static pg_noinline void
cprobe_query_run_nested(CPROBE_EXECUTOR_RUN_ARGS)
{
	CPROBE_QUERY_NESTED(query_desc->plannedstmt->queryId,
						prev_ExecutorRun(CPROBE_EXECUTOR_RUN_PASS));
}

static void
cprobe_query_ExecutorRun(CPROBE_EXECUTOR_RUN_ARGS)
{
	cprobe_attachment_check();
	if (unlikely(!cprobe_query_enter_top((uint64) query_desc->plannedstmt->queryId)))
	{
		cprobe_query_run_nested(CPROBE_EXECUTOR_RUN_PASS);
		return;
	}
	prev_ExecutorRun(CPROBE_EXECUTOR_RUN_PASS);
	cprobe_query_leave_top();
}

static pg_noinline void
cprobe_query_finish_nested(QueryDesc *query_desc)
{
	CPROBE_QUERY_NESTED(query_desc->plannedstmt->queryId,
						prev_ExecutorFinish(query_desc));
}

static void
cprobe_query_ExecutorFinish(QueryDesc *query_desc)
{
	if (unlikely(!cprobe_query_enter_top((uint64) query_desc->plannedstmt->queryId)))
	{
		cprobe_query_finish_nested(query_desc);
		return;
	}
	prev_ExecutorFinish(query_desc);
	cprobe_query_leave_top();
}

static pg_noinline void
cprobe_query_utility_nested(CPROBE_UTILITY_ARGS)
{
	CPROBE_QUERY_NESTED(statement->queryId,
						prev_ProcessUtility(CPROBE_UTILITY_PASS));
}

static void
cprobe_query_ProcessUtility(CPROBE_UTILITY_ARGS)
{
	cprobe_attachment_check();
	if (unlikely(!cprobe_query_enter_top((uint64) statement->queryId)))
	{
		cprobe_query_utility_nested(CPROBE_UTILITY_PASS);
		return;
	}
	prev_ProcessUtility(CPROBE_UTILITY_PASS);
	cprobe_query_leave_top();
}

static pg_noinline PlannedStmt *
cprobe_query_planner_nested(CPROBE_PLANNER_ARGS)
{
	PlannedStmt *volatile plan = NULL;

	CPROBE_QUERY_NESTED(parse->queryId,
						plan = prev_planner(CPROBE_PLANNER_PASS));
	return plan;
}

static PlannedStmt *
cprobe_query_planner(CPROBE_PLANNER_ARGS)
{
	PlannedStmt *plan;

	if (unlikely(!cprobe_query_enter_top((uint64) parse->queryId)))
		return cprobe_query_planner_nested(CPROBE_PLANNER_PASS);
	plan = prev_planner(CPROBE_PLANNER_PASS);
	cprobe_query_leave_top();
	return plan;
}

void
cprobe_query_install_hooks(void)
{
	if (ExecutorRun_hook)
		prev_ExecutorRun = ExecutorRun_hook;
	ExecutorRun_hook = cprobe_query_ExecutorRun;
	if (ExecutorFinish_hook)
		prev_ExecutorFinish = ExecutorFinish_hook;
	ExecutorFinish_hook = cprobe_query_ExecutorFinish;
	if (ProcessUtility_hook)
		prev_ProcessUtility = ProcessUtility_hook;
	ProcessUtility_hook = cprobe_query_ProcessUtility;
	if (planner_hook)
		prev_planner = planner_hook;
	planner_hook = cprobe_query_planner;

	cprobe_hook_set_state(CPROBE_HOOK_EXECUTOR_RUN, CPROBE_HOOK_ACTIVE, "");
	cprobe_hook_set_state(CPROBE_HOOK_EXECUTOR_FINISH, CPROBE_HOOK_ACTIVE, "");
	cprobe_hook_set_state(CPROBE_HOOK_PROCESS_UTILITY, CPROBE_HOOK_ACTIVE, "");
	cprobe_hook_set_state(CPROBE_HOOK_PLANNER, CPROBE_HOOK_ACTIVE, "");
}
