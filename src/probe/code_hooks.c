/*-------------------------------------------------------------------------
 *
 * code_hooks.c
 *	  The table of detours, and the self-test.
 *
 * Separate: see code_hooks.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <setjmp.h>
#include <signal.h>

#include "miscadmin.h"
#include "storage/s_lock.h"

#include "compat.h"
#include "patch/detour.h"
#include "probe/code_counts.h"
#include "probe/code_hooks.h"
#include "probe/hooks.h"
#include "probe/lwlock_hooks.h"
#include "probe/spin_hooks.h"
#include "probe/wal_hooks.h"

#define CPROBE_CODE_HOOKS \
	(CPROBE_LWLOCK_HOOKS + CPROBE_SPIN_HOOKS + CPROBE_WAL_HOOKS)

#define CPROBE_FIRST_SPIN CPROBE_LWLOCK_HOOKS
#define CPROBE_FIRST_WAL (CPROBE_LWLOCK_HOOKS + CPROBE_SPIN_HOOKS)

StaticAssertDecl((int) CPROBE_HOOK_STATISTICS_REPORT -
				 (int) CPROBE_HOOK_LWLOCK_ACQUIRE + 1 ==
				 (int) CPROBE_CODE_HOOKS,
				 "the hook table has a row for each, in the same order");

static CprobeDetour cprobe_code_detours[CPROBE_CODE_HOOKS];

/* Without these nothing that is counted would be right. */
static const CprobeLWLockHook cprobe_code_required[] = {
	CPROBE_LWLOCK_ACQUIRE,
	CPROBE_LWLOCK_CONDITIONAL_ACQUIRE,
	CPROBE_LWLOCK_ACQUIRE_OR_WAIT,
	CPROBE_LWLOCK_RELEASE,
	CPROBE_LWLOCK_RELEASE_ALL,
};

static void
cprobe_code_describe(void)
{
	for (int i = 0; i < (int) CPROBE_LWLOCK_HOOKS; i++)
		cprobe_lwlock_hook_describe((CprobeLWLockHook) i,
									&cprobe_code_detours[i]);
	for (int i = 0; i < (int) CPROBE_SPIN_HOOKS; i++)
		cprobe_spin_hook_describe((CprobeSpinHook) i,
								  &cprobe_code_detours[CPROBE_FIRST_SPIN + i]);
	for (int i = 0; i < (int) CPROBE_WAL_HOOKS; i++)
		cprobe_wal_hook_describe((CprobeWalHook) i,
								 &cprobe_code_detours[CPROBE_FIRST_WAL + i]);
}

/* Tell the hook table; with a reason, that of all that are not refused. */
static void
cprobe_code_report(const char *reason)
{
	for (int i = 0; i < (int) CPROBE_CODE_HOOKS; i++)
	{
		const CprobeDetour *detour = &cprobe_code_detours[i];
		CprobeHookId id = (CprobeHookId) ((int) CPROBE_HOOK_LWLOCK_ACQUIRE + i);

		switch (detour->status)
		{
			case CPROBE_DETOUR_ACTIVE:
				cprobe_hook_set_state(id, CPROBE_HOOK_ACTIVE, "");
				break;
			case CPROBE_DETOUR_MISSING:
				cprobe_hook_set_state(id, CPROBE_HOOK_MISSING, detour->reason);
				break;
			case CPROBE_DETOUR_REFUSED:
				cprobe_hook_set_state(id, CPROBE_HOOK_REFUSED, detour->reason);
				break;
			case CPROBE_DETOUR_NONE:
				cprobe_hook_set_state(id, CPROBE_HOOK_REFUSED,
									  reason != NULL ? reason : "");
				break;
		}
	}
}

/* Reason of the first required hook that is not active; NULL if all are. */
static const char *
cprobe_code_missing(void)
{
	static char reason[2 * CPROBE_DETOUR_REASON_BYTES];

	for (size_t i = 0; i < lengthof(cprobe_code_required); i++)
	{
		const CprobeDetour *detour = &cprobe_code_detours[cprobe_code_required[i]];

		if (detour->status == CPROBE_DETOUR_ACTIVE)
			continue;
		snprintf(reason, sizeof(reason), "%s: %s", detour->symbol,
				 detour->reason);
		return reason;
	}
	return NULL;
}

static bool
cprobe_code_is_hooked(int index)
{
	return cprobe_code_detours[index].status == CPROBE_DETOUR_ACTIVE;
}

