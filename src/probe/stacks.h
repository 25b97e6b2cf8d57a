/*-------------------------------------------------------------------------
 *
 * stacks.h
 *	  The call paths that waits come from, and the waits counted by them.
 *
 * Separate from the measuring of waits, which only tells when one begins and
 * how long it was, and from the walk over frames (machine/frames.h).
 *
 * The path is taken when a wait begins, and its place in the map is found
 * then: the process is about to sleep, whereas at the end others may wait for
 * it.  At the end two counters are added to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_STACKS_H
#define CPROBE_STACKS_H

#include "machine/frames.h"
#include "probe/region.h"

#define CPROBE_STACK_DEPTH_DEFAULT 32
#define CPROBE_STACK_DEPTH_MAX 32

/* The first word tells event number and length, the frames follow. */
#define CPROBE_STACK_KEY_WORDS (1 + CPROBE_STACK_DEPTH_MAX + 1)

enum
{
	CPROBE_STACK_WAITS,
	CPROBE_STACK_TIME_NS,
	CPROBE_STACK_VALUE_WORDS
};

StaticAssertDecl(CPROBE_STACK_KEY_WORDS <= CPROBE_MAP_MAX_KEY_WORDS,
				 "a path fits into the key of a map");

/* GUC contention_probe.stack_depth; 0 = no call paths */
extern int	cprobe_stack_depth;

/* A wait's call path; private to the waiting process. */
typedef struct CprobeStack
{
	uint32		words;			/* of key; 0 = no path was taken */
	uint32		epoch;			/* in which values was found */
	uint32		position;		/* of the map's entry + 1, 0 = none */
	pg_atomic_uint64 *values;	/* NULL = no place in the map */
	uint64		key[CPROBE_STACK_KEY_WORDS];
} CprobeStack;

/* Learn where code is. Postmaster, once the region exists. */
extern void cprobe_stacks_init(void);

/*
 * A wait begins: take the path that led to the hook whose frame this is.
 * Hook context.  Cost: about 4 ns a frame.
 */
extern void cprobe_stack_open(CprobeStack *stack, uint32 event,
							  const void *frame);

/*
 * A wait whose path is not worth its cost: it is counted as one without a
 * path.  Hook context.
 */
extern void cprobe_stack_open_without_path(CprobeStack *stack, uint32 event);

/* It is over. Hook context. Cost: two atomic adds. */
extern void cprobe_stack_close(CprobeStack *stack, uint32 epoch,
							   uint64 duration_ns);

/*
 * A number by which others can read the path of an open wait, as long as the
 * epoch lasts; 0 = none.
 */
static inline uint32
cprobe_stack_position(const CprobeStack *stack)
{
	return stack->words != 0 ? stack->position : 0;
}

/* A path as a reader sees it. */
typedef struct CprobeStackRow
{
	uint32		event;			/* event number */
	int			depth;
	uint64		frames[CPROBE_STACK_DEPTH_MAX + 1]; /* innermost first */
	uint64		waits;
	uint64		time_ns;
} CprobeStackRow;

/* Copy the path of a position; false if it is not there any more. */
extern bool cprobe_stack_read(uint32 position, CprobeStackRow *row);

/* Copy the next path of the epoch, see cprobe_map_next. */
extern bool cprobe_stack_next(uint32 epoch, uint32 *position,
							  CprobeStackRow *row);

#endif							/* CPROBE_STACKS_H */
