/*-------------------------------------------------------------------------
 *
 * reset.h
 *	  Starting all statistics anew.
 *
 * Separate because it touches every part of the region; the protocol stands
 * in region.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_RESET_H
#define CPROBE_RESET_H

/*
 * Start a new epoch.  Throws when another reset does not end within a second.
 * Takes no lock that a hook could want.
 */
extern void cprobe_reset_all(void);

#endif							/* CPROBE_RESET_H */
