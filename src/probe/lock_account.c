/*-------------------------------------------------------------------------
 *
 * lock_account.c
 *	  Which lock a wait was for, and the accounts that it goes to.
 *
 * Separate: see lock_account.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/buf_internals.h"
#include "utils/wait_event.h"

#include "machine/clock.h"
#include "machine/topology.h"
#include "probe/lock_account.h"
#include "probe/query.h"
#include "probe/shmem_areas.h"

/* Looks at a stamp that is being written. */
#define CPROBE_STAMP_MAX_TRIES 100

/* Sequence of the stamp that the last wait of this process used. */
static uint32 cprobe_last_post_sequence;

const char *
cprobe_lock_mode_name(CprobeLockMode mode)
{
	switch (mode)
	{
		case CPROBE_MODE_EXCLUSIVE:
			return "exclusive";
		case CPROBE_MODE_SHARED:
			return "shared";
		case CPROBE_MODE_UNTIL_FREE:
			return "until free";
		case CPROBE_MODE_SHARE_EXCLUSIVE:
			return "share exclusive";
	}
	return NULL;
}

CprobePage
cprobe_page_of_buffer(const void *descriptor)
{
	const BufferTag *tag = &((const BufferDesc *) descriptor)->tag;
	CprobePage	page = {{
			((uint64) CPROBE_TAG_TABLESPACE(tag) << 32) |
			CPROBE_TAG_DATABASE(tag),
			((uint64) CPROBE_TAG_RELATION(tag) << 32) |
			(uint32) tag->forkNum,
			tag->blockNum,
	}};

	return page;
}

CprobeLockMode
cprobe_lock_wait_mode(LWLockMode mode)
{
	switch (mode)
	{
		case LW_SHARED:
			return CPROBE_MODE_SHARED;
		case LW_WAIT_UNTIL_FREE:
			return CPROBE_MODE_UNTIL_FREE;
		default:
			return CPROBE_MODE_EXCLUSIVE;
	}
}

/*
 * The waiter has the buffer pinned, so that its page stays; the tag can be
 * read without the header's lock.
 */
static void
cprobe_lock_set_page(CprobeLockWait *wait, const void *descriptor)
{
	wait->page = cprobe_page_of_buffer(descriptor);
	wait->has_page = true;
}

/* An inferred lock may be no more than a word that looks like one. */
static bool
cprobe_is_buffer_descriptor(const void *address)
{
	uintptr_t	distance = (uintptr_t) address - (uintptr_t) BufferDescriptors;

	return (uintptr_t) address >= (uintptr_t) BufferDescriptors &&
		distance < (uintptr_t) NBuffers * sizeof(BufferDescPadded) &&
		distance % sizeof(BufferDescPadded) == 0;
}

static CprobeLockWait
cprobe_lock_identify_lwlock(uint16 tranche, void *frame)
{
	CprobeLockFind find = cprobe_lock_scan_stack(frame, tranche);
	CprobeLockWait wait = {
		.is_lock = true,
		.proof = find.proof,
		.mode = cprobe_lock_wait_mode((LWLockMode) ((volatile PGPROC *) MyProc)->lwWaitMode),
		.key = CPROBE_LOCK_KEY(tranche, cprobe_shmem_offset(find.lock)),
	};
	const void *descriptor;

	descriptor = CPROBE_CONTENT_LOCK_BUFFER(find.lock, tranche);
	if (descriptor != NULL && cprobe_is_buffer_descriptor(descriptor))
		cprobe_lock_set_page(&wait, descriptor);
	return wait;
}

static CprobeLockWait
cprobe_lock_identify_buffer(uint32 info, void *frame)
{
	CprobeLockFind find = cprobe_lock_scan_stack_buffer(frame);
	CprobeLockWait wait = {
		.is_lock = true,
		.proof = find.proof,
		.mode = CPROBE_BUFFER_EVENT_MODE(info),
		.key = CPROBE_LOCK_KEY(CPROBE_TRANCHE_BUFFER,
							   cprobe_shmem_offset(find.lock)),
	};

	if (find.lock != NULL)
		cprobe_lock_set_page(&wait, find.lock);
	return wait;
}

CprobeLockWait
cprobe_lock_identify(uint32 info, void *frame)
{
	CprobeLockWait none = {0};

	if ((info & 0xFF000000) == PG_WAIT_LWLOCK)
		return cprobe_lock_identify_lwlock((uint16) info, frame);
	if (CPROBE_IS_CONTENT_LOCK_EVENT(info))
		return cprobe_lock_identify_buffer(info, frame);
	return none;
}

