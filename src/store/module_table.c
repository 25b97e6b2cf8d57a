/*-------------------------------------------------------------------------
 *
 * module_table.c
 *	  Claiming and reading the entries of the table of modules.
 *
 * Separate: see module_table.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "store/module_table.h"

#define CPROBE_MODULE_FREE 0
#define CPROBE_MODULE_BUSY 1
#define CPROBE_MODULE_READY 2

/* The part of a path that fits: its end, which tells more. */
static const char *
cprobe_module_path_tail(const char *path)
{
	size_t		length = strlen(path);

	if (length < CPROBE_MODULE_PATH_BYTES)
		return path;
	return path + length - (CPROBE_MODULE_PATH_BYTES - 1);
}

static bool
cprobe_module_equal(const CprobeSharedModule *module, const char *path,
					const unsigned char *build_id, size_t build_id_bytes)
{
	pg_read_barrier();
	return module->build_id_bytes == build_id_bytes &&
		(build_id_bytes == 0 ||
		 memcmp(module->build_id, build_id, build_id_bytes) == 0) &&
		strcmp(module->path, path) == 0;
}

uint32
cprobe_module_intern(CprobeSharedModules *table, const char *path,
					 const unsigned char *build_id, size_t build_id_bytes)
{
	path = cprobe_module_path_tail(path);
	build_id_bytes = Min(build_id_bytes, CPROBE_MODULE_BUILD_ID_BYTES);
	for (uint32 i = 0; i < CPROBE_MODULES; i++)
	{
		CprobeSharedModule *module = &table->modules[i];
		uint32		state = pg_atomic_read_u32(&module->state);

		if (state == CPROBE_MODULE_READY &&
			cprobe_module_equal(module, path, build_id, build_id_bytes))
			return i + 1;
		if (state != CPROBE_MODULE_FREE ||
			!pg_atomic_compare_exchange_u32(&module->state, &state,
											CPROBE_MODULE_BUSY))
			continue;
		module->build_id_bytes = (uint32) build_id_bytes;
		if (build_id_bytes > 0)
			memcpy(module->build_id, build_id, build_id_bytes);
		strlcpy(module->path, path, CPROBE_MODULE_PATH_BYTES);
		pg_write_barrier();
		pg_atomic_write_u32(&module->state, CPROBE_MODULE_READY);
		return i + 1;
	}
	return 0;
}

const CprobeSharedModule *
cprobe_module_get(CprobeSharedModules *table, uint32 number)
{
	CprobeSharedModule *module;

	if (number < 1 || number > CPROBE_MODULES)
		return NULL;
	module = &table->modules[number - 1];
	if (pg_atomic_read_u32(&module->state) != CPROBE_MODULE_READY)
		return NULL;
	pg_read_barrier();
	return module;
}
