/*-------------------------------------------------------------------------
 *
 * profile_names.c
 *	  Naming the frames of a CPU profile.
 *
 * Separate: see profile_names.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "machine/elf_functions.h"
#include "machine/kernel_functions.h"
#include "probe/symbols.h"
#include "sql/profile_names.h"

/* The running program, even if its file has been replaced. */
#define CPROBE_PROFILE_PROGRAM "/proc/self/exe"

/* Code of a process that lies in no file: made by a compiler at run time. */
#define CPROBE_PROFILE_ANONYMOUS "[anon]"

#define CPROBE_PROFILE_FILES 1024

/* Numbers of what frames lie in; those of files follow. */
#define CPROBE_PROFILE_IN_NOTHING 0
#define CPROBE_PROFILE_IN_KERNEL 1
#define CPROBE_PROFILE_IN_FILE 2

#define CPROBE_PROFILE_FRAME(in, start) (((uint64) (in) << 48) | (start))
#define CPROBE_PROFILE_IN(frame) ((uint32) ((frame) >> 48))
#define CPROBE_PROFILE_START(frame) ((frame) & UINT64CONST(0xFFFFFFFFFFFF))

/* The upper bits of all addresses in the kernel. */
#define CPROBE_PROFILE_KERNEL_BITS UINT64CONST(0xFFFF000000000000)

typedef struct CprobeProfileFile
{
	char	   *path;
	bool		deleted;
	bool		is_read;
	CprobeElfFunctions functions;
} CprobeProfileFile;

struct CprobeProfileNames
{
	MemoryContext context;
	bool		kernel_is_named;
	CprobeElfFunctions kernel;
	uint64		main_frame;		/* 0 = not met yet */
	uint32		file_count;
	CprobeProfileFile files[CPROBE_PROFILE_FILES];
};

CprobeProfileNames *
cprobe_profile_names_begin(bool kernel)
{
	CprobeProfileNames *names = palloc0(sizeof(CprobeProfileNames));

	names->context = CurrentMemoryContext;
	if (kernel)
		names->kernel_is_named = cprobe_kernel_functions_read(&names->kernel);
	return names;
}

bool
cprobe_profile_names_kernel(const CprobeProfileNames *names)
{
	return names->kernel_is_named;
}

uint32
cprobe_profile_names_intern(void *context, const char *path, bool deleted)
{
	CprobeProfileNames *names = context;
	CprobeProfileFile *file;

	for (uint32 i = 0; i < names->file_count; i++)
	{
		file = &names->files[i];
		if (file->deleted == deleted && strcmp(file->path, path) == 0)
			return i;
	}
	/* One place is kept for all that find none. */
	if (names->file_count == CPROBE_PROFILE_FILES - 1)
		path = "[other]";
	else if (names->file_count == CPROBE_PROFILE_FILES)
		return CPROBE_PROFILE_FILES - 1;
	file = &names->files[names->file_count];
	file->path = MemoryContextStrdup(names->context, path);
	file->deleted = deleted;
	return names->file_count++;
}

static const CprobeElfFunctions *
cprobe_profile_names_file(CprobeProfileNames *names, uint32 number)
{
	CprobeProfileFile *file = &names->files[number];
	MemoryContext old_context;

	if (file->is_read)
		return &file->functions;
	file->is_read = true;
	old_context = MemoryContextSwitchTo(names->context);
	if (strcmp(file->path, my_exec_path) == 0)
		(void) cprobe_elf_functions_read(CPROBE_PROFILE_PROGRAM, NULL,
										 &file->functions);
	else if (is_absolute_path(file->path) && !file->deleted)
		(void) cprobe_elf_functions_read(file->path, NULL, &file->functions);
	MemoryContextSwitchTo(old_context);
	return &file->functions;
}