void
cprobe_handoff_stamp(int number)
{
	CprobeSharedSlot *slot;
	uint32		sequence;

	if (!cprobe_region_is_current())
		return;
	slot = cprobe_slot_get((uint32) number);
	sequence = pg_atomic_read_u32(&slot->post_sequence);
	/* The server gives back absorbed wake-ups to its own semaphore. */
	if (MyProc == NULL || number == CPROBE_MY_PROC_NUMBER())
		return;
	if ((sequence & 1) != 0 ||
		!pg_atomic_compare_exchange_u32(&slot->post_sequence, &sequence,
										sequence + 1))
		return;
	slot->post_pid = MyProcPid;
	slot->post_type = cprobe_slot_my_type();
	slot->post_number = (uint32) CPROBE_MY_PROC_NUMBER();
	slot->post_cpu = cprobe_cpu_now();
	slot->post_query_id = cprobe_query_current();
	slot->post_ns = cprobe_clock_now_ns();
	pg_write_barrier();
	pg_atomic_write_u32(&slot->post_sequence, sequence + 2);
}

void
cprobe_handoff_forget(CprobeSharedSlot *slot)
{
	cprobe_last_post_sequence = pg_atomic_read_u32(&slot->post_sequence);
}

/* What a waker left in this process's slot. */
typedef struct CprobeStamp
{
	int			pid;
	int			cpu;			/* -1 = not known */
	uint32		type;
	uint64		query_id;
	uint64		ns;
	CprobeWithin within;		/* how close; CPROBE_WITHIN_COUNT = unknown */
} CprobeStamp;

/* Take the stamp that belongs to the wait that ends; false if there is none. */
static bool
cprobe_handoff_take(CprobeSharedSlot *slot, CprobeStamp *stamp)
{
	for (int tries = 0; tries < CPROBE_STAMP_MAX_TRIES; tries++)
	{
		uint32		sequence = pg_atomic_read_u32(&slot->post_sequence);

		if (sequence == cprobe_last_post_sequence)
			return false;
		if ((sequence & 1) != 0)
			continue;
		pg_read_barrier();
		stamp->pid = slot->post_pid;
		stamp->cpu = slot->post_cpu;
		stamp->type = slot->post_type;
		stamp->query_id = slot->post_query_id;
		stamp->ns = slot->post_ns;
		pg_read_barrier();
		if (pg_atomic_read_u32(&slot->post_sequence) != sequence)
			continue;
		cprobe_last_post_sequence = sequence;
		return true;
	}
	return false;
}

/* The key under which a wait's lock is counted: pages share their tranche. */
static CprobeLockKey
cprobe_lock_account_key(const CprobeLockWait *wait)
{
	if (wait->has_page)
		return CPROBE_LOCK_KEY(CPROBE_LOCK_KEY_TRANCHE(wait->key), 0);
	return wait->key;
}

static void
cprobe_lock_raise_max(pg_atomic_uint64 *maximum, uint64 value)
{
	uint64		old = pg_atomic_read_u64(maximum);
	int			tries = 16;

	while (value > old && tries-- > 0)
	{
		if (pg_atomic_compare_exchange_u64(maximum, &old, value))
			break;
	}
}

/*
 * Where the lock went: from the waker's CPU to that on which the waiter runs.
 * Returns how close they are; CPROBE_WITHIN_COUNT if that is not known.
 */
static CprobeWithin
cprobe_lock_account_distance(CprobeSharedSlot *slot,
							 const CprobeLockWaitEnd *end,
							 const CprobeStamp *stamp, uint64 queue_ns)
{
	int			cpu = (int) pg_atomic_read_u32(&slot->cpu) - 1;
	CprobeWithin within;
	pg_atomic_uint64 *values;
	uint64		key;

	if (cpu < 0 || stamp->cpu < 0)
		return CPROBE_WITHIN_COUNT;
	within = cprobe_cpu_within(stamp->cpu, cpu);
	key = CPROBE_DISTANCE_KEY(cprobe_cpu_node(stamp->cpu),
							  cprobe_cpu_node(cpu), within);
	values = cprobe_map_claim(cprobe_region_distances(), slot->epoch, &key);
	if (values == NULL)
	{
		cprobe_map_drop(cprobe_region_distances());
		return within;
	}
	pg_atomic_fetch_add_u64(&values[CPROBE_HANDOFF_COUNT], 1);
	pg_atomic_fetch_add_u64(&values[CPROBE_HANDOFF_QUEUE_NS], queue_ns);
	pg_atomic_fetch_add_u64(&values[CPROBE_HANDOFF_WAKEUP_NS],
							end->end_ns - end->begin_ns - queue_ns);
	return within;
}

/* Hand-offs of one lock that went far, or stayed in the core. */
static void
cprobe_lock_account_within(pg_atomic_uint64 *values, CprobeWithin within)
{
	if (within == CPROBE_WITHIN_CORE)
		pg_atomic_fetch_add_u64(&values[CPROBE_LOCK_SMT], 1);
	else if (within == CPROBE_WITHIN_SOCKET || within == CPROBE_WITHIN_MACHINE)
		pg_atomic_fetch_add_u64(&values[CPROBE_LOCK_REMOTE], 1);
}

