/*-------------------------------------------------------------------------
 *
 * process_code_test.c
 *	  Addresses of a process, as seen from outside: mapping, place in the
 *	  file, function; and the samples that the kernel takes of one.
 *
 * Separate: a program of its own, as every unit test.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "machine/cpu_samples.h"
#include "machine/elf_functions.h"
#include "machine/kernel_functions.h"
#include "machine/process_code.h"

#include "tap.h"

#define MAX_FILES 256

typedef struct Files
{
	uint32		count;
	char	   *paths[MAX_FILES];
	bool		deleted[MAX_FILES];
} Files;

static Files files;

static uint32
intern(void *context, const char *path, bool deleted)
{
	Files	   *known = context;

	for (uint32 i = 0; i < known->count; i++)
	{
		if (strcmp(known->paths[i], path) == 0)
			return i;
	}
	if (known->count == MAX_FILES)
		abort();
	known->paths[known->count] = strdup(path);
	known->deleted[known->count] = deleted;
	return known->count++;
}

extern uint64 burn(uint64 seed);

__attribute__((noinline))
uint64
burn(uint64 seed)
{
	for (int i = 0; i < 1000000; i++)
		seed = (seed ^ (seed >> 29)) * UINT64CONST(0xBF58476D1CE4E5B9) + 1;
	return seed;
}

/* The function that holds an address of a process; NULL if it has no name. */
static const char *
name_at(const CprobeProcessCode *code, uint64 address)
{
	static CprobeElfFunctions functions[MAX_FILES];
	static bool is_read[MAX_FILES];
	const CprobeCodeMapping *mapping = cprobe_process_code_find(code, address);
	const CprobeElfFunction *function;

	if (mapping == NULL)
		return NULL;
	if (!is_read[mapping->file])
		(void) cprobe_elf_functions_read(files.paths[mapping->file], NULL,
										 &functions[mapping->file]);
	is_read[mapping->file] = true;
	function = cprobe_elf_function_find(&functions[mapping->file],
										cprobe_elf_address(&functions[mapping->file],
														   address - mapping->start +
														   mapping->file_offset));
	return function != NULL ? function->name : NULL;
}

static bool
is_named(const CprobeProcessCode *code, uint64 address, const char *name)
{
	const char *found = name_at(code, address);

	return found != NULL && strcmp(found, name) == 0;
}

static void
test_mappings(void)
{
	CprobeProcessCode code;
	uint64		last = 0;
	bool		ascending = true;
	void	   *anonymous = mmap(NULL, 8192, PROT_READ | PROT_EXEC,
								 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const CprobeCodeMapping *mapping;

	cprobe_process_code_read((int) getpid(), intern, &files, &code);
	for (size_t i = 0; i < code.count; i++)
	{
		ascending &= code.mappings[i].start >= last &&
			code.mappings[i].end > code.mappings[i].start;
		last = code.mappings[i].end;
	}
	cprobe_tap_ok(code.count > 3 && ascending, "mappings of code, by address");
	cprobe_tap_ok(is_named(&code, (uint64) (uintptr_t) burn, "burn") &&
				  is_named(&code, (uint64) (uintptr_t) burn + 5, "burn") &&
				  !is_named(&code, (uint64) (uintptr_t) burn - 1, "burn"),
				  "a function of the program");
	cprobe_tap_ok(name_at(&code, (uint64) (uintptr_t) dlsym(RTLD_DEFAULT, "qsort")) != NULL,
				  "one of a library");
	mapping = cprobe_process_code_find(&code, (uint64) (uintptr_t) anonymous);
	cprobe_tap_ok(mapping != NULL && files.paths[mapping->file][0] == '\0',
				  "code that lies in no file");
	cprobe_tap_ok(cprobe_process_code_find(&code, (uint64) (uintptr_t) &code) == NULL &&
				  cprobe_process_code_find(&code, 0) == NULL &&
				  cprobe_process_code_find(&code, PG_UINT64_MAX) == NULL,
				  "data and nothing are no code");
	cprobe_process_code_free(&code);
	cprobe_process_code_read(0x7FFFFFFF, intern, &files, &code);
	cprobe_tap_ok(code.count == 0 &&
				  cprobe_process_code_find(&code, (uint64) (uintptr_t) burn) == NULL,
				  "a process that does not exist has none");
	munmap(anonymous, 8192);
}

/* Many mappings: the array grows; a file that is gone is told. */
static void
test_many_mappings(void)
{
	CprobeProcessCode code;
	size_t		before;
	char		path[] = "/tmp/process_code_test.XXXXXX";
	int			fd = mkstemp(path);
	void	   *pages[300];
	uint32		file;

	cprobe_process_code_read((int) getpid(), intern, &files, &code);
	before = code.count;
	cprobe_process_code_free(&code);
	if (fd < 0 || ftruncate(fd, 8192) != 0)
		abort();
	for (int i = 0; i < 300; i++)
	{
		/* Next to each other they would be one. */
		pages[i] = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
						i % 2 * 4096);
		if (pages[i] == MAP_FAILED)
			break;
	}
	unlink(path);
	cprobe_process_code_read((int) getpid(), intern, &files, &code);
	file = intern(&files, path, true);
	if (pages[299] == MAP_FAILED)
		cprobe_tap_ok(true, "files on this machine may not be mapped as code");
	else
		cprobe_tap_ok(code.count >= before + 150 && files.deleted[file],
					  "hundreds of mappings, of a file that was deleted");
	cprobe_process_code_free(&code);
	for (int i = 0; i < 300 && pages[i] != MAP_FAILED; i++)
		munmap(pages[i], 4096);
	close(fd);
}

