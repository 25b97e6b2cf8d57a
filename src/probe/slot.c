/*-------------------------------------------------------------------------
 *
 * slot.c
 *	  Taking over, identifying and clearing a process's slot.
 *
 * Separate from the measuring of waits: see slot.h for the protocol.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "postmaster/bgworker_internals.h"

#include "probe/lock_account.h"
#include "probe/slot.h"

/* The calling process's slot and its number; NULL until its first wait. */
CprobeSharedSlot *cprobe_my_slot = NULL;
int			cprobe_my_number = -1;

Size
cprobe_slot_size(uint32 event_count)
{
	Size		size = offsetof(CprobeSharedSlot, waits) +
	event_count * sizeof(CprobeSharedWaits);

	return CACHELINEALIGN(size);
}

/* Add what a former owner left to the sums of the departed of this epoch. */
static void
cprobe_slot_fold(CprobeSharedSlot *slot)
{
	CprobeSharedWaits *departed = cprobe_region_departed(slot->epoch,
														 slot->type);
	pg_atomic_uint64 *hits = cprobe_region_departed_hits(slot->epoch);

	for (uint32 i = 0; i < cprobe_region->events.event_count; i++)
	{
		uint64		waits = pg_atomic_read_u64(&slot->waits[i].waits);

		if (waits == 0)
			continue;
		pg_atomic_fetch_add_u64(&departed[i].waits, waits);
		pg_atomic_fetch_add_u64(&departed[i].time_ns,
								pg_atomic_read_u64(&slot->waits[i].time_ns));
	}
	for (int i = 0; i < CPROBE_TALLIES; i++)
	{
		uint64		count = pg_atomic_read_u64(&slot->hits[i]);

		if (count != 0)
			pg_atomic_fetch_add_u64(&hits[i], count);
	}
	for (int i = 0; i < CPROBE_MACHINE_COUNTERS; i++)
		pg_atomic_fetch_add_u64(&cprobe_region->departed_machine[slot->epoch % CPROBE_PARITIES][i],
								pg_atomic_read_u64(&slot->machine[i]));
}

static void
cprobe_slot_clear(CprobeSharedSlot *slot)
{
	memset(slot->hits, 0, sizeof(slot->hits));
	memset(slot->machine, 0, sizeof(slot->machine));
	memset(slot->waits, 0,
		   cprobe_region->events.event_count * sizeof(CprobeSharedWaits));
}

/*
 * By its entry: a parallel worker may have its first wait before the server
 * makes it one.
 */
uint32
cprobe_slot_my_type(void)
{
	if (MyBgworkerEntry != NULL &&
		strcmp(MyBgworkerEntry->bgw_type, "parallel worker") == 0)
		return CPROBE_TYPE_PARALLEL_WORKER;
	return (uint32) MyBackendType;
}

static void
cprobe_slot_write_identity(CprobeSharedSlot *slot)
{
	slot->type = cprobe_slot_my_type();
	slot->database_id = MyDatabaseId;
	slot->role_id = MyProc->roleId;
	slot->start_time = MyStartTimestamp;
}

/* Take the slot over from whoever had the process number before. */
static void
cprobe_slot_take(CprobeSharedSlot *slot)
{
	uint32		epoch = cprobe_region_epoch();
	CprobeSharedPulse *pulse = cprobe_slot_pulse(cprobe_slot_number(slot));

	cprobe_slot_begin_change(slot);
	if (slot->pid != 0 && slot->epoch == epoch)
		cprobe_slot_fold(slot);
	cprobe_slot_clear(slot);
	slot->epoch = epoch;
	slot->pid = MyProcPid;
	pg_atomic_write_u32(&slot->cpu, 0);
	cprobe_slot_write_identity(slot);
	slot->worker_type[0] = '\0';
	if (MyBgworkerEntry != NULL)
		strlcpy(slot->worker_type, MyBgworkerEntry->bgw_type,
				CPROBE_TYPE_NAME_BYTES);
	cprobe_handoff_forget(slot);

	/* A predecessor that was killed in its sleep left the wait open. */
	pg_atomic_write_u32(&pulse->wait_sequence,
						(pg_atomic_read_u32(&pulse->wait_sequence) + 1) & ~1U);
	pg_atomic_write_u32(&slot->held_sequence,
						(pg_atomic_read_u32(&slot->held_sequence) + 1) & ~1U);
	cprobe_slot_end_change(slot);
}

CprobeSharedSlot *
cprobe_slot_find_mine(void)
{
	int			number = CPROBE_MY_PROC_NUMBER();

	if (number < 0 || (uint32) number >= cprobe_region->slot_count)
		return NULL;
	cprobe_slot_take(cprobe_slot_get((uint32) number));
	cprobe_my_number = number;
	cprobe_my_slot = cprobe_slot_get((uint32) number);
	return cprobe_my_slot;
}

void
cprobe_slot_forget(void)
{
	cprobe_my_slot = NULL;
	cprobe_my_number = -1;
}

void
cprobe_slot_renew(CprobeSharedSlot *slot, uint32 epoch)
{
	cprobe_slot_begin_change(slot);
	cprobe_slot_clear(slot);
	slot->epoch = epoch;
	cprobe_slot_end_change(slot);
}

void
cprobe_slot_identify(CprobeSharedSlot *slot)
{
	cprobe_slot_begin_change(slot);
	cprobe_slot_write_identity(slot);
	cprobe_slot_end_change(slot);
}
