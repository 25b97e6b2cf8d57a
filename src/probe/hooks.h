/*-------------------------------------------------------------------------
 *
 * hooks.h
 *	  The list of every hook, and what became of each.
 *
 * Separate because the hooks live in several files while the view "hooks"
 * and the counters in a slot need one numbering.
 *
 * The table is private to a process, filled in by the postmaster before any
 * fork and immutable afterwards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_HOOKS_H
#define CPROBE_HOOKS_H

#include "patch/got.h"

/* Order of rows in the view "hooks"; counters in slots are indexed by it. */
typedef enum CprobeHookId
{
	CPROBE_HOOK_SEM_WAIT,
	CPROBE_HOOK_SEM_POST,
	CPROBE_HOOK_EPOLL_WAIT,
	CPROBE_HOOK_POLL,
	CPROBE_HOOK_SELECT,
	CPROBE_HOOK_NANOSLEEP,
	CPROBE_HOOK_READ,
	CPROBE_HOOK_PREAD,
	CPROBE_HOOK_PREADV,
	CPROBE_HOOK_WRITE,
	CPROBE_HOOK_PWRITE,
	CPROBE_HOOK_PWRITEV,
	CPROBE_HOOK_FSYNC,
	CPROBE_HOOK_FDATASYNC,
	CPROBE_HOOK_FTRUNCATE,
	CPROBE_HOOK_POSIX_FALLOCATE,
	CPROBE_HOOK_POSIX_FADVISE,
	CPROBE_HOOK_SYNC_FILE_RANGE,
	CPROBE_HOOK_COPY_FILE_RANGE,
	CPROBE_HOOK_SYSTEM,
	CPROBE_HOOK_IO_URING_SUBMIT,
	CPROBE_HOOK_IO_URING_WAIT,
	CPROBE_HOOK_FLUSH_PENDING,
	CPROBE_HOOK_FLUSH_STATIC,
	CPROBE_HOOK_LWLOCK_ACQUIRE,
	CPROBE_HOOK_LWLOCK_CONDITIONAL_ACQUIRE,
	CPROBE_HOOK_LWLOCK_ACQUIRE_OR_WAIT,
	CPROBE_HOOK_LWLOCK_RELEASE,
	CPROBE_HOOK_LWLOCK_RELEASE_ALL,
	CPROBE_HOOK_LWLOCK_WAIT_FOR_VAR,
	CPROBE_HOOK_S_LOCK,
	CPROBE_HOOK_PERFORM_SPIN_DELAY,
	CPROBE_HOOK_FINISH_SPIN_DELAY,
	CPROBE_HOOK_WAL_INSERT,
	CPROBE_HOOK_WAL_FLUSH,
	CPROBE_HOOK_STATISTICS_REPORT,
	CPROBE_HOOK_EXECUTOR_RUN,
	CPROBE_HOOK_EXECUTOR_FINISH,
	CPROBE_HOOK_PROCESS_UTILITY,
	CPROBE_HOOK_PLANNER,
	CPROBE_HOOK_COUNT
} CprobeHookId;

/*
 * A process's tallies: the hits of each hook, and of one hit in so many the
 * time that the hook itself took, with the number of hits measured so.
 */
enum
{
	CPROBE_TALLY_COST_NS = CPROBE_HOOK_COUNT,
	CPROBE_TALLY_COST_SAMPLES,
	CPROBE_TALLIES
};

typedef enum CprobeHookState
{
	CPROBE_HOOK_OFF,			/* not asked for at this level */
	CPROBE_HOOK_ACTIVE,
	CPROBE_HOOK_MISSING,		/* the server does not have the symbol */
	CPROBE_HOOK_REFUSED			/* could not be set; see reason */
} CprobeHookState;

typedef struct CprobeHook
{
	const char *name;			/* what the hook is for */
	const char *symbol;			/* what it is set on */
	const char *mechanism;		/* got, callback, detour or executor */
	CprobeHookState state;
	char		reason[CPROBE_GOT_REASON_BYTES];	/* empty when active */
} CprobeHook;

/* Where the code of a hook reports what became of it. Postmaster only. */
extern void cprobe_hook_set_state(CprobeHookId id, CprobeHookState state,
								  const char *reason);

extern const CprobeHook *cprobe_hook_get(CprobeHookId id);

#endif							/* CPROBE_HOOKS_H */
