/*-------------------------------------------------------------------------
 *
 * elf_functions_test.c
 *	  Functions of ELF files: found where they are, and no fault, whatever the
 *	  file holds.
 *
 * Separate from frames_test.c, which uses them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/elf_functions.h"
#include "machine/text_map.h"

#include "tap.h"
#include "workers.h"

#define PROGRAM "/proc/self/exe"
#define LIBRARY "./frames_fixture.so"
#define STRIPPED "./frames_fixture_stripped.so"
#define DAMAGED "./elf_functions_test.damaged"
#define DAMAGES 400

static CprobeBuildId program_id;

static uint32
intern(const CprobeModuleIdentity *identity)
{
	if (strcmp(identity->path, PROGRAM) == 0)
		program_id = identity->build_id;
	return 1;
}

static char *
slurp(const char *path, size_t *bytes)
{
	int			fd = open(path, O_RDONLY);
	struct stat status;
	char	   *content;

	if (fd < 0 || fstat(fd, &status) != 0)
		abort();
	*bytes = (size_t) status.st_size;
	content = malloc(*bytes);
	if (content == NULL || read(fd, content, *bytes) != (ssize_t) *bytes)
		abort();
	close(fd);
	return content;
}

static void
spill(const char *path, const char *content, size_t bytes)
{
	int			fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, content, bytes) != (ssize_t) bytes)
		abort();
	close(fd);
}

/* The build id that a file's notes have; not by the code under test. */
static CprobeBuildId
id_of(const char *path)
{
	size_t		bytes;
	char	   *content = slurp(path, &bytes);
	CprobeBuildId id = {0};

	for (size_t i = 0; i + 36 <= bytes && id.bytes == 0; i += 4)
	{
		static const uint32 head[3] = {4, 20, NT_GNU_BUILD_ID};

		if (memcmp(content + i, head, sizeof(head)) == 0 &&
			memcmp(content + i + 12, "GNU", 4) == 0)
		{
			id.bytes = 20;
			memcpy(id.value, content + i + 16, 20);
		}
	}
	free(content);
	return id;
}

static const CprobeElfFunction *
by_name(const CprobeElfFunctions *functions, const char *name)
{
	for (size_t i = 0; i < functions->count; i++)
	{
		if (strcmp(functions->functions[i].name, name) == 0)
			return &functions->functions[i];
	}
	return NULL;
}

static void
test_program(void)
{
	CprobeElfFunctions functions;
	const CprobeElfFunction *found;
	const CprobeText *code = cprobe_text_map_find((uintptr_t) slurp);
	uint64		address = (uintptr_t) slurp - code->load_address;
	int			unsorted = 0;

	cprobe_tap_ok(cprobe_elf_functions_read(PROGRAM, &program_id, &functions),
				  "the program's file has the build id of what runs");
	found = cprobe_elf_function_find(&functions, address);
	cprobe_tap_ok(found != NULL && strcmp(found->name, "slurp") == 0,
				  "a function is found by its first address");
	cprobe_tap_ok(found != NULL &&
				  cprobe_elf_function_find(&functions, address + found->bytes - 1) == found,
				  "and by its last one");
	cprobe_tap_ok(found != NULL &&
				  cprobe_elf_function_find(&functions, address + found->bytes) != found,
				  "what lies behind it is not it");
	cprobe_tap_ok(cprobe_elf_function_find(&functions, 0) == NULL &&
				  cprobe_elf_function_find(&functions, UINT64_MAX) == NULL,
				  "addresses outside of all functions have no name");
	cprobe_tap_ok(cprobe_elf_function_start(&functions, address + 5) == address,
				  "the unwinder's table tells where a function begins");
	for (size_t i = 1; i < functions.count; i++)
	{
		if (functions.functions[i - 1].start >= functions.functions[i].start)
			unsorted++;
	}
	cprobe_tap_ok(functions.count > 10 && unsorted == 0,
				  "each address has one name");
}

