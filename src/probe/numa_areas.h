/*-------------------------------------------------------------------------
 *
 * numa_areas.h
 *	  On which NUMA nodes the areas of main shared memory lie.
 *
 * Separate from asking the kernel (machine/placement.h): here is known what
 * to ask about, whom to ask, and where the answers are kept.
 *
 * Small areas are looked at page by page, large ones by a random sample.  The
 * answers lie in the region for all to read; the sampler renews them now and
 * then, and whoever wants to know better at once may do so too.
 *
 * Not for hooks: system calls, allocates, may be cancelled.  The caller must
 * have a PGPROC.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_NUMA_AREAS_H
#define CPROBE_NUMA_AREAS_H

#include "machine/placement.h"
#include "machine/topology.h"
#include "probe/region.h"
#include "probe/shmem_areas.h"

#define CPROBE_NUMA_MAX_AREAS 256

/* Areas of more pages are sampled, by so many. */
#define CPROBE_NUMA_EXACT_PAGES 4096
#define CPROBE_NUMA_SAMPLE_PAGES 2500

/* Processes asked at most. */
#define CPROBE_NUMA_MAX_ASKED 64

/* Where the pages of one area lie. */
typedef struct CprobeNumaArea
{
	char		name[CPROBE_AREA_NAME_BYTES];
	uint64		bytes;
	uint64		pages;			/* it has a part of */
	uint32		looked_at;		/* of them */
	uint32		unmapped;		/* of those: nobody asked has them mapped */
	uint32		absent;			/* of those: not in memory */
	uint32		on_node[CPROBE_MAX_NODES];	/* of those */
} CprobeNumaArea;

typedef struct CprobeNumaAreas
{
	TimestampTz taken_at;		/* 0 = never */
	uint64		taken_in_ns;	/* time that it took */
	uint64		page_bytes;
	int			error;			/* errno of move_pages, 0 = none */
	int			asked;			/* processes */
	uint32		area_count;
	uint32		dropped_areas;	/* beyond the room */
	CprobeMemoryPolicy policy;	/* of the server's processes */
	CprobeNumaArea areas[CPROBE_NUMA_MAX_AREAS];
} CprobeNumaAreas;

/*
 * The answers in the region.  A writer takes the sequence from even to odd by
 * compare-and-swap, copies, and makes it even; it neither throws nor sleeps
 * in between.  A reader copies and compares.
 */
struct CprobeSharedNumaAreas
{
	pg_atomic_uint32 sequence;
	CprobeNumaAreas answers;
};

/* Find out, and keep it in the region. May throw when cancelled. */
extern void cprobe_numa_areas_refresh(void);

/* A copy of what was found out last; palloc'd. */
extern CprobeNumaAreas *cprobe_numa_areas_read(void);

/*
 * The nodes of some addresses in main shared memory, -1 = not known.  Returns
 * errno of move_pages, 0 if it works here.  Cost: some us and 0.1 us for
 * each.  May throw when cancelled.
 */
extern int	cprobe_numa_nodes_of(void **addresses, int *nodes, int count);

/* Placement of the whole in words; palloc'd. Share of the fullest node. */
extern char *cprobe_numa_describe(const CprobeNumaAreas *answers,
								  double *largest_share);

#endif							/* CPROBE_NUMA_AREAS_H */
