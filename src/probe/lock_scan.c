/*-------------------------------------------------------------------------
 *
 * lock_scan.c
 *	  Finding the lock that a process sleeps on.
 *
 * Separate: see lock_scan.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/buf_internals.h"
#include "storage/proc.h"

#include "compat.h"
#include "probe/lock_check.h"
#include "probe/lock_scan.h"

/* Spilled registers lie below the hook's frame address, callers above. */
#define CPROBE_SCAN_WORDS_BELOW 8
#define CPROBE_SCAN_WORDS_ABOVE 56

/* Queue elements walked before a queue is taken as not whole. */
#define CPROBE_SCAN_MAX_QUEUE 512

/* End of the main thread's stack, inherited by fork; set by the loader. */
extern void *__libc_stack_end;

/* Where the lock was found the last time. */
static int	cprobe_lock_hint = -1;
static int	cprobe_buffer_hint = -1;

/* One search. */
typedef struct CprobeScan
{
	const uintptr_t *words;
	int			count;
	/* queue of the candidate at that address, NULL if it is none */
	volatile proclist_head *(*queue) (uintptr_t address, uint16 tranche);
	uint16		tranche;
} CprobeScan;

static volatile proclist_head *
cprobe_scan_lwlock_queue(uintptr_t address, uint16 tranche)
{
	volatile LWLock *lock = (volatile LWLock *) address;

	if (!cprobe_lock_looks_valid((const void *) address, tranche))
		return NULL;

	/* Who queues says so first; a number followed by zeros does not. */
	if (lock->waiters.head != CPROBE_NO_PROC &&
		(lock->state.value & CPROBE_LWLOCK_HAS_WAITERS) == 0)
		return NULL;
	return &lock->waiters;
}

static volatile proclist_head *
cprobe_scan_buffer_queue(uintptr_t address, uint16 tranche)
{
	(void) tranche;
	return CPROBE_BUFFER_QUEUE(address);
}

/*
 * Is this process in the queue, and is the queue whole: does it lead from its
 * tail, element by element, to its head?
 */
static bool
cprobe_scan_prove(volatile proclist_head *queue)
{
	int			me = CPROBE_MY_PROC_NUMBER();
	int			current = queue->tail;
	bool		found = false;

	for (int i = 0; i < CPROBE_SCAN_MAX_QUEUE; i++)
	{
		volatile proclist_node *link;

		if (current < 0 || (uint32) current >= ProcGlobal->allProcCount)
			return false;
		if (current == me)
			found = true;
		link = &ProcGlobal->allProcs[current].lwWaitLink;
		if (link->prev == CPROBE_NO_PROC)
			return found && queue->head == current;
		current = link->prev;
	}
	return false;
}

static bool
cprobe_scan_try(const CprobeScan *scan, int index, uintptr_t *candidate)
{
	uintptr_t	address = scan->words[index];
	volatile proclist_head *queue;

	*candidate = 0;
	queue = scan->queue(address, scan->tranche);
	if (queue == NULL)
		return false;
	*candidate = address;
	return cprobe_scan_prove(queue);
}

static CprobeLockFind
cprobe_scan_run(const CprobeScan *scan, int *hint)
{
	CprobeLockFind find = {CPROBE_PROOF_NONE, NULL};
	uintptr_t	candidate;
	bool		several = false;

	if (*hint >= 0 && *hint < scan->count &&
		cprobe_scan_try(scan, *hint, &candidate))
		return (CprobeLockFind)
	{
		CPROBE_PROOF_PROVEN, (void *) candidate
	};

	for (int i = 0; i < scan->count; i++)
	{
		if (cprobe_scan_try(scan, i, &candidate))
		{
			*hint = i;
			return (CprobeLockFind)
			{
				CPROBE_PROOF_PROVEN, (void *) candidate
			};
		}
		if (candidate == 0)
			continue;
		if (find.lock == NULL)
			find.lock = (void *) candidate;
		else if (candidate != (uintptr_t) find.lock)
			several = true;
	}
	if (several)
		find.lock = NULL;
	if (find.lock != NULL)
		find.proof = CPROBE_PROOF_INFERRED;
	return find;
}

CprobeLockFind
cprobe_lock_scan_words(const uintptr_t *words, int count, uint16 tranche,
					   int *hint)
{
	CprobeScan	scan = {
		.words = words,
		.count = count,
		.queue = cprobe_scan_lwlock_queue,
		.tranche = tranche,
	};

	return cprobe_scan_run(&scan, hint);
}

/* The words around a frame, as many as the stack has. */
static CprobeScan
cprobe_scan_around(void *frame)
{
	const uintptr_t *first = (const uintptr_t *) frame -
	CPROBE_SCAN_WORDS_BELOW;
	ptrdiff_t	available = (const uintptr_t *) __libc_stack_end - first;
	CprobeScan	scan = {
		.words = first,
		.count = (int) Max(0, Min(available, CPROBE_SCAN_WORDS_BELOW +
								  CPROBE_SCAN_WORDS_ABOVE)),
	};

	return scan;
}

CprobeLockFind
cprobe_lock_scan_stack(void *frame, uint16 tranche)
{
	CprobeScan	scan = cprobe_scan_around(frame);

	scan.queue = cprobe_scan_lwlock_queue;
	scan.tranche = tranche;
	return cprobe_scan_run(&scan, &cprobe_lock_hint);
}

CprobeLockFind
cprobe_lock_scan_stack_buffer(void *frame)
{
	CprobeScan	scan = cprobe_scan_around(frame);

	scan.queue = cprobe_scan_buffer_queue;
	return cprobe_scan_run(&scan, &cprobe_buffer_hint);
}
