/*-------------------------------------------------------------------------
 *
 * text_map.c
 *	  The private table of executable segments.
 *
 * Separate: see text_map.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "machine/text_map.h"

/* Segments that fit; a server has about 40, one for each library. */
#define CPROBE_TEXT_MAX 256

/* Program headers are taken from here only: what every mapping has at least. */
#define CPROBE_HEADER_BYTES 4096

/* glibc 2.35; the unit tests do without to test what older ones get. */
#if defined(DLFO_EH_SEGMENT_TYPE) && !defined(CPROBE_TEST_OLD_LINKER)
#define CPROBE_CAN_ASK_LINKER
#endif

/* A loaded module, as the linker shows it. */
typedef struct CprobeModule
{
	uintptr_t	load_address;
	const char *name;
	const Elf64_Phdr *segments;
	size_t		segment_count;
} CprobeModule;

static CprobeModuleIntern cprobe_intern_module;
static const char *cprobe_program_path;
static uintptr_t cprobe_own_code;
static uintptr_t cprobe_libc_code;

/*
 * Segments in the order in which they were found, the main program's first.
 * They do not move, and are followed by pointer.
 */
static CprobeText cprobe_texts[CPROBE_TEXT_MAX];
static int	cprobe_text_count = 0;

/*
 * Their numbers by address.  A signal handler that finds these in the middle
 * of a change goes without them.
 */
static uint8 cprobe_text_order[CPROBE_TEXT_MAX];
static volatile bool cprobe_text_order_changing = false;

StaticAssertDecl(CPROBE_TEXT_MAX <= PG_UINT8_MAX + 1,
				 "a byte holds the number of a segment");

/*
 * Where addresses outside of the program mostly lie: in the module that looks,
 * whose hooks are called in between, and in the library that was looked up
 * last.
 */
static const CprobeText *cprobe_own_text = &cprobe_texts[0];
static const CprobeText *cprobe_last_text = &cprobe_texts[0];

CprobeText	cprobe_program_text;
bool		cprobe_text_map_is_stale = false;

/* Place in the order of the first segment behind the address. */
static inline int
cprobe_text_map_above(uintptr_t address)
{
	int			low = 0;
	int			high = cprobe_text_count;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (cprobe_texts[cprobe_text_order[middle]].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static inline const CprobeText *
cprobe_text_map_search(uintptr_t address)
{
	int			above = cprobe_text_map_above(address);
	const CprobeText *code;

	if (above == 0)
		return NULL;
	code = &cprobe_texts[cprobe_text_order[above - 1]];
	return cprobe_text_holds(code, address) ? code : NULL;
}

static void
cprobe_text_map_insert(const CprobeText *code)
{
	int			place = cprobe_text_map_above(code->start);
	int			number = cprobe_text_count;

	if (number == CPROBE_TEXT_MAX)
		return;
	cprobe_texts[number] = *code;
	memmove(&cprobe_text_order[place + 1], &cprobe_text_order[place],
			(size_t) (number - place));
	cprobe_text_order[place] = (uint8) number;
	cprobe_text_count++;
	if (code->kind == CPROBE_TEXT_OWN)
		cprobe_own_text = &cprobe_texts[number];
}

/* Does a readable segment hold all of that? */
static bool
cprobe_module_can_read(const CprobeModule *module, const Elf64_Phdr *part)
{
	for (size_t i = 0; i < module->segment_count; i++)
	{
		const Elf64_Phdr *segment = &module->segments[i];

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) != 0 &&
			part->p_vaddr >= segment->p_vaddr &&
			part->p_memsz <= segment->p_memsz &&
			part->p_vaddr - segment->p_vaddr <=
			segment->p_memsz - part->p_memsz)
			return true;
	}
	return false;
}

static CprobeModuleIdentity
cprobe_module_identify(const CprobeModule *module)
{
	CprobeModuleIdentity identity = {.path = module->name};

	if (identity.path == NULL || identity.path[0] == '\0')
		identity.path = cprobe_program_path;
	for (size_t i = 0; i < module->segment_count; i++)
	{
		const Elf64_Phdr *segment = &module->segments[i];

		if (segment->p_type == PT_NOTE &&
			cprobe_module_can_read(module, segment) &&
			cprobe_build_id_find((const char *) module->load_address +
								 segment->p_vaddr,
								 segment->p_memsz, &identity.build_id))
			break;
	}
	return identity;
}

static bool
cprobe_module_holds(const CprobeModule *module, uintptr_t address)
{
	for (size_t i = 0; i < module->segment_count; i++)
	{
		const Elf64_Phdr *segment = &module->segments[i];

		if (segment->p_type == PT_LOAD &&
			address - module->load_address - segment->p_vaddr <
			segment->p_memsz)
			return true;
	}
	return false;
}

