/*-------------------------------------------------------------------------
 *
 * relocate.h
 *	  Can the first instructions of a function run somewhere else?  Then what
 *	  they look like there.
 *
 * Separate from the placing of detours because it is pure: bytes in, bytes
 * out, so that it can be tested with binaries that are not running here.
 *
 * A detour overwrites the first bytes of a function with a jump; what stood
 * there must go on to work at another address.  Whatever is not certain is
 * refused: a branch, call or return among these instructions, an instruction
 * that is not known, a function that is too short, a jump from anywhere in
 * the function back into them, a displacement that no longer fits.
 *
 * A leading endbr64 is not part of them: it stays where it is, for indirect
 * calls, and the jump stands behind it.  A leading "push %rbp" stays as well,
 * so that a uprobe at the entry does no harm: the kernel runs the instruction
 * that is in the file there, and goes on behind it.  The jump then leads to
 * code that has to take the push back.
 *
 * Knows x86-64 and nothing of PostgreSQL.  Does not throw or allocate.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_RELOCATE_H
#define CPROBE_RELOCATE_H

#define CPROBE_RELOCATE_REASON_BYTES 128

/* Bytes of the jump that overwrites a function's start. */
#define CPROBE_JUMP_BYTES 5

/* "push %rbp" and what takes it back, "pop %rbp": one byte each. */
#define CPROBE_OPCODE_PUSH_FRAME 0x55
#define CPROBE_OPCODE_POP_FRAME 0x5D

/*
 * The longest instruction is 15 bytes; the last one may begin in the 5th, or
 * in the 6th behind a push that stays.
 */
#define CPROBE_RELOCATED_MAX_BYTES (1 + CPROBE_JUMP_BYTES - 1 + 15)

/* A function as it is in memory or in a file. */
typedef struct CprobeFunction
{
	const uint8 *bytes;
	size_t		byte_count;		/* of the whole function */
	uint64		address;		/* where it runs */
} CprobeFunction;

typedef struct CprobeRelocated
{
	size_t		skipped_bytes;	/* endbr64 that stays: 0 or 4 */
	size_t		kept_bytes;		/* push that stays, but is displaced too: 0, 1 */
	size_t		displaced_bytes;	/* whole instructions, a jump behind the
									 * kept */
	size_t		code_bytes;		/* of code[], as many as were displaced */
	uint8		code[CPROBE_RELOCATED_MAX_BYTES];
} CprobeRelocated;

/*
 * Work out the displaced instructions for an address.  False: refused, with a
 * phrase that says why.
 */
extern bool cprobe_relocate(const CprobeFunction *function, uint64 address,
							CprobeRelocated *relocated,
							char reason[CPROBE_RELOCATE_REASON_BYTES]);

/*
 * Does a direct jump or call anywhere in a text lead into the displaced
 * bytes, behind the first of them?  May be true by chance, for it looks at
 * every byte as if an instruction began there.
 */
extern bool cprobe_relocate_is_entered(const CprobeFunction *text,
									   uint64 first, size_t byte_count);

#endif							/* CPROBE_RELOCATE_H */
