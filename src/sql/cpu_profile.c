/*-------------------------------------------------------------------------
 *
 * cpu_profile.c
 *	  Function cpu_profile: what all processes of the server do on their
 *	  CPUs, in a picture as "perf record -g" gives it.
 *
 * Separate from the views, which tell what has been counted all along: here
 * nothing is counted until it is asked for.
 *
 * The calling backend opens a sampling timer for each of the server's
 * processes but itself, empties their rings several times a second, and looks
 * at each time for processes that have come or gone.  What it holds is freed
 * with the memory context, however the function ends.
 *
 * Caveats.  The kernel starts and stops the timer each time that a process
 * gets or leaves a CPU, which costs microseconds in virtual machines.  A process
 * that begins and ends between two looks, 50 ms or less,
 * is not seen.  Where the kernel lets ordinary users only look at user mode,
 * samples that fall into the kernel are missing from the total as well.  The
 * caller of a function that keeps no frame pointer, such as many of the C
 * library's, may be left out of a path.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <linux/perf_event.h>
#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "machine/clock.h"
#include "machine/cpu_samples.h"
#include "machine/perf_events.h"
#include "machine/process_code.h"
#include "probe/activity.h"
#include "sql/living.h"
#include "sql/profile_names.h"
#include "sql/profile_paths.h"
#include "sql/rows.h"

PG_FUNCTION_INFO_V1(cprobe_cpu_profile);

#define CPROBE_CPU_PROFILE_COLUMNS 6

#define CPROBE_PROFILE_SECONDS_MAX 3600.0
#define CPROBE_PROFILE_FREQUENCY_MAX 10000

/*
 * Rings are emptied each time that this many samples may have come, which
 * four pages hold even if all are as deep as they can be.
 */
#define CPROBE_PROFILE_SAMPLES_A_LOOK 5
#define CPROBE_PROFILE_LOOK_MS_MIN 1
#define CPROBE_PROFILE_LOOK_MS_MAX 50

/* Locked memory is scarce: with many processes each gets less of it. */
#define CPROBE_PROFILE_RING_PAGES 4
#define CPROBE_PROFILE_SMALL_RING_PAGES 2
#define CPROBE_PROFILE_MANY_PROCESSES 200

typedef struct CprobeProfiled
{
	int			pid;			/* 0 = none */
	uint32		type;			/* place in the list of types */
	bool		code_is_read;
	CprobeProcessCode code;
	CprobeCpuSamples samples;
} CprobeProfiled;

typedef struct CprobeCpuProfile
{
	MemoryContext context;
	MemoryContextCallback at_end;
	CprobeCpuSampling sampling;
	CprobeProfileNames *names;
	CprobeProfilePaths *paths;
	List	   *types;			/* names of backend types */
	uint32		place_count;	/* process numbers, and the postmaster */
	CprobeProfiled *places;
	CprobeProfiled *current;	/* whose ring is being emptied */
	CprobeProcessCode postmaster_code;	/* what all were forked from */
	uint64		samples;
	uint64		pathless;		/* samples for which no memory was left */
	uint64		lost;
	uint64		throttled;
	uint64		refused;		/* processes that could not be sampled */
	int			refusal;		/* errno of the first one */
} CprobeCpuProfile;

static const CprobeCodeMapping *
cprobe_profile_find_code(CprobeCpuProfile *profile, uint64 address)
{
	CprobeProfiled *process = profile->current;
	const CprobeCodeMapping *mapping;

	mapping = cprobe_process_code_find(&process->code, address);
	if (mapping != NULL)
		return mapping;
	/* It may have loaded a library since. */
	if (!process->code_is_read)
	{
		process->code_is_read = true;
		cprobe_process_code_free(&process->code);
		cprobe_process_code_read(process->pid, cprobe_profile_names_intern,
								 profile->names, &process->code);
		mapping = cprobe_process_code_find(&process->code, address);
	}
	if (mapping == NULL && process->code.count == 0)
		mapping = cprobe_process_code_find(&profile->postmaster_code, address);
	return mapping;
}

