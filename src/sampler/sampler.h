/*-------------------------------------------------------------------------
 *
 * sampler.h
 *	  The background worker that looks at all processes at a steady pace.
 *
 * Separate from one look (tick.h): here are only the worker's life and its
 * clock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_SAMPLER_H
#define CPROBE_SAMPLER_H

#include "postmaster/bgworker.h"
#include "storage/dsm.h"

#define CPROBE_SAMPLE_INTERVAL_DEFAULT_MS 10
#define CPROBE_SAMPLE_INTERVAL_MIN_MS 1
#define CPROBE_SAMPLE_INTERVAL_MAX_MS 60000

#define CPROBE_HISTORY_INTERVAL_DEFAULT_MS 1000
#define CPROBE_HISTORY_INTERVAL_MIN_MS 1
#define CPROBE_HISTORY_INTERVAL_MAX_MS 3600000

#define CPROBE_NUMA_INTERVAL_DEFAULT_MS 60000
#define CPROBE_NUMA_INTERVAL_MAX_MS 86400000

#define CPROBE_MACHINE_INTERVAL_DEFAULT_MS 1000
#define CPROBE_MACHINE_INTERVAL_MAX_MS 3600000

/* GUC contention_probe.machine_interval, ms; 0 = never */
extern int	cprobe_machine_interval_ms;

/* GUC contention_probe.numa_interval, ms; 0 = never */
extern int	cprobe_numa_interval_ms;

/* GUCs contention_probe.sample_interval and .history_interval, ms */
extern int	cprobe_sample_interval_ms;
extern int	cprobe_history_interval_ms;

/* Register the worker. Postmaster, while preloading. */
extern void cprobe_sampler_register(void);

/* Which attachment a worker samples for; in what it is registered with. */
typedef struct CprobeSamplerTask
{
	uint64		attachment_id;
	dsm_handle	segment;
	uint32		generation;		/* of the control block, once attached */
} CprobeSamplerTask;

/*
 * Start a worker for an attachment.  It ends when the control block does not
 * have that attachment any more.  False if the server has no place for one.
 * Backends.
 */
extern bool cprobe_sampler_start(const CprobeSamplerTask *task,
								 BackgroundWorkerHandle **handle);

/* Entry point of the worker. */
extern PGDLLEXPORT void cprobe_sampler_main(Datum main_arg);

#endif							/* CPROBE_SAMPLER_H */
