/*-------------------------------------------------------------------------
 *
 * got_cases.c
 *	  Cases of calls redirected in the table of the running program.
 *
 * Separate: see got_cases.h.
 *
 * Each case redirects a library call of its own, so that none depends on what
 * another left.  The functions are some that only ask the kernel, so that the
 * right answer is known, and that no sanitizer replaces.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patch/got.h"

#include "got_cases.h"
#include "tap.h"

/* The C library's, not the server's. */
#undef snprintf

#define PERMISSION_BYTES 5

/*
 * mprotect as the program under test calls it, which can be refused.  A
 * policy of the kernel would refuse it just so, but not once only.
 */
static int	mprotect_calls = 0;
static int	mprotect_refused_call = 0;	/* 0 = none */

int
mprotect(void *address, size_t bytes, int protection)
{
	mprotect_calls++;
	if (mprotect_calls == mprotect_refused_call)
	{
		errno = EACCES;
		return -1;
	}
	return (int) syscall(SYS_mprotect, address, bytes, protection);
}

static void
refuse_mprotect(int call)
{
	mprotect_calls = 0;
	mprotect_refused_call = call;
}

/* "r--p", "rw-p", ...: the protection of an address, as the kernel sees it. */
static void
read_protection(const void *address, char permissions[PERMISSION_BYTES])
{
	FILE	   *maps = fopen("/proc/self/maps", "r");
	char		line[512];

	strcpy(permissions, "none");
	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
	{
		unsigned long start;
		unsigned long end;
		char		found[PERMISSION_BYTES];

		if (sscanf(line, "%lx-%lx %4s", &start, &end, found) == 3 &&
			(unsigned long) address >= start && (unsigned long) address < end)
			strcpy(permissions, found);
	}
	if (maps != NULL)
		fclose(maps);
}

static bool
is_in_program(const CprobeGotSlots *found, const void *address)
{
	return (uintptr_t) address >= found->text_start &&
		(uintptr_t) address < found->text_end;
}

static void
test_find(const CprobeGotLinkage *linkage)
{
	CprobeGotSlots found;
	char		permissions[PERMISSION_BYTES];

	(void) getuid();
	cprobe_got_find("getuid", &found);
	cprobe_tap_ok(found.count >= 1, "the slot of a function that is called is found");
	cprobe_tap_ok(is_in_program(&found, (void *) cprobe_got_cases_run),
				  "the program's text is known");
	if (found.count == 0)
		return;
	read_protection(found.slots[0], permissions);
	cprobe_tap_ok(strcmp(permissions, linkage->read_only ? "r--p" : "rw-p") == 0,
				  "the test is linked as it should be: the table is %s", permissions);
	cprobe_tap_ok(linkage->read_only ==
				  ((uintptr_t) found.slots[0] >= found.relro_start &&
				   (uintptr_t) found.slots[0] < found.relro_end),
				  "what the linker made read-only is known");

	cprobe_got_find("getui", &found);
	cprobe_tap_equal((uint64) found.count, 0, "part of a name is not the name");
	cprobe_got_find("", &found);
	cprobe_tap_equal((uint64) found.count, 0, "nothing has no name");
	cprobe_got_find("getgroups", &found);
	cprobe_tap_equal((uint64) found.count, 0, "a function that is not called has no slot");
}

static pid_t (*original_getpgid) (pid_t pid);
static int	getpgid_calls = 0;

static pid_t
hook_getpgid(pid_t pid)
{
	getpgid_calls++;
	return original_getpgid(pid);
}

/* The whole way: redirected, counted, answered by the original. */
static void
test_replace(const CprobeGotLinkage *linkage)
{
	CprobeGotSlots found;
	char		before[PERMISSION_BYTES];
	char		after[PERMISSION_BYTES];
	char		reason[CPROBE_GOT_REASON_BYTES] = "?";
	void	   *library = dlsym(RTLD_DEFAULT, "getpgid");
	CprobeGotStatus status;

	cprobe_got_find("getpgid", &found);
	cprobe_tap_ok(found.count >= 1 &&
				  is_in_program(&found, *found.slots[0]) == linkage->lazy,
				  "before the first call the slot leads to %s",
				  linkage->lazy ? "a stub" : "the library");
	read_protection(found.slots[0], before);
	refuse_mprotect(0);
	status = cprobe_got_replace("getpgid", (void *) hook_getpgid,
								(void **) &original_getpgid, reason);
	read_protection(found.slots[0], after);

	cprobe_tap_ok(status == CPROBE_GOT_REPLACED && reason[0] == '\0',
				  "a call is redirected");
	cprobe_tap_ok((void *) original_getpgid == library,
				  "the original is the library's function and no stub");
	for (int i = 1; i <= 3; i++)
		cprobe_tap_ok(getpgid(0) == (pid_t) syscall(SYS_getpgid, 0) && getpgid_calls == i,
					  "call %d goes through the replacement, and its answer is right", i);
	cprobe_tap_ok(strcmp(before, after) == 0,
				  "the protection of the table is as before: %s", after);
	cprobe_tap_ok((mprotect_calls > 0) == linkage->read_only,
				  "and was touched only if need be");
	cprobe_tap_ok(dlsym(RTLD_DEFAULT, "getpgid") == library,
				  "calls of others are not redirected");
}

