/*-------------------------------------------------------------------------
 *
 * wait.h
 *	  Measuring one wait: begin, end, and the account that it goes to.
 *
 * Separate from the hooks on library calls, which only tell when a call
 * begins, when it returns, and whether the wait goes on.
 *
 * A wait is one sleep loop as the server sees it.  A call that returned early
 * (a signal, or a wake-up that was meant for something else) leaves the wait
 * open; the next call from the same place with the same event continues it.
 * If there is no such call, the loop had ended when the last call returned,
 * and the wait is closed with that time at the process's next hook.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_WAIT_H
#define CPROBE_WAIT_H

#include "utils/wait_event.h"

#include "compat.h"
#include "probe/hooks.h"

/* GUC contention_probe.enabled */
extern bool cprobe_enabled;

/*
 * What the hooks of this process look at in each wait, in one cache line: after
 * a sleep every line is one to wait for.
 */
typedef struct CprobeWaitLocal
{
	bool		is_open;		/* a wait has begun and is not counted yet */
	bool		busy;			/* between start and end, in the call */
	bool		frame_is_live;	/* the wait's frame is that of the hook that
								 * runs now: the path can still be taken */
	bool		cost_measured;	/* this hit is being measured */
	uint32		cost_hits;

	/*
	 * The event of the call that is being timed.  The server's own word for
	 * it lies in shared memory, cold as well; the server only writes there
	 * after a sleep, and does not wait for it.
	 */
	uint32		timed_info;
	struct CprobeSharedSlot *slot;	/* in which it is being timed */
	uint64		cost_mark_ns;
	uint64		cost_first_half_ns;
} CprobeWaitLocal;

extern CPROBE_HIDDEN CprobeWaitLocal cprobe_wait_local;

#define cprobe_wait_is_open cprobe_wait_local.is_open

/*
 * A hooked call is about to sleep under the wait event info, which is not 0.
 * frame is the hook's frame address and tells apart loops.  False: do not
 * time this call, and do not call cprobe_wait_end.
 *
 * Hook context: any process, critical sections, signal handlers.  errno is kept.
 * Cost: see bench/lock_wait_cost.  Exported for that benchmark.
 */
extern PGDLLEXPORT bool cprobe_wait_start(CprobeHookId hook, uint32 info, void *frame);

/*
 * The call returned.  unfinished: the server will go on waiting.  errno is kept.
 */
extern PGDLLEXPORT void cprobe_wait_end(bool unfinished);

/*
 * How long the call that is being timed has lasted.  Between start and end;
 * about 25 ns.
 */
extern uint64 cprobe_wait_call_age_ns(void);

/*
 * The region is about to go, with the accounts of an open wait.  Not in a
 * hook.
 */
extern void cprobe_wait_forget(void);

/* Close a wait that is open but whose loop has ended. Hook context. */
extern void cprobe_wait_close_stale(void);

/*
 * Does the call that a hook sees belong to a wait?  Calls outside of a wait
 * event pass with a load and two branches.
 */
static inline bool
cprobe_wait_begin(CprobeHookId hook, void *frame)
{
	uint32		info = *(volatile uint32 *) my_wait_event_info;

	if (unlikely(cprobe_wait_is_open) && (info == 0 || !cprobe_enabled))
		cprobe_wait_close_stale();
	if (likely(info == 0) || !cprobe_enabled)
		return false;
	return cprobe_wait_start(hook, info, frame);
}

/*
 * Cost of timing one wait, in picoseconds: the hook's own work, done many
 * times over on private memory, fastest of several rounds.  Not for hooks:
 * allocates, takes about a millisecond.  The caller must have a PGPROC.
 */
extern uint64 cprobe_wait_calibrate_ps(void);

#endif							/* CPROBE_WAIT_H */
