/*-------------------------------------------------------------------------
 *
 * detour_test.c
 *	  Functions of this program, redirected while it runs, and put back.
 *
 * Separate: a program of its own, as every unit test.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "patch/detour.h"
#include "tap.h"

#if defined(__x86_64__)

/*
 * Exported, and not instrumented by a sanitizer.  Each calls a function of the
 * C library: see the end of detour.h's head comment.
 */
#define EXPORTED \
	__attribute__((visibility("default"), noinline, \
				   no_sanitize("address", "undefined")))

extern int	plain_function(int a, int b);
extern int	global_function(int a);
extern int	short_function(void);

int			global_value = 7;

EXPORTED int
plain_function(int a, int b)
{
	char text[	64];

	snprintf(text, sizeof(text), "%d", a * b);
	return (int) strlen(text) + a;
}

/* Begins with a look at a global variable. */
EXPORTED int
global_function(int a)
{
	global_value += a;
	return global_value * 3 + (getppid() < 0 ? 1 : 0);
}

__asm__(".globl short_function\n"
		".type short_function, @function\n"
		"short_function:\n"
		"	xorl %eax, %eax\n"
		"	ret\n"
		".size short_function, .-short_function\n");

/* Begins as the server's functions do, which keep frame pointers. */
extern int	framed_function(int a);

__asm__(".globl framed_function\n"
		".type framed_function, @function\n"
		"framed_function:\n"
		"	pushq %rbp\n"
		"	movq %rsp, %rbp\n"
		"	leal 1(%rdi), %eax\n"
		"	popq %rbp\n"
		"	ret\n"
		".size framed_function, .-framed_function\n");

/*
 * Code to be copied: counts in the first word of its data while the second is
 * not zero, else gives up.
 */
extern const uint8 near_start[];
extern const uint8 near_end[];

static uint64 near_data[2];

__asm__("near_start:\n"
		"	movabsq	$0, %r11\n"
		"	cmpq	$0, 8(%r11)\n"
		"	je	near_start - 64\n"
		"	incq	(%r11)\n"
		"near_end:\n");

/* mprotect can be refused, from one call on, once; others count. */
static int	mprotect_calls = 0;
static int	refused_call = 0;
static bool writable_and_executable = false;

int
mprotect(void *address, size_t bytes, int protection)
{
	mprotect_calls++;
	if (mprotect_calls == refused_call)
	{
		errno = EACCES;
		return -1;
	}
	if ((protection & PROT_WRITE) != 0 && (protection & PROT_EXEC) != 0)
		writable_and_executable = true;
	return (int) syscall(SYS_mprotect, address, bytes, protection);
}

static int	hits;
static int	(*plain_original) (int, int);
static int	(*global_original) (int);
static int	(*short_original) (void);
static void (*missing_original) (void);

static int
plain_hook(int a, int b)
{
	hits++;
	return plain_original(a, b) + 1000;
}

static int
global_hook(int a)
{
	hits++;
	return global_original(a);
}

static int
short_hook(void)
{
	return short_original();
}

static CprobeDetour detours[] = {
	{.symbol = "plain_function",.replacement = (void *) plain_hook,.original = (void **) &plain_original},
	{.symbol = "global_function",.replacement = (void *) global_hook,.original = (void **) &global_original},
	{.symbol = "short_function",.replacement = (void *) short_hook,.original = (void **) &short_original},
	{.symbol = "no_such_function",.replacement = (void *) short_hook,.original = (void **) &missing_original},
};

/* Is a page of this process writable and executable at this moment? */
static bool
memory_is_open(void)
{
	FILE	   *maps = fopen("/proc/self/maps", "r");
	char		line[512];
	bool		open = false;

	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
		open |= strstr(line, " rwx") != NULL;
	if (maps != NULL)
		fclose(maps);
	return open;
}

static void
test_cycle(int cycle)
{
	uint8		plain_before[32];
	uint8		global_before[32];
	int			value;

	memcpy(plain_before, (void *) plain_function, sizeof(plain_before));
	memcpy(global_before, (void *) global_function, sizeof(global_before));
	hits = 0;
	cprobe_detours_install(detours, lengthof(detours));
	cprobe_tap_ok(detours[0].status == CPROBE_DETOUR_ACTIVE &&
				  detours[1].status == CPROBE_DETOUR_ACTIVE,
				  "functions are redirected (%s, %s)",
				  detours[0].reason, detours[1].reason);
	cprobe_tap_ok(detours[2].status == CPROBE_DETOUR_REFUSED,
				  "a short one is refused: %s", detours[2].reason);
	cprobe_tap_ok(detours[3].status == CPROBE_DETOUR_MISSING,
				  "one that does not exist is missing: %s", detours[3].reason);
	cprobe_tap_ok(!memory_is_open(),
				  "no memory stays writable and executable");
	global_value = cycle;
	value = plain_function(12, 12) + global_function(5) + short_function();
	cprobe_tap_equal((uint64) value, (uint64) (1015 + (cycle + 5) * 3),
					 "redirected functions compute what they did");
	cprobe_tap_equal((uint64) hits, 2, "by way of their replacements");
	cprobe_tap_ok(cprobe_detours_remove(detours, lengthof(detours)),
				  "they are put back");
	cprobe_tap_ok(memcmp(plain_before, (void *) plain_function, sizeof(plain_before)) == 0 &&
				  memcmp(global_before, (void *) global_function, sizeof(global_before)) == 0,
				  "byte for byte");
	cprobe_tap_equal((uint64) plain_function(12, 12), 15,
					 "and work as before");
}

