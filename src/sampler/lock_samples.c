/*-------------------------------------------------------------------------
 *
 * lock_samples.c
 *	  Sampling how locks are held, and reporting waiters that are stuck.
 *
 * Separate: see lock_samples.h.
 *
 * Each look at a lock is one load of its state, a cache line that its users
 * fight over.  So the number of locks is bounded, and those that nobody has
 * waited for are not looked at, but for the WAL insertion locks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include "probe/lock_account.h"
#include "probe/lock_names.h"
#include "probe/lock_state.h"
#include "probe/shmem_areas.h"
#include "probe/stuck.h"
#include "probe/wal_insert_locks.h"
#include "sampler/lock_samples.h"

/* Ticks between two choices of the locks to look at. */
#define CPROBE_CHOOSE_EVERY_TICKS 100

typedef struct CprobeSampledLock
{
	CprobeLockKey lock;
	uint64		waits;			/* when it was chosen */
	pg_atomic_uint64 *values;
} CprobeSampledLock;

/* The sampler's own: what it looks at in this epoch. */
static CprobeSampledLock cprobe_sampled[CPROBE_SAMPLED_LOCKS];
static int	cprobe_sampled_count;
static uint32 cprobe_sampled_epoch;
static int	cprobe_ticks_to_choice;

static void
cprobe_lock_samples_bump(pg_atomic_uint64 *counter, uint64 amount)
{
	pg_atomic_write_u64(counter, pg_atomic_read_u64(counter) + amount);
}

static void
cprobe_lock_samples_add(CprobeLockKey lock, uint64 waits,
						pg_atomic_uint64 *values)
{
	int			place = cprobe_sampled_count;

	if (values == NULL)
		return;
	if (place == CPROBE_SAMPLED_LOCKS)
	{
		/* Full: the one with the fewest waits gives way to one with more. */
		place = 0;
		for (int i = 1; i < CPROBE_SAMPLED_LOCKS; i++)
		{
			if (cprobe_sampled[i].waits < cprobe_sampled[place].waits)
				place = i;
		}
		if (cprobe_sampled[place].waits >= waits)
			return;
	}
	else
		cprobe_sampled_count++;
	cprobe_sampled[place] = (CprobeSampledLock)
	{
		lock, waits, values
	};
}

/* WAL insertion locks are always looked at. */
static void
cprobe_lock_samples_add_wal(uint32 epoch)
{
	int			count = cprobe_wal_insert_lock_count();

	for (int i = 0; i < count; i++)
	{
		uint64		lock = CPROBE_LOCK_KEY(LWTRANCHE_WAL_INSERT,
										   cprobe_shmem_offset(cprobe_wal_insert_lock(i)));

		cprobe_lock_samples_add(lock, PG_UINT64_MAX,
								cprobe_map_claim(cprobe_region_locks(), epoch,
												 &lock));
	}
}

static void
cprobe_lock_samples_choose(uint32 epoch)
{
	CprobeSharedMap *locks = cprobe_region_locks();
	CprobeMapRow row;
	uint32		position = 0;

	cprobe_sampled_count = 0;
	cprobe_lock_samples_add_wal(epoch);
	while (cprobe_map_next(locks, epoch, &position, &row))
	{
		CprobeLockKey lock = row.key[0];

		if (CPROBE_LOCK_KEY_OFFSET(lock) == 0 ||
			CPROBE_LOCK_KEY_TRANCHE(lock) == LWTRANCHE_WAL_INSERT)
			continue;
		cprobe_lock_samples_add(lock, row.values[CPROBE_LOCK_WAITS],
								cprobe_map_find(locks, epoch, &lock));
	}
	cprobe_sampled_epoch = epoch;
	cprobe_ticks_to_choice = CPROBE_CHOOSE_EVERY_TICKS;
}

/* How many WAL insertion locks are held at once. */
static void
cprobe_lock_samples_occupancy(void)
{
	int			count = cprobe_wal_insert_lock_count();
	int			held = 0;

	if (count == 0)
		return;
	for (int i = 0; i < count; i++)
	{
		uint64		offset = cprobe_shmem_offset(cprobe_wal_insert_lock(i));
		CprobeLockState state = cprobe_lock_state(CPROBE_LOCK_KEY(LWTRANCHE_WAL_INSERT,
																  offset));

		held += state.exclusive ? 1 : 0;
	}
	held = Min(held, CPROBE_WAL_OCCUPANCY - 1);
	cprobe_lock_samples_bump(&cprobe_region->wal_locks_held[held], 1);
}

static void
cprobe_lock_samples_reset_occupancy(void)
{
	for (int i = 0; i < CPROBE_WAL_OCCUPANCY; i++)
		pg_atomic_write_u64(&cprobe_region->wal_locks_held[i], 0);
}

