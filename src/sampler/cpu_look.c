/*-------------------------------------------------------------------------
 *
 * cpu_look.c
 *	  Looking at the CPUs that processes run on.
 *
 * Separate: see cpu_look.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "machine/process_times.h"
#include "probe/activity.h"
#include "probe/cpu_seen.h"
#include "probe/slot.h"
#include "sampler/cpu_look.h"

/* What is remembered of the process with a number. */
typedef struct CprobeLookProcess
{
	int			pid;
	uint32		sequence;		/* of its waits, 0 = not hooked */
	uint32		info;			/* wait event */
} CprobeLookProcess;

/* What one look finds. */
typedef struct CprobeCpuLook
{
	int			on_cpu[CPROBE_MAX_CPUS];	/* backends running */
	int			on_core[CPROBE_MAX_CPUS];
	int			cpus_of_core[CPROBE_MAX_CPUS];	/* with one or more */
} CprobeCpuLook;

static CprobeLookProcess *cprobe_look_processes;
static CprobeCpuLook *cprobe_look;

void
cprobe_cpu_look_init(void)
{
	cprobe_look_processes =
		MemoryContextAllocZero(TopMemoryContext,
							   cprobe_region->slot_count *
							   sizeof(CprobeLookProcess));
	cprobe_look = MemoryContextAlloc(TopMemoryContext, sizeof(CprobeCpuLook));
}

static void
cprobe_look_bump(pg_atomic_uint64 *counter, uint64 amount)
{
	pg_atomic_write_u64(counter, pg_atomic_read_u64(counter) + amount);
}

/*
 * Has the process done anything since the last look?  One that is still in
 * the same hooked wait has not; without hooks, one that waits for the same
 * event is taken for one that has not.
 */
static bool
cprobe_look_has_moved(uint32 number, int pid)
{
	CprobeLookProcess *process = &cprobe_look_processes[number];
	CprobeLookProcess now = {
		.pid = pid,
		.sequence = pg_atomic_read_u32(&cprobe_slot_pulse(number)->wait_sequence),
		.info = cprobe_activity_proc(number)->wait_event_info,
	};
	bool		moved = now.info == 0 || now.pid != process->pid ||
	now.sequence != process->sequence || now.info != process->info;

	*process = now;
	return moved;
}

/* A process is, or was last, on that CPU. */
static void
cprobe_look_see(uint32 number, int pid, int cpu, uint32 epoch)
{
	CprobeSharedSeen *seen = cprobe_seen_get(number);
	int			node = cprobe_cpu_node(cpu);

	if (pg_atomic_read_u32(&seen->pid) != (uint32) pid ||
		pg_atomic_read_u32(&seen->epoch) != epoch)
	{
		pg_atomic_write_u32(&seen->pid, 0);
		for (int i = 0; i < cprobe_node_count; i++)
			pg_atomic_write_u32(&seen->on_node[i], 0);
		pg_atomic_write_u32(&seen->epoch, epoch);
		pg_atomic_write_u32(&seen->pid, (uint32) pid);
	}
	if (node >= 0 && node < cprobe_node_count)
		pg_atomic_write_u32(&seen->on_node[node],
							pg_atomic_read_u32(&seen->on_node[node]) + 1);
}

static void
cprobe_look_at_process(uint32 number, uint32 epoch)
{
	CprobeProcessStat stat;
	int			pid = cprobe_activity_proc_pid(number);
	int			core;

	if (pid == 0 || pid == MyProcPid || !cprobe_look_has_moved(number, pid) ||
		!cprobe_process_stat_read(pid, &stat) ||
		stat.cpu < 0 || stat.cpu >= CPROBE_MAX_CPUS)
		return;
	cprobe_look_see(number, pid, stat.cpu, epoch);
	core = cprobe_cpu_places[stat.cpu].core;
	if (stat.state != 'R' || core < 0)
		return;
	if (cprobe_look->on_cpu[stat.cpu]++ == 0)
		cprobe_look->cpus_of_core[core]++;
	cprobe_look->on_core[core]++;
}

/* Count one core, and for the whole machine what was seen of it. */
static void
cprobe_look_count_core(CprobeSharedCores *cores, int core, bool idle_core,
					   bool *shared_while_idle)
{
	CprobeSharedCore *counters = &cores->cores[core];
	int			backends = cprobe_look->on_core[core];
	bool		sibling = cprobe_look->cpus_of_core[core] > 1;

	cprobe_look_bump(&counters->looks, 1);
	if (backends == 0)
		return;
	cprobe_look_bump(&counters->busy, 1);
	cprobe_look_bump(&counters->backends, (uint64) backends);
	if (backends > 1)
		cprobe_look_bump(&counters->shared, 1);
	if (backends > 1 && idle_core)
	{
		cprobe_look_bump(&counters->shared_while_idle, 1);
		*shared_while_idle = true;
	}
	if (!sibling)
		return;
	cprobe_look_bump(&counters->sibling, 1);
	cprobe_look_bump(&counters->sibling_backends, (uint64) backends);
}

static void
cprobe_look_count_machine(CprobeSharedCores *cores, bool shared_while_idle)
{
	CprobeSharedCore *machine = &cores->cores[cprobe_core_count];
	bool		busy = false;
	bool		shared = false;
	bool		sibling = false;

	for (int core = 0; core < cprobe_core_count; core++)
	{
		busy |= cprobe_look->on_core[core] > 0;
		shared |= cprobe_look->on_core[core] > 1;
		sibling |= cprobe_look->cpus_of_core[core] > 1;
		cprobe_look_bump(&machine->backends,
						 (uint64) cprobe_look->on_core[core]);
		if (cprobe_look->cpus_of_core[core] > 1)
			cprobe_look_bump(&machine->sibling_backends,
							 (uint64) cprobe_look->on_core[core]);
	}
	cprobe_look_bump(&machine->looks, 1);
	cprobe_look_bump(&machine->busy, busy ? 1 : 0);
	cprobe_look_bump(&machine->shared, shared ? 1 : 0);
	cprobe_look_bump(&machine->sibling, sibling ? 1 : 0);
	cprobe_look_bump(&machine->shared_while_idle, shared_while_idle ? 1 : 0);
}

static void
cprobe_look_follow_reset(CprobeSharedCores *cores, uint32 epoch)
{
	if (pg_atomic_read_u32(&cores->epoch) == epoch)
		return;
	pg_atomic_write_u32(&cores->epoch, 0);
	pg_write_barrier();
	memset(cores->cores, 0,
		   (Size) (cprobe_core_count + 1) * sizeof(CprobeSharedCore));
	pg_write_barrier();
	pg_atomic_write_u32(&cores->epoch, epoch);
}

void
cprobe_cpu_look_run(void)
{
	CprobeSharedCores *cores = cprobe_region_cores();
	uint32		epoch = cprobe_region_epoch();
	bool		idle_core = false;
	bool		shared_while_idle = false;

	cprobe_look_follow_reset(cores, epoch);
	memset(cprobe_look, 0, sizeof(*cprobe_look));
	for (uint32 i = 0; i < cprobe_region->slot_count; i++)
		cprobe_look_at_process(i, epoch);
	for (int core = 0; core < cprobe_core_count; core++)
		idle_core |= cprobe_look->on_core[core] == 0;
	for (int core = 0; core < cprobe_core_count; core++)
		cprobe_look_count_core(cores, core, idle_core, &shared_while_idle);
	cprobe_look_count_machine(cores, shared_while_idle);
}