static void
test_stripped(void)
{
	CprobeBuildId id = id_of(LIBRARY);
	CprobeBuildId stripped_id = id_of(STRIPPED);
	CprobeElfFunctions whole;
	CprobeElfFunctions stripped;
	const CprobeElfFunction *hidden;
	const CprobeElfFunction *global;

	cprobe_tap_ok(cprobe_elf_functions_read(LIBRARY, &id, &whole) &&
				  cprobe_elf_functions_read(STRIPPED, &stripped_id, &stripped),
				  "a library and its stripped twin are read");
	hidden = by_name(&whole, "cprobe_fixture_hidden");
	global = by_name(&stripped, "cprobe_fixture_call");

	cprobe_tap_ok(hidden != NULL && global !=NULL,
				  "a static function has a name in the one, a global one in the other");
	if (hidden == NULL || global == NULL)
		return;
	cprobe_tap_ok(cprobe_elf_function_find(&stripped, hidden->start + 4) == NULL,
				  "in the stripped one the static function has none, not its neighbour's");
	cprobe_tap_ok(cprobe_elf_function_start(&stripped, hidden->start + 4) == hidden->start,
				  "but it is known where it begins");
}

static void
test_refusals(void)
{
	CprobeElfFunctions functions;
	CprobeBuildId other = program_id;
	CprobeBuildId none = {0};

	other.value[3] ^= 1;
	cprobe_tap_ok(!cprobe_elf_functions_read(PROGRAM, &other, &functions) &&
				  functions.count == 0 && functions.start_count == 0,
				  "a file with another build id is not believed");
	cprobe_tap_ok(!cprobe_elf_functions_read(PROGRAM, &none, &functions),
				  "nor one with a build id, if the module had none");
	cprobe_tap_ok(!cprobe_elf_functions_read("/nonexistent", &none, &functions) &&
				  !cprobe_elf_functions_read("/", &none, &functions) &&
				  !cprobe_elf_functions_read("/dev/zero", &none, &functions) &&
				  !cprobe_elf_functions_read("Makefile", &none, &functions) &&
				  functions.count == 0,
				  "no file, a folder, a device, a text: no functions");
}

/* Of all names, so that they have to be read. */
static volatile size_t total_length = 0;

/* All that a view would do with a file. */
static void
use_file(const char *path, const CprobeBuildId *id)
{
	CprobeElfFunctions functions;

	(void) cprobe_elf_functions_read(path, id, &functions);
	for (size_t i = 0; i < functions.count; i++)
	{
		total_length += strlen(functions.functions[i].name);
		(void) cprobe_elf_function_find(&functions,
										functions.functions[i].start);
	}
	(void) cprobe_elf_function_start(&functions, 0x1234);
}

/*
 * Files that were cut off or overwritten somewhere, most of all in the
 * headers.  The sanitizers see what reads beyond what there is.
 */
static void
test_damaged_files(const char *source)
{
	CprobeBuildId id = id_of(source);
	size_t		bytes;
	char	   *content = slurp(source, &bytes);
	Elf64_Ehdr *header = (Elf64_Ehdr *) content;
	size_t		sections = header->e_shoff;
	uint64		random = 42;

	for (int i = 0; i < DAMAGES; i++)
	{
		size_t		cut = (size_t) (cprobe_workers_random(&random) % bytes);

		spill(DAMAGED, content, cut);
		use_file(DAMAGED, &id);
	}
	cprobe_tap_ok(true, "%s: cut off anywhere", source);
	for (int i = 0; i < 4 * DAMAGES; i++)
	{
		char	   *copy = malloc(bytes);
		size_t		at = (size_t) (cprobe_workers_random(&random) % bytes);

		if (copy == NULL)
			abort();
		memcpy(copy, content, bytes);
		if (i % 4 != 0)
			at = i % 2 == 0 ? at % sizeof(Elf64_Ehdr) :
				sections + at % (bytes - sections);
		for (size_t n = 0; n < 8 && at + n < bytes; n++)
			copy[at + n] = (char) cprobe_workers_random(&random);
		spill(DAMAGED, copy, bytes);
		use_file(DAMAGED, &id);
		free(copy);
	}
	cprobe_tap_ok(true, "%s: overwritten anywhere", source);
	unlink(DAMAGED);
	free(content);
}

int
main(void)
{
	cprobe_text_map_init(intern, PROGRAM, NULL);
	test_program();
	test_stripped();
	test_refusals();
	test_damaged_files(LIBRARY);
	test_damaged_files(STRIPPED);
	return cprobe_tap_done();
}
