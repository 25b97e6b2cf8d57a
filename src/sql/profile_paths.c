/*-------------------------------------------------------------------------
 *
 * profile_paths.c
 *	  Counting samples by call path.
 *
 * Separate: see profile_paths.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "sql/profile_paths.h"

#define CPROBE_PROFILE_FIRST_PATHS 1024

typedef struct CprobeProfileEntry
{
	const CprobeProfilePath *path;
	uint64		samples;
	char		status;			/* simplehash's */
} CprobeProfileEntry;

static size_t
cprobe_profile_path_bytes(const CprobeProfilePath *path)
{
	return offsetof(CprobeProfilePath, frames) + path->length * sizeof(uint64);
}

static uint32
cprobe_profile_path_hash(const CprobeProfilePath *path)
{
	return hash_bytes((const unsigned char *) path,
					  (int) cprobe_profile_path_bytes(path));
}

static bool
cprobe_profile_path_equal(const CprobeProfilePath *a,
						  const CprobeProfilePath *b)
{
	return a->length == b->length &&
		memcmp(a, b, cprobe_profile_path_bytes(a)) == 0;
}

#define SH_PREFIX cprobe_path_table
#define SH_ELEMENT_TYPE CprobeProfileEntry
#define SH_KEY_TYPE const CprobeProfilePath *
#define SH_KEY path
#define SH_HASH_KEY(table, key) cprobe_profile_path_hash(key)
#define SH_EQUAL(table, a, b) cprobe_profile_path_equal(a, b)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct CprobeProfilePaths
{
	MemoryContext context;
	cprobe_path_table_hash *table;
	size_t		bytes;			/* of all paths and their entries */
};

CprobeProfilePaths *
cprobe_profile_paths_begin(void)
{
	CprobeProfilePaths *paths = palloc0(sizeof(CprobeProfilePaths));

	paths->context = CurrentMemoryContext;
	paths->table = cprobe_path_table_create(CurrentMemoryContext,
											CPROBE_PROFILE_FIRST_PATHS, NULL);
	return paths;
}

bool
cprobe_profile_paths_add(CprobeProfilePaths *paths,
						 const CprobeProfilePath *path)
{
	CprobeProfileEntry *entry = cprobe_path_table_lookup(paths->table, path);
	size_t		bytes = cprobe_profile_path_bytes(path);
	CprobeProfilePath *copy;
	bool		found;

	if (entry == NULL)
	{
		if (paths->bytes + bytes + sizeof(*entry) > CPROBE_PROFILE_BYTES)
			return false;
		copy = MemoryContextAlloc(paths->context, bytes);
		memcpy(copy, path, bytes);
		entry = cprobe_path_table_insert(paths->table, copy, &found);
		entry->samples = 0;
		paths->bytes += bytes + sizeof(*entry);
	}
	entry->samples++;
	return true;
}

static int
cprobe_profile_count_compare(const void *left, const void *right)
{
	const CprobeProfileCount *a = left;
	const CprobeProfileCount *b = right;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return 0;
}

CprobeProfileCount *
cprobe_profile_paths_sorted(CprobeProfilePaths *paths, size_t *count)
{
	cprobe_path_table_iterator position;
	CprobeProfileEntry *entry;
	CprobeProfileCount *counts =
	MemoryContextAllocHuge(paths->context,
						   Max(paths->table->members, 1) *
						   sizeof(CprobeProfileCount));

	*count = 0;
	cprobe_path_table_start_iterate(paths->table, &position);
	while ((entry = cprobe_path_table_iterate(paths->table, &position)) != NULL)
	{
		counts[*count].path = entry->path;
		counts[*count].samples = entry->samples;
		(*count)++;
	}
	qsort(counts, *count, sizeof(CprobeProfileCount),
		  cprobe_profile_count_compare);
	return counts;
}
