/*-------------------------------------------------------------------------
 *
 * process_times.c
 *	  Reading what the kernel counts of a process.
 *
 * Separate: see process_times.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "machine/process_times.h"

/* The longest is status, whose lists of CPUs grow with the machine. */
#define CPROBE_PROC_FILE_BYTES 8192

/* Fields of /proc/PID/stat behind the name, counted from the state as 0. */
enum
{
	CPROBE_STAT_MINOR_FAULTS = 7,
	CPROBE_STAT_MAJOR_FAULTS = 9,
	CPROBE_STAT_USER = 11,
	CPROBE_STAT_SYSTEM = 12,
	CPROBE_STAT_CPU = 36,
	CPROBE_STAT_FIELDS
};

/* The name, in parentheses, may itself hold parentheses and spaces. */
bool
cprobe_process_stat_parse(const char *content, CprobeProcessStat *stat)
{
	const char *next = strrchr(content, ')');
	uint64		fields[CPROBE_STAT_FIELDS] = {0};

	if (next == NULL || next[1] != ' ' || next[2] == '\0')
		return false;
	stat->state = next[2];
	next += 3;
	for (int i = 1; i < CPROBE_STAT_FIELDS; i++)
	{
		char	   *end;

		fields[i] = strtoull(next, &end, 10);
		if (end == next)
			return false;
		next = end;
	}
	stat->minor_faults = fields[CPROBE_STAT_MINOR_FAULTS];
	stat->major_faults = fields[CPROBE_STAT_MAJOR_FAULTS];
	stat->user_ticks = fields[CPROBE_STAT_USER];
	stat->system_ticks = fields[CPROBE_STAT_SYSTEM];
	stat->cpu = (int) fields[CPROBE_STAT_CPU];
	return true;
}

bool
cprobe_process_sched_parse(const char *content, CprobeProcessSched *sched)
{
	return sscanf(content, UINT64_FORMAT " " UINT64_FORMAT " " UINT64_FORMAT,
				  &sched->cpu_ns, &sched->delay_ns, &sched->timeslices) == 3;
}

bool
cprobe_process_switches_parse(const char *content,
							  CprobeProcessSwitches *switches)
{
	static const char voluntary[] = "\nvoluntary_ctxt_switches:";
	static const char involuntary[] = "\nnonvoluntary_ctxt_switches:";
	const char *first = strstr(content, voluntary);
	const char *second = strstr(content, involuntary);

	if (first == NULL || second == NULL)
		return false;
	switches->voluntary = strtoull(first + strlen(voluntary), NULL, 10);
	switches->involuntary = strtoull(second + strlen(involuntary), NULL, 10);
	return true;
}

static bool
cprobe_process_read(int pid, const char *name, char *content)
{
	char		path[64];
	ssize_t		bytes;
	int			fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bytes = read(fd, content, CPROBE_PROC_FILE_BYTES - 1);
	close(fd);
	content[Max(bytes, 0)] = '\0';
	return bytes > 0;
}

bool
cprobe_process_stat_read(int pid, CprobeProcessStat *stat)
{
	char		content[CPROBE_PROC_FILE_BYTES];

	return cprobe_process_read(pid, "stat", content) &&
		cprobe_process_stat_parse(content, stat);
}

bool
cprobe_process_sched_read(int pid, CprobeProcessSched *sched)
{
	char		content[CPROBE_PROC_FILE_BYTES];

	return cprobe_process_read(pid, "schedstat", content) &&
		cprobe_process_sched_parse(content, sched);
}

bool
cprobe_process_switches_read(int pid, CprobeProcessSwitches *switches)
{
	char		content[CPROBE_PROC_FILE_BYTES];

	return cprobe_process_read(pid, "status", content) &&
		cprobe_process_switches_parse(content, switches);
}

uint64
cprobe_process_tick_ns(void)
{
	long		per_second = sysconf(_SC_CLK_TCK);

	return UINT64CONST(1000000000) / (uint64) (per_second > 0 ? per_second : 100);
}
