/*-------------------------------------------------------------------------
 *
 * busy_time.h
 *	  How long all processes together have been at work.
 *
 * Separate because what a code path costs is told as a share of it, by more
 * than one view.
 *
 * Backends only; may be cancelled.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_BUSY_TIME_H
#define CPROBE_BUSY_TIME_H

/*
 * Time since the last reset in which processes ran or waited, but were not
 * idle, in ns: estimated from samples.  0 where none was taken.
 */
extern double cprobe_busy_time_ns(void);

#endif							/* CPROBE_BUSY_TIME_H */
