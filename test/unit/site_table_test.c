/*-------------------------------------------------------------------------
 *
 * site_table_test.c
 *	  Counters by place in the source.
 *
 * Separate: a program of its own, as every unit test.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/site_table.h"
#include "tap.h"

static CprobeSharedSites sites;

static CprobeSharedSite *
site_of(const char *file, int line)
{
	for (int i = 0; i < CPROBE_SITES; i++)
	{
		if (pg_atomic_read_u32(&sites.sites[i].state) == CPROBE_SITE_READY &&
			sites.sites[i].line == line &&
			strcmp(sites.sites[i].file, file) == 0)
			return &sites.sites[i];
	}
	return NULL;
}

static int
used(void)
{
	int			count = 0;

	for (int i = 0; i < CPROBE_SITES; i++)
		count += pg_atomic_read_u32(&sites.sites[i].state) != CPROBE_SITE_FREE;
	return count;
}

static void
test_places(void)
{
	CprobePlace place = {.file = "a.c",.function = "f",.line = 1};
	CprobePlace other_line = {.file = "a.c",.function = "f",.line = 2};
	CprobePlace copy = {.file = strdup("a.c"),.function = "f",.line = 1};
	CprobePlace nameless = {.file = NULL,.function = NULL,.line = 3};
	CprobeSpinEvent event = {.spins = 5,.sleeps = 2,.time_ns = 100};
	CprobeSharedSpins *spins;

	cprobe_sites_add(&sites, 1, &place, &event);
	cprobe_sites_add(&sites, 1, &other_line, &event);
	event.time_ns = 300;
	cprobe_sites_add(&sites, 1, &copy, &event);
	cprobe_sites_add(&sites, 1, &nameless, &event);
	cprobe_tap_equal((uint64) used(), 3,
					 "equal texts are one place, wherever they lie");
	spins = &site_of("a.c", 1)->spins[1];
	cprobe_tap_ok(pg_atomic_read_u64(&spins->contended) == 2 &&
				  pg_atomic_read_u64(&spins->spins) == 10 &&
				  pg_atomic_read_u64(&spins->sleeps) == 4 &&
				  pg_atomic_read_u64(&spins->time_ns) == 400 &&
				  pg_atomic_read_u64(&spins->max_ns) == 300,
				  "its events add up");
	cprobe_tap_ok(site_of("", 3) != NULL, "a place without a name is one");
	cprobe_sites_add(&sites, 2, &place, &event);
	cprobe_sites_clear(&sites, 1);
	cprobe_tap_ok(pg_atomic_read_u64(&spins->contended) == 0 &&
				  pg_atomic_read_u64(&site_of("a.c", 1)->spins[0].contended) == 1,
				  "epochs are cleared by themselves");
}

static void
test_full(void)
{
	char		long_name[3 * CPROBE_SITE_FILE_BYTES];
	CprobePlace place = {.file = long_name,.function = long_name};
	CprobeSpinEvent event = {.time_ns = 1};

	memset(long_name, 'x', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	for (int i = 0; i < 2 * CPROBE_SITES; i++)
	{
		place.line = 1000 + i;
		cprobe_sites_add(&sites, 1, &place, &event);
		cprobe_sites_add(&sites, 1, &place, &event);
	}
	cprobe_tap_equal((uint64) used(), CPROBE_SITES, "the table fills up");
	cprobe_tap_equal(pg_atomic_read_u64(&sites.dropped),
					 2 * (2 * CPROBE_SITES - (CPROBE_SITES - 3)),
					 "what has no place is counted");
	cprobe_tap_equal(pg_atomic_read_u64(&sites.sites[CPROBE_SITES - 1].spins[1].contended),
					 2, "a long name is still one place");
}

int
main(void)
{
	test_places();
	test_full();
	return cprobe_tap_done();
}
