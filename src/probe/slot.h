/*-------------------------------------------------------------------------
 *
 * slot.h
 *	  One process's place in the shared region: who it is, what it waits for
 *	  now, and its completed waits.
 *
 * Separate because the protocol of a slot's ownership is independent of what
 * is counted in it.
 *
 * Ownership.  Slot n belongs to the process whose PGPROC has number n, from
 * its first wait until another process has its first wait under that number.
 * Nothing happens when a process leaves: its counts stay in the slot.  The
 * next owner adds them to the sums of the departed, then takes the slot.  So
 * no exit callback is needed, the last waits of a process are not lost, and
 * totals = departed + all slots, whoever is alive.
 *
 * Change count.  The owner makes it odd before and even after it changes
 * identity or epoch, folds or clears.  Counters of completed waits grow
 * outside of it: single writer, plain 64-bit loads and stores.
 *
 * Caveat: a reader may see a wait counted whose time is not yet added (two
 * stores).  That is off by one wait for some nanoseconds, and not worth a
 * barrier in the hook.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_SLOT_H
#define CPROBE_SLOT_H

#include "probe/lock_key.h"
#include "probe/region.h"

/* Locks held in a sleep that are published. */
#define CPROBE_HELD_LOCKS 4

typedef struct CprobeSharedSlot
{
	/* First cache line: what samplers look at. */
	pg_atomic_uint32 changecount;	/* see above; 0 = never used */
	uint32		epoch;			/* of the counters; guarded by changecount */
	int32		pid;			/* guarded by changecount, as the next ones */
	uint32		type;			/* backend type code */

	/*
	 * Current wait.  The owner fills the fields while the wait_sequence of
	 * its pulse is even, then makes it odd behind a write barrier: waiting.
	 * At the end it makes it even.  A reader takes the fields if the sequence
	 * is odd and the same before and behind them.
	 */
	uint32		wait_info;		/* the server's 32-bit wait event */
	uint64		wait_since_ns;	/* clock.h */
	uint64		wait_query_id;	/* innermost statement, 0 = none known */
	Oid			wait_user_id;
	bool		wait_idle;
	uint8		wait_mode;		/* CprobeLockMode, if it is for a lock */
	uint8		wait_proof;		/* CprobeProof, likewise */
	bool		wait_has_page;	/* it is for a page's content lock */

	/*
	 * CPU + 1 on which the process was at its last hook, 0 = not known.  A
	 * word of its own, the owner's; not part of the wait.
	 */
	pg_atomic_uint32 cpu;

	uint64		wait_lock;		/* CprobeLockKey; 0 = no lock */
	CprobePage	wait_page;
	uint32		wait_stack;		/* see cprobe_stack_position; 0 = none */

	/*
	 * Stamp of the last process that posted this process's semaphore.  Many
	 * may: one makes the sequence odd by compare-and-swap, or leaves it if
	 * another is at it; it fills the fields and makes it even.  All of that
	 * before the post, so that the sleeper finds it done.
	 */
	pg_atomic_uint32 post_sequence;
	int32		post_pid;
	uint32		post_type;		/* backend type code */
	uint32		post_number;	/* process number */
	int32		post_cpu;		/* on which it was, -1 = not known */
	uint64		post_ns;		/* clock.h */
	uint64		post_query_id;	/* its innermost statement, 0 = none known */

	/*
	 * LWLocks that the process holds while it sleeps.  Written before the
	 * sleep, then the sequence is made odd; made even after it.  Valid while
	 * odd, as with wait_sequence.
	 */
	pg_atomic_uint32 held_sequence;
	uint32		held_count;		/* of all; may exceed CPROBE_HELD_LOCKS */
	uint64		held_locks[CPROBE_HELD_LOCKS];	/* CprobeLockKey */

	/* Identity, guarded by changecount. */
	Oid			database_id;
	Oid			role_id;		/* the session's user */
	TimestampTz start_time;
	char		worker_type[CPROBE_TYPE_NAME_BYTES];	/* background workers */

	/* what it does to the machine, by CprobeMachineCounter; the owner's */
	pg_atomic_uint64 machine[CPROBE_MACHINE_COUNTERS];

	/* timed calls by hook, then what they cost; the owner's */
	pg_atomic_uint64 hits[CPROBE_TALLIES];

	/* completed waits, by event number; the owner's */
	CprobeSharedWaits waits[FLEXIBLE_ARRAY_MEMBER];
} CprobeSharedSlot;

