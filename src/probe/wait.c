/*-------------------------------------------------------------------------
 *
 * wait.c
 *	  Measuring one wait and adding it to the accounts.
 *
 * Separate: see wait.h.
 *
 * Rules for everything here: no allocation, no ereport, no lock, no system
 * call, no unbounded loop; errno kept; only this process's slot and bounded
 * atomics are written.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"

#include "machine/clock.h"
#include "probe/held_locks.h"
#include "probe/lock_account.h"
#include "probe/query.h"
#include "probe/slot.h"
#include "probe/stacks.h"
#include "probe/usage.h"
#include "probe/wait.h"

/* Of most machines' caches. */
#define CPROBE_LINE_BYTES 64

bool		cprobe_enabled = true;

CprobeWaitLocal cprobe_wait_local pg_attribute_aligned(CPROBE_LINE_BYTES);

/* The wait that this process is in, or the last one. */
typedef struct CprobeWait
{
	void	   *frame;			/* of the hook: identifies the loop */
	uint32		info;
	uint32		event;			/* event number */
	uint64		since_ns;
	uint64		returned_ns;	/* when the last call of the loop returned */
	bool		idle;			/* no statement, lock or path: the rest is not
								 * looked at */
	uint64		query_id;
	Oid			user_id;
	CprobeLockWait lock;
	CprobeStack stack;
} CprobeWait;

static CprobeWait cprobe_wait pg_attribute_aligned(CPROBE_LINE_BYTES);

/*
 * A wait for a heavyweight lock in the middle of which another one began: the
 * deadlock check takes LWLocks.  info 0 = none.  One is enough, for a process
 * waits for one such lock at a time.
 */
static CprobeWait cprobe_suspended_wait;

/* The query account that the last wait went to: the next is often the same. */
typedef struct CprobeQueryAccount
{
	uint32		epoch;			/* 0 = nothing cached */
	uint64		key[3];			/* database and user, query, event */
	pg_atomic_uint64 *values;
} CprobeQueryAccount;

static CprobeQueryAccount cprobe_query_account;

/* Is the process idle, that is, waiting for something to do? */
static bool
cprobe_wait_is_idle(uint32 info)
{
	switch (info & 0xFF000000)
	{
		case PG_WAIT_ACTIVITY:
			return true;
		case PG_WAIT_CLIENT:
			if (info == CPROBE_WAL_SENDER_IDLE_EVENT)
				return true;
			return info == WAIT_EVENT_CLIENT_READ && cprobe_query_client_idle();
		case PG_WAIT_EXTENSION:
			/* The main loop of a background worker. */
			return MyBackendType == B_BG_WORKER && !IsTransactionState();
		default:
			return false;
	}
}

/* For whom, for what, from where: in a wait that is not idle. */
static void
cprobe_wait_publish_details(CprobeSharedSlot *slot)
{
	slot->wait_query_id = cprobe_wait.query_id;
	slot->wait_user_id = cprobe_wait.user_id;
	slot->wait_lock = cprobe_wait.lock.is_lock ? cprobe_wait.lock.key : 0;
	slot->wait_mode = (uint8) cprobe_wait.lock.mode;
	slot->wait_proof = (uint8) cprobe_wait.lock.proof;
	slot->wait_has_page = cprobe_wait.lock.has_page;
	slot->wait_page = cprobe_wait.lock.page;
	slot->wait_stack = cprobe_stack_position(&cprobe_wait.stack);
}

static inline void
cprobe_wait_publish_nothing(CprobeSharedSlot *slot)
{
	slot->wait_query_id = 0;
	slot->wait_user_id = InvalidOid;
	slot->wait_lock = 0;
	slot->wait_has_page = false;
	slot->wait_stack = 0;
}

/* Show the wait to readers: see the protocol in slot.h. */
static void
cprobe_wait_publish(CprobeSharedSlot *slot)
{
	pg_atomic_uint32 *sequence =
	&cprobe_slot_pulse(cprobe_slot_my_number())->wait_sequence;

	slot->wait_info = cprobe_wait.info;
	slot->wait_since_ns = cprobe_wait.since_ns;
	slot->wait_idle = cprobe_wait.idle;
	if (cprobe_wait.idle)
		cprobe_wait_publish_nothing(slot);
	else
		cprobe_wait_publish_details(slot);
	pg_write_barrier();
	pg_atomic_write_u32(sequence, pg_atomic_read_u32(sequence) | 1);
}

static void
cprobe_wait_retract(void)
{
	pg_atomic_uint32 *sequence =
	&cprobe_slot_pulse(cprobe_slot_my_number())->wait_sequence;

	pg_atomic_write_u32(sequence, (pg_atomic_read_u32(sequence) | 1) + 1);
}

