/*-------------------------------------------------------------------------
 *
 * topology.c
 *	  Functions behind the views cpu_topology and numa_nodes.
 *
 * Separate from what runs on the machine: here a row is a piece of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "machine/topology.h"
#include "sql/living.h"
#include "sql/rows.h"

PG_FUNCTION_INFO_V1(cprobe_cpu_topology);
PG_FUNCTION_INFO_V1(cprobe_numa_nodes);

#define CPROBE_CPU_TOPOLOGY_COLUMNS 7
#define CPROBE_NUMA_NODES_COLUMNS 6

/* Not known is NULL. */
static void
cprobe_topology_put_place(CprobeRows *rows, int number)
{
	if (number < 0)
		cprobe_rows_put_null(rows);
	else
		cprobe_rows_put_int4(rows, number);
}

static CprobeTopology *
cprobe_topology_now(void)
{
	CprobeTopology *topology = palloc(sizeof(CprobeTopology));

	if (!cprobe_topology_read(topology, CPROBE_SYSFS))
		ereport(ERROR,
				(errcode(ERRCODE_SYSTEM_ERROR),
				 errmsg("could not read the machine's CPUs from \"%s\"",
						CPROBE_SYSFS)));
	return topology;
}

/* The other CPUs of a core. */
static void
cprobe_topology_put_siblings(CprobeRows *rows, const CprobeTopology *topology,
							 int cpu)
{
	int		   *siblings;
	int			count = 0;

	if (topology->cpus[cpu].core < 0)
	{
		cprobe_rows_put_null(rows);
		return;
	}
	siblings = palloc(topology->cpu_count * sizeof(int));
	for (int other = 0; other < topology->cpu_count; other++)
	{
		if (other != cpu &&
			topology->cpus[other].core == topology->cpus[cpu].core)
			siblings[count++] = other;
	}
	cprobe_rows_put_int4_array(rows, siblings, count);
	pfree(siblings);
}

/* How many living processes were last seen on each CPU. */
static int *
cprobe_topology_count_backends(void)
{
	int		   *seen = palloc0(CPROBE_MAX_CPUS * sizeof(int));
	CprobeLiving living;
	uint32		position = 0;

	while (cprobe_living_next(&position, &living))
	{
		uint32		cpu = living.slot != NULL ?
		pg_atomic_read_u32(&living.slot->cpu) : 0;

		if (cpu > 0 && cpu <= CPROBE_MAX_CPUS)
			seen[cpu - 1]++;
	}
	return seen;
}

Datum
cprobe_cpu_topology(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeTopology *topology;
	int		   *seen;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_CPU_TOPOLOGY_COLUMNS);
	topology = cprobe_topology_now();
	seen = cprobe_topology_count_backends();
	for (int cpu = 0; cpu < topology->cpu_count; cpu++)
	{
		const CprobeCpuPlace *place = &topology->cpus[cpu];

		if (!place->present)
			continue;
		cprobe_rows_put_int4(&rows, cpu);
		cprobe_topology_put_place(&rows, place->core);
		cprobe_topology_put_place(&rows, place->socket);
		cprobe_topology_put_place(&rows, place->node);
		cprobe_topology_put_siblings(&rows, topology, cpu);
		cprobe_rows_put_bool(&rows, place->online);
		cprobe_rows_put_int4(&rows, seen[cpu]);
		cprobe_rows_end_row(&rows);
	}
	return (Datum) 0;
}

static void
cprobe_nodes_put_cpus(CprobeRows *rows, const CprobeTopology *topology,
					  int node)
{
	int		   *cpus = palloc(CPROBE_MAX_CPUS * sizeof(int));
	int			count = 0;

	for (int cpu = 0; cpu < topology->cpu_count; cpu++)
	{
		if (topology->cpus[cpu].node == node)
			cpus[count++] = cpu;
	}
	cprobe_rows_put_int4_array(rows, cpus, count);
	pfree(cpus);
}

Datum
cprobe_numa_nodes(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeTopology *topology;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_NUMA_NODES_COLUMNS);
	topology = cprobe_topology_now();
	for (int i = 0; i < topology->node_count; i++)
	{
		const CprobeNode *node = &topology->nodes[i];

		if (!node->present)
			continue;
		cprobe_rows_put_int4(&rows, i);
		cprobe_nodes_put_cpus(&rows, topology, i);
		if (node->has_memory_size)
		{
			cprobe_rows_put_int8(&rows, node->total_bytes);
			cprobe_rows_put_int8(&rows, node->free_bytes);
		}
		else
		{
			cprobe_rows_put_null(&rows);
			cprobe_rows_put_null(&rows);
		}
		if (node->distance_count > 0)
			cprobe_rows_put_int4_array(&rows, node->distances,
									   node->distance_count);
		else
			cprobe_rows_put_null(&rows);
		cprobe_rows_put_text(&rows, topology->has_nodes ? NULL :
							 "the kernel has no support for NUMA");
		cprobe_rows_end_row(&rows);
	}
	return (Datum) 0;
}
