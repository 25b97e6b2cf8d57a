/*-------------------------------------------------------------------------
 *
 * got.h
 *	  Interposition of library calls through a program's global offset table.
 *
 * Separate because it knows ELF and nothing of PostgreSQL: which symbols are
 * replaced by what is the caller's business.
 *
 * The main program calls shared libraries through a table of addresses (GOT)
 * that the dynamic linker filled in and, in a hardened build, made read-only
 * (RELRO).  Replacing an entry redirects that call and costs nothing else:
 * data, not code, is changed, and no other library's calls are touched.
 *
 * Call these in a single-threaded process only, and early: a process forked
 * afterwards inherits the change.  They do not throw and do not allocate.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_GOT_H
#define CPROBE_GOT_H

#define CPROBE_GOT_REASON_BYTES 128

/* Relocations for one symbol that are looked at: one in .plt, one in .got. */
#define CPROBE_GOT_MAX_SLOTS 4

typedef enum CprobeGotStatus
{
	CPROBE_GOT_REPLACED,
	CPROBE_GOT_MISSING,			/* the program does not call the symbol */
	CPROBE_GOT_REFUSED			/* found, but could not be changed */
} CprobeGotStatus;

/* The places of one symbol in the main program's tables. */
typedef struct CprobeGotSlots
{
	int			count;
	void	  **slots[CPROBE_GOT_MAX_SLOTS];
	uintptr_t	relro_start;	/* page range made read-only by the linker, */
	uintptr_t	relro_end;		/* empty when there is none */
	uintptr_t	text_start;		/* executable segment of the program */
	uintptr_t	text_end;
} CprobeGotSlots;

/* Find the slots of a symbol in the main program. */
extern void cprobe_got_find(const char *symbol, CprobeGotSlots *found);

/*
 * Let the main program's calls of symbol go to replacement.  *original
 * receives the address that they went to before, never an unresolved stub,
 * and is set before the first slot changes.  Protection of the table is put
 * back as it was.  On anything but CPROBE_GOT_REPLACED nothing is changed and
 * reason holds a phrase that says why.
 */
extern CprobeGotStatus cprobe_got_replace(const char *symbol,
										  void *replacement,
										  void **original,
										  char reason[CPROBE_GOT_REASON_BYTES]);

#endif							/* CPROBE_GOT_H */
