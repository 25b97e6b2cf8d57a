/*-------------------------------------------------------------------------
 *
 * attachment.c
 *	  Mapping the region of an attachment, and letting go of it.
 *
 * Separate: see attachment.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"

#include "machine/topology.h"
#include "probe/attachment.h"
#include "probe/perf_account.h"
#include "probe/slot.h"
#include "probe/stacks.h"
#include "probe/wait.h"

/* What this process has mapped; NULL = nothing, or the library is preloaded. */
static dsm_segment *cprobe_segment = NULL;

static bool cprobe_attachment_kept = false;

/*
 * What only a process needs that writes to the region.  Not earlier: it opens
 * files.
 */
static void
cprobe_attachment_prepare(void)
{
	static bool prepared = false;

	if (!prepared)
		cprobe_cpu_places_init();
	prepared = true;
	cprobe_stacks_init();
}

/*
 * The segment is about to be unmapped: at the end of a query, by an error, at
 * the end of the process, or because it is old.  Everything that points into
 * it is forgotten; hooks pass through from here on.
 */
static void
cprobe_attachment_forget(dsm_segment *segment, Datum arg)
{
	(void) segment;
	(void) arg;
	cprobe_region = NULL;
	cprobe_segment = NULL;
	cprobe_wait_forget();
	cprobe_slot_forget();
	cprobe_perf_forget();
}

/*
 * The mapping of a session that only reads goes with its transaction.  It is
 * not left to the server's owner of resources, which takes a segment that is
 * mapped at the end of a successful query for a leak.
 */
static void
cprobe_attachment_end_transaction(XactEvent event, void *arg)
{
	(void) arg;
	switch (event)
	{
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			if (!cprobe_attachment_kept)
				cprobe_attachment_drop();
			break;
		default:
			break;
	}
}

void
cprobe_attachment_adopt(dsm_segment *segment, uint32 generation)
{
	static bool registered = false;

	if (!registered)
		RegisterXactCallback(cprobe_attachment_end_transaction, NULL);
	registered = true;
	dsm_pin_mapping(segment);
	on_dsm_detach(segment, cprobe_attachment_forget, (Datum) 0);
	cprobe_segment = segment;
	cprobe_region_mapped = generation;
	cprobe_region = dsm_segment_address(segment);
	if (cprobe_attachment_kept)
		cprobe_attachment_prepare();
}

bool
cprobe_attachment_map(dsm_handle handle, uint32 generation)
{
	dsm_segment *segment = dsm_attach(handle);

	if (segment == NULL)
		return false;
	cprobe_attachment_adopt(segment, generation);
	return true;
}

void
cprobe_attachment_drop(void)
{
	if (cprobe_segment != NULL)
		dsm_detach(cprobe_segment);
}

/* The segment of a generation; false if that is over. */
static bool
cprobe_attachment_handle(CprobeSharedControl *control, uint32 generation,
						 dsm_handle *handle)
{
	if (!cprobe_control_is_attached(generation))
		return false;
	pg_read_barrier();
	*handle = control->segment;
	pg_read_barrier();
	return pg_atomic_read_u32(&control->generation) == generation;
}

/*
 * Should the generation move on in the middle, a segment may be mapped that
 * is old already, which the next look finds out.
 */
void
cprobe_attachment_refresh(void)
{
	CprobeSharedControl *control;
	uint32		generation;
	dsm_handle	handle;

	if (cprobe_region_is_preloaded())
		return;
	control = cprobe_control_find();
	if (control == NULL)
		return;
	cprobe_region_generation = &control->generation;
	generation = pg_atomic_read_u32(&control->generation);
	if (cprobe_segment != NULL && cprobe_region_mapped == generation)
		return;
	cprobe_attachment_drop();
	cprobe_region_mapped = generation;
	if (cprobe_attachment_handle(control, generation, &handle))
		(void) cprobe_attachment_map(handle, generation);
	if (cprobe_region != NULL && cprobe_attachment_kept)
		(void) cprobe_slot_mine();
}

void
cprobe_attachment_refresh_safely(void)
{
	MemoryContext caller = CurrentMemoryContext;

	PG_TRY();
	{
		cprobe_attachment_refresh();
	}
	PG_CATCH();
	{
		/* The generation counts as seen: this is not tried again. */
		LWLockReleaseAll();
		MemoryContextSwitchTo(caller);
		FlushErrorState();
	}
	PG_END_TRY();
}

void
cprobe_attachment_keep(void)
{
	if (cprobe_attachment_kept)
		return;
	cprobe_attachment_kept = true;
	if (cprobe_segment != NULL)
		cprobe_attachment_prepare();
}
