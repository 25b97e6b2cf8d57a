/*-------------------------------------------------------------------------
 *
 * frames_fixture.c
 *	  The library that calls back.
 *
 * Separate: see frames_fixture.h.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "frames_fixture.h"

/* Between two global functions, so that one of them is its neighbour. */
static __attribute__((noinline))
int
cprobe_fixture_hidden(CprobeFixtureCallback callback, void *arg)
{
	volatile char room[64];
	int			result;

	memset((char *) room, 1, sizeof(room));
	result = callback(arg);
	return result + room[0];
}

__attribute__((noinline))
int
cprobe_fixture_call(CprobeFixtureCallback callback, void *arg)
{
	volatile char room[64];
	int			result;

	memset((char *) room, 1, sizeof(room));
	result = cprobe_fixture_hidden(callback, arg);
	return result + room[0];
}

__attribute__((noinline))
int
cprobe_fixture_pass(CprobeFixtureCallback callback, void *arg)
{
	volatile char room[64];
	int			result;

	memset((char *) room, 2, sizeof(room));
	result = callback(arg);
	return result + room[0];
}
