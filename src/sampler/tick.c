/*-------------------------------------------------------------------------
 *
 * tick.c
 *	  One look at all processes.
 *
 * Separate: see tick.h.
 *
 * The cost of a tick is that of touching memory.  For a process that is still
 * in the idle wait of the last tick that is one line, its pulse: the same
 * sequence, and the remembered counter grows.  For one in another wait it is
 * two lines of its PGPROC besides.  Only what has changed is looked at in
 * full.
 *
 * PGPROC is read without ProcArrayLock: pid and wait event are single words
 * that are copied once.  A process may leave between the two; then one sample
 * of a process that has just gone is counted, which is what it did until now.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "machine/clock.h"
#include "machine/process_times.h"
#include "machine/topology.h"
#include "probe/activity.h"
#include "probe/blockers.h"
#include "probe/lock_account.h"
#include "probe/region.h"
#include "probe/snapshot.h"
#include "sampler/lock_samples.h"
#include "sampler/outside_look.h"
#include "sampler/queue_locks.h"
#include "sampler/tick.h"

/* What the sampler remembers of the process with a number. */
typedef struct CprobeTickProcess
{
	int			pid;			/* 0 = none */
	int			activity_index; /* -1 = no status entry */
	uint32		type;			/* backend type code */
	uint32		sequence;		/* of the wait in which it was last seen */
	bool		idle;			/* then */
	uint32		info;			/* then */
	uint64		query_id;		/* then */
	pg_atomic_uint64 *samples;	/* its profile counter, NULL = look it up */
	pg_atomic_uint64 *lock_values;	/* counters of the lock that it waits for,
									 * NULL = none */
	CprobeCurrentWait wait;		/* in which it was last seen, if hooked */
	CprobeStuckWatch watch;		/* of that wait, if it is for a lock */
} CprobeTickProcess;

/*
 * What is remembered of an idle wait, apart from the rest, so that a thousand
 * of them fit into the first-level cache.
 */
typedef struct CprobeTickIdle
{
	uint32		sequence;		/* of that wait; even = look in full */
	bool		free;			/* nobody had the number, and sequence is what
								 * the last owner left */
	pg_atomic_uint64 *samples;	/* its profile counter */
} CprobeTickIdle;

/*
 * A number that nobody has is looked at once in so many ticks, and when its
 * pulse has moved: that is the first wait of a new process.  Only where all
 * processes are hooked.
 */
#define CPROBE_TICK_FREE_TICKS 10

/*
 * An idle process is looked at in full once in so many ticks all the same: one
 * that was interrupted in its sleep, and left without another, seems to sleep
 * on.  It is counted for no longer than that.
 */
#define CPROBE_TICK_IDLE_TICKS 100

/* One tick. */
typedef struct CprobeTick
{
	bool		history;		/* append rows for busy processes */
	TimestampTz now;			/* if history */
	uint64		now_ns;			/* clock.h */
} CprobeTick;

static CprobeTickProcess *cprobe_tick_processes;
static CprobeTickIdle *cprobe_tick_idles;
static uint32 cprobe_tick_turn; /* 0 to CPROBE_TICK_IDLE_TICKS - 1 */
static uint32 cprobe_tick_epoch;

void
cprobe_tick_init(void)
{
	cprobe_tick_processes =
		MemoryContextAllocZero(TopMemoryContext,
							   cprobe_region->slot_count *
							   sizeof(CprobeTickProcess));
	cprobe_tick_idles =
		MemoryContextAllocZero(TopMemoryContext,
							   cprobe_region->slot_count *
							   sizeof(CprobeTickIdle));
	cprobe_queue_locks_init();
	cprobe_outside_look_init();
}

void
cprobe_profile_key_pack(const CprobeProfileKey *key, uint64 words[2])
{
	words[0] = ((uint64) key->type << 40) | ((uint64) key->idle << 32) |
		key->info;
	words[1] = key->query_id;
}

CprobeProfileKey
cprobe_profile_key_unpack(const uint64 words[2])
{
	CprobeProfileKey key = {
		.type = (uint32) (words[0] >> 40),
		.idle = ((words[0] >> 32) & 1) != 0,
		.info = (uint32) words[0],
		.query_id = words[1],
	};

	return key;
}

