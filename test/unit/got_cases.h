/*-------------------------------------------------------------------------
 *
 * got_cases.h
 *	  Cases of calls redirected in the table of the running program.
 *
 * Separate because the same cases are run in programs that were linked in
 * different ways: how a server was linked is up to who packaged it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_GOT_CASES_H
#define CPROBE_GOT_CASES_H

/* What is true of a program that was linked that way. */
typedef struct CprobeGotLinkage
{
	bool		read_only;		/* the table is read-only at run time */
	bool		lazy;			/* entries are filled at the first call */
	bool		movable;		/* the program is position independent */
} CprobeGotLinkage;

/* Run all cases; the exit code of the program. */
extern int	cprobe_got_cases_run(const CprobeGotLinkage *linkage);

#endif							/* CPROBE_GOT_CASES_H */
