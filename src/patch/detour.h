/*-------------------------------------------------------------------------
 *
 * detour.h
 *	  Redirecting functions of the running program at their first byte.
 *
 * Separate because it knows code and memory and nothing of PostgreSQL: which
 * functions are redirected to what is the caller's business.
 *
 * The first five bytes of a function, behind an endbr64 or a "push %rbp" that
 * stay, become a jump to the replacement, by way of a few bytes that lie within
 * reach; these take the push back first.  What stood there is worked out
 * for another place (relocate.h) and followed by a jump to the rest: that is
 * the address through which the replacement calls the function.
 *
 * Four jumps are more than some hooks may cost.  A caller can give code that
 * is copied to where the first jump leads, and that falls through to the
 * displaced instructions behind it: then two jumps are all.  It works on one
 * structure, and may give up at any time before it changes anything and go to
 * the replacement instead.
 *
 * No memory is writable and executable at a time, with one exception: while
 * the five bytes are stored, the page of the program's text around them is.
 *
 * Call these in a single-threaded process only, and before it forks: children
 * inherit the change, and no other processor runs the code meanwhile.  They
 * do not throw; the C library may allocate.
 *
 * What callers must know: compilers let the callers of a function in the same
 * source file rely on registers that it leaves alone.  A function that calls
 * other files' functions leaves none alone that the calling convention gives
 * away; for one that does not, the replacement must keep all registers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_DETOUR_H
#define CPROBE_DETOUR_H

#include "patch/relocate.h"

#define CPROBE_DETOUR_REASON_BYTES CPROBE_RELOCATE_REASON_BYTES

/*
 * Code to be copied.  It begins with "movabs $0, %r11", whose immediate
 * becomes the address of the structure.  It gives up by a jump to the place
 * that many bytes before its own start.  It may use only registers that the
 * function does not get arguments in.
 */
#define CPROBE_NEAR_GIVE_UP_BYTES 64
#define CPROBE_NEAR_MAX_BYTES 144

typedef struct CprobeNearCode
{
	const uint8 *start;			/* NULL: no such code */
	const uint8 *end;
	void	   *data;
} CprobeNearCode;

typedef enum CprobeDetourStatus
{
	CPROBE_DETOUR_NONE,			/* not tried, or removed */
	CPROBE_DETOUR_ACTIVE,
	CPROBE_DETOUR_MISSING,		/* the program does not export the symbol */
	CPROBE_DETOUR_REFUSED		/* see reason */
} CprobeDetourStatus;

typedef struct CprobeDetour
{
	/* The caller's. */
	const char *symbol;
	void	   *replacement;
	void	  **original;		/* receives the address to call it through */
	CprobeNearCode near_code;

	/* What became of it. */
	CprobeDetourStatus status;
	char		reason[CPROBE_DETOUR_REASON_BYTES];

	/* detour.c's own. */
	uint8	   *place;			/* of the jump; NULL = not found */
	CprobeRelocated relocated;
	uint8		saved[CPROBE_JUMP_BYTES];
} CprobeDetour;

/*
 * Redirect every function that can be; status and reason say what became of
 * each.  A function that is refused is as it was.
 */
extern void cprobe_detours_install(CprobeDetour *detours, int count);

/*
 * Put every active one back, byte for byte.  The trampolines stay, for a
 * replacement may be running.  False if the text of one could not be opened:
 * that one stays active, and works.
 */
extern bool cprobe_detours_remove(CprobeDetour *detours, int count);

#endif							/* CPROBE_DETOUR_H */
