/*-------------------------------------------------------------------------
 *
 * hooks.c
 *	  Names and states of all hooks.
 *
 * Separate from the hooks' code: see hooks.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "probe/hooks.h"

#define CPROBE_OFF_REASON "not part of this instrument level"

#define CPROBE_HOOK_ROW(id, what, called, how) \
	[id] = {.name = (what), .symbol = (called), .mechanism = (how), \
			.state = CPROBE_HOOK_OFF, .reason = CPROBE_OFF_REASON}

static CprobeHook cprobe_hooks[CPROBE_HOOK_COUNT] =
{
	CPROBE_HOOK_ROW(CPROBE_HOOK_SEM_WAIT, "semaphore wait", "sem_wait", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_SEM_POST, "semaphore post", "sem_post", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_EPOLL_WAIT, "latch and socket wait", "epoll_wait", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_POLL, "latch and socket wait (poll)", "poll", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_SELECT, "delay", "select", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_NANOSLEEP, "delay (nanosleep)", "nanosleep", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_READ, "sequential read", "read", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_PREAD, "read", "pread", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_PREADV, "vectored read", "preadv", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_WRITE, "sequential write", "write", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_PWRITE, "write", "pwrite", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_PWRITEV, "vectored write", "pwritev", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_FSYNC, "file sync", "fsync", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_FDATASYNC, "file data sync", "fdatasync", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_FTRUNCATE, "file truncation", "ftruncate", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_POSIX_FALLOCATE, "file extension", "posix_fallocate", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_POSIX_FADVISE, "prefetch request", "posix_fadvise", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_SYNC_FILE_RANGE, "write-back request", "sync_file_range", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_COPY_FILE_RANGE, "file copy", "copy_file_range", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_SYSTEM, "external command", "system", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_IO_URING_SUBMIT, "io_uring submission", "io_uring_submit", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_IO_URING_WAIT, "io_uring completion", "io_uring_wait_cqes", "got"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_FLUSH_PENDING, "statistics flush", "flush_pending_cb", "callback"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_FLUSH_STATIC, "statistics flush (fixed)", "flush_static_cb", "callback"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_LWLOCK_ACQUIRE, "LWLock acquisition", "LWLockAcquire", "detour"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_LWLOCK_CONDITIONAL_ACQUIRE, "LWLock acquisition without waiting", "LWLockConditionalAcquire", "detour"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_LWLOCK_ACQUIRE_OR_WAIT, "LWLock acquisition or wait", "LWLockAcquireOrWait", "detour"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_LWLOCK_RELEASE, "LWLock release", "LWLockRelease", "detour"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_LWLOCK_RELEASE_ALL, "release of all LWLocks", "LWLockReleaseAll", "detour"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_LWLOCK_WAIT_FOR_VAR, "wait for WAL insertions", "LWLockWaitForVar", "detour"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_S_LOCK, "spinlock wait", "s_lock", "detour"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_PERFORM_SPIN_DELAY, "look at a spinlock", "perform_spin_delay", "detour"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_FINISH_SPIN_DELAY, "end of a spin loop", "finish_spin_delay", "detour"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_WAL_INSERT, "WAL record", "XLogInsertRecord", "detour"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_WAL_FLUSH, "WAL flush", "XLogFlush", "detour"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_STATISTICS_REPORT, "statistics report", "pgstat_report_stat", "detour"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_EXECUTOR_RUN, "statement execution", "ExecutorRun_hook", "executor"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_EXECUTOR_FINISH, "after triggers", "ExecutorFinish_hook", "executor"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_PROCESS_UTILITY, "utility statement", "ProcessUtility_hook", "executor"),
	CPROBE_HOOK_ROW(CPROBE_HOOK_PLANNER, "planning of nested statements", "planner_hook", "executor"),
};

void
cprobe_hook_set_state(CprobeHookId id, CprobeHookState state,
					  const char *reason)
{
	cprobe_hooks[id].state = state;
	strlcpy(cprobe_hooks[id].reason, reason, CPROBE_GOT_REASON_BYTES);
}

const CprobeHook *
cprobe_hook_get(CprobeHookId id)
{
	return &cprobe_hooks[id];
}