/*
 * The counters of (database, user, query, event), through the cache.  First
 * the query must have a place among max_queries, then the pair.
 */
static pg_atomic_uint64 *
cprobe_wait_query_values(uint32 epoch, const uint64 *key)
{
	CprobeQueryAccount *account = &cprobe_query_account;

	if (account->epoch == epoch &&
		memcmp(account->key, key, sizeof(account->key)) == 0)
		return account->values;
	account->epoch = 0;
	if (cprobe_map_claim(cprobe_region_queries(), epoch, key) == NULL)
	{
		cprobe_map_drop(cprobe_region_queries());
		return NULL;
	}
	account->values = cprobe_map_claim(cprobe_region_query_events(), epoch,
									   key);
	if (account->values == NULL)
	{
		cprobe_map_drop(cprobe_region_query_events());
		return NULL;
	}
	memcpy(account->key, key, sizeof(account->key));
	account->epoch = epoch;
	return account->values;
}

static void
cprobe_wait_credit_query(const CprobeSharedSlot *slot, uint64 duration_ns)
{
	pg_atomic_uint64 *values;
	uint64		key[3] = {
		((uint64) slot->database_id << 32) | cprobe_wait.user_id,
		cprobe_wait.query_id,
		cprobe_wait.event,
	};

	values = cprobe_wait_query_values(slot->epoch, key);
	if (values == NULL)
		return;
	pg_atomic_fetch_add_u64(&values[0], 1);
	pg_atomic_fetch_add_u64(&values[1], duration_ns);
}

/* The histogram that this process's waits of the current event go to. */
static inline CprobeSharedHistogram *
cprobe_wait_histogram(uint32 epoch)
{
	return cprobe_region_histogram(epoch,
								   cprobe_slot_my_number() % CPROBE_HISTOGRAM_SHARDS,
								   cprobe_wait.event);
}

/* The accounts of the lock, if the wait was for one. */
static void
cprobe_wait_account_lock(CprobeSharedSlot *slot, uint64 begin_ns,
						 uint64 end_ns)
{
	CprobeLockWaitEnd end = {
		.wait = &cprobe_wait.lock,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.query_id = cprobe_wait.query_id,
	};

	cprobe_lock_account(slot, slot->epoch, &end);
	cprobe_held_locks_remember(cprobe_wait.lock.key);
}

/*
 * Reads and writes of files are many, and most are served from the kernel's
 * cache in a microsecond or two: taking the path would cost a tenth of that.
 * So their path is taken at the end, if they were slow.
 */
#define CPROBE_STACK_IO_MIN_NS UINT64CONST(20000)

static inline bool
cprobe_wait_is_io(uint32 info)
{
	return (info & 0xFF000000) == PG_WAIT_IO;
}

/* A wait begins: take its path, or leave that to the end. */
static void
cprobe_wait_open_stack(void *frame)
{
	cprobe_wait.stack.words = 0;
	if (!cprobe_wait_is_io(cprobe_wait.info))
		cprobe_stack_open(&cprobe_wait.stack, cprobe_wait.event, frame);
}

static void
cprobe_wait_close_stack(uint32 epoch, uint64 duration_ns)
{
	CprobeStack *stack = &cprobe_wait.stack;

	if (stack->words == 0 && cprobe_wait_is_io(cprobe_wait.info))
	{
		if (duration_ns >= CPROBE_STACK_IO_MIN_NS && cprobe_wait_local.frame_is_live)
			cprobe_stack_open(stack, cprobe_wait.event, cprobe_wait.frame);
		else
			cprobe_stack_open_without_path(stack, cprobe_wait.event);
	}
	cprobe_stack_close(stack, epoch, duration_ns);
}

/* The accounts of a wait that was not idle. */
static void
cprobe_wait_account_details(CprobeSharedSlot *slot, uint64 begin_ns,
							uint64 end_ns)
{
	if (cprobe_wait.query_id != 0)
		cprobe_wait_credit_query(slot, end_ns - begin_ns);
	if (cprobe_wait.lock.is_lock)
		cprobe_wait_account_lock(slot, begin_ns, end_ns);
	cprobe_wait_close_stack(slot->epoch, end_ns - begin_ns);
	cprobe_held_locks_retract(slot);
}

