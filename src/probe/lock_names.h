/*-------------------------------------------------------------------------
 *
 * lock_names.h
 *	  From a lock to its name.
 *
 * Separate because the names follow the server's structures, each in its own
 * way, while everything else knows a lock by two numbers only.
 *
 * A lock is given by its tranche and its distance from the start of main
 * shared memory (lock_key.h).  The names:
 *
 *	 ProcArray, WALWrite			a lock that is alone in its tranche
 *	 BufferMapping[27]				a place in an array: partitions, WAL
 *									insertion locks, SLRU buffers and banks,
 *									named tranches of extensions, ...
 *	 LockFastPath(pid 123)			whose: the process now there
 *	 ReplicationSlotIO(name)		the slot now there
 *	 PgStatsData(wal)				the kind of statistics
 *	 BufferContent(5/16384/main/0)	database, relation file, fork, block of
 *									the page now there
 *	 PgStatsDSA @ Shared Memory Stats+5120	any other: its area
 *	 ParallelHashJoin				one of the tranche, not known which
 *
 * What belongs to a process, a slot or a page is read without locks: the
 * name is right for one moment, and a reader that needs the lock's identity
 * compares the two numbers.
 *
 * Any process with a PGPROC; no database needed.  Takes ShmemIndexLock in
 * shared mode, allocates in the current memory context and may throw: not
 * for hooks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_LOCK_NAMES_H
#define CPROBE_LOCK_NAMES_H

#include "storage/lwlock.h"

/* The name of a lock; palloc'd, never NULL. */
extern PGDLLEXPORT char *cprobe_lock_name(uint16 tranche, uint64 offset);

/*
 * The name of a tranche, as in wait events; palloc'd.  Tranches of extensions
 * that this process does not know, up to PostgreSQL 18, are called
 * "extension tranche 83".
 */
extern char *cprobe_lock_tranche_name(uint16 tranche);

#endif							/* CPROBE_LOCK_NAMES_H */
