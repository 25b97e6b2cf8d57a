/*-------------------------------------------------------------------------
 *
 * testkit.h
 *	  Contention with a known answer: what the parts of the test-only
 *	  extension share.
 *
 * Locks are named as the product names them: 'ProcArray', 'WALInsert[3]',
 * 'LockFastPath(pid 123)', besides 'BufferContent(table,0)' for the content lock
 * of a page and 'dsm' for a lock in dynamic shared memory.  They are found in
 * other ways than the product's, so that a test compares two answers.
 *
 * While an LWLock is held, interrupts are held off by the server; nothing
 * here throws then, and every sleep has an end.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_TESTKIT_H
#define CPROBE_TESTKIT_H

#include "storage/buf.h"
#include "storage/dsm_impl.h"
#include "storage/lwlock.h"
#include "storage/spin.h"
#include "utils/rel.h"

#define TESTKIT_TRANCHE "testkit"
#define TESTKIT_LOCKS 8

#define TESTKIT_DSM_TRANCHE "testkit_dsm"

typedef struct CprobeTestShared
{
	slock_t		spinlock;		/* held by tk_spin_hold */

	/* Set by tk_dsm_create, cleared by tk_dsm_drop; one test at a time. */
	dsm_handle dsm_segment;
	bool		dsm_exists;
	int			dsm_tranche;
} CprobeTestShared;

/* The shared state. Throws when the library was not preloaded. */
extern CprobeTestShared *testkit_shared(void);

typedef enum CprobeTestMode
{
	TESTKIT_EXCLUSIVE,
	TESTKIT_SHARED,
	TESTKIT_UNTIL_FREE			/* wait for the release, do not acquire */
} CprobeTestMode;

/* A lock: an LWLock, or else the content lock of a pinned buffer. */
typedef struct CprobeTestLock
{
	LWLock	   *lwlock;
	Relation	relation;
	Buffer		buffer;
} CprobeTestLock;

/* Find a lock by its name, and let go what the search had to open. */
extern CprobeTestLock testkit_lock_locate(const char *name);
extern void testkit_lock_forget(CprobeTestLock *lock);

/* A function that a profile can name. */
extern uint64 testkit_burn_cpu(uint64 seed);

/* Address that pg_shmem_allocations counts offsets from. */
extern char *testkit_shmem_start(void);

#endif							/* CPROBE_TESTKIT_H */
