/*-------------------------------------------------------------------------
 *
 * shmem_areas.h
 *	  Main shared memory: where it is, and the areas that the server named.
 *
 * Separate because locks, hooks and later the placement of memory all count
 * in distances from its start, and only here is known how the server keeps
 * its index of areas.
 *
 * The bounds are found in the postmaster and inherited by fork; after that
 * they may be used anywhere, hooks included.  UsedShmemSegAddr is not the
 * start: with shared_memory_type = mmap, the default, it is the address of a
 * small System V segment that only guards the data directory.
 *
 * The list of areas is private to a process, read when first asked for, and
 * read again when the server's index has grown.  Any process with a PGPROC;
 * no database is needed.  Takes ShmemIndexLock in shared mode, allocates and
 * may throw: not for hooks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_SHMEM_AREAS_H
#define CPROBE_SHMEM_AREAS_H

/* Bytes of an area's name, its end included; the server's own limit. */
#define CPROBE_AREA_NAME_BYTES 48

typedef struct CprobeShmemArea
{
	char		name[CPROBE_AREA_NAME_BYTES];
	uint64		offset;			/* from the start of main shared memory */
	uint64		bytes;			/* as asked for; the server may round up */
} CprobeShmemArea;

/* Bounds of main shared memory, 0 until they are known. Immutable then. */
extern PGDLLEXPORT uintptr_t cprobe_shmem_start;
extern PGDLLEXPORT uintptr_t cprobe_shmem_end;

/*
 * Find the bounds.  Postmaster, once shared memory exists; cheap when they
 * are known already.  False if what was found is no header of a segment: the
 * bounds stay 0 then.  Does not throw.
 */
extern bool cprobe_shmem_find_bounds(void);

/* Do so many bytes at an address lie in main shared memory? Hook context. */
static inline bool
cprobe_shmem_contains(const void *address, size_t bytes)
{
	return (uintptr_t) address >= cprobe_shmem_start &&
		(uintptr_t) address < cprobe_shmem_end &&
		bytes <= cprobe_shmem_end - (uintptr_t) address;
}

/* Distance from the start, 0 for what lies outside. Hook context. */
static inline uint64
cprobe_shmem_offset(const void *address)
{
	return cprobe_shmem_contains(address, 1) ?
		(uintptr_t) address - cprobe_shmem_start : 0;
}

/* The way back; any offset below the size. Hook context. */
static inline void *
cprobe_shmem_address(uint64 offset)
{
	return (void *) (cprobe_shmem_start + (uintptr_t) offset);
}

/*
 * All areas in the order of their offsets, and how many there are.  Valid
 * until the next call of a function below.  None if the server keeps its
 * index in a way that we do not know.
 */
extern const CprobeShmemArea *cprobe_shmem_areas(int *count);

/* The area that holds an offset, or has a name; NULL if there is none. */
extern const CprobeShmemArea *cprobe_shmem_area_at(uint64 offset);
extern const CprobeShmemArea *cprobe_shmem_area_named(const char *name);

#endif							/* CPROBE_SHMEM_AREAS_H */