void
cprobe_lock_samples_run(uint32 epoch)
{
	if (cprobe_sampled_epoch != epoch)
		cprobe_lock_samples_reset_occupancy();
	if (cprobe_sampled_epoch != epoch || cprobe_ticks_to_choice-- <= 0)
		cprobe_lock_samples_choose(epoch);
	for (int i = 0; i < cprobe_sampled_count; i++)
	{
		pg_atomic_uint64 *values = cprobe_sampled[i].values;
		CprobeLockState state = cprobe_lock_state(cprobe_sampled[i].lock);

		cprobe_lock_samples_bump(&values[CPROBE_LOCK_SAMPLES], 1);
		if (state.exclusive)
			cprobe_lock_samples_bump(&values[CPROBE_LOCK_EXCLUSIVE_SAMPLES], 1);
		else if (state.shared > 0)
			cprobe_lock_samples_bump(&values[CPROBE_LOCK_SHARED_SAMPLES], 1);
	}
	cprobe_lock_samples_occupancy();
}

pg_atomic_uint64 *
cprobe_lock_samples_claim(uint32 epoch, const CprobeCurrentWait *wait)
{
	CprobeLockKey lock = wait->lock;

	if (wait->has_page || CPROBE_LOCK_KEY_OFFSET(lock) == 0)
		return NULL;
	return cprobe_map_claim(cprobe_region_locks(), epoch, &lock);
}

void
cprobe_lock_samples_count_page(uint32 epoch, const CprobeCurrentWait *wait)
{
	pg_atomic_uint64 *values;

	values = cprobe_map_claim(cprobe_region_pages(), epoch, wait->page.words);
	if (values == NULL)
		cprobe_map_drop(cprobe_region_pages());
	else
		cprobe_lock_samples_bump(&values[CPROBE_PAGE_SAMPLES], 1);
}

static const char *
cprobe_lock_samples_lock_name(const CprobeCurrentWait *wait)
{
	if (CPROBE_LOCK_KEY_TRANCHE(wait->lock) == CPROBE_TRANCHE_BUFFER)
		return psprintf("BufferContent(%u/%u/%u/%u)",
						(uint32) wait->page.words[0],
						(uint32) (wait->page.words[1] >> 32),
						(uint32) wait->page.words[1],
						(uint32) wait->page.words[2]);
	return cprobe_lock_name(CPROBE_LOCK_KEY_TRANCHE(wait->lock),
							CPROBE_LOCK_KEY_OFFSET(wait->lock));
}

static const char *
cprobe_lock_samples_holders(const CprobeStuck *stuck)
{
	StringInfoData text;

	if (stuck->holder_count == 0)
		return cprobe_lock_state_is_free(&stuck->state) ? "none" : "unknown";
	initStringInfo(&text);
	for (int i = 0; i < stuck->holder_count; i++)
		appendStringInfo(&text, "%s%d", i > 0 ? ", " : "", stuck->holders[i]);
	return text.data;
}

static void
cprobe_lock_samples_log(int pid, const char *type_name,
						const CprobeCurrentWait *wait,
						const CprobeStuck *stuck, uint64 now_ns)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext,
												  "contention_probe report",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(scratch);

	ereport(WARNING,
			(errmsg("%s %d has waited %.0f ms for lock %s in mode %s: %s",
					type_name, pid,
					(double) (now_ns - wait->since_ns) / 1000000.0,
					cprobe_lock_samples_lock_name(wait),
					cprobe_lock_mode_name(wait->mode),
					cprobe_verdict_name(stuck->verdict)),
			 errdetail("State of the lock: %s. Holders: %s.",
					   cprobe_lock_state_text(&stuck->state),
					   cprobe_lock_samples_holders(stuck)),
			 errhint("See the view contention_probe.stuck_waiters.")));
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(scratch);
}

void
cprobe_lock_samples_watch(CprobeStuckWatch *watch, int pid,
						  const char *type_name,
						  const CprobeCurrentWait *wait, uint64 now_ns)
{
	CprobeStuck stuck;

	if (!cprobe_stuck_is_long(wait, now_ns))
		return;
	if (watch->sequence != wait->sequence)
		*watch = (CprobeStuckWatch)
	{
		.sequence = wait->sequence
	};
	if (watch->logged)
		return;
	stuck = cprobe_stuck_judge(wait, watch->free_looks);
	if (cprobe_lock_state_is_free(&stuck.state))
		watch->free_looks++;
	else
		watch->free_looks = 0;
	if (stuck.verdict == CPROBE_VERDICT_UNDECIDED)
		return;
	watch->logged = true;
	cprobe_lock_samples_log(pid, type_name, wait, &stuck, now_ns);
}
