/*-------------------------------------------------------------------------
 *
 * tick.h
 *	  One look at all processes: the sampled profile and the history.
 *
 * Separate from the worker's life (sampler.h).
 *
 * The sampler alone calls these; it must be connected.  cprobe_tick_run takes
 * no lock except, once for each new background worker, the server's lock on
 * the worker list in shared mode.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_TICK_H
#define CPROBE_TICK_H

#include "datatype/timestamp.h"

#include "probe/lock_key.h"
#include "store/counter_map.h"
#include "store/history_ring.h"

/* Allocate what is remembered of each process. May throw. */
extern void cprobe_tick_init(void);

/* Look at every process; with history, append rows for the busy ones. */
extern void cprobe_tick_run(bool history);

/* A row of the profile, taken apart. */
typedef struct CprobeProfileKey
{
	uint32		type;			/* backend type code */
	uint32		info;			/* wait event, 0 = CPU or unknown */
	bool		idle;
	uint64		query_id;		/* 0 = none known */
} CprobeProfileKey;

extern void cprobe_profile_key_pack(const CprobeProfileKey *key,
									uint64 words[2]);
extern CprobeProfileKey cprobe_profile_key_unpack(const uint64 words[2]);

/* A row of the history, taken apart. */
typedef struct CprobeHistoryRow
{
	TimestampTz sampled_at;
	int			pid;
	uint32		type;
	Oid			database_id;
	Oid			user_id;
	uint64		query_id;
	uint32		info;			/* wait event, 0 = CPU or unknown */
	CprobeLockKey lock;			/* that it waited for, 0 = none */
	CprobeLockMode mode;		/* if there is a lock */
	bool		has_page;		/* it is a page's content lock */
	CprobePage	page;
	int			blocker_pid;	/* 0 = not known */
	int			cpu;			/* on which it ran or ran last, -1 = not known */
} CprobeHistoryRow;

extern void cprobe_history_row_pack(const CprobeHistoryRow *row,
									CprobeRingRow *packed);
extern CprobeHistoryRow cprobe_history_row_unpack(const CprobeRingRow *packed);

#endif							/* CPROBE_TICK_H */