/* Add a frame; false if the path ends with it. */
static bool
cprobe_profile_add_frame(CprobeCpuProfile *profile, CprobeProfilePath *path,
						 uint64 address, bool kernel)
{
	uint64		frame;

	if (path->length == CPROBE_PROFILE_DEPTH)
	{
		path->frames[path->length++] = CPROBE_PROFILE_CUT;
		return false;
	}
	if (kernel)
	{
		frame = cprobe_profile_names_kernel_frame(profile->names, address);
		if (frame == CPROBE_PROFILE_KERNEL && path->length > 0 &&
			path->frames[path->length - 1] == frame)
			return true;
	}
	else
	{
		const CprobeCodeMapping *mapping =
		cprobe_profile_find_code(profile, address);

		frame = mapping == NULL ? CPROBE_PROFILE_UNKNOWN :
			cprobe_profile_names_frame(profile->names, mapping, address);
	}
	path->frames[path->length++] = frame;
	return frame != CPROBE_PROFILE_UNKNOWN &&
		!cprobe_profile_names_is_main(profile->names, frame);
}

/* Says by its root when a path is not whole, as the views do. */
static void
cprobe_profile_end_path(CprobeCpuProfile *profile, CprobeProfilePath *path)
{
	if (path->length > 0)
	{
		uint64		root = path->frames[path->length - 1];

		if (root == CPROBE_PROFILE_CUT || root == CPROBE_PROFILE_UNKNOWN ||
			cprobe_profile_names_is_main(profile->names, root))
			return;
	}
	path->frames[path->length++] = CPROBE_PROFILE_UNKNOWN;
}

/* CprobeCpuSampleTake */
static void
cprobe_profile_take(void *context, const uint64 *chain, size_t length)
{
	CprobeCpuProfile *profile = context;
	CprobeProfilePath path;
	bool		kernel = false;
	bool		is_call = false;	/* the address is where a call returns */

	path.type = profile->current->type;
	path.length = 0;
	for (size_t i = 0; i < length; i++)
	{
		if (chain[i] >= (uint64) PERF_CONTEXT_MAX)
		{
			kernel = chain[i] == (uint64) PERF_CONTEXT_KERNEL;
			is_call = false;
			continue;
		}
		if (!cprobe_profile_add_frame(profile, &path,
									  chain[i] - (is_call ? 1 : 0), kernel))
			break;
		is_call = true;
	}
	cprobe_profile_end_path(profile, &path);
	profile->samples++;
	if (!cprobe_profile_paths_add(profile->paths, &path))
		profile->pathless++;
}

static void
cprobe_profile_drain(CprobeCpuProfile *profile, CprobeProfiled *process)
{
	profile->current = process;
	cprobe_cpu_samples_drain(&process->samples, cprobe_profile_take, profile);
	/* Look again at the next unknown address, but not for each of them. */
	process->code_is_read = false;
}

/* Take what is left of a process, and forget it. */
static void
cprobe_profile_drop(CprobeCpuProfile *profile, CprobeProfiled *process)
{
	if (process->samples.ring != NULL)
		cprobe_profile_drain(profile, process);
	cprobe_cpu_samples_close(&process->samples);
	cprobe_process_code_free(&process->code);
	profile->lost += process->samples.lost;
	profile->throttled += process->samples.throttled;
	memset(process, 0, sizeof(*process));
}

static uint32
cprobe_profile_type(CprobeCpuProfile *profile, const char *name)
{
	uint32		place = 0;
	ListCell   *cell;

	foreach(cell, profile->types)
	{
		if (strcmp(lfirst(cell), name) == 0)
			return place;
		place++;
	}
	profile->types = lappend(profile->types, pstrdup(name));
	return place;
}

/* With a smaller ring, from now on, where memory to lock runs out. */
static int
cprobe_profile_open(CprobeCpuProfile *profile, CprobeProfiled *process)
{
	int			error;

	for (;;)
	{
		error = cprobe_cpu_samples_open(&process->samples, &profile->sampling,
										process->pid);
		if (error != ENOMEM || profile->sampling.ring_pages == 1)
			return error;
		profile->sampling.ring_pages /= 2;
	}
}

static void
cprobe_profile_add(CprobeCpuProfile *profile, CprobeProfiled *process, int pid,
				   const char *type_name)
{
	int			error;

	process->pid = pid;
	process->type = cprobe_profile_type(profile, type_name);
	error = cprobe_profile_open(profile, process);
	if (error == 0 || error == ESRCH)
		return;
	if (profile->refused++ == 0)
		profile->refusal = error;
}

/* Who has come and who has gone since the last look? */
static void
cprobe_profile_look(CprobeCpuProfile *profile)
{
	uint32		postmaster = profile->place_count - 1;

	for (uint32 i = 0; i < postmaster; i++)
	{
		CprobeProfiled *process = &profile->places[i];
		int			pid = cprobe_activity_proc_pid(i);
		CprobeLiving living;
		uint32		position = i;

		if (pid == process->pid)
			continue;
		cprobe_profile_drop(profile, process);
		if (pid != 0 && pid != MyProcPid &&
			cprobe_living_next(&position, &living) && living.number == i)
			cprobe_profile_add(profile, process, living.pid, living.type_name);
	}
	if (profile->places[postmaster].pid == 0)
		cprobe_profile_add(profile, &profile->places[postmaster],
						   PostmasterPid, "postmaster");
}

