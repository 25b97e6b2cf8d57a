/*-------------------------------------------------------------------------
 *
 * text_map.h
 *	  Which loaded module's code an address lies in.
 *
 * Separate from the walk over frames, which only asks; it knows ELF and the
 * dynamic linker, and nothing of PostgreSQL.
 *
 * A private table of executable segments is filled by the postmaster and
 * inherited by fork.  A library that one process loads later is met as an
 * unknown address: where the C library can be asked in a hook
 * (_dl_find_object, glibc 2.35) the table learns it at once, elsewhere it is
 * noted, and looked for in a safe place.
 *
 * Caveat: a library that was unloaded stays in the table.  Should another be
 * loaded at its address, code of the second goes by the name of the first.
 * The server does not unload libraries, and the cost is a wrong name.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_TEXT_MAP_H
#define CPROBE_TEXT_MAP_H

#include "machine/build_id.h"

/* What a module is called and how it is told from another of that name. */
typedef struct CprobeModuleIdentity
{
	const char *path;
	CprobeBuildId build_id;
} CprobeModuleIdentity;

/*
 * A number for the module, above 0, that means the same in every process, or
 * 0 if there is none left.  Called in hook context: no allocation, no lock,
 * no system call.
 */
typedef uint32 (*CprobeModuleIntern) (const CprobeModuleIdentity *identity);

typedef enum CprobeTextKind
{
	CPROBE_TEXT_MODULE,			/* the program, or a library */
	CPROBE_TEXT_OWN,			/* of the module that does the looking */
	CPROBE_TEXT_LIBC,			/* of the library that calls main */
	CPROBE_TEXT_NAMELESS		/* there was no number for the module */
} CprobeTextKind;

/* An executable segment. */
typedef struct CprobeText
{
	uintptr_t	start;
	uintptr_t	end;
	uintptr_t	load_address;	/* address - load_address = ELF address */
	uint32		module;			/* 0 unless kind is CPROBE_TEXT_MODULE */
	CprobeTextKind kind;
} CprobeText;

/*
 * Fill the table anew with what is loaded.  program_path stands for the main
 * program, which the linker has no name for; it must stay valid.  own_code:
 * an address in the module whose code is CPROBE_TEXT_OWN, or NULL.
 * Postmaster; takes the linker's lock.
 */
extern void cprobe_text_map_init(CprobeModuleIntern intern,
								 const char *program_path,
								 const void *own_code);

/* The main program's code, set by cprobe_text_map_init. */
extern CprobeText cprobe_program_text;

static inline bool
cprobe_text_holds(const CprobeText *code, uintptr_t address)
{
	return address - code->start < code->end - code->start;
}

/* As cprobe_text_map_find, for addresses outside of the main program. */
extern const CprobeText *cprobe_text_map_find_library(uintptr_t address);

/*
 * The segment that holds an address; NULL if it is in no module's code.  Hook
 * context.  Cost: 1 ns in the main program, 5 ns in libraries; 30 ns for what
 * is no code; some microseconds once for a library that is new.
 */
static inline const CprobeText *
cprobe_text_map_find(uintptr_t address)
{
	if (likely(cprobe_text_holds(&cprobe_program_text, address)))
		return &cprobe_program_text;
	return cprobe_text_map_find_library(address);
}

/* An unknown address was met, and the linker could not be asked. */
extern bool cprobe_text_map_is_stale;

/*
 * Add libraries that were loaded since.  Not for hooks on what may be called
 * anywhere: takes the linker's lock.
 */
extern void cprobe_text_map_refresh(void);

#endif							/* CPROBE_TEXT_MAP_H */
