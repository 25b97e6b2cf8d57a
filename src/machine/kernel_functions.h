/*-------------------------------------------------------------------------
 *
 * kernel_functions.h
 *	  The functions of the running kernel: where they are and what they are
 *	  called.
 *
 * Separate from elf_functions, whose table it fills: the kernel tells its
 * names in a file of its own.
 *
 * Not for hooks: reads 10 MB and allocates as much in the current memory
 * context.  Does not throw.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_KERNEL_FUNCTIONS_H
#define CPROBE_KERNEL_FUNCTIONS_H

#include "machine/elf_functions.h"

/*
 * Read /proc/kallsyms.  False, and none, where it hides the addresses:
 * kernel.kptr_restrict and kernel.perf_event_paranoid decide.
 */
extern bool cprobe_kernel_functions_read(CprobeElfFunctions *functions);

#endif							/* CPROBE_KERNEL_FUNCTIONS_H */
