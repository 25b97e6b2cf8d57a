/*-------------------------------------------------------------------------
 *
 * frames.h
 *	  The call path that led to a frame, by frame pointers.
 *
 * Separate because it knows a machine's stack and code addresses, and neither
 * why a path is wanted nor how it is shown.
 *
 * A frame is one word that means the same in every process: the number of the
 * module << 48 | the address of the call in that module's file.  Module 0
 * stands for what is no frame: why the path ends before its root.
 *
 * The walk follows a frame only if it lies above the last one and on this
 * stack, and a return address only into the code of a known module.  At the
 * first doubt it stops.  A program built without frame pointers gives short
 * paths, or paths in which a function is missing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_FRAMES_H
#define CPROBE_FRAMES_H

#include "machine/text_map.h"

#define CPROBE_FRAME(module, address) (((uint64) (module) << 48) | (address))
#define CPROBE_FRAME_MODULE(frame) ((uint32) ((frame) >> 48))
#define CPROBE_FRAME_ADDRESS(frame) ((frame) & UINT64CONST(0xFFFFFFFFFFFF))

/* The last word of a path that does not begin in main. */
#define CPROBE_FRAME_CUT UINT64CONST(1) /* deeper than was asked for */
#define CPROBE_FRAME_DOUBT UINT64CONST(2)	/* what came next was no frame */

/*
 * Learn where stack and code are; see cprobe_text_map_init.  Postmaster, main
 * thread: processes forked later have the same.
 */
extern void cprobe_frames_init(CprobeModuleIntern intern,
							   const char *program_path,
							   const void *own_code);

/*
 * Walk from the frame at an address on the calling thread's stack, which
 * __builtin_frame_address(0) of the caller gives, up to main.  The first
 * frame is where the caller was called from.  frames takes max_depth + 1
 * words, the last one for CPROBE_FRAME_CUT or CPROBE_FRAME_DOUBT.  Returns
 * their number; 0 on machines whose frames are not known here.
 *
 * Hook context: any process, critical sections, signal handlers.  Never
 * faults, whatever the address.  Cost: 2 ns a frame.
 */
extern int	cprobe_frames_capture(const void *frame, uint64 *frames,
								  int max_depth);

/*
 * Learn where the code of libraries is that paths ended at.  To be called now
 * and then where nothing is locked.  Cost: a load and a branch; some
 * microseconds after a path ended at one, and never where the linker can be
 * asked in a hook.
 */
static inline void
cprobe_frames_refresh_if_stale(void)
{
	if (unlikely(cprobe_text_map_is_stale))
		cprobe_text_map_refresh();
}

#endif							/* CPROBE_FRAMES_H */
