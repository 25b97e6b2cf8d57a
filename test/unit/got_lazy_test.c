/*-------------------------------------------------------------------------
 *
 * got_lazy_test.c
 *	  Calls redirected in a program that resolves each function at its first call.
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
		.movable = true,
	};

	return cprobe_got_cases_run(&linkage);
}