void
cprobe_history_row_pack(const CprobeHistoryRow *row, CprobeRingRow *packed)
{
	packed->words[0] = (uint64) row->sampled_at;
	packed->words[1] = ((uint64) (uint32) row->pid << 32) | row->type;
	packed->words[2] = ((uint64) row->database_id << 32) | row->user_id;
	packed->words[3] = row->query_id;
	packed->words[4] = row->info | ((uint64) row->mode << 32) |
		((uint64) row->has_page << 40);
	packed->words[5] = row->lock;
	packed->words[6] = (uint64) (uint32) row->blocker_pid |
		((uint64) (row->cpu + 1) << 32);
	memcpy(&packed->words[7], row->page.words, sizeof(row->page.words));
}

CprobeHistoryRow
cprobe_history_row_unpack(const CprobeRingRow *packed)
{
	CprobeHistoryRow row = {
		.sampled_at = (TimestampTz) packed->words[0],
		.pid = (int) (packed->words[1] >> 32),
		.type = (uint32) packed->words[1],
		.database_id = (Oid) (packed->words[2] >> 32),
		.user_id = (Oid) packed->words[2],
		.query_id = packed->words[3],
		.info = (uint32) packed->words[4],
		.mode = (CprobeLockMode) ((packed->words[4] >> 32) & 0xFF),
		.has_page = ((packed->words[4] >> 40) & 1) != 0,
		.lock = packed->words[5],
		.blocker_pid = (int) (uint32) packed->words[6],
		.cpu = (int) (packed->words[6] >> 32) - 1,
	};

	memcpy(row.page.words, &packed->words[7], sizeof(row.page.words));

	return row;
}

/* Type code of a background worker that has been seen for the first time. */
static uint32
cprobe_tick_worker_type(int pid)
{
	const char *name = GetBackgroundWorkerTypeByPid(pid);

	if (name == NULL)
		return B_BG_WORKER;
	if (strcmp(name, "parallel worker") == 0)
		return CPROBE_TYPE_PARALLEL_WORKER;
	return cprobe_region_intern_type(name);
}

/*
 * A new process has the number.  One that has no status entry yet is not
 * remembered, so that the next tick looks again; some background workers
 * never get one.
 */
static bool
cprobe_tick_identify(CprobeTickProcess *process, int pid)
{
	CprobeActivity activity;

	memset(process, 0, sizeof(*process));
	process->activity_index = cprobe_activity_find(pid);
	if (process->activity_index < 0 ||
		!cprobe_activity_read(process->activity_index, &activity) ||
		activity.pid != pid)
		return false;
	process->type = activity.type == B_BG_WORKER ?
		cprobe_tick_worker_type(pid) : (uint32) activity.type;
	process->pid = pid;
	return true;
}

static bool
cprobe_tick_is_client(BackendType type)
{
	return type == B_BACKEND || type == B_WAL_SENDER;
}

/* Without hooks: is a process in this wait idle? */
static bool
cprobe_tick_wait_is_idle(const CprobeActivity *activity, uint32 info)
{
	switch (info & 0xFF000000)
	{
		case PG_WAIT_ACTIVITY:
			return true;
		case PG_WAIT_CLIENT:
			return info == CPROBE_WAL_SENDER_IDLE_EVENT ||
				(info == WAIT_EVENT_CLIENT_READ &&
				 !cprobe_activity_is_running(activity->state));
		case PG_WAIT_EXTENSION:
			return activity->type == B_BG_WORKER && !activity->in_transaction;
		default:
			return false;
	}
}

/* It does not say which lock it waits for, if it does. */
static void
cprobe_tick_look_from_outside(CprobeTickProcess *process, uint32 info,
							  const CprobeTick *tick)
{
	uint32		number = (uint32) (process - cprobe_tick_processes);

	if (cprobe_outside_look(number, process->pid, info, tick->now_ns,
							&process->wait))
		process->lock_values = cprobe_lock_samples_claim(cprobe_tick_epoch,
														 &process->wait);
	else
		cprobe_outside_end(number);
}

