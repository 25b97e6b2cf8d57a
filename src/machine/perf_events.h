/*-------------------------------------------------------------------------
 *
 * perf_events.h
 *	  Counters of the kernel and of the CPU for the calling process.
 *
 * Separate because it knows perf_event_open, and nothing of who is counted.
 *
 * Software counters are kept by the kernel.  Hardware counters need a PMU,
 * which virtual machines often lack.  perf_event_paranoid decides what an
 * ordinary user may count: at 2, nothing that happens in the kernel, and so
 * neither context switches nor migrations; above, nothing.
 *
 * Each group of counters is read by one system call of 0.5 us.  Not for
 * hooks; does not throw or allocate.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_PERF_EVENTS_H
#define CPROBE_PERF_EVENTS_H

typedef enum CprobePerfCounter
{
	CPROBE_PERF_TASK_CLOCK,		/* ns on a CPU */
	CPROBE_PERF_CONTEXT_SWITCHES,
	CPROBE_PERF_CPU_MIGRATIONS,
	CPROBE_PERF_PAGE_FAULTS,
	CPROBE_PERF_SOFTWARE_COUNTERS,
	CPROBE_PERF_CYCLES = CPROBE_PERF_SOFTWARE_COUNTERS,
	CPROBE_PERF_INSTRUCTIONS,
	CPROBE_PERF_LLC_MISSES,
	CPROBE_PERF_NODE_LOAD_MISSES,
	CPROBE_PERF_COUNTERS
} CprobePerfCounter;

/* Besides numbers of errno: why a counter is missing, or less than all. */
#define CPROBE_PERF_NOT_ASKED 254
#define CPROBE_PERF_USER_ONLY 253	/* counted, but only in user mode */
#define CPROBE_PERF_KERNEL_ONLY 252 /* happens in the kernel, which this
									 * process may not count in */

typedef struct CprobePerfSet
{
	int			fds[CPROBE_PERF_COUNTERS];	/* -1 = none */
	uint8		errors[CPROBE_PERF_COUNTERS];	/* 0 = counts */
	uint64		values[CPROBE_PERF_COUNTERS];	/* at the last read */
} CprobePerfSet;

extern const char *cprobe_perf_counter_name(CprobePerfCounter counter);

/* May one more descriptor be opened? And: it was closed. */
typedef bool (*CprobePerfAcquire) (void);
typedef void (*CprobePerfRelease) (void);

/* Open the software counters, and with hardware those as well. */
extern void cprobe_perf_open(CprobePerfSet *set, bool hardware,
							 CprobePerfAcquire acquire,
							 CprobePerfRelease release);

/* Read all into values; numbers of counters that are not there stay 0. */
extern void cprobe_perf_read(CprobePerfSet *set);

extern void cprobe_perf_close(CprobePerfSet *set, CprobePerfRelease release);

/* kernel.perf_event_paranoid; INT_MAX if it cannot be read. */
extern int	cprobe_perf_paranoid(void);

/* An errno or one of the numbers above, in words. In a static buffer. */
extern const char *cprobe_perf_reason(int error);

#endif							/* CPROBE_PERF_EVENTS_H */
