/*-------------------------------------------------------------------------
 *
 * region.c
 *	  Sizing and creating the shared region, and finding its parts.
 *
 * Separate from what is counted there: see region.h for the layout.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "pgstat.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "machine/clock.h"
#include "machine/topology.h"
#include "probe/attachment.h"
#include "probe/code_counts.h"
#include "probe/cpu_seen.h"
#include "probe/event_names.h"
#include "probe/lock_account.h"
#include "probe/numa_areas.h"
#include "probe/outside_waits.h"
#include "probe/perf_account.h"
#include "probe/region.h"
#include "probe/slot.h"
#include "probe/stacks.h"
#include "probe/stats_flush.h"

/*
 * A query waits in a handful of events; a profile row is one of those or CPU,
 * besides those of processes without a query.
 */
#define CPROBE_EVENTS_PER_QUERY 8
#define CPROBE_PROFILE_PER_QUERY 4
#define CPROBE_PROFILE_BASE 4096

#define CPROBE_QUERY_KEY_WORDS 2
#define CPROBE_QUERY_VALUE_WORDS 1
#define CPROBE_QUERY_EVENT_KEY_WORDS 3
#define CPROBE_QUERY_EVENT_VALUE_WORDS 2
#define CPROBE_PROFILE_KEY_WORDS 2
#define CPROBE_PROFILE_VALUE_WORDS 1

CprobeSharedRegion *cprobe_region = NULL;

/* Without an attachment: generation 0, for good. */
static pg_atomic_uint32 cprobe_no_generation = {0};

pg_atomic_uint32 *cprobe_region_generation = &cprobe_no_generation;
uint32		cprobe_region_mapped = 0;

static bool cprobe_preloaded = false;

typedef struct CprobeTypeName
{
	char text[	CPROBE_TYPE_NAME_BYTES];
} CprobeTypeName;

static uint32
cprobe_region_query_event_limit(const CprobeRegionLimits *limits)
{
	return (uint32) limits->max_queries * CPROBE_EVENTS_PER_QUERY;
}

static uint32
cprobe_region_profile_limit(const CprobeRegionLimits *limits)
{
	return (uint32) limits->max_queries * CPROBE_PROFILE_PER_QUERY +
		CPROBE_PROFILE_BASE;
}

/*
 * Every pair of nodes, within one socket or not, and the closer ones of each;
 * twice that, for hot-plugged CPUs, whose node is not known.
 */
static uint32
cprobe_region_distance_limit(void)
{
	uint32		nodes = (uint32) cprobe_node_count + 1;

	return 2 * (nodes * nodes * 2 + nodes * CPROBE_WITHIN_COUNT);
}

/* Reserve a part: its offset, aligned to a cache line. */
static Size
cprobe_region_place(Size *total, Size bytes)
{
	Size		offset = *total;

	*total = add_size(*total, CACHELINEALIGN(bytes));
	return offset;
}

/* The parts that depend on the machine only. */
static void
cprobe_region_lay_out_machine(CprobeSharedRegion *region, Size *total)
{
	region->distances_offset = cprobe_region_place(total,
												   cprobe_map_size(cprobe_region_distance_limit(),
																   CPROBE_DISTANCE_KEY_WORDS,
																   CPROBE_HANDOFF_VALUE_WORDS));
	region->numa_areas_offset = cprobe_region_place(total,
													sizeof(CprobeSharedNumaAreas));
	region->cores_offset = cprobe_region_place(total, cprobe_cores_bytes());
	region->seen_offset = cprobe_region_place(total,
											  mul_size(region->slot_count,
													   cprobe_seen_bytes()));
	region->perf_offset = cprobe_region_place(total,
											  mul_size(region->slot_count + 1,
													   sizeof(CprobeSharedPerf)));
}

/* What code paths that need not sleep are counted in. */
static void
cprobe_region_lay_out_code(CprobeSharedRegion *region,
						   const CprobeRegionLimits *limits, Size *total)
{
	region->flushes_offset = cprobe_region_place(total,
												 CPROBE_PARITIES * CPROBE_FLUSH_SHARDS *
												 CPROBE_STATS_KINDS * sizeof(CprobeSharedFlush));
	if (limits->code)
		region->code_offset = cprobe_region_place(total,
												  cprobe_code_size(region->slot_count));
}

