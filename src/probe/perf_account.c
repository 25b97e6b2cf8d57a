/*-------------------------------------------------------------------------
 *
 * perf_account.c
 *	  Opening a process's perf counters and showing what they say.
 *
 * Separate: see perf_account.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/timestamp.h"

#include "machine/clock.h"
#include "probe/perf_account.h"
#include "probe/slot.h"

/* Time between two reads of the counters. */
#define CPROBE_PERF_READ_EVERY_NS (10 * UINT64CONST(1000000))

int			cprobe_perf_events = CPROBE_PERF_OFF;

/* This process's; level tells what is open. */
static CprobePerfSet cprobe_perf_set;
int			cprobe_perf_level = CPROBE_PERF_OFF;
static int	cprobe_perf_pid = 0;
static uint64 cprobe_perf_read_ns;

/* Where this process shows them; NULL without a slot. */
static CprobeSharedPerf *
cprobe_perf_mine(void)
{
	if (cprobe_slot_mine() == NULL)
		return NULL;
	return cprobe_perf_get(cprobe_slot_my_number());
}

/* Descriptors of ours count against max_files_per_process. */
static void
cprobe_perf_release(void)
{
	ReleaseExternalFD();
}

static bool
cprobe_perf_acquire(void)
{
	return AcquireExternalFD();
}

static void
cprobe_perf_publish(void)
{
	CprobeSharedPerf *mine = cprobe_perf_mine();

	if (mine == NULL)
		return;
	for (int i = 0; i < CPROBE_PERF_COUNTERS; i++)
		pg_atomic_write_u64(&mine->values[i], cprobe_perf_set.values[i]);
	pg_atomic_write_u64(&mine->updated_at, (uint64) GetCurrentTimestamp());
}

/* What was counted up to now belongs to the sum of what has been closed. */
static void
cprobe_perf_stop(void)
{
	CprobeSharedPerf *mine = cprobe_perf_mine();
	CprobeSharedPerf *departed;

	if (cprobe_perf_level == CPROBE_PERF_OFF || cprobe_perf_pid != MyProcPid)
		return;
	cprobe_perf_read(&cprobe_perf_set);
	cprobe_perf_close(&cprobe_perf_set, cprobe_perf_release);
	cprobe_perf_level = CPROBE_PERF_OFF;
	if (mine == NULL)
		return;
	pg_atomic_write_u32(&mine->pid, 0);
	departed = cprobe_perf_get(cprobe_region->slot_count);
	for (int i = 0; i < CPROBE_PERF_COUNTERS; i++)
		pg_atomic_fetch_add_u64(&departed->values[i],
								cprobe_perf_set.values[i]);
}

void
cprobe_perf_forget(void)
{
	if (cprobe_perf_level == CPROBE_PERF_OFF || cprobe_perf_pid != MyProcPid)
		return;
	cprobe_perf_close(&cprobe_perf_set, cprobe_perf_release);
	cprobe_perf_level = CPROBE_PERF_OFF;
}

static void
cprobe_perf_start(int level)
{
	CprobeSharedPerf *mine = cprobe_perf_mine();

	if (mine == NULL || level == CPROBE_PERF_OFF)
		return;
	cprobe_perf_open(&cprobe_perf_set, level == CPROBE_PERF_HARDWARE,
					 cprobe_perf_acquire, cprobe_perf_release);
	cprobe_perf_level = level;
	cprobe_perf_pid = MyProcPid;
	pg_atomic_write_u32(&mine->pid, 0);
	pg_write_barrier();
	memcpy(mine->errors, cprobe_perf_set.errors, sizeof(mine->errors));
	for (int i = 0; i < CPROBE_PERF_COUNTERS; i++)
		pg_atomic_write_u64(&mine->values[i], 0);
	pg_write_barrier();
	pg_atomic_write_u32(&mine->pid, (uint32) MyProcPid);
}

void
cprobe_perf_show_mine(void)
{
	if (cprobe_perf_level == CPROBE_PERF_OFF)
		return;
	cprobe_perf_read_ns = cprobe_clock_now_ns();
	cprobe_perf_read(&cprobe_perf_set);
	cprobe_perf_publish();
}

void
cprobe_perf_follow(void)
{
	if (unlikely(cprobe_perf_level != cprobe_perf_events))
	{
		cprobe_perf_stop();
		cprobe_perf_start(cprobe_perf_events);
	}
	if (likely(cprobe_perf_level == CPROBE_PERF_OFF) ||
		cprobe_clock_now_ns() - cprobe_perf_read_ns < CPROBE_PERF_READ_EVERY_NS)
		return;
	cprobe_perf_show_mine();
}

void
cprobe_perf_leave(void)
{
	cprobe_perf_stop();
}
