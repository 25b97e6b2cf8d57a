/*-------------------------------------------------------------------------
 *
 * clock_steps.c
 *	  Print how many user-space instructions one reading of the clock takes
 *	  inside the kernel's vDSO.
 *
 * Separate because valgrind does not see the vDSO: programs under it read the
 * clock by a system call.  A child is run by single steps around a reading;
 * the steps whose address lies in the vDSO are counted.
 *
 *-------------------------------------------------------------------------
 */
#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READINGS 100
#define MAX_STEPS 1000000

/* Where the vDSO lies in this process, and so in its child. */
static void
vdso_range(unsigned long *from, unsigned long *to)
{
	char		line[512];
	FILE	   *maps = fopen("/proc/self/maps", "r");

	*from = *to = 0;
	if (maps == NULL)
		return;
	while (fgets(line, sizeof(line), maps) != NULL)
	{
		if (strstr(line, "[vdso]") != NULL)
			sscanf(line, "%lx-%lx", from, to);
	}
	fclose(maps);
}

static void
child_run(void)
{
	struct timespec now;

	/* The first reading resolves the symbol. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	for (int i = 0; i < READINGS; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	_exit(0);
}

int
main(void)
{
	unsigned long from;
	unsigned long to;
	long		inside = 0;
	int			status;
	pid_t		child;

	vdso_range(&from, &to);
	child = fork();
	if (child < 0)
		return 1;
	if (child == 0)
		child_run();
	waitpid(child, &status, 0);
	for (long steps = 0; WIFSTOPPED(status) && steps < MAX_STEPS; steps++)
	{
		struct user_regs_struct regs;

		if (ptrace(PTRACE_GETREGS, child, NULL, &regs) == 0 &&
			regs.rip >= from && regs.rip < to)
			inside++;
		if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0)
			break;
		waitpid(child, &status, 0);
	}
	if (!WIFEXITED(status))
		kill(child, SIGKILL);
	printf("%ld\n", inside / READINGS);
	return 0;
}
