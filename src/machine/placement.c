/*-------------------------------------------------------------------------
 *
 * placement.c
 *	  Asking the kernel on which nodes pages lie.
 *
 * Separate: see placement.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <linux/mempolicy.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "machine/placement.h"
#include "machine/topology.h"

/* Quantile of the normal distribution for 95 %. */
#define CPROBE_Z95 1.959963984540054

/* MPOL_WEIGHTED_INTERLEAVE, which headers older than Linux 6.9 do not have. */
#define CPROBE_MPOL_WEIGHTED_INTERLEAVE 6

/* Ask one process about up to a chunk of pages; errno or 0. */
static int
cprobe_placement_ask_chunk(int pid, void **pages, int *status, int count)
{
	if (syscall(SYS_move_pages, pid, (unsigned long) count, pages, NULL,
				status, 0) == 0)
		return 0;
	return errno;
}

/*
 * Ask one process about all pages that are not known yet.  left: how many are
 * unknown afterwards.
 */
static int
cprobe_placement_ask_process(const CprobePlacementQuery *query, int pid,
							 int *left)
{
	void	   *pages[CPROBE_PLACEMENT_CHUNK];
	int			status[CPROBE_PLACEMENT_CHUNK];
	int			places[CPROBE_PLACEMENT_CHUNK];
	int			count = 0;

	*left = 0;
	for (int i = 0; i <= query->count; i++)
	{
		if (i < query->count && query->nodes[i] == CPROBE_PAGE_UNMAPPED)
		{
			places[count] = i;
			pages[count++] = query->pages[i];
		}
		if (count == CPROBE_PLACEMENT_CHUNK || (i == query->count && count > 0))
		{
			int			error = cprobe_placement_ask_chunk(pid, pages, status, count);

			if (error != 0)
				return error;
			for (int j = 0; j < count; j++)
			{
				if (status[j] >= 0 && status[j] < CPROBE_MAX_NODES)
					query->nodes[places[j]] = status[j];
				else
					(*left)++;
			}
			count = 0;
			if (query->interrupt != NULL)
				query->interrupt();
		}
	}
	return 0;
}

/* Unknown pages from place on that follow on each other; at most a chunk. */
static int
cprobe_placement_run_length(const CprobePlacementQuery *query, int place)
{
	uint64		page_bytes = query->absent_page_bytes;
	int			length = 0;

	while (place + length < query->count && length < CPROBE_PLACEMENT_CHUNK &&
		   query->nodes[place + length] == CPROBE_PAGE_UNMAPPED &&
		   (char *) query->pages[place + length] ==
		   (char *) query->pages[place] + (uint64) length * page_bytes)
		length++;
	return length;
}

/*
 * Mark the unknown pages that are not in memory: nobody needs to be asked
 * about them.  mincore looks into the file behind shared memory, and faults
 * nothing in.
 */
static void
cprobe_placement_find_absent(const CprobePlacementQuery *query)
{
	unsigned char resident[CPROBE_PLACEMENT_CHUNK];
	int			length;

	for (int i = 0; i < query->count; i += Max(length, 1))
	{
		uintptr_t	page = (uintptr_t) query->pages[i] &
		~(query->absent_page_bytes - 1);

		length = cprobe_placement_run_length(query, i);
		if (length == 0 ||
			mincore((void *) page, (size_t) length * query->absent_page_bytes,
					resident) != 0)
			continue;
		for (int j = 0; j < length; j++)
		{
			if ((resident[j] & 1) == 0)
				query->nodes[i + j] = CPROBE_PAGE_ABSENT;
		}
	}
}

int
cprobe_placement_ask(const CprobePlacementQuery *query)
{
	int			first_error = 0;
	int			answers = 0;
	int			left = query->count;

	for (int i = 0; i < query->count; i++)
		query->nodes[i] = CPROBE_PAGE_UNMAPPED;
	for (int i = 0; i < query->pid_count && left > 0; i++)
	{
		int			error = cprobe_placement_ask_process(query, query->pids[i], &left);

		/* ESRCH: it has just left. */
		if (error == 0)
			answers++;
		else if (first_error == 0 && error != ESRCH)
			first_error = error;
		if (error != 0)
			left = query->count;
		else if (answers == 1 && query->absent_page_bytes != 0)
			cprobe_placement_find_absent(query);
	}
	return answers > 0 || query->count == 0 ? 0 : first_error;
}

