/*-------------------------------------------------------------------------
 *
 * spin_hooks.h
 *	  Replacements for the functions that wait for spinlocks.
 *
 * Separate from those for LWLocks: the server calls these only when a
 * spinlock was found taken, so here a clock may be looked at.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_SPIN_HOOKS_H
#define CPROBE_SPIN_HOOKS_H

#include "patch/detour.h"

typedef enum CprobeSpinHook
{
	CPROBE_SPIN_S_LOCK,
	CPROBE_SPIN_PERFORM_DELAY,
	CPROBE_SPIN_FINISH_DELAY,
	CPROBE_SPIN_HOOKS
} CprobeSpinHook;

/* For the table of detours. */
extern void cprobe_spin_hook_describe(CprobeSpinHook hook,
									  CprobeDetour *detour);

/* Times that this process has waited for spinlocks; for the self-test. */
extern uint64 cprobe_spin_hook_calls(void);

#endif							/* CPROBE_SPIN_HOOKS_H */
