/*-------------------------------------------------------------------------
 *
 * lock_account.h
 *	  The accounts of one wait for an LWLock or a content lock: by lock
 *	  instance, by page, and by who handed it over.
 *
 * Separate from the measuring of waits in general (wait.h), which calls it.
 *
 * Three counter maps.  Locks: one entry for each lock that was waited for;
 * content locks of pages share the entry of their tranche.  Pages: the
 * content locks, by page; the hottest are kept.  Hand-offs: lock, waiter's
 * and waker's statement, waker's type.
 *
 * Hook context unless said otherwise.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_LOCK_ACCOUNT_H
#define CPROBE_LOCK_ACCOUNT_H

#include "probe/lock_key.h"
#include "probe/lock_scan.h"
#include "probe/slot.h"
#include "store/histogram.h"

/* Key: CprobeLockKey. */
#define CPROBE_LOCK_KEY_WORDS 1

/* Counters of a lock. */
typedef enum CprobeLockValue
{
	CPROBE_LOCK_WAITS,			/* first: the map's order of size */
	CPROBE_LOCK_TIME_NS,
	CPROBE_LOCK_SHARED,			/* waits in shared mode */
	CPROBE_LOCK_UNTIL_FREE,		/* waits for the release only */
	CPROBE_LOCK_PROVEN,
	CPROBE_LOCK_INFERRED,
	CPROBE_LOCK_QUEUE_NS,		/* from sleep to post, of stamped waits */
	CPROBE_LOCK_WAKEUP_NS,		/* from post to running, of stamped waits */
	CPROBE_LOCK_STAMPED,		/* waits whose waker is known */
	CPROBE_LOCK_MAX_NS,
	CPROBE_LOCK_LAST_WAKER,		/* pid */
	CPROBE_LOCK_REMOTE,			/* waker was on another node */
	CPROBE_LOCK_SMT,			/* waker was on a sibling of the same core */

	/* The sampler's. */
	CPROBE_LOCK_SAMPLES,		/* looks at this lock */
	CPROBE_LOCK_EXCLUSIVE_SAMPLES,	/* seen held exclusively */
	CPROBE_LOCK_SHARED_SAMPLES, /* seen held shared */
	CPROBE_LOCK_QUEUE_SAMPLES,	/* sum of waiters seen */

	CPROBE_LOCK_HISTOGRAM,		/* first of CPROBE_HISTOGRAM_BUCKETS */
	CPROBE_LOCK_VALUE_WORDS = CPROBE_LOCK_HISTOGRAM + CPROBE_HISTOGRAM_BUCKETS
} CprobeLockValue;

/* Key: CprobePage. */
#define CPROBE_PAGE_KEY_WORDS 3

typedef enum CprobePageValue
{
	CPROBE_PAGE_WAITS,
	CPROBE_PAGE_TIME_NS,
	CPROBE_PAGE_SHARED,
	CPROBE_PAGE_SAMPLES,		/* looks at processes that wait for it; the
								 * sampler's */
	CPROBE_PAGE_VALUE_WORDS
} CprobePageValue;

/* Key: CprobeLockKey, waiter's query id, waker's query id, waker's type. */
#define CPROBE_HANDOFF_KEY_WORDS 4

/* Waker's type of hand-offs whose waker is not known. */
#define CPROBE_HANDOFF_NO_WAKER PG_UINT64_MAX

typedef enum CprobeHandoffValue
{
	CPROBE_HANDOFF_COUNT,
	CPROBE_HANDOFF_QUEUE_NS,
	CPROBE_HANDOFF_WAKEUP_NS,
	CPROBE_HANDOFF_VALUE_WORDS
} CprobeHandoffValue;

/*
 * Hand-offs by distance.  Key: CPROBE_DISTANCE_KEY of the waker's CPU when it
 * posted and the waiter's when it ran again.  Values: CprobeHandoffValue.
 */
#define CPROBE_DISTANCE_KEY_WORDS 1
#define CPROBE_DISTANCE_KEY(from_node, to_node, within) \
	((uint64) (uint16) (from_node) << 32 | \
	 (uint64) (uint16) (to_node) << 16 | (uint64) (within))
#define CPROBE_DISTANCE_FROM(key) ((int16) (uint16) ((key) >> 32))
#define CPROBE_DISTANCE_TO(key) ((int16) (uint16) ((key) >> 16))
#define CPROBE_DISTANCE_WITHIN(key) ((CprobeWithin) (uint16) (key))

/* What is known of the lock of the current wait. */
typedef struct CprobeLockWait
{
	bool		is_lock;		/* else nothing here matters */
	bool		has_page;
	CprobeProof proof;
	CprobeLockMode mode;
	CprobeLockKey key;
	CprobePage	page;
} CprobeLockWait;

/* A completed wait, for the accounts. */
typedef struct CprobeLockWaitEnd
{
	const CprobeLockWait *wait;
	uint64		begin_ns;		/* not before the last reset */
	uint64		end_ns;
	uint64		query_id;
} CprobeLockWaitEnd;

/*
 * Is a wait event one for an LWLock or a content lock?  Then find out which,
 * from the stack around the hook's frame.
 */
extern CprobeLockWait cprobe_lock_identify(uint32 info, void *frame);

/* Add a completed wait to the accounts. */
extern void cprobe_lock_account(CprobeSharedSlot *slot, uint32 epoch,
								const CprobeLockWaitEnd *end);

/* This process is about to post a semaphore: stamp its owner's slot. */
extern void cprobe_handoff_stamp(int number);

/* Posts so far have nothing to do with the next wait. At taking a slot. */
extern void cprobe_handoff_forget(CprobeSharedSlot *slot);

/* The mode in which a process queued for an LWLock (PGPROC.lwWaitMode). */
extern CprobeLockMode cprobe_lock_wait_mode(LWLockMode mode);

/* The page of a buffer whose content lock is waited for. */
extern CprobePage cprobe_page_of_buffer(const void *descriptor);

#endif							/* CPROBE_LOCK_ACCOUNT_H */
