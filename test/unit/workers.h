/*-------------------------------------------------------------------------
 *
 * workers.h
 *	  Running one function in several processes, or threads, at once.
 *
 * Separate from the tests of concurrency, which all need memory that is
 * shared as the server's is, and a verdict of each worker.
 *
 * A worker must not print results: it returns the number of violations that
 * it saw, and may count what it did in shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_WORKERS_H
#define CPROBE_WORKERS_H

#define CPROBE_WORKERS_MAX 16

/* A worker that did not end as it should counts as this many violations. */
#define CPROBE_WORKER_DIED 1000000

typedef enum CprobeWorkerKind
{
	CPROBE_WORKER_PROCESSES,
	CPROBE_WORKER_THREADS
} CprobeWorkerKind;

/* number: 0 to the number of workers - 1. Returns violations. */
typedef uint64 (*CprobeWorkerFunction) (int number, void *arg);

/* Zeroed memory that forked processes share; never freed. */
extern void *cprobe_workers_share(Size bytes);

/*
 * Run the function in that many workers that start together; returns when all
 * have ended, with the sum of their violations.
 */
extern uint64 cprobe_workers_run(CprobeWorkerKind kind, int count,
								 CprobeWorkerFunction function, void *arg);

/* The next of a worker's own pseudo-random numbers; *state must not be 0. */
static inline uint64
cprobe_workers_random(uint64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif							/* CPROBE_WORKERS_H */
