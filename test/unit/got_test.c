/*-------------------------------------------------------------------------
 *
 * got_test.c
 *	  Calls redirected in a position independent program whose table is read-only.
 *
 * Separate: a program of its own, as every unit test; how it is linked stands
 * in the Makefile.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "got_cases.h"

int
main(void)
{
	const CprobeGotLinkage linkage = {
		.read_only = true,
		.lazy = false,
		.movable = true,
	};

	return cprobe_got_cases_run(&linkage);
}
