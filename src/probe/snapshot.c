/*-------------------------------------------------------------------------
 *
 * snapshot.c
 *	  Copying all counters of waits consistently.
 *
 * Separate: see snapshot.h for the protocol.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "probe/activity.h"
#include "probe/snapshot.h"

/* Looks at a slot in the middle of a change, before giving the CPU away. */
#define CPROBE_SLOT_SPINS 1000

/* Then so many sleeps of a millisecond, before taking it as it is. */
#define CPROBE_SLOT_SLEEPS 50

/* Snapshots overtaken by a reset. */
#define CPROBE_MAX_RESTARTS 10

/* Wait for an even change count; the last one seen if there is none. */
static uint32
cprobe_snapshot_stable_count(CprobeSharedSlot *slot)
{
	uint32		count = pg_atomic_read_u32(&slot->changecount);

	for (int tries = 0; (count & 1) != 0; tries++)
	{
		if (tries >= CPROBE_SLOT_SPINS + CPROBE_SLOT_SLEEPS)
			break;
		if (tries >= CPROBE_SLOT_SPINS)
			pg_usleep(1000);
		else
			pg_spin_delay();
		count = pg_atomic_read_u32(&slot->changecount);
	}
	pg_read_barrier();
	return count;
}

static void
cprobe_snapshot_copy_fields(CprobeSharedSlot *slot, CprobeSlotCopy *copy,
							const CprobeSnapshot *snapshot)
{
	copy->used = slot->pid != 0 && slot->epoch == snapshot->epoch;
	if (!copy->used)
		return;
	copy->pid = slot->pid;
	copy->type = Min(slot->type, CPROBE_TYPES - 1);
	copy->database_id = slot->database_id;
	copy->role_id = slot->role_id;
	copy->start_time = slot->start_time;
	strlcpy(copy->worker_type, slot->worker_type, CPROBE_TYPE_NAME_BYTES);
	for (int i = 0; i < CPROBE_TALLIES; i++)
		copy->hits[i] = pg_atomic_read_u64(&slot->hits[i]);
	if (copy->waits == NULL)
		copy->waits = palloc(snapshot->event_count * sizeof(CprobeWaits));
	for (uint32 i = 0; i < snapshot->event_count; i++)
	{
		copy->waits[i].waits = pg_atomic_read_u64(&slot->waits[i].waits);
		copy->waits[i].time_ns = pg_atomic_read_u64(&slot->waits[i].time_ns);
	}
}

/* Copy one slot; a torn copy is possible only if its owner is stopped. */
static void
cprobe_snapshot_copy_slot(CprobeSnapshot *snapshot, uint32 number)
{
	CprobeSharedSlot *slot = cprobe_slot_get(number);
	CprobeSlotCopy *copy = &snapshot->slots[number];

	for (int tries = 0; tries < CPROBE_SNAPSHOT_MAX_ROUNDS; tries++)
	{
		copy->changecount = cprobe_snapshot_stable_count(slot);
		cprobe_snapshot_copy_fields(slot, copy, snapshot);
		pg_read_barrier();
		if (pg_atomic_read_u32(&slot->changecount) == copy->changecount)
			break;
	}
}

static void
cprobe_snapshot_copy_departed(CprobeSnapshot *snapshot)
{
	CprobeSharedWaits *departed = cprobe_region_departed(snapshot->epoch, 0);
	pg_atomic_uint64 *hits = cprobe_region_departed_hits(snapshot->epoch);
	Size		count = (Size) CPROBE_TYPES * snapshot->event_count;

	for (Size i = 0; i < count; i++)
	{
		snapshot->departed[i].waits = pg_atomic_read_u64(&departed[i].waits);
		snapshot->departed[i].time_ns =
			pg_atomic_read_u64(&departed[i].time_ns);
	}
	for (int i = 0; i < CPROBE_TALLIES; i++)
		snapshot->hits[i] = pg_atomic_read_u64(&hits[i]);
}

/* Copy again what changed; false when nothing did. */
static bool
cprobe_snapshot_refresh(CprobeSnapshot *snapshot)
{
	bool		changed = false;

	pg_read_barrier();
	for (uint32 i = 0; i < snapshot->slot_count; i++)
	{
		if (pg_atomic_read_u32(&cprobe_slot_get(i)->changecount) ==
			snapshot->slots[i].changecount)
			continue;
		cprobe_snapshot_copy_slot(snapshot, i);
		changed = true;
	}
	return changed;
}

