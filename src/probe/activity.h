/*-------------------------------------------------------------------------
 *
 * activity.h
 *	  Reading the server's own status entries and PGPROCs without locks.
 *
 * Separate because the sampler and the views both look, and because how the
 * entries are found differs by major.
 *
 * The caller must be connected as a backend or background worker with a
 * status entry of its own.  Does not lock; does not throw.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_ACTIVITY_H
#define CPROBE_ACTIVITY_H

#include "storage/latch.h"

#include "compat.h"

/* What is read of one status entry (see pg_stat_activity). */
typedef struct CprobeActivity
{
	int			pid;			/* 0 = entry not in use */
	BackendType type;
	BackendState state;
	Oid			database_id;
	Oid			user_id;
	TimestampTz start_time;
	bool		in_transaction;
	uint64		query_id;		/* top-level statement, 0 = not known */
} CprobeActivity;

/* Number of status entries. */
extern int	cprobe_activity_count(void);

/*
 * Copy entry index under its change count.  False if it is not in use, or was
 * changing each time we looked.
 */
extern bool cprobe_activity_read(int index, CprobeActivity *activity);

/* Index of the entry with that pid, -1 if there is none. */
extern int	cprobe_activity_find(int pid);

/* "active", "idle", ... as in pg_stat_activity; NULL for undefined. */
extern const char *cprobe_activity_state_name(BackendState state);

/* Is a client backend in that state at work? */
static inline bool
cprobe_activity_is_running(BackendState state)
{
	return state == STATE_RUNNING || state == STATE_FASTPATH;
}

/* PGPROC of a process number below the region's slot count. */
static inline volatile PGPROC *
cprobe_activity_proc(uint32 number)
{
	return &ProcGlobal->allProcs[number];
}

/*
 * Process that has the number now, 0 = none.  Up to 16 a free PGPROC keeps the
 * pid of its last owner, but its latch has no owner in any major.
 */
static inline int
cprobe_activity_proc_pid(uint32 number)
{
	return cprobe_activity_proc(number)->procLatch.owner_pid;
}

#endif							/* CPROBE_ACTIVITY_H */
