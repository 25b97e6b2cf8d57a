/*-------------------------------------------------------------------------
 *
 * lwlock_near.c
 *	  Counting and noting an LWLock, in assembly.
 *
 * Separate: see lwlock_near.h and, for the form of the code, patch/detour.h.
 *
 * Whatever is special is left to the functions in lwlock_hooks.c, before
 * anything is changed: no block, an acquisition to be timed or the release of
 * one, a full list, a lock that is not the last one, a tranche beyond those
 * that have a cell.
 *
 *	   rdi	lock					rdx		block of the process
 *	   esi	mode (acquisition)		r11		cprobe_code_local
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "patch/detour.h"
#include "probe/lwlock_near.h"

#if defined(__x86_64__)

StaticAssertDecl(offsetof(LWLock, tranche) == 0 &&
				 sizeof(((LWLock *) 0)->tranche) == 2 &&
				 LWLOCK_PADDED_SIZE == 128 && CPROBE_CELL_COUNTS == 4 &&
				 (CPROBE_WAL_CELLS & (CPROBE_WAL_CELLS - 1)) == 0 &&
				 CPROBE_CODE_HELD_MODE_MASK == 3,
				 "the code in assembly relies on it");

/* Never called: they give the assembly its constants. */
extern CPROBE_HIDDEN void cprobe_near_acquire_source(void);
extern CPROBE_HIDDEN void cprobe_near_release_source(void);

void
cprobe_near_acquire_source(void)
{
	__asm__ volatile (
					  "	.pushsection .text\n"
					  "	.p2align 4\n"
					  "	.globl	cprobe_near_acquire, cprobe_near_acquire_end\n"
					  "	.hidden	cprobe_near_acquire, cprobe_near_acquire_end\n"
					  "cprobe_near_acquire:\n"
					  "	movabsq	$0, %%r11\n"
					  "	movq	%c[mine](%%r11), %%rdx\n"
					  "	testq	%%rdx, %%rdx\n"
					  "	jz	cprobe_near_acquire - %c[give_up]\n"
					  "	cmpl	$1, %c[countdown](%%r11)\n"
					  "	jle	cprobe_near_acquire - %c[give_up]\n"
					  "	movl	%c[held_count](%%rdx), %%r8d\n"
					  "	cmpl	$%c[held_max], %%r8d\n"
					  "	jae	cprobe_near_acquire - %c[give_up]\n"
					  "	movq	%%rdi, %%rax\n"
					  "	subq	%c[fixed_locks](%%r11), %%rax\n"
					  "	cmpq	$%c[fixed_bytes], %%rax\n"
					  "	jb	1f\n"
					  "	movzwl	(%%rdi), %%eax\n"
					  "	cmpl	$%c[wal_tranche], %%eax\n"
					  "	je	3f\n"
					  "	cmpl	$%c[last_tranche], %%eax\n"
					  "	jae	cprobe_near_acquire - %c[give_up]\n"
					  "	addl	$%c[first_tranche], %%eax\n"
					  "	jmp	2f\n"
					  "3:	movl	%%edi, %%eax\n"
					  "	shrl	$7, %%eax\n"
					  "	andl	$%c[last_wal_cell], %%eax\n"
					  "	addl	$%c[first_wal], %%eax\n"
					  "	jmp	2f\n"
					  "1:	shrq	$7, %%rax\n"
					  "2:	movl	%%esi, %%ecx\n"
					  "	leaq	(%%rcx, %%rax, 4), %%rax\n"
					  "	incq	%c[cells](%%rdx, %%rax, 8)\n"
					  "	orq	%%rdi, %%rcx\n"
					  "	movq	%%rcx, %c[held](%%rdx, %%r8, 8)\n"
					  "	incl	%%r8d\n"
					  "	movl	%%r8d, %c[held_count](%%rdx)\n"
					  "	decl	%c[countdown](%%r11)\n"
					  "cprobe_near_acquire_end:\n"
					  "	.popsection\n"
					  :
					  :[mine] "i"(offsetof(CprobeCodeLocal, mine)),
					  [fixed_locks] "i"(offsetof(CprobeCodeLocal, fixed_locks)),
					  [countdown] "i"(offsetof(CprobeCodeLocal, countdown)),
					  [held_count] "i"(offsetof(CprobeSharedCode, held_count)),
					  [held] "i"(offsetof(CprobeSharedCode, held)),
					  [held_max] "i"(CPROBE_CODE_HELD_LOCKS),
					  [cells] "i"(offsetof(CprobeSharedCode, counts.cells)),
					  [fixed_bytes] "i"(NUM_FIXED_LWLOCKS * LWLOCK_PADDED_SIZE),
					  [wal_tranche] "i"(LWTRANCHE_WAL_INSERT),
					  [last_wal_cell] "i"(CPROBE_WAL_CELLS - 1),
					  [first_wal] "i"(CPROBE_FIRST_WAL_CELL),
					  [first_tranche] "i"(CPROBE_FIRST_TRANCHE_CELL),
					  [last_tranche] "i"(CPROBE_TRANCHE_CELLS - 1),
					  [give_up] "i"(CPROBE_NEAR_GIVE_UP_BYTES));
}

void
cprobe_near_release_source(void)
{
	__asm__ volatile (
					  "	.pushsection .text\n"
					  "	.p2align 4\n"
					  "	.globl	cprobe_near_release, cprobe_near_release_end\n"
					  "	.hidden	cprobe_near_release, cprobe_near_release_end\n"
					  "cprobe_near_release:\n"
					  "	movabsq	$0, %%r11\n"
					  "	movq	%c[mine](%%r11), %%rdx\n"
					  "	testq	%%rdx, %%rdx\n"
					  "	jz	cprobe_near_release - %c[give_up]\n"
					  "	cmpq	%%rdi, %c[timed_lock](%%r11)\n"
					  "	je	cprobe_near_release - %c[give_up]\n"
					  "	movl	%c[held_count](%%rdx), %%eax\n"
					  "	subl	$1, %%eax\n"
					  "	cmpl	$%c[held_max], %%eax\n"
					  "	jae	cprobe_near_release - %c[give_up]\n"
					  "	movq	%c[held](%%rdx, %%rax, 8), %%rcx\n"
					  "	xorq	%%rdi, %%rcx\n"
					  "	cmpq	$3, %%rcx\n"
					  "	ja	cprobe_near_release - %c[give_up]\n"
					  "	movl	%%eax, %c[held_count](%%rdx)\n"
					  "cprobe_near_release_end:\n"
					  "	.popsection\n"
					  :
					  :[mine] "i"(offsetof(CprobeCodeLocal, mine)),
					  [timed_lock] "i"(offsetof(CprobeCodeLocal, timed_lock)),
					  [held_count] "i"(offsetof(CprobeSharedCode, held_count)),
					  [held] "i"(offsetof(CprobeSharedCode, held)),
					  [held_max] "i"(CPROBE_CODE_HELD_LOCKS),
					  [give_up] "i"(CPROBE_NEAR_GIVE_UP_BYTES));
}

#endif
