/*-------------------------------------------------------------------------
 *
 * control.c
 *	  Finding and making the control block of an attachment.
 *
 * Separate: see control.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/lock.h"
#include "storage/shmem.h"

#include "probe/control.h"
#include "probe/shmem_areas.h"

/*
 * The attachment lock is an advisory lock that SQL cannot ask for: its fields
 * 1 and 2 are those of the functions of pg_advisory_lock.
 */
#define CPROBE_LOCK_FIELD1 0x43505242
#define CPROBE_LOCK_FIELD2 1
#define CPROBE_LOCK_CLASS 0x4350

/* Found before; the address is the same for as long as the process lives. */
static CprobeSharedControl *cprobe_control = NULL;

CprobeSharedControl *
cprobe_control_find(void)
{
	const CprobeShmemArea *area;
	CprobeSharedControl *control;

	if (cprobe_control != NULL)
		return cprobe_control;
	area = cprobe_shmem_area_named(CPROBE_CONTROL_NAME);
	if (area == NULL || area->bytes != sizeof(CprobeSharedControl))
		return NULL;
	control = cprobe_shmem_address(area->offset);
	if (control->magic != CPROBE_CONTROL_MAGIC)
		return NULL;
	pg_read_barrier();
	cprobe_control = control;
	return control;
}

static void
cprobe_control_init(CprobeSharedControl *control)
{
	memset(control, 0, sizeof(*control));
	pg_atomic_init_u32(&control->generation, 0);
	pg_atomic_init_u64(&control->attachment_id, 0);
	pg_write_barrier();
	control->magic = CPROBE_CONTROL_MAGIC;
}

/*
 * The server may be short of memory here, or of a place in its index: both
 * come from the room that it left at its start.
 */
static void
cprobe_control_explain(void *arg)
{
	(void) arg;
	if (geterrcode() == ERRCODE_OUT_OF_MEMORY)
		errhint("The server has no spare room left in its shared memory. Preload contention_probe with \"shared_preload_libraries\" instead, which takes a restart.");
}

CprobeSharedControl *
cprobe_control_make(void)
{
	CprobeSharedControl *control = cprobe_control_find();
	ErrorContextCallback explain = {
		.callback = cprobe_control_explain,
		.previous = error_context_stack,
	};
	bool		found;

	if (control != NULL)
		return control;
	error_context_stack = &explain;
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	control = ShmemInitStruct(CPROBE_CONTROL_NAME, sizeof(*control), &found);
	if (!found)
		cprobe_control_init(control);
	LWLockRelease(AddinShmemInitLock);
	error_context_stack = explain.previous;
	if (control->magic != CPROBE_CONTROL_MAGIC)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("another version of contention_probe was attached to this server"),
				 errhint("Restart the server to use this version.")));
	cprobe_control = control;
	return control;
}

static LOCKTAG
cprobe_control_lock_tag(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, InvalidOid, CPROBE_LOCK_FIELD1,
						 CPROBE_LOCK_FIELD2, CPROBE_LOCK_CLASS);
	return tag;
}

void
cprobe_control_lock(void)
{
	LOCKTAG		tag = cprobe_control_lock_tag();

	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

void
cprobe_control_unlock(void)
{
	LOCKTAG		tag = cprobe_control_lock_tag();

	LockRelease(&tag, ExclusiveLock, false);
}
