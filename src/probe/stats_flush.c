/*-------------------------------------------------------------------------
 *
 * stats_flush.c
 *	  The callbacks that stand in for the server's.
 *
 * Separate: see stats_flush.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/pgstat_internal.h"

#include "compat.h"
#include "machine/clock.h"
#include "patch/protect.h"
#include "probe/hooks.h"
#include "probe/slot.h"
#include "probe/stats_flush.h"
#include "probe/wait.h"

/* Looks at a maximum that others raise too. */
#define CPROBE_FLUSH_MAX_TRIES 16

typedef bool (*CprobeFlushPending) (PgStat_EntryRef *ref, bool nowait);
typedef bool (*CprobeFlushStatic) (bool nowait);

/* The server's callbacks, by kind; NULL: not replaced. Immutable after start. */
static CprobeFlushPending cprobe_flush_pending[CPROBE_STATS_KINDS];
static CprobeFlushStatic cprobe_flush_static[CPROBE_STATS_KINDS];

/* See cprobe_stats_flush_failures. */
static uint64 cprobe_flush_failures = 0;

/* When the first flush of the report began; 0 = none since it began. */
static uint64 cprobe_flush_first_ns = 0;

static inline uint64
cprobe_flush_begin(void)
{
	uint64		now_ns = cprobe_clock_now_ns();

	if (cprobe_flush_first_ns == 0)
		cprobe_flush_first_ns = now_ns;
	return now_ns;
}

/* Cost: two looks at the clock and some atomics, about 100 ns a flush. */
static void
cprobe_flush_account(int kind, bool failed, uint64 begin_ns)
{
	CprobeSharedSlot *slot = cprobe_slot_mine();
	uint64		duration_ns = cprobe_clock_now_ns() - begin_ns;
	CprobeSharedFlush *flush;
	uint64		max_ns;
	int			tries = CPROBE_FLUSH_MAX_TRIES;

	if (failed)
		cprobe_flush_failures++;
	if (slot == NULL)
		return;
	flush = cprobe_region_flush(cprobe_region_epoch(),
								cprobe_slot_my_number() % CPROBE_FLUSH_SHARDS,
								(uint32) kind);
	pg_atomic_fetch_add_u64(&flush->flushes, 1);
	pg_atomic_fetch_add_u64(failed ? &flush->lock_failures : &flush->entries,
							1);
	pg_atomic_fetch_add_u64(&flush->time_ns, duration_ns);
	max_ns = pg_atomic_read_u64(&flush->max_ns);
	while (duration_ns > max_ns && tries-- > 0)
	{
		if (pg_atomic_compare_exchange_u64(&flush->max_ns, &max_ns,
										   duration_ns))
			break;
	}
}

/* Stands in for every kind's flush_pending_cb: the entry tells its kind. */
static bool
cprobe_flush_pending_hook(PgStat_EntryRef *ref, bool nowait)
{
	int			kind = (int) ref->shared_entry->key.kind;
	uint64		begin_ns;
	bool		flushed;

	if (!cprobe_enabled)
		return cprobe_flush_pending[kind] (ref, nowait);
	begin_ns = cprobe_flush_begin();
	flushed = cprobe_flush_pending[kind] (ref, nowait);
	cprobe_flush_account(kind, !flushed, begin_ns);
	return flushed;
}

#if CPROBE_HAS_STATIC_FLUSH

/* flush_static_cb does not get to know its kind, so there is one for each. */
static bool
cprobe_flush_static_of(int kind, bool nowait)
{
	uint64		begin_ns;
	bool		failed;

	if (!cprobe_enabled)
		return cprobe_flush_static[kind] (nowait);
	begin_ns = cprobe_flush_begin();
	failed = cprobe_flush_static[kind] (nowait);
	cprobe_flush_account(kind, failed, begin_ns);
	return failed;
}

#define CPROBE_FLUSH_KINDS(X) \
	X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) \
	X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) \
	X(26) X(27) X(28) X(29) X(30) X(31) X(32)

#define CPROBE_FLUSH_STATIC_HOOK(kind) \
	static bool cprobe_flush_static_hook_##kind(bool nowait) \
	{ \
		return cprobe_flush_static_of(kind, nowait); \
	}

CPROBE_FLUSH_KINDS(CPROBE_FLUSH_STATIC_HOOK)

#define CPROBE_FLUSH_STATIC_ENTRY(kind) [kind] = cprobe_flush_static_hook_##kind,

static const CprobeFlushStatic cprobe_flush_static_hooks[CPROBE_STATS_KINDS] = {
	CPROBE_FLUSH_KINDS(CPROBE_FLUSH_STATIC_ENTRY)
};

StaticAssertDecl(CPROBE_STATS_KINDS == 33, "there is a hook for every kind");

static void **
cprobe_flush_static_slot(const PgStat_KindInfo *info)
{
	return (void **) &((PgStat_KindInfo *) info)->flush_static_cb;
}

