/*-------------------------------------------------------------------------
 *
 * queue_locks.c
 *	  Going through locks to find out who waits for which.
 *
 * Separate: see queue_locks.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "probe/activity.h"
#include "probe/hooks.h"
#include "probe/lock_check.h"
#include "probe/slot.h"
#include "probe/wal_insert_locks.h"
#include "sampler/queue_locks.h"

/* Locks with queues that are remembered. */
#define CPROBE_QUEUE_KNOWN 256

/* A stretch: so many buffers, or bytes of other areas, in one look. */
#define CPROBE_QUEUE_BUFFERS 8192
#define CPROBE_QUEUE_AREA_BYTES (256 * 1024)

/* Larger areas hold data, not locks. */
#define CPROBE_QUEUE_MAX_AREA_BYTES (UINT64CONST(64) * 1024 * 1024)

/* What is known of the process with a number, in one look. */
typedef struct CprobeQueueMember
{
	uint16		tranche;		/* that it waits for; 0 = it does not */
	CprobeLockKey lock;
} CprobeQueueMember;

static CprobeQueueMember *cprobe_queue_members;
static uint32 cprobe_queue_unfound; /* members without a lock */

/* Tranches that are waited for in this look, one bit each. */
static uint8 cprobe_queue_wanted[(PG_UINT16_MAX + 1) / 8];

static CprobeLockKey cprobe_queue_known[CPROBE_QUEUE_KNOWN];
static uint32 cprobe_queue_known_next;

/* Where the next stretch begins. */
static int	cprobe_queue_next_buffer;
static int	cprobe_queue_next_area;
static uint64 cprobe_queue_next_offset;

void
cprobe_queue_locks_init(void)
{
	cprobe_queue_members =
		MemoryContextAllocZero(TopMemoryContext,
							   cprobe_region->slot_count *
							   sizeof(CprobeQueueMember));
}

uint16
cprobe_queue_tranche(uint32 info)
{
	if ((info & 0xFF000000) == PG_WAIT_LWLOCK)
		return (uint16) info;
	return CPROBE_IS_CONTENT_LOCK_EVENT(info) ? CPROBE_TRANCHE_BUFFER : 0;
}

CprobeLockKey
cprobe_queue_locks_get(uint32 number)
{
	return cprobe_queue_members[number].lock;
}

static inline bool
cprobe_queue_is_wanted(uint16 tranche)
{
	return (cprobe_queue_wanted[tranche / 8] & (1 << tranche % 8)) != 0;
}

/* Who waits, and for a lock of which tranche? */
static void
cprobe_queue_ask(void)
{
	if (cprobe_queue_unfound > 0)
		memset(cprobe_queue_wanted, 0, sizeof(cprobe_queue_wanted));
	cprobe_queue_unfound = 0;
	for (uint32 i = 0; i < cprobe_region->slot_count; i++)
	{
		CprobeQueueMember *member = &cprobe_queue_members[i];
		uint16		tranche;

		cprobe_slot_fetch_pulse_ahead(i);
		member->tranche = 0;
		member->lock = 0;
		/* In a hooked wait: one look at what the tick looks at anyway. */
		if ((pg_atomic_read_u32(&cprobe_slot_pulse(i)->wait_sequence) & 1) != 0)
			continue;
		tranche = cprobe_queue_tranche(cprobe_activity_proc(i)->wait_event_info);
		if (tranche == 0 ||
			cprobe_slot_get(i)->pid == cprobe_activity_proc_pid(i))
			continue;
		member->tranche = tranche;
		cprobe_queue_wanted[tranche / 8] |= (uint8) (1 << tranche % 8);
		cprobe_queue_unfound++;
	}
}

/*
 * Members of a queue wait for its lock.  True if one of them was looked for
 * and had not been found.
 */
