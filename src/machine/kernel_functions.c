/*-------------------------------------------------------------------------
 *
 * kernel_functions.c
 *	  Reading /proc/kallsyms.
 *
 * Separate: see kernel_functions.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "machine/kernel_functions.h"

#define CPROBE_KERNEL_SYMBOLS "/proc/kallsyms"
#define CPROBE_KERNEL_LINE_BYTES 1024
#define CPROBE_KERNEL_FIRST_FUNCTIONS (128 * 1024)
#define CPROBE_KERNEL_MAX_FUNCTIONS (4 * 1024 * 1024)

static bool
cprobe_kernel_functions_grow(CprobeElfFunctions *functions, size_t *room)
{
	size_t		wanted = Max(2 * *room, CPROBE_KERNEL_FIRST_FUNCTIONS);
	CprobeElfFunction *more;

	if (functions->count < *room)
		return true;
	if (functions->count >= CPROBE_KERNEL_MAX_FUNCTIONS)
		return false;
	more = palloc_extended(wanted * sizeof(CprobeElfFunction),
						   MCXT_ALLOC_NO_OOM | MCXT_ALLOC_HUGE);
	if (more == NULL)
		return false;
	if (functions->count > 0)
	{
		memcpy(more, functions->functions,
			   functions->count * sizeof(CprobeElfFunction));
		pfree(functions->functions);
	}
	functions->functions = more;
	*room = wanted;
	return true;
}

/* A line: address type name [module]; false when no more fits. */
static bool
cprobe_kernel_functions_add_line(CprobeElfFunctions *functions, size_t *room,
								 const char *line)
{
	unsigned long long address;
	char		type;
	char		name[512];
	char	   *copy;
	CprobeElfFunction *function;

	if (sscanf(line, "%llx %c %511s", &address, &type, name) != 3 ||
		strchr("tTwW", type) == NULL || address == 0)
		return true;
	if (!cprobe_kernel_functions_grow(functions, room))
		return false;
	copy = palloc_extended(strlen(name) + 1, MCXT_ALLOC_NO_OOM);
	if (copy == NULL)
		return false;
	strcpy(copy, name);
	function = &functions->functions[functions->count++];
	function->start = address;
	function->name = copy;
	return true;
}

static int
cprobe_kernel_functions_compare(const void *left, const void *right)
{
	const CprobeElfFunction *a = left;
	const CprobeElfFunction *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* A function reaches to the next one: the file does not tell its size. */
static void
cprobe_kernel_functions_finish(CprobeElfFunctions *functions)
{
	size_t		kept = 0;

	qsort(functions->functions, functions->count, sizeof(CprobeElfFunction),
		  cprobe_kernel_functions_compare);
	for (size_t i = 0; i < functions->count; i++)
	{
		if (kept == 0 || functions->functions[i].start !=
			functions->functions[kept - 1].start)
			functions->functions[kept++] = functions->functions[i];
	}
	functions->count = kept;
	for (size_t i = 0; i < kept; i++)
		functions->functions[i].bytes = i + 1 < kept ?
			functions->functions[i + 1].start - functions->functions[i].start :
			4096;
}

bool
cprobe_kernel_functions_read(CprobeElfFunctions *functions)
{
	char		line[CPROBE_KERNEL_LINE_BYTES];
	size_t		room = 0;
	FILE	   *file = fopen(CPROBE_KERNEL_SYMBOLS, "re");

	memset(functions, 0, sizeof(*functions));
	if (file == NULL)
		return false;
	while (fgets(line, sizeof(line), file) != NULL)
	{
		if (!cprobe_kernel_functions_add_line(functions, &room, line))
			break;
	}
	fclose(file);
	if (functions->count == 0)
		return false;
	cprobe_kernel_functions_finish(functions);
	return true;
}
