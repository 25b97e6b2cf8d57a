/*-------------------------------------------------------------------------
 *
 * process_state.c
 *	  Reading a process's state from /proc.
 *
 * Separate: see process_state.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "machine/process_state.h"

#define CPROBE_PROC_STAT_BYTES 512

char
cprobe_process_state(int pid)
{
	char		path[64];
	char text[	CPROBE_PROC_STAT_BYTES];
	const char *name_end;
	ssize_t		bytes;
	int			fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return '\0';
	bytes = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (bytes <= 0)
		return '\0';
	text[		bytes] = '\0';

	/* The state follows the name, which may itself hold parentheses. */
	name_end = strrchr(text, ')');
	if (name_end == NULL || name_end[1] != ' ')
		return '\0';
	return name_end[2];
}
