/*-------------------------------------------------------------------------
 *
 * contention_probe.c
 *	  Loading: settings, shared memory, hooks, and the sampler.
 *
 * Separate from everything it starts.  The map of the source:
 *
 *	  compat.h		differences between PostgreSQL majors
 *	  patch/		changing a program's call tables; knows no PostgreSQL
 *	  store/		lock-free shared structures; knows no hooks
 *	  machine/		clock and hardware
 *	  probe/		the shared region, hooks, measuring and reading waits
 *	  sampler/		the background worker
 *	  sql/			the functions behind the views
 *
 * Includes go down this list in reverse order only.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "postmaster/bgworker_internals.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "tcop/pquery.h"
#include "utils/guc.h"

#include "compat.h"
#include "machine/topology.h"
#include "probe/attachment.h"
#include "probe/code_counts.h"
#include "probe/code_hooks.h"
#include "probe/control.h"
#include "probe/libc_hooks.h"
#include "probe/lwlock_hooks.h"
#include "probe/perf_account.h"
#include "probe/query.h"
#include "probe/region.h"
#include "probe/semaphores.h"
#include "probe/shmem_areas.h"
#include "probe/stacks.h"
#include "probe/stats_flush.h"
#include "probe/stuck.h"
#include "probe/usage.h"
#include "probe/wait.h"
#include "probe/wal_hooks.h"
#include "sampler/sampler.h"
#include "sql/settings.h"

CPROBE_MODULE_MAGIC;

#define CPROBE_MAX_QUERIES_DEFAULT 5000
#define CPROBE_MAX_QUERIES_MIN 16
#define CPROBE_MAX_QUERIES_MAX 1000000

#define CPROBE_MAX_LOCKS_DEFAULT 2000
#define CPROBE_MAX_LOCKS_MIN 16
#define CPROBE_MAX_LOCKS_MAX 1000000

#define CPROBE_MAX_PAGES_DEFAULT 2000
#define CPROBE_MAX_PAGES_MIN 16
#define CPROBE_MAX_PAGES_MAX 1000000

#define CPROBE_MAX_HANDOFFS_DEFAULT 10000
#define CPROBE_MAX_HANDOFFS_MIN 16
#define CPROBE_MAX_HANDOFFS_MAX 1000000

#define CPROBE_MAX_STACKS_DEFAULT 2000
#define CPROBE_MAX_STACKS_MIN 16
#define CPROBE_MAX_STACKS_MAX 1000000

#define CPROBE_HISTORY_SIZE_DEFAULT 20000
#define CPROBE_HISTORY_SIZE_MIN 100
#define CPROBE_HISTORY_SIZE_MAX 10000000

PGDLLEXPORT void _PG_init(void);

int			cprobe_instrument = CPROBE_INSTRUMENT_WAITS;
const char *cprobe_instrument_reason = NULL;
static int	cprobe_max_queries = CPROBE_MAX_QUERIES_DEFAULT;
static int	cprobe_max_locks = CPROBE_MAX_LOCKS_DEFAULT;
static int	cprobe_max_pages = CPROBE_MAX_PAGES_DEFAULT;
static int	cprobe_max_handoffs = CPROBE_MAX_HANDOFFS_DEFAULT;
static int	cprobe_max_stacks = CPROBE_MAX_STACKS_DEFAULT;
static int	cprobe_history_size = CPROBE_HISTORY_SIZE_DEFAULT;

static const struct config_enum_entry cprobe_instrument_options[] = {
	{"none", CPROBE_INSTRUMENT_NONE, false},
	{"waits", CPROBE_INSTRUMENT_WAITS, false},
	{"full", CPROBE_INSTRUMENT_FULL, false},
	{NULL, 0, false}
};

static const struct config_enum_entry cprobe_perf_events_options[] = {
	{"off", CPROBE_PERF_OFF, false},
	{"software", CPROBE_PERF_SOFTWARE, false},
	{"hardware", CPROBE_PERF_HARDWARE, false},
	{NULL, 0, false}
};

static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;
static ProcessUtility_hook_type prev_ProcessUtility = NULL;

CprobeRegionLimits
cprobe_settings_limits(void)
{
	CprobeRegionLimits limits = {
		.max_queries = cprobe_max_queries,
		.max_locks = cprobe_max_locks,
		.max_pages = cprobe_max_pages,
		.max_handoffs = cprobe_max_handoffs,
		.max_stacks = cprobe_max_stacks,
		.history_rows = cprobe_history_size,
		.code = cprobe_code_is_active(),
	};

	return limits;
}

static void
cprobe_shmem_request(void)
{
	CprobeRegionLimits limits = cprobe_settings_limits();

	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(cprobe_region_size(&limits));
}

static void
cprobe_shmem_startup(void)
{
	CprobeRegionLimits limits = cprobe_settings_limits();

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	cprobe_region_create(&limits);
	LWLockRelease(AddinShmemInitLock);
	if (cprobe_instrument != CPROBE_INSTRUMENT_NONE)
		cprobe_stats_flush_install();
	cprobe_code_attach();
	cprobe_stacks_init();
	if (!cprobe_shmem_find_bounds())
		ereport(LOG,
				(errmsg("contention_probe cannot tell where main shared memory lies"),
				 errdetail("Locks are known by their tranche only.")));
	if (!cprobe_semaphores_init())
		ereport(LOG,
				(errmsg("contention_probe cannot tell whose semaphore is posted"),
				 errdetail("The semaphores of this server are not laid out at a constant distance; hand-offs have no waker.")));
}

/*
 * Without preload they can be changed by a reload: sizes are those of the next
 * attach(), and instrument is that of sessions that load the library then.
 */
