/*
 * A lock that the process does not sleep on is never reported as proven,
 * whatever the stack looks like: it would put a wait on the wrong lock.
 *
 * The process array and the locks are made here; the scan gets any words.
 */
#include "postgres.h"

#include "storage/buf_internals.h"
#include "storage/proc.h"

#include "compat.h"
#include "probe/lock_scan.h"
#include "probe/shmem_areas.h"
#include "tap.h"

#define PROCESSES 32
#define LOCKS 16
#define TRANCHE 7
#define OTHER_TRANCHE 8
#define ME 5

/* What the code under test takes from the server. */
PGPROC	   *MyProc;
PROC_HDR   *ProcGlobal;
int			NBuffers = 0;
BufferDescPadded *BufferDescriptors = NULL;
uintptr_t	cprobe_shmem_start;
uintptr_t	cprobe_shmem_end;
int			MyProcNumber;		/* unused before 17 */

static PGPROC processes[PROCESSES];
static PROC_HDR header;

/* "Shared memory": locks, then room for forged ones. */
static struct
{
	LWLockPadded locks[LOCKS];
	uint32		forged[64];
}			shared;

static void
push(LWLock *lock, int process)
{
	proclist_node *link = &processes[process].lwWaitLink;

	link->next = CPROBE_NO_PROC;
	link->prev = lock->waiters.tail;
	if (lock->waiters.tail == CPROBE_NO_PROC)
		lock->waiters.head = process;
	else
		processes[lock->waiters.tail].lwWaitLink.next = process;
	lock->waiters.tail = process;
	pg_atomic_write_u32(&lock->state, CPROBE_LWLOCK_HAS_WAITERS);
}

static LWLock *
lock_at(int i)
{
	return &shared.locks[i].lock;
}

static void
make_server(void)
{
	MyProc = &processes[ME];
	CPROBE_MY_PROC_NUMBER_PLACE = ME;
	header.allProcs = processes;
	header.allProcCount = PROCESSES;
	ProcGlobal = &header;
	cprobe_shmem_start = (uintptr_t) &shared;
	cprobe_shmem_end = cprobe_shmem_start + sizeof(shared);
	for (int i = 0; i < LOCKS; i++)
	{
		lock_at(i)->tranche = TRANCHE;
		lock_at(i)->waiters.head = CPROBE_NO_PROC;
		lock_at(i)->waiters.tail = CPROBE_NO_PROC;
	}
	push(lock_at(3), 1);
	push(lock_at(3), ME);
	push(lock_at(3), 2);
	push(lock_at(4), 8);
	push(lock_at(4), 9);
}

static CprobeLockFind
scan(const uintptr_t *words, int count)
{
	int			hint = -1;

	return cprobe_lock_scan_words(words, count, TRANCHE, &hint);
}

static void
expect(CprobeLockFind got, CprobeProof proof, const void *lock,
	   const char *what)
{
	cprobe_tap_ok(got.proof == proof && got.lock == lock, "%s", what);
}

/* A copy of our lock's header elsewhere: same ends of the queue. */
static LWLock *
forge(int head, int tail)
{
	LWLock	   *lock = (LWLock *) shared.forged;

	lock->tranche = TRANCHE;
	lock->waiters.head = head;
	lock->waiters.tail = tail;
	pg_atomic_write_u32(&lock->state, CPROBE_LWLOCK_HAS_WAITERS);
	return lock;
}

static void
test_real_words(void)
{
	uintptr_t	mine[] = {0, 1, (uintptr_t) lock_at(4), (uintptr_t) lock_at(3)};
	uintptr_t	single[] = {42, (uintptr_t) lock_at(6), (uintptr_t) lock_at(6)};
	uintptr_t	several[] = {(uintptr_t) lock_at(6), (uintptr_t) lock_at(7)};
	uintptr_t	none[] = {0, UINTPTR_MAX, 12345};

	expect(scan(mine, lengthof(mine)), CPROBE_PROOF_PROVEN, lock_at(3),
		   "the lock in whose queue we are is proven, behind another one");
	expect(scan(single, lengthof(single)), CPROBE_PROOF_INFERRED, lock_at(6),
		   "the only lock of the tranche is inferred, though it stands twice");
	expect(scan(several, lengthof(several)), CPROBE_PROOF_NONE, NULL,
		   "of two locks neither is reported");
	expect(scan(none, lengthof(none)), CPROBE_PROOF_NONE, NULL,
		   "words that lead nowhere are not followed");
}

