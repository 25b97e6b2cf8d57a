/*-------------------------------------------------------------------------
 *
 * module_table.h
 *	  Numbers for the program and its libraries that all processes agree on.
 *
 * Separate because a library has another address in each process that loads
 * it after the fork, or none in the process that reads.
 *
 * Entries are claimed by compare-and-swap, filled, and never change after
 * that; a reset leaves them.  Two processes that meet a new library at once
 * may give it two numbers: readers go by what the entry says.
 *
 * Any process, any context; does not throw, allocate, lock or wait.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_MODULE_TABLE_H
#define CPROBE_MODULE_TABLE_H

#include "port/atomics.h"

/* Numbers are 1 to CPROBE_MODULES. */
#define CPROBE_MODULES 128
#define CPROBE_MODULE_PATH_BYTES 472
#define CPROBE_MODULE_BUILD_ID_BYTES 32

typedef struct CprobeSharedModule
{
	/* 0 = free, 1 = being filled, 2 = as it will stay; see above */
	pg_atomic_uint32 state;

	/* Written by who claimed it, read once state is 2. */
	uint32		build_id_bytes; /* 0 = it has none */
	unsigned char build_id[CPROBE_MODULE_BUILD_ID_BYTES];
	char		path[CPROBE_MODULE_PATH_BYTES]; /* the end of a longer one */
} CprobeSharedModule;

typedef struct CprobeSharedModules
{
	CprobeSharedModule modules[CPROBE_MODULES];
} CprobeSharedModules;

/*
 * The number of a module, added if it is new; 0 if the table is full.  Zeroed
 * memory is an empty table.
 */
extern uint32 cprobe_module_intern(CprobeSharedModules *table,
								   const char *path,
								   const unsigned char *build_id,
								   size_t build_id_bytes);

/* The module of a number, or NULL. What it points to does not change. */
extern const CprobeSharedModule *cprobe_module_get(CprobeSharedModules *table,
												   uint32 number);

#endif							/* CPROBE_MODULE_TABLE_H */
