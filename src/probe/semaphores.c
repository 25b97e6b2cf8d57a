/*-------------------------------------------------------------------------
 *
 * semaphores.c
 *	  From a semaphore's address to the process that sleeps on it.
 *
 * Separate: see semaphores.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "probe/semaphores.h"

/* Immutable after startup; count 0: the layout is not as expected. */
static uintptr_t cprobe_semaphore_base;
static uintptr_t cprobe_semaphore_stride;
static uint32 cprobe_semaphore_count;

static uintptr_t
cprobe_semaphore_address(uint32 number)
{
	return (uintptr_t) ProcGlobal->allProcs[number].sem;
}

bool
cprobe_semaphores_init(void)
{
	uint32		count = (uint32) (MaxBackends + NUM_AUXILIARY_PROCS);

	cprobe_semaphore_count = 0;
	cprobe_semaphore_base = cprobe_semaphore_address(0);
	cprobe_semaphore_stride = cprobe_semaphore_address(1) -
		cprobe_semaphore_base;
	if (cprobe_semaphore_base == 0 ||
		cprobe_semaphore_stride < sizeof(sem_t))
		return false;
	for (uint32 i = 0; i < count; i++)
	{
		if (cprobe_semaphore_address(i) !=
			cprobe_semaphore_base + i * cprobe_semaphore_stride)
			return false;
	}
	cprobe_semaphore_count = count;
	return true;
}

int
cprobe_semaphore_owner(const sem_t *semaphore)
{
	uintptr_t	distance = (uintptr_t) semaphore - cprobe_semaphore_base;
	uintptr_t	number;

	if (cprobe_semaphore_count == 0 ||
		(uintptr_t) semaphore < cprobe_semaphore_base)
		return -1;
	number = distance / cprobe_semaphore_stride;
	if (number >= cprobe_semaphore_count ||
		distance % cprobe_semaphore_stride != 0)
		return -1;
	return (int) number;
}
