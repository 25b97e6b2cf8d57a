/*-------------------------------------------------------------------------
 *
 * numa_areas.c
 *	  Looking where the areas of main shared memory lie.
 *
 * Separate: see numa_areas.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/pg_shmem.h"
#include "utils/timestamp.h"

#include "machine/clock.h"
#include "probe/activity.h"
#include "probe/numa_areas.h"

/* Looks at answers that are being written. */
#define CPROBE_NUMA_READ_TRIES 1000

/* All is on one node, as far as a sample can tell. */
#define CPROBE_NUMA_ONE_NODE_SHARE 0.99

/* Evenly spread: each node has its part, give or take this much of it. */
#define CPROBE_NUMA_EVEN_TOLERANCE 0.25

static void
cprobe_numa_interrupt(void)
{
	CHECK_FOR_INTERRUPTS();
}

/*
 * Whom to ask: the postmaster, which has initialised shared memory; then from
 * the end of the process array, where the server's own processes stand.
 */
static int
cprobe_numa_choose_processes(int *pids)
{
	int			count = 0;

	pids[count++] = PostmasterPid;
	pids[count++] = MyProcPid;
	for (uint32 i = cprobe_region->slot_count; i-- > 0;)
	{
		int			pid = cprobe_activity_proc_pid(i);

		if (pid == 0 || pid == MyProcPid)
			continue;
		pids[count++] = pid;
		if (count == CPROBE_NUMA_MAX_ASKED)
			break;
	}
	return count;
}

int
cprobe_numa_nodes_of(void **addresses, int *nodes, int count)
{
	int			pids[CPROBE_NUMA_MAX_ASKED];
	CprobePlacementQuery query = {
		.pages = addresses,
		.nodes = nodes,
		.count = count,
		.pids = pids,
		.pid_count = cprobe_numa_choose_processes(pids),
		.interrupt = cprobe_numa_interrupt,
	};

	return cprobe_placement_ask(&query);
}

/* The pages of an area to look at; returns their number. */
static int
cprobe_numa_choose_pages(const CprobeShmemArea *area, uint64 page_bytes,
						 CprobeNumaArea *answer, void **pages)
{
	uintptr_t	start = (uintptr_t) cprobe_shmem_address(area->offset);
	uintptr_t	first = start & ~(page_bytes - 1);
	bool		exact;
	int			count;

	answer->pages = area->bytes == 0 ? 0 :
		(start + area->bytes - first + page_bytes - 1) / page_bytes;
	exact = answer->pages <= CPROBE_NUMA_EXACT_PAGES;
	count = exact ? (int) answer->pages : CPROBE_NUMA_SAMPLE_PAGES;
	for (int i = 0; i < count; i++)
	{
		uint64		page = exact ? (uint64) i :
		cprobe_sample_place(answer->pages, (uint64) count, (uint64) i,
							pg_prng_double(&pg_global_prng_state));

		pages[i] = (void *) (first + page * page_bytes);
	}
	return count;
}

static void
cprobe_numa_look_at(const CprobeShmemArea *area, CprobePlacementQuery *query,
					CprobeNumaAreas *answers)
{
	CprobeNumaArea *answer = &answers->areas[answers->area_count++];
	int			error;

	strlcpy(answer->name, area->name, sizeof(answer->name));
	answer->bytes = area->bytes;
	query->count = cprobe_numa_choose_pages(area, answers->page_bytes, answer,
											query->pages);
	if (answers->error != 0)
		return;
	error = cprobe_placement_ask(query);
	if (error != 0)
	{
		answers->error = error;
		return;
	}
	answer->looked_at = (uint32) query->count;
	for (int i = 0; i < query->count; i++)
	{
		if (query->nodes[i] == CPROBE_PAGE_ABSENT)
			answer->absent++;
		else if (query->nodes[i] < 0)
			answer->unmapped++;
		else
			answer->on_node[query->nodes[i]]++;
	}
}

static CprobeNumaAreas *
cprobe_numa_measure(void)
{
	CprobeNumaAreas *answers = palloc0(sizeof(CprobeNumaAreas));
	int			count;
	const CprobeShmemArea *areas = cprobe_shmem_areas(&count);
	int			pids[CPROBE_NUMA_MAX_ASKED];
	uint64		begun_ns = cprobe_clock_now_ns();
	CprobePlacementQuery query = {
		.pages = palloc(CPROBE_NUMA_EXACT_PAGES * sizeof(void *)),
		.nodes = palloc(CPROBE_NUMA_EXACT_PAGES * sizeof(int)),
		.pids = pids,
		.pid_count = cprobe_numa_choose_processes(pids),
		.interrupt = cprobe_numa_interrupt,
	};

	answers->page_bytes = cprobe_placement_page_bytes(cprobe_shmem_start,
													  (uint64) huge_page_size * 1024);
	if (answers->page_bytes == (uint64) sysconf(_SC_PAGESIZE))
		query.absent_page_bytes = answers->page_bytes;
	answers->asked = query.pid_count;
	answers->policy = cprobe_memory_policy();
	for (int i = 0; i < count; i++)
	{
		if (answers->area_count == CPROBE_NUMA_MAX_AREAS)
			answers->dropped_areas++;
		else
			cprobe_numa_look_at(&areas[i], &query, answers);
	}
	answers->taken_at = GetCurrentTimestamp();
	answers->taken_in_ns = cprobe_clock_now_ns() - begun_ns;
	pfree(query.pages);
	pfree(query.nodes);
	return answers;
}