/* Add the wait, which ended at end_ns, to all accounts. */
static inline void
cprobe_wait_account(CprobeSharedSlot *slot, CprobeSharedHistogram *histogram,
					uint64 end_ns)
{
	uint64		begin_ns;

	/* Of a wait that began before the reset only the rest counts. */
	begin_ns = Max(cprobe_wait.since_ns,
				   pg_atomic_read_u64(&cprobe_region->reset_at_ns));
	end_ns = Max(end_ns, begin_ns);

	cprobe_counter_add(&slot->waits[cprobe_wait.event].waits, 1);
	cprobe_counter_add(&slot->waits[cprobe_wait.event].time_ns,
					   end_ns - begin_ns);
	cprobe_histogram_add(histogram, end_ns - begin_ns);
	if (!cprobe_wait.idle)
		cprobe_wait_account_details(slot, begin_ns, end_ns);
	cprobe_wait_retract();
}

/*
 * The loop ended when its last call returned.  If it stood in the middle of
 * another one, that one goes on.
 */
static void
cprobe_wait_close(CprobeSharedSlot *slot)
{
	uint32		epoch = cprobe_region_epoch();

	cprobe_wait_is_open = false;
	if (unlikely(slot->epoch != epoch))
		cprobe_slot_renew(slot, epoch);
	cprobe_wait_account(slot, cprobe_wait_histogram(epoch),
						cprobe_wait.returned_ns);
	if (unlikely(cprobe_suspended_wait.info != 0))
	{
		cprobe_wait = cprobe_suspended_wait;
		cprobe_suspended_wait.info = 0;
		cprobe_wait_publish(slot);
		cprobe_wait_is_open = true;
	}
}

/*
 * Is the open wait one for a heavyweight lock that has not been granted?  It
 * goes on then, whatever the process does in between: the deadlock check
 * writes to the log and takes LWLocks.
 */
static bool
cprobe_wait_lock_is_pending(void)
{
	return (cprobe_wait.info & 0xFF000000) == PG_WAIT_LOCK && MyProc != NULL &&
		((volatile PGPROC *) MyProc)->waitStatus == PROC_WAIT_STATUS_WAITING;
}

void
cprobe_wait_forget(void)
{
	cprobe_wait_is_open = false;
	cprobe_suspended_wait.info = 0;
	cprobe_query_account.epoch = 0;
}

void
cprobe_wait_close_stale(void)
{
	CprobeSharedSlot *slot = cprobe_slot_mine();

	if (slot == NULL || cprobe_wait_local.busy)
		return;
	while (cprobe_wait_is_open && !cprobe_wait_lock_is_pending())
		cprobe_wait_close(slot);
}

/* A call under another event or from another place: what of the open wait? */
static void
cprobe_wait_leave(CprobeSharedSlot *slot, uint32 info, void *frame)
{
	while (cprobe_wait_is_open &&
		   (cprobe_wait.info != info || cprobe_wait.frame != frame))
	{
		if (cprobe_wait_lock_is_pending())
		{
			cprobe_suspended_wait = cprobe_wait;
			cprobe_wait_is_open = false;
			cprobe_wait_retract();
		}
		else
			cprobe_wait_close(slot);
	}
}

/* Database, user or kind of the process changed since the last wait? */
static bool
cprobe_wait_identity_is_new(const CprobeSharedSlot *slot)
{
	return slot->database_id != MyDatabaseId ||
		slot->role_id != MyProc->roleId ||
		(slot->type != (uint32) MyBackendType &&
		 slot->type != CPROBE_TYPE_PARALLEL_WORKER);
}

/* What is to be known of a wait that is not idle. */
static void
cprobe_wait_open_details(CprobeSharedSlot *slot, uint32 info, void *frame)
{
	int			security_context;

	cprobe_wait.query_id = cprobe_query_current();
	GetUserIdAndSecContext(&cprobe_wait.user_id, &security_context);
	cprobe_wait.lock = cprobe_lock_identify(info, frame);
	cprobe_wait_open_stack(frame);
	cprobe_held_locks_publish(slot);
}

/* A new loop begins now. */
static void
cprobe_wait_open(CprobeSharedSlot *slot, uint32 info, void *frame)
{
	if (unlikely(cprobe_wait_identity_is_new(slot)))
		cprobe_slot_identify(slot);
	cprobe_wait.frame = frame;
	cprobe_wait.info = info;
	cprobe_wait.idle = cprobe_wait_is_idle(info);
	cprobe_wait.event = cprobe_event_index_number(&cprobe_region->events,
												  info, cprobe_wait.idle);
	if (!cprobe_wait.idle)
		cprobe_wait_open_details(slot, info, frame);
	/* Last, so that what the hook itself takes is not part of the wait. */
	cprobe_wait.since_ns = cprobe_clock_now_ns();
	cprobe_wait_publish(slot);
	cprobe_wait_is_open = true;
}

/*
 * What a hit costs is measured where it arises, for one hit in so many: two
 * more looks at the clock in each half of the hook, whose own cost is part of
 * the result.
 */
#define CPROBE_COST_SAMPLE 64

