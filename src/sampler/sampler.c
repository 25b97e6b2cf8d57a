/*-------------------------------------------------------------------------
 *
 * sampler.c
 *	  Life and clock of the sampling background worker.
 *
 * Separate: see sampler.h.
 *
 * The worker connects to no database; it needs the connection only to have a
 * status entry, which leads it to those of the others.  It starts as soon as
 * the server is consistent, on a standby as on a primary.  It ends with exit
 * code 1, so that the postmaster starts it again after a kill.
 *
 * In a server that was attached to it is a dynamic worker.  The postmaster
 * keeps such a worker over a crash of another process, when the attachment is
 * gone with the shared memory: so it compares what it was started for with the
 * control block, and ends for good, with exit code 0, when that is over.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"

#include "machine/clock.h"
#include "probe/attachment.h"
#include "probe/numa_areas.h"
#include "probe/region.h"
#include "probe/shmem_areas.h"
#include "probe/wait.h"
#include "sampler/cpu_look.h"
#include "sampler/sampler.h"
#include "sampler/tick.h"

#define CPROBE_SAMPLER_RESTART_S 1
#define CPROBE_NS_PER_MS_INT UINT64CONST(1000000)

int			cprobe_sample_interval_ms = CPROBE_SAMPLE_INTERVAL_DEFAULT_MS;
int			cprobe_history_interval_ms = CPROBE_HISTORY_INTERVAL_DEFAULT_MS;
int			cprobe_machine_interval_ms = CPROBE_MACHINE_INTERVAL_DEFAULT_MS;
int			cprobe_numa_interval_ms = CPROBE_NUMA_INTERVAL_DEFAULT_MS;

/* When the next looks are due, clock.h; and the CPU time at the last one. */
static uint64 cprobe_next_tick_ns;
static uint64 cprobe_next_history_ns;
static uint64 cprobe_next_machine_ns;
static uint64 cprobe_next_numa_ns;
static uint64 cprobe_last_cpu_ns;

/* Epoch of the sampler's own counters. */
static uint32 cprobe_sampler_epoch;

StaticAssertDecl(sizeof(CprobeSamplerTask) <= BGW_EXTRALEN,
				 "a task fits into what a worker is registered with");

/* The attachment that this worker is for; id 0: the library is preloaded. */
static CprobeSamplerTask cprobe_sampler_task;

static void
cprobe_sampler_describe(BackgroundWorker *worker)
{
	memset(worker, 0, sizeof(*worker));
	worker->bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker->bgw_start_time = BgWorkerStart_ConsistentState;
	worker->bgw_restart_time = CPROBE_SAMPLER_RESTART_S;
	strlcpy(worker->bgw_library_name, "contention_probe", BGW_MAXLEN);
	strlcpy(worker->bgw_function_name, "cprobe_sampler_main", BGW_MAXLEN);
	strlcpy(worker->bgw_name, "contention_probe sampler", BGW_MAXLEN);
	strlcpy(worker->bgw_type, "contention_probe sampler", BGW_MAXLEN);
}

void
cprobe_sampler_register(void)
{
	BackgroundWorker worker;

	cprobe_sampler_describe(&worker);
	RegisterBackgroundWorker(&worker);
}

bool
cprobe_sampler_start(const CprobeSamplerTask *task,
					 BackgroundWorkerHandle **handle)
{
	BackgroundWorker worker;

	cprobe_sampler_describe(&worker);
	worker.bgw_notify_pid = MyProcPid;
	memcpy(worker.bgw_extra, task, sizeof(*task));
	return RegisterDynamicBackgroundWorker(&worker, handle);
}

/* Is the attachment that this worker is for still the one that counts? */
static bool
cprobe_sampler_is_wanted(void)
{
	CprobeSharedControl *control;

	if (cprobe_sampler_task.attachment_id == 0)
		return true;
	control = cprobe_control_find();
	return control != NULL &&
		pg_atomic_read_u64(&control->attachment_id) ==
		cprobe_sampler_task.attachment_id;
}

/* Map the region that this worker was started for; ends it if that is over. */
static void
cprobe_sampler_join(void)
{
	if (cprobe_region_is_preloaded())
		return;
	memcpy(&cprobe_sampler_task, MyBgworkerEntry->bgw_extra,
		   sizeof(cprobe_sampler_task));
	cprobe_attachment_keep();
	if (cprobe_sampler_task.attachment_id == 0 ||
		!cprobe_sampler_is_wanted() ||
		!cprobe_attachment_map(cprobe_sampler_task.segment,
							   cprobe_sampler_task.generation))
		proc_exit(0);
	(void) cprobe_shmem_find_bounds();
}

static void
cprobe_sampler_detach(int code, Datum arg)
{
	(void) code;
	(void) arg;
	pg_atomic_write_u32(&cprobe_region->sampler.pid, 0);
}

/* Single-writer counter: this worker only. */
static void
cprobe_sampler_add(pg_atomic_uint64 *counter, uint64 amount)
{
	pg_atomic_write_u64(counter, pg_atomic_read_u64(counter) + amount);
}

/* After a reset the worker's own counters start anew as well. */
static void
cprobe_sampler_follow_reset(void)
{
	CprobeSharedSampler *sampler = &cprobe_region->sampler;
	uint32		epoch = cprobe_region_epoch();

	if (cprobe_sampler_epoch == epoch)
		return;
	/* At the start of the worker its predecessor's counts go on. */
	if (cprobe_sampler_epoch != 0)
	{
		pg_atomic_write_u64(&sampler->ticks, 0);
		pg_atomic_write_u64(&sampler->missed_ticks, 0);
		pg_atomic_write_u64(&sampler->cpu_ns, 0);
	}
	cprobe_sampler_epoch = epoch;
}