/*
 * Look at one process in full: what it waits for, whether that is idleness,
 * and in which statement.  False if there is nothing to count: a client
 * backend between two commands that is not in its wait for the next.
 */
static bool
cprobe_tick_examine(CprobeTickProcess *process, CprobeSharedSlot *slot,
					uint32 info, const CprobeTick *tick)
{
	CprobeActivity activity;
	CprobeCurrentWait wait = cprobe_snapshot_current_wait(slot);

	process->info = info;
	process->samples = NULL;
	process->lock_values = NULL;
	process->sequence = 0;
	process->wait.lock = 0;
	if (info != 0 && wait.waiting && wait.info == info &&
		slot->pid == process->pid)
	{
		process->sequence = wait.sequence;
		process->wait = wait;
		process->lock_values = cprobe_lock_samples_claim(cprobe_tick_epoch,
														 &wait);
		process->idle = wait.idle ||
			(info & 0xFF000000) == PG_WAIT_ACTIVITY;
		process->query_id = wait.query_id;
		return true;
	}
	if (!cprobe_activity_read(process->activity_index, &activity) ||
		activity.pid != process->pid)
	{
		process->pid = 0;
		return false;
	}
	if (info == 0 && cprobe_tick_is_client(activity.type) &&
		!cprobe_activity_is_running(activity.state))
		return false;
	process->idle = info != 0 && cprobe_tick_wait_is_idle(&activity, info);
	process->query_id = process->idle ? 0 : activity.query_id;
	if (slot->pid != process->pid)
		cprobe_tick_look_from_outside(process, info, tick);
	return true;
}

/* Single-writer counter: the sampler's. */
static inline void
cprobe_tick_bump(pg_atomic_uint64 *counter)
{
	pg_atomic_write_u64(counter, pg_atomic_read_u64(counter) + 1);
}

static void
cprobe_tick_count(CprobeTickProcess *process)
{
	CprobeProfileKey key = {
		.type = process->type,
		.info = process->info,
		.idle = process->idle,
		.query_id = process->query_id,
	};
	uint64		words[2];

	if (process->samples == NULL)
	{
		cprobe_profile_key_pack(&key, words);
		process->samples = cprobe_map_claim(cprobe_region_profile(),
											cprobe_tick_epoch, words);
	}
	if (process->samples == NULL)
		cprobe_map_drop(cprobe_region_profile());
	else
		cprobe_tick_bump(process->samples);
}

/*
 * Where a busy process is: one that sleeps in a hook noted it when it went to
 * sleep; of others the kernel tells.
 */
static int
cprobe_tick_cpu(uint32 number, const CprobeTickProcess *process)
{
	CprobeProcessStat stat;

	if ((process->sequence & 1) != 0)
		return (int) pg_atomic_read_u32(&cprobe_slot_get(number)->cpu) - 1;
	if (!cprobe_process_stat_read(process->pid, &stat) ||
		stat.cpu >= CPROBE_MAX_CPUS)
		return -1;
	return stat.cpu;
}

static void
cprobe_tick_record(uint32 number, const CprobeTickProcess *process,
				   TimestampTz now)
{
	CprobeActivity activity;
	CprobeRingRow packed;
	CprobeHistoryRow row = {
		.sampled_at = now,
		.pid = process->pid,
		.type = process->type,
		.query_id = process->query_id,
		.info = process->info,
		.lock = process->wait.lock,
		.mode = process->wait.mode,
		.has_page = process->wait.has_page,
		.page = process->wait.page,
		.cpu = cprobe_tick_cpu(number, process),
	};

	if (cprobe_activity_read(process->activity_index, &activity) &&
		activity.pid == process->pid)
	{
		row.database_id = activity.database_id;
		row.user_id = activity.user_id;
	}
	if (row.lock != 0)
		row.blocker_pid = cprobe_blocker_pid(row.lock);
	cprobe_history_row_pack(&row, &packed);
	cprobe_ring_append(cprobe_region_history(), &packed);
}

