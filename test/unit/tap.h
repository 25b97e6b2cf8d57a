/*-------------------------------------------------------------------------
 *
 * tap.h
 *	  Test results in the Test Anything Protocol.
 *
 * Separate from the tests, and from postgres.h: results are printed by the
 * C library alone, so that no test depends on a server.
 *
 * One thread of the first process calls these; see workers.h for how others
 * tell what they saw.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_TAP_H
#define CPROBE_TAP_H

#include <stdbool.h>
#include <stdint.h>

/* One result; the format says which property was tested. */
extern void cprobe_tap_ok(bool passed, const char *format,...)
			__attribute__((format(printf, 2, 3)));

/* One result: two numbers are the same. Both are shown if they are not. */
extern void cprobe_tap_equal(uint64_t got, uint64_t expected,
							 const char *format,...)
			__attribute__((format(printf, 3, 4)));

/* One result that this machine cannot give, and why. */
extern void cprobe_tap_skip(const char *format,...)
			__attribute__((format(printf, 1, 2)));

/* A remark for whoever reads the output. */
extern void cprobe_tap_note(const char *format,...)
			__attribute__((format(printf, 1, 2)));

/* Print the plan. The exit code of the program: 0 if all passed. */
extern int	cprobe_tap_done(void);

#endif							/* CPROBE_TAP_H */
