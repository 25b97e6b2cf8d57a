/*-------------------------------------------------------------------------
 *
 * elf_functions.h
 *	  The functions of an ELF file: where they are and what they are called.
 *
 * Separate because it is about files, not about what is loaded: the process
 * that reads need not have the module.
 *
 * Names come from .symtab if the file has one, else from that of the debug
 * file with its build id (as debug packages install it), else from .dynsym,
 * which has the global functions.  Where functions without a name begin is
 * told by the table of the unwinder, which stripped files have as well.
 *
 * The file is read, not mapped: one that is cut short meanwhile must not cost
 * more than a name.  Whatever it holds is checked.  dladdr was not taken: it
 * takes the nearest symbol below, however far, goes through all symbols each
 * time, and knows only what this process has loaded.
 *
 * Not for hooks: opens files and allocates in the current memory context.
 * Does not throw; where there is no memory left there are no names.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_ELF_FUNCTIONS_H
#define CPROBE_ELF_FUNCTIONS_H

#include "machine/build_id.h"

typedef struct CprobeElfFunction
{
	uint64		start;			/* ELF address */
	uint64		bytes;
	const char *name;
} CprobeElfFunction;

/* A part of the file that is mapped as code. */
typedef struct CprobeElfCode
{
	uint64		file_offset;
	uint64		bytes;
	uint64		start;			/* ELF address */
} CprobeElfCode;

#define CPROBE_ELF_CODE_PARTS 4

typedef struct CprobeElfFunctions
{
	size_t		count;
	CprobeElfFunction *functions;	/* named ones, by start */
	size_t		start_count;
	uint64	   *starts;			/* of all functions, ascending */
	size_t		code_count;
	CprobeElfCode code[CPROBE_ELF_CODE_PARTS];
} CprobeElfFunctions;

/* Where debug packages put the files of stripped modules. */
#define CPROBE_DEBUG_FILES "/usr/lib/debug/.build-id"

/*
 * Read a file's functions.  False, and none, if it cannot be read or has
 * another build id than the given one; NULL stands for whatever it has.
 */
extern bool cprobe_elf_functions_read(const char *path,
									  const CprobeBuildId *id,
									  CprobeElfFunctions *functions);

/*
 * The ELF address of what lies in the file at an offset; the offset itself if
 * it is not known to be code.
 */
extern uint64 cprobe_elf_address(const CprobeElfFunctions *functions,
								 uint64 file_offset);

/* The named function that holds an address, or NULL. */
extern const CprobeElfFunction *cprobe_elf_function_find(const CprobeElfFunctions *functions,
														 uint64 address);

/* Where the function that holds the address begins; the address if unknown. */
extern uint64 cprobe_elf_function_start(const CprobeElfFunctions *functions,
										uint64 address);

#endif							/* CPROBE_ELF_FUNCTIONS_H */