static void
cprobe_lock_account_lock(uint32 epoch, const CprobeLockWaitEnd *end,
						 const CprobeStamp *stamp, uint64 queue_ns)
{
	const CprobeLockWait *wait = end->wait;
	uint64		duration_ns = end->end_ns - end->begin_ns;
	uint64		key = cprobe_lock_account_key(wait);
	pg_atomic_uint64 *values = cprobe_map_claim(cprobe_region_locks(), epoch,
												&key);

	if (values == NULL)
	{
		cprobe_map_drop(cprobe_region_locks());
		return;
	}
	pg_atomic_fetch_add_u64(&values[CPROBE_LOCK_WAITS], 1);
	pg_atomic_fetch_add_u64(&values[CPROBE_LOCK_TIME_NS], duration_ns);
	if (wait->mode == CPROBE_MODE_SHARED)
		pg_atomic_fetch_add_u64(&values[CPROBE_LOCK_SHARED], 1);
	else if (wait->mode == CPROBE_MODE_UNTIL_FREE)
		pg_atomic_fetch_add_u64(&values[CPROBE_LOCK_UNTIL_FREE], 1);
	if (wait->proof == CPROBE_PROOF_PROVEN)
		pg_atomic_fetch_add_u64(&values[CPROBE_LOCK_PROVEN], 1);
	else if (wait->proof == CPROBE_PROOF_INFERRED)
		pg_atomic_fetch_add_u64(&values[CPROBE_LOCK_INFERRED], 1);
	if (stamp != NULL)
	{
		pg_atomic_fetch_add_u64(&values[CPROBE_LOCK_QUEUE_NS], queue_ns);
		pg_atomic_fetch_add_u64(&values[CPROBE_LOCK_WAKEUP_NS],
								duration_ns - queue_ns);
		pg_atomic_fetch_add_u64(&values[CPROBE_LOCK_STAMPED], 1);
		pg_atomic_write_u64(&values[CPROBE_LOCK_LAST_WAKER],
							(uint64) stamp->pid);
		cprobe_lock_account_within(values, stamp->within);
	}
	cprobe_lock_raise_max(&values[CPROBE_LOCK_MAX_NS], duration_ns);
	pg_atomic_fetch_add_u64(&values[CPROBE_LOCK_HISTOGRAM +
									cprobe_histogram_bucket(duration_ns)], 1);
}

static void
cprobe_lock_account_page(uint32 epoch, const CprobeLockWaitEnd *end)
{
	CprobeSharedMap *pages = cprobe_region_pages();
	pg_atomic_uint64 *values;

	values = cprobe_map_claim_or_replace(pages, epoch, end->wait->page.words,
										 end->end_ns);
	if (values == NULL)
	{
		cprobe_map_drop(pages);
		return;
	}
	pg_atomic_fetch_add_u64(&values[CPROBE_PAGE_WAITS], 1);
	pg_atomic_fetch_add_u64(&values[CPROBE_PAGE_TIME_NS],
							end->end_ns - end->begin_ns);
	if (end->wait->mode == CPROBE_MODE_SHARED)
		pg_atomic_fetch_add_u64(&values[CPROBE_PAGE_SHARED], 1);
}

static void
cprobe_lock_account_handoff(uint32 epoch, const CprobeLockWaitEnd *end,
							const CprobeStamp *stamp, uint64 queue_ns)
{
	CprobeSharedMap *handoffs = cprobe_region_handoffs();
	uint64		key[CPROBE_HANDOFF_KEY_WORDS] = {
		cprobe_lock_account_key(end->wait),
		end->query_id,
		stamp != NULL ? stamp->query_id : 0,
		stamp != NULL ? stamp->type : CPROBE_HANDOFF_NO_WAKER,
	};
	pg_atomic_uint64 *values = cprobe_map_claim(handoffs, epoch, key);

	if (values == NULL)
	{
		cprobe_map_drop(handoffs);
		return;
	}
	pg_atomic_fetch_add_u64(&values[CPROBE_HANDOFF_COUNT], 1);
	if (stamp == NULL)
		return;
	pg_atomic_fetch_add_u64(&values[CPROBE_HANDOFF_QUEUE_NS], queue_ns);
	pg_atomic_fetch_add_u64(&values[CPROBE_HANDOFF_WAKEUP_NS],
							end->end_ns - end->begin_ns - queue_ns);
}

void
cprobe_lock_account(CprobeSharedSlot *slot, uint32 epoch,
					const CprobeLockWaitEnd *end)
{
	CprobeStamp stamp;
	bool		stamped = cprobe_handoff_take(slot, &stamp);
	uint64		queue_ns = 0;

	/*
	 * A post that came before the sleep began (the process had queued, and
	 * was woken on its way to sleep) means that nothing was spent queueing.
	 */
	if (stamped && stamp.ns > end->begin_ns)
		queue_ns = Min(stamp.ns, end->end_ns) - end->begin_ns;
	if (stamped)
		stamp.within = cprobe_lock_account_distance(slot, end, &stamp,
													queue_ns);
	cprobe_lock_account_lock(epoch, end, stamped ? &stamp : NULL, queue_ns);
	cprobe_lock_account_handoff(epoch, end, stamped ? &stamp : NULL, queue_ns);
	if (end->wait->has_page)
		cprobe_lock_account_page(epoch, end);
}
