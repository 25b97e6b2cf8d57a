/*-------------------------------------------------------------------------
 *
 * stacks.c
 *	  Counting waits by the call path that they come from.
 *
 * Separate: see stacks.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "probe/stacks.h"

int			cprobe_stack_depth = CPROBE_STACK_DEPTH_DEFAULT;

/*
 * Where the counters of a path of this process are.  64 bits of hash are taken
 * for the path: that two of a thousand have the same is less likely than one
 * in 10^13, and would cost the second one its name.
 */
typedef struct CprobeStackMemo
{
	uint64		hash;
	uint32		epoch;			/* 0 = nothing */
	uint32		position;
	pg_atomic_uint64 *values;
} CprobeStackMemo;

#define CPROBE_STACK_MEMOS 16

static CprobeStackMemo cprobe_stack_memos[CPROBE_STACK_MEMOS];

static uint32
cprobe_stacks_intern(const CprobeModuleIdentity *identity)
{
	if (!cprobe_region_is_current())
		return 0;
	return cprobe_module_intern(cprobe_region_modules(), identity->path,
								identity->build_id.value,
								identity->build_id.bytes);
}

void
cprobe_stacks_init(void)
{
	cprobe_frames_init(cprobe_stacks_intern, my_exec_path,
					   (const void *) cprobe_stacks_intern);
}

/*
 * The counters of the path, in that epoch.  Most waits come from a few places:
 * a look at the memo saves one at four cache lines of the map.
 */
static void
cprobe_stack_find(CprobeStack *stack, uint32 epoch)
{
	uint64		hash = cprobe_map_hash(stack->key, stack->words);
	CprobeStackMemo *memo = &cprobe_stack_memos[hash % CPROBE_STACK_MEMOS];

	stack->epoch = epoch;
	if (likely(memo->hash == hash && memo->epoch == epoch))
	{
		stack->values = memo->values;
		stack->position = memo->position;
		return;
	}
	stack->position = 0;
	stack->values = cprobe_map_claim_short(cprobe_region_stacks(), epoch,
										   stack->key, stack->words);
	if (stack->values == NULL)
		return;
	stack->position = 1 + cprobe_map_position(cprobe_region_stacks(),
											  stack->values);
	memo->hash = hash;
	memo->epoch = epoch;
	memo->values = stack->values;
	memo->position = stack->position;
}

void
cprobe_stack_open(CprobeStack *stack, uint32 event, const void *frame)
{
	int			depth;

	stack->words = 0;
	if (cprobe_stack_depth == 0)
		return;
	depth = cprobe_frames_capture(frame, &stack->key[1], cprobe_stack_depth);
	stack->key[0] = ((uint64) depth << 32) | event;
	stack->words = 1 + (uint32) depth;
	cprobe_stack_find(stack, cprobe_region_epoch());
}

void
cprobe_stack_open_without_path(CprobeStack *stack, uint32 event)
{
	stack->words = 0;
	if (cprobe_stack_depth == 0)
		return;
	stack->key[0] = event;
	stack->words = 1;
	cprobe_stack_find(stack, cprobe_region_epoch());
}

void
cprobe_stack_close(CprobeStack *stack, uint32 epoch, uint64 duration_ns)
{
	if (stack->words == 0)
		return;
	if (unlikely(stack->epoch != epoch))
		cprobe_stack_find(stack, epoch);
	if (stack->values == NULL)
	{
		cprobe_map_drop(cprobe_region_stacks());
		return;
	}
	pg_atomic_fetch_add_u64(&stack->values[CPROBE_STACK_WAITS], 1);
	pg_atomic_fetch_add_u64(&stack->values[CPROBE_STACK_TIME_NS],
							duration_ns);
}

static void
cprobe_stack_unpack(const CprobeMapRow *entry, CprobeStackRow *row)
{
	row->event = (uint32) entry->key[0];
	row->depth = Min((int) (entry->key[0] >> 32), CPROBE_STACK_DEPTH_MAX + 1);
	memcpy(row->frames, &entry->key[1], sizeof(row->frames));
	row->waits = entry->values[CPROBE_STACK_WAITS];
	row->time_ns = entry->values[CPROBE_STACK_TIME_NS];
}

bool
cprobe_stack_read(uint32 position, CprobeStackRow *row)
{
	CprobeMapRow entry;

	if (position == 0 ||
		!cprobe_map_read(cprobe_region_stacks(), cprobe_region_epoch(),
						 position - 1, &entry))
		return false;
	cprobe_stack_unpack(&entry, row);
	return true;
}

bool
cprobe_stack_next(uint32 epoch, uint32 *position, CprobeStackRow *row)
{
	CprobeMapRow entry;

	if (!cprobe_map_next(cprobe_region_stacks(), epoch, position, &entry))
		return false;
	cprobe_stack_unpack(&entry, row);
	return true;
}
