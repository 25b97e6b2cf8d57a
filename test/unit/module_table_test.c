/*-------------------------------------------------------------------------
 *
 * module_table_test.c
 *	  Numbers of modules: the same for all, and never another module's.
 *
 * Separate: a program of its own, as every unit test.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <stdlib.h>

#include "store/module_table.h"

#include "tap.h"
#include "workers.h"

#define PROCESSES 8
#define ROUNDS 200

static CprobeSharedModules *
new_table(void)
{
	return cprobe_workers_share(sizeof(CprobeSharedModules));
}

static uint32
intern(CprobeSharedModules *table, const char *path, const char *build_id)
{
	return cprobe_module_intern(table, path, (const unsigned char *) build_id,
								build_id != NULL ? strlen(build_id) : 0);
}

static void
test_numbers(void)
{
	CprobeSharedModules *table = new_table();
	uint32		one = intern(table, "/lib/one.so", "id of one");
	uint32		two = intern(table, "/lib/two.so", NULL);

	cprobe_tap_ok(one > 0 && two > 0 && one != two,
				  "modules have different numbers, above 0");
	cprobe_tap_ok(intern(table, "/lib/one.so", "id of one") == one &&
				  intern(table, "/lib/two.so", NULL) == two,
				  "a module keeps its number");
	cprobe_tap_ok(intern(table, "/lib/one.so", "another id") != one,
				  "a file that was replaced is another module");
	cprobe_tap_ok(strcmp(cprobe_module_get(table, one)->path, "/lib/one.so") == 0 &&
				  cprobe_module_get(table, one)->build_id_bytes == 9 &&
				  cprobe_module_get(table, two)->build_id_bytes == 0,
				  "a number leads to its module");
	cprobe_tap_ok(cprobe_module_get(table, 0) == NULL &&
				  cprobe_module_get(table, 100) == NULL &&
				  cprobe_module_get(table, CPROBE_MODULES + 1) == NULL &&
				  cprobe_module_get(table, UINT32_MAX) == NULL,
				  "other numbers lead to none");
}

static void
test_bounds(void)
{
	CprobeSharedModules *table = new_table();
	static char long_path[4096];
	static unsigned char long_id[200];
	char		path[32];
	uint32		number;
	int			wrong = 0;

	memset(long_path, 'x', sizeof(long_path) - 1);
	memcpy(long_path + sizeof(long_path) - 5, "/end", 4);
	memset(long_id, 7, sizeof(long_id));
	number = cprobe_module_intern(table, long_path, long_id, sizeof(long_id));
	cprobe_tap_ok(number > 0 &&
				  cprobe_module_intern(table, long_path, long_id, sizeof(long_id)) == number,
				  "a module with a long path and a long id has a number");
	cprobe_tap_ok(number > 0 &&
				  strlen(cprobe_module_get(table, number)->path) == CPROBE_MODULE_PATH_BYTES - 1 &&
				  strcmp(strrchr(cprobe_module_get(table, number)->path, '/'), "/end") == 0,
				  "the end of the path is kept");
	for (int i = 1; i < CPROBE_MODULES; i++)
	{
		snprintf(path, sizeof(path), "/lib/%d", i);
		if (intern(table, path, NULL) == 0)
			wrong++;
	}
	cprobe_tap_ok(wrong == 0 && intern(table, "/lib/more", NULL) == 0,
				  "when all numbers are taken there are no more");
	cprobe_tap_ok(intern(table, "/lib/5", NULL) > 0,
				  "those that have one keep it");
}

/* Each process meets the same libraries in an order of its own. */
static uint64
meet_libraries(int number, void *arg)
{
	CprobeSharedModules *table = arg;
	uint64		random = (uint64) number + 1;
	uint64		wrong = 0;

	for (int i = 0; i < ROUNDS; i++)
	{
		char		path[32];
		uint32		got;

		snprintf(path, sizeof(path), "/lib/%d",
				 (int) (cprobe_workers_random(&random) % 12));
		got = intern(table, path, path + 5);
		if (got == 0 || cprobe_module_get(table, got) == NULL ||
			strcmp(cprobe_module_get(table, got)->path, path) != 0)
			wrong++;
	}
	return wrong;
}

static void
test_race(void)
{
	uint64		wrong = 0;

	for (int i = 0; i < 20; i++)
		wrong += cprobe_workers_run(CPROBE_WORKER_PROCESSES, PROCESSES,
									meet_libraries, new_table());
	cprobe_tap_equal(wrong, 0, "processes that meet the same libraries at once agree");
}

int
main(void)
{
	test_numbers();
	test_bounds();
	test_race();
	return cprobe_tap_done();
}