StaticAssertDecl(offsetof(CprobeSharedSlot, wait_idle) < PG_CACHE_LINE_SIZE,
				 "what samplers look at fits into one cache line");

/*
 * What the sampler looks at in each tick, of every process: a cache line each,
 * so that owners do not disturb one another, and next to those of the others.
 * In the slots, some kilobytes apart, each would cost a look into the page
 * table, and that was most of the sampler's time.
 */
typedef union CprobeSharedPulse
{
	pg_atomic_uint32 wait_sequence; /* see CprobeSharedSlot; the owner's */
	char		line[PG_CACHE_LINE_SIZE];
} CprobeSharedPulse;

/* Pulse of a process number, in range. */
static inline CprobeSharedPulse *
cprobe_slot_pulse(uint32 number)
{
	return (CprobeSharedPulse *) ((char *) cprobe_region +
								  cprobe_region->pulses_offset) + number;
}

/*
 * Who goes through all of them calls this for each, and does not wait for
 * memory then.
 */
#define CPROBE_PULSES_AHEAD 48

static inline void
cprobe_slot_fetch_pulse_ahead(uint32 number)
{
	__builtin_prefetch(cprobe_slot_pulse(number + CPROBE_PULSES_AHEAD));
}

/* Slot of a process number, in range. */
static inline CprobeSharedSlot *
cprobe_slot_get(uint32 number)
{
	return (CprobeSharedSlot *) ((char *) cprobe_region +
								 cprobe_region->slots_offset +
								 number * cprobe_region->slot_bytes);
}

/* Number of a slot. */
static inline uint32
cprobe_slot_number(const CprobeSharedSlot *slot)
{
	return (uint32) (((const char *) slot - (const char *) cprobe_region -
					  cprobe_region->slots_offset) /
					 cprobe_region->slot_bytes);
}

/* slot.c's, for the inline functions below. */
extern CprobeSharedSlot *cprobe_my_slot;
extern int	cprobe_my_number;
extern CprobeSharedSlot *cprobe_slot_find_mine(void);

/* Bytes of a slot for that many events, a multiple of the cache line. */
extern Size cprobe_slot_size(uint32 event_count);

/*
 * The calling process's slot, taken over if this is its first wait; NULL in a
 * process without PGPROC.  Hook context.  Cost: a few loads; once per process
 * the fold, some microseconds.
 */
static inline CprobeSharedSlot *
cprobe_slot_mine(void)
{
	/*
	 * MyProc is NULL early in a process's life and again at its end, when
	 * another process may already own the slot.
	 */
	if (MyProc == NULL || !cprobe_region_is_current())
		return NULL;
	if (likely(cprobe_my_slot != NULL))
		return cprobe_my_slot;
	return cprobe_slot_find_mine();
}

/* The region is about to go: the calling process has no slot any more. */
extern void cprobe_slot_forget(void);

/* Backend type code of the calling process. Hook context. */
extern uint32 cprobe_slot_my_type(void);

/* Number of the calling process's slot; only after cprobe_slot_mine. */
static inline uint32
cprobe_slot_my_number(void)
{
	return (uint32) cprobe_my_number;
}

/* Clear the calling process's counters if a reset happened. Hook context. */
extern void cprobe_slot_renew(CprobeSharedSlot *slot, uint32 epoch);

/* Database and user became known or changed. Hook context. */
extern void cprobe_slot_identify(CprobeSharedSlot *slot);

/* Before changing guarded fields, and after. Hook context. */
static inline void
cprobe_slot_begin_change(CprobeSharedSlot *slot)
{
	pg_atomic_write_u32(&slot->changecount,
						pg_atomic_read_u32(&slot->changecount) + 1);
	pg_write_barrier();
}

static inline void
cprobe_slot_end_change(CprobeSharedSlot *slot)
{
	pg_write_barrier();
	pg_atomic_write_u32(&slot->changecount,
						pg_atomic_read_u32(&slot->changecount) + 1);
}

/* Single-writer counter: the owner only. */
static inline void
cprobe_counter_add(pg_atomic_uint64 *counter, uint64 amount)
{
	pg_atomic_write_u64(counter, pg_atomic_read_u64(counter) + amount);
}

#endif							/* CPROBE_SLOT_H */
