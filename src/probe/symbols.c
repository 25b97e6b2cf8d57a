/*-------------------------------------------------------------------------
 *
 * symbols.c
 *	  Finding the names of captured frames.
 *
 * Separate: see symbols.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "machine/elf_functions.h"
#include "machine/frames.h"
#include "probe/region.h"
#include "probe/symbols.h"

/* The running program, even if its file has been replaced. */
#define CPROBE_PROGRAM_FILE "/proc/self/exe"

#define CPROBE_CUT_NAME "[truncated]"
#define CPROBE_DOUBT_NAME "[unknown]"

struct CprobeSymbols
{
	MemoryContext context;
	bool		is_read[CPROBE_MODULES];
	CprobeElfFunctions modules[CPROBE_MODULES]; /* by number - 1 */
};

CprobeSymbols *
cprobe_symbols_begin(void)
{
	CprobeSymbols *symbols = palloc0(sizeof(CprobeSymbols));

	symbols->context = CurrentMemoryContext;
	return symbols;
}

static const CprobeElfFunctions *
cprobe_symbols_module(CprobeSymbols *symbols, uint32 number,
					  const CprobeSharedModule *module)
{
	CprobeElfFunctions *functions = &symbols->modules[number - 1];
	MemoryContext old_context;
	CprobeBuildId id = {.bytes = module->build_id_bytes};

	if (symbols->is_read[number - 1])
		return functions;
	symbols->is_read[number - 1] = true;
	memcpy(id.value, module->build_id, id.bytes);
	old_context = MemoryContextSwitchTo(symbols->context);
	if (strcmp(module->path, my_exec_path) == 0)
		(void) cprobe_elf_functions_read(CPROBE_PROGRAM_FILE, &id, functions);
	else if (is_absolute_path(module->path))
		(void) cprobe_elf_functions_read(module->path, &id, functions);
	MemoryContextSwitchTo(old_context);
	return functions;
}

void
cprobe_symbols_append_name(StringInfo text, const char *name)
{
	for (; *name != '\0'; name++)
	{
		bool		plain = *name > ' ' && *name < 0x7F && *name != ';';

		appendStringInfoChar(text, plain ? *name : '_');
	}
}

static void
cprobe_symbols_append(CprobeSymbols *symbols, StringInfo text, uint64 frame)
{
	uint32		number = CPROBE_FRAME_MODULE(frame);
	uint64		address = CPROBE_FRAME_ADDRESS(frame);
	const CprobeSharedModule *module;
	const CprobeElfFunctions *functions;
	const CprobeElfFunction *function;

	module = cprobe_module_get(cprobe_region_modules(), number);
	if (module == NULL)
	{
		appendStringInfoString(text, frame == CPROBE_FRAME_CUT ?
							   CPROBE_CUT_NAME : CPROBE_DOUBT_NAME);
		return;
	}
	functions = cprobe_symbols_module(symbols, number, module);
	function = cprobe_elf_function_find(functions, address);
	if (function != NULL)
	{
		cprobe_symbols_append_name(text, function->name);
		return;
	}
	cprobe_symbols_append_name(text, last_dir_separator(module->path) != NULL ?
							   last_dir_separator(module->path) + 1 :
							   module->path);
	appendStringInfo(text, "+0x%llx", (unsigned long long)
					 cprobe_elf_function_start(functions, address));
}

char *
cprobe_symbols_path(CprobeSymbols *symbols, const uint64 *frames, int depth)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = depth - 1; i >= 0; i--)
	{
		cprobe_symbols_append(symbols, &text, frames[i]);
		if (i > 0)
			appendStringInfoChar(&text, ';');
	}
	return text.data;
}
