/*-------------------------------------------------------------------------
 *
 * outside_waits.h
 *	  Waits for locks of processes that are not hooked, as the sampler sees
 *	  them.
 *
 * Separate from the slots (slot.h), in which hooked processes tell of
 * themselves: here the sampler is the only writer, and times are those of its
 * looks.
 *
 * The sampler fills the fields while the sequence is even, then makes it odd
 * behind a write barrier; it makes it even when the wait is over.  A reader
 * takes the fields if the sequence is odd and the same before and behind them.
 *
 * Not for hooks.  Takes no lock, does not throw, does not allocate.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_OUTSIDE_WAITS_H
#define CPROBE_OUTSIDE_WAITS_H

#include "probe/lock_key.h"
#include "probe/snapshot.h"

typedef struct CprobeSharedOutsideWait
{
	pg_atomic_uint32 sequence;	/* see above; differs between two waits */
	int32		pid;
	uint32		info;			/* the server's 32-bit wait event */
	uint8		mode;			/* CprobeLockMode */
	bool		has_page;		/* it is for a page's content lock */
	uint64		since_ns;		/* clock.h; when it was first seen */
	uint64		confirmed_ns;	/* the process has slept on until then; 0 =
								 * not known */
	CprobeLockKey lock;
	CprobePage	page;
} CprobeSharedOutsideWait;

/* The wait for a lock of a process that is not hooked. */
extern CprobeCurrentWait cprobe_outside_wait(uint32 number, int pid);

/*
 * The wait of any process: what it says itself, else what the sampler says,
 * which is for locks only.
 */
extern CprobeCurrentWait cprobe_process_wait(uint32 number, int pid);

/* The sampler's: show a wait, or the same with newer facts; end it. */
extern void cprobe_outside_publish(uint32 number, int pid,
								   const CprobeCurrentWait *wait);
extern void cprobe_outside_retract(uint32 number);

#endif							/* CPROBE_OUTSIDE_WAITS_H */
