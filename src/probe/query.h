/*-------------------------------------------------------------------------
 *
 * query.h
 *	  Which statement a process is running, the innermost one.
 *
 * Separate from the measuring of waits, which only asks.
 *
 * The server keeps the query id of the top-level statement in its status
 * entry, from parse analysis until the next statement starts; that covers
 * planning, execution and the commit behind it for free.  Only nested
 * statements need hooks: they keep the id of the innermost one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_QUERY_H
#define CPROBE_QUERY_H

#include "tcop/utility.h"

/* Parameters of ProcessUtility_hook, and their passing on. */
#define CPROBE_UTILITY_ARGS \
	PlannedStmt *statement, const char *query_string, bool read_only_tree, \
	ProcessUtilityContext context, ParamListInfo params, \
	QueryEnvironment *query_env, DestReceiver *dest, \
	QueryCompletion *completion
#define CPROBE_UTILITY_PASS \
	statement, query_string, read_only_tree, context, params, query_env, \
	dest, completion

/* Chain into the executor, utility and planner hooks. Postmaster, once. */
extern void cprobe_query_install_hooks(void);

/* Query id of the innermost statement, 0 if not known. Hook context. */
extern uint64 cprobe_query_current(void);

/*
 * Does this process wait for its client to say what to do next?  Hook
 * context.  Also forgets what an aborted statement left behind.
 */
extern bool cprobe_query_client_idle(void);

#endif							/* CPROBE_QUERY_H */