uint64
cprobe_profile_names_frame(CprobeProfileNames *names,
						   const CprobeCodeMapping *mapping, uint64 address)
{
	const CprobeElfFunctions *functions =
	cprobe_profile_names_file(names, mapping->file);
	const CprobeElfFunction *function;
	uint64		start;

	/* What is in no file is one frame. */
	if (!is_absolute_path(names->files[mapping->file].path))
		return CPROBE_PROFILE_FRAME(CPROBE_PROFILE_IN_FILE + mapping->file, 0);
	start = cprobe_elf_address(functions, address - mapping->start +
							   mapping->file_offset);
	function = cprobe_elf_function_find(functions, start);
	start = function != NULL ? function->start :
		cprobe_elf_function_start(functions, start);
	return CPROBE_PROFILE_FRAME(CPROBE_PROFILE_IN_FILE + mapping->file,
								CPROBE_PROFILE_START(start));
}

uint64
cprobe_profile_names_kernel_frame(CprobeProfileNames *names, uint64 address)
{
	const CprobeElfFunction *function =
	cprobe_elf_function_find(&names->kernel, address);

	if (function == NULL)
		return CPROBE_PROFILE_KERNEL;
	return CPROBE_PROFILE_FRAME(CPROBE_PROFILE_IN_KERNEL,
								CPROBE_PROFILE_START(function->start));
}

/* The named function of a frame, or NULL. */
static const CprobeElfFunction *
cprobe_profile_names_function(CprobeProfileNames *names, uint64 frame)
{
	uint32		in = CPROBE_PROFILE_IN(frame);
	uint64		start = CPROBE_PROFILE_START(frame);

	if (in == CPROBE_PROFILE_IN_NOTHING)
		return NULL;
	if (in == CPROBE_PROFILE_IN_KERNEL)
		return cprobe_elf_function_find(&names->kernel,
										start | CPROBE_PROFILE_KERNEL_BITS);
	return cprobe_elf_function_find(cprobe_profile_names_file(names, in -
															  CPROBE_PROFILE_IN_FILE),
									start);
}

bool
cprobe_profile_names_is_main(CprobeProfileNames *names, uint64 frame)
{
	const CprobeElfFunction *function;
	uint32		in = CPROBE_PROFILE_IN(frame);

	if (names->main_frame != 0)
		return frame == names->main_frame;
	if (in < CPROBE_PROFILE_IN_FILE ||
		strcmp(names->files[in - CPROBE_PROFILE_IN_FILE].path,
			   my_exec_path) != 0)
		return false;
	function = cprobe_profile_names_function(names, frame);
	if (function == NULL || strcmp(function->name, "main") != 0)
		return false;
	names->main_frame = frame;
	return true;
}

void
cprobe_profile_names_append(CprobeProfileNames *names, StringInfo text,
							uint64 frame)
{
	const CprobeElfFunction *function =
	cprobe_profile_names_function(names, frame);
	uint32		in = CPROBE_PROFILE_IN(frame);

	if (function != NULL)
		cprobe_symbols_append_name(text, function->name);
	else if (frame == CPROBE_PROFILE_KERNEL)
		appendStringInfoString(text, "[kernel]");
	else if (in >= CPROBE_PROFILE_IN_FILE)
	{
		const char *path = names->files[in - CPROBE_PROFILE_IN_FILE].path;
		const char *separator = last_dir_separator(path);

		if (path[0] == '\0')
			path = CPROBE_PROFILE_ANONYMOUS;
		cprobe_symbols_append_name(text, separator != NULL ? separator + 1 :
								   path);
		if (separator != NULL)
			appendStringInfo(text, "+0x%llx", (unsigned long long)
							 CPROBE_PROFILE_START(frame));
	}
	else
		appendStringInfoString(text, frame == CPROBE_PROFILE_CUT ?
							   "[truncated]" : "[unknown]");
	if (in == CPROBE_PROFILE_IN_KERNEL || frame == CPROBE_PROFILE_KERNEL)
		appendStringInfoString(text, "_[k]");
}
