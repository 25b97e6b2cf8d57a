/*-------------------------------------------------------------------------
 *
 * stuck.c
 *	  Judging long waits for locks.
 *
 * Separate: see stuck.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "machine/process_state.h"
#include "probe/activity.h"
#include "probe/blockers.h"
#include "probe/stuck.h"

#define CPROBE_NS_PER_MS_INT UINT64CONST(1000000)

int			cprobe_stuck_after_ms = CPROBE_STUCK_AFTER_DEFAULT_MS;

/*
 * A wait that is only seen from outside counts up to the moment for which it
 * is certain that the process has slept on.
 */
bool
cprobe_stuck_is_long(const CprobeCurrentWait *wait, uint64 now_ns)
{
	if (wait->outside)
		now_ns = wait->confirmed_ns;
	return wait->waiting && wait->lock != 0 && now_ns > wait->since_ns &&
		now_ns - wait->since_ns >
		(uint64) cprobe_stuck_after_ms * CPROBE_NS_PER_MS_INT;
}

static bool
cprobe_stuck_has_stopped_holder(const CprobeStuck *stuck)
{
	for (int i = 0; i < stuck->holder_count; i++)
	{
		if (cprobe_process_state_is_stopped(cprobe_process_state(stuck->holders[i])))
			return true;
	}
	return false;
}

/*
 * Nobody says that he holds the lock.  Who holds it and is stopped cannot say
 * so: a stopped process of the server is taken for the holder.
 */
static void
cprobe_stuck_find_stopped(CprobeStuck *stuck)
{
	for (uint32 i = 0; i < cprobe_region->slot_count; i++)
	{
		int			pid = cprobe_activity_proc_pid(i);

		if (stuck->holder_count == CPROBE_STUCK_MAX_HOLDERS)
			break;
		if (pid != 0 &&
			cprobe_process_state_is_stopped(cprobe_process_state(pid)))
			stuck->holders[stuck->holder_count++] = pid;
	}
}

CprobeStuck
cprobe_stuck_judge(const CprobeCurrentWait *wait, int free_looks)
{
	CprobeStuck stuck = {.state = cprobe_lock_state(wait->lock)};

	if (cprobe_lock_state_is_free(&stuck.state))
	{
		stuck.verdict = free_looks + 1 >= CPROBE_STUCK_FREE_LOOKS ?
			CPROBE_VERDICT_LOST_WAKEUP : CPROBE_VERDICT_UNDECIDED;
		return stuck;
	}
	if (stuck.state.known)
		stuck.holder_count = cprobe_blocker_holders(wait->lock, stuck.holders,
													CPROBE_STUCK_MAX_HOLDERS);
	if (stuck.state.known && stuck.holder_count == 0)
		cprobe_stuck_find_stopped(&stuck);
	stuck.verdict = cprobe_stuck_has_stopped_holder(&stuck) ?
		CPROBE_VERDICT_HOLDER_STOPPED : CPROBE_VERDICT_LONG_HOLD;
	return stuck;
}

const char *
cprobe_verdict_name(CprobeVerdict verdict)
{
	switch (verdict)
	{
		case CPROBE_VERDICT_LOST_WAKEUP:
			return "lost wake-up";
		case CPROBE_VERDICT_HOLDER_STOPPED:
			return "holder stopped";
		case CPROBE_VERDICT_LONG_HOLD:
			return "long hold";
		case CPROBE_VERDICT_UNDECIDED:
			break;
	}
	return "undecided";
}

const char *
cprobe_lock_state_text(const CprobeLockState *state)
{
	if (!state->known)
		return "unknown";
	if (state->exclusive)
		return "exclusive";
	if (state->shared > 0)
		return psprintf("shared (%u)", state->shared);
	return "free";
}
