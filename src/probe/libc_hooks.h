/*-------------------------------------------------------------------------
 *
 * libc_hooks.h
 *	  Hooks on the library calls in which the server sleeps.
 *
 * Separate from the measuring of waits: here is what each call's return means
 * for the wait, and nothing else.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_LIBC_HOOKS_H
#define CPROBE_LIBC_HOOKS_H

/*
 * Redirect every call that the server has, and note in the hook table what
 * became of each.  Postmaster, once, single-threaded; does not throw.
 */
extern void cprobe_libc_hooks_install(void);

#endif							/* CPROBE_LIBC_HOOKS_H */
