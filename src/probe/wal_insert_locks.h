/*-------------------------------------------------------------------------
 *
 * wal_insert_locks.h
 *	  Where the WAL insertion locks are, and how many the server has.
 *
 * Separate because the server exports neither: they are found in shared
 * memory, once in each process that asks, and counted, not assumed.
 *
 * Any process with a PGPROC; the first call takes ShmemIndexLock in shared
 * mode, allocates and may throw: not for hooks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_WAL_INSERT_LOCKS_H
#define CPROBE_WAL_INSERT_LOCKS_H

#include "storage/lwlock.h"

/* Number of WAL insertion locks, 0 if they could not be found. */
extern PGDLLEXPORT int cprobe_wal_insert_lock_count(void);

/* Why they could not be found; NULL if they were. */
extern const char *cprobe_wal_insert_lock_reason(void);

/* One of them; the index must be below the count. */
extern PGDLLEXPORT LWLock *cprobe_wal_insert_lock(int index);

/* Index of a lock, -1 if it is none of them. */
extern int	cprobe_wal_insert_lock_index(const LWLock *lock);

#endif							/* CPROBE_WAL_INSERT_LOCKS_H */
