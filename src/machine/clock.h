/*-------------------------------------------------------------------------
 *
 * clock.h
 *	  The one clock of all measured times.
 *
 * Separate so that a cheaper source can replace it in one place.
 *
 * CLOCK_MONOTONIC is the same in all processes, is not set back, and is read
 * in user space through the vDSO: about 25 ns on common hardware.  Where the
 * kernel had to give up the TSC as its clock source it is a system call of up
 * to a microsecond; the calibrated cost in the view "status" shows that.
 *
 * Any process, any context including critical sections and signal handlers;
 * does not throw, allocate or change errno (the clock always exists).
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_CLOCK_H
#define CPROBE_CLOCK_H

#include <time.h>

#define CPROBE_NS_PER_S UINT64CONST(1000000000)
#define CPROBE_NS_PER_MS 1000000.0

static inline uint64
cprobe_clock_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64) now.tv_sec * CPROBE_NS_PER_S + (uint64) now.tv_nsec;
}

/* CPU time that this process has used, user and system. A system call. */
static inline uint64
cprobe_clock_process_cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64) used.tv_sec * CPROBE_NS_PER_S + (uint64) used.tv_nsec;
}

#endif							/* CPROBE_CLOCK_H */
