/*-------------------------------------------------------------------------
 *
 * attachment.h
 *	  This process's mapping of the region of an attachment.
 *
 * Separate from the control block (control.h), which all processes share, and
 * from attaching and detaching, which is SQL's business.
 *
 * In a server that preloaded the library nothing here does anything.  In one
 * that did not, the region lies in a segment of dynamic shared memory:
 *
 *	 - A session that only reads maps it until the end of its transaction.
 *	 - The sampler, and sessions that hook their process, keep it mapped.  When
 *	   the generation has moved on their hooks pass through, and the mapping is
 *	   exchanged at the next safe point: a statement, or an SQL function; never
 *	   in a hook.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_ATTACHMENT_H
#define CPROBE_ATTACHMENT_H

#include "storage/dsm.h"

#include "probe/control.h"
#include "probe/region.h"

/*
 * Map the region that counts, drop one that does not, and set cprobe_region,
 * which is NULL afterwards if there is none.  Backends and workers at safe
 * points; may throw if the system cannot map the segment.
 */
extern void cprobe_attachment_refresh(void);

/*
 * The same where nothing may be thrown: if it fails, this process does
 * without.  For hooked sessions.
 */
extern void cprobe_attachment_refresh_safely(void);

/* Keep mappings beyond the transaction: this process is hooked, or the sampler. */
extern void cprobe_attachment_keep(void);

/*
 * This process has made or mapped the segment: use it.  In a session that only
 * reads it is let go at the end of the transaction, or by an error.
 */
extern void cprobe_attachment_adopt(dsm_segment *segment, uint32 generation);

/* Map a segment by its handle, for the sampler; false if it is gone. */
extern bool cprobe_attachment_map(dsm_handle handle, uint32 generation);

/* Let go of the mapping, if there is one. */
extern void cprobe_attachment_drop(void);

/*
 * A safe point of a hooked session: a compare unless something has changed.
 */
static inline void
cprobe_attachment_check(void)
{
	if (unlikely(pg_atomic_read_u32(cprobe_region_generation) !=
				 cprobe_region_mapped))
		cprobe_attachment_refresh_safely();
}

#endif							/* CPROBE_ATTACHMENT_H */
