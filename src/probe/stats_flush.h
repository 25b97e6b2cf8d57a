/*-------------------------------------------------------------------------
 *
 * stats_flush.h
 *	  Counting and timing the flushes of cumulative statistics, by kind.
 *
 * Separate because it hooks neither a library call nor code: the server keeps
 * a table of callbacks for each kind of statistics, and two of them are
 * replaced by ones that look at the clock and go on to the original.
 *
 * A process collects statistics privately and flushes them to shared memory
 * between transactions: entry by entry for kinds that have many (tables,
 * functions, databases), at once for kinds that exist once (from 18 on).  It
 * does not wait for the lock of an entry unless it has put off the flush for
 * long; one that found the lock taken counts as a lock failure.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_STATS_FLUSH_H
#define CPROBE_STATS_FLUSH_H

#include "probe/region.h"

/* Counters of one kind in one shard. Atomic add by any process. */
struct CprobeSharedFlush
{
	pg_atomic_uint64 flushes;	/* calls of the callback */
	pg_atomic_uint64 entries;	/* of these, with the counts handed over */
	pg_atomic_uint64 lock_failures; /* of these, given up for a lock */
	pg_atomic_uint64 time_ns;
	pg_atomic_uint64 max_ns;	/* raised by compare-and-swap */
};

/* A reader's sum over the shards. */
typedef struct CprobeFlush
{
	uint64		flushes;
	uint64		entries;
	uint64		lock_failures;
	uint64		time_ns;
	uint64		max_ns;
} CprobeFlush;

/*
 * Replace the callbacks of all kinds.  Postmaster, once all libraries are
 * loaded and shared memory exists; a second call, after a crash, finds them
 * replaced.  Notes in the hook table what became of it.  Does not throw.
 */
extern void cprobe_stats_flush_install(void);

/* Are the flushes of a kind counted? */
extern bool cprobe_stats_flush_counts(int kind);

/* Flushes that this process has given up, ever. Hook context. */
extern uint64 cprobe_stats_flush_failures(void);

/*
 * A report begins, and ends: when its first flush began, 0 if there was none.
 * Hook context.
 */
extern void cprobe_stats_flush_begin_report(void);
extern uint64 cprobe_stats_flush_end_report(void);

/* Counters of a kind since the last reset. Any process. */
extern CprobeFlush cprobe_stats_flush_read(int kind);

/* Zero the half of an epoch that nobody uses yet. */
extern void cprobe_stats_flush_clear(uint32 epoch);

#endif							/* CPROBE_STATS_FLUSH_H */