static bool
cprobe_queue_visit(CprobeLockKey lock, volatile proclist_head *queue)
{
	int			previous = CPROBE_NO_PROC;
	int			current = queue->head;
	bool		found = false;

	for (uint32 i = 0; i < cprobe_region->slot_count; i++)
	{
		volatile proclist_node *link;
		CprobeQueueMember *member;

		if (current < 0 || (uint32) current >= cprobe_region->slot_count)
			break;
		link = &ProcGlobal->allProcs[current].lwWaitLink;
		if (link->prev != previous)
			break;
		member = &cprobe_queue_members[current];
		if (member->lock == 0 &&
			member->tranche == CPROBE_LOCK_KEY_TRANCHE(lock))
		{
			member->lock = lock;
			cprobe_queue_unfound--;
			found = true;
		}
		previous = current;
		current = link->next;
	}
	return found;
}

static bool
cprobe_queue_visit_lwlock(const void *address, uint16 tranche)
{
	if (!cprobe_lock_looks_valid(address, tranche))
		return false;
	return cprobe_queue_visit(CPROBE_LOCK_KEY(tranche,
											  cprobe_shmem_offset(address)),
							  &((volatile LWLock *) address)->waiters);
}

static void
cprobe_queue_remember(CprobeLockKey lock)
{
	for (int i = 0; i < CPROBE_QUEUE_KNOWN; i++)
	{
		if (cprobe_queue_known[i] == lock)
			return;
	}
	cprobe_queue_known[cprobe_queue_known_next++ % CPROBE_QUEUE_KNOWN] = lock;
}

/* Locks on which queues were found before. */
static void
cprobe_queue_visit_known(void)
{
	for (int i = 0; i < CPROBE_QUEUE_KNOWN && cprobe_queue_unfound > 0; i++)
	{
		CprobeLockKey lock = cprobe_queue_known[i];
		uint16		tranche = CPROBE_LOCK_KEY_TRANCHE(lock);
		void	   *address;

		if (lock == 0 || !cprobe_queue_is_wanted(tranche))
			continue;
		address = cprobe_shmem_address(CPROBE_LOCK_KEY_OFFSET(lock));
		if (tranche == CPROBE_TRANCHE_BUFFER)
			cprobe_queue_visit(lock, CPROBE_CONTENT_QUEUE(address));
		else
			cprobe_queue_visit_lwlock(address, tranche);
	}
}

/*
 * The server's own array, with named tranches of extensions behind the locks
 * that it always has.
 */
static void
cprobe_queue_visit_main(void)
{
	for (int i = 0; cprobe_queue_unfound > 0; i++)
	{
		const LWLock *lock = &MainLWLockArray[i].lock;
		uint16		tranche;

		if (!cprobe_shmem_contains(lock, sizeof(LWLockPadded)))
			break;
		tranche = lock->tranche;
		if (i >= NUM_FIXED_LWLOCKS &&
			(tranche < LWTRANCHE_FIRST_USER_DEFINED ||
			 !cprobe_lock_looks_valid(lock, tranche)))
			break;
		if (cprobe_queue_is_wanted(tranche))
			cprobe_queue_visit_lwlock(lock, tranche);
	}
}

static void
cprobe_queue_visit_wal(void)
{
	if (!cprobe_queue_is_wanted(LWTRANCHE_WAL_INSERT))
		return;
	for (int i = 0; i < cprobe_wal_insert_lock_count(); i++)
		cprobe_queue_visit_lwlock(cprobe_wal_insert_lock(i),
								  LWTRANCHE_WAL_INSERT);
}

static void
cprobe_queue_visit_fast_path(void)
{
	if (!cprobe_queue_is_wanted(LWTRANCHE_LOCK_FASTPATH))
		return;
	for (uint32 i = 0; i < cprobe_region->slot_count; i++)
		cprobe_queue_visit_lwlock(&ProcGlobal->allProcs[i].fpInfoLock,
								  LWTRANCHE_LOCK_FASTPATH);
}