static void
cprobe_define_startup_settings(void)
{
	GucContext	context = process_shared_preload_libraries_in_progress ?
	PGC_POSTMASTER : PGC_SIGHUP;

	DefineCustomEnumVariable("contention_probe.instrument",
							 "What is hooked: nothing (sampling only), waits, or all code paths.",
							 NULL,
							 &cprobe_instrument,
							 CPROBE_INSTRUMENT_WAITS,
							 cprobe_instrument_options,
							 context, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("contention_probe.max_queries",
							"Statements (database, user, query id) whose waits are kept apart.",
							"Waits of further statements are counted in status.dropped_queries.",
							&cprobe_max_queries,
							CPROBE_MAX_QUERIES_DEFAULT,
							CPROBE_MAX_QUERIES_MIN, CPROBE_MAX_QUERIES_MAX,
							context, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("contention_probe.max_locks",
							"LWLocks whose waits are kept apart.",
							"Waits for further locks are counted in status.dropped_locks.",
							&cprobe_max_locks,
							CPROBE_MAX_LOCKS_DEFAULT,
							CPROBE_MAX_LOCKS_MIN, CPROBE_MAX_LOCKS_MAX,
							context, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("contention_probe.max_pages",
							"Pages whose content lock waits are kept apart; the hottest stay.",
							"What was counted for pages that gave way is in status.dropped_pages.",
							&cprobe_max_pages,
							CPROBE_MAX_PAGES_DEFAULT,
							CPROBE_MAX_PAGES_MIN, CPROBE_MAX_PAGES_MAX,
							context, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("contention_probe.max_handoffs",
							"Combinations of lock, waiting and waking statement that are kept apart.",
							"Hand-offs of further ones are counted in status.dropped_handoffs.",
							&cprobe_max_handoffs,
							CPROBE_MAX_HANDOFFS_DEFAULT,
							CPROBE_MAX_HANDOFFS_MIN, CPROBE_MAX_HANDOFFS_MAX,
							context, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("contention_probe.max_stacks",
							"Call paths of waits that are kept apart.",
							"Waits from further paths are counted in status.dropped_stacks.",
							&cprobe_max_stacks,
							CPROBE_MAX_STACKS_DEFAULT,
							CPROBE_MAX_STACKS_MIN, CPROBE_MAX_STACKS_MAX,
							context, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("contention_probe.history_size",
							"Rows kept in the view history.",
							NULL,
							&cprobe_history_size,
							CPROBE_HISTORY_SIZE_DEFAULT,
							CPROBE_HISTORY_SIZE_MIN, CPROBE_HISTORY_SIZE_MAX,
							context, 0, NULL, NULL, NULL);
}

/* Hooks on code look at no setting: they lose their counters instead. */
static void
cprobe_assign_enabled(bool new_value, void *extra)
{
	(void) new_value;
	(void) extra;
	cprobe_code_forget();
}

static void
cprobe_assign_timed_fraction(double new_value, void *extra)
{
	(void) new_value;
	(void) extra;
	cprobe_lwlock_hooks_choose_anew();
	cprobe_wal_hooks_choose_anew();
}

static void
cprobe_define_running_settings(void)
{
	DefineCustomBoolVariable("contention_probe.enabled",
							 "Measures waits, and samples.",
							 "In a session: whether its own waits are measured.",
							 &cprobe_enabled,
							 true,
							 PGC_SUSET, 0, NULL, cprobe_assign_enabled, NULL);
	DefineCustomIntVariable("contention_probe.stack_depth",
							"Frames that are kept of the call path of each wait, from the innermost on; 0 turns call paths off.",
							NULL,
							&cprobe_stack_depth,
							CPROBE_STACK_DEPTH_DEFAULT,
							0, CPROBE_STACK_DEPTH_MAX,
							PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("contention_probe.sample_interval",
							"Time between two looks of the sampler at all processes.",
							NULL,
							&cprobe_sample_interval_ms,
							CPROBE_SAMPLE_INTERVAL_DEFAULT_MS,
							CPROBE_SAMPLE_INTERVAL_MIN_MS,
							CPROBE_SAMPLE_INTERVAL_MAX_MS,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("contention_probe.history_interval",
							"Time between two entries of a busy process in the view history.",
							"Rounded up to a whole number of sample intervals.",
							&cprobe_history_interval_ms,
							CPROBE_HISTORY_INTERVAL_DEFAULT_MS,
							CPROBE_HISTORY_INTERVAL_MIN_MS,
							CPROBE_HISTORY_INTERVAL_MAX_MS,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("contention_probe.stuck_after",
							"How long a wait for an LWLock lasts before it is shown and logged as stuck.",
							NULL,
							&cprobe_stuck_after_ms,
							CPROBE_STUCK_AFTER_DEFAULT_MS,
							CPROBE_STUCK_AFTER_MIN_MS,
							CPROBE_STUCK_AFTER_MAX_MS,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomEnumVariable("contention_probe.perf_events",
							 "Counters that each process opens for itself, for the view perf_counters.",
							 "hardware includes software.",
							 &cprobe_perf_events,
							 CPROBE_PERF_OFF,
							 cprobe_perf_events_options,
							 PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("contention_probe.machine_interval",
							"Time between two looks of the sampler at the CPUs that processes run on; 0 turns them off.",
							"Rounded up to a whole number of sample intervals.",
							&cprobe_machine_interval_ms,
							CPROBE_MACHINE_INTERVAL_DEFAULT_MS,
							0, CPROBE_MACHINE_INTERVAL_MAX_MS,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("contention_probe.numa_interval",
							"Time between two looks at the placement of shared memory on NUMA nodes; 0 turns them off.",
							NULL,
							&cprobe_numa_interval_ms,
							CPROBE_NUMA_INTERVAL_DEFAULT_MS,
							0, CPROBE_NUMA_INTERVAL_MAX_MS,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	MarkGUCPrefixReserved("contention_probe");
}

static void
cprobe_define_code_settings(void)
{
	DefineCustomRealVariable("contention_probe.timed_fraction",
							 "Share of LWLock acquisitions and WAL records that are timed, chosen at random.",
							 "Of no effect unless contention_probe.instrument is full.",
							 &cprobe_timed_fraction,
							 CPROBE_TIMED_FRACTION_DEFAULT,
							 0.0, 1.0,
							 PGC_SUSET, 0, NULL,
							 cprobe_assign_timed_fraction, NULL);
}

/* If it cannot be done, the level is that below. */
static void
cprobe_install_code_hooks(void)
{
	cprobe_instrument_reason = cprobe_code_hooks_install();
	if (cprobe_instrument_reason != NULL)
		ereport(LOG,
				(errmsg("contention_probe.instrument = full works as waits"),
				 errdetail("The server's code could not be hooked: %s.",
						   cprobe_instrument_reason)));
}

/* The hooks of a process, or of the postmaster for all. */
static void
cprobe_install_hooks(void)
{
	if (cprobe_instrument == CPROBE_INSTRUMENT_NONE)
		return;
	cprobe_query_install_hooks();
	cprobe_libc_hooks_install();
}

static void
cprobe_preload(void)
{
	cprobe_cpu_places_init();
	cprobe_usage_install();
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = cprobe_shmem_request;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = cprobe_shmem_startup;

	/* The samples without any hook have statements as well. */
	EnableQueryId();
	cprobe_install_hooks();
	if (cprobe_instrument == CPROBE_INSTRUMENT_FULL)
		cprobe_install_code_hooks();
	cprobe_sampler_register();
}

/*
 * Hook this process, which is not the only one that could be: the control
 * block tells its hooks when the probe is attached.  A failure is no reason to
 * refuse the session.
 */
static void
cprobe_hook_session(void)
{
	MemoryContext caller = CurrentMemoryContext;
	static bool hooked = false;

	if (hooked)
		return;
	hooked = true;
	PG_TRY();
	{
		(void) cprobe_control_make();
		if (cprobe_shmem_find_bounds())
			(void) cprobe_semaphores_init();
		cprobe_attachment_keep();
		cprobe_attachment_refresh();
		cprobe_usage_install();
		EnableQueryId();
		cprobe_install_hooks();
		if (cprobe_instrument != CPROBE_INSTRUMENT_NONE)
			cprobe_stats_flush_install();
	}
	PG_CATCH();
	{
		LWLockReleaseAll();
		MemoryContextSwitchTo(caller);
		FlushErrorState();
		ereport(LOG,
				(errmsg("contention_probe cannot measure the waits of this session")));
	}
	PG_END_TRY();
}

/* Is that the name of this library, as LOAD takes it? */
static bool
cprobe_is_own_file(const char *file)
{
	const char *name = last_dir_separator(file);

	name = name != NULL ? name + 1 : file;
	return strcmp(name, "contention_probe") == 0 ||
		strcmp(name, "contention_probe" DLSUFFIX) == 0;
}

/* Does the statement that runs now load this library? */
static bool
cprobe_is_load(const PlannedStmt *statement)
{
	const Node *utility = statement->utilityStmt;

	return utility != NULL && IsA(utility, LoadStmt) &&
		cprobe_is_own_file(((const LoadStmt *) utility)->filename);
}

/* LOAD does nothing to a library that is loaded: follow it. */
static void
cprobe_load_ProcessUtility(CPROBE_UTILITY_ARGS)
{
	bool		load = cprobe_is_load(statement);

	if (prev_ProcessUtility)
		prev_ProcessUtility(CPROBE_UTILITY_PASS);
	else
		standard_ProcessUtility(CPROBE_UTILITY_PASS);
	if (load)
		cprobe_hook_session();
}

/*
 * Was the library loaded for its own sake, by LOAD or one of the settings
 * (also in the parallel worker of such a session), or because one of its
 * functions was called?  Only the former hooks the process.
 */
static bool
cprobe_is_loaded_for_hooks(void)
{
	if (MyBgworkerEntry != NULL &&
		strcmp(MyBgworkerEntry->bgw_library_name, "contention_probe") == 0)
		return false;
	return ActivePortal == NULL ||
		(list_length(ActivePortal->stmts) == 1 &&
		 cprobe_is_load(linitial_node(PlannedStmt, ActivePortal->stmts)));
}

static void
cprobe_load_into_session(void)
{
	cprobe_instrument_reason =
		"not preloaded: exact waits are those of sessions that load the library";
	if (cprobe_is_loaded_for_hooks())
	{
		cprobe_hook_session();
		return;
	}
	prev_ProcessUtility = ProcessUtility_hook;
	ProcessUtility_hook = cprobe_load_ProcessUtility;
}

/*
 * Without preload there is no shared memory until attach(); this process can
 * be hooked all the same, before or after that.
 */
void
_PG_init(void)
{
	cprobe_define_startup_settings();
	cprobe_define_code_settings();
	cprobe_define_running_settings();
	if (process_shared_preload_libraries_in_progress)
		cprobe_preload();
	else
		cprobe_load_into_session();
}
