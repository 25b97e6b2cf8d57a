/*-------------------------------------------------------------------------
 *
 * placement_test.c
 *	  Asking where pages lie, without touching them; sampling, and how sure
 *	  the result is.
 *
 * Separate: a program of its own, as every unit test.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine/placement.h"

#include "tap.h"

#define PAGES 600

static char *memory;
static size_t page_bytes;
static void *pages[PAGES];
static int	nodes[PAGES];

static long
faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

static int
ask(int pid)
{
	CprobePlacementQuery query = {
		.pages = pages,
		.nodes = nodes,
		.count = PAGES,
		.pids = &pid,
		.pid_count = 1,
		.absent_page_bytes = page_bytes,
	};

	return cprobe_placement_ask(&query);
}

static int
count_nodes(int first, int behind, int lowest, int highest)
{
	int			count = 0;

	for (int i = first; i < behind; i++)
		count += nodes[i] >= lowest && nodes[i] <= highest;
	return count;
}

/* A child that touches the pages from 100 to 299, and waits for its end. */
static pid_t
start_toucher(int *stop)
{
	int			ready[2];
	int			end[2];
	char		byte = 0;
	pid_t		child;

	if (pipe(ready) != 0 || pipe(end) != 0)
		abort();
	child = fork();
	if (child == 0)
	{
		close(end[1]);
		for (int i = 100; i < 300; i++)
			((volatile char *) pages[i])[0] = 1;
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		_exit(read(end[0], &byte, 1) != 0);
	}
	close(end[0]);
	if (read(ready[0], &byte, 1) != 1)
		abort();
	*stop = end[1];
	return child;
}

static void
test_asking(void)
{
	int			stop;
	pid_t		child = start_toucher(&stop);
	long		before;
	long		after;
	int			error;

	for (int i = 0; i < 50; i++)
		((volatile char *) pages[i])[0] = 1;
	ask(getpid());				/* touches stack and libraries once */
	before = faults();
	error = ask(getpid());
	after = faults();
	if (error != 0)
	{
		cprobe_tap_skip("move_pages is refused here: %s", strerror(error));
		close(stop);
		return;
	}

	/* A sanitizer makes a few of its own; touching would make one a page. */
	cprobe_tap_ok(after - before < PAGES / 10,
				  "asking makes no page fault (%ld)", after - before);
	cprobe_tap_equal((uint64) count_nodes(0, 50, 0, 63), 50,
					 "pages that this process has touched have a node");
	cprobe_tap_equal((uint64) count_nodes(100, 300, CPROBE_PAGE_UNMAPPED, CPROBE_PAGE_UNMAPPED),
					 200, "those that another has touched are in memory");
	cprobe_tap_equal((uint64) count_nodes(300, PAGES, CPROBE_PAGE_ABSENT, CPROBE_PAGE_ABSENT),
					 PAGES - 300, "those that nobody has touched are not");
	cprobe_tap_ok(ask(child) == 0 && count_nodes(100, 300, 0, 63) == 200 &&
				  count_nodes(0, 50, CPROBE_PAGE_UNMAPPED, CPROBE_PAGE_UNMAPPED) == 50,
				  "the other process can be asked");
	close(stop);
	waitpid(child, NULL, 0);
	cprobe_tap_ok(ask(child) == 0 && count_nodes(0, PAGES, 0, 63) == 0,
				  "a process that has left knows nothing, which is no error");
	ask(getpid());
	cprobe_tap_equal((uint64) count_nodes(300, PAGES, CPROBE_PAGE_ABSENT, CPROBE_PAGE_ABSENT),
					 PAGES - 300, "no page has come into being by all that");
}

static void
test_several(void)
{
	int			stop;
	pid_t		child = start_toucher(&stop);
	int			pids[2] = {getpid(), child};
	CprobePlacementQuery query = {
		.pages = pages,
		.nodes = nodes,
		.count = PAGES,
		.pids = pids,
		.pid_count = 2,
		.absent_page_bytes = page_bytes,
	};

	if (cprobe_placement_ask(&query) == 0)
		cprobe_tap_equal((uint64) count_nodes(0, PAGES, 0, 63), 250,
						 "two processes together know what each has touched");
	close(stop);
	waitpid(child, NULL, 0);
}

static void
test_page_size(void)
{
	cprobe_tap_equal(cprobe_placement_page_bytes((uintptr_t) memory, 0),
					 page_bytes, "the page size of common memory");
	cprobe_tap_equal(cprobe_placement_page_bytes(0, 0), page_bytes,
					 "and of what is no memory");
}

static void
test_sample(void)
{
	uint64		last = 0;
	int			wrong = 0;

	for (uint64 i = 0; i < 1000; i++)
	{
		uint64		low = cprobe_sample_place(123457, 1000, i, 0);
		uint64		high = cprobe_sample_place(123457, 1000, i, 0.9999999);

		if (high < low || high >= 123457 || (i > 0 && low <= last))
			wrong++;
		last = high;
	}
	cprobe_tap_equal((uint64) wrong, 0, "places ascend, and none is drawn twice");
	cprobe_tap_equal(last, 123456, "the last one can be drawn");
	cprobe_tap_equal(cprobe_sample_place(0xFFFFFFFF, 3, 2, 0.9999999999), 0xFFFFFFFE,
					 "a large number is no trouble");
}

/* How often does the interval hold the truth? 95 of 100 times. */
static void
test_interval(void)
{
	enum
	{
		TOTAL = 10000, DRAWS = 500, ROUNDS = 2000
	};
	int			held = 0;
	double		low;
	double		high;

	srandom(1);
	for (int round = 0; round < ROUNDS; round++)
	{
		uint64		hits = 0;

		for (uint64 i = 0; i < DRAWS; i++)
		{
			double		random_part = (double) random() / 2147483648.0;

			hits += cprobe_sample_place(TOTAL, DRAWS, i, random_part) * 7919 % TOTAL < 2500;
		}
		cprobe_share_interval(hits, DRAWS, TOTAL, &low, &high);
		held += low <= 0.25 && high >= 0.25;
	}
	cprobe_tap_ok(held >= ROUNDS * 94 / 100, "the interval holds the truth in %d of %d", held, ROUNDS);
	cprobe_share_interval(5, 10, 10, &low, &high);
	cprobe_tap_ok(low == 0.5 && high == 0.5, "all looked at is exact");
	cprobe_share_interval(0, 100, 10000, &low, &high);
	cprobe_tap_ok(low == 0 && high > 0.02 && high < 0.05,
				  "none of 100 may still be some");
	cprobe_share_interval(0, 0, 100, &low, &high);
	cprobe_tap_ok(low == 0 && high == 1, "nothing looked at is nothing known");
}

int
main(void)
{
	page_bytes = (size_t) sysconf(_SC_PAGESIZE);
	memory = mmap(NULL, PAGES * page_bytes, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	for (int i = 0; i < PAGES; i++)
		pages[i] = memory + (size_t) i * page_bytes;
	test_asking();
	test_several();
	test_page_size();
	test_sample();
	test_interval();
	return cprobe_tap_done();
}
