/*-------------------------------------------------------------------------
 *
 * wal_insert_locks.c
 *	  Finding the WAL insertion locks.
 *
 * Separate: see wal_insert_locks.h.
 *
 * The control structure of WAL begins with what inserters need, the address
 * of their locks among it.  So one of the first words of the area "XLOG Ctl"
 * points into that area, and there lie locks of the tranche WALInsert, each
 * alone on its line.  Looking for the locks themselves would do as well, but
 * meets pages of WAL, which can hold anything.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "probe/lock_check.h"
#include "probe/shmem_areas.h"
#include "probe/wal_insert_locks.h"

#define CPROBE_WAL_AREA "XLOG Ctl"

/* Bytes at the start of the area in which the address is looked for. */
#define CPROBE_WAL_HEAD_BYTES 1024

/* The server pads each to PG_CACHE_LINE_SIZE. */
#define CPROBE_WAL_LOCK_STRIDE LWLOCK_PADDED_SIZE

/* Immutable once found; 0 or NULL before. */
static char *cprobe_wal_locks;
static int	cprobe_wal_lock_count;
static const char *cprobe_wal_reason;

/* Locks at an address, up to the end of the area. */
static int
cprobe_wal_count_locks(uintptr_t address, uintptr_t end)
{
	int			count = 0;

	while (address + CPROBE_WAL_LOCK_STRIDE <= end &&
		   cprobe_lock_looks_valid((void *) address, LWTRANCHE_WAL_INSERT))
	{
		address += CPROBE_WAL_LOCK_STRIDE;
		count++;
	}
	return count;
}

static void
cprobe_wal_search(const CprobeShmemArea *area)
{
	uintptr_t	start = (uintptr_t) cprobe_shmem_address(area->offset);
	uintptr_t	end = start + area->bytes;
	const uintptr_t *words = (const uintptr_t *) start;
	size_t		word_count = Min(area->bytes, CPROBE_WAL_HEAD_BYTES) /
	sizeof(uintptr_t);

	for (size_t i = 0; i < word_count; i++)
	{
		uintptr_t	word = words[i];

		if (word < start || word >= end || word % CPROBE_WAL_LOCK_STRIDE != 0)
			continue;
		cprobe_wal_lock_count = cprobe_wal_count_locks(word, end);
		if (cprobe_wal_lock_count > 0)
		{
			cprobe_wal_locks = (char *) word;
			return;
		}
	}
	cprobe_wal_reason = "no locks of the tranche WALInsert where the area \"XLOG Ctl\" points to";
}

static void
cprobe_wal_find(void)
{
	const CprobeShmemArea *area;

	if (cprobe_wal_locks != NULL || cprobe_wal_reason != NULL)
		return;
	area = cprobe_shmem_area_named(CPROBE_WAL_AREA);
	if (area == NULL)
		cprobe_wal_reason = "no area \"XLOG Ctl\" in shared memory";
	else
		cprobe_wal_search(area);
}

int
cprobe_wal_insert_lock_count(void)
{
	cprobe_wal_find();
	return cprobe_wal_lock_count;
}

const char *
cprobe_wal_insert_lock_reason(void)
{
	cprobe_wal_find();
	return cprobe_wal_reason;
}

LWLock *
cprobe_wal_insert_lock(int index)
{
	cprobe_wal_find();
	Assert(index >= 0 && index < cprobe_wal_lock_count);
	return (LWLock *) (cprobe_wal_locks +
					   (size_t) index * CPROBE_WAL_LOCK_STRIDE);
}

int
cprobe_wal_insert_lock_index(const LWLock *lock)
{
	uintptr_t	distance;

	cprobe_wal_find();
	if (cprobe_wal_locks == NULL || (const char *) lock < cprobe_wal_locks)
		return -1;
	distance = (uintptr_t) lock - (uintptr_t) cprobe_wal_locks;
	if (distance % CPROBE_WAL_LOCK_STRIDE != 0 ||
		distance / CPROBE_WAL_LOCK_STRIDE >= (uintptr_t) cprobe_wal_lock_count)
		return -1;
	return (int) (distance / CPROBE_WAL_LOCK_STRIDE);
}