/* One more stretch of content locks. */
static void
cprobe_queue_visit_buffers(void)
{
	int			stretch = Min(CPROBE_QUEUE_BUFFERS, NBuffers);

	if (!cprobe_queue_is_wanted(CPROBE_CONTENT_TRANCHE))
		return;
	for (int i = 0; i < stretch && cprobe_queue_unfound > 0; i++)
	{
		BufferDesc *buffer = &BufferDescriptors[cprobe_queue_next_buffer].bufferdesc;
		void	   *address = CPROBE_CONTENT_LOCK(buffer);
		CprobeLockKey lock;

		cprobe_queue_next_buffer = (cprobe_queue_next_buffer + 1) % NBuffers;
		if (CPROBE_CONTENT_QUEUE(address)->head == CPROBE_NO_PROC)
			continue;
		lock = CPROBE_LOCK_KEY(CPROBE_CONTENT_TRANCHE,
							   cprobe_shmem_offset(address));
		if (cprobe_queue_visit(lock, CPROBE_CONTENT_QUEUE(address)))
			cprobe_queue_remember(lock);
	}
}

/* Locks may stand anywhere in an area, alone or in a structure. */
static void
cprobe_queue_visit_area(const CprobeShmemArea *area, uint64 from, uint64 to)
{
	const char *start = cprobe_shmem_address(area->offset);

	for (uint64 i = from; i + sizeof(LWLock) <= to; i += sizeof(uint32))
	{
		uint16		tranche = ((const LWLock *) (start + i))->tranche;

		if (cprobe_queue_is_wanted(tranche) &&
			cprobe_queue_visit_lwlock(start + i, tranche))
			cprobe_queue_remember(CPROBE_LOCK_KEY(tranche, area->offset + i));
	}
}

/*
 * One more stretch of the areas.  Those that hold buffers or WAL can hold
 * anything that looks like a lock, and are left out.
 */
static bool
cprobe_queue_area_holds_locks(const CprobeShmemArea *area)
{
	return area->bytes <= CPROBE_QUEUE_MAX_AREA_BYTES &&
		strncmp(area->name, "Buffer", strlen("Buffer")) != 0 &&
		strcmp(area->name, "XLOG Ctl") != 0;
}

static void
cprobe_queue_visit_areas(void)
{
	int			count;
	const CprobeShmemArea *areas = cprobe_shmem_areas(&count);
	uint64		budget = CPROBE_QUEUE_AREA_BYTES;

	for (int i = 0; i < count && budget > 0; i++)
	{
		const CprobeShmemArea *area = &areas[cprobe_queue_next_area % count];
		uint64		from = cprobe_queue_next_offset;
		uint64		to = Min(area->bytes, from + budget);

		if (from < to && cprobe_queue_area_holds_locks(area))
		{
			/* A lock may stand across the end of the stretch. */
			cprobe_queue_visit_area(area, from,
									Min(area->bytes, to + sizeof(LWLock)));
			budget -= to - from;
			cprobe_queue_next_offset = to;
			if (to < area->bytes)
				return;
		}
		cprobe_queue_next_area = (cprobe_queue_next_area + 1) % count;
		cprobe_queue_next_offset = 0;
	}
}

bool
cprobe_queue_all_are_hooked(void)
{
	return cprobe_region_is_preloaded() &&
		cprobe_hook_get(CPROBE_HOOK_SEM_WAIT)->state == CPROBE_HOOK_ACTIVE;
}

void
cprobe_queue_locks_look(void)
{
	if (cprobe_queue_all_are_hooked())
		return;
	cprobe_queue_ask();
	if (cprobe_queue_unfound == 0)
		return;
	cprobe_queue_visit_known();
	cprobe_queue_visit_main();
	cprobe_queue_visit_wal();
	cprobe_queue_visit_fast_path();
	if (cprobe_queue_unfound > 0)
		cprobe_queue_visit_buffers();
	if (cprobe_queue_unfound > 0)
		cprobe_queue_visit_areas();
}
