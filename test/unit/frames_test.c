/*-------------------------------------------------------------------------
 *
 * frames_test.c
 *	  Call paths: known functions in order, and no fault, whatever the stack
 *	  holds.
 *
 * Separate: a program of its own, built with frame pointers as servers are.
 * Names come from its own file, so that paths are compared as users see them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "machine/elf_functions.h"
#include "machine/frames.h"

#include "frames_fixture.h"
#include "tap.h"

#define DEPTH 32
#define MODULES 128
#define PROGRAM "/proc/self/exe"

/* Modules as a server would intern them, by number - 1. */
static CprobeModuleIdentity modules[MODULES];
static uint32 module_count = 0;

static uint64 path[DEPTH + 1];
static int	path_depth;

static uint32
intern(const CprobeModuleIdentity *identity)
{
	for (uint32 i = 0; i < module_count; i++)
	{
		if (strcmp(modules[i].path, identity->path) == 0)
			return i + 1;
	}
	if (module_count == MODULES)
		return 0;
	modules[module_count] = *identity;
	modules[module_count].path = strdup(identity->path);
	return ++module_count;
}

/* The name of the frame, from the file of its module. */
static const char *
name_of(uint64 frame)
{
	static CprobeElfFunctions read_modules[MODULES];
	static bool is_read[MODULES];
	uint32		number = CPROBE_FRAME_MODULE(frame);
	const CprobeElfFunction *function;

	if (frame == CPROBE_FRAME_CUT)
		return "[cut]";
	if (frame == CPROBE_FRAME_DOUBT)
		return "[doubt]";
	if (number < 1 || number > module_count)
		return "[no module]";
	if (!is_read[number - 1])
		(void) cprobe_elf_functions_read(modules[number - 1].path,
										 &modules[number - 1].build_id,
										 &read_modules[number - 1]);
	is_read[number - 1] = true;
	function = cprobe_elf_function_find(&read_modules[number - 1],
										CPROBE_FRAME_ADDRESS(frame));
	return function != NULL ? function->name : "[static]";
}

/* The path that was taken last, innermost first. */
static const char *
path_text(void)
{
	static char text[4096];
	size_t		length = 0;

	text[		0] = '\0';

	for (int i = 0; i < path_depth; i++)
		length += (size_t) snprintf(text +length, sizeof(text) - length,
									"%s%s", i > 0 ? " " : "",
									name_of(path[i]));
	return text;
}

static void
path_is(const char *expected, const char *what)
{
	const char *got = path_text();

	cprobe_tap_ok(strcmp(got, expected) == 0, "%s", what);
	if (strcmp(got, expected) != 0)
		cprobe_tap_note("got %s, expected %s", got, expected);
}

/* What a hook does; max_depth is what arg points to. */
static __attribute__((noinline))
int
take(void *arg)
{
	path_depth = cprobe_frames_capture(__builtin_frame_address(0), path,
									   *(int *) arg);
	return path_depth;
}

/*
 * Functions to be found.  What follows each call keeps it from being the last
 * thing that the function does, which would leave no frame.
 */
static volatile int work;

static __attribute__((noinline))
void
inner(int max_depth)
{
	take(&max_depth);
	work++;
}

static __attribute__((noinline))
void
middle(int max_depth)
{
	inner(max_depth);
	work++;
}

static __attribute__((noinline))
void
outer(int max_depth)
{
	middle(max_depth);
	work++;
}

static __attribute__((noinline))
void
test_known_functions(void)
{
	outer(DEPTH);
	path_is("inner middle outer test_known_functions main",
			"the path leads from the caller to main, in order");
	for (int i = 0; i < path_depth; i++)
		path[i] = 0;
	outer(3);
	path_is("inner middle outer [cut]", "a path that is longer than asked for says so");
	outer(4);
	path_is("inner middle outer test_known_functions [cut]",
			"one that is longer by one as well");
	outer(5);
	path_is("inner middle outer test_known_functions main",
			"one that just fits is whole");
	outer(0);
	path_is("[cut]", "of depth 0 there is nothing");
}

/* Walk from a frame that the test made up. */
static void
garbage(const void *frame, const char *expected, const char *what)
{
	path_depth = cprobe_frames_capture(frame, path, DEPTH);
	path_is(expected, what);
}

typedef struct CprobeFakeFrame
{
	uintptr_t	next;
	uintptr_t	return_address;
} CprobeFakeFrame;

