/*-------------------------------------------------------------------------
 *
 * process_code.c
 *	  Reading the executable mappings of a process.
 *
 * Separate: see process_code.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "machine/process_code.h"

/* More mappings of code than this are not read. */
#define CPROBE_CODE_MAX_MAPPINGS 4096
#define CPROBE_CODE_FIRST_MAPPINGS 64

#define CPROBE_CODE_LINE_BYTES (MAXPGPATH * 4 + 128)
#define CPROBE_CODE_DELETED " (deleted)"

/* Room for one more; false if there is none. */
static bool
cprobe_process_code_grow(CprobeProcessCode *code)
{
	size_t		room = CPROBE_CODE_FIRST_MAPPINGS;
	CprobeCodeMapping *more;

	/* Arrays have sizes of 64, 128, 256... */
	if (code->count > 0 && (code->count < room ||
							(code->count & (code->count - 1)) != 0))
		return true;
	if (code->count >= CPROBE_CODE_MAX_MAPPINGS)
		return false;
	room = Max(room, 2 * code->count);
	more = palloc_extended(room * sizeof(CprobeCodeMapping),
						   MCXT_ALLOC_NO_OOM);
	if (more == NULL)
		return false;
	if (code->count > 0)
	{
		memcpy(more, code->mappings, code->count * sizeof(CprobeCodeMapping));
		pfree(code->mappings);
	}
	code->mappings = more;
	return true;
}

/* A line: start-end permissions offset device inode path */
static void
cprobe_process_code_add_line(CprobeProcessCode *code, char *line,
							 CprobeCodeIntern intern, void *context)
{
	unsigned long long start;
	unsigned long long end;
	unsigned long long offset;
	char		permissions[8];
	char	   *path;
	int			length = 0;
	size_t		bytes;
	bool		deleted = false;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %n", &start, &end,
			   permissions, &offset, &length) < 4 || length == 0)
		return;
	if (strchr(permissions, 'x') == NULL || !cprobe_process_code_grow(code))
		return;
	path = line + length;
	bytes = strlen(path);
	if (bytes > strlen(CPROBE_CODE_DELETED) &&
		strcmp(path + bytes - strlen(CPROBE_CODE_DELETED),
			   CPROBE_CODE_DELETED) == 0)
	{
		path[bytes - strlen(CPROBE_CODE_DELETED)] = '\0';
		deleted = true;
	}
	code->mappings[code->count].start = start;
	code->mappings[code->count].end = end;
	code->mappings[code->count].file_offset = offset;
	code->mappings[code->count].file = intern(context, path, deleted);
	code->count++;
}

void
cprobe_process_code_read(int pid, CprobeCodeIntern intern, void *context,
						 CprobeProcessCode *code)
{
	char		path[64];
	char		line[CPROBE_CODE_LINE_BYTES];
	FILE	   *file;

	memset(code, 0, sizeof(*code));
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (file == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL)
		cprobe_process_code_add_line(code, line, intern, context);
	fclose(file);
}

const CprobeCodeMapping *
cprobe_process_code_find(const CprobeProcessCode *code, uint64 address)
{
	size_t		low = 0;
	size_t		high = code->count;

	while (low < high)
	{
		size_t		middle = low + (high - low) / 2;

		if (code->mappings[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == code->count || address < code->mappings[low].start)
		return NULL;
	return &code->mappings[low];
}

void
cprobe_process_code_free(CprobeProcessCode *code)
{
	if (code->mappings != NULL)
		pfree(code->mappings);
	memset(code, 0, sizeof(*code));
}
