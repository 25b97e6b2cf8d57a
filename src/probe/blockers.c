/*-------------------------------------------------------------------------
 *
 * blockers.c
 *	  Finding who keeps the waiters of a lock waiting.
 *
 * Separate: see blockers.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "probe/activity.h"
#include "probe/blockers.h"
#include "probe/code_counts.h"
#include "probe/held_locks.h"
#include "probe/lock_account.h"
#include "probe/snapshot.h"

/* A process that waits for a lock has it in its list as well. */
static bool
cprobe_blocker_waits(CprobeSharedSlot *slot, CprobeLockKey lock)
{
	CprobeCurrentWait wait = cprobe_snapshot_current_wait(slot);

	return wait.waiting && wait.lock == lock;
}

int
cprobe_blocker_holders(CprobeLockKey lock, int *pids, int limit)
{
	int			count = 0;

	for (uint32 i = 0; i < cprobe_region->slot_count && count < limit; i++)
	{
		CprobeSharedSlot *slot = cprobe_slot_get(i);

		if (cprobe_code_is_active())
		{
			int			pid = cprobe_activity_proc_pid(i);

			if (pid != 0 && cprobe_code_holds(i, lock) &&
				!cprobe_blocker_waits(slot, lock))
				pids[count++] = pid;
		}
		else if (cprobe_held_locks_has(slot, lock) &&
				 cprobe_activity_proc(i)->pid == slot->pid)
			pids[count++] = slot->pid;
	}
	return count;
}

int
cprobe_blocker_pid(CprobeLockKey lock)
{
	pg_atomic_uint64 *values;
	int			pid;

	if (CPROBE_LOCK_KEY_OFFSET(lock) == 0)
		return 0;
	if (cprobe_blocker_holders(lock, &pid, 1) > 0)
		return pid;
	values = cprobe_map_find(cprobe_region_locks(), cprobe_region_epoch(),
							 &lock);
	if (values == NULL)
		return 0;
	return (int) pg_atomic_read_u64(&values[CPROBE_LOCK_LAST_WAKER]);
}