static void
cprobe_profile_wait(long ms)
{
	static uint32 event = 0;

	if (event == 0)
		event = CPROBE_NEW_WAIT_EVENT("ContentionProbeCpuProfile");
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 ms, event);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

static void
cprobe_profile_run(CprobeCpuProfile *profile, double seconds, int frequency)
{
	uint64		end_ns = cprobe_clock_now_ns() +
	(uint64) (seconds * (double) CPROBE_NS_PER_S);
	long		look_ms = 1000 * CPROBE_PROFILE_SAMPLES_A_LOOK / frequency;

	look_ms = Min(Max(look_ms, CPROBE_PROFILE_LOOK_MS_MIN),
				  CPROBE_PROFILE_LOOK_MS_MAX);
	for (;;)
	{
		uint64		now_ns;
		long		left_ms;

		cprobe_profile_look(profile);
		now_ns = cprobe_clock_now_ns();
		if (now_ns >= end_ns)
			break;
		left_ms = (long) ((end_ns - now_ns) / 1000000) + 1;
		cprobe_profile_wait(Min(look_ms, left_ms));
		for (uint32 i = 0; i < profile->place_count; i++)
			cprobe_profile_drain(profile, &profile->places[i]);
	}
	for (uint32 i = 0; i < profile->place_count; i++)
		cprobe_profile_drop(profile, &profile->places[i]);
}

/* MemoryContextCallbackFunction: timers and rings do not outlive the query. */
static void
cprobe_profile_close(void *arg)
{
	CprobeCpuProfile *profile = arg;

	for (uint32 i = 0; i < profile->place_count; i++)
		cprobe_cpu_samples_close(&profile->places[i].samples);
}

/* How may be sampled here? 0, or an errno. */
static int
cprobe_profile_try(CprobeCpuSampling *sampling)
{
	CprobeCpuSamples mine;
	int			error = cprobe_cpu_samples_open(&mine, sampling, MyProcPid);

	if (error == EACCES || error == EPERM)
	{
		sampling->kernel = false;
		error = cprobe_cpu_samples_open(&mine, sampling, MyProcPid);
	}
	cprobe_cpu_samples_close(&mine);
	return error;
}

static CprobeCpuProfile *
cprobe_profile_begin(const CprobeCpuSampling *sampling)
{
	CprobeCpuProfile *profile = palloc0(sizeof(CprobeCpuProfile));

	profile->context = CurrentMemoryContext;
	profile->sampling = *sampling;
	profile->names = cprobe_profile_names_begin(sampling->kernel);
	profile->paths = cprobe_profile_paths_begin();
	profile->place_count = cprobe_region->slot_count + 1;
	profile->places = MemoryContextAllocExtended(profile->context,
												 profile->place_count *
												 sizeof(CprobeProfiled),
												 MCXT_ALLOC_ZERO |
												 MCXT_ALLOC_HUGE);
	cprobe_process_code_read(PostmasterPid, cprobe_profile_names_intern,
							 profile->names, &profile->postmaster_code);
	profile->at_end.func = cprobe_profile_close;
	profile->at_end.arg = profile;
	MemoryContextRegisterResetCallback(profile->context, &profile->at_end);
	return profile;
}

/* A row that tells what is missing; samples below 0 = not known. */
static void
cprobe_profile_put_reason(CprobeRows *rows, const char *reason, int64 samples)
{
	cprobe_rows_put_null(rows);
	cprobe_rows_put_null(rows);
	if (samples >= 0)
		cprobe_rows_put_int8(rows, (uint64) samples);
	else
		cprobe_rows_put_null(rows);
	cprobe_rows_put_null(rows);
	cprobe_rows_put_null(rows);
	cprobe_rows_put_text(rows, reason);
	cprobe_rows_end_row(rows);
}

