/*-------------------------------------------------------------------------
 *
 * living.h
 *	  The living processes of the server, one after the other.
 *
 * Separate because several views have a row for each of them and differ only
 * in what they tell of it.
 *
 * Backends only; allocates in the current memory context, may be cancelled.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_LIVING_H
#define CPROBE_LIVING_H

#include "probe/slot.h"

typedef struct CprobeLiving
{
	uint32		number;			/* process number */
	int			pid;
	const char *type_name;		/* of backend, as in pg_stat_activity */
	Oid			user_id;		/* InvalidOid = none */
	CprobeSharedSlot *slot;		/* NULL: it has not waited yet */
} CprobeLiving;

/* The next living process; position starts at 0. False at the end. */
extern bool cprobe_living_next(uint32 *position, CprobeLiving *living);

#endif							/* CPROBE_LIVING_H */
