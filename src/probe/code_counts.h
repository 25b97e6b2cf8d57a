/*-------------------------------------------------------------------------
 *
 * code_counts.h
 *	  Counters of the code paths that need not sleep.
 *
 * Separate from the slots of waits: these are written far more often, by
 * hooks that may cost a nanosecond, and exist at the level full only.
 *
 * Each process number has a block of its own that only the process with that
 * number writes: plain 64-bit additions, no atomics, no clock.  Counters only
 * grow, over all processes that ever had the number; a reset does not touch
 * them, but keeps their sums in a block of its own, the baseline, which
 * readers subtract.  So the hooks need not look for a reset, and nothing has
 * to be handed over when a process ends.
 *
 * Caveat: a reader may see one counter of an event and not yet another, and
 * a reset takes a moment to add up the blocks: sums that belong together can
 * differ by what happens in some microseconds.
 *
 * Acquisitions of LWLocks are counted in cells: one for each lock of the
 * fixed array and each WAL insertion lock, and one for each tranche, which
 * takes all other locks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_CODE_COUNTS_H
#define CPROBE_CODE_COUNTS_H

#include "storage/lwlock.h"

#include "probe/lock_key.h"
#include "probe/region.h"
#include "store/site_table.h"

/*
 * WAL insertion locks lie at the distance of LWLOCK_PADDED_SIZE: so the lower
 * bits of an address tell up to so many apart, whatever the first address is.
 */
#define CPROBE_WAL_CELLS 128

/* Tranches from this number on share the last cell. */
#define CPROBE_TRANCHE_CELLS 256

#define CPROBE_FIRST_WAL_CELL NUM_FIXED_LWLOCKS
#define CPROBE_FIRST_TRANCHE_CELL (CPROBE_FIRST_WAL_CELL + CPROBE_WAL_CELLS)
#define CPROBE_CELLS (CPROBE_FIRST_TRANCHE_CELL + CPROBE_TRANCHE_CELLS)

/* Counters of a cell; the first two are indexed by LWLockMode. */
typedef enum CprobeCellCount
{
	CPROBE_CELL_EXCLUSIVE = LW_EXCLUSIVE,
	CPROBE_CELL_SHARED = LW_SHARED,
	CPROBE_CELL_CONDITIONAL_FAILURES,
	CPROBE_CELL_NOT_ACQUIRED,	/* waited until it was free, that was enough */
	CPROBE_CELL_COUNTS
} CprobeCellCount;

/* LWLocks held that are listed, and the bits of an address for the mode. */
#define CPROBE_CODE_HELD_LOCKS 32
#define CPROBE_CODE_HELD_MODE_MASK ((uintptr_t) 3)

/* WAL by backend type. */
typedef enum CprobeWalCount
{
	CPROBE_WAL_RECORDS,
	CPROBE_WAL_BYTES,
	CPROBE_WAL_FULL_PAGE_IMAGES,
	CPROBE_WAL_BUFFERS_FULL,
	CPROBE_WAL_TIMED,			/* records that were timed */
	CPROBE_WAL_TIMED_NS,
	CPROBE_WAL_FINISH_WAITS,	/* sleeps for others' insertions */
	CPROBE_WAL_FINISH_NS,
	CPROBE_WAL_FLUSHES,			/* calls of XLogFlush */
	CPROBE_WAL_FLUSHES_DONE,	/* that found the work done */
	CPROBE_WAL_FLUSH_NS,
	CPROBE_WAL_HISTOGRAM,		/* of timed records */
	CPROBE_WAL_COUNTS = CPROBE_WAL_HISTOGRAM + CPROBE_HISTOGRAM_BUCKETS
} CprobeWalCount;

/* Reports of statistics. */
typedef enum CprobeReportCount
{
	CPROBE_REPORT_CALLS,
	CPROBE_REPORT_NS,
	CPROBE_REPORT_FORCED,
	CPROBE_REPORT_PARTIAL,		/* something was left, for its lock was taken */
	CPROBE_REPORT_POSTPONED,	/* the last report was too short ago */
	CPROBE_REPORT_COUNTS
} CprobeReportCount;

