/*-------------------------------------------------------------------------
 *
 * lock_state.h
 *	  How a lock is held at this moment.
 *
 * Separate because it reads the server's private representation of locks.
 *
 * Any process; one load; a value that is old by the time it is used does no
 * harm, for it is a sample.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_LOCK_STATE_H
#define CPROBE_LOCK_STATE_H

#include "probe/lock_key.h"

typedef struct CprobeLockState
{
	bool		known;			/* false: the lock's address is not known */
	bool		exclusive;
	uint32		shared;			/* holders in shared mode */
} CprobeLockState;

extern CprobeLockState cprobe_lock_state(CprobeLockKey lock);

static inline bool
cprobe_lock_state_is_free(const CprobeLockState *state)
{
	return state->known && !state->exclusive && state->shared == 0;
}

#endif							/* CPROBE_LOCK_STATE_H */
