/*-------------------------------------------------------------------------
 *
 * lock_key.h
 *	  How a lock, a page and a lock mode are written down in shared memory.
 *
 * Separate because hooks, sampler and views all use these few words.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_LOCK_KEY_H
#define CPROBE_LOCK_KEY_H

/*
 * A lock: tranche << 48 | distance from the start of main shared memory.  The
 * distance 0 stands for "one of the tranche": its address is not known, or
 * not the same in all processes.
 */
typedef uint64 CprobeLockKey;

#define CPROBE_LOCK_OFFSET_MASK ((UINT64CONST(1) << 48) - 1)
#define CPROBE_LOCK_KEY(tranche, offset) \
	(((uint64) (tranche) << 48) | ((offset) & CPROBE_LOCK_OFFSET_MASK))
#define CPROBE_LOCK_KEY_TRANCHE(key) ((uint16) ((key) >> 48))
#define CPROBE_LOCK_KEY_OFFSET(key) ((key) & CPROBE_LOCK_OFFSET_MASK)

/*
 * Stands for a tranche where content locks of buffers are no LWLocks; the
 * distance is then that of the buffer's descriptor.
 */
#define CPROBE_TRANCHE_BUFFER 0xFFFF

/* A page of a relation, in the words of a counter map's key. */
typedef struct CprobePage
{
	uint64		words[3];		/* tablespace << 32 | database, relation file
								 * << 32 | fork, block */
} CprobePage;

typedef enum CprobeLockMode
{
	CPROBE_MODE_EXCLUSIVE,
	CPROBE_MODE_SHARED,
	CPROBE_MODE_UNTIL_FREE,		/* wait for the release, do not acquire */
	CPROBE_MODE_SHARE_EXCLUSIVE /* content locks from 19 on */
} CprobeLockMode;

/* For display. */
extern const char *cprobe_lock_mode_name(CprobeLockMode mode);

#endif							/* CPROBE_LOCK_KEY_H */