/* More than that is no work of ours: the process lost its CPU in the middle. */
#define CPROBE_COST_MAX_NS 20000


static inline void
cprobe_cost_begin(void)
{
	cprobe_wait_local.cost_measured = cprobe_wait_local.cost_hits++ % CPROBE_COST_SAMPLE == 0;
	if (unlikely(cprobe_wait_local.cost_measured))
		cprobe_wait_local.cost_mark_ns = cprobe_clock_now_ns();
}

static inline void
cprobe_cost_pause(void)
{
	if (unlikely(cprobe_wait_local.cost_measured))
		cprobe_wait_local.cost_first_half_ns = cprobe_clock_now_ns() -
			cprobe_wait_local.cost_mark_ns;
}

static inline void
cprobe_cost_end(CprobeSharedSlot *slot)
{
	uint64		cost_ns;

	if (likely(!cprobe_wait_local.cost_measured))
		return;
	cost_ns = cprobe_wait_local.cost_first_half_ns + cprobe_clock_now_ns() -
		cprobe_wait_local.cost_mark_ns;
	if (cost_ns > CPROBE_COST_MAX_NS)
		return;
	cprobe_counter_add(&slot->hits[CPROBE_TALLY_COST_NS], cost_ns);
	cprobe_counter_add(&slot->hits[CPROBE_TALLY_COST_SAMPLES], 1);
}

bool
cprobe_wait_start(CprobeHookId hook, uint32 info, void *frame)
{
	CprobeSharedSlot *slot;

	/*
	 * A signal handler that runs inside a timed call makes calls of its own:
	 * they belong to the wait that is being timed.  If the stack is higher
	 * than that call's frame, it was left by a long jump and is over.
	 */
	if (unlikely(cprobe_wait_local.busy) && (char *) frame < (char *) cprobe_wait.frame)
		return false;
	slot = cprobe_slot_mine();
	if (slot == NULL)
		return false;
	cprobe_wait_local.busy = true;
	cprobe_wait_local.timed_info = info;
	cprobe_wait_local.slot = slot;
	cprobe_cost_begin();
	if (unlikely(cprobe_wait_is_open))
		cprobe_wait_leave(slot, info, frame);
	cprobe_machine_see_cpu(slot);
	if (!cprobe_wait_is_open)
		cprobe_wait_open(slot, info, frame);
	cprobe_counter_add(&slot->hits[hook], 1);
	cprobe_cost_pause();
	return true;
}

uint64
cprobe_wait_call_age_ns(void)
{
	/* The call follows on the last one of its loop at once. */
	return cprobe_clock_now_ns() -
		Max(cprobe_wait.since_ns, cprobe_wait.returned_ns);
}

void
cprobe_wait_end(bool unfinished)
{
	CprobeSharedSlot *slot = cprobe_wait_local.slot;

	cprobe_wait.returned_ns = cprobe_clock_now_ns();
	cprobe_wait_local.cost_mark_ns = cprobe_wait.returned_ns;
	cprobe_machine_see_cpu(slot);
	cprobe_wait_local.frame_is_live = true;
	if (!unfinished)
		cprobe_wait_close(slot);
	cprobe_wait_local.frame_is_live = false;
	cprobe_cost_end(slot);
	cprobe_wait_local.busy = false;
}

/* One wait without the sleep, on private memory. */
static void
cprobe_wait_rehearse(CprobeSharedSlot *slot, CprobeSharedHistogram *histogram)
{
	int			saved_errno = errno;

	cprobe_machine_see_cpu(slot);
	cprobe_wait_open(slot, PG_WAIT_EXTENSION, __builtin_frame_address(0));
	cprobe_counter_add(&slot->hits[CPROBE_HOOK_SEM_WAIT], 1);
	cprobe_wait_is_open = false;
	cprobe_machine_see_cpu(slot);
	cprobe_wait_account(slot, histogram, cprobe_clock_now_ns());
	errno = saved_errno;
}

uint64
cprobe_wait_calibrate_ps(void)
{
	enum
	{
		ROUNDS = 8, WAITS = 1000
	};
	uint64		best_ns = PG_UINT64_MAX;
	CprobeSharedSlot *slot = palloc0(cprobe_region->slot_bytes);
	CprobeSharedHistogram *histogram = palloc0(sizeof(*histogram));

	for (int round = 0; round < ROUNDS; round++)
	{
		uint64		start_ns = cprobe_clock_now_ns();

		for (int i = 0; i < WAITS; i++)
			cprobe_wait_rehearse(slot, histogram);
		best_ns = Min(best_ns, cprobe_clock_now_ns() - start_ns);
	}
	pfree(histogram);
	pfree(slot);
	return best_ns * 1000 / WAITS;
}
