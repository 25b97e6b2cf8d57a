/*-------------------------------------------------------------------------
 *
 * semaphores.h
 *	  Whose semaphore is it?
 *
 * Separate because it is a fact about the server's memory layout that is
 * verified at start, and used by one hook.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_SEMAPHORES_H
#define CPROBE_SEMAPHORES_H

#include <semaphore.h>

/*
 * Find out how semaphores are laid out: process i's at base + i * stride, for
 * every process number.  False if they are not.  Postmaster, once shared
 * memory exists.
 */
extern bool cprobe_semaphores_init(void);

/* Process number of a semaphore's owner, -1 if not known. Hook context. */
extern int	cprobe_semaphore_owner(const sem_t *semaphore);

#endif							/* CPROBE_SEMAPHORES_H */
