/*-------------------------------------------------------------------------
 *
 * got_fixed_test.c
 *	  Calls redirected in a program at a fixed address, without a read-only table.
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
		.read_only = false,
		.lazy = true,
		.movable = false,
	};

	return cprobe_got_cases_run(&linkage);
}
