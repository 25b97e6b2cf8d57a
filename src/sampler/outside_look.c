/*-------------------------------------------------------------------------
 *
 * outside_look.c
 *	  Following waits for locks from outside.
 *
 * Separate: see outside_look.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "machine/process_times.h"
#include "probe/activity.h"
#include "probe/lock_account.h"
#include "probe/shmem_areas.h"
#include "probe/stuck.h"
#include "sampler/outside_look.h"
#include "sampler/queue_locks.h"

/* A wait that has lasted so long gets its context switches noted. */
#define CPROBE_OUTSIDE_NOTE_NS UINT64CONST(20000000)

#define CPROBE_NS_PER_MS_INT UINT64CONST(1000000)

/* What is remembered of a process's wait; the sampler's own. */
typedef struct CprobeOutsideFollow
{
	int			pid;
	int64		switches;		/* context switches of the process then; -1 =
								 * not noted */
	CprobeCurrentWait wait;
} CprobeOutsideFollow;

static CprobeOutsideFollow *cprobe_outside_follows;

void
cprobe_outside_look_init(void)
{
	cprobe_outside_follows =
		MemoryContextAllocZero(TopMemoryContext,
							   cprobe_region->slot_count *
							   sizeof(CprobeOutsideFollow));
	/* What a predecessor left. */
	for (uint32 i = 0; i < cprobe_region->slot_count; i++)
		cprobe_outside_retract(i);
}

static CprobeLockMode
cprobe_outside_mode(uint32 number, uint32 info)
{
	if (cprobe_queue_tranche(info) == CPROBE_TRANCHE_BUFFER)
		return CPROBE_BUFFER_EVENT_MODE(info);
	return cprobe_lock_wait_mode((LWLockMode) cprobe_activity_proc(number)->lwWaitMode);
}

/*
 * The page of a content lock; a waiter has it pinned, so that it stays.  The
 * tag is read without the header's lock.
 */
static void
cprobe_outside_set_lock(CprobeCurrentWait *wait, CprobeLockKey lock)
{
	void	   *address = cprobe_shmem_address(CPROBE_LOCK_KEY_OFFSET(lock));
	const void *descriptor = NULL;

	wait->lock = lock;
	wait->has_page = false;
	if (CPROBE_LOCK_KEY_OFFSET(lock) == 0)
		return;
	if (CPROBE_LOCK_KEY_TRANCHE(lock) == CPROBE_TRANCHE_BUFFER)
		descriptor = address;
	else
		descriptor = CPROBE_CONTENT_LOCK_BUFFER(address,
												CPROBE_LOCK_KEY_TRANCHE(lock));
	if (descriptor == NULL)
		return;
	wait->page = cprobe_page_of_buffer(descriptor);
	wait->has_page = true;
}

/* Is that the wait which the process was in at the last look? */
static bool
cprobe_outside_goes_on(const CprobeOutsideFollow *follow, int pid,
					   uint32 info, CprobeLockKey lock)
{
	return follow->wait.waiting && follow->pid == pid &&
		follow->wait.info == info &&
		(follow->wait.lock == lock ||
		 CPROBE_LOCK_KEY_OFFSET(follow->wait.lock) == 0);
}

/* A wait that is new, or that turns out to be another one. */
static void
cprobe_outside_begin(CprobeOutsideFollow *follow, uint64 now_ns)
{
	follow->wait.waiting = true;
	follow->wait.outside = true;
	follow->wait.since_ns = now_ns;
	follow->wait.confirmed_ns = 0;
	follow->wait.sequence = (follow->wait.sequence | 1) + 2;
	follow->switches = -1;
}

/* How often a process has gone to sleep; -1 if that cannot be had. */
static int64
cprobe_outside_switches(int pid)
{
	CprobeProcessSwitches switches;

	if (!cprobe_process_switches_read(pid, &switches))
		return -1;
	return (int64) switches.voluntary;
}

/*
 * Has the process slept all the time?  Its context switches are noted early
 * in a wait, and compared when that has become long.  True if something has
 * changed that readers should know.
 */
static bool
cprobe_outside_confirm(CprobeOutsideFollow *follow, uint64 now_ns)
{
	uint64		seen_ns = Max(follow->wait.since_ns,
							  follow->wait.confirmed_ns);
	int64		switches;

	if (follow->switches < 0)
	{
		if (now_ns - seen_ns >= CPROBE_OUTSIDE_NOTE_NS)
			follow->switches = cprobe_outside_switches(follow->pid);
		return false;
	}
	if (now_ns - seen_ns <=
		(uint64) cprobe_stuck_after_ms * CPROBE_NS_PER_MS_INT)
		return false;
	switches = cprobe_outside_switches(follow->pid);
	if (switches == follow->switches)
		follow->wait.confirmed_ns = now_ns;
	else
	{
		cprobe_outside_begin(follow, now_ns);
		follow->switches = switches;
	}
	return true;
}

bool
cprobe_outside_look(uint32 number, int pid, uint32 info, uint64 now_ns,
					CprobeCurrentWait *wait)
{
	CprobeOutsideFollow *follow = &cprobe_outside_follows[number];
	CprobeLockKey lock = cprobe_queue_locks_get(number);
	uint16		tranche = cprobe_queue_tranche(info);
	bool		changed;

	if (tranche == 0)
		return false;
	if (lock == 0 || CPROBE_LOCK_KEY_TRANCHE(lock) != tranche)
		lock = CPROBE_LOCK_KEY(tranche, 0);
	changed = !cprobe_outside_goes_on(follow, pid, info, lock);
	if (changed)
	{
		cprobe_outside_begin(follow, now_ns);
		follow->pid = pid;
		follow->wait.info = info;
		follow->wait.mode = cprobe_outside_mode(number, info);
	}
	if (changed || follow->wait.lock != lock)
	{
		cprobe_outside_set_lock(&follow->wait, lock);
		changed = true;
	}
	changed |= cprobe_outside_confirm(follow, now_ns);
	if (changed)
		cprobe_outside_publish(number, pid, &follow->wait);
	*wait = follow->wait;
	return true;
}

void
cprobe_outside_end(uint32 number)
{
	if (!cprobe_outside_follows[number].wait.waiting)
		return;
	cprobe_outside_follows[number].wait.waiting = false;
	cprobe_outside_retract(number);
}
