/*-------------------------------------------------------------------------
 *
 * topology.c
 *	  Reading the machine's layout from sysfs.
 *
 * Separate: see topology.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>
#include <fcntl.h>
#if defined(__has_include) && __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif
#include <unistd.h>

#include "machine/topology.h"

/* A list of CPUs of a large machine; longer ones are cut. */
#define CPROBE_SYSFS_TEXT_BYTES 4096

int			cprobe_node_count = 1;
int			cprobe_core_count = 0;
CprobeCpuPlace cprobe_cpu_places[CPROBE_MAX_CPUS];
const volatile uint32 *cprobe_cpu_word = NULL;

/* glibc has registered the area with the kernel since 2.35. */
static void
cprobe_cpu_word_find(void)
{
#if defined(__x86_64__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
	char	   *thread;

	if (__rseq_size == 0)
		return;
__asm__("movq %%fs:0, %0":"=r"(thread));
	cprobe_cpu_word = &((struct rseq *) (thread + __rseq_offset))->cpu_id;
#endif
#endif
}

/* Read a number of a list; moves content behind it. */
static bool
cprobe_cpu_list_number(const char **content, long *number)
{
	char	   *end;

	if (!isdigit((unsigned char) **content))
		return false;
	*number = strtol(*content, &end, 10);
	*content = end;
	return true;
}

int
cprobe_cpu_list_parse(const char *content, bool *set, int size)
{
	int			members = 0;
	long		first;
	long		last;

	while (isspace((unsigned char) *content))
		content++;
	while (*content != '\0')
	{
		if (!cprobe_cpu_list_number(&content, &first))
			return -1;
		last = first;
		if (*content == '-' && (content++, !cprobe_cpu_list_number(&content, &last)))
			return -1;
		for (long i = first; i <= last && i < size; i++)
		{
			members += set[i] ? 0 : 1;
			set[i] = true;
		}
		if (*content == ',')
			content++;
		else
		{
			while (isspace((unsigned char) *content))
				content++;
			if (*content != '\0')
				return -1;
		}
	}
	return members;
}

/* A small file's content; false if there is none. */
static bool
cprobe_sysfs_read(char *content, const char *root, const char *name)
{
	char		path[MAXPGPATH];
	ssize_t		bytes;
	int			fd;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bytes = read(fd, content, CPROBE_SYSFS_TEXT_BYTES - 1);
	close(fd);
	content[Max(bytes, 0)] = '\0';
	return bytes > 0;
}

static int
cprobe_sysfs_read_int(const char *root, const char *name)
{
	char		content[CPROBE_SYSFS_TEXT_BYTES];

	return cprobe_sysfs_read(content, root, name) ? atoi(content) : -1;
}

static bool
cprobe_sysfs_read_list(const char *root, const char *name, bool *set,
					   int size)
{
	char		content[CPROBE_SYSFS_TEXT_BYTES];

	return cprobe_sysfs_read(content, root, name) &&
		cprobe_cpu_list_parse(content, set, size) >= 0;
}

/*
 * Socket and core of an online CPU.  Siblings have a smaller number than the
 * CPU or none has been met yet: then the core is a new one.
 */
static void
cprobe_topology_read_cpu(CprobeTopology *topology, const char *root, int cpu)
{
	CprobeCpuPlace *place = &topology->cpus[cpu];
	static bool siblings[CPROBE_MAX_CPUS];
	char		name[64];

	snprintf(name, sizeof(name), "cpu/cpu%d/topology/physical_package_id",
			 cpu);
	place->socket = (int16) cprobe_sysfs_read_int(root, name);
	snprintf(name, sizeof(name), "cpu/cpu%d/topology/thread_siblings_list",
			 cpu);
	memset(siblings, 0, sizeof(siblings));
	if (!cprobe_sysfs_read_list(root, name, siblings, CPROBE_MAX_CPUS))
		return;
	for (int i = 0; i < cpu && place->core < 0; i++)
	{
		if (siblings[i])
			place->core = topology->cpus[i].core;
	}
	if (place->core < 0)
		place->core = (int16) topology->core_count++;
}

static bool
cprobe_topology_read_cpus(CprobeTopology *topology, const char *root)
{
	static bool present[CPROBE_MAX_CPUS];
	static bool online[CPROBE_MAX_CPUS];

	memset(present, 0, sizeof(present));
	memset(online, 0, sizeof(online));
	if (!cprobe_sysfs_read_list(root, "cpu/online", online, CPROBE_MAX_CPUS))
		return false;
	if (!cprobe_sysfs_read_list(root, "cpu/present", present, CPROBE_MAX_CPUS))
		memcpy(present, online, sizeof(present));
	for (int cpu = 0; cpu < CPROBE_MAX_CPUS; cpu++)
	{
		CprobeCpuPlace *place = &topology->cpus[cpu];

		place->core = place->socket = place->node = -1;
		place->present = present[cpu];
		place->online = online[cpu];
		if (place->present)
			topology->cpu_count = cpu + 1;
		if (place->online)
			cprobe_topology_read_cpu(topology, root, cpu);
	}
	return true;
}

