/*-------------------------------------------------------------------------
 *
 * acquires.h
 *	  The columns about acquisitions and hold times of LWLocks.
 *
 * Separate from the views that have them, lwlocks and lwlock_tranches, whose
 * other columns come from the account of waits.
 *
 * Backends only; allocates in the current memory context.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_ACQUIRES_H
#define CPROBE_ACQUIRES_H

#include "probe/code_counts.h"
#include "sql/rows.h"

/* Columns that are put. */
#define CPROBE_ACQUIRES_COLUMNS 8

typedef struct CprobeAcquires
{
	CprobeCodeCounts *counts;	/* NULL: not counted at this level */
	uint32		epoch;
	bool		shown[CPROBE_CELLS];	/* cells that have had a row */
} CprobeAcquires;

/* Read the counters; palloc'd. */
extern CprobeAcquires *cprobe_acquires_read(void);

/*
 * Put the columns of a lock, NULL if it has no counters of its own, or of a
 * tranche.  waits are those of acquisitions.
 */
extern void cprobe_acquires_put_lock(CprobeRows *rows,
									 CprobeAcquires *acquires,
									 CprobeLockKey lock, uint64 waits);
extern void cprobe_acquires_put_tranche(CprobeRows *rows,
										CprobeAcquires *acquires,
										uint16 tranche, uint64 waits);

/*
 * The next lock or tranche that was acquired but has had no row; false when
 * there is none left.  The key of a tranche is that with the distance 0.
 */
extern bool cprobe_acquires_next_lock(CprobeAcquires *acquires,
									  CprobeLockKey *lock);
extern bool cprobe_acquires_next_tranche(CprobeAcquires *acquires,
										 CprobeLockKey *lock);

#endif							/* CPROBE_ACQUIRES_H */
