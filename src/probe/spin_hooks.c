/*-------------------------------------------------------------------------
 *
 * spin_hooks.c
 *	  Counting and timing waits for spinlocks, by place in the source.
 *
 * Separate: see spin_hooks.h.
 *
 * A spinlock that is free costs nothing: the server's code takes it inline.
 * One that is taken leads to s_lock, which is told the place.  Loops of the
 * server's own, on the lock bit of a buffer's header or of an LWLock's queue,
 * call perform_spin_delay for each look and finish_spin_delay in the end; the
 * place is in their status.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/s_lock.h"

#include "machine/clock.h"
#include "probe/code_counts.h"
#include "probe/spin_hooks.h"
#include "probe/wait.h"

static int	(*cprobe_s_lock) (volatile slock_t *lock, const char *file, int line, const char *function);
static void (*cprobe_perform_spin_delay) (SpinDelayStatus *status);

/* Referred to by name in the assembly below. */
extern CPROBE_HIDDEN void (*cprobe_finish_spin_delay) (SpinDelayStatus *status);
extern CPROBE_HIDDEN void cprobe_finish_spin_delay_account(SpinDelayStatus *status);
extern CPROBE_HIDDEN void cprobe_finish_spin_delay_hook(SpinDelayStatus *status);

void		(*cprobe_finish_spin_delay) (SpinDelayStatus *status);

/* Looks and waits of this process, ever. */
static uint64 cprobe_spin_looks = 0;
static uint64 cprobe_spin_calls = 0;

/* A loop of the server's own that is going on; NULL = none. */
static SpinDelayStatus *cprobe_spin_status = NULL;
static uint64 cprobe_spin_since_ns;
static uint64 cprobe_spin_looks_before;

/* Within s_lock, whose looks are not a loop of their own. */
static bool cprobe_spin_in_s_lock = false;

uint64
cprobe_spin_hook_calls(void)
{
	return cprobe_spin_calls;
}

static void
cprobe_spin_account(const CprobePlace *place, const CprobeSpinEvent *event)
{
	cprobe_spin_calls++;
	if (cprobe_region == NULL || !cprobe_code_is_active() || !cprobe_enabled)
		return;
	cprobe_sites_add(cprobe_code_sites(), cprobe_region_epoch(), place, event);
}

/* Cost: about 150 ns of a wait that takes as long at the least. */
static int
cprobe_s_lock_hook(volatile slock_t *lock, const char *file, int line,
				   const char *function)
{
	CprobePlace place = {.file = file,.function = function,.line = line};
	CprobeSpinEvent event;
	uint64		begin_ns = cprobe_clock_now_ns();
	uint64		looks_before = cprobe_spin_looks;
	int			sleeps;

	cprobe_spin_in_s_lock = true;
	sleeps = cprobe_s_lock(lock, file, line, function);
	cprobe_spin_in_s_lock = false;
	event.spins = cprobe_spin_looks - looks_before;
	event.sleeps = (uint64) sleeps;
	event.time_ns = cprobe_clock_now_ns() - begin_ns;
	cprobe_spin_account(&place, &event);
	return sleeps;
}

static pg_noinline void
cprobe_spin_begin(SpinDelayStatus *status)
{
	cprobe_spin_status = status;
	cprobe_spin_looks_before = cprobe_spin_looks;
	cprobe_spin_since_ns = cprobe_clock_now_ns();
}

static void
cprobe_perform_spin_delay_hook(SpinDelayStatus *status)
{
	if (!cprobe_spin_in_s_lock && status != cprobe_spin_status)
		cprobe_spin_begin(status);
	cprobe_spin_looks++;
	cprobe_perform_spin_delay(status);
}

/* The loop that is going on has got its lock. */
void
cprobe_finish_spin_delay_account(SpinDelayStatus *status)
{
	CprobePlace place = {.file = status->file,.function = status->func,.line = status->line};
	CprobeSpinEvent event;

	if (status != cprobe_spin_status)
		return;
	cprobe_spin_status = NULL;
	event.spins = cprobe_spin_looks - cprobe_spin_looks_before;
	event.sleeps = (uint64) status->delays;
	event.time_ns = cprobe_clock_now_ns() - cprobe_spin_since_ns;
	cprobe_spin_account(&place, &event);
}

#if defined(__x86_64__)

/*
 * finish_spin_delay calls nothing, so a compiler may let s_lock, in the same
 * source file, rely on registers that it does not touch: all are kept here.
 * It is called after every such loop, also if the lock was free at once: then
 * both counts at the start of its status are zero, and it is passed on.
 */
StaticAssertDecl(offsetof(SpinDelayStatus, spins) == 0 &&
				 offsetof(SpinDelayStatus, delays) == 4 &&
				 sizeof(((SpinDelayStatus *) 0)->delays) == 4,
				 "the counts are one word at the start");