/* What only the sampler writes besides profile and history. */
static void
cprobe_region_lay_out_seen(CprobeSharedRegion *region, Size *total)
{
	region->type_names_offset = cprobe_region_place(total,
													CPROBE_TYPE_NAMES * sizeof(CprobeTypeName));
	region->outside_waits_offset = cprobe_region_place(total,
													   mul_size(region->slot_count,
																sizeof(CprobeSharedOutsideWait)));
}

/* Fill in every offset; the same arithmetic sizes and creates the region. */
static void
cprobe_region_lay_out(CprobeSharedRegion *region,
					  const CprobeRegionLimits *limits)
{
	Size		total = CACHELINEALIGN(sizeof(CprobeSharedRegion));
	uint32		events = region->events.event_count;

	region->slot_count = (uint32) (MaxBackends + NUM_AUXILIARY_PROCS);
	region->slot_bytes = cprobe_slot_size(events);
	region->slots_offset = cprobe_region_place(&total,
											   mul_size(region->slot_count,
														region->slot_bytes));
	region->pulses_offset = cprobe_region_place(&total,
												mul_size(region->slot_count,
														 sizeof(CprobeSharedPulse)));
	region->departed_offset = cprobe_region_place(&total,
												  mul_size(CPROBE_PARITIES * CPROBE_TYPES * events,
														   sizeof(CprobeSharedWaits)));
	region->departed_hits_offset = cprobe_region_place(&total,
													   CPROBE_PARITIES * CPROBE_TALLIES *
													   sizeof(pg_atomic_uint64));
	region->histograms_offset = cprobe_region_place(&total,
													mul_size(CPROBE_PARITIES * CPROBE_HISTOGRAM_SHARDS * events,
															 sizeof(CprobeSharedHistogram)));
	region->queries_offset = cprobe_region_place(&total,
												 cprobe_map_size((uint32) limits->max_queries,
																 CPROBE_QUERY_KEY_WORDS,
																 CPROBE_QUERY_VALUE_WORDS));
	region->query_events_offset = cprobe_region_place(&total,
													  cprobe_map_size(cprobe_region_query_event_limit(limits),
																	  CPROBE_QUERY_EVENT_KEY_WORDS,
																	  CPROBE_QUERY_EVENT_VALUE_WORDS));
	region->locks_offset = cprobe_region_place(&total,
											   cprobe_map_size((uint32) limits->max_locks,
															   CPROBE_LOCK_KEY_WORDS,
															   CPROBE_LOCK_VALUE_WORDS));
	region->pages_offset = cprobe_region_place(&total,
											   cprobe_map_size((uint32) limits->max_pages,
															   CPROBE_PAGE_KEY_WORDS,
															   CPROBE_PAGE_VALUE_WORDS));
	region->handoffs_offset = cprobe_region_place(&total,
												  cprobe_map_size((uint32) limits->max_handoffs,
																  CPROBE_HANDOFF_KEY_WORDS,
																  CPROBE_HANDOFF_VALUE_WORDS));
	region->stacks_offset = cprobe_region_place(&total,
												cprobe_map_size((uint32) limits->max_stacks,
																CPROBE_STACK_KEY_WORDS,
																CPROBE_STACK_VALUE_WORDS));
	region->modules_offset = cprobe_region_place(&total,
												 sizeof(CprobeSharedModules));
	region->profile_offset = cprobe_region_place(&total,
												 cprobe_map_size(cprobe_region_profile_limit(limits),
																 CPROBE_PROFILE_KEY_WORDS,
																 CPROBE_PROFILE_VALUE_WORDS));
	region->history_offset = cprobe_region_place(&total,
												 cprobe_ring_size((uint32) limits->history_rows));
	cprobe_region_lay_out_seen(region, &total);
	cprobe_region_lay_out_code(region, limits, &total);
	cprobe_region_lay_out_machine(region, &total);
	region->total_bytes = total;
}

Size
cprobe_region_size(const CprobeRegionLimits *limits)
{
	CprobeSharedRegion region = {0};

	cprobe_event_names_index(&region.events);
	cprobe_region_lay_out(&region, limits);
	return region.total_bytes;
}

static void *
cprobe_region_at(Size offset)
{
	return (char *) cprobe_region + offset;
}

