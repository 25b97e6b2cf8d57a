/*-------------------------------------------------------------------------
 *
 * control.h
 *	  The few bytes of main shared memory that say whether the probe is
 *	  attached to a server that did not preload it.
 *
 * Separate from the mapping of the region (attachment.h), which every process
 * does for itself: here is what all of them share.
 *
 * The block is taken from main shared memory's spare room by the first
 * process that needs it, and stays there, as all of that memory does, until
 * the server restarts.
 *
 * Protocol.  Changes are made by one process at a time, which has the
 * attachment lock (cprobe_control_lock).  The generation is odd while the
 * probe is attached, and differs between any two attachments.  To attach: fill
 * in the other fields, write barrier, make the generation odd.  To detach:
 * make it even, then the rest.  A reader takes the fields only if the
 * generation is odd and the same before and behind them.  Hooks compare it
 * with the one that their process has mapped: one load.
 *
 * A crash of any process gives the server new shared memory, and the block is
 * gone: nothing here can be stale.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_CONTROL_H
#define CPROBE_CONTROL_H

#include "port/atomics.h"
#include "storage/dsm.h"

#include "compat.h"

#define CPROBE_CONTROL_NAME "contention_probe control"

/* Changed with the layout of the block or of the region. */
#define CPROBE_CONTROL_MAGIC 0x43500001

typedef struct CprobeSharedControl
{
	/* Set once, when the block is complete. */
	uint32		magic;

	/* see the protocol; written under the attachment lock */
	pg_atomic_uint32 generation;

	/*
	 * Which attachment: no two have the same number, whether or not there was
	 * a crash in between; none has 0.  Set before the worker starts, which
	 * ends when it is another one.  Written under the attachment lock.
	 */
	pg_atomic_uint64 attachment_id;

	/* Guarded by the generation, as in the protocol. */
	dsm_handle	segment;
	CprobeServerWorkerHandle worker;
} CprobeSharedControl;

/*
 * The block, NULL if nobody has made it yet.  Takes the server's lock on its
 * index of shared memory in shared mode unless that has not grown since the
 * last call.  Backends and workers, not for hooks; may throw.
 */
extern CprobeSharedControl *cprobe_control_find(void);

/* The block, made if need be. Throws if there is no room for it. */
extern CprobeSharedControl *cprobe_control_make(void);

/*
 * One process at a time may attach or detach.  In a transaction; an error or
 * the end of the process releases it.
 */
extern void cprobe_control_lock(void);
extern void cprobe_control_unlock(void);

static inline bool
cprobe_control_is_attached(uint32 generation)
{
	return (generation & 1) != 0;
}

#endif							/* CPROBE_CONTROL_H */
