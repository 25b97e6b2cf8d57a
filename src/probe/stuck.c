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
#include "probe/blockers.h"
#include "probe/stuck.h"

#define CPROBE_NS_PER_MS_INT UINT64CONST(1000000)

int			cprobe_stuck_after_ms = CPROBE_STUCK_AFTER_DEFAULT_MS;

bool
cprobe_stuck_is_long(const CprobeCurrentWait *wait, uint64 now_ns)
{
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
