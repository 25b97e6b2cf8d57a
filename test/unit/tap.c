/*-------------------------------------------------------------------------
 *
 * tap.c
 *	  Test results in the Test Anything Protocol.
 *
 * Separate: see tap.h.
 *
 *-------------------------------------------------------------------------
 */
#include <stdarg.h>
#include <stdio.h>

#include "tap.h"

static int	cprobe_tap_results = 0;
static int	cprobe_tap_failures = 0;

/*
 * Flushed line by line: a test that forks must not have its output twice,
 * and one that is killed should show how far it came.
 */
static void
cprobe_tap_print(bool passed, const char *directive, const char *format,
				 va_list args)
{
	cprobe_tap_results++;
	if (!passed)
		cprobe_tap_failures++;
	printf("%sok %d - %s", passed ? "" : "not ", cprobe_tap_results,
		   directive);
	vprintf(format, args);
	printf("\n");
	fflush(stdout);
}

void
cprobe_tap_ok(bool passed, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	cprobe_tap_print(passed, "", format, args);
	va_end(args);
}

void
cprobe_tap_equal(uint64_t got, uint64_t expected, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	cprobe_tap_print(got == expected, "", format, args);
	va_end(args);
	if (got != expected)
		cprobe_tap_note("got %llu, expected %llu", (unsigned long long) got,
						(unsigned long long) expected);
}

void
cprobe_tap_skip(const char *format,...)
{
	va_list		args;

	va_start(args, format);
	cprobe_tap_print(true, "# SKIP ", format, args);
	va_end(args);
}

void
cprobe_tap_note(const char *format,...)
{
	va_list		args;

	printf("# ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

int
cprobe_tap_done(void)
{
	printf("1..%d\n", cprobe_tap_results);
	fflush(stdout);
	return cprobe_tap_failures == 0 ? 0 : 1;
}
