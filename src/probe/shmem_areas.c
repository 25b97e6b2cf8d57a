/*-------------------------------------------------------------------------
 *
 * shmem_areas.c
 *	  Finding main shared memory, and reading the server's index of it.
 *
 * Separate: see shmem_areas.h.
 *
 * The server offers the index to SQL only (pg_shmem_allocations), which needs
 * a database; the sampler has none.  So we attach to the same hash table that
 * the view reads, as a backend of an EXEC_BACKEND build would.  Whether its
 * entries look as we think is checked by one that we know from elsewhere: the
 * buffer descriptors.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/pg_shmem.h"
#include "storage/shmem.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "compat.h"
#include "probe/shmem_areas.h"

/* An area whose place and size the server tells otherwise. */
#define CPROBE_KNOWN_AREA "Buffer Descriptors"

uintptr_t	cprobe_shmem_start = 0;
uintptr_t	cprobe_shmem_end = 0;

/* The server's index, NULL until attached. */
static HTAB *cprobe_index;

/* What was read of it. */
static CprobeShmemArea *cprobe_areas;
static int	cprobe_area_count;
static long cprobe_indexed_count = -1;

static bool
cprobe_shmem_is_valid(uintptr_t address)
{
	return ShmemAddrIsValid((const void *) address);
}

/*
 * Where main shared memory begins (low), or the address behind its end.  It
 * is one piece around "inside", so a search by halves does.
 */
static uintptr_t
cprobe_shmem_find_bound(uintptr_t inside, bool low)
{
	uintptr_t	valid = inside;
	uintptr_t	invalid = low ? 0 : UINTPTR_MAX;

	while (low ? valid - invalid > 1 : invalid - valid > 1)
	{
		uintptr_t	middle = Min(valid, invalid) +
		(Max(valid, invalid) - Min(valid, invalid)) / 2;

		if (cprobe_shmem_is_valid(middle))
			valid = middle;
		else
			invalid = middle;
	}
	return low ? valid : invalid;
}

bool
cprobe_shmem_find_bounds(void)
{
	uintptr_t	inside = (uintptr_t) ProcGlobal;
	uintptr_t	start;
	uintptr_t	end;
	const PGShmemHeader *header;

	if (cprobe_shmem_start != 0)
		return true;
	if (!cprobe_shmem_is_valid(inside))
		return false;
	start = cprobe_shmem_find_bound(inside, true);
	end = cprobe_shmem_find_bound(inside, false);
	header = (const PGShmemHeader *) start;
	if (end - start < sizeof(*header) || header->magic != PGShmemMagic ||
		header->totalsize != end - start)
		return false;
	cprobe_shmem_start = start;
	cprobe_shmem_end = end;
	return true;
}

/* Attach to the server's index. False if it is not where we think. */
static bool
cprobe_index_attach(void)
{
	PGShmemHeader *header;
	HASHCTL		control = {
		.keysize = CPROBE_AREA_NAME_BYTES,
		.entrysize = sizeof(CprobeServerArea),
	};

	if (cprobe_index != NULL)
		return true;
	if (!cprobe_shmem_find_bounds())
		return false;
	header = (PGShmemHeader *) cprobe_shmem_start;
	if (!CPROBE_SERVER_INDEX_IS_KNOWN(header) ||
		!cprobe_shmem_contains(CPROBE_SERVER_INDEX(header), 1))
		return false;
	control.hctl = (HASHHDR *) CPROBE_SERVER_INDEX(header);
	cprobe_index = hash_create("contention_probe areas", 1, &control,
							   HASH_ELEM | HASH_STRINGS | HASH_SHARED_MEM |
							   HASH_ATTACH);
	return true;
}

/* Does an entry of the known area say what we know? */
static bool
cprobe_index_is_as_expected(void)
{
	const CprobeServerArea *area;

	area = hash_search(cprobe_index, CPROBE_KNOWN_AREA, HASH_FIND, NULL);
	return area != NULL && area->location == (void *) BufferDescriptors &&
		area->size == (Size) NBuffers * sizeof(BufferDescPadded);
}

static int
cprobe_area_compare(const void *a, const void *b)
{
	uint64		left = ((const CprobeShmemArea *) a)->offset;
	uint64		right = ((const CprobeShmemArea *) b)->offset;

	return left < right ? -1 : left > right;
}

/* Copy the index, whose lock is held. The room is enough for all entries. */
static int
cprobe_index_copy(CprobeShmemArea *areas)
{
	HASH_SEQ_STATUS scan;
	const CprobeServerArea *entry;
	int			count = 0;

	hash_seq_init(&scan, cprobe_index);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		CprobeShmemArea *area = &areas[count];

		if (!cprobe_shmem_contains(entry->location, 1))
			continue;
		strlcpy(area->name, entry->key, sizeof(area->name));
		area->offset = cprobe_shmem_offset(entry->location);
		area->bytes = entry->size;
		count++;
	}
	return count;
}

/* Read the index anew. */
static void
cprobe_areas_read(void)
{
	LWLock	   *lock = CPROBE_SERVER_INDEX_LOCK((PGShmemHeader *) cprobe_shmem_start);
	CprobeShmemArea *areas = NULL;
	int			count = 0;
	long		entries;

	LWLockAcquire(lock, LW_SHARED);
	entries = (long) hash_get_num_entries(cprobe_index);
	if (cprobe_index_is_as_expected())
	{
		areas = MemoryContextAlloc(TopMemoryContext,
								   (Size) entries * sizeof(CprobeShmemArea));
		count = cprobe_index_copy(areas);
	}
	LWLockRelease(lock);

	if (areas != NULL)
		qsort(areas, (size_t) count, sizeof(CprobeShmemArea),
			  cprobe_area_compare);
	if (cprobe_areas != NULL)
		pfree(cprobe_areas);
	cprobe_areas = areas;
	cprobe_area_count = count;
	cprobe_indexed_count = entries;
}

const CprobeShmemArea *
cprobe_shmem_areas(int *count)
{
	*count = 0;
	if (!cprobe_index_attach())
		return NULL;

	/*
	 * Entries are only ever added.  The number is read without the lock: if
	 * it is old, so is the list, as it could be a moment later anyway.
	 */
	if (cprobe_indexed_count != (long) hash_get_num_entries(cprobe_index))
		cprobe_areas_read();
	*count = cprobe_area_count;
	return cprobe_areas;
}

const CprobeShmemArea *
cprobe_shmem_area_at(uint64 offset)
{
	int			count;
	const CprobeShmemArea *areas = cprobe_shmem_areas(&count);

	for (int i = 0; i < count; i++)
	{
		if (offset >= areas[i].offset &&
			offset - areas[i].offset < areas[i].bytes)
			return &areas[i];
	}
	return NULL;
}

const CprobeShmemArea *
cprobe_shmem_area_named(const char *name)
{
	int			count;
	const CprobeShmemArea *areas = cprobe_shmem_areas(&count);

	for (int i = 0; i < count; i++)
	{
		if (strcmp(areas[i].name, name) == 0)
			return &areas[i];
	}
	return NULL;
}