/* Take and release a lock in every way; false if a result is wrong. */
static bool
cprobe_code_try_locks(LWLock *lock)
{
	CPROBE_LOCK_VARIABLE variable = {0};
	bool		right = true;

	/*
	 * A tranche of the server's own: 19 looks up the name, and those of
	 * extensions are in shared memory, which does not exist yet.
	 */
	LWLockInitialize(lock, LWTRANCHE_FIRST_USER_DEFINED - 1);
	for (int i = 0; i < 3; i++)
	{
		right &= LWLockAcquire(lock, LW_SHARED);
		right &= LWLockHeldByMe(lock);
		LWLockRelease(lock);
	}
	right &= LWLockAcquire(lock, LW_EXCLUSIVE);
	right &= !LWLockConditionalAcquire(lock, LW_SHARED);
	LWLockReleaseClearVar(lock, &variable, 1);
	right &= LWLockConditionalAcquire(lock, LW_SHARED);
	right &= LWLockConditionalAcquire(lock, LW_SHARED);
	LWLockRelease(lock);
	LWLockRelease(lock);
	right &= LWLockAcquireOrWait(lock, LW_EXCLUSIVE);
	LWLockRelease(lock);
	return right && !LWLockHeldByMe(lock);
}

/* The counts of that, and nothing noted as held. */
static bool
cprobe_code_counts_are_right(const CprobeSharedCode *counts, LWLock *lock)
{
	const uint64 *cell = counts->counts.cells[cprobe_code_cell(lock)];

	return cell[CPROBE_CELL_SHARED] == 5 &&
		cell[CPROBE_CELL_EXCLUSIVE] == 2 &&
		cell[CPROBE_CELL_CONDITIONAL_FAILURES] == 1 &&
		cell[CPROBE_CELL_NOT_ACQUIRED] == 0 &&
		counts->held_count == 0;
}

/* A spinlock that is free, and a loop of the server's own. */
static bool
cprobe_code_try_spinlocks(void)
{
	slock_t		spinlock;
	SpinDelayStatus status;
	uint64		calls = cprobe_spin_hook_calls();
	uint64		expected = 0;

	S_INIT_LOCK(&spinlock);
	(void) s_lock(&spinlock, __FILE__, __LINE__, "self-test");
	S_UNLOCK(&spinlock);
	if (cprobe_code_is_hooked(CPROBE_FIRST_SPIN + (int) CPROBE_SPIN_S_LOCK))
		expected++;
	init_local_spin_delay(&status);
	perform_spin_delay(&status);
	finish_spin_delay(&status);
	if (cprobe_code_is_hooked(CPROBE_FIRST_SPIN + (int) CPROBE_SPIN_PERFORM_DELAY) &&
		cprobe_code_is_hooked(CPROBE_FIRST_SPIN + (int) CPROBE_SPIN_FINISH_DELAY))
		expected++;
	return cprobe_spin_hook_calls() == calls + expected;
}

/* Where to go on when the self-test hits a fault. */
static sigjmp_buf cprobe_code_fault;

static void
cprobe_code_on_fault(int signal_number)
{
	siglongjmp(cprobe_code_fault, signal_number);
}

static const int cprobe_code_faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE};

/* NULL: all is as it should be. */
static const char *
cprobe_code_self_test(void)
{
	/* In place of a block in shared memory; static for its size. */
	static CprobeSharedCode counts;
	static LWLock lock;
	struct sigaction old_actions[lengthof(cprobe_code_faults)];
	struct sigaction action = {.sa_handler = cprobe_code_on_fault};
	const char *volatile problem = NULL;
	uint32		holdoff = InterruptHoldoffCount;

	for (size_t i = 0; i < lengthof(cprobe_code_faults); i++)
		sigaction(cprobe_code_faults[i], &action, &old_actions[i]);
	memset(&counts, 0, sizeof(counts));
	cprobe_code_mine = &counts;
	if (sigsetjmp(cprobe_code_fault, 1) != 0)
		problem = "the self-test ended with a fault";
	else if (!cprobe_code_try_locks(&lock))
		problem = "the self-test could not take its lock";
	else if (!cprobe_code_counts_are_right(&counts, &lock))
		problem = "the self-test was not counted right";
	else if (!cprobe_code_try_spinlocks())
		problem = "the self-test of spinlocks was not counted right";
	cprobe_code_mine = NULL;
	InterruptHoldoffCount = holdoff;
	cprobe_lwlock_hooks_choose_anew();
	for (size_t i = 0; i < lengthof(cprobe_code_faults); i++)
		sigaction(cprobe_code_faults[i], &old_actions[i], NULL);
	return problem;
}

/* Half of the pair is of no use. */
static const char *
cprobe_code_check(void)
{
	const char *problem = cprobe_code_missing();

	return problem != NULL ? problem : cprobe_code_self_test();
}

const char *
cprobe_code_hooks_install(void)
{
	const char *problem;

	cprobe_code_describe();
	cprobe_detours_install(cprobe_code_detours, CPROBE_CODE_HOOKS);
	problem = cprobe_code_check();
	if (problem == NULL)
		cprobe_code_set_active(true);
	else if (!cprobe_detours_remove(cprobe_code_detours, CPROBE_CODE_HOOKS))
		ereport(LOG,
				(errmsg("contention_probe could not put back all functions of the server"),
				 errdetail("Those that remain redirected work, and count nothing.")));
	cprobe_code_report(problem);
	return problem;
}
