/*-------------------------------------------------------------------------
 *
 * numa.c
 *	  Functions behind the views numa_handoffs, numa_backends and cpu_sharing.
 *
 * Separate from the views of locks and waits: here it matters where something
 * happened.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "machine/process_times.h"
#include "machine/topology.h"
#include "probe/activity.h"
#include "probe/cpu_seen.h"
#include "probe/lock_account.h"
#include "probe/numa_areas.h"
#include "sql/living.h"
#include "sql/map_rows.h"
#include "sql/rows.h"

PG_FUNCTION_INFO_V1(cprobe_numa_handoffs);
PG_FUNCTION_INFO_V1(cprobe_numa_backends);
PG_FUNCTION_INFO_V1(cprobe_cpu_sharing);

#define CPROBE_NUMA_HANDOFFS_COLUMNS 9
#define CPROBE_NUMA_BACKENDS_COLUMNS 10
#define CPROBE_CPU_SHARING_COLUMNS 11

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

/* The nodes on which the PGPROCs lie, by process number. */
static int *
cprobe_backends_find_homes(void)
{
	uint32		count = cprobe_region->slot_count;
	int		   *homes = palloc(count * sizeof(int));
	void	  **addresses = palloc(count * sizeof(void *));

	for (uint32 i = 0; i < count; i++)
		addresses[i] = unvolatize(PGPROC *, cprobe_activity_proc(i));
	cprobe_numa_nodes_of(addresses, homes, (int) count);
	return homes;
}

/* Shares of the sampler's looks at a process, by node, and their number. */
static void
cprobe_backends_put_shares(CprobeRows *rows, const CprobeLiving *living)
{
	CprobeSharedSeen *seen = cprobe_seen_get(living->number);
	double		shares[CPROBE_MAX_NODES] = {0};
	uint64		looks = 0;

	if (pg_atomic_read_u32(&seen->pid) == (uint32) living->pid &&
		pg_atomic_read_u32(&seen->epoch) == cprobe_region_epoch())
	{
		for (int i = 0; i < cprobe_node_count; i++)
		{
			shares[i] = pg_atomic_read_u32(&seen->on_node[i]);
			looks += (uint64) shares[i];
		}
	}
	for (int i = 0; i < cprobe_node_count && looks > 0; i++)
		shares[i] /= (double) looks;
	if (looks > 0)
		cprobe_rows_put_float8_array(rows, shares, cprobe_node_count);
	else
		cprobe_rows_put_null(rows);
	cprobe_rows_put_int8(rows, looks);
}

/* A counter of its hooks; NULL for a process without. */
static void
cprobe_backends_put_counter(CprobeRows *rows, const CprobeLiving *living,
							CprobeMachineCounter counter)
{
	if (living->slot == NULL)
		cprobe_rows_put_null(rows);
	else if (living->slot->epoch != cprobe_region_epoch())
		cprobe_rows_put_int8(rows, 0);
	else
		cprobe_rows_put_int8(rows,
							 pg_atomic_read_u64(&living->slot->machine[counter]));
}

Datum
cprobe_numa_backends(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeLiving living;
	uint32		position = 0;
	int		   *homes;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_NUMA_BACKENDS_COLUMNS);
	homes = cprobe_backends_find_homes();
	while (cprobe_living_next(&position, &living))
	{
		CprobeProcessStat stat;
		int			cpu;

		if (!cprobe_process_stat_read(living.pid, &stat))
			continue;
		cpu = stat.cpu < CPROBE_MAX_CPUS ? stat.cpu : -1;
		cprobe_rows_put_pid(&rows, cprobe_rows_may_see(&rows, living.user_id) ?
							living.pid : 0);
		cprobe_rows_put_text(&rows, living.type_name);
		cprobe_numa_put_known(&rows, cpu);
		cprobe_numa_put_known(&rows, cpu >= 0 ?
							  cprobe_cpu_places[cpu].core : -1);
		cprobe_numa_put_known(&rows, cprobe_cpu_node(cpu));
		cprobe_numa_put_known(&rows, homes[living.number]);
		cprobe_backends_put_counter(&rows, &living, CPROBE_MIGRATIONS);
		cprobe_backends_put_counter(&rows, &living, CPROBE_NODE_CHANGES);
		cprobe_backends_put_shares(&rows, &living);
		cprobe_rows_end_row(&rows);
	}
	return (Datum) 0;
}

/* Core, socket, node and CPUs; NULLs for the whole machine. */
static void
cprobe_sharing_put_core(CprobeRows *rows, int core)
{
	int		   *cpus = palloc(CPROBE_MAX_CPUS * sizeof(int));
	int			count = 0;

	for (int cpu = 0; cpu < CPROBE_MAX_CPUS; cpu++)
	{
		if (cprobe_cpu_places[cpu].core == core)
			cpus[count++] = cpu;
	}
	if (count == 0)
	{
		for (int i = 0; i < 4; i++)
			cprobe_rows_put_null(rows);
	}
	else
	{
		cprobe_rows_put_int4(rows, core);
		cprobe_numa_put_known(rows, cprobe_cpu_places[cpus[0]].socket);
		cprobe_numa_put_known(rows, cprobe_cpu_places[cpus[0]].node);
		cprobe_rows_put_int4_array(rows, cpus, count);
	}
	pfree(cpus);
}

Datum
cprobe_cpu_sharing(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeSharedCores *cores;
	bool		current;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_CPU_SHARING_COLUMNS);
	cores = cprobe_region_cores();
	current = pg_atomic_read_u32(&cores->epoch) == cprobe_region_epoch();
	for (int core = 0; core <= cprobe_core_count && current; core++)
	{
		CprobeSharedCore *seen = &cores->cores[core];
		uint64		backends = pg_atomic_read_u64(&seen->backends);

		cprobe_sharing_put_core(&rows, core);
		cprobe_rows_put_int8(&rows, pg_atomic_read_u64(&seen->looks));
		cprobe_rows_put_int8(&rows, pg_atomic_read_u64(&seen->busy));
		cprobe_rows_put_int8(&rows, pg_atomic_read_u64(&seen->shared));
		cprobe_rows_put_int8(&rows, pg_atomic_read_u64(&seen->sibling));
		cprobe_rows_put_int8(&rows,
							 pg_atomic_read_u64(&seen->shared_while_idle));
		cprobe_rows_put_int8(&rows, backends);
		if (backends > 0)
			cprobe_rows_put_float8(&rows,
								   (double) pg_atomic_read_u64(&seen->sibling_backends) /
								   (double) backends);
		else
			cprobe_rows_put_null(&rows);
		cprobe_rows_end_row(&rows);
	}
	return (Datum) 0;
}