/* What kind of code the module's is, and its number if it needs one. */
static CprobeText
cprobe_module_describe(const CprobeModule *module)
{
	CprobeText	code = {.load_address = module->load_address};
	CprobeModuleIdentity identity;

	if (cprobe_libc_code != 0 && cprobe_module_holds(module, cprobe_libc_code))
		code.kind = CPROBE_TEXT_LIBC;
	else if (cprobe_own_code != 0 &&
			 cprobe_module_holds(module, cprobe_own_code))
		code.kind = CPROBE_TEXT_OWN;
	else
	{
		identity = cprobe_module_identify(module);
		code.module = cprobe_intern_module(&identity);
		code.kind = code.module != 0 ? CPROBE_TEXT_MODULE :
			CPROBE_TEXT_NAMELESS;
	}
	return code;
}

/* Add the module's executable segments, unless it is there already. */
static void
cprobe_text_map_add(const CprobeModule *module)
{
	CprobeText	code;
	bool		known = false;

	for (size_t i = 0; i < module->segment_count; i++)
	{
		const Elf64_Phdr *segment = &module->segments[i];

		if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0 ||
			cprobe_text_map_search(module->load_address + segment->p_vaddr))
			continue;
		if (!known)
			code = cprobe_module_describe(module);
		known = true;
		code.start = module->load_address + segment->p_vaddr;
		code.end = code.start + segment->p_memsz;
		cprobe_text_map_insert(&code);
	}
}

/* Callback of dl_iterate_phdr. */
static int
cprobe_text_map_visit(struct dl_phdr_info *info, size_t size, void *data)
{
	CprobeModule module = {
		.load_address = info->dlpi_addr,
		.name = info->dlpi_name,
		.segments = info->dlpi_phdr,
		.segment_count = info->dlpi_phnum,
	};

	(void) size;
	(void) data;
	cprobe_text_map_add(&module);
	return 0;
}

static void
cprobe_text_map_scan(void)
{
	cprobe_text_order_changing = true;
	dl_iterate_phdr(cprobe_text_map_visit, NULL);
	cprobe_text_order_changing = false;
}

void
cprobe_text_map_init(CprobeModuleIntern intern, const char *program_path,
					 const void *own_code)
{
	cprobe_intern_module = intern;
	cprobe_program_path = program_path;
	cprobe_own_code = (uintptr_t) own_code;
	cprobe_libc_code = (uintptr_t) dlsym(RTLD_DEFAULT, "__libc_start_main");
	cprobe_text_count = 0;
	cprobe_own_text = &cprobe_texts[0];
	cprobe_last_text = &cprobe_texts[0];
	cprobe_text_map_scan();
	cprobe_program_text = cprobe_texts[0];
}

/*
 * Ask the linker about an address that is in no known segment.  It answers
 * without locks and in any context, from glibc 2.35 on.
 */
static void
cprobe_text_map_learn(uintptr_t address)
{
#ifdef CPROBE_CAN_ASK_LINKER
	struct dl_find_object object;
	const Elf64_Ehdr *header;
	CprobeModule module;

	if (_dl_find_object((void *) address, &object) != 0)
		return;
	header = object.dlfo_map_start;
	if ((char *) object.dlfo_map_end - (char *) object.dlfo_map_start <
		CPROBE_HEADER_BYTES ||
		memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
		header->e_phentsize != sizeof(Elf64_Phdr) ||
		header->e_phoff > CPROBE_HEADER_BYTES ||
		header->e_phnum > (CPROBE_HEADER_BYTES - header->e_phoff) /
		sizeof(Elf64_Phdr))
		return;
	module.load_address = object.dlfo_link_map->l_addr;
	module.name = object.dlfo_link_map->l_name;
	module.segments = (const Elf64_Phdr *) ((const char *) header +
											header->e_phoff);
	module.segment_count = header->e_phnum;
	cprobe_text_order_changing = true;
	cprobe_text_map_add(&module);
	cprobe_text_order_changing = false;
#else
	(void) address;
	cprobe_text_map_is_stale = true;
#endif
}

const CprobeText *
cprobe_text_map_find_library(uintptr_t address)
{
	const CprobeText *code;

	if (cprobe_text_holds(cprobe_own_text, address))
		return cprobe_own_text;
	if (cprobe_text_holds(cprobe_last_text, address))
		return cprobe_last_text;
	if (unlikely(cprobe_text_order_changing))
		return NULL;
	code = cprobe_text_map_search(address);
	if (unlikely(code == NULL))
	{
		cprobe_text_map_learn(address);
		code = cprobe_text_map_search(address);
	}
	if (code != NULL)
		cprobe_last_text = code;
	return code;
}

void
cprobe_text_map_refresh(void)
{
	cprobe_text_map_is_stale = false;
	cprobe_text_map_scan();
}
