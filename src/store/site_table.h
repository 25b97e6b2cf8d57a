/*-------------------------------------------------------------------------
 *
 * site_table.h
 *	  Counters by place in the source: file, line, function.
 *
 * Separate from the counter map: a key here is text, which lies at another
 * address in every process that loaded the library it belongs to, and so is
 * copied; and there are few places.
 *
 * Places are appended and never change.  A writer claims a free entry by
 * compare-and-swap, fills it in, and publishes it.  One that meets an entry
 * in the middle of that does not wait: the same place may stand in two
 * entries then, which readers add up.  Counters exist for even and odd
 * epochs; see region.h.
 *
 * Hook context: bounded, no locks, no allocation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_SITE_TABLE_H
#define CPROBE_SITE_TABLE_H

#include "port/atomics.h"

#define CPROBE_SITES 128
#define CPROBE_SITE_FILE_BYTES 96
#define CPROBE_SITE_FUNCTION_BYTES 64
#define CPROBE_SITE_PARITIES 2

/* State of an entry. */
#define CPROBE_SITE_FREE 0
#define CPROBE_SITE_FILLING 1
#define CPROBE_SITE_READY 2

/* Atomic add by any process; max_ns is raised by compare-and-swap. */
typedef struct CprobeSharedSpins
{
	pg_atomic_uint64 contended; /* acquisitions that had to spin */
	pg_atomic_uint64 spins;		/* looks at the lock that found it taken */
	pg_atomic_uint64 sleeps;
	pg_atomic_uint64 time_ns;	/* from the first look to the acquisition */
	pg_atomic_uint64 max_ns;
} CprobeSharedSpins;

typedef struct CprobeSharedSite
{
	pg_atomic_uint32 state;
	int32		line;			/* immutable once ready, as the next two */
	char		file[CPROBE_SITE_FILE_BYTES];
	char		function[CPROBE_SITE_FUNCTION_BYTES];
	CprobeSharedSpins spins[CPROBE_SITE_PARITIES];
} CprobeSharedSite;

typedef struct CprobeSharedSites
{
	pg_atomic_uint64 dropped;	/* events that found no place */
	CprobeSharedSite sites[CPROBE_SITES];
} CprobeSharedSites;

/* A place, as compiled into the code; NULL texts are allowed. */
typedef struct CprobePlace
{
	const char *file;
	const char *function;
	int			line;
} CprobePlace;

/* What happened there once. */
typedef struct CprobeSpinEvent
{
	uint64		spins;
	uint64		sleeps;
	uint64		time_ns;
} CprobeSpinEvent;

/*
 * Count an event at a place.  Cost: about 100 ns for a place met before, up to
 * some microseconds for a new one.
 */
extern void cprobe_sites_add(CprobeSharedSites *sites, uint32 epoch,
							 const CprobePlace *place,
							 const CprobeSpinEvent *event);

/* Zero the half of an epoch that nobody uses yet. */
extern void cprobe_sites_clear(CprobeSharedSites *sites, uint32 epoch);

#endif							/* CPROBE_SITE_TABLE_H */
