/*-------------------------------------------------------------------------
 *
 * process_code.h
 *	  What code another process has mapped, and where.
 *
 * Separate from text_map, which knows the calling process from within: this
 * reads /proc/PID/maps, from outside.
 *
 * Not for hooks: opens a file and allocates in the current memory context.
 * Does not throw.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_PROCESS_CODE_H
#define CPROBE_PROCESS_CODE_H

typedef struct CprobeCodeMapping
{
	uint64		start;
	uint64		end;
	uint64		file_offset;
	uint32		file;			/* as the caller numbered it */
} CprobeCodeMapping;

typedef struct CprobeProcessCode
{
	size_t		count;
	CprobeCodeMapping *mappings;	/* by address */
} CprobeProcessCode;

/*
 * A number for a file.  path is "" for memory of no file, "[vdso]" and the
 * like for the kernel's; deleted: the file of that name is another one now.
 */
typedef uint32 (*CprobeCodeIntern) (void *context, const char *path,
									bool deleted);

/* Read the executable mappings; none if the process is gone or not ours. */
extern void cprobe_process_code_read(int pid, CprobeCodeIntern intern,
									 void *context, CprobeProcessCode *code);

/* The mapping that holds an address, or NULL. */
extern const CprobeCodeMapping *cprobe_process_code_find(const CprobeProcessCode *code,
														 uint64 address);

extern void cprobe_process_code_free(CprobeProcessCode *code);

#endif							/* CPROBE_PROCESS_CODE_H */
