/*-------------------------------------------------------------------------
 *
 * snapshot.h
 *	  A consistent private copy of all counters of waits.
 *
 * Separate because the reader's side of the slot protocol is the harder one,
 * and every view wants the same: totals in which no process is counted twice
 * or not at all, however many come and go meanwhile.
 *
 * Protocol.  Copy each slot of the current epoch under its change count and
 * note the count.  Then copy the departed sums, and look at all change counts
 * again: a slot that has changed was folded or cleared in between, so it is
 * copied again together with the departed sums, until nothing has changed
 * while the departed sums were copied.  Only slots that change hands cost a
 * round, and a round without copies is short, so this ends; after
 * CPROBE_SNAPSHOT_MAX_ROUNDS the last copy is used, off by the waits of the
 * processes that came or went in the last some microseconds.
 *
 * Readers take no lock and write nothing.  Not for hooks: allocates in the
 * current memory context, checks for interrupts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_SNAPSHOT_H
#define CPROBE_SNAPSHOT_H

#include "probe/slot.h"

#define CPROBE_SNAPSHOT_MAX_ROUNDS 100

typedef struct CprobeWaits
{
	uint64		waits;
	uint64		time_ns;
} CprobeWaits;

/* One slot, copied. */
typedef struct CprobeSlotCopy
{
	uint32		changecount;
	bool		used;			/* has counters of this epoch */
	bool		alive;			/* its owner still has the process number */
	int			pid;
	uint32		type;			/* backend type code */
	Oid			database_id;
	Oid			role_id;
	TimestampTz start_time;
	char		worker_type[CPROBE_TYPE_NAME_BYTES];
	uint64		hits[CPROBE_TALLIES];
	CprobeWaits *waits;			/* by event number */
} CprobeSlotCopy;

typedef struct CprobeSnapshot
{
	uint32		epoch;
	uint32		event_count;
	uint32		slot_count;
	CprobeSlotCopy *slots;		/* by process number */
	CprobeWaits *departed;		/* [type][event], slots of the dead included */
	uint64		hits[CPROBE_TALLIES];	/* all processes, ever */
} CprobeSnapshot;

extern CprobeSnapshot *cprobe_snapshot_take(void);

/* Departed processes of one backend type. */
static inline CprobeWaits *
cprobe_snapshot_departed(const CprobeSnapshot *snapshot, uint32 type)
{
	return snapshot->departed + (Size) type * snapshot->event_count;
}

/* Sum over all processes, by event number; palloc'd. */
extern CprobeWaits *cprobe_snapshot_totals(const CprobeSnapshot *snapshot);

/*
 * Display name of a slot's backend type: for background workers their own.
 */
extern const char *cprobe_snapshot_type_name(const CprobeSlotCopy *slot);

/* What a process waits for now, as its slot says. */
typedef struct CprobeCurrentWait
{
	bool		waiting;		/* in a hooked wait */
	bool		idle;
	uint32		info;
	bool		outside;		/* as the sampler sees it (outside_waits.h) */
	uint64		since_ns;
	uint64		confirmed_ns;	/* outside: the process slept on until then */
	uint64		query_id;
	Oid			user_id;
	uint32		sequence;		/* differs between two waits */
	CprobeLockKey lock;			/* 0 = not for a lock */
	CprobeLockMode mode;		/* if it is for a lock */
	bool		has_page;		/* it is for a page's content lock */
	CprobePage	page;
	uint32		stack;			/* see cprobe_stack_read; 0 = none */
} CprobeCurrentWait;

/* Copy the current wait of a slot; bounded tries, then "not waiting". */
extern CprobeCurrentWait cprobe_snapshot_current_wait(CprobeSharedSlot *slot);

/*
 * Is the slot that of the living process with that pid?  A process that has
 * not waited yet has no slot.
 */
extern bool cprobe_snapshot_slot_is_of(CprobeSharedSlot *slot, int pid);

#endif							/* CPROBE_SNAPSHOT_H */
