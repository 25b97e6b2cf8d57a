/*-------------------------------------------------------------------------
 *
 * event_names.h
 *	  What wait events this server has, and their names.
 *
 * Separate from the dense numbering (store/event_index.h), which is pure:
 * here the running server is asked.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_EVENT_NAMES_H
#define CPROBE_EVENT_NAMES_H

#include "store/event_index.h"

/*
 * Number all wait events of the running server.  The same result each time
 * within one server.  Postmaster; does not throw.
 */
extern void cprobe_event_names_index(CprobeSharedEventIndex *index);

/*
 * Names of a number, as in pg_stat_activity; "(other)" for what has no number
 * of its own.  Strings of the server or static.  May take the server's lock
 * on the names of custom events and may throw: not for hooks.
 */
extern const char *cprobe_event_names_type(const CprobeEvent *event);
extern const char *cprobe_event_names_event(const CprobeEvent *event);

/* The same for the server's 32-bit wait event. */
extern const char *cprobe_event_names_info_type(uint32 info);
extern const char *cprobe_event_names_info_event(uint32 info);

#endif							/* CPROBE_EVENT_NAMES_H */