/* Default size of huge pages, 0 if there is none. */
static uint64
cprobe_placement_default_huge_page_bytes(void)
{
	FILE	   *file = fopen("/proc/meminfo", "re");
	char		line[256];
	unsigned long kilobytes = 0;

	if (file == NULL)
		return 0;
	while (fgets(line, sizeof(line), file) != NULL)
	{
		if (sscanf(line, "Hugepagesize: %lu kB", &kilobytes) == 1)
			break;
	}
	fclose(file);
	return (uint64) kilobytes * 1024;
}

/* Is the mapping that holds an address one of huge pages? By its name. */
static bool
cprobe_placement_is_huge(uintptr_t address)
{
	FILE	   *file = fopen("/proc/self/maps", "re");
	char		line[1024];
	bool		huge = false;

	if (file == NULL)
		return false;
	while (fgets(line, sizeof(line), file) != NULL)
	{
		unsigned long start;
		unsigned long end;

		if (sscanf(line, "%lx-%lx", &start, &end) != 2 || address < start ||
			address >= end)
			continue;
		huge = strstr(line, "hugepage") != NULL ||
			strstr(line, "hugetlb") != NULL;
		break;
	}
	fclose(file);
	return huge;
}

uint64
cprobe_placement_page_bytes(uintptr_t address, uint64 huge_page_bytes)
{
	uint64		plain = (uint64) sysconf(_SC_PAGESIZE);

	if (!cprobe_placement_is_huge(address))
		return plain;
	if (huge_page_bytes == 0)
		huge_page_bytes = cprobe_placement_default_huge_page_bytes();
	return huge_page_bytes > 0 ? huge_page_bytes : plain;
}

CprobeMemoryPolicy
cprobe_memory_policy(void)
{
	CprobeMemoryPolicy policy = {0};
	unsigned long nodes[16] = {0};	/* the kernel insists on its own maximum,
									 * at most 1024 */

	if (syscall(SYS_get_mempolicy, &policy.mode, nodes,
				sizeof(nodes) * BITS_PER_BYTE, NULL, 0) != 0)
		policy.error = errno;
	policy.nodes = nodes[0];
	return policy;
}

const char *
cprobe_memory_policy_name(int mode)
{
	/* Bits above are flags, like MPOL_F_STATIC_NODES. */
	switch (mode & 0xFF)
	{
		case MPOL_DEFAULT:
			return "default";
		case MPOL_PREFERRED:
			return "preferred";
		case MPOL_BIND:
			return "bind";
		case MPOL_INTERLEAVE:
			return "interleave";
		case CPROBE_MPOL_WEIGHTED_INTERLEAVE:
			return "weighted interleave";
		case MPOL_LOCAL:
			return "local";
		default:
			return "unknown";
	}
}

uint64
cprobe_sample_place(uint64 total, uint64 draws, uint64 i, double random)
{
	double		part = (double) total / (double) draws;
	uint64		first = (uint64) ((double) i * part);
	uint64		behind = i + 1 == draws ? total : (uint64) ((double) (i + 1) * part);
	uint64		place = first + (uint64) (random * (double) (behind - first));

	return Min(place, behind - 1);
}

void
cprobe_share_interval(uint64 hits, uint64 draws, uint64 total, double *low,
					  double *high)
{
	double		share = draws > 0 ? (double) hits / (double) draws : 0;
	double		n;
	double		middle;
	double		half;

	if (draws == 0)
	{
		*low = 0;
		*high = 1;
		return;
	}
	if (draws >= total)
	{
		*low = *high = share;
		return;
	}
	n = (double) draws * (double) (total - 1) / (double) (total - draws);
	middle = (share + CPROBE_Z95 * CPROBE_Z95 / (2 * n)) /
		(1 + CPROBE_Z95 * CPROBE_Z95 / n);
	half = CPROBE_Z95 / (1 + CPROBE_Z95 * CPROBE_Z95 / n) *
		sqrt(share * (1 - share) / n +
			 CPROBE_Z95 * CPROBE_Z95 / (4 * n * n));
	*low = Max(middle - half, 0);
	*high = Min(middle + half, 1);
	if (hits == 0)
		*low = 0;
	if (hits == draws)
		*high = 1;
}
