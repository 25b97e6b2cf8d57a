/*-------------------------------------------------------------------------
 *
 * cpu_look.h
 *	  One look at the CPUs that processes run on.
 *
 * Separate from the look at what they wait for (tick.h): it reads /proc, and
 * so has a slower pace.
 *
 * Processes that have slept since the last look are passed over, which costs
 * a load each; the others cost one file of /proc, about 8 us.  The sampler
 * alone; does not throw.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_CPU_LOOK_H
#define CPROBE_CPU_LOOK_H

/* Allocate what is remembered of each process. May throw. */
extern void cprobe_cpu_look_init(void);

extern void cprobe_cpu_look_run(void);

#endif							/* CPROBE_CPU_LOOK_H */
