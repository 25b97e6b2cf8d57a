/*-------------------------------------------------------------------------
 *
 * reset.c
 *	  Starting all statistics anew while everything runs.
 *
 * Separate: see reset.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "machine/clock.h"
#include "probe/code_counts.h"
#include "probe/region.h"
#include "probe/reset.h"
#include "probe/stats_flush.h"
#include "probe/usage.h"

#define CPROBE_RESET_MAX_WAIT_MS 1000

/*
 * One reset at a time.  The holder neither throws nor sleeps before it gives
 * the word back, and if it is killed the server starts over with a new region.
 */
static void
cprobe_reset_enter(void)
{
	for (int waited_ms = 0; waited_ms < CPROBE_RESET_MAX_WAIT_MS; waited_ms++)
	{
		uint32		nobody = 0;

		CHECK_FOR_INTERRUPTS();
		if (pg_atomic_compare_exchange_u32(&cprobe_region->reset_pid, &nobody,
										   (uint32) MyProcPid))
			return;
		pg_usleep(1000);
	}
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("statistics are being reset by process %u",
					pg_atomic_read_u32(&cprobe_region->reset_pid))));
}

/* Clear the half of the coming epoch, which nobody uses. */
static void
cprobe_reset_prepare(uint32 epoch)
{
	uint32		events = cprobe_region->events.event_count;
	CprobeSharedWaits *departed = cprobe_region_departed(epoch, 0);
	pg_atomic_uint64 *hits = cprobe_region_departed_hits(epoch);

	for (Size i = 0; i < (Size) CPROBE_TYPES * events; i++)
	{
		pg_atomic_write_u64(&departed[i].waits, 0);
		pg_atomic_write_u64(&departed[i].time_ns, 0);
	}
	for (int i = 0; i < CPROBE_TALLIES; i++)
		pg_atomic_write_u64(&hits[i], 0);
	cprobe_stats_flush_clear(epoch);
	for (int i = 0; i < CPROBE_MACHINE_COUNTERS; i++)
		pg_atomic_write_u64(&cprobe_region->departed_machine[epoch % CPROBE_PARITIES][i],
							0);
	cprobe_code_clear(epoch);
	for (uint32 shard = 0; shard < CPROBE_HISTOGRAM_SHARDS; shard++)
	{
		for (uint32 event = 0; event < events; event++)
			cprobe_histogram_clear(cprobe_region_histogram(epoch, shard, event));
	}
}

static void
cprobe_reset_drops(void)
{
	pg_atomic_write_u64(&cprobe_region_queries()->dropped, 0);
	pg_atomic_write_u64(&cprobe_region_query_events()->dropped, 0);
	pg_atomic_write_u64(&cprobe_region_locks()->dropped, 0);
	pg_atomic_write_u64(&cprobe_region_pages()->dropped, 0);
	pg_atomic_write_u64(&cprobe_region_handoffs()->dropped, 0);
	pg_atomic_write_u64(&cprobe_region_stacks()->dropped, 0);
	pg_atomic_write_u64(&cprobe_region_profile()->dropped, 0);
	pg_atomic_write_u64(&cprobe_region_distances()->dropped, 0);
}

void
cprobe_reset_all(void)
{
	uint32		epoch;

	cprobe_reset_enter();
	epoch = cprobe_region_epoch() + 1;
	cprobe_reset_prepare(epoch);
	pg_atomic_write_u64(&cprobe_region->reset_at_ns, cprobe_clock_now_ns());
	pg_atomic_write_u64(&cprobe_region->stats_since,
						(uint64) GetCurrentTimestamp());
	cprobe_usage_mark_reset();
	pg_memory_barrier();
	pg_atomic_write_u32(&cprobe_region->epoch, epoch);
	cprobe_code_rebase();
	cprobe_reset_drops();
	cprobe_ring_clear(cprobe_region_history());
	pg_memory_barrier();
	pg_atomic_write_u32(&cprobe_region->reset_pid, 0);
}