static __attribute__((noinline))
void
test_garbage_addresses(void)
{
	volatile char below[256];
	char	   *heap = malloc(256);
	void	   *guarded = mmap(NULL, 8192, PROT_NONE,
							   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char	   *here = __builtin_frame_address(0);

	memset((char *) below, 0, sizeof(below));
	garbage(NULL, "[doubt]", "no frame at all");
	garbage((void *) 16, "[doubt]", "a small number");
	garbage((void *) UINTPTR_MAX, "[doubt]", "the largest number");
	garbage((void *) (UINTPTR_MAX - 15), "[doubt]", "the largest aligned number");
	garbage((void *) ((uintptr_t) 1 << 63), "[doubt]", "an address that is none");
	garbage((void *) ((uintptr_t) 0xDEAD000), "[doubt]", "an address of nothing");
	garbage(heap, "[doubt]", "an address of the heap");
	garbage(path, "[doubt]", "an address of the program's data");
	garbage((void *) take, "[doubt]", "an address of the program's code");
	garbage(guarded, "[doubt]", "an address that cannot be read");
	garbage(here + 1, "[doubt]", "an address in the middle of a word");
	garbage(here + 4, "[doubt]", "an address in the middle of a frame");
	garbage(here - 1024 * 1024, "[doubt]", "an address below the stack in use");
	garbage(here - ((uintptr_t) 100 << 20), "[doubt]",
			"an address below the stack's limit");
	garbage((void *) getenv("PATH"), "[doubt]", "an address of the environment");
	for (uintptr_t up = 0; up < (uintptr_t) 1 << 20; up += 8)
		(void) cprobe_frames_capture(here + up, path, DEPTH);
	cprobe_tap_ok(true, "any address from here to beyond the end of the stack");
	munmap(guarded, 8192);
	free(heap);
}

/* Not sanitized: that would move the frames away from the stack. */
static __attribute__((noinline, no_sanitize_address))
void
test_garbage_frames(void)
{
	CprobeFakeFrame fake[4] __attribute__((aligned(16)));
	uintptr_t	code = (uintptr_t) inner + 1;
	uintptr_t	frames = (uintptr_t) fake;
	static int	data;

	for (int i = 0; i < 4; i++)
	{
		fake[i].next = (uintptr_t) &fake[i + 1];
		fake[i].return_address = code;
	}
	fake[3].next = 0;
	garbage(fake, "inner inner inner inner [doubt]", "frames that look right are followed");
	fake[3].next = frames;
	garbage(fake, "inner inner inner inner [doubt]", "a cycle is not");
	fake[1].next = (uintptr_t) &fake[1];
	garbage(fake, "inner inner [doubt]", "nor a frame that follows itself");
	fake[1].next = (uintptr_t) &fake[0];
	garbage(fake, "inner inner [doubt]", "nor one below the last");
	fake[1].next = (uintptr_t) &fake[1] + 8;
	garbage(fake, "inner inner [doubt]", "nor one that overlaps the last");
	fake[1].next = (uintptr_t) &fake[2] + 1;
	garbage(fake, "inner inner [doubt]", "nor one that is not aligned");
	fake[1].next = (uintptr_t) malloc;
	garbage(fake, "inner inner [doubt]", "nor one in another part of memory");
	fake[1].next = UINTPTR_MAX - 15;
	garbage(fake, "inner inner [doubt]", "nor one at the end of all memory");
	fake[1].next = (uintptr_t) &fake[2];
	fake[2].return_address = (uintptr_t) &data;
	garbage(fake, "inner inner [doubt]", "a return address in data is not believed");
	fake[2].return_address = (uintptr_t) fake;
	garbage(fake, "inner inner [doubt]", "nor one on the stack");
	fake[2].return_address = 0;
	garbage(fake, "inner inner [doubt]", "nor none");
	fake[2].return_address = UINTPTR_MAX;
	garbage(fake, "inner inner [doubt]", "nor the largest number");
	/* Read again: the compiler could take the stores for useless. */
	work += (int) *(volatile uintptr_t *) &fake[2].return_address;
}

static void *
in_thread(void *arg)
{
	path_depth = -1;
	take(arg);
	return NULL;
}

static void
test_other_thread(void)
{
	pthread_t	thread;
	int			depth = DEPTH;

	if (pthread_create(&thread, NULL, in_thread, &depth) != 0)
	{
		cprobe_tap_skip("no thread could be started");
		return;
	}
	pthread_join(thread, NULL);
	cprobe_tap_ok(path_depth == 0, "another thread's stack is left alone");
}

static void
on_signal(int number)
{
	int			depth = DEPTH;

	(void) number;
	take(&depth);
	work++;
}

static __attribute__((noinline))
void
test_signal_handler(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	cprobe_tap_ok(path_depth >= 1 && strcmp(name_of(path[0]), "on_signal") == 0,
				  "in a signal handler its frames come first, and nothing breaks");
	cprobe_tap_note("%s", path_text());
}

/* A library loaded now, and its function of that name; NULL is a failure. */
static CprobeFixtureCall
load(const char *file, const char *function)
{
	void	   *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	void	   *address = library != NULL ? dlsym(library, function) : NULL;

	cprobe_tap_ok(address != NULL, "%s can be loaded", file);
	if (address == NULL)
		cprobe_tap_note("%s", dlerror());
	return (CprobeFixtureCall) address;
}

/* Take a path through a library; where that is needed, after a refresh. */
static __attribute__((noinline))
void
take_through(CprobeFixtureCall call)
{
	int			depth = DEPTH;

	call(take, &depth);
#if defined(CPROBE_TEST_OLD_LINKER) || !defined(DLFO_EH_SEGMENT_TYPE)
	if (path_depth > 0 && path[path_depth - 1] == CPROBE_FRAME_DOUBT)
	{
		cprobe_frames_refresh_if_stale();
		call(take, &depth);
	}
#endif
	work++;
}

static __attribute__((noinline))
void
test_late_library(void)
{
	uint32		before = module_count;
	CprobeFixtureCall call = load("./frames_fixture.so",
								  "cprobe_fixture_call");

	if (call == NULL)
		return;
	take_through(call);
	path_is("cprobe_fixture_hidden cprobe_fixture_call take_through test_late_library main",
			"a library that was loaded later has its place in the path");
	cprobe_tap_ok(module_count > before,
				  "it was not known before");
	call = load("./frames_fixture_stripped.so", "cprobe_fixture_call");
	if (call == NULL)
		return;
	take_through(call);
	path_is("[static] cprobe_fixture_call take_through test_late_library main",
			"a static function of a stripped library has no neighbour's name");
}

/* What a path through code without frame pointers holds is on the stack. */
static __attribute__((noinline))
void
test_no_frame_pointers(void)
{
	CprobeFixtureCall call = load("./frames_fixture_bare.so",
								  "cprobe_fixture_call");
	int			wrong = 0;

	if (call == NULL)
		return;
	take_through(call);
	for (int i = 0; i < path_depth; i++)
	{
		const char *name = name_of(path[i]);

		if (strcmp(name, "cprobe_fixture_hidden") != 0 &&
			strcmp(name, "cprobe_fixture_call") != 0 &&
			strcmp(name, "take_through") != 0 &&
			strcmp(name, "test_no_frame_pointers") != 0 &&
			strcmp(name, "main") != 0 && strcmp(name, "[doubt]") != 0)
			wrong++;
	}
	cprobe_tap_ok(path_depth > 0 && wrong == 0,
				  "without frame pointers the path is short, not wrong");
	cprobe_tap_note("%s", path_text());
}

/* The library's own frames, as contention_probe's are. */
static __attribute__((noinline))
void
test_own_code(void)
{
	CprobeFixtureCall call = load("./frames_fixture.so",
								  "cprobe_fixture_call");

	if (call == NULL)
		return;
	cprobe_frames_init(intern, PROGRAM, (const void *) call);
	take_through(call);
	path_is("take_through test_own_code main", "frames of the own module are passed over");
	cprobe_frames_init(intern, PROGRAM, NULL);
	take_through(call);
	path_is("cprobe_fixture_hidden cprobe_fixture_call take_through test_own_code main",
			"a new start finds them again");
}

/* The program and what it had loaded at start. */
static void
test_modules(void)
{
	const CprobeText *code = cprobe_text_map_find((uintptr_t) take);
	const CprobeText *libc = cprobe_text_map_find((uintptr_t) dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));

	cprobe_tap_ok(code != NULL && code->kind == CPROBE_TEXT_MODULE &&
				  strcmp(modules[code->module - 1].path, PROGRAM) == 0,
				  "the program is known by the name given for it");
	cprobe_tap_ok(libc != NULL && libc->kind == CPROBE_TEXT_LIBC,
				  "the C library is known for what it is");
	cprobe_tap_ok(cprobe_text_map_find((uintptr_t) &work) == NULL &&
				  cprobe_text_map_find((uintptr_t) &code) == NULL &&
				  cprobe_text_map_find(0) == NULL,
				  "data is no code");
}

int
main(void)
{
	cprobe_frames_init(intern, PROGRAM, NULL);
#if defined(__x86_64__) || defined(__aarch64__)
	test_modules();
	test_known_functions();
	test_garbage_addresses();
	test_garbage_frames();
	test_other_thread();
	test_signal_handler();
	test_late_library();
	test_no_frame_pointers();
	test_own_code();
#else
	inner(DEPTH);
	cprobe_tap_ok(path_depth == 0, "on this machine there are no paths");
#endif
	return cprobe_tap_done();
}
