/*-------------------------------------------------------------------------
 *
 * process_state.h
 *	  What the kernel says of a process.
 *
 * Separate because it is the operating system's business, not the server's.
 *
 * Not for hooks: opens a file.  Does not throw.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_PROCESS_STATE_H
#define CPROBE_PROCESS_STATE_H

/*
 * State letter of /proc/PID/stat: R running, S sleeping, D in I/O, T stopped,
 * t in a debugger, Z dead; '\0' if it cannot be read.
 */
extern char cprobe_process_state(int pid);

/* Stopped by a signal or a debugger? */
static inline bool
cprobe_process_state_is_stopped(char state)
{
	return state == 'T' || state == 't';
}

#endif							/* CPROBE_PROCESS_STATE_H */
