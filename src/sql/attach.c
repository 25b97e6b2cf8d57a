/*-------------------------------------------------------------------------
 *
 * attach.c
 *	  Functions attach() and detach(): the probe in a server that did not
 *	  preload the library.
 *
 * Separate from the views.  The rules of the control block that these follow
 * are in probe/control.h.
 *
 * attach() makes the region in a segment of dynamic shared memory and starts
 * the sampler.  Until both are there nothing is visible to other processes,
 * and any error, or the end of the session, takes back what there is: the
 * worker is ended, and the segment goes with the transaction.  Only the
 * control block stays, some bytes of main shared memory.  Neither function is
 * transactional.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/event_trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "machine/clock.h"
#include "machine/topology.h"
#include "probe/attachment.h"
#include "probe/usage.h"
#include "sampler/sampler.h"
#include "sql/settings.h"

PG_FUNCTION_INFO_V1(cprobe_attach);
PG_FUNCTION_INFO_V1(cprobe_detach);
PG_FUNCTION_INFO_V1(cprobe_before_drop);

/* How long the sampler may take to start or to end. */
#define CPROBE_ATTACH_WAIT_S 60

#define CPROBE_ATTACH_POLL_MS 5

StaticAssertDecl(sizeof(CprobeServerWorkerHandle) == 16,
				 "a worker's handle is a slot and a generation");

static BackgroundWorkerHandle *
cprobe_attach_worker(CprobeSharedControl *control)
{
	return (BackgroundWorkerHandle *) &control->worker;
}

/* Sleep a little, interruptibly; false when time is up. */
static bool
cprobe_attach_pause(uint64 until_ns)
{
	if (cprobe_clock_now_ns() > until_ns)
		return false;
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 CPROBE_ATTACH_POLL_MS, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	return true;
}

static uint64
cprobe_attach_deadline(void)
{
	return cprobe_clock_now_ns() + CPROBE_ATTACH_WAIT_S * CPROBE_NS_PER_S;
}

/* Adds advice to the error of a server without room for the segment. */
static void
cprobe_attach_explain_segment(void *arg)
{
	Size		bytes = *(Size *) arg;

	errdetail("contention_probe needs a segment of dynamic shared memory of %zu bytes.",
			  bytes);
	errhint("Make room for it, or choose smaller values of contention_probe.max_queries, max_locks, max_pages, max_handoffs, max_stacks and history_size.");
}

static dsm_segment *
cprobe_attach_make_segment(const CprobeRegionLimits *limits)
{
	Size		bytes = cprobe_region_size(limits);
	dsm_segment *segment;
	ErrorContextCallback explain = {
		.callback = cprobe_attach_explain_segment,
		.arg = &bytes,
		.previous = error_context_stack,
	};

	error_context_stack = &explain;
	segment = dsm_create(bytes, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	error_context_stack = explain.previous;
	if (segment == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("too many dynamic shared memory segments"),
				 errdetail("contention_probe needs one to attach to a running server."),
				 errhint("Try again when there are fewer parallel queries, or raise max_connections, which the number of segments follows.")));
	cprobe_region_create_at(dsm_segment_address(segment), limits);
	return segment;
}

/* An error, or the end of the session, before all is there. */
static void
cprobe_attach_undo(int code, Datum arg)
{
	CprobeSharedControl *control = (CprobeSharedControl *) DatumGetPointer(arg);

	(void) code;
	pg_atomic_write_u64(&control->attachment_id, 0);
	if (control->worker.slot >= 0)
		TerminateBackgroundWorker(cprobe_attach_worker(control));
}

static void
cprobe_attach_start_sampler(CprobeSharedControl *control,
							const CprobeSamplerTask *task)
{
	BackgroundWorkerHandle *handle;

	control->worker.slot = -1;
	if (!cprobe_sampler_start(task, &handle))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("could not register the sampler of contention_probe"),
				 errdetail("All background workers of the server are in use."),
				 errhint("Try again when there are fewer parallel queries or other workers, or raise max_worker_processes, which takes a restart.")));
	memcpy(&control->worker, handle, sizeof(control->worker));
	pfree(handle);
}

/* Wait until the sampler is at work, whose region this process has mapped. */
static void
cprobe_attach_await_sampler(CprobeSharedControl *control)
{
	uint64		until_ns = cprobe_attach_deadline();
	pid_t		pid;

	while (pg_atomic_read_u32(&cprobe_region->sampler.pid) == 0)
	{
		BgwHandleStatus status;

		status = GetBackgroundWorkerPid(cprobe_attach_worker(control), &pid);
		if (status == BGWH_STOPPED || status == BGWH_POSTMASTER_DIED ||
			!cprobe_attach_pause(until_ns))
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
					 errmsg("the sampler of contention_probe did not start"),
					 errhint("More details may be available in the server log.")));
	}
}

/* No two attachments have the same number, also across a crash. */
static uint64
cprobe_attach_new_id(dsm_handle handle)
{
	uint64		id = (uint64) GetCurrentTimestamp() ^ ((uint64) handle << 32);

	return id != 0 ? id : 1;
}

