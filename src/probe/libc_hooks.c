/*-------------------------------------------------------------------------
 *
 * libc_hooks.c
 *	  Replacements for the library calls in which the server sleeps.
 *
 * Separate: see libc_hooks.h.
 *
 * Each replacement asks whether a wait event is set; without one it passes
 * the call through (a load and two branches).  Otherwise it brackets the call
 * with cprobe_wait_begin and cprobe_wait_end.  errno is that of the call; where
 * it succeeded nothing here sets errno, so it is not even read: its place is
 * cold after a sleep.
 *
 * When does the server's wait go on after the call returned?
 *	 - sem_wait: interrupted, or the wake-up was for something else (the flag
 *	   that the waker clears is still set): it will sleep again.
 *	 - epoll_wait, poll: interrupted and the latch not set; or a heavyweight
 *	   lock was waited for and has not been granted (the deadlock check); or
 *	   pg_sleep's time is not over.
 *	 - select, nanosleep: never; the server does not sleep the rest.
 *	 - file calls: interrupted; the server retries.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "storage/latch.h"

#include "compat.h"
#include "machine/clock.h"
#include "probe/held_locks.h"
#include "probe/libc_hooks.h"
#include "probe/lock_account.h"
#include "probe/semaphores.h"
#include "probe/wait.h"

/* liburing's, which need not be installed to build. */
struct io_uring;
struct io_uring_cqe;
struct __kernel_timespec;

/* Class of the wait event of the call that is being timed. */
static inline uint32
cprobe_event_class(void)
{
	return cprobe_wait_local.timed_info & 0xFF000000;
}

/* Did the wake-up that ended a semaphore's sleep leave the wait unfinished? */
static bool
cprobe_sem_wakeup_absorbed(void)
{
	volatile PGPROC *proc = MyProc;

	if (proc == NULL)
		return false;
	switch (cprobe_event_class())
	{
		case PG_WAIT_LWLOCK:
		case CPROBE_WAIT_BUFFER:
			return proc->lwWaiting != LW_WS_NOT_WAITING;
		case PG_WAIT_IPC:
			/* Group members that the leader has not served yet. */
			return proc->procArrayGroupMember || proc->clogGroupMember;
		default:
			return false;
	}
}

/*
 * pg_sleep sleeps on after any wake-up until its time is over; the signal of a
 * timer is enough to set the latch.  It rounds up to ms, so a wake-up in the
 * last one may have been its end: then the rest, if any, counts as a wait.
 */
static bool
cprobe_sleep_goes_on(int result, int timeout_ms)
{
	return cprobe_wait_local.timed_info == WAIT_EVENT_PG_SLEEP &&
		result != 0 &&
		cprobe_wait_call_age_ns() + CPROBE_NS_PER_MS <
		timeout_ms * CPROBE_NS_PER_MS;
}

/* Will WaitEventSetWait, or the code around it, sleep again? */
static bool
cprobe_latch_wait_goes_on(int result, int call_errno, int timeout_ms)
{
	if (unlikely(cprobe_sleep_goes_on(result, timeout_ms)))
		return true;
	if (result < 0 && call_errno == EINTR &&
		!(MyLatch != NULL && ((volatile Latch *) MyLatch)->is_set))
		return true;
	return cprobe_event_class() == PG_WAIT_LOCK && MyProc != NULL &&
		((volatile PGPROC *) MyProc)->waitStatus == PROC_WAIT_STATUS_WAITING;
}

/*
 * Define the original's pointer and the replacement of one call.  "result"
 * and "errno" are those of the call where the condition "goes_on" stands.
 */
