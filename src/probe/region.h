/*-------------------------------------------------------------------------
 *
 * region.h
 *	  The shared region: its layout, its size and the way to its parts.
 *
 * Separate because everything else refers to it, and nothing here knows how
 * a wait is measured or shown.
 *
 * One block of shared memory without absolute pointers: a header, then parts
 * at offsets that the header holds.
 *
 *	   header | slots | pulses | departed | departed hits | histograms | queries |
 *	   query events | locks | pages | hand-offs | stacks | modules |
 *	   profile | history | backend type names | statistics flushes |
 *	   code paths |
 *	   distances | placement of areas | cores | processes on nodes |
 *	   perf counters | outside waits
 *
 * Sizes follow from the server's own numbers at its start.  Memory is handed
 * out zeroed by the server and the slots are not touched at start: a slot's
 * pages are first touched by a process that uses it, and so lie on that
 * process's NUMA node.
 *
 * Reset protocol.  Counters belong to an epoch.  Parts that have many writers
 * (departed, histograms, flushes) exist twice, used by epoch parity.  A reset clears
 * the half of the coming epoch, stores its time, then publishes the epoch.  A
 * slot belongs to its owner alone: the owner sees at its next wait that the
 * epoch is over, and clears its own counters.  Readers pass over slots of an
 * older epoch.  Counter maps take the epoch in each entry.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_REGION_H
#define CPROBE_REGION_H

#include "datatype/timestamp.h"
#include "port/atomics.h"

#include "compat.h"
#include "probe/hooks.h"
#include "store/counter_map.h"
#include "store/event_index.h"
#include "store/histogram.h"
#include "store/history_ring.h"
#include "store/module_table.h"

#define CPROBE_SHARED_NAME "contention_probe"

/* Histograms are kept in this many copies, by process number, to spread. */
#define CPROBE_HISTOGRAM_SHARDS 8

/*
 * Backend types: the server's, one for parallel workers, then the interned
 * names of background worker types (sampler only).
 */
#define CPROBE_TYPE_PARALLEL_WORKER CPROBE_SERVER_BACKEND_TYPES
#define CPROBE_TYPES (CPROBE_SERVER_BACKEND_TYPES + 1)
#define CPROBE_TYPE_FIRST_NAMED 64
#define CPROBE_TYPE_NAMES 64
#define CPROBE_TYPE_NAME_BYTES 96

StaticAssertDecl(CPROBE_TYPES <= CPROBE_TYPE_FIRST_NAMED,
				 "codes of named backend types start above the server's");

/* What has many writers exists for even and odd epochs. */
#define CPROBE_PARITIES 2

/* Numbers of WAL insertion locks held at once that are told apart. */
#define CPROBE_WAL_OCCUPANCY 129

/* Counters of statistics flushes, in this many copies (stats_flush.h). */
#define CPROBE_FLUSH_SHARDS 8
typedef struct CprobeSharedFlush CprobeSharedFlush;

/* Where areas of memory lie (numa_areas.h). */
typedef struct CprobeSharedNumaAreas CprobeSharedNumaAreas;

/* Where processes were seen running (cpu_seen.h). */
typedef struct CprobeSharedCores CprobeSharedCores;

/* Counters of a process that are not waits; in slots and of the departed. */
typedef enum CprobeMachineCounter
{
	CPROBE_TRANSACTIONS,		/* ended, committed or not */
	CPROBE_MIGRATIONS,			/* on another CPU than at the last hook */
	CPROBE_NODE_CHANGES,		/* on another node than at the last hook */
	CPROBE_MACHINE_COUNTERS
} CprobeMachineCounter;

