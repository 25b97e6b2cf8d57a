/*-------------------------------------------------------------------------
 *
 * topology.h
 *	  The machine's CPUs, cores, sockets and NUMA nodes.
 *
 * Separate because it is what the kernel says of the hardware, whatever runs
 * on it.
 *
 * Read from sysfs, which is what libnuma reads as well: a library more to
 * depend on would tell nothing more.  CPUs and nodes are known by the kernel's
 * numbers.  Cores are numbered here, in the order of their first CPU, since
 * the kernel's core numbers repeat in each socket.
 *
 * cprobe_topology_read opens some files for each CPU (10 us each): not for
 * hooks.  The table of places is filled by the postmaster, inherited by fork
 * and read anywhere.  CPUs that are plugged in later are in no place there.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_TOPOLOGY_H
#define CPROBE_TOPOLOGY_H

#include <sched.h>

#define CPROBE_SYSFS "/sys/devices/system"

#define CPROBE_MAX_CPUS 4096
#define CPROBE_MAX_NODES 64

/* Where a CPU is; -1 = not known. */
typedef struct CprobeCpuPlace
{
	int16		core;
	int16		socket;
	int16		node;
	bool		present;
	bool		online;
} CprobeCpuPlace;

typedef struct CprobeNode
{
	bool		present;
	bool		has_memory_size;
	uint64		total_bytes;
	uint64		free_bytes;
	int			distance_count; /* of distances that the kernel told */
	int			distances[CPROBE_MAX_NODES];	/* to the present nodes */
} CprobeNode;

typedef struct CprobeTopology
{
	int			cpu_count;		/* highest CPU number + 1 */
	int			core_count;		/* of online CPUs */
	int			node_count;		/* highest node number + 1, at least 1 */
	int			nodes_present;
	bool		has_nodes;		/* else the kernel knows nothing of NUMA, and
								 * node 0 stands for the machine */
	CprobeCpuPlace cpus[CPROBE_MAX_CPUS];
	CprobeNode	nodes[CPROBE_MAX_NODES];
} CprobeTopology;

/* How close two CPUs are: the narrowest that both are in. */
typedef enum CprobeWithin
{
	CPROBE_WITHIN_CPU,
	CPROBE_WITHIN_CORE,			/* siblings of one core */
	CPROBE_WITHIN_NODE,
	CPROBE_WITHIN_SOCKET,		/* nodes of one socket */
	CPROBE_WITHIN_MACHINE,
	CPROBE_WITHIN_COUNT
} CprobeWithin;

/*
 * A list like "0-3,8,10-11" as the kernel writes it: set[] is made true for
 * its members below size.  Returns their number, -1 if it is no such list.
 * Pure.
 */
extern int	cprobe_cpu_list_parse(const char *content, bool *set, int size);

/*
 * Read all below a folder, CPROBE_SYSFS outside of tests.  False if not even
 * the CPUs are told.  Does not throw or allocate.
 */
extern bool cprobe_topology_read(CprobeTopology *topology, const char *root);

/* Distance as the kernel tells it, -1 if it does not. */
extern int	cprobe_topology_distance(const CprobeTopology *topology,
									 int from_node, int to_node);

/* Nodes and places as they were at start. */
extern int	cprobe_node_count;
extern int	cprobe_core_count;
extern CprobeCpuPlace cprobe_cpu_places[CPROBE_MAX_CPUS];

/* Learn the places. Postmaster; does not throw. */
extern void cprobe_cpu_places_init(void);

/*
 * Where the kernel keeps the number of the CPU for the main thread (restartable
 * sequences); NULL where it does not.  Set by cprobe_cpu_places_init.
 */
extern const volatile uint32 *cprobe_cpu_word;

/*
 * The CPU that the caller runs on, -1 if not known.  A load, or else a call of
 * the C library.  Main thread.  Hook context; keeps errno
 * where the kernel has the call, which it has since 2.6.19.
 */
static inline int
cprobe_cpu_now(void)
{
	int			cpu = cprobe_cpu_word != NULL ? (int) *cprobe_cpu_word :
	sched_getcpu();

	return likely((unsigned int) cpu < CPROBE_MAX_CPUS) ? cpu : -1;
}

/* Node of a CPU, -1 if not known. Hook context. */
static inline int
cprobe_cpu_node(int cpu)
{
	return cpu >= 0 ? cprobe_cpu_places[cpu].node : -1;
}

/* How close? Both CPUs must be known numbers. Hook context. */
extern CprobeWithin cprobe_cpu_within(int cpu, int other);

/* "cpu", "core", "node", "socket", "machine" */
extern const char *cprobe_within_name(CprobeWithin within);

#endif							/* CPROBE_TOPOLOGY_H */
