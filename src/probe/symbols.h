/*-------------------------------------------------------------------------
 *
 * symbols.h
 *	  Names for captured frames.
 *
 * Separate from taking call paths: names are looked up when they are read,
 * by the process that reads.
 *
 * A frame is shown as the function that holds it; a function without a name,
 * which is a static one of a stripped module, as module+0x1234, where it
 * begins in the module's file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_SYMBOLS_H
#define CPROBE_SYMBOLS_H

#include "lib/stringinfo.h"

/* What has been read of modules' files; lives as long as its memory context. */
typedef struct CprobeSymbols CprobeSymbols;

/* Backends only. Allocates in the current memory context; may throw. */
extern CprobeSymbols *cprobe_symbols_begin(void);

/*
 * The path as text, root first, ";" between, palloc'd.  Characters that would
 * not survive in a flame graph's input are replaced in names.  The files of
 * the modules in question are read once for each CprobeSymbols: 5 ms for the
 * server's.
 */
extern char *cprobe_symbols_path(CprobeSymbols *symbols, const uint64 *frames,
								 int depth);

/*
 * Append a name as part of a path.  Names are taken from files: only plain
 * characters come through.
 */
extern void cprobe_symbols_append_name(StringInfo text, const char *name);

#endif							/* CPROBE_SYMBOLS_H */
