/*-------------------------------------------------------------------------
 *
 * lwlock_near.h
 *	  The two hooks on LWLocks that are called most, in assembly.
 *
 * Separate from lwlock_hooks.c, which says what they do and does it in all
 * cases; here is only the case that nothing is special, in a dozen
 * instructions that are copied next to the server's function.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_LWLOCK_NEAR_H
#define CPROBE_LWLOCK_NEAR_H

#include "probe/code_counts.h"

#if defined(__x86_64__)

extern CPROBE_HIDDEN const uint8 cprobe_near_acquire[];
extern CPROBE_HIDDEN const uint8 cprobe_near_acquire_end[];
extern CPROBE_HIDDEN const uint8 cprobe_near_release[];
extern CPROBE_HIDDEN const uint8 cprobe_near_release_end[];

#define CPROBE_NEAR_CODE(name) \
	{.start = name, .end = name##_end, .data = &cprobe_code_local}
#define CPROBE_NEAR_ACQUIRE CPROBE_NEAR_CODE(cprobe_near_acquire)
#define CPROBE_NEAR_RELEASE CPROBE_NEAR_CODE(cprobe_near_release)

#else

#define CPROBE_NEAR_ACQUIRE {.start = NULL}
#define CPROBE_NEAR_RELEASE {.start = NULL}

#endif

#endif							/* CPROBE_LWLOCK_NEAR_H */
