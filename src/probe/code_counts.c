/*-------------------------------------------------------------------------
 *
 * code_counts.c
 *	  Finding, adding up and resetting the counters of code paths.
 *
 * Separate from the hooks that count: see code_counts.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/shmem.h"

#include "probe/code_counts.h"
#include "probe/shmem_areas.h"
#include "probe/wait.h"

/* Hold times exist for even and odd epochs. */
#define CPROBE_HOLD_PARITIES 2

/* Counters are added up as one array of them. */
#define CPROBE_CODE_WORDS (sizeof(CprobeCodeCounts) / sizeof(uint64))

StaticAssertDecl(sizeof(CprobeCodeCounts) % sizeof(uint64) == 0,
				 "counters are words and nothing else");

CprobeCodeLocal cprobe_code_local = {.countdown = 1};

/* Set in the postmaster before any fork. */
static bool cprobe_code_active = false;

bool
cprobe_code_is_active(void)
{
	return cprobe_code_active;
}

void
cprobe_code_set_active(bool active)
{
	cprobe_code_active = active;
}

/*
 * The part: baseline, hold times, places, then the blocks, each aligned to a cache
 * line, so that no two processes write the same one.
 */
static Size
cprobe_code_holds_offset(void)
{
	return CACHELINEALIGN(sizeof(CprobeCodeCounts));
}

static Size
cprobe_code_sites_offset(void)
{
	return cprobe_code_holds_offset() +
		CACHELINEALIGN(CPROBE_HOLD_PARITIES * CPROBE_CELLS *
					   sizeof(CprobeSharedHold));
}

static Size
cprobe_code_blocks_offset(void)
{
	return cprobe_code_sites_offset() +
		CACHELINEALIGN(sizeof(CprobeSharedSites));
}

Size
cprobe_code_size(uint32 slot_count)
{
	return add_size(cprobe_code_blocks_offset(),
					mul_size(slot_count,
							 CACHELINEALIGN(sizeof(CprobeSharedCode))));
}

void
cprobe_code_attach(void)
{
	cprobe_code_local.fixed_locks = (uintptr_t) MainLWLockArray;
}

static CprobeCodeCounts *
cprobe_code_baseline(void)
{
	return (CprobeCodeCounts *) cprobe_region_code();
}

static CprobeSharedCode *
cprobe_code_block(uint32 number)
{
	return (CprobeSharedCode *) (cprobe_region_code() +
								 cprobe_code_blocks_offset() +
								 number * CACHELINEALIGN(sizeof(CprobeSharedCode)));
}

CprobeSharedHold *
cprobe_code_hold(uint32 epoch, uint32 cell)
{
	CprobeSharedHold *holds = (CprobeSharedHold *)
	(cprobe_region_code() + cprobe_code_holds_offset());

	return holds + (epoch % CPROBE_HOLD_PARITIES) * CPROBE_CELLS + cell;
}

CprobeSharedSites *
cprobe_code_sites(void)
{
	return (CprobeSharedSites *) (cprobe_region_code() +
								  cprobe_code_sites_offset());
}

CprobeSharedCode *
cprobe_code_find(void)
{
	int			number;

	if (MyProc == NULL || cprobe_region == NULL || !cprobe_enabled ||
		!cprobe_code_active)
		return NULL;
	number = CPROBE_MY_PROC_NUMBER();
	if (number < 0 || (uint32) number >= cprobe_region->slot_count)
		return NULL;
	cprobe_code_mine = cprobe_code_block((uint32) number);

	/* A predecessor that was killed holds nothing any more. */
	cprobe_code_hold_nothing(cprobe_code_mine);
	return cprobe_code_mine;
}

void
cprobe_code_forget(void)
{
	if (cprobe_code_mine != NULL)
		cprobe_code_hold_nothing(cprobe_code_mine);
	cprobe_code_mine = NULL;
}

static void
cprobe_code_sum(CprobeCodeCounts *sum)
{
	uint64	   *words = (uint64 *) sum;

	memset(sum, 0, sizeof(*sum));
	for (uint32 i = 0; i < cprobe_region->slot_count; i++)
	{
		volatile uint64 *counts =
		(volatile uint64 *) &cprobe_code_block(i)->counts;

		for (size_t w = 0; w < CPROBE_CODE_WORDS; w++)
			words[w] += counts[w];
	}
}

CprobeCodeCounts *
cprobe_code_read(void)
{
	CprobeCodeCounts *sum = palloc(sizeof(*sum));
	uint64	   *words = (uint64 *) sum;
	volatile uint64 *baseline = (volatile uint64 *) cprobe_code_baseline();

	cprobe_code_sum(sum);
	for (size_t w = 0; w < CPROBE_CODE_WORDS; w++)
		words[w] -= Min(words[w], baseline[w]);
	return sum;
}

void
cprobe_code_rebase(void)
{
	if (cprobe_code_active)
		cprobe_code_sum(cprobe_code_baseline());
}

void
cprobe_code_clear(uint32 epoch)
{
	if (!cprobe_code_active)
		return;
	for (uint32 cell = 0; cell < CPROBE_CELLS; cell++)
	{
		CprobeSharedHold *hold = cprobe_code_hold(epoch, cell);

		pg_atomic_write_u64(&hold->time_ns, 0);
		cprobe_histogram_clear(&hold->histogram);
	}
	cprobe_sites_clear(cprobe_code_sites(), epoch);
}

bool
cprobe_code_holds(uint32 number, CprobeLockKey lock)
{
	volatile CprobeSharedCode *block;
	uintptr_t	address;

	if (!cprobe_code_active || CPROBE_LOCK_KEY_OFFSET(lock) == 0)
		return false;
	block = cprobe_code_block(number);
	address = (uintptr_t) cprobe_shmem_address(CPROBE_LOCK_KEY_OFFSET(lock));
	for (uint32 i = 0; i < Min(block->held_count, CPROBE_CODE_HELD_LOCKS); i++)
	{
		if ((block->held[i] & ~CPROBE_CODE_HELD_MODE_MASK) == address)
			return true;
	}
	return false;
}
