/*-------------------------------------------------------------------------
 *
 * topology_test.c
 *	  The machine's layout, read from made-up trees of sysfs.
 *
 * Separate: a program of its own, as every unit test.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "machine/topology.h"

#include "tap.h"

static char root[] = "/tmp/cprobe_topology_XXXXXX";
static CprobeTopology topology;

/* A file of the tree, and the folders above it. */
static void
put(const char *name, const char *content)
{
	char		path[512];
	FILE	   *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = path + sizeof(root); *slash != '\0'; slash++)
	{
		if (*slash != '/')
			continue;
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	if (file == NULL)
		abort();
	fputs(content, file);
	fclose(file);
}

static void
put_cpu(int cpu, int socket, const char *siblings)
{
	char		name[128];
	char		content[16];

	snprintf(name, sizeof(name), "cpu/cpu%d/topology/physical_package_id", cpu);
	snprintf(content, sizeof(content), "%d\n", socket);
	put(name, content);
	snprintf(name, sizeof(name), "cpu/cpu%d/topology/thread_siblings_list", cpu);
	put(name, siblings);
}

static void
clear_tree(void)
{
	char		command[128];

	snprintf(command, sizeof(command), "rm -rf %s/cpu %s/node", root, root);
	if (system(command) != 0)
		abort();
}

static int
parse(const char *content, bool *set, int size)
{
	memset(set, 0, (size_t) size);
	return cprobe_cpu_list_parse(content, set, size);
}

static void
test_lists(void)
{
	bool		set[16];

	cprobe_tap_ok(parse("0-3,8,10-11\n", set, 16) == 7 && set[0] && set[3] &&
				  !set[4] && set[8] && !set[9] && set[11],
				  "ranges and single numbers");
	cprobe_tap_ok(parse("\n", set, 16) == 0 && parse("", set, 16) == 0,
				  "an empty list has no members");
	cprobe_tap_ok(parse("5", set, 16) == 1 && set[5], "one number without a newline");
	cprobe_tap_ok(parse("14-9999", set, 16) == 2 && set[15],
				  "numbers beyond the room are left out");
	cprobe_tap_ok(parse("1,1-2", set, 16) == 2, "a member counts once");
	cprobe_tap_ok(parse("1;2", set, 16) == -1 && parse("-1", set, 16) == -1 &&
				  parse("x", set, 16) == -1 && parse("3-", set, 16) == -1,
				  "anything else is no list");
}

/* Two sockets of two cores of two threads, one CPU offline; nodes 0 and 2. */
static void
make_large(void)
{
	put("cpu/present", "0-7\n");
	put("cpu/online", "0-6\n");
	put_cpu(0, 0, "0,4\n");
	put_cpu(1, 0, "1,5\n");
	put_cpu(2, 1, "2,6\n");
	put_cpu(3, 1, "3\n");
	put_cpu(4, 0, "0,4\n");
	put_cpu(5, 0, "1,5\n");
	put_cpu(6, 1, "2,6\n");
	put("node/online", "0,2\n");
	put("node/node0/cpulist", "0-1,4-5\n");
	put("node/node0/distance", "10 21\n");
	put("node/node0/meminfo",
		"Node 0 MemTotal:         1000 kB\nNode 0 MemFree:           400 kB\n");
	put("node/node2/cpulist", "2-3,6-7\n");
	put("node/node2/distance", "21 10\n");
}

static void
test_large(void)
{
	clear_tree();
	make_large();
	cprobe_tap_ok(cprobe_topology_read(&topology, root), "a machine of two sockets is read");
	cprobe_tap_ok(topology.cpu_count == 8 && topology.core_count == 4,
				  "eight CPUs, four cores in use");
	cprobe_tap_ok(topology.cpus[0].core == topology.cpus[4].core &&
				  topology.cpus[0].core != topology.cpus[1].core &&
				  topology.cpus[2].core == topology.cpus[6].core &&
				  topology.cpus[3].core != topology.cpus[2].core,
				  "siblings share a core, others do not");
	cprobe_tap_ok(topology.cpus[5].socket == 0 && topology.cpus[6].socket == 1,
				  "sockets");
	cprobe_tap_ok(topology.cpus[7].present && !topology.cpus[7].online &&
				  topology.cpus[7].core == -1,
				  "a CPU that is offline has no core");
	cprobe_tap_ok(topology.has_nodes && topology.node_count == 3 &&
				  topology.nodes_present == 2 && !topology.nodes[1].present,
				  "nodes with a gap between them");
	cprobe_tap_ok(topology.cpus[6].node == 2 && topology.cpus[5].node == 0,
				  "nodes of CPUs");
	cprobe_tap_ok(cprobe_topology_distance(&topology, 0, 2) == 21 &&
				  cprobe_topology_distance(&topology, 2, 2) == 10 &&
				  cprobe_topology_distance(&topology, 0, 1) == -1 &&
				  cprobe_topology_distance(&topology, 0, 9) == -1 &&
				  cprobe_topology_distance(&topology, -1, 0) == -1,
				  "distances are those to the nodes that exist");
	cprobe_tap_ok(topology.nodes[0].has_memory_size &&
				  topology.nodes[0].total_bytes == 1024000 &&
				  topology.nodes[0].free_bytes == 409600 &&
				  !topology.nodes[2].has_memory_size,
				  "memory of nodes, where it is told");
}

static void
test_within(void)
{
	memcpy(cprobe_cpu_places, topology.cpus, sizeof(topology.cpus));
	cprobe_cpu_places[3].node = 3;
	cprobe_tap_ok(cprobe_cpu_within(4, 4) == CPROBE_WITHIN_CPU &&
				  cprobe_cpu_within(0, 4) == CPROBE_WITHIN_CORE &&
				  cprobe_cpu_within(0, 5) == CPROBE_WITHIN_NODE &&
				  cprobe_cpu_within(2, 3) == CPROBE_WITHIN_SOCKET &&
				  cprobe_cpu_within(0, 2) == CPROBE_WITHIN_MACHINE &&
				  cprobe_cpu_within(100, 101) == CPROBE_WITHIN_MACHINE,
				  "how close two CPUs are");
}

static void
test_without_numa(void)
{
	clear_tree();
	put("cpu/online", "0-1\n");
	put_cpu(0, -1, "0\n");
	put_cpu(1, -1, "1\n");
	cprobe_tap_ok(cprobe_topology_read(&topology, root) &&
				  !topology.has_nodes && topology.node_count == 1 &&
				  topology.cpus[1].node == 0 && topology.cpus[1].present,
				  "a kernel without NUMA is one node");
	clear_tree();
	cprobe_tap_ok(!cprobe_topology_read(&topology, root),
				  "without a list of CPUs nothing is known");
}

static void
test_here(void)
{
	int			cpu;

	cprobe_cpu_places_init();
	cpu = cprobe_cpu_now();
	cprobe_tap_ok(cpu >= 0 && cprobe_cpu_places[cpu].online &&
				  cprobe_cpu_node(cpu) >= 0,
				  "this program runs on an online CPU of a known node");
	cprobe_tap_equal((uint64) cprobe_cpu_node(-1), (uint64) -1,
					 "an unknown CPU is on no node");
}

int
main(void)
{
	if (mkdtemp(root) == NULL)
		return 1;
	test_lists();
	test_large();
	test_within();
	test_without_numa();
	test_here();
	clear_tree();
	rmdir(root);
	return cprobe_tap_done();
}
