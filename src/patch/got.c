/*-------------------------------------------------------------------------
 *
 * got.c
 *	  Walking the main program's dynamic section and replacing GOT slots.
 *
 * Separate from the hooks themselves: see got.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <unistd.h>

#include "patch/got.h"
#include "patch/protect.h"

/* Relocation types of a slot that holds a function's address. */
#if defined(__x86_64__)
#define CPROBE_IS_SLOT_RELOCATION(type) \
	((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define CPROBE_IS_SLOT_RELOCATION(type) \
	((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#else
#define CPROBE_IS_SLOT_RELOCATION(type) false
#endif

/* The tables of the dynamic section that lead from a symbol to its slots. */
typedef struct CprobeElfTables
{
	uintptr_t	load_address;
	const		ElfW(Sym) * symbols;
	const char *strings;
	const		ElfW(Rela) * rela[2];	/* of the PLT, and all others */
	size_t		rela_count[2];
} CprobeElfTables;

typedef struct CprobeGotSearch
{
	const char *symbol;
	CprobeGotSlots *found;
} CprobeGotSearch;

/*
 * glibc stores absolute addresses in the dynamic section of a loaded program,
 * other linkers leave them relative to the load address.
 */
static uintptr_t
cprobe_elf_address(uintptr_t load_address, ElfW(Addr) value)
{
	return value < load_address ? load_address + value : value;
}

static void
cprobe_elf_read_dynamic(CprobeElfTables *tables, const ElfW(Dyn) * dynamic)
{
	uintptr_t	base = tables->load_address;

	for (; dynamic->d_tag != DT_NULL; dynamic++)
	{
		uintptr_t	address = cprobe_elf_address(base, dynamic->d_un.d_ptr);

		switch (dynamic->d_tag)
		{
			case DT_SYMTAB:
				tables->symbols = (const ElfW(Sym) *) address;
				break;
			case DT_STRTAB:
				tables->strings = (const char *) address;
				break;
			case DT_JMPREL:
				tables->rela[0] = (const ElfW(Rela) *) address;
				break;
			case DT_PLTRELSZ:
				tables->rela_count[0] =
					dynamic->d_un.d_val / sizeof(ElfW(Rela));
				break;
			case DT_RELA:
				tables->rela[1] = (const ElfW(Rela) *) address;
				break;
			case DT_RELASZ:
				tables->rela_count[1] =
					dynamic->d_un.d_val / sizeof(ElfW(Rela));
				break;
			default:
				break;
		}
	}
}

/* Segments: where the code is, and what the linker made read-only. */
static void
cprobe_elf_read_segments(const struct dl_phdr_info *info,
						 CprobeElfTables *tables, CprobeGotSlots *found)
{
	uintptr_t	page_mask = ~((uintptr_t) sysconf(_SC_PAGESIZE) - 1);

	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		const		ElfW(Phdr) * segment = &info->dlpi_phdr[i];
		uintptr_t	start = info->dlpi_addr + segment->p_vaddr;
		uintptr_t	end = start + segment->p_memsz;

		if (segment->p_type == PT_DYNAMIC)
			cprobe_elf_read_dynamic(tables, (const ElfW(Dyn) *) start);
		else if (segment->p_type == PT_GNU_RELRO)
		{
			/* As the linker does it: the last, partial page stays writable. */
			found->relro_start = start & page_mask;
			found->relro_end = end & page_mask;
		}
		else if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0)
		{
			found->text_start = start;
			found->text_end = end;
		}
	}
}

static void
cprobe_elf_collect_slots(const CprobeElfTables *tables, int which,
						 const CprobeGotSearch *search)
{
	for (size_t i = 0; i < tables->rela_count[which]; i++)
	{
		const		ElfW(Rela) * rela = &tables->rela[which][i];
		const		ElfW(Sym) * symbol;

		if (!CPROBE_IS_SLOT_RELOCATION(ELF64_R_TYPE(rela->r_info)))
			continue;
		symbol = &tables->symbols[ELF64_R_SYM(rela->r_info)];
		if (strcmp(tables->strings + symbol->st_name, search->symbol) != 0)
			continue;
		if (search->found->count < CPROBE_GOT_MAX_SLOTS)
			search->found->slots[search->found->count++] =
				(void **) (tables->load_address + rela->r_offset);
	}
}

/* Callback of dl_iterate_phdr: the first object is the main program. */
static int
cprobe_elf_visit_program(struct dl_phdr_info *info, size_t size, void *data)
{
	CprobeGotSearch *search = data;
	CprobeElfTables tables = {.load_address = info->dlpi_addr};

	(void) size;
	cprobe_elf_read_segments(info, &tables, search->found);
	if (tables.symbols == NULL || tables.strings == NULL)
		return 1;
	for (int which = 0; which < 2; which++)
	{
		if (tables.rela[which] != NULL)
			cprobe_elf_collect_slots(&tables, which, search);
	}
	return 1;
}

void
cprobe_got_find(const char *symbol, CprobeGotSlots *found)
{
	CprobeGotSearch search = {.symbol = symbol,.found = found};

	memset(found, 0, sizeof(*found));
	dl_iterate_phdr(cprobe_elf_visit_program, &search);
}

static bool
cprobe_got_is_in_program(const CprobeGotSlots *found, const void *address)
{
	return (uintptr_t) address >= found->text_start &&
		(uintptr_t) address < found->text_end;
}

/*
 * The function that a slot leads to, NULL if that cannot be told.  A slot that
 * points back into the program is a lazy-binding stub: calling it would let
 * the linker overwrite our replacement, so the symbol is resolved here.  In a
 * program at a fixed address that takes the function's address, the whole
 * process knows the function by such a stub; it would lead to the replacement,
 * which would call it again.
 */
static void *
cprobe_got_resolve(const char *symbol, const CprobeGotSlots *found)
{
	void	   *target = *found->slots[0];

	if (target == NULL || cprobe_got_is_in_program(found, target))
		target = dlsym(RTLD_DEFAULT, symbol);
	return cprobe_got_is_in_program(found, target) ? NULL : target;
}

static bool
cprobe_got_is_relro(const CprobeGotSlots *found, void **slot)
{
	return (uintptr_t) slot >= found->relro_start &&
		(uintptr_t) slot < found->relro_end;
}

static bool
cprobe_got_store(const CprobeGotSlots *found, void **slot, void *value)
{
	return cprobe_protect_store(slot, value, cprobe_got_is_relro(found, slot));
}

CprobeGotStatus
cprobe_got_replace(const char *symbol, void *replacement, void **original,
				   char reason[CPROBE_GOT_REASON_BYTES])
{
	CprobeGotSlots found;

	reason[0] = '\0';
	cprobe_got_find(symbol, &found);
	if (found.count == 0)
	{
		strlcpy(reason, "this server does not call it: no slot in its global offset table",
				CPROBE_GOT_REASON_BYTES);
		return CPROBE_GOT_MISSING;
	}
	*original = cprobe_got_resolve(symbol, &found);
	if (*original == NULL)
	{
		strlcpy(reason, "the symbol could not be resolved",
				CPROBE_GOT_REASON_BYTES);
		return CPROBE_GOT_REFUSED;
	}
	for (int i = 0; i < found.count; i++)
	{
		int			saved_errno;

		if (cprobe_got_store(&found, found.slots[i], replacement))
			continue;
		saved_errno = errno;
		/* All or nothing; a slot that cannot be put back still works. */
		while (--i >= 0)
			(void) cprobe_got_store(&found, found.slots[i], *original);
		snprintf(reason, CPROBE_GOT_REASON_BYTES,
				 "the table could not be changed: mprotect: %s",
				 strerror(saved_errno));
		return CPROBE_GOT_REFUSED;
	}
	return CPROBE_GOT_REPLACED;
}
