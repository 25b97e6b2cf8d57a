/*-------------------------------------------------------------------------
 *
 * numa.c
 *	  Function behind the view numa_handoffs.
 *
 * Separate from the views of locks: here a row is a distance.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "machine/topology.h"
#include "probe/lock_account.h"
#include "sql/map_rows.h"
#include "sql/rows.h"

PG_FUNCTION_INFO_V1(cprobe_numa_handoffs);

#define CPROBE_NUMA_HANDOFFS_COLUMNS 9

#define CPROBE_WHOLE_KEY PG_UINT64_MAX

/* A node or a distance; not known is NULL. */
static void
cprobe_numa_put_known(CprobeRows *rows, int number)
{
	if (number < 0)
		cprobe_rows_put_null(rows);
	else
		cprobe_rows_put_int4(rows, number);
}

Datum
cprobe_numa_handoffs(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeMapRows distances;
	CprobeTopology *topology = palloc(sizeof(CprobeTopology));

	cprobe_rows_begin(&rows, fcinfo, CPROBE_NUMA_HANDOFFS_COLUMNS);
	if (!cprobe_topology_read(topology, CPROBE_SYSFS))
		memset(topology, 0, sizeof(*topology));
	distances = cprobe_map_rows_read(cprobe_region_distances(),
									 cprobe_region_epoch(), 0,
									 CPROBE_WHOLE_KEY);
	for (uint32 i = 0; i < distances.count; i++)
	{
		uint64		key = distances.rows[i].key[0];
		const uint64 *values = distances.rows[i].values;
		double		count = (double) values[CPROBE_HANDOFF_COUNT];
		int			from = CPROBE_DISTANCE_FROM(key);
		int			to = CPROBE_DISTANCE_TO(key);

		if (values[CPROBE_HANDOFF_COUNT] == 0)
			continue;
		cprobe_numa_put_known(&rows, from);
		cprobe_numa_put_known(&rows, to);
		cprobe_numa_put_known(&rows, cprobe_topology_distance(topology, from,
															  to));
		cprobe_rows_put_text(&rows, cprobe_within_name(CPROBE_DISTANCE_WITHIN(key)));
		cprobe_rows_put_int8(&rows, values[CPROBE_HANDOFF_COUNT]);
		cprobe_rows_put_ms(&rows, (double) values[CPROBE_HANDOFF_QUEUE_NS]);
		cprobe_rows_put_ms(&rows, (double) values[CPROBE_HANDOFF_WAKEUP_NS]);
		cprobe_rows_put_ms(&rows, (double) values[CPROBE_HANDOFF_QUEUE_NS] /
						   count);
		cprobe_rows_put_ms(&rows, (double) values[CPROBE_HANDOFF_WAKEUP_NS] /
						   count);
		cprobe_rows_end_row(&rows);
	}
	return (Datum) 0;
}
