/*-------------------------------------------------------------------------
 *
 * cpu_samples.h
 *	  Samples of where a process spends its time on a CPU, with call chains,
 *	  taken by the kernel.
 *
 * Separate from perf_events, which counts for the calling process: here
 * another process is looked at, and what comes are addresses.
 *
 * A timer of the kernel that runs only while the process is on a CPU
 * (PERF_COUNT_SW_CPU_CLOCK) notes the call chain by frame pointers each time
 * that it fires.  The process itself takes no part; a process that sleeps
 * costs nothing.  Chains arrive in a ring of locked memory for each process,
 * which has to be emptied before it is full: what does not fit is lost, and
 * the kernel says how much.
 *
 * No descriptor stays open: the mapped ring keeps the timer alive.  So the
 * number of processes is not bounded by that of open files.
 *
 * Not for hooks; makes system calls, does not throw or allocate from the
 * server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_CPU_SAMPLES_H
#define CPROBE_CPU_SAMPLES_H

typedef struct CprobeCpuSampling
{
	uint64		period_ns;		/* CPU time between samples */
	bool		kernel;			/* in kernel mode as well */
	int			ring_pages;		/* of one ring, a power of 2 */
} CprobeCpuSampling;

/* The samples of one process; private to who opened them. */
typedef struct CprobeCpuSamples
{
	void	   *ring;			/* NULL = not open */
	size_t		bytes;			/* mapped */
	uint64		lost;			/* for want of room */
	uint64		throttled;		/* times that the kernel slowed it down */
} CprobeCpuSamples;

/*
 * One sample: addresses from the innermost outwards, as the kernel gives
 * them, with numbers of enum perf_callchain_context between kernel and user.
 */
typedef void (*CprobeCpuSampleTake) (void *context, const uint64 *chain,
									 size_t length);

/*
 * Begin to sample a process.  Returns 0, or an errno: EACCES or EPERM where
 * it is not permitted, ESRCH if there is no such process, ENOMEM where no
 * more memory may be locked (kernel.perf_event_mlock_kb, RLIMIT_MEMLOCK).
 * The process must belong to the same user.  Cost: some 30 us.
 */
extern int	cprobe_cpu_samples_open(CprobeCpuSamples *samples,
									const CprobeCpuSampling *sampling,
									int pid);

/* Hand out what has come since. */
extern void cprobe_cpu_samples_drain(CprobeCpuSamples *samples,
									 CprobeCpuSampleTake take, void *context);

extern void cprobe_cpu_samples_close(CprobeCpuSamples *samples);

#endif							/* CPROBE_CPU_SAMPLES_H */
