/*-------------------------------------------------------------------------
 *
 * lock_state.c
 *	  Reading how a lock is held.
 *
 * Separate: see lock_state.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/buf_internals.h"

#include "compat.h"
#include "probe/lock_scan.h"
#include "probe/lock_state.h"
#include "probe/shmem_areas.h"

CprobeLockState
cprobe_lock_state(CprobeLockKey lock)
{
	CprobeLockState result = {0};
	void	   *address = cprobe_shmem_address(CPROBE_LOCK_KEY_OFFSET(lock));
	uint32		state;

	if (CPROBE_LOCK_KEY_OFFSET(lock) == 0)
		return result;
	result.known = true;
	if (CPROBE_LOCK_KEY_TRANCHE(lock) == CPROBE_TRANCHE_BUFFER)
	{
		result.exclusive = CPROBE_BUFFER_IS_LOCKED_EXCLUSIVE(address);
		result.shared = CPROBE_BUFFER_SHARE_HOLDERS(address);
		return result;
	}
	state = pg_atomic_read_u32(&((LWLock *) address)->state);
	result.exclusive = (state & CPROBE_LWLOCK_EXCLUSIVE) != 0;
	result.shared = state & CPROBE_LWLOCK_SHARED_MASK;
	return result;
}