/* What the kernel counts of a process; times in ns. */
typedef enum CprobeProcessCounter
{
	CPROBE_PROCESS_USER_NS,
	CPROBE_PROCESS_SYSTEM_NS,
	CPROBE_PROCESS_CPU_NS,		/* by the scheduler: more exact, 0 without */
	CPROBE_PROCESS_DELAY_NS,	/* ready to run, but waiting for a CPU */
	CPROBE_PROCESS_TIMESLICES,
	CPROBE_PROCESS_VOLUNTARY,	/* switches: it went to sleep */
	CPROBE_PROCESS_INVOLUNTARY, /* switches: another took its place */
	CPROBE_PROCESS_MINOR_FAULTS,
	CPROBE_PROCESS_MAJOR_FAULTS,
	CPROBE_PROCESS_COUNTERS
} CprobeProcessCounter;

/* Completed waits of one event; in slots and in the departed sums. */
typedef struct CprobeSharedWaits
{
	pg_atomic_uint64 waits;		/* completed waits */
	pg_atomic_uint64 time_ns;	/* their total duration, ns */
} CprobeSharedWaits;

/* Written by the sampler alone; read without locks, each field by itself. */
typedef struct CprobeSharedSampler
{
	pg_atomic_uint32 pid;		/* 0 = not running */
	pg_atomic_uint64 ticks;		/* samples taken since the reset */
	pg_atomic_uint64 missed_ticks;	/* samples that came too late to take */
	pg_atomic_uint64 cpu_ns;	/* CPU time used for them, ns */
	pg_atomic_uint64 dropped_names; /* worker types without a name left */
	pg_atomic_uint64 hook_cost_ps;	/* calibrated cost of timing one wait,
									 * picoseconds; 0 = not yet known */
} CprobeSharedSampler;

typedef struct CprobeSharedRegion
{
	/*
	 * What every wait looks at comes first, in one cache line.
	 *
	 * The reset: see the protocol above.  epoch starts at 1.  reset_at_ns is
	 * on the clock of clock.h and is stored before the epoch: a wait that
	 * began earlier counts with the part behind it only.
	 */
	pg_atomic_uint32 epoch;
	pg_atomic_uint32 reset_pid; /* who is resetting, 0 = nobody */
	pg_atomic_uint64 reset_at_ns;
	pg_atomic_uint64 stats_since;	/* TimestampTz of the same moment */

	/* Immutable after startup. */
	Size		histograms_offset;
	Size		total_bytes;
	uint32		slot_count;		/* one for each process number */
	Size		slot_bytes;		/* distance between slots */
	Size		slots_offset;
	Size		pulses_offset;
	Size		departed_offset;
	Size		departed_hits_offset;
	Size		queries_offset;
	Size		query_events_offset;
	Size		locks_offset;
	Size		pages_offset;
	Size		handoffs_offset;
	Size		stacks_offset;
	Size		modules_offset;
	Size		profile_offset;
	Size		history_offset;
	Size		type_names_offset;
	Size		flushes_offset;
	Size		code_offset;	/* 0 = not at this level */
	Size		distances_offset;
	Size		numa_areas_offset;
	Size		cores_offset;
	Size		seen_offset;
	Size		perf_offset;
	Size		outside_waits_offset;
	CprobeSharedEventIndex events;

	CprobeSharedSampler sampler;

	/* interned names in use; the sampler's */
	pg_atomic_uint32 type_name_count;

	/*
	 * Looks of the sampler at which so many WAL insertion locks were held at
	 * once; the last element takes larger numbers.  The sampler's.
	 */
	pg_atomic_uint64 wal_locks_held[CPROBE_WAL_OCCUPANCY];

	/* Sums of former owners of slots, by epoch parity as other such sums. */
	pg_atomic_uint64 departed_machine[CPROBE_PARITIES][CPROBE_MACHINE_COUNTERS];

	/*
	 * What processes had used when they left, since the server's start; added
	 * to by each as it leaves.  And what all had used, living ones included,
	 * at the last reset; stored by who resets.  Read word by word.
	 */
	pg_atomic_uint64 departed_usage[CPROBE_PROCESS_COUNTERS];
	pg_atomic_uint64 reset_usage[CPROBE_PROCESS_COUNTERS];
} CprobeSharedRegion;