__asm__(
		"	.text\n"
		"	.p2align 4\n"
		"	.globl	cprobe_finish_spin_delay_hook\n"
		"	.hidden	cprobe_finish_spin_delay_hook\n"
		"	.type	cprobe_finish_spin_delay_hook, @function\n"
		"cprobe_finish_spin_delay_hook:\n"
		"	endbr64\n"
		"	cmpq	$0, (%rdi)\n"
		"	je	1f\n"
		"	pushq	%rbp\n"
		"	movq	%rsp, %rbp\n"
		"	subq	$336, %rsp\n"
		"	andq	$-16, %rsp\n"
		"	movups	%xmm0, (%rsp)\n"
		"	movups	%xmm1, 16(%rsp)\n"
		"	movups	%xmm2, 32(%rsp)\n"
		"	movups	%xmm3, 48(%rsp)\n"
		"	movups	%xmm4, 64(%rsp)\n"
		"	movups	%xmm5, 80(%rsp)\n"
		"	movups	%xmm6, 96(%rsp)\n"
		"	movups	%xmm7, 112(%rsp)\n"
		"	movups	%xmm8, 128(%rsp)\n"
		"	movups	%xmm9, 144(%rsp)\n"
		"	movups	%xmm10, 160(%rsp)\n"
		"	movups	%xmm11, 176(%rsp)\n"
		"	movups	%xmm12, 192(%rsp)\n"
		"	movups	%xmm13, 208(%rsp)\n"
		"	movups	%xmm14, 224(%rsp)\n"
		"	movups	%xmm15, 240(%rsp)\n"
		"	movq	%rax, 256(%rsp)\n"
		"	movq	%rcx, 264(%rsp)\n"
		"	movq	%rdx, 272(%rsp)\n"
		"	movq	%rsi, 280(%rsp)\n"
		"	movq	%rdi, 288(%rsp)\n"
		"	movq	%r8, 296(%rsp)\n"
		"	movq	%r9, 304(%rsp)\n"
		"	movq	%r10, 312(%rsp)\n"
		"	movq	%r11, 320(%rsp)\n"
		"	call	cprobe_finish_spin_delay_account\n"
		"	movups	(%rsp), %xmm0\n"
		"	movups	16(%rsp), %xmm1\n"
		"	movups	32(%rsp), %xmm2\n"
		"	movups	48(%rsp), %xmm3\n"
		"	movups	64(%rsp), %xmm4\n"
		"	movups	80(%rsp), %xmm5\n"
		"	movups	96(%rsp), %xmm6\n"
		"	movups	112(%rsp), %xmm7\n"
		"	movups	128(%rsp), %xmm8\n"
		"	movups	144(%rsp), %xmm9\n"
		"	movups	160(%rsp), %xmm10\n"
		"	movups	176(%rsp), %xmm11\n"
		"	movups	192(%rsp), %xmm12\n"
		"	movups	208(%rsp), %xmm13\n"
		"	movups	224(%rsp), %xmm14\n"
		"	movups	240(%rsp), %xmm15\n"
		"	movq	256(%rsp), %rax\n"
		"	movq	264(%rsp), %rcx\n"
		"	movq	272(%rsp), %rdx\n"
		"	movq	280(%rsp), %rsi\n"
		"	movq	288(%rsp), %rdi\n"
		"	movq	296(%rsp), %r8\n"
		"	movq	304(%rsp), %r9\n"
		"	movq	312(%rsp), %r10\n"
		"	movq	320(%rsp), %r11\n"
		"	leave\n"
		"1:\n"
		"	jmp	*cprobe_finish_spin_delay(%rip)\n"
		"	.size	cprobe_finish_spin_delay_hook, . - cprobe_finish_spin_delay_hook\n"
		"	.previous\n");

#else

void
cprobe_finish_spin_delay_hook(SpinDelayStatus *status)
{
	cprobe_finish_spin_delay_account(status);
	cprobe_finish_spin_delay(status);
}

#endif

#define CPROBE_SPIN_DETOUR(name, hook) \
	{.symbol = name, .replacement = (void *) hook##_hook, \
		.original = (void **) &hook}

static const CprobeDetour cprobe_spin_detours[CPROBE_SPIN_HOOKS] = {
	[CPROBE_SPIN_S_LOCK] =
	CPROBE_SPIN_DETOUR("s_lock", cprobe_s_lock),
	[CPROBE_SPIN_PERFORM_DELAY] =
	CPROBE_SPIN_DETOUR("perform_spin_delay", cprobe_perform_spin_delay),
	[CPROBE_SPIN_FINISH_DELAY] =
	CPROBE_SPIN_DETOUR("finish_spin_delay", cprobe_finish_spin_delay),
};

void
cprobe_spin_hook_describe(CprobeSpinHook hook, CprobeDetour *detour)
{
	*detour = cprobe_spin_detours[hook];
}
