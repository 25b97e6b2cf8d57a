/*-------------------------------------------------------------------------
 *
 * profile_names.h
 *	  Which function an address of another process or of the kernel lies in.
 *
 * Separate from probe/symbols, which names the frames that processes capture
 * of themselves and write in terms all agree on: here addresses come from the
 * kernel, as the sampled process sees them.
 *
 * A frame is one word: what it lies in << 48 | where the function begins.  So
 * samples in one function are one frame, wherever in it they were taken.
 *
 * Backends only; allocates in the context that was current at the begin, and
 * may throw when memory is out.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_PROFILE_NAMES_H
#define CPROBE_PROFILE_NAMES_H

#include "lib/stringinfo.h"

#include "machine/process_code.h"

/* Frames of no function. */
#define CPROBE_PROFILE_UNKNOWN UINT64CONST(1)	/* not in any code */
#define CPROBE_PROFILE_CUT UINT64CONST(2)	/* the path was longer */
#define CPROBE_PROFILE_KERNEL UINT64CONST(3)	/* of the kernel, nameless */

typedef struct CprobeProfileNames CprobeProfileNames;

/* kernel: its functions will be asked for. */
extern CprobeProfileNames *cprobe_profile_names_begin(bool kernel);

/* Are the kernel's functions known by name? */
extern bool cprobe_profile_names_kernel(const CprobeProfileNames *names);

/* For cprobe_process_code_read, with the names as context. */
extern uint32 cprobe_profile_names_intern(void *names, const char *path,
										  bool deleted);

/* The frame of an address in a mapping, or in the kernel. */
extern uint64 cprobe_profile_names_frame(CprobeProfileNames *names,
										 const CprobeCodeMapping *mapping,
										 uint64 address);
extern uint64 cprobe_profile_names_kernel_frame(CprobeProfileNames *names,
												uint64 address);

/* Is it the server's main, where every path begins? */
extern bool cprobe_profile_names_is_main(CprobeProfileNames *names,
										 uint64 frame);

/* Append the frame's name; those of the kernel end in _[k]. */
extern void cprobe_profile_names_append(CprobeProfileNames *names,
										StringInfo text, uint64 frame);

#endif							/* CPROBE_PROFILE_NAMES_H */
