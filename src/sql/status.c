/*-------------------------------------------------------------------------
 *
 * status.c
 *	  Functions behind the views status and hooks, and reset().
 *
 * Separate from the measurements: here is what the probe says of itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "machine/clock.h"
#include "probe/activity.h"
#include "probe/lock_account.h"
#include "probe/reset.h"
#include "probe/snapshot.h"
#include "probe/wait.h"
#include "sampler/sampler.h"
#include "sql/rows.h"
#include "sql/settings.h"

PG_FUNCTION_INFO_V1(cprobe_status);
PG_FUNCTION_INFO_V1(cprobe_hooks);
PG_FUNCTION_INFO_V1(cprobe_reset);

#define CPROBE_STATUS_COLUMNS 30
#define CPROBE_HOOKS_COLUMNS 6

#define CPROBE_PS_PER_NS 1000.0

/*
 * The level that was asked for.  Where the library is not preloaded nothing is
 * hooked for all; sessions that load it hook themselves.
 */
static const char *
cprobe_status_instrument(void)
{
	if (!cprobe_region_is_preloaded())
		return "none";
	switch ((CprobeInstrument) cprobe_instrument)
	{
		case CPROBE_INSTRUMENT_NONE:
			return "none";
		case CPROBE_INSTRUMENT_WAITS:
			return "waits";
		case CPROBE_INSTRUMENT_FULL:
			return "full";
	}
	return NULL;
}

static uint64
cprobe_status_hits(const CprobeSnapshot *snapshot)
{
	uint64		hits = 0;

	for (int i = 0; i < CPROBE_HOOK_COUNT; i++)
		hits += snapshot->hits[i];
	return hits;
}

static uint32
cprobe_status_slots_used(const CprobeSnapshot *snapshot)
{
	uint32		used = 0;

	for (uint32 i = 0; i < snapshot->slot_count; i++)
	{
		if (snapshot->slots[i].used && snapshot->slots[i].alive)
			used++;
	}
	return used;
}

static void
cprobe_status_put_sampler(CprobeRows *rows)
{
	CprobeSharedSampler *sampler = &cprobe_region->sampler;

	cprobe_rows_put_pid(rows, (int) pg_atomic_read_u32(&sampler->pid));
	cprobe_rows_put_float8(rows, (double) cprobe_sample_interval_ms);
	cprobe_rows_put_int8(rows, pg_atomic_read_u64(&sampler->ticks));
	cprobe_rows_put_int8(rows, pg_atomic_read_u64(&sampler->missed_ticks));
	cprobe_rows_put_ms(rows, (double) pg_atomic_read_u64(&sampler->cpu_ns));
}

/*
 * Cost of a hit, in picoseconds: as measured under this load, or, before any
 * hit was measured, as calibrated at the start of the sampler; 0 = not known.
 */
static uint64
cprobe_status_hit_cost_ps(const CprobeSnapshot *snapshot)
{
	uint64		samples = snapshot->hits[CPROBE_TALLY_COST_SAMPLES];

	if (samples > 0)
		return snapshot->hits[CPROBE_TALLY_COST_NS] * 1000 / samples;
	return pg_atomic_read_u64(&cprobe_region->sampler.hook_cost_ps);
}

/* Hits, what they cost, and what one costs. */
static void
cprobe_status_put_hooks(CprobeRows *rows, const CprobeSnapshot *snapshot)
{
	uint64		hits = cprobe_status_hits(snapshot);
	uint64		cost_ps = cprobe_status_hit_cost_ps(snapshot);

	cprobe_rows_put_int8(rows, hits);
	if (cost_ps == 0)
	{
		cprobe_rows_put_null(rows);
		cprobe_rows_put_null(rows);
		return;
	}
	cprobe_rows_put_ms(rows, (double) hits * (double) cost_ps /
					   CPROBE_PS_PER_NS);
	cprobe_rows_put_float8(rows, (double) cost_ps / CPROBE_PS_PER_NS);
}

static void
cprobe_status_put_drops(CprobeRows *rows)
{
	uint32		epoch = cprobe_region_epoch();
	CprobeSharedMap *queries = cprobe_region_queries();

	cprobe_rows_put_int8(rows, pg_atomic_read_u64(&queries->dropped) +
						 pg_atomic_read_u64(&cprobe_region_query_events()->dropped));
	cprobe_rows_put_int8(rows, pg_atomic_read_u64(&cprobe_region_locks()->dropped));
	cprobe_rows_put_int8(rows, pg_atomic_read_u64(&cprobe_region_profile()->dropped));
	cprobe_rows_put_int8(rows, pg_atomic_read_u64(&cprobe_region->sampler.dropped_names));
	cprobe_rows_put_int8(rows, cprobe_map_used(queries, epoch));
	cprobe_rows_put_int8(rows, queries->limit);
	cprobe_rows_put_text(rows, cprobe_instrument_reason);
	cprobe_rows_put_int8(rows, pg_atomic_read_u64(&cprobe_region_pages()->dropped));
	cprobe_rows_put_int8(rows, pg_atomic_read_u64(&cprobe_region_handoffs()->dropped));
}