/* The process waits for a lock: count it in the queue, watch its age. */
static void
cprobe_tick_look_at_lock(CprobeTickProcess *process, const CprobeTick *tick)
{
	if (process->lock_values != NULL)
		cprobe_tick_bump(&process->lock_values[CPROBE_LOCK_QUEUE_SAMPLES]);
	if (process->wait.outside && process->wait.has_page)
		cprobe_lock_samples_count_page(cprobe_tick_epoch, &process->wait);
	cprobe_lock_samples_watch(&process->watch, process->pid,
							  cprobe_region_type_name(process->type),
							  &process->wait, tick->now_ns);
}

/* Look at the process with a number. */
static void
cprobe_tick_look(uint32 number, const CprobeTick *tick)
{
	CprobeTickProcess *process = &cprobe_tick_processes[number];
	volatile PGPROC *proc = cprobe_activity_proc(number);
	CprobeSharedPulse *pulse = cprobe_slot_pulse(number);
	CprobeTickIdle *idle = &cprobe_tick_idles[number];
	int			pid = cprobe_activity_proc_pid(number);
	uint32		info;

	idle->sequence = 0;
	idle->free = false;
	if (pid == 0 || pid == MyProcPid)
	{
		process->pid = 0;
		cprobe_outside_end(number);
		if (cprobe_queue_all_are_hooked())
		{
			idle->sequence = pg_atomic_read_u32(&pulse->wait_sequence);
			idle->free = true;
		}
		return;
	}
	if (unlikely(process->pid != pid) && !cprobe_tick_identify(process, pid))
		return;
	info = proc->wait_event_info;
	if ((process->sequence & 1) == 0 || info != process->info ||
		pg_atomic_read_u32(&pulse->wait_sequence) != process->sequence)
	{
		if (!cprobe_tick_examine(process, cprobe_slot_get(number), info,
								 tick))
			return;
	}
	cprobe_tick_count(process);
	if (process->idle && process->samples != NULL)
	{
		idle->sequence = process->sequence;
		idle->samples = process->samples;
	}
	if (process->wait.lock != 0)
		cprobe_tick_look_at_lock(process, tick);
	if (tick->history && !process->idle)
		cprobe_tick_record(number, process, tick->now);
}

/* Does nobody have the number, as last time? */
static inline bool
cprobe_tick_still_free(uint32 number)
{
	const CprobeTickIdle *idle = &cprobe_tick_idles[number];

	return idle->free &&
		number % CPROBE_TICK_FREE_TICKS !=
		cprobe_tick_turn % CPROBE_TICK_FREE_TICKS &&
		pg_atomic_read_u32(&cprobe_slot_pulse(number)->wait_sequence) ==
		idle->sequence;
}

/* Is the process with a number in the same idle wait as last time? */
static inline bool
cprobe_tick_still_idle(uint32 number)
{
	uint32		sequence = cprobe_tick_idles[number].sequence;

	return (sequence & 1) != 0 && !cprobe_tick_idles[number].free &&
		pg_atomic_read_u32(&cprobe_slot_pulse(number)->wait_sequence) == sequence;
}

void
cprobe_tick_run(bool history)
{
	uint32		epoch = cprobe_region_epoch();
	CprobeTick	tick = {
		.history = history,
		.now = history ? GetCurrentTimestamp() : 0,
		.now_ns = cprobe_clock_now_ns(),
	};

	if (epoch != cprobe_tick_epoch)
	{
		for (uint32 i = 0; i < cprobe_region->slot_count; i++)
		{
			cprobe_tick_processes[i].samples = NULL;
			cprobe_tick_processes[i].lock_values = NULL;
			cprobe_tick_idles[i].sequence = 0;
		}
		cprobe_tick_epoch = epoch;
	}
	cprobe_queue_locks_look();
	for (uint32 i = 0; i < cprobe_region->slot_count; i++)
	{
		cprobe_slot_fetch_pulse_ahead(i);
		if (i % CPROBE_TICK_IDLE_TICKS != cprobe_tick_turn &&
			cprobe_tick_still_idle(i))
			cprobe_tick_bump(cprobe_tick_idles[i].samples);
		else if (!cprobe_tick_still_free(i))
			cprobe_tick_look(i, &tick);
	}
	cprobe_tick_turn = (cprobe_tick_turn + 1) % CPROBE_TICK_IDLE_TICKS;
	cprobe_lock_samples_run(epoch);
}