/* The server hands out zeroed memory; only what is not zero is stored here. */
static void
cprobe_region_init(const CprobeRegionLimits *limits)
{
	memset(cprobe_region, 0, sizeof(*cprobe_region));
	cprobe_event_names_index(&cprobe_region->events);
	cprobe_region_lay_out(cprobe_region, limits);
	pg_atomic_init_u32(&cprobe_region->epoch, 1);
	pg_atomic_init_u64(&cprobe_region->reset_at_ns, cprobe_clock_now_ns());
	pg_atomic_init_u64(&cprobe_region->stats_since,
					   (uint64) GetCurrentTimestamp());
	cprobe_map_init(cprobe_region_queries(), (uint32) limits->max_queries,
					CPROBE_QUERY_KEY_WORDS, CPROBE_QUERY_VALUE_WORDS);
	cprobe_map_init(cprobe_region_query_events(),
					cprobe_region_query_event_limit(limits),
					CPROBE_QUERY_EVENT_KEY_WORDS,
					CPROBE_QUERY_EVENT_VALUE_WORDS);
	cprobe_map_init(cprobe_region_locks(), (uint32) limits->max_locks,
					CPROBE_LOCK_KEY_WORDS, CPROBE_LOCK_VALUE_WORDS);
	cprobe_map_init(cprobe_region_pages(), (uint32) limits->max_pages,
					CPROBE_PAGE_KEY_WORDS, CPROBE_PAGE_VALUE_WORDS);
	cprobe_map_init(cprobe_region_handoffs(), (uint32) limits->max_handoffs,
					CPROBE_HANDOFF_KEY_WORDS, CPROBE_HANDOFF_VALUE_WORDS);
	cprobe_map_init(cprobe_region_stacks(), (uint32) limits->max_stacks,
					CPROBE_STACK_KEY_WORDS, CPROBE_STACK_VALUE_WORDS);
	cprobe_map_init(cprobe_region_profile(),
					cprobe_region_profile_limit(limits),
					CPROBE_PROFILE_KEY_WORDS, CPROBE_PROFILE_VALUE_WORDS);
	cprobe_ring_init(cprobe_region_history(), (uint32) limits->history_rows);
	cprobe_map_init(cprobe_region_distances(), cprobe_region_distance_limit(),
					CPROBE_DISTANCE_KEY_WORDS, CPROBE_HANDOFF_VALUE_WORDS);
}

void
cprobe_region_create(const CprobeRegionLimits *limits)
{
	bool		found;

	cprobe_region = ShmemInitStruct(CPROBE_SHARED_NAME,
									cprobe_region_size(limits), &found);
	cprobe_preloaded = true;
	if (!found)
		cprobe_region_init(limits);
}

void
cprobe_region_create_at(void *memory, const CprobeRegionLimits *limits)
{
	memset(memory, 0, cprobe_region_size(limits));
	cprobe_region = memory;
	cprobe_region_init(limits);
}

bool
cprobe_region_is_preloaded(void)
{
	return cprobe_preloaded;
}

void
cprobe_region_require(void)
{
	cprobe_attachment_refresh();
	if (cprobe_region == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("contention_probe must be loaded via \"shared_preload_libraries\", or attached"),
				 errhint("Run SELECT contention_probe.attach(), which needs no restart, or add contention_probe to shared_preload_libraries and restart the server.")));
}

CprobeSharedWaits *
cprobe_region_departed(uint32 epoch, uint32 type)
{
	CprobeSharedWaits *departed = cprobe_region_at(cprobe_region->departed_offset);

	return departed + ((Size) (epoch % CPROBE_PARITIES) * CPROBE_TYPES + type) *
		cprobe_region->events.event_count;
}

pg_atomic_uint64 *
cprobe_region_departed_hits(uint32 epoch)
{
	pg_atomic_uint64 *hits = cprobe_region_at(cprobe_region->departed_hits_offset);

	return hits + (epoch % CPROBE_PARITIES) * CPROBE_TALLIES;
}

CprobeSharedHistogram *
cprobe_region_histogram(uint32 epoch, uint32 shard, uint32 event)
{
	CprobeSharedHistogram *histograms = cprobe_region_at(cprobe_region->histograms_offset);

	return histograms +
		((Size) (epoch % CPROBE_PARITIES) * CPROBE_HISTOGRAM_SHARDS + shard) *
		cprobe_region->events.event_count + event;
}

