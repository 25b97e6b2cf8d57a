/*-------------------------------------------------------------------------
 *
 * process_times.h
 *	  CPU time, run-queue delay, switches and place of a process.
 *
 * Separate because it is the operating system's business, not the server's.
 *
 * Not for hooks: opens files of /proc, about 10 us each.  Does not throw or
 * allocate.  The parsers are pure.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_PROCESS_TIMES_H
#define CPROBE_PROCESS_TIMES_H

/* From /proc/PID/stat. */
typedef struct CprobeProcessStat
{
	char		state;			/* R, S, D, ... */
	uint64		minor_faults;
	uint64		major_faults;
	uint64		user_ticks;
	uint64		system_ticks;
	int			cpu;			/* on which it runs, or ran last */
} CprobeProcessStat;

/* From /proc/PID/schedstat. */
typedef struct CprobeProcessSched
{
	uint64		cpu_ns;			/* on a CPU */
	uint64		delay_ns;		/* ready to run, but waiting for a CPU */
	uint64		timeslices;		/* times that it was given a CPU */
} CprobeProcessSched;

/* From /proc/PID/status. */
typedef struct CprobeProcessSwitches
{
	uint64		voluntary;
	uint64		involuntary;
} CprobeProcessSwitches;

extern bool cprobe_process_stat_parse(const char *content,
									  CprobeProcessStat *stat);
extern bool cprobe_process_sched_parse(const char *content,
									   CprobeProcessSched *sched);
extern bool cprobe_process_switches_parse(const char *content,
										  CprobeProcessSwitches *switches);

/* False if there is no such file: the process has left, or the kernel lacks it. */
extern bool cprobe_process_stat_read(int pid, CprobeProcessStat *stat);
extern bool cprobe_process_sched_read(int pid, CprobeProcessSched *sched);
extern bool cprobe_process_switches_read(int pid,
										 CprobeProcessSwitches *switches);

/* Duration of a tick of user_ticks and system_ticks. */
extern uint64 cprobe_process_tick_ns(void);

#endif							/* CPROBE_PROCESS_TIMES_H */
