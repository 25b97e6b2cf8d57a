/*-------------------------------------------------------------------------
 *
 * workers.c
 *	  Running one function in several processes, or threads, at once.
 *
 * Separate: see workers.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/atomics.h"

#include "workers.h"

/* Shared by the workers of one run. */
typedef struct CprobeWorkerRun
{
	CprobeWorkerFunction function;
	void	   *arg;
	int			count;
	pg_atomic_uint32 ready;		/* workers that have started */
	uint64		violations[CPROBE_WORKERS_MAX];
} CprobeWorkerRun;

typedef struct CprobeWorkerThread
{
	CprobeWorkerRun *run;
	int			number;
	pthread_t	thread;
} CprobeWorkerThread;

void *
cprobe_workers_share(Size bytes)
{
	void	   *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
							  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

/* Starting takes longer than many a test: begin when all are there. */
static void
cprobe_workers_enter(CprobeWorkerRun *run, int number)
{
	pg_atomic_fetch_add_u32(&run->ready, 1);
	while (pg_atomic_read_u32(&run->ready) < (uint32) run->count)
		sched_yield();
	run->violations[number] = run->function(number, run->arg);
}

static void *
cprobe_workers_thread_main(void *arg)
{
	CprobeWorkerThread *thread = arg;

	cprobe_workers_enter(thread->run, thread->number);
	return NULL;
}

static void
cprobe_workers_run_threads(CprobeWorkerRun *run)
{
	CprobeWorkerThread threads[CPROBE_WORKERS_MAX];

	for (int i = 0; i < run->count; i++)
	{
		threads[i].run = run;
		threads[i].number = i;
		if (pthread_create(&threads[i].thread, NULL,
						   cprobe_workers_thread_main, &threads[i]) != 0)
			abort();
	}
	for (int i = 0; i < run->count; i++)
		pthread_join(threads[i].thread, NULL);
}

static void
cprobe_workers_run_processes(CprobeWorkerRun *run)
{
	pid_t		pids[CPROBE_WORKERS_MAX];

	for (int i = 0; i < run->count; i++)
	{
		pids[i] = fork();
		if (pids[i] < 0)
			abort();
		if (pids[i] == 0)
		{
			/* A test that is ended from outside leaves nobody spinning. */
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			cprobe_workers_enter(run, i);
			_exit(0);
		}
	}
	for (int i = 0; i < run->count; i++)
	{
		int			status;

		if (waitpid(pids[i], &status, 0) != pids[i] || status != 0)
			run->violations[i] = CPROBE_WORKER_DIED;
	}
}

uint64
cprobe_workers_run(CprobeWorkerKind kind, int count,
				   CprobeWorkerFunction function, void *arg)
{
	CprobeWorkerRun *run = cprobe_workers_share(sizeof(*run));
	uint64		violations = 0;

	run->function = function;
	run->arg = arg;
	run->count = count;
	pg_atomic_init_u32(&run->ready, 0);
	if (kind == CPROBE_WORKER_THREADS)
		cprobe_workers_run_threads(run);
	else
		cprobe_workers_run_processes(run);
	for (int i = 0; i < count; i++)
		violations += run->violations[i];
	munmap(run, sizeof(*run));
	return violations;
}
