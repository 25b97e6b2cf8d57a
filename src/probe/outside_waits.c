/*-------------------------------------------------------------------------
 *
 * outside_waits.c
 *	  Writing and reading waits for locks that the sampler sees.
 *
 * Separate: see outside_waits.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "probe/activity.h"
#include "probe/outside_waits.h"

#define CPROBE_OUTSIDE_MAX_TRIES 100

/* Place of a process number, in range. */
static CprobeSharedOutsideWait *
cprobe_outside_get(uint32 number)
{
	return &cprobe_region_outside_waits()[number];
}

void
cprobe_outside_publish(uint32 number, int pid, const CprobeCurrentWait *wait)
{
	CprobeSharedOutsideWait *place = cprobe_outside_get(number);

	pg_atomic_write_u32(&place->sequence, wait->sequence - 1);
	pg_write_barrier();
	place->pid = pid;
	place->info = wait->info;
	place->mode = (uint8) wait->mode;
	place->has_page = wait->has_page;
	place->since_ns = wait->since_ns;
	place->confirmed_ns = wait->confirmed_ns;
	place->lock = wait->lock;
	place->page = wait->page;
	pg_write_barrier();
	pg_atomic_write_u32(&place->sequence, wait->sequence);
}

void
cprobe_outside_retract(uint32 number)
{
	CprobeSharedOutsideWait *place = cprobe_outside_get(number);
	uint32		sequence = pg_atomic_read_u32(&place->sequence);

	if ((sequence & 1) != 0)
		pg_atomic_write_u32(&place->sequence, sequence + 1);
}

CprobeCurrentWait
cprobe_outside_wait(uint32 number, int pid)
{
	CprobeSharedOutsideWait *place = cprobe_outside_get(number);
	CprobeCurrentWait wait = {0};

	for (int tries = 0; tries < CPROBE_OUTSIDE_MAX_TRIES; tries++)
	{
		bool		same;

		wait.sequence = pg_atomic_read_u32(&place->sequence);
		if ((wait.sequence & 1) == 0)
			break;
		pg_read_barrier();
		same = place->pid == pid;
		wait.info = place->info;
		wait.mode = (CprobeLockMode) place->mode;
		wait.has_page = place->has_page;
		wait.since_ns = place->since_ns;
		wait.confirmed_ns = place->confirmed_ns;
		wait.lock = place->lock;
		wait.page = place->page;
		pg_read_barrier();
		if (pg_atomic_read_u32(&place->sequence) != wait.sequence)
			continue;
		same = same && cprobe_activity_proc(number)->wait_event_info == wait.info;
		wait.waiting = same;
		wait.outside = same;
		break;
	}
	return wait;
}

CprobeCurrentWait
cprobe_process_wait(uint32 number, int pid)
{
	CprobeSharedSlot *slot = cprobe_slot_get(number);

	if (slot->pid == pid)
		return cprobe_snapshot_current_wait(slot);
	return cprobe_outside_wait(number, pid);
}