/* A copy of everything in one epoch; false if a reset came between. */
static bool
cprobe_snapshot_try(CprobeSnapshot *snapshot)
{
	snapshot->epoch = cprobe_region_epoch();
	for (uint32 i = 0; i < snapshot->slot_count; i++)
		cprobe_snapshot_copy_slot(snapshot, i);
	for (int round = 0; round < CPROBE_SNAPSHOT_MAX_ROUNDS; round++)
	{
		CHECK_FOR_INTERRUPTS();
		cprobe_snapshot_copy_departed(snapshot);
		if (!cprobe_snapshot_refresh(snapshot))
			break;
	}
	return cprobe_region_epoch() == snapshot->epoch;
}

/* Slots whose owner is gone belong to the departed. */
static void
cprobe_snapshot_settle_dead(CprobeSnapshot *snapshot)
{
	for (uint32 i = 0; i < snapshot->slot_count; i++)
	{
		CprobeSlotCopy *slot = &snapshot->slots[i];
		CprobeWaits *departed;

		if (!slot->used)
			continue;
		for (int h = 0; h < CPROBE_TALLIES; h++)
			snapshot->hits[h] += slot->hits[h];
		slot->alive = cprobe_activity_proc_pid(i) == slot->pid;
		if (slot->alive)
			continue;
		departed = cprobe_snapshot_departed(snapshot, slot->type);
		for (uint32 e = 0; e < snapshot->event_count; e++)
		{
			departed[e].waits += slot->waits[e].waits;
			departed[e].time_ns += slot->waits[e].time_ns;
		}
	}
}

CprobeSnapshot *
cprobe_snapshot_take(void)
{
	CprobeSnapshot *snapshot = palloc0(sizeof(*snapshot));

	snapshot->event_count = cprobe_region->events.event_count;
	snapshot->slot_count = cprobe_region->slot_count;
	snapshot->slots = palloc0(snapshot->slot_count * sizeof(CprobeSlotCopy));
	snapshot->departed = palloc((Size) CPROBE_TYPES * snapshot->event_count *
								sizeof(CprobeWaits));
	for (int i = 0; i < CPROBE_MAX_RESTARTS; i++)
	{
		if (cprobe_snapshot_try(snapshot))
			break;
	}
	cprobe_snapshot_settle_dead(snapshot);
	return snapshot;
}

CprobeWaits *
cprobe_snapshot_totals(const CprobeSnapshot *snapshot)
{
	CprobeWaits *totals = palloc0(snapshot->event_count * sizeof(CprobeWaits));

	for (uint32 e = 0; e < snapshot->event_count; e++)
	{
		for (uint32 t = 0; t < CPROBE_TYPES; t++)
		{
			const CprobeWaits *departed = cprobe_snapshot_departed(snapshot, t);

			totals[e].waits += departed[e].waits;
			totals[e].time_ns += departed[e].time_ns;
		}
		for (uint32 i = 0; i < snapshot->slot_count; i++)
		{
			if (!snapshot->slots[i].used || !snapshot->slots[i].alive)
				continue;
			totals[e].waits += snapshot->slots[i].waits[e].waits;
			totals[e].time_ns += snapshot->slots[i].waits[e].time_ns;
		}
	}
	return totals;
}

const char *
cprobe_snapshot_type_name(const CprobeSlotCopy *slot)
{
	if (slot->worker_type[0] != '\0')
		return slot->worker_type;
	return cprobe_region_type_name(slot->type);
}

CprobeCurrentWait
cprobe_snapshot_current_wait(CprobeSharedSlot *slot)
{
	CprobeCurrentWait wait = {0};
	pg_atomic_uint32 *sequence =
	&cprobe_slot_pulse(cprobe_slot_number(slot))->wait_sequence;

	for (int tries = 0; tries < CPROBE_SNAPSHOT_MAX_ROUNDS; tries++)
	{
		wait.sequence = pg_atomic_read_u32(sequence);
		if ((wait.sequence & 1) == 0)
			break;
		pg_read_barrier();
		wait.info = slot->wait_info;
		wait.since_ns = slot->wait_since_ns;
		wait.query_id = slot->wait_query_id;
		wait.user_id = slot->wait_user_id;
		wait.idle = slot->wait_idle;
		wait.lock = slot->wait_lock;
		wait.mode = (CprobeLockMode) slot->wait_mode;
		wait.has_page = slot->wait_has_page;
		wait.page = slot->wait_page;
		wait.stack = slot->wait_stack;
		pg_read_barrier();
		if (pg_atomic_read_u32(sequence) == wait.sequence)
		{
			wait.waiting = true;
			break;
		}
	}
	return wait;
}

bool
cprobe_snapshot_slot_is_of(CprobeSharedSlot *slot, int pid)
{
	uint32		count = cprobe_snapshot_stable_count(slot);
	bool		same = slot->pid == pid;

	pg_read_barrier();
	return same && pg_atomic_read_u32(&slot->changecount) == count;
}
