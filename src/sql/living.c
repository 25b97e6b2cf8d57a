/*-------------------------------------------------------------------------
 *
 * living.c
 *	  Walking over the living processes.
 *
 * Separate: see living.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"

#include "probe/activity.h"
#include "probe/snapshot.h"
#include "sql/living.h"

static const char *
cprobe_living_type_name(const CprobeActivity *activity)
{
	const char *name = NULL;

	if (activity->type == B_BG_WORKER)
		name = GetBackgroundWorkerTypeByPid(activity->pid);
	return name != NULL ? name : GetBackendTypeDesc(activity->type);
}

/* Who it is, from its status entry, or else from its slot. */
static bool
cprobe_living_identify(CprobeLiving *living)
{
	CprobeActivity activity;
	int			index = cprobe_activity_find(living->pid);

	if (index >= 0 && cprobe_activity_read(index, &activity) &&
		activity.pid == living->pid)
	{
		living->type_name = cprobe_living_type_name(&activity);
		living->user_id = activity.user_id;
		return true;
	}
	if (living->slot == NULL)
		return false;
	living->type_name = living->slot->worker_type[0] != '\0' ?
		pstrdup(living->slot->worker_type) :
		cprobe_region_type_name(living->slot->type);
	living->user_id = living->slot->role_id;
	return true;
}

bool
cprobe_living_next(uint32 *position, CprobeLiving *living)
{
	while (*position < cprobe_region->slot_count)
	{
		uint32		number = (*position)++;
		CprobeSharedSlot *slot = cprobe_slot_get(number);

		CHECK_FOR_INTERRUPTS();
		living->number = number;
		living->pid = cprobe_activity_proc_pid(number);
		if (living->pid == 0)
			continue;
		living->slot = cprobe_snapshot_slot_is_of(slot, living->pid) ?
			slot : NULL;
		if (cprobe_living_identify(living))
			return true;
	}
	return false;
}