static void
test_nasty_words(void)
{
	uintptr_t	words[1];

	words[0] = (uintptr_t) lock_at(3) + 2;
	expect(scan(words, 1), CPROBE_PROOF_NONE, NULL, "not aligned");
	words[0] = cprobe_shmem_end - 8;
	expect(scan(words, 1), CPROBE_PROOF_NONE, NULL,
		   "reaches over the end of shared memory");
	words[0] = cprobe_shmem_start - sizeof(LWLock);
	expect(scan(words, 1), CPROBE_PROOF_NONE, NULL,
		   "lies before shared memory");
	lock_at(3)->tranche = OTHER_TRANCHE;
	words[0] = (uintptr_t) lock_at(3);
	expect(scan(words, 1), CPROBE_PROOF_NONE, NULL, "another tranche");
	lock_at(3)->tranche = TRANCHE;
}

/* Memory that looks like a lock whose queue would lead to us. */
static void
test_forged_locks(void)
{
	uintptr_t	words[1] = {(uintptr_t) shared.forged};

	forge(CPROBE_NO_PROC, ME);
	cprobe_tap_ok(scan(words, 1).proof != CPROBE_PROOF_PROVEN,
				  "a tail that leads to us, without our queue's head");
	forge(8, 2);
	cprobe_tap_ok(scan(words, 1).proof != CPROBE_PROOF_PROVEN,
				  "our queue's tail with another queue's head");
	forge(8, 9);
	cprobe_tap_ok(scan(words, 1).proof != CPROBE_PROOF_PROVEN,
				  "another lock's whole queue");
	forge(PROCESSES, PROCESSES + 3);
	cprobe_tap_ok(scan(words, 1).lock == NULL,
				  "ends of a queue that are no processes");
	pg_atomic_write_u32(&forge(8, 9)->state, 0);
	cprobe_tap_ok(scan(words, 1).lock == NULL,
				  "a queue that the lock's state does not know of");
	forge(-7, -9);
	cprobe_tap_ok(scan(words, 1).lock == NULL, "negative ends of a queue");
}

/* Links that form a ring: the walk ends. */
static void
test_ring(void)
{
	uintptr_t	words[1] = {(uintptr_t) lock_at(9)};

	push(lock_at(9), 20);
	push(lock_at(9), 21);
	processes[20].lwWaitLink.prev = 21;
	cprobe_tap_ok(scan(words, 1).proof != CPROBE_PROOF_PROVEN,
				  "a ring without us ends and proves nothing");
	processes[20].lwWaitLink.prev = ME;
	cprobe_tap_ok(scan(words, 1).proof != CPROBE_PROOF_PROVEN,
				  "a queue torn into ours proves nothing");
}

static void
test_hint(void)
{
	uintptr_t	words[] = {(uintptr_t) lock_at(6), (uintptr_t) lock_at(3)};
	int			hint = -1;
	CprobeLockFind find;

	find = cprobe_lock_scan_words(words, 2, TRANCHE, &hint);
	cprobe_tap_ok(find.proof == CPROBE_PROOF_PROVEN && hint == 1,
				  "the place of a proven lock is remembered");
	words[0] = (uintptr_t) lock_at(3);
	words[1] = (uintptr_t) lock_at(6);
	find = cprobe_lock_scan_words(words, 2, TRANCHE, &hint);
	cprobe_tap_ok(find.proof == CPROBE_PROOF_PROVEN &&
				  find.lock == (void *) lock_at(3),
				  "a remembered place that is wrong does no harm");
	hint = 1000;
	find = cprobe_lock_scan_words(words, 2, TRANCHE, &hint);
	cprobe_tap_ok(find.proof == CPROBE_PROOF_PROVEN,
				  "a remembered place beyond the words is not read");
}

int
main(void)
{
	make_server();
	test_real_words();
	test_nasty_words();
	test_forged_locks();
	test_ring();
	test_hint();
	return cprobe_tap_done();
}
