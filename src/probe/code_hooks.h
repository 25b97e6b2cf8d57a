/*-------------------------------------------------------------------------
 *
 * code_hooks.h
 *	  Placing the hooks in code paths that need not sleep, and trying them.
 *
 * Separate from what the hooks do, and from patch/, which does not know what
 * they are for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_CODE_HOOKS_H
#define CPROBE_CODE_HOOKS_H

/*
 * Redirect the functions, take a lock of our own in every way there is, and
 * see whether the counters say so.  If not, or if one of the hooks without
 * which nothing can be counted was refused, everything is put back.  Returns
 * NULL if the hooks are active, else why they are not.
 *
 * Postmaster, once, single-threaded, before shared memory exists.  Notes in
 * the hook table what became of each.  Does not throw.
 */
extern const char *cprobe_code_hooks_install(void);

#endif							/* CPROBE_CODE_HOOKS_H */
