/*-------------------------------------------------------------------------
 *
 * cpu_seen.h
 *	  Where the sampler saw processes run: by process and node, and by core.
 *
 * Separate from the slots, which their owners write: here the sampler is the
 * only writer, and readers take each word by itself.
 *
 * Counters belong to the epoch that stands beside them; those of another
 * epoch count as zero.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_CPU_SEEN_H
#define CPROBE_CPU_SEEN_H

#include "machine/topology.h"
#include "probe/region.h"

/* What was seen of a core, or of all. */
typedef struct CprobeSharedCore
{
	pg_atomic_uint64 looks;
	pg_atomic_uint64 busy;		/* looks with a backend running on it */
	pg_atomic_uint64 shared;	/* with two or more, on whichever CPU of it */
	pg_atomic_uint64 sibling;	/* with some on two or more of its CPUs */
	pg_atomic_uint64 shared_while_idle; /* shared, while a core had none */
	pg_atomic_uint64 backends;	/* sum of backends seen running on it */
	pg_atomic_uint64 sibling_backends;	/* of those: with one on a sibling */
} CprobeSharedCore;

/* cores[cprobe_core_count] is the whole machine. */
struct CprobeSharedCores
{
	pg_atomic_uint32 epoch;
	CprobeSharedCore cores[FLEXIBLE_ARRAY_MEMBER];
};

/* What was seen of one process number. */
typedef struct CprobeSharedSeen
{
	pg_atomic_uint32 pid;
	pg_atomic_uint32 epoch;
	pg_atomic_uint32 on_node[FLEXIBLE_ARRAY_MEMBER];	/* looks, by node */
} CprobeSharedSeen;

static inline Size
cprobe_cores_bytes(void)
{
	return offsetof(CprobeSharedCores, cores) +
		(Size) (cprobe_core_count + 1) * sizeof(CprobeSharedCore);
}

static inline Size
cprobe_seen_bytes(void)
{
	return offsetof(CprobeSharedSeen, on_node) +
		(Size) cprobe_node_count * sizeof(pg_atomic_uint32);
}

/* What was seen of the process with a number. */
static inline CprobeSharedSeen *
cprobe_seen_get(uint32 number)
{
	return (CprobeSharedSeen *) ((char *) cprobe_region_seen() +
								 number * cprobe_seen_bytes());
}

#endif							/* CPROBE_CPU_SEEN_H */