typedef struct Profile
{
	CprobeProcessCode code;
	uint64		samples;
	uint64		in_burn;
	uint64		chained;		/* with a caller */
} Profile;

static void
take(void *context, const uint64 *chain, size_t length)
{
	Profile    *profile = context;

	profile->samples++;
	for (size_t i = 0; i < length; i++)
	{
		if (chain[i] >= (uint64) PERF_CONTEXT_MAX)
			continue;
		profile->in_burn += is_named(&profile->code, chain[i], "burn");
		profile->chained += i + 1 < length;
		return;
	}
}

static void
pause_ms(long ms)
{
	struct timespec time = {.tv_nsec = ms * 1000000};

	while (nanosleep(&time, &time) != 0)
		continue;
}

/* A child that burns: so many samples a second of its CPU time, all there. */
static void
test_samples(void)
{
	CprobeCpuSampling sampling = {.period_ns = 1000000,.ring_pages = 4};
	CprobeCpuSamples samples;
	Profile		profile = {0};
	int			error;
	struct timespec used;
	clockid_t	clock;
	pid_t		child = fork();

	if (child == 0)
	{
		volatile uint64 sink = 1;

		for (;;)
			sink = burn(sink);
	}
	error = cprobe_cpu_samples_open(&samples, &sampling, (int) child);
	if (error != 0)
	{
		cprobe_tap_ok(error == EACCES || error == EPERM || error == ENOSYS,
					  "nothing can be sampled here: %s", strerror(error));
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		return;
	}
	cprobe_process_code_read((int) child, intern, &files, &profile.code);
	if (clock_getcpuclockid(child, &clock) != 0)
		abort();
	do
	{
		pause_ms(2);
		cprobe_cpu_samples_drain(&samples, take, &profile);
		clock_gettime(clock, &used);
	} while (used.tv_sec == 0 && used.tv_nsec < 500000000);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	cprobe_cpu_samples_drain(&samples, take, &profile);
	cprobe_tap_ok(profile.samples + samples.lost >= 400 &&
				  profile.samples + samples.lost <= 560,
				  "1000 a second of CPU time: %d of 500",
				  (int) (profile.samples + samples.lost));
	cprobe_tap_ok(profile.in_burn >= profile.samples * 9 / 10 &&
				  profile.chained > 0,
				  "in the function that burns it, with its callers");
	cprobe_cpu_samples_close(&samples);
	cprobe_cpu_samples_drain(&samples, take, &profile);
	cprobe_tap_ok(samples.ring == NULL, "closed, it gives nothing");
	cprobe_process_code_free(&profile.code);
}

/* A ring that nobody empties: what does not fit is counted. */
static void
test_lost(void)
{
	CprobeCpuSampling sampling = {.period_ns = 100000,.ring_pages = 1};
	CprobeCpuSamples samples;
	Profile		profile = {0};
	volatile uint64 sink = 1;

	if (cprobe_cpu_samples_open(&samples, &sampling, (int) getpid()) != 0)
	{
		cprobe_tap_ok(true, "nothing can be sampled here");
		return;
	}
	for (int i = 0; i < 100; i++)
		sink = burn(sink);
	cprobe_cpu_samples_drain(&samples, take, &profile);
	for (int i = 0; i < 20; i++)
		sink = burn(sink);
	cprobe_cpu_samples_drain(&samples, take, &profile);
	cprobe_tap_ok(profile.samples > 0 && samples.lost > 0,
				  "%d came, %d were lost", (int) profile.samples,
				  (int) samples.lost);
	cprobe_cpu_samples_close(&samples);
}

static void
test_refusals(void)
{
	CprobeCpuSampling sampling = {.period_ns = 1000000,.ring_pages = 4};
	CprobeCpuSamples samples;
	int			error = cprobe_cpu_samples_open(&samples, &sampling, 0x7FFFFFFF);

	cprobe_tap_ok(error != 0 && samples.ring == NULL,
				  "a process that does not exist: %s", strerror(error));
	sampling.ring_pages = 3;
	error = cprobe_cpu_samples_open(&samples, &sampling, (int) getpid());
	cprobe_tap_ok(error != 0 && samples.ring == NULL,
				  "a ring of a size that is no power of 2: %s",
				  strerror(error));
}

static void
test_kernel(void)
{
	CprobeElfFunctions functions;
	bool		shown = cprobe_kernel_functions_read(&functions);
	bool		sound = true;

	for (size_t i = 1; i < functions.count; i++)
		sound &= functions.functions[i].start ==
			functions.functions[i - 1].start +
			functions.functions[i - 1].bytes;
	cprobe_tap_ok(shown == (functions.count > 0) && sound,
				  "functions of the kernel: %d", (int) functions.count);
	cprobe_tap_ok(!shown ||
				  cprobe_elf_function_find(&functions, functions.functions[0].start) ==
				  &functions.functions[0],
				  "each is found");
}

int
main(void)
{
	test_mappings();
	test_many_mappings();
	test_samples();
	test_lost();
	test_refusals();
	test_kernel();
	return cprobe_tap_done();
}
