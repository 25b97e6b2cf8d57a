/*-------------------------------------------------------------------------
 *
 * map_rows.h
 *	  All entries of a counter map, each key once.
 *
 * Separate because a key can stand twice in a map (store/counter_map.h) and
 * every reader has to add such entries up.
 *
 * Backends only; allocates in the current memory context, may be cancelled.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_MAP_ROWS_H
#define CPROBE_MAP_ROWS_H

#include "store/counter_map.h"

typedef struct CprobeMapRows
{
	CprobeMapRow *rows;			/* sorted by key */
	uint32		count;
} CprobeMapRows;

/*
 * Copy the entries of an epoch.  Values of equal keys are added up, but of
 * those whose bit is set in maxima the largest is kept.  With key_mask, the
 * first key word is masked with it before keys are compared.
 */
extern CprobeMapRows cprobe_map_rows_read(CprobeSharedMap *map, uint32 epoch,
										  uint64 maxima, uint64 key_mask);

#endif							/* CPROBE_MAP_ROWS_H */
