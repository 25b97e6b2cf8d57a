/*-------------------------------------------------------------------------
 *
 * perf_events.c
 *	  Opening and reading counters by perf_event_open.
 *
 * Separate: see perf_events.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "machine/perf_events.h"

#define CPROBE_CACHE_EVENT(cache, op, result) \
	((uint64) (cache) | (uint64) (op) << 8 | (uint64) (result) << 16)

typedef struct CprobePerfKind
{
	const char *name;
	uint32		type;
	uint64		config;
	bool		in_kernel;		/* happens there, and nowhere else */
	bool		of_both;		/* counts both modes even if told not to */
} CprobePerfKind;

static const CprobePerfKind cprobe_perf_kinds[CPROBE_PERF_COUNTERS] = {
	{"task_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false, true},
	{"context_switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, true, false},
	{"cpu_migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, true, false},
	{"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false, false},
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, false},
	{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false, false},
	{"llc_misses", PERF_TYPE_HW_CACHE,
		CPROBE_CACHE_EVENT(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_OP_READ,
						   PERF_COUNT_HW_CACHE_RESULT_MISS), false, false},
	{"node_load_misses", PERF_TYPE_HW_CACHE,
		CPROBE_CACHE_EVENT(PERF_COUNT_HW_CACHE_NODE, PERF_COUNT_HW_CACHE_OP_READ,
						   PERF_COUNT_HW_CACHE_RESULT_MISS), false, false},
};

/* What a read of one counter gives. */
typedef struct CprobePerfReading
{
	uint64		value;
	uint64		enabled_ns;
	uint64		running_ns;
} CprobePerfReading;

const char *
cprobe_perf_counter_name(CprobePerfCounter counter)
{
	return cprobe_perf_kinds[counter].name;
}

/* A descriptor, or -1 with errno. */
static int
cprobe_perf_open_kind(const CprobePerfKind *kind, bool exclude_kernel)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = kind->type,
		.config = kind->config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
		PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_kernel = exclude_kernel,
		.exclude_hv = exclude_kernel,
	};

	return (int) syscall(SYS_perf_event_open, &attr, 0, -1, -1,
						 PERF_FLAG_FD_CLOEXEC);
}

/* First with the kernel's part; without, if that is not allowed. */
static void
cprobe_perf_open_counter(CprobePerfSet *set, int counter)
{
	const CprobePerfKind *kind = &cprobe_perf_kinds[counter];

	set->fds[counter] = cprobe_perf_open_kind(kind, false);
	if (set->fds[counter] >= 0)
		return;
	set->errors[counter] = (uint8) Min(errno, CPROBE_PERF_KERNEL_ONLY - 1);
	if (errno != EACCES && errno != EPERM)
		return;
	set->fds[counter] = cprobe_perf_open_kind(kind, true);
	if (set->fds[counter] < 0)
	{
		set->errors[counter] = (uint8) Min(errno, CPROBE_PERF_KERNEL_ONLY - 1);
		return;
	}
	if (!kind->in_kernel)
	{
		set->errors[counter] = kind->of_both ? 0 : CPROBE_PERF_USER_ONLY;
		return;
	}
	close(set->fds[counter]);
	set->fds[counter] = -1;
	set->errors[counter] = CPROBE_PERF_KERNEL_ONLY;
}

void
cprobe_perf_open(CprobePerfSet *set, bool hardware,
				 CprobePerfAcquire acquire, CprobePerfRelease release)
{
	memset(set, 0, sizeof(*set));
	for (int i = 0; i < CPROBE_PERF_COUNTERS; i++)
	{
		set->fds[i] = -1;
		if (i >= CPROBE_PERF_SOFTWARE_COUNTERS && !hardware)
			set->errors[i] = CPROBE_PERF_NOT_ASKED;
		else if (!acquire())
			set->errors[i] = EMFILE;
		else
		{
			cprobe_perf_open_counter(set, i);
			if (set->fds[i] < 0)
				release();
		}
	}
}

/* Counters that had to share the hardware are scaled up to the whole time. */
void
cprobe_perf_read(CprobePerfSet *set)
{
	for (int i = 0; i < CPROBE_PERF_COUNTERS; i++)
	{
		CprobePerfReading reading;

		if (set->fds[i] < 0 ||
			read(set->fds[i], &reading, sizeof(reading)) != sizeof(reading))
			continue;
		if (reading.running_ns > 0 && reading.running_ns < reading.enabled_ns)
			set->values[i] = (uint64) ((double) reading.value *
									   (double) reading.enabled_ns /
									   (double) reading.running_ns);
		else
			set->values[i] = reading.value;
	}
}

void
cprobe_perf_close(CprobePerfSet *set, CprobePerfRelease release)
{
	for (int i = 0; i < CPROBE_PERF_COUNTERS; i++)
	{
		if (set->fds[i] < 0)
			continue;
		close(set->fds[i]);
		release();
		set->fds[i] = -1;
	}
}

int
cprobe_perf_paranoid(void)
{
	FILE	   *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int			level = INT_MAX;

	if (file == NULL)
		return INT_MAX;
	if (fscanf(file, "%d", &level) != 1)
		level = INT_MAX;
	fclose(file);
	return level;
}

const char *
cprobe_perf_reason(int error)
{
	static char reason[160];
	int			level;

	switch (error)
	{
		case CPROBE_PERF_NOT_ASKED:
			return "contention_probe.perf_events does not ask for it";
		case CPROBE_PERF_USER_ONLY:
			snprintf(reason, sizeof(reason),
					 "in user mode only, kernel.perf_event_paranoid is %d",
					 cprobe_perf_paranoid());
			return reason;
		case CPROBE_PERF_KERNEL_ONLY:
			snprintf(reason, sizeof(reason),
					 "happens in the kernel, kernel.perf_event_paranoid is %d",
					 cprobe_perf_paranoid());
			return reason;
		case ENOENT:
		case ENODEV:
		case EOPNOTSUPP:
			return "this machine has no such counter";
		case ENOSYS:
			return "this kernel has no perf events";
		case EMFILE:
			return "too many open files";
		case EACCES:
		case EPERM:
			level = cprobe_perf_paranoid();
			if (level == INT_MAX)
				return "not permitted";
			snprintf(reason, sizeof(reason),
					 "not permitted, kernel.perf_event_paranoid is %d", level);
			return reason;
		default:
			snprintf(reason, sizeof(reason), "%s", strerror(error));
			return reason;
	}
}