CprobeSharedMap *
cprobe_region_queries(void)
{
	return cprobe_region_at(cprobe_region->queries_offset);
}

CprobeSharedMap *
cprobe_region_query_events(void)
{
	return cprobe_region_at(cprobe_region->query_events_offset);
}

CprobeSharedMap *
cprobe_region_locks(void)
{
	return cprobe_region_at(cprobe_region->locks_offset);
}

CprobeSharedMap *
cprobe_region_pages(void)
{
	return cprobe_region_at(cprobe_region->pages_offset);
}

CprobeSharedMap *
cprobe_region_handoffs(void)
{
	return cprobe_region_at(cprobe_region->handoffs_offset);
}

CprobeSharedMap *
cprobe_region_stacks(void)
{
	return cprobe_region_at(cprobe_region->stacks_offset);
}

CprobeSharedModules *
cprobe_region_modules(void)
{
	return cprobe_region_at(cprobe_region->modules_offset);
}

CprobeSharedMap *
cprobe_region_profile(void)
{
	return cprobe_region_at(cprobe_region->profile_offset);
}

CprobeSharedMap *
cprobe_region_distances(void)
{
	return cprobe_region_at(cprobe_region->distances_offset);
}

CprobeSharedNumaAreas *
cprobe_region_numa_areas(void)
{
	return cprobe_region_at(cprobe_region->numa_areas_offset);
}

CprobeSharedCores *
cprobe_region_cores(void)
{
	return cprobe_region_at(cprobe_region->cores_offset);
}

void *
cprobe_region_seen(void)
{
	return cprobe_region_at(cprobe_region->seen_offset);
}

void *
cprobe_region_perf(void)
{
	return cprobe_region_at(cprobe_region->perf_offset);
}

CprobeSharedRing *
cprobe_region_history(void)
{
	return cprobe_region_at(cprobe_region->history_offset);
}

char *
cprobe_region_code(void)
{
	return cprobe_region_at(cprobe_region->code_offset);
}

CprobeSharedFlush *
cprobe_region_flush(uint32 epoch, uint32 shard, uint32 kind)
{
	CprobeSharedFlush *flushes = cprobe_region_at(cprobe_region->flushes_offset);

	return flushes +
		((epoch % CPROBE_PARITIES) * CPROBE_FLUSH_SHARDS + shard) *
		CPROBE_STATS_KINDS + kind;
}

CprobeSharedOutsideWait *
cprobe_region_outside_waits(void)
{
	return cprobe_region_at(cprobe_region->outside_waits_offset);
}

static CprobeTypeName *
cprobe_region_type_names(void)
{
	return cprobe_region_at(cprobe_region->type_names_offset);
}

const char *
cprobe_region_type_name(uint32 type)
{
	if (type == CPROBE_TYPE_PARALLEL_WORKER)
		return "parallel worker";
	if (type >= CPROBE_TYPE_FIRST_NAMED &&
		type < CPROBE_TYPE_FIRST_NAMED + CPROBE_TYPE_NAMES)
		return cprobe_region_type_names()[type - CPROBE_TYPE_FIRST_NAMED].text;
	return GetBackendTypeDesc((BackendType) type);
}

/*
 * Names are appended and never change: a reader that knows a code finds its
 * name complete, for the code was published after it.
 */
uint32
cprobe_region_intern_type(const char *name)
{
	CprobeTypeName *names = cprobe_region_type_names();
	uint32		count = pg_atomic_read_u32(&cprobe_region->type_name_count);

	for (uint32 i = 0; i < count; i++)
	{
		if (strcmp(names[i].text, name) == 0)
			return CPROBE_TYPE_FIRST_NAMED + i;
	}
	if (count == CPROBE_TYPE_NAMES)
	{
		pg_atomic_fetch_add_u64(&cprobe_region->sampler.dropped_names, 1);
		return B_BG_WORKER;
	}
	strlcpy(names[count].text, name, CPROBE_TYPE_NAME_BYTES);
	pg_write_barrier();
	pg_atomic_write_u32(&cprobe_region->type_name_count, count + 1);
	return CPROBE_TYPE_FIRST_NAMED + count;
}