/* Whichever call of mprotect is refused, nothing is left half done. */
static void
test_refusals(void)
{
	uint8		before[32];

	memcpy(before, (void *) plain_function, sizeof(before));
	for (int call = 1; call <= 3; call++)
	{
		bool		same;

		mprotect_calls = 0;
		refused_call = call;
		cprobe_detours_install(detours, 1);
		same = memcmp(before, (void *) plain_function, sizeof(before)) == 0;
		cprobe_tap_ok(detours[0].status == CPROBE_DETOUR_REFUSED && same &&
					  strstr(detours[0].reason, "mprotect") != NULL,
					  "refused mprotect %d leaves the function as it was: %s",
					  call, detours[0].reason);
		cprobe_tap_equal((uint64) plain_function(12, 12), 15, "and working");
		cprobe_tap_ok(!memory_is_open(), "and its page closed");
	}
	refused_call = 0;
}

/* Code that is copied runs in place of the replacement, until it gives up. */
static void
test_near(void)
{
	CprobeDetour near = detours[1];

	near.near_code.start = near_start;
	near.near_code.end = near_end;
	near.near_code.data = near_data;
	hits = 0;
	near_data[0] = 0;
	near_data[1] = 1;
	cprobe_detours_install(&near, 1);
	cprobe_tap_ok(near.status == CPROBE_DETOUR_ACTIVE,
				  "a function is redirected to code near it (%s)", near.reason);
	global_value = 0;
	cprobe_tap_equal((uint64) (global_function(1) + global_function(1)), 9,
					 "it computes what it did");
	cprobe_tap_ok(near_data[0] == 2 && hits == 0,
				  "by way of that code alone");
	near_data[1] = 0;
	cprobe_tap_equal((uint64) global_function(1), 9,
					 "the same when the code gives up");
	cprobe_tap_ok(near_data[0] == 2 && hits == 1,
				  "then by way of the replacement");
	cprobe_tap_ok(cprobe_detours_remove(&near, 1), "and it is put back");

	near.near_code.start = near_start + 1;
	cprobe_detours_install(&near, 1);
	cprobe_tap_ok(near.status == CPROBE_DETOUR_REFUSED,
				  "code of another form is refused: %s", near.reason);
}

static int	(*framed_original) (int);
static int	traps;

static int
framed_hook(int a)
{
	hits++;
	return framed_original(a) + 100;
}

/*
 * What the kernel does at a uprobe: it runs the instruction that is in the
 * file, which is the push, and goes on behind it.
 */
static void
run_push(int number, siginfo_t * info, void *context)
{
	greg_t	   *registers = ((ucontext_t *) context)->uc_mcontext.gregs;

	(void) number;
	(void) info;
	traps++;
	registers[REG_RSP] -= (greg_t) sizeof(greg_t);
	memcpy((void *) registers[REG_RSP], &registers[REG_RBP], sizeof(greg_t));
}

static void
write_text(uint8 *place, uint8 byte)
{
	uintptr_t	page = (uintptr_t) place & ~(uintptr_t) 4095;

	if (mprotect((void *) page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		abort();
	*place = byte;
	if (mprotect((void *) page, 4096, PROT_READ | PROT_EXEC) != 0)
		abort();
}

/* A function's push stays, for whoever sets a probe at the entry. */
static void
test_probe_at_entry(bool near)
{
	CprobeDetour framed = {
		.symbol = "framed_function",
		.replacement = (void *) framed_hook,
		.original = (void **) &framed_original,
	};
	struct sigaction action = {.sa_sigaction = run_push,.sa_flags = SA_SIGINFO};
	uint8	   *entry = (uint8 *) framed_function;
	int			plus = near ? 0 : 100;

	if (near)
		framed.near_code = (CprobeNearCode)
	{
		near_start, near_end, near_data
	};
	near_data[0] = 0;
	near_data[1] = 1;
	hits = 0;
	traps = 0;
	cprobe_detours_install(&framed, 1);
	cprobe_tap_ok(framed.status == CPROBE_DETOUR_ACTIVE && *entry == 0x55,
				  "a function keeps its push (%s)", framed.reason);
	cprobe_tap_equal((uint64) framed_function(1), (uint64) (2 + plus),
					 "and is redirected");
	sigaction(SIGTRAP, &action, NULL);
	write_text(entry, 0xCC);
	cprobe_tap_equal((uint64) framed_function(2), (uint64) (3 + plus),
					 "so it is with a probe at its entry");
	near_data[1] = 0;
	cprobe_tap_equal((uint64) framed_function(3), 104,
					 "by the replacement as well");
	write_text(entry, 0x55);
	cprobe_tap_ok(traps == 2 && hits == (near ? 1 : 3) &&
				  near_data[0] == (near ? 2 : 0),
				  "each call by way of its hook");
	cprobe_tap_ok(cprobe_detours_remove(&framed, 1) &&
				  framed_function(1) == 2, "and it is put back");
}

int
main(void)
{
	test_probe_at_entry(false);
	test_probe_at_entry(true);
	test_near();
	test_cycle(1);
	test_cycle(2);
	test_refusals();
	test_cycle(3);
	cprobe_tap_ok(writable_and_executable, "the text was opened for a moment");
	return cprobe_tap_done();
}

#else							/* not x86-64 */

int
main(void)
{
	cprobe_tap_skip("there are no detours on this architecture");
	return cprobe_tap_done();
}

#endif
