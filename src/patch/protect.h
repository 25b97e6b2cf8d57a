/*-------------------------------------------------------------------------
 *
 * protect.h
 *	  Storing into memory that the linker has made read-only.
 *
 * Separate because tables of addresses are changed by more than one kind of
 * hook, and each must leave the protection of the page as it found it.
 *
 * Knows ELF and nothing of PostgreSQL.  For a single-threaded process; does
 * not throw and does not allocate.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_PROTECT_H
#define CPROBE_PROTECT_H

/*
 * Store one pointer; with read_only its page is opened for that moment.  If
 * the page cannot be closed again the old value is put back: a program that is
 * less protected than before is not what the user asked for.  False, with
 * errno, if nothing was changed.
 */
extern bool cprobe_protect_store(void **slot, void *value, bool read_only);

/*
 * Is an address in memory that a loaded object has, but may not write: a
 * segment without write permission, or data made read-only after relocation?
 */
extern bool cprobe_protect_is_read_only(const void *address);

#endif							/* CPROBE_PROTECT_H */