/* A line "Node 1 MemFree:  1234 kB" of a node's meminfo. */
static bool
cprobe_node_memory(const char *content, const char *label, uint64 *bytes)
{
	const char *line = strstr(content, label);

	if (line == NULL)
		return false;
	*bytes = strtoull(line + strlen(label), NULL, 10) * 1024;
	return true;
}

static void
cprobe_topology_read_node(CprobeTopology *topology, const char *root,
						  int number)
{
	CprobeNode *node = &topology->nodes[number];
	static bool cpus[CPROBE_MAX_CPUS];
	char		content[CPROBE_SYSFS_TEXT_BYTES];
	char		name[64];

	snprintf(name, sizeof(name), "node/node%d/cpulist", number);
	memset(cpus, 0, sizeof(cpus));
	cprobe_sysfs_read_list(root, name, cpus, CPROBE_MAX_CPUS);
	for (int cpu = 0; cpu < CPROBE_MAX_CPUS; cpu++)
	{
		if (cpus[cpu])
			topology->cpus[cpu].node = (int16) number;
	}
	snprintf(name, sizeof(name), "node/node%d/meminfo", number);
	if (cprobe_sysfs_read(content, root, name))
		node->has_memory_size =
			cprobe_node_memory(content, "MemTotal:", &node->total_bytes) &&
			cprobe_node_memory(content, "MemFree:", &node->free_bytes);
	snprintf(name, sizeof(name), "node/node%d/distance", number);
	if (cprobe_sysfs_read(content, root, name))
	{
		char	   *next = content;

		for (int i = 0; i < CPROBE_MAX_NODES; i++)
		{
			char	   *end;
			long		distance = strtol(next, &end, 10);

			if (end == next)
				break;
			node->distances[i] = (int) distance;
			node->distance_count = i + 1;
			next = end;
		}
	}
}

/* A kernel without NUMA: all is one node. */
static void
cprobe_topology_make_node(CprobeTopology *topology)
{
	topology->node_count = topology->nodes_present = 1;
	topology->nodes[0].present = true;
	for (int cpu = 0; cpu < CPROBE_MAX_CPUS; cpu++)
	{
		if (topology->cpus[cpu].online)
			topology->cpus[cpu].node = 0;
	}
}

bool
cprobe_topology_read(CprobeTopology *topology, const char *root)
{
	bool		nodes[CPROBE_MAX_NODES] = {false};

	memset(topology, 0, sizeof(*topology));
	if (!cprobe_topology_read_cpus(topology, root))
		return false;
	if (!cprobe_sysfs_read_list(root, "node/online", nodes, CPROBE_MAX_NODES))
	{
		cprobe_topology_make_node(topology);
		return true;
	}
	topology->has_nodes = true;
	for (int i = 0; i < CPROBE_MAX_NODES; i++)
	{
		if (!nodes[i])
			continue;
		topology->nodes[i].present = true;
		topology->nodes_present++;
		topology->node_count = i + 1;
		cprobe_topology_read_node(topology, root, i);
	}
	return true;
}

/* The kernel writes distances to the online nodes only, in their order. */
int
cprobe_topology_distance(const CprobeTopology *topology, int from_node,
						 int to_node)
{
	const CprobeNode *from;
	int			place = 0;

	if (from_node < 0 || from_node >= topology->node_count || to_node < 0 ||
		to_node >= topology->node_count || !topology->nodes[to_node].present)
		return -1;
	from = &topology->nodes[from_node];
	for (int i = 0; i < to_node; i++)
		place += topology->nodes[i].present ? 1 : 0;
	return place < from->distance_count ? from->distances[place] : -1;
}

void
cprobe_cpu_places_init(void)
{
	static CprobeTopology topology;

	cprobe_cpu_word_find();
	if (!cprobe_topology_read(&topology, CPROBE_SYSFS))
	{
		for (int cpu = 0; cpu < CPROBE_MAX_CPUS; cpu++)
			topology.cpus[cpu].core = topology.cpus[cpu].socket =
				topology.cpus[cpu].node = -1;
		topology.node_count = 1;
	}
	memcpy(cprobe_cpu_places, topology.cpus, sizeof(cprobe_cpu_places));
	cprobe_node_count = topology.node_count;
	cprobe_core_count = topology.core_count;
}

CprobeWithin
cprobe_cpu_within(int cpu, int other)
{
	const CprobeCpuPlace *a = &cprobe_cpu_places[cpu];
	const CprobeCpuPlace *b = &cprobe_cpu_places[other];

	if (cpu == other)
		return CPROBE_WITHIN_CPU;
	if (a->core == b->core && a->core >= 0)
		return CPROBE_WITHIN_CORE;
	if (a->node == b->node && a->node >= 0)
		return CPROBE_WITHIN_NODE;
	if (a->socket == b->socket && a->socket >= 0)
		return CPROBE_WITHIN_SOCKET;
	return CPROBE_WITHIN_MACHINE;
}

const char *
cprobe_within_name(CprobeWithin within)
{
	static const char *const names[CPROBE_WITHIN_COUNT] = {
		"cpu", "core", "node", "socket", "machine"
	};

	return within < CPROBE_WITHIN_COUNT ? names[within] : NULL;
}