#define CPROBE_DEFINE_HOOK(id, type, name, params, args, blocks, goes_on) \
	static type (*cprobe_original_##name) params; \
	\
	static type \
	cprobe_hook_##name params \
	{ \
		type		result; \
		int			call_errno; \
		\
		if (!(blocks) || \
			!cprobe_wait_begin(id, __builtin_frame_address(0))) \
			return cprobe_original_##name args; \
		result = cprobe_original_##name args; \
		if (likely(result >= 0)) \
		{ \
			call_errno = 0; \
			cprobe_wait_end(goes_on); \
			return result; \
		} \
		call_errno = errno; \
		cprobe_wait_end(goes_on); \
		errno = call_errno; \
		return result; \
	}

#define CPROBE_INTERRUPTED (result < 0 && call_errno == EINTR)

/*
 * The compiler is made to spill the callee-saved registers into this frame:
 * one of them may hold the lock's address, which lock_scan.c looks for.
 */
CPROBE_DEFINE_HOOK(CPROBE_HOOK_SEM_WAIT, int, sem_wait, (sem_t *sem), (sem),
				   (__builtin_unwind_init(), true),
				   CPROBE_INTERRUPTED || cprobe_sem_wakeup_absorbed())

static int	(*cprobe_original_sem_post) (sem_t *sem);

/* Wakes a process: tell it who did, before it runs. Never sleeps. */
static int
cprobe_hook_sem_post(sem_t *sem)
{
	int			number = cprobe_enabled ? cprobe_semaphore_owner(sem) : -1;

	if (number >= 0)
		cprobe_handoff_stamp(number);
	return cprobe_original_sem_post(sem);
}

/* A poll with timeout 0 asks and does not wait. */
CPROBE_DEFINE_HOOK(CPROBE_HOOK_EPOLL_WAIT, int, epoll_wait,
				   (int epfd, struct epoll_event *events, int count, int timeout),
				   (epfd, events, count, timeout),
				   timeout != 0,
				   cprobe_latch_wait_goes_on(result, call_errno, timeout))

CPROBE_DEFINE_HOOK(CPROBE_HOOK_POLL, int, poll,
				   (struct pollfd *fds, nfds_t count, int timeout),
				   (fds, count, timeout),
				   timeout != 0,
				   cprobe_latch_wait_goes_on(result, call_errno, timeout))

/*
 * As CPROBE_DEFINE_HOOK, for delays.  They are often outside of any wait
 * event; even then a process that holds LWLocks in its sleep says so.
 */
#define CPROBE_DEFINE_DELAY_HOOK(id, type, name, params, args) \
	static type (*cprobe_original_##name) params; \
	\
	static type \
	cprobe_hook_##name params \
	{ \
		bool		timed = cprobe_wait_begin(id, __builtin_frame_address(0)); \
		CprobeSharedSlot *slot = NULL; \
		type		result; \
		int			call_errno; \
		\
		if (!timed && cprobe_enabled) \
			slot = cprobe_slot_mine(); \
		if (slot != NULL) \
			cprobe_held_locks_publish(slot); \
		result = cprobe_original_##name args; \
		call_errno = errno; \
		if (timed) \
			cprobe_wait_end(false); \
		if (slot != NULL) \
			cprobe_held_locks_retract(slot); \
		errno = call_errno; \
		return result; \
	}

CPROBE_DEFINE_DELAY_HOOK(CPROBE_HOOK_SELECT, int, select,
						 (int count, fd_set * readable, fd_set * writable, fd_set * except, struct timeval *timeout),
						 (count, readable, writable, except, timeout))

CPROBE_DEFINE_DELAY_HOOK(CPROBE_HOOK_NANOSLEEP, int, nanosleep,
						 (const struct timespec *time, struct timespec *rest),
						 (time, rest))

/*
 * A latch wait that was woken reads its signal descriptor, still under its
 * event: that is the end of the same wait.  Files are read under IO events.
 */
CPROBE_DEFINE_HOOK(CPROBE_HOOK_READ, ssize_t, read,
				   (int fd, void *buffer, size_t bytes), (fd, buffer, bytes),
				   (*(volatile uint32 *) my_wait_event_info & 0xFF000000) == PG_WAIT_IO,
				   CPROBE_INTERRUPTED)

CPROBE_DEFINE_HOOK(CPROBE_HOOK_PREAD, ssize_t, pread,
				   (int fd, void *buffer, size_t bytes, off_t offset),
				   (fd, buffer, bytes, offset), true, CPROBE_INTERRUPTED)

CPROBE_DEFINE_HOOK(CPROBE_HOOK_PREADV, ssize_t, preadv,
				   (int fd, const struct iovec *parts, int count, off_t offset),
				   (fd, parts, count, offset), true, CPROBE_INTERRUPTED)

CPROBE_DEFINE_HOOK(CPROBE_HOOK_WRITE, ssize_t, write,
				   (int fd, const void *buffer, size_t bytes),
				   (fd, buffer, bytes), true, CPROBE_INTERRUPTED)

CPROBE_DEFINE_HOOK(CPROBE_HOOK_PWRITE, ssize_t, pwrite,
				   (int fd, const void *buffer, size_t bytes, off_t offset),
				   (fd, buffer, bytes, offset), true, CPROBE_INTERRUPTED)

CPROBE_DEFINE_HOOK(CPROBE_HOOK_PWRITEV, ssize_t, pwritev,
				   (int fd, const struct iovec *parts, int count, off_t offset),
				   (fd, parts, count, offset), true, CPROBE_INTERRUPTED)

CPROBE_DEFINE_HOOK(CPROBE_HOOK_FSYNC, int, fsync, (int fd), (fd),
				   true, CPROBE_INTERRUPTED)

CPROBE_DEFINE_HOOK(CPROBE_HOOK_FDATASYNC, int, fdatasync, (int fd), (fd),
				   true, CPROBE_INTERRUPTED)

CPROBE_DEFINE_HOOK(CPROBE_HOOK_FTRUNCATE, int, ftruncate,
				   (int fd, off_t bytes), (fd, bytes),
				   true, CPROBE_INTERRUPTED)

/* posix_fallocate and posix_fadvise return the error number. */
CPROBE_DEFINE_HOOK(CPROBE_HOOK_POSIX_FALLOCATE, int, posix_fallocate,
				   (int fd, off_t offset, off_t bytes), (fd, offset, bytes),
				   true, result == EINTR)

CPROBE_DEFINE_HOOK(CPROBE_HOOK_POSIX_FADVISE, int, posix_fadvise,
				   (int fd, off_t offset, off_t bytes, int advice),
				   (fd, offset, bytes, advice), true, result == EINTR)

CPROBE_DEFINE_HOOK(CPROBE_HOOK_SYNC_FILE_RANGE, int, sync_file_range,
				   (int fd, off64_t offset, off64_t bytes, unsigned int flags),
				   (fd, offset, bytes, flags), true, CPROBE_INTERRUPTED)

CPROBE_DEFINE_HOOK(CPROBE_HOOK_COPY_FILE_RANGE, ssize_t, copy_file_range,
				   (int in, off64_t * in_offset, int out, off64_t * out_offset, size_t bytes, unsigned int flags),
				   (in, in_offset, out, out_offset, bytes, flags),
				   true, CPROBE_INTERRUPTED)

CPROBE_DEFINE_HOOK(CPROBE_HOOK_SYSTEM, int, system, (const char *command),
				   (command), true, false)

/* liburing returns -EINTR; the server asks again. */
CPROBE_DEFINE_HOOK(CPROBE_HOOK_IO_URING_SUBMIT, int, io_uring_submit,
				   (struct io_uring *ring), (ring), true, result == -EINTR)

CPROBE_DEFINE_HOOK(CPROBE_HOOK_IO_URING_WAIT, int, io_uring_wait_cqes,
				   (struct io_uring *ring, struct io_uring_cqe **cqe, unsigned int count, struct __kernel_timespec *timeout, sigset_t *mask),
				   (ring, cqe, count, timeout, mask),
				   true, result == -EINTR)

typedef struct CprobeLibcHook
{
	CprobeHookId id;
	const char *alternative;	/* name in builds with 64-bit file offsets */
	void	   *replacement;
	void	  **original;
} CprobeLibcHook;

#define CPROBE_LIBC_HOOK(id, name, alternative_name) \
	{id, alternative_name, (void *) cprobe_hook_##name, \
		(void **) &cprobe_original_##name}

static const CprobeLibcHook cprobe_libc_hooks[] = {
	CPROBE_LIBC_HOOK(CPROBE_HOOK_SEM_WAIT, sem_wait, NULL),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_SEM_POST, sem_post, NULL),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_EPOLL_WAIT, epoll_wait, NULL),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_POLL, poll, NULL),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_SELECT, select, NULL),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_NANOSLEEP, nanosleep, NULL),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_READ, read, NULL),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_PREAD, pread, "pread64"),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_PREADV, preadv, "preadv64"),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_WRITE, write, NULL),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_PWRITE, pwrite, "pwrite64"),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_PWRITEV, pwritev, "pwritev64"),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_FSYNC, fsync, NULL),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_FDATASYNC, fdatasync, NULL),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_FTRUNCATE, ftruncate, "ftruncate64"),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_POSIX_FALLOCATE, posix_fallocate, "posix_fallocate64"),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_POSIX_FADVISE, posix_fadvise, "posix_fadvise64"),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_SYNC_FILE_RANGE, sync_file_range, NULL),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_COPY_FILE_RANGE, copy_file_range, NULL),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_SYSTEM, system, NULL),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_IO_URING_SUBMIT, io_uring_submit, NULL),
	CPROBE_LIBC_HOOK(CPROBE_HOOK_IO_URING_WAIT, io_uring_wait_cqes, NULL),
};

static void
cprobe_libc_hook_install(const CprobeLibcHook *hook)
{
	const char *symbol = cprobe_hook_get(hook->id)->symbol;
	char		reason[CPROBE_GOT_REASON_BYTES];
	CprobeGotStatus status;

	status = cprobe_got_replace(symbol, hook->replacement, hook->original,
								reason);
	if (status == CPROBE_GOT_MISSING && hook->alternative != NULL)
		status = cprobe_got_replace(hook->alternative, hook->replacement,
									hook->original, reason);
	switch (status)
	{
		case CPROBE_GOT_REPLACED:
			cprobe_hook_set_state(hook->id, CPROBE_HOOK_ACTIVE, "");
			break;
		case CPROBE_GOT_MISSING:
			cprobe_hook_set_state(hook->id, CPROBE_HOOK_MISSING, reason);
			break;
		case CPROBE_GOT_REFUSED:
			cprobe_hook_set_state(hook->id, CPROBE_HOOK_REFUSED, reason);
			break;
	}
}

void
cprobe_libc_hooks_install(void)
{
	for (int i = 0; i < (int) lengthof(cprobe_libc_hooks); i++)
		cprobe_libc_hook_install(&cprobe_libc_hooks[i]);
}
