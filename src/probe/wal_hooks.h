/*-------------------------------------------------------------------------
 *
 * wal_hooks.h
 *	  Replacements for the functions that insert and flush WAL, and for the
 *	  one that reports statistics.
 *
 * Separate from the hooks on locks: these count work, by backend type.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_WAL_HOOKS_H
#define CPROBE_WAL_HOOKS_H

#include "patch/detour.h"

typedef enum CprobeWalHook
{
	CPROBE_WAL_INSERT_RECORD,
	CPROBE_WAL_FLUSH,
	CPROBE_WAL_REPORT_STATISTICS,
	CPROBE_WAL_HOOKS
} CprobeWalHook;

/* contention_probe.timed_fraction changed. */
extern void cprobe_wal_hooks_choose_anew(void);

/* For the table of detours. */
extern void cprobe_wal_hook_describe(CprobeWalHook hook,
									 CprobeDetour *detour);

#endif							/* CPROBE_WAL_HOOKS_H */
