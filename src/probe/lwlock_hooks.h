/*-------------------------------------------------------------------------
 *
 * lwlock_hooks.h
 *	  Replacements for the functions that take and release LWLocks.
 *
 * Separate from their placing (code_hooks.h) and from the counters: here is
 * what each call means for them, at a nanosecond a call.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_LWLOCK_HOOKS_H
#define CPROBE_LWLOCK_HOOKS_H

#include "patch/detour.h"

/* GUC contention_probe.timed_fraction */
extern double cprobe_timed_fraction;

#define CPROBE_TIMED_FRACTION_DEFAULT 0.01

/* The setting changed: begin anew with choosing what to time. */
extern void cprobe_lwlock_hooks_choose_anew(void);

/*
 * One in N, at random, N being the inverse of the setting: how many to let
 * pass until the next is timed.  Hook context.
 */
extern int32 cprobe_timed_next(void);

/*
 * The functions, for the table of detours.  LWLockReleaseClearVar is not among
 * them: it releases by way of LWLockRelease, as the self-test makes sure.
 */
typedef enum CprobeLWLockHook
{
	CPROBE_LWLOCK_ACQUIRE,
	CPROBE_LWLOCK_CONDITIONAL_ACQUIRE,
	CPROBE_LWLOCK_ACQUIRE_OR_WAIT,
	CPROBE_LWLOCK_RELEASE,
	CPROBE_LWLOCK_RELEASE_ALL,
	CPROBE_LWLOCK_WAIT_FOR_VAR,
	CPROBE_LWLOCK_HOOKS
} CprobeLWLockHook;

extern void cprobe_lwlock_hook_describe(CprobeLWLockHook hook,
										CprobeDetour *detour);

#endif							/* CPROBE_LWLOCK_HOOKS_H */