static void
cprobe_numa_publish(const CprobeNumaAreas *answers)
{
	CprobeSharedNumaAreas *shared = cprobe_region_numa_areas();
	uint32		sequence = pg_atomic_read_u32(&shared->sequence);

	/* If another is at it, its answers are as new as ours. */
	if ((sequence & 1) != 0 ||
		!pg_atomic_compare_exchange_u32(&shared->sequence, &sequence,
										sequence + 1))
		return;
	shared->answers = *answers;
	pg_write_barrier();
	pg_atomic_write_u32(&shared->sequence, sequence + 2);
}

void
cprobe_numa_areas_refresh(void)
{
	CprobeNumaAreas *answers = cprobe_numa_measure();

	cprobe_numa_publish(answers);
	pfree(answers);
}

CprobeNumaAreas *
cprobe_numa_areas_read(void)
{
	CprobeSharedNumaAreas *shared = cprobe_region_numa_areas();
	CprobeNumaAreas *answers = palloc(sizeof(CprobeNumaAreas));

	for (int tries = 0; tries < CPROBE_NUMA_READ_TRIES; tries++)
	{
		uint32		sequence = pg_atomic_read_u32(&shared->sequence);

		if ((sequence & 1) != 0)
		{
			pg_spin_delay();
			continue;
		}
		pg_read_barrier();
		*answers = shared->answers;
		pg_read_barrier();
		if (pg_atomic_read_u32(&shared->sequence) == sequence)
			return answers;
	}
	memset(answers, 0, sizeof(*answers));
	return answers;
}

/* Bytes on each node, over all areas. Returns their sum. */
static double
cprobe_numa_add_up(const CprobeNumaAreas *answers, double *on_node)
{
	double		sum = 0;

	memset(on_node, 0, CPROBE_MAX_NODES * sizeof(double));
	for (uint32 i = 0; i < answers->area_count; i++)
	{
		const CprobeNumaArea *area = &answers->areas[i];

		for (int node = 0; node < CPROBE_MAX_NODES; node++)
		{
			double		bytes;

			if (area->on_node[node] == 0)
				continue;
			bytes = (double) area->bytes * area->on_node[node] /
				area->looked_at;
			on_node[node] += bytes;
			sum += bytes;
		}
	}
	return sum;
}

/* "node 0 61 %, node 1 39 %", and how they compare. */
static void
cprobe_numa_describe_nodes(StringInfo text, const double *on_node, double sum)
{
	int			used = 0;
	bool		even = true;

	for (int node = 0; node < CPROBE_MAX_NODES; node++)
		used += on_node[node] > 0 ? 1 : 0;
	for (int node = 0; node < cprobe_node_count; node++)
	{
		double		part = sum / cprobe_node_count;

		if (on_node[node] < part * (1 - CPROBE_NUMA_EVEN_TOLERANCE) ||
			on_node[node] > part * (1 + CPROBE_NUMA_EVEN_TOLERANCE))
			even = false;
	}
	appendStringInfo(text, even && used > 1 ? "spread evenly:" :
					 "first touched unevenly:");
	for (int node = 0; node < CPROBE_MAX_NODES; node++)
	{
		if (on_node[node] > 0)
			appendStringInfo(text, " node %d %.0f %%", node,
							 100 * on_node[node] / sum);
	}
}

char *
cprobe_numa_describe(const CprobeNumaAreas *answers, double *largest_share)
{
	double		on_node[CPROBE_MAX_NODES];
	double		sum = cprobe_numa_add_up(answers, on_node);
	const char *policy = answers->policy.error != 0 ? NULL :
	cprobe_memory_policy_name(answers->policy.mode);
	int			largest = 0;
	StringInfoData text;

	initStringInfo(&text);
	for (int node = 1; node < CPROBE_MAX_NODES; node++)
	{
		if (on_node[node] > on_node[largest])
			largest = node;
	}
	*largest_share = sum > 0 ? on_node[largest] / sum : 0;
	if (sum == 0)
		return NULL;
	if (cprobe_node_count == 1)
		appendStringInfoString(&text, "the machine has one node");
	else if (policy != NULL && strstr(policy, "interleave") != NULL)
	{
		appendStringInfoString(&text, "interleaved, ");
		cprobe_numa_describe_nodes(&text, on_node, sum);
	}
	else if (*largest_share >= CPROBE_NUMA_ONE_NODE_SHARE)
		appendStringInfo(&text, "%s node %d",
						 policy != NULL && strcmp(policy, "bind") == 0 ?
						 "bound to" : "all on", largest);
	else
		cprobe_numa_describe_nodes(&text, on_node, sum);
	if (policy != NULL)
		appendStringInfo(&text, " (memory policy %s)", policy);
	return text.data;
}