static void
cprobe_profile_put_path(CprobeRows *rows, const CprobeCpuProfile *profile,
						const CprobeProfileCount *count)
{
	const CprobeProfilePath *path = count->path;
	StringInfoData text;

	initStringInfo(&text);
	for (uint32 i = path->length; i > 0; i--)
	{
		cprobe_profile_names_append(profile->names, &text,
									path->frames[i - 1]);
		if (i > 1)
			appendStringInfoChar(&text, ';');
	}
	cprobe_rows_put_text(rows, list_nth(profile->types, (int) path->type));
	cprobe_rows_put_text(rows, text.data);
	cprobe_rows_put_int8(rows, count->samples);
	cprobe_rows_put_float8(rows, (double) count->samples /
						   (double) profile->samples);
	cprobe_rows_put_ms(rows, (double) count->samples *
					   (double) profile->sampling.period_ns);
	cprobe_rows_put_null(rows);
	cprobe_rows_end_row(rows);
	pfree(text.data);
}

/* Why a process could not be sampled. */
static const char *
cprobe_profile_reason(int error)
{
	if (error == ENOMEM)
		return "no more memory may be locked (kernel.perf_event_mlock_kb, RLIMIT_MEMLOCK)";
	return cprobe_perf_reason(error);
}

static void
cprobe_profile_put_missing(CprobeRows *rows, const CprobeCpuProfile *profile)
{
	if (!profile->sampling.kernel)
		cprobe_profile_put_reason(rows, psprintf("what is done in kernel mode is missing: kernel.perf_event_paranoid is %d",
												 cprobe_perf_paranoid()), -1);
	else if (!cprobe_profile_names_kernel(profile->names))
		cprobe_profile_put_reason(rows, "functions of the kernel have no names: it hides their addresses (kernel.kptr_restrict)", -1);
	if (profile->refused > 0)
		cprobe_profile_put_reason(rows, psprintf("%llu processes could not be sampled: %s",
												 (unsigned long long) profile->refused,
												 cprobe_profile_reason(profile->refusal)), -1);
	if (profile->lost > 0)
		cprobe_profile_put_reason(rows, "lost: they came faster than they were read",
								  (int64) profile->lost);
	if (profile->throttled > 0)
		cprobe_profile_put_reason(rows, "the kernel slowed the sampling down (kernel.perf_cpu_time_max_percent)", -1);
	if (profile->pathless > 0)
		cprobe_profile_put_reason(rows, "no memory was left for further call paths",
								  (int64) profile->pathless);
}

static void
cprobe_profile_put(CprobeRows *rows, const CprobeCpuProfile *profile)
{
	size_t		count;
	CprobeProfileCount *counts = cprobe_profile_paths_sorted(profile->paths,
															 &count);

	for (size_t i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		cprobe_profile_put_path(rows, profile, &counts[i]);
	}
	cprobe_profile_put_missing(rows, profile);
}

static void
cprobe_profile_check(double seconds, int frequency)
{
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to take a CPU profile")));
	if (isnan(seconds) || seconds <= 0 || seconds > CPROBE_PROFILE_SECONDS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("seconds must be above 0 and at most %g: %g",
						CPROBE_PROFILE_SECONDS_MAX, seconds)));
	if (frequency < 1 || frequency > CPROBE_PROFILE_FREQUENCY_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("frequency must be between 1 and %d: %d",
						CPROBE_PROFILE_FREQUENCY_MAX, frequency)));
}

Datum
cprobe_cpu_profile(PG_FUNCTION_ARGS)
{
	double		seconds = PG_GETARG_FLOAT8(0);
	int			frequency = PG_GETARG_INT32(1);
	CprobeCpuSampling sampling = {.kernel = true};
	CprobeRows	rows;
	MemoryContext context;
	MemoryContext old_context;
	int			error;

	cprobe_profile_check(seconds, frequency);
	cprobe_rows_begin(&rows, fcinfo, CPROBE_CPU_PROFILE_COLUMNS);
	sampling.period_ns = CPROBE_NS_PER_S / (uint64) frequency;
	sampling.ring_pages =
		cprobe_region->slot_count > CPROBE_PROFILE_MANY_PROCESSES ?
		CPROBE_PROFILE_SMALL_RING_PAGES : CPROBE_PROFILE_RING_PAGES;
	error = cprobe_profile_try(&sampling);
	if (error != 0)
	{
		cprobe_profile_put_reason(&rows, cprobe_profile_reason(error), -1);
		return (Datum) 0;
	}
	context = AllocSetContextCreate(CurrentMemoryContext,
									"contention_probe CPU profile",
									ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(context);
	{
		CprobeCpuProfile *profile = cprobe_profile_begin(&sampling);

		cprobe_profile_run(profile, seconds, frequency);
		cprobe_profile_put(&rows, profile);
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	return (Datum) 0;
}