/* Backends are forked from the process that set the hooks. */
static void
test_children_inherit(void)
{
	int			calls = getpgid_calls;
	int			status = -1;
	pid_t		child = fork();

	if (child == 0)
	{
		(void) getpgid(0);
		_exit(getpgid_calls == calls + 1 ? 0 : 1);
	}
	waitpid(child, &status, 0);
	cprobe_tap_equal((uint64) status, 0, "a forked process has the replacement");
}

static int
hook_never(void)
{
	return -1;
}

static void
test_missing(void)
{
	char		reason[CPROBE_GOT_REASON_BYTES] = "";
	void	   *original = reason;

	refuse_mprotect(0);
	cprobe_tap_ok(cprobe_got_replace("io_uring_wait_cqes", (void *) hook_never,
									 &original, reason) == CPROBE_GOT_MISSING &&
				  reason[0] != '\0',
				  "a function that the program does not call is missing: %s", reason);
	cprobe_tap_ok(original == (void *) reason && mprotect_calls == 0,
				  "and nothing was changed");
}

/* The kernel does not let the table be opened: nothing changes. */
static void
test_opening_refused(void)
{
	CprobeGotSlots found;
	char		permissions[PERMISSION_BYTES];
	char		reason[CPROBE_GOT_REASON_BYTES] = "";
	void	   *original = NULL;
	void	   *before;

	(void) geteuid();
	cprobe_got_find("geteuid", &found);
	before = *found.slots[0];
	refuse_mprotect(1);
	cprobe_tap_ok(cprobe_got_replace("geteuid", (void *) hook_never, &original,
									 reason) == CPROBE_GOT_REFUSED,
				  "if the table cannot be opened the hook is refused");
	cprobe_tap_ok(strstr(reason, "mprotect") != NULL &&
				  strstr(reason, strerror(EACCES)) != NULL,
				  "the reason says what was refused and why: %s", reason);
	read_protection(found.slots[0], permissions);
	cprobe_tap_ok(*found.slots[0] == before && strcmp(permissions, "r--p") == 0,
				  "the slot and its protection are as before");
	cprobe_tap_ok(geteuid() == (uid_t) syscall(SYS_geteuid),
				  "and the call works");
}

/* It lets the table be opened, but not be closed again. */
static void
test_closing_refused(void)
{
	CprobeGotSlots found;
	char		permissions[PERMISSION_BYTES];
	char		reason[CPROBE_GOT_REASON_BYTES] = "";
	void	   *original = NULL;
	void	   *before;

	(void) getegid();
	cprobe_got_find("getegid", &found);
	before = *found.slots[0];
	refuse_mprotect(2);
	cprobe_tap_ok(cprobe_got_replace("getegid", (void *) hook_never, &original,
									 reason) == CPROBE_GOT_REFUSED &&
				  reason[0] != '\0',
				  "if the table cannot be closed again the hook is refused");
	cprobe_tap_ok(*found.slots[0] == before && getegid() == (gid_t) syscall(SYS_getegid),
				  "the slot is as before, and the call works");

	/* For whoever comes next the page is closed as it should be. */
	refuse_mprotect(0);
	cprobe_tap_ok(cprobe_got_replace("getegid", before, &original, reason) ==
				  CPROBE_GOT_REPLACED, "the next attempt may succeed");
	read_protection(found.slots[0], permissions);
	cprobe_tap_ok(strcmp(permissions, "r--p") == 0, "and closes the table");
}

/*
 * In a program at a fixed address a function whose address is taken is known
 * to everybody by a stub in the program.  That must not become the original:
 * the stub would lead to the replacement, and so on for ever.
 */
static int	(*volatile address_taken) (void);

static void
test_address_taken(const CprobeGotLinkage *linkage)
{
	CprobeGotSlots found;
	char		reason[CPROBE_GOT_REASON_BYTES] = "";
	void	   *original = NULL;
	CprobeGotStatus status;

	address_taken = sched_yield;
	cprobe_got_find("sched_yield", &found);
	refuse_mprotect(0);
	status = cprobe_got_replace("sched_yield", (void *) hook_never, &original,
								reason);
	if (status == CPROBE_GOT_REPLACED)
		cprobe_tap_ok(original != NULL && !is_in_program(&found, original),
					  "a function whose address is taken has the library's as original");
	else
		cprobe_tap_ok(status == CPROBE_GOT_REFUSED && reason[0] != '\0' &&
					  !linkage->movable && sched_yield() == 0,
					  "a function whose address is taken is refused: %s", reason);
}

int
cprobe_got_cases_run(const CprobeGotLinkage *linkage)
{
	test_find(linkage);
	test_replace(linkage);
	test_children_inherit();
	test_missing();
	if (linkage->read_only)
	{
		test_opening_refused();
		test_closing_refused();
	}
	test_address_taken(linkage);
	return cprobe_tap_done();
}