/*
 * The region; NULL when the library was not preloaded and the probe is not
 * attached, or this process has not mapped the region (attachment.h).
 */
extern PGDLLEXPORT CprobeSharedRegion *cprobe_region;

/*
 * Where the generation of the attachment is kept, and the one that this
 * process has looked at last.  They are equal for good when preloaded.
 */
extern pg_atomic_uint32 *cprobe_region_generation;
extern uint32 cprobe_region_mapped;

/*
 * Is there a region, and is it the one that counts?  A process that has mapped
 * the region of an attachment that is over passes through.  Hook context; two
 * loads and two compares.
 */
static inline bool
cprobe_region_is_current(void)
{
	return cprobe_region != NULL &&
		pg_atomic_read_u32(cprobe_region_generation) == cprobe_region_mapped;
}

/* Was the library preloaded, so that the region is there for good? */
extern bool cprobe_region_is_preloaded(void);

/* Limits given by GUCs, needed for sizing. */
typedef struct CprobeRegionLimits
{
	int			max_queries;
	int			max_locks;
	int			max_pages;
	int			max_handoffs;
	int			max_stacks;
	int			history_rows;
	bool		code;			/* counters of code paths */
} CprobeRegionLimits;

/* Bytes to request from the server. May throw (sizes that overflow). */
extern Size cprobe_region_size(const CprobeRegionLimits *limits);

/*
 * Create the region, or find the one that exists, and set cprobe_region.
 * Postmaster, at startup, once. May throw.
 */
extern void cprobe_region_create(const CprobeRegionLimits *limits);

/*
 * Create the region in memory of that size that is not in use, and set
 * cprobe_region.
 */
extern void cprobe_region_create_at(void *memory,
									const CprobeRegionLimits *limits);

/*
 * Map the region if the probe was attached; throw an error that says what to
 * do if there is none.
 */
extern void cprobe_region_require(void);

/* Parts. The index must be in range; no checks. */
extern CprobeSharedWaits *cprobe_region_departed(uint32 epoch, uint32 type);
extern pg_atomic_uint64 *cprobe_region_departed_hits(uint32 epoch);
extern CprobeSharedHistogram *cprobe_region_histogram(uint32 epoch,
													  uint32 shard,
													  uint32 event);
extern CprobeSharedMap *cprobe_region_queries(void);
extern CprobeSharedMap *cprobe_region_query_events(void);
extern CprobeSharedMap *cprobe_region_locks(void);
extern CprobeSharedMap *cprobe_region_pages(void);
extern CprobeSharedMap *cprobe_region_handoffs(void);
extern CprobeSharedMap *cprobe_region_stacks(void);
extern CprobeSharedModules *cprobe_region_modules(void);
extern CprobeSharedMap *cprobe_region_profile(void);
extern CprobeSharedRing *cprobe_region_history(void);
extern CprobeSharedMap *cprobe_region_distances(void);
extern CprobeSharedNumaAreas *cprobe_region_numa_areas(void);
extern CprobeSharedCores *cprobe_region_cores(void);
extern void *cprobe_region_seen(void);
extern void *cprobe_region_perf(void);
extern struct CprobeSharedOutsideWait *cprobe_region_outside_waits(void);

/* Name of a backend type code, for display. */
extern const char *cprobe_region_type_name(uint32 type);

/*
 * Code of a background worker's type name. The sampler only; a name that
 * finds no place is "background worker", and the drop is counted.
 */
extern uint32 cprobe_region_intern_type(const char *name);

static inline uint32
cprobe_region_epoch(void)
{
	return pg_atomic_read_u32(&cprobe_region->epoch);
}

/* Counters of code paths (code_counts.h); only if they are there. */
extern char *cprobe_region_code(void);

/* Statistics flushes of a kind, in the half of an epoch. Hook context. */
extern CprobeSharedFlush *cprobe_region_flush(uint32 epoch, uint32 shard,
											  uint32 kind);

#endif							/* CPROBE_REGION_H */
