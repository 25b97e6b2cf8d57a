/*-------------------------------------------------------------------------
 *
 * frames_old_linker_test.c
 *	  The cases of frames_test.c where the linker cannot be asked in a hook:
 *	  libraries that were loaded later are found at a refresh.
 *
 * Separate: how the program is built stands in the Makefile.
 *
 *-------------------------------------------------------------------------
 */
#include "frames_test.c"