/* Of how many waits for locks the lock is known, and how surely. */
static void
cprobe_status_put_identity(CprobeRows *rows)
{
	CprobeSharedMap *locks = cprobe_region_locks();
	uint32		epoch = cprobe_region_epoch();
	uint32		position = 0;
	CprobeMapRow row;
	uint64		waits = 0;
	uint64		proven = 0;
	uint64		inferred = 0;

	while (cprobe_map_next(locks, epoch, &position, &row))
	{
		waits += row.values[CPROBE_LOCK_WAITS];
		proven += row.values[CPROBE_LOCK_PROVEN];
		inferred += row.values[CPROBE_LOCK_INFERRED];
	}
	cprobe_rows_put_int8(rows, proven);
	cprobe_rows_put_int8(rows, inferred);
	cprobe_rows_put_int8(rows, waits > proven + inferred ?
						 waits - proven - inferred : 0);
}

/* Of how many processes, and how many of them are hooked. */
static void
cprobe_status_put_coverage(CprobeRows *rows, const CprobeSnapshot *snapshot)
{
	uint32		processes = 0;
	uint32		hooked = 0;

	for (uint32 i = 0; i < snapshot->slot_count; i++)
	{
		int			pid = cprobe_activity_proc_pid(i);

		if (pid == 0)
			continue;
		processes++;
		hooked += cprobe_slot_get(i)->pid == pid ? 1 : 0;
	}
	/* Inherited from the postmaster; a slot is taken at the first wait. */
	if (cprobe_region_is_preloaded())
		hooked = cprobe_instrument != CPROBE_INSTRUMENT_NONE ? processes : 0;
	cprobe_rows_put_int4(rows, (int32) hooked);
	cprobe_rows_put_int4(rows, (int32) processes);
}

Datum
cprobe_status(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeSnapshot *snapshot;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_STATUS_COLUMNS);
	snapshot = cprobe_snapshot_take();
	cprobe_rows_put_text(&rows, cprobe_status_instrument());
	cprobe_rows_put_bool(&rows, cprobe_enabled);
	cprobe_rows_put_text(&rows, cprobe_region_is_preloaded() ?
						 "preloaded" : "attached");
	cprobe_rows_put_timestamp(&rows, (TimestampTz)
							  pg_atomic_read_u64(&cprobe_region->stats_since));
	cprobe_status_put_sampler(&rows);
	cprobe_rows_put_int4(&rows, (int32) cprobe_status_slots_used(snapshot));
	cprobe_rows_put_int4(&rows, (int32) snapshot->slot_count);
	cprobe_rows_put_int8(&rows, cprobe_region->total_bytes);
	cprobe_status_put_hooks(&rows, snapshot);
	cprobe_status_put_drops(&rows);
	cprobe_status_put_identity(&rows);
	cprobe_rows_put_int8(&rows, pg_atomic_read_u64(&cprobe_region_stacks()->dropped));
	cprobe_status_put_coverage(&rows, snapshot);
	cprobe_rows_end_row(&rows);
	return (Datum) 0;
}

static const char *
cprobe_hook_state_name(CprobeHookState state)
{
	switch (state)
	{
		case CPROBE_HOOK_OFF:
			return "off";
		case CPROBE_HOOK_ACTIVE:
			return "active";
		case CPROBE_HOOK_MISSING:
			return "missing";
		case CPROBE_HOOK_REFUSED:
			return "refused";
	}
	return NULL;
}

Datum
cprobe_hooks(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeSnapshot *snapshot;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_HOOKS_COLUMNS);
	snapshot = cprobe_snapshot_take();
	for (int i = 0; i < CPROBE_HOOK_COUNT; i++)
	{
		const CprobeHook *hook = cprobe_hook_get((CprobeHookId) i);
		bool		counts = strcmp(hook->mechanism, "got") == 0;

		cprobe_rows_put_text(&rows, hook->name);
		cprobe_rows_put_text(&rows, hook->symbol);
		cprobe_rows_put_text(&rows, hook->mechanism);
		cprobe_rows_put_text(&rows, cprobe_hook_state_name(hook->state));
		cprobe_rows_put_text(&rows, hook->reason[0] != '\0' ?
							 hook->reason : NULL);
		if (counts)
			cprobe_rows_put_int8(&rows, snapshot->hits[i]);
		else
			cprobe_rows_put_null(&rows);
		cprobe_rows_end_row(&rows);
	}
	return (Datum) 0;
}

Datum
cprobe_reset(PG_FUNCTION_ARGS)
{
	(void) fcinfo;
	cprobe_region_require();
	cprobe_reset_all();
	PG_RETURN_VOID();
}