static void *
cprobe_flush_static_replacement(int kind)
{
	return (void *) cprobe_flush_static_hooks[kind];
}

#else

static void **
cprobe_flush_static_slot(const PgStat_KindInfo *info)
{
	(void) info;
	return NULL;
}

static void *
cprobe_flush_static_replacement(int kind)
{
	(void) kind;
	return NULL;
}

#endif

/* What became of the callbacks of one sort. */
typedef struct CprobeFlushInstall
{
	int			replaced;
	char		refusal[CPROBE_GOT_REASON_BYTES];
} CprobeFlushInstall;

/* Replace one callback, if there is one and it is not replaced yet. */
static void
cprobe_flush_replace(void **slot, void *replacement, void **original,
					 CprobeFlushInstall *install)
{
	if (slot == NULL || *slot == NULL || *slot == replacement)
		return;

	/* The original first: the new callback may be called at once. */
	*original = *slot;
	if (cprobe_protect_store(slot, replacement,
							 cprobe_protect_is_read_only(slot)))
	{
		install->replaced++;
		return;
	}
	snprintf(install->refusal, sizeof(install->refusal),
			 "the table could not be changed: mprotect: %s", strerror(errno));
	*original = NULL;
}

static void
cprobe_flush_report(CprobeHookId id, const CprobeFlushInstall *install)
{
	if (install->refusal[0] != '\0')
		cprobe_hook_set_state(id, CPROBE_HOOK_REFUSED, install->refusal);
	else if (install->replaced > 0)
		cprobe_hook_set_state(id, CPROBE_HOOK_ACTIVE, "");
	else if (cprobe_hook_get(id)->state == CPROBE_HOOK_OFF)
		cprobe_hook_set_state(id, CPROBE_HOOK_MISSING,
							  "no kind of statistics has this callback");
}

void
cprobe_stats_flush_install(void)
{
	CprobeFlushInstall pending = {0};
	CprobeFlushInstall fixed = {0};

	for (int kind = CPROBE_STATS_KIND_FIRST; kind <= CPROBE_STATS_KIND_LAST; kind++)
	{
		const PgStat_KindInfo *info = pgstat_get_kind_info((PgStat_Kind) kind);

		if (info == NULL)
			continue;
		cprobe_flush_replace((void **) &((PgStat_KindInfo *) info)->flush_pending_cb,
							 (void *) cprobe_flush_pending_hook,
							 (void **) &cprobe_flush_pending[kind], &pending);
		cprobe_flush_replace(cprobe_flush_static_slot(info),
							 cprobe_flush_static_replacement(kind),
							 (void **) &cprobe_flush_static[kind], &fixed);
	}
	cprobe_flush_report(CPROBE_HOOK_FLUSH_PENDING, &pending);
	cprobe_flush_report(CPROBE_HOOK_FLUSH_STATIC, &fixed);
}

bool
cprobe_stats_flush_counts(int kind)
{
	return cprobe_flush_pending[kind] != NULL ||
		cprobe_flush_static[kind] != NULL;
}

uint64
cprobe_stats_flush_failures(void)
{
	return cprobe_flush_failures;
}

void
cprobe_stats_flush_begin_report(void)
{
	cprobe_flush_first_ns = 0;
}

uint64
cprobe_stats_flush_end_report(void)
{
	return cprobe_flush_first_ns;
}

CprobeFlush
cprobe_stats_flush_read(int kind)
{
	CprobeFlush sum = {0};
	uint32		epoch = cprobe_region_epoch();

	for (uint32 shard = 0; shard < CPROBE_FLUSH_SHARDS; shard++)
	{
		CprobeSharedFlush *flush = cprobe_region_flush(epoch, shard,
													   (uint32) kind);

		sum.flushes += pg_atomic_read_u64(&flush->flushes);
		sum.entries += pg_atomic_read_u64(&flush->entries);
		sum.lock_failures += pg_atomic_read_u64(&flush->lock_failures);
		sum.time_ns += pg_atomic_read_u64(&flush->time_ns);
		sum.max_ns = Max(sum.max_ns, pg_atomic_read_u64(&flush->max_ns));
	}
	return sum;
}

void
cprobe_stats_flush_clear(uint32 epoch)
{
	for (uint32 shard = 0; shard < CPROBE_FLUSH_SHARDS; shard++)
	{
		for (uint32 kind = 0; kind < CPROBE_STATS_KINDS; kind++)
		{
			CprobeSharedFlush *flush = cprobe_region_flush(epoch, shard, kind);

			pg_atomic_write_u64(&flush->flushes, 0);
			pg_atomic_write_u64(&flush->entries, 0);
			pg_atomic_write_u64(&flush->lock_failures, 0);
			pg_atomic_write_u64(&flush->time_ns, 0);
			pg_atomic_write_u64(&flush->max_ns, 0);
		}
	}
}