static void
cprobe_attach_anew(CprobeSharedControl *control)
{
	uint32		generation = pg_atomic_read_u32(&control->generation) + 1;
	CprobeRegionLimits limits = cprobe_settings_limits();
	dsm_segment *segment;
	CprobeSamplerTask task;

	cprobe_attachment_drop();
	/* The region has a place for each pair of nodes. */
	cprobe_cpu_places_init();
	segment = cprobe_attach_make_segment(&limits);
	cprobe_attachment_adopt(segment, generation);
	cprobe_usage_mark_reset();
	task.segment = dsm_segment_handle(segment);
	task.generation = generation;
	task.attachment_id = cprobe_attach_new_id(task.segment);

	control->worker.slot = -1;
	PG_ENSURE_ERROR_CLEANUP(cprobe_attach_undo, PointerGetDatum(control));
	{
		pg_atomic_write_u64(&control->attachment_id, task.attachment_id);
		cprobe_attach_start_sampler(control, &task);
		cprobe_attach_await_sampler(control);
	}
	PG_END_ENSURE_ERROR_CLEANUP(cprobe_attach_undo, PointerGetDatum(control));

	dsm_pin_segment(segment);
	control->segment = task.segment;
	pg_write_barrier();
	pg_atomic_write_u32(&control->generation, generation);
}

/*
 * Attached already.  The sampler is started again if the server gave it up:
 * it could not map the segment, for want of memory.
 */
static void
cprobe_attach_repair(CprobeSharedControl *control)
{
	CprobeSamplerTask task = {
		.attachment_id = pg_atomic_read_u64(&control->attachment_id),
		.segment = control->segment,
		.generation = pg_atomic_read_u32(&control->generation),
	};
	pid_t		pid;

	if (GetBackgroundWorkerPid(cprobe_attach_worker(control), &pid) !=
		BGWH_STOPPED)
		return;
	cprobe_attachment_refresh();
	cprobe_attach_start_sampler(control, &task);
	cprobe_attach_await_sampler(control);
}

Datum
cprobe_attach(PG_FUNCTION_ARGS)
{
	CprobeSharedControl *control;
	bool		attached;

	(void) fcinfo;
	if (cprobe_region_is_preloaded())
	{
		ereport(NOTICE,
				(errmsg("contention_probe is preloaded already; there is nothing to attach")));
		PG_RETURN_TEXT_P(cstring_to_text("preloaded"));
	}
	cprobe_control_lock();
	control = cprobe_control_make();
	attached = cprobe_control_is_attached(pg_atomic_read_u32(&control->generation));
	if (attached)
		cprobe_attach_repair(control);
	else
		cprobe_attach_anew(control);
	cprobe_control_unlock();
	if (attached)
		ereport(NOTICE,
				(errmsg("contention_probe is attached already")));
	PG_RETURN_TEXT_P(cstring_to_text(attached ? "already attached" :
									 "attached"));
}

/* Hooks pass through, the sampler ends, the segment goes with its last user. */
static void
cprobe_detach_end(CprobeSharedControl *control)
{
	uint64		until_ns = cprobe_attach_deadline();
	uint32		generation = pg_atomic_read_u32(&control->generation);
	pid_t		pid;

	pg_atomic_write_u32(&control->generation, generation + 1);
	pg_atomic_write_u64(&control->attachment_id, 0);
	cprobe_attachment_drop();
	dsm_unpin_segment(control->segment);
	TerminateBackgroundWorker(cprobe_attach_worker(control));
	while (GetBackgroundWorkerPid(cprobe_attach_worker(control), &pid) !=
		   BGWH_STOPPED)
	{
		if (!cprobe_attach_pause(until_ns))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("the sampler of contention_probe, process %d, does not end",
							(int) pid),
					 errdetail("contention_probe is detached all the same.")));
	}
}

/* True if it was attached. */
static bool
cprobe_detach_if_attached(void)
{
	CprobeSharedControl *control;
	bool		attached;

	cprobe_control_lock();
	control = cprobe_control_find();
	attached = control != NULL &&
		cprobe_control_is_attached(pg_atomic_read_u32(&control->generation));
	if (attached)
		cprobe_detach_end(control);
	cprobe_control_unlock();
	return attached;
}

Datum
cprobe_detach(PG_FUNCTION_ARGS)
{
	(void) fcinfo;
	if (cprobe_region_is_preloaded())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("contention_probe is preloaded and cannot be detached"),
				 errhint("Take it out of shared_preload_libraries and restart the server.")));
	if (cprobe_detach_if_attached())
		PG_RETURN_TEXT_P(cstring_to_text("detached"));
	ereport(NOTICE,
			(errmsg("contention_probe is not attached")));
	PG_RETURN_TEXT_P(cstring_to_text("not attached"));
}

/* Does a command drop this extension? */
static bool
cprobe_drop_is_ours(const Node *command)
{
	const DropStmt *drop = (const DropStmt *) command;
	ListCell   *cell;

	if (!IsA(command, DropStmt) || drop->removeType != OBJECT_EXTENSION)
		return false;
	foreach(cell, drop->objects)
	{
		if (strcmp(strVal(lfirst(cell)), "contention_probe") == 0)
			return true;
	}
	return false;
}

/*
 * Event trigger before DROP EXTENSION: detach, for afterwards there is no
 * function that could.
 */
Datum
cprobe_before_drop(PG_FUNCTION_ARGS)
{
	EventTriggerData *trigger = (EventTriggerData *) fcinfo->context;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("not called by an event trigger")));
	if (!cprobe_region_is_preloaded() &&
		cprobe_drop_is_ours(trigger->parsetree) &&
		cprobe_detach_if_attached())
		ereport(NOTICE,
				(errmsg("contention_probe was attached to the server and has been detached")));
	PG_RETURN_NULL();
}