/* The counters: of a process number, or their sums in the baseline. */
typedef struct CprobeCodeCounts
{
	uint64		cells[CPROBE_CELLS][CPROBE_CELL_COUNTS];
	uint64		wal[CPROBE_TYPES][CPROBE_WAL_COUNTS];
	uint64		reports[CPROBE_REPORT_COUNTS];
} CprobeCodeCounts;

/* The block of a process number. */
typedef struct CprobeSharedCode
{
	/*
	 * LWLocks that the process holds or is about to get: address and mode of
	 * each, the last one last.  Written by the owner, read by whoever looks
	 * for a holder: one that is out of date by the time it is used does no
	 * harm.  Locks taken while the list was full are only counted.
	 */
	uint32		held_count;
	uint32		held_beyond;
	uintptr_t	held[CPROBE_CODE_HELD_LOCKS];

	/* the owner's; see the head comment */
	CprobeCodeCounts counts;
} CprobeSharedCode;

/* How long locks of a cell were held, of the timed ones. Atomic, by all. */
typedef struct CprobeSharedHold
{
	pg_atomic_uint64 time_ns;
	CprobeSharedHistogram histogram;
} CprobeSharedHold;

/* Bytes of the part in the region, for so many process numbers. */
extern Size cprobe_code_size(uint32 slot_count);

/*
 * What hooks look at first, private to the process; one structure, for the
 * code in assembly.  mine is the process's block; NULL: not measured now, or
 * no PGPROC yet.  Set by cprobe_code_find, taken back by cprobe_code_forget,
 * for instance when contention_probe.enabled changes.
 */
typedef struct CprobeCodeLocal
{
	CprobeSharedCode *mine;
	uintptr_t	fixed_locks;	/* address of the fixed array of LWLocks; 0
								 * before there is shared memory */
	LWLock	   *timed_lock;		/* whose hold is being timed; NULL = none */
	int32		countdown;		/* acquisitions until the next that is timed */
} CprobeCodeLocal;

extern CPROBE_HIDDEN CprobeCodeLocal cprobe_code_local;

#define cprobe_code_mine cprobe_code_local.mine

/* No LWLock is held, whatever the list says. Hook context. */
static inline void
cprobe_code_hold_nothing(CprobeSharedCode *mine)
{
	mine->held_count = 0;
	mine->held_beyond = 0;
}

/* Find the block. Hook context. Cost: some ns. */
extern CprobeSharedCode *cprobe_code_find(void);
extern void cprobe_code_forget(void);

/* Are code paths counted in this server? */
extern bool cprobe_code_is_active(void);

/* From the postmaster's start on, as inherited by fork. */
extern void cprobe_code_set_active(bool active);

/* Shared memory has been created. Postmaster. */
extern void cprobe_code_attach(void);

/* Cell of a lock. Hook context. */
static inline uint32
cprobe_code_cell(const LWLock *lock)
{
	uintptr_t	distance = (uintptr_t) lock - cprobe_code_local.fixed_locks;
	uint32		tranche;

	if (distance < (uintptr_t) NUM_FIXED_LWLOCKS * LWLOCK_PADDED_SIZE)
		return (uint32) (distance / LWLOCK_PADDED_SIZE);
	tranche = lock->tranche;
	if (unlikely(tranche == LWTRANCHE_WAL_INSERT))
		return CPROBE_FIRST_WAL_CELL +
			(uint32) ((uintptr_t) lock / LWLOCK_PADDED_SIZE % CPROBE_WAL_CELLS);
	return CPROBE_FIRST_TRANCHE_CELL + Min(tranche, CPROBE_TRANCHE_CELLS - 1);
}

/* Sums over all processes since the last reset; palloc'd. */
extern CprobeCodeCounts *cprobe_code_read(void);

/* The hold times of a cell in the half of an epoch. Hook context. */
extern CprobeSharedHold *cprobe_code_hold(uint32 epoch, uint32 cell);

/* The places in the source that were seen to spin. Hook context. */
extern CprobeSharedSites *cprobe_code_sites(void);

/* Is a lock in the list of the process that has the number? Any process. */
extern bool cprobe_code_holds(uint32 number, CprobeLockKey lock);

/*
 * For a reset: clear the half of the coming epoch; then keep the sums.  Does
 * not throw.
 */
extern void cprobe_code_clear(uint32 epoch);
extern void cprobe_code_rebase(void);

#endif							/* CPROBE_CODE_COUNTS_H */
