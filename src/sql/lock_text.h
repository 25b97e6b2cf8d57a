/*-------------------------------------------------------------------------
 *
 * lock_text.h
 *	  Locks and pages as the views show them.
 *
 * Separate because several views show them.
 *
 * Backends only; allocate in the current memory context; read the catalog of
 * the current database for names of relations.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_LOCK_TEXT_H
#define CPROBE_LOCK_TEXT_H

#include "probe/lock_key.h"

/* A page, taken apart. */
typedef struct CprobePageParts
{
	Oid			tablespace;
	Oid			database;		/* InvalidOid: shared relation */
	Oid			relation;		/* relation file number */
	int			fork;
	uint32		block;
	const char *relation_name;	/* NULL if not of this database */
} CprobePageParts;

extern CprobePageParts cprobe_page_parts(const CprobePage *page);
extern const char *cprobe_fork_name(int fork);

/* The tranche of a lock, as the wait event names it. */
extern const char *cprobe_lock_tranche_text(CprobeLockKey lock);

/* A lock, or with page not NULL the content lock of that page. */
extern const char *cprobe_lock_text(CprobeLockKey lock,
									const CprobePage *page);

#endif							/* CPROBE_LOCK_TEXT_H */