/* Its own CPU time is a system call away: not at each look. */
#define CPROBE_SAMPLER_ACCOUNT_NS (100 * CPROBE_NS_PER_MS_INT)

static void
cprobe_sampler_account_cpu(uint64 now_ns)
{
	static uint64 due_ns = 0;
	uint64		cpu_ns;

	if (now_ns < due_ns)
		return;
	due_ns = now_ns + CPROBE_SAMPLER_ACCOUNT_NS;
	cpu_ns = cprobe_clock_process_cpu_ns();
	cprobe_sampler_add(&cprobe_region->sampler.cpu_ns,
					   cpu_ns - cprobe_last_cpu_ns);
	cprobe_last_cpu_ns = cpu_ns;
}

/* The next due time of a pace, and how many were passed over. */
static uint64
cprobe_sampler_advance(uint64 *due_ns, uint64 now_ns, int interval_ms)
{
	uint64		interval_ns = (uint64) interval_ms * CPROBE_NS_PER_MS_INT;
	uint64		passed = (now_ns - *due_ns) / interval_ns;

	*due_ns += (passed + 1) * interval_ns;
	return passed;
}

/* Is something due that has a pace of its own?  Interval 0 = never. */
static bool
cprobe_sampler_is_due(uint64 *due_ns, uint64 now_ns, int interval_ms)
{
	if (interval_ms == 0 || now_ns < *due_ns)
		return false;
	cprobe_sampler_advance(due_ns, now_ns, interval_ms);
	return true;
}

/* Looks at CPUs and memory. */
static void
cprobe_sampler_look_at_machine(uint64 now_ns)
{
	if (cprobe_sampler_is_due(&cprobe_next_machine_ns, now_ns,
							  cprobe_machine_interval_ms))
		cprobe_cpu_look_run();
	if (cprobe_sampler_is_due(&cprobe_next_numa_ns, now_ns,
							  cprobe_numa_interval_ms))
		cprobe_numa_areas_refresh();
}

/* Look if it is time to. */
static void
cprobe_sampler_tick_if_due(void)
{
	uint64		now_ns = cprobe_clock_now_ns();
	bool		history_due;

	if (now_ns < cprobe_next_tick_ns)
		return;
	cprobe_sampler_follow_reset();
	cprobe_sampler_add(&cprobe_region->sampler.missed_ticks,
					   cprobe_sampler_advance(&cprobe_next_tick_ns, now_ns,
											  cprobe_sample_interval_ms));
	history_due = now_ns >= cprobe_next_history_ns;
	if (history_due)
		cprobe_sampler_advance(&cprobe_next_history_ns, now_ns,
							   cprobe_history_interval_ms);
	if (cprobe_enabled)
	{
		cprobe_tick_run(history_due);
		cprobe_sampler_add(&cprobe_region->sampler.ticks, 1);
		cprobe_sampler_look_at_machine(now_ns);
	}
	cprobe_sampler_account_cpu(now_ns);
}

/* Sleep until the next look, a signal, or the end. */
static void
cprobe_sampler_sleep(uint32 wait_event)
{
	uint64		now_ns = cprobe_clock_now_ns();
	long		sleep_ms = 0;

	/* Round up: to wake early means to sleep twice. */
	if (cprobe_next_tick_ns > now_ns)
		sleep_ms = (long) ((cprobe_next_tick_ns - now_ns +
							CPROBE_NS_PER_MS_INT - 1) / CPROBE_NS_PER_MS_INT);
	if (sleep_ms == 0)
		return;
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 sleep_ms, wait_event);
	ResetLatch(MyLatch);
}

static void
cprobe_sampler_reload(void)
{
	uint64		now_ns = cprobe_clock_now_ns();

	ConfigReloadPending = false;
	ProcessConfigFile(PGC_SIGHUP);
	cprobe_next_tick_ns = now_ns;
	cprobe_next_history_ns = now_ns;
	cprobe_next_machine_ns = now_ns;
	cprobe_next_numa_ns = now_ns;
}

void
cprobe_sampler_main(Datum main_arg)
{
	uint32		wait_event;

	(void) main_arg;
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	cprobe_sampler_join();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);

	wait_event = CPROBE_NEW_WAIT_EVENT("ContentionProbeSampler");
	before_shmem_exit(cprobe_sampler_detach, (Datum) 0);
	cprobe_tick_init();
	cprobe_cpu_look_init();
	/* An attachment's sampler has no slot to rehearse with. */
	if (cprobe_region_is_preloaded())
		pg_atomic_write_u64(&cprobe_region->sampler.hook_cost_ps,
							cprobe_wait_calibrate_ps());
	cprobe_next_tick_ns = cprobe_next_history_ns = cprobe_next_machine_ns =
		cprobe_next_numa_ns = cprobe_clock_now_ns();
	pg_atomic_write_u32(&cprobe_region->sampler.pid, (uint32) MyProcPid);

	while (!ShutdownRequestPending)
	{
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
			cprobe_sampler_reload();
		cprobe_sampler_tick_if_due();
		cprobe_sampler_sleep(wait_event);
		if (!cprobe_sampler_is_wanted())
			break;
	}
	proc_exit(cprobe_sampler_is_wanted() ? 1 : 0);
}
