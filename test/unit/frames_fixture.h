/*-------------------------------------------------------------------------
 *
 * frames_fixture.h
 *	  A small library that calls back, for the tests of call paths.
 *
 * Separate: it is linked as several libraries that the tests load while they
 * run: with frame pointers, without them, and stripped.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_FRAMES_FIXTURE_H
#define CPROBE_FRAMES_FIXTURE_H

typedef int (*CprobeFixtureCallback) (void *arg);

/* Call back through a static function. */
extern int	cprobe_fixture_call(CprobeFixtureCallback callback, void *arg);

/* Call back directly. */
extern int	cprobe_fixture_pass(CprobeFixtureCallback callback, void *arg);

typedef int (*CprobeFixtureCall) (CprobeFixtureCallback callback, void *arg);

#endif							/* CPROBE_FRAMES_FIXTURE_H */
