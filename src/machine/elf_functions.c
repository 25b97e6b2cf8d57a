/*-------------------------------------------------------------------------
 *
 * elf_functions.c
 *	  Reading symbols and the unwinder's table of an ELF file.
 *
 * Separate: see elf_functions.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/elf_functions.h"

/* More of anything than this is not read: the file is broken, or not ours. */
#define CPROBE_ELF_MAX_SECTIONS 4096
#define CPROBE_ELF_MAX_BYTES ((uint64) 512 * 1024 * 1024)

/* The way linkers write the unwinder's table: 4-byte offsets from its start. */
#define CPROBE_UNWIND_VERSION 1
#define CPROBE_UNWIND_FRAME_POINTER 0x1B
#define CPROBE_UNWIND_COUNT 0x03
#define CPROBE_UNWIND_TABLE 0x3B

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define CPROBE_ELF_DATA ELFDATA2LSB
#else
#define CPROBE_ELF_DATA ELFDATA2MSB
#endif

typedef struct CprobeElfFile
{
	int			fd;
	uint64		bytes;
	Elf64_Ehdr	header;
	size_t		section_count;
	Elf64_Shdr *sections;
} CprobeElfFile;

/* Begin of .eh_frame_hdr. */
typedef struct CprobeUnwindHeader
{
	uint8		version;
	uint8		frame_pointer_encoding;
	uint8		count_encoding;
	uint8		table_encoding;
	int32		frame_pointer;
	uint32		count;
} CprobeUnwindHeader;

typedef struct CprobeUnwindEntry
{
	int32		start;			/* of the function, from the table's start */
	int32		description;
} CprobeUnwindEntry;

static void *
cprobe_elf_allocate(uint64 bytes)
{
	return palloc_extended(bytes, MCXT_ALLOC_NO_OOM | MCXT_ALLOC_HUGE);
}

static void
cprobe_elf_free(void *memory)
{
	if (memory != NULL)
		pfree(memory);
}

static bool
cprobe_elf_read_at(const CprobeElfFile *file, void *buffer, uint64 bytes,
				   uint64 offset)
{
	while (bytes > 0)
	{
		ssize_t		got = pread(file->fd, buffer, bytes, (off_t) offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		buffer = (char *) buffer + got;
		offset += (uint64) got;
		bytes -= (uint64) got;
	}
	return true;
}

/* A part of the file, with a zero byte behind it; NULL if it is not there. */
static char *
cprobe_elf_load(const CprobeElfFile *file, uint64 bytes, uint64 offset)
{
	char	   *part;

	if (bytes > CPROBE_ELF_MAX_BYTES || offset > file->bytes ||
		bytes > file->bytes - offset)
		return NULL;
	part = cprobe_elf_allocate(bytes + 1);
	if (part == NULL)
		return NULL;
	part[bytes] = '\0';
	if (cprobe_elf_read_at(file, part, bytes, offset))
		return part;
	cprobe_elf_free(part);
	return NULL;
}

/* The content of a section; NULL if the file does not hold it. */
static char *
cprobe_elf_load_section(const CprobeElfFile *file, const Elf64_Shdr *section)
{
	if (section->sh_type == SHT_NOBITS)
		return NULL;
	return cprobe_elf_load(file, section->sh_size, section->sh_offset);
}

static bool
cprobe_elf_header_is_sound(const Elf64_Ehdr *header)
{
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
		header->e_ident[EI_CLASS] == ELFCLASS64 &&
		header->e_ident[EI_DATA] == CPROBE_ELF_DATA &&
		header->e_shentsize == sizeof(Elf64_Shdr) &&
		header->e_shnum > 0 && header->e_shnum <= CPROBE_ELF_MAX_SECTIONS;
}

static void
cprobe_elf_close(CprobeElfFile *file)
{
	cprobe_elf_free(file->sections);
	if (file->fd >= 0)
		close(file->fd);
}

static bool
cprobe_elf_open(CprobeElfFile *file, const char *path)
{
	struct stat status;

	memset(file, 0, sizeof(*file));
	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0)
		return false;
	if (fstat(file->fd, &status) == 0 && S_ISREG(status.st_mode))
	{
		file->bytes = (uint64) status.st_size;
		if (cprobe_elf_read_at(file, &file->header, sizeof(file->header), 0) &&
			cprobe_elf_header_is_sound(&file->header))
		{
			file->section_count = file->header.e_shnum;
			file->sections = (Elf64_Shdr *)
				cprobe_elf_load(file,
								file->section_count * sizeof(Elf64_Shdr),
								file->header.e_shoff);
		}
	}
	if (file->sections != NULL)
		return true;
	cprobe_elf_close(file);
	return false;
}

static const Elf64_Shdr *
cprobe_elf_section_of_type(const CprobeElfFile *file, uint32 type)
{
	for (size_t i = 0; i < file->section_count; i++)
	{
		if (file->sections[i].sh_type == type)
			return &file->sections[i];
	}
	return NULL;
}

/* None if the file has none. */
static CprobeBuildId
cprobe_elf_id(const CprobeElfFile *file)
{
	CprobeBuildId found = {0};

	for (size_t i = 0; i < file->section_count && found.bytes == 0; i++)
	{
		char	   *notes;

		if (file->sections[i].sh_type != SHT_NOTE)
			continue;
		notes = cprobe_elf_load_section(file, &file->sections[i]);
		if (notes != NULL)
			(void) cprobe_build_id_find(notes, file->sections[i].sh_size,
										&found);
		cprobe_elf_free(notes);
	}
	return found;
}

static bool
cprobe_elf_has_id(const CprobeElfFile *file, const CprobeBuildId *id)
{
	CprobeBuildId found = cprobe_elf_id(file);

	return cprobe_build_id_equal(&found, id);
}

static bool
cprobe_elf_is_function(const Elf64_Sym *symbol)
{
	return (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC ||
			ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC) &&
		symbol->st_shndx != SHN_UNDEF && symbol->st_size > 0;
}

/* By address; of two names for one place the longer function's, by name. */
static int
cprobe_elf_compare_functions(const void *left, const void *right)
{
	const CprobeElfFunction *a = left;
	const CprobeElfFunction *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Keep the functions among the symbols, in order, one for each address. */
static void
cprobe_elf_sort_functions(CprobeElfFunctions *functions)
{
	size_t		kept = 0;

	qsort(functions->functions, functions->count, sizeof(CprobeElfFunction),
		  cprobe_elf_compare_functions);
	for (size_t i = 0; i < functions->count; i++)
	{
		if (kept > 0 && functions->functions[i].start ==
			functions->functions[kept - 1].start)
			continue;
		functions->functions[kept++] = functions->functions[i];
	}
	functions->count = kept;
}

static void
cprobe_elf_collect_functions(CprobeElfFunctions *functions,
							 const Elf64_Sym *symbols, size_t symbol_count,
							 const char *strings, uint64 string_bytes)
{
	for (size_t i = 0; i < symbol_count; i++)
	{
		CprobeElfFunction *function = &functions->functions[functions->count];

		if (!cprobe_elf_is_function(&symbols[i]) ||
			symbols[i].st_name >= string_bytes)
			continue;
		function->start = symbols[i].st_value;
		function->bytes = symbols[i].st_size;
		function->name = strings + symbols[i].st_name;
		functions->count++;
	}
	cprobe_elf_sort_functions(functions);
}

/* Names from the table of symbols of that type, if the file has one. */
static bool
cprobe_elf_read_symbols(const CprobeElfFile *file, uint32 type,
						CprobeElfFunctions *functions)
{
	const Elf64_Shdr *table = cprobe_elf_section_of_type(file, type);
	const Elf64_Shdr *names;
	Elf64_Sym  *symbols;
	char	   *strings;
	size_t		symbol_count;

	functions->count = 0;
	functions->functions = NULL;
	if (table == NULL || table->sh_link >= file->section_count)
		return false;
	names = &file->sections[table->sh_link];
	symbol_count = table->sh_size / sizeof(Elf64_Sym);
	symbols = (Elf64_Sym *) cprobe_elf_load_section(file, table);
	strings = cprobe_elf_load_section(file, names);
	if (symbols != NULL && strings != NULL)
		functions->functions = cprobe_elf_allocate(Max(symbol_count, 1) *
												   sizeof(CprobeElfFunction));
	if (functions->functions != NULL)
		cprobe_elf_collect_functions(functions, symbols, symbol_count,
									 strings, names->sh_size);
	cprobe_elf_free(symbols);
	return functions->count > 0;
}

/* Names from the debug file of that build id, if it is installed. */
static bool
cprobe_elf_read_debug_file(const CprobeBuildId *id,
						   CprobeElfFunctions *functions)
{
	char		path[sizeof(CPROBE_DEBUG_FILES) +
					 2 * CPROBE_BUILD_ID_MAX_BYTES + sizeof("//.debug")];
	int			length;
	CprobeElfFile file;
	bool		found;

	if (id->bytes < 2)
		return false;
	length = snprintf(path, sizeof(path), "%s/%02x/", CPROBE_DEBUG_FILES,
					  id->value[0]);
	for (size_t i = 1; i < id->bytes; i++)
		length += snprintf(path + length, sizeof(path) - (size_t) length,
						   "%02x", id->value[i]);
	snprintf(path + length, sizeof(path) - (size_t) length, ".debug");
	if (!cprobe_elf_open(&file, path))
		return false;
	found = cprobe_elf_has_id(&file, id) &&
		cprobe_elf_read_symbols(&file, SHT_SYMTAB, functions);
	cprobe_elf_close(&file);
	return found;
}

/* Is the section the unwinder's table?  Its begin tells. */
static bool
cprobe_elf_is_unwind_table(const CprobeElfFile *file,
						   const Elf64_Shdr *section,
						   CprobeUnwindHeader *header)
{
	return section->sh_type == SHT_PROGBITS &&
		(section->sh_flags & SHF_ALLOC) != 0 &&
		section->sh_size >= sizeof(*header) &&
		cprobe_elf_read_at(file, header, sizeof(*header),
						   section->sh_offset) &&
		header->version == CPROBE_UNWIND_VERSION &&
		header->frame_pointer_encoding == CPROBE_UNWIND_FRAME_POINTER &&
		header->count_encoding == CPROBE_UNWIND_COUNT &&
		header->table_encoding == CPROBE_UNWIND_TABLE &&
		header->count <= (section->sh_size - sizeof(*header)) /
		sizeof(CprobeUnwindEntry);
}

static void
cprobe_elf_read_starts(const CprobeElfFile *file,
					   CprobeElfFunctions *functions)
{
	for (size_t i = 0; i < file->section_count; i++)
	{
		const Elf64_Shdr *section = &file->sections[i];
		CprobeUnwindHeader header;
		CprobeUnwindEntry *entries;

		if (!cprobe_elf_is_unwind_table(file, section, &header))
			continue;
		entries = (CprobeUnwindEntry *)
			cprobe_elf_load(file, header.count * sizeof(CprobeUnwindEntry),
							section->sh_offset + sizeof(header));
		functions->starts = cprobe_elf_allocate(Max(header.count, 1) *
												sizeof(uint64));
		if (entries != NULL && functions->starts != NULL)
		{
			for (uint32 n = 0; n < header.count; n++)
				functions->starts[n] = section->sh_addr +
					(uint64) (int64) entries[n].start;
			functions->start_count = header.count;
		}
		cprobe_elf_free(entries);
		return;
	}
}

static void
cprobe_elf_read_code(const CprobeElfFile *file, CprobeElfFunctions *functions)
{
	size_t		count = file->header.e_phnum;
	Elf64_Phdr *parts;

	if (file->header.e_phentsize != sizeof(Elf64_Phdr))
		return;
	parts = (Elf64_Phdr *) cprobe_elf_load(file, count * sizeof(Elf64_Phdr),
										   file->header.e_phoff);
	if (parts == NULL)
		return;
	for (size_t i = 0; i < count; i++)
	{
		CprobeElfCode *code = &functions->code[functions->code_count];

		if (parts[i].p_type != PT_LOAD || (parts[i].p_flags & PF_X) == 0 ||
			functions->code_count == CPROBE_ELF_CODE_PARTS)
			continue;
		code->file_offset = parts[i].p_offset;
		code->bytes = parts[i].p_filesz;
		code->start = parts[i].p_vaddr;
		functions->code_count++;
	}
	cprobe_elf_free(parts);
}

bool
cprobe_elf_functions_read(const char *path, const CprobeBuildId *id,
						  CprobeElfFunctions *functions)
{
	CprobeElfFile file;
	CprobeBuildId found;
	bool		is_it;

	memset(functions, 0, sizeof(*functions));
	if (!cprobe_elf_open(&file, path))
		return false;
	found = cprobe_elf_id(&file);
	is_it = id == NULL || cprobe_build_id_equal(&found, id);
	if (is_it)
	{
		cprobe_elf_read_code(&file, functions);
		cprobe_elf_read_starts(&file, functions);
		if (!cprobe_elf_read_symbols(&file, SHT_SYMTAB, functions) &&
			!cprobe_elf_read_debug_file(&found, functions))
			(void) cprobe_elf_read_symbols(&file, SHT_DYNSYM, functions);
	}
	cprobe_elf_close(&file);
	return is_it;
}

uint64
cprobe_elf_address(const CprobeElfFunctions *functions, uint64 file_offset)
{
	for (size_t i = 0; i < functions->code_count; i++)
	{
		const CprobeElfCode *code = &functions->code[i];

		if (file_offset - code->file_offset < code->bytes)
			return code->start + (file_offset - code->file_offset);
	}
	return file_offset;
}

const CprobeElfFunction *
cprobe_elf_function_find(const CprobeElfFunctions *functions, uint64 address)
{
	const CprobeElfFunction *function;
	size_t		low = 0;
	size_t		high = functions->count;

	while (low < high)
	{
		size_t		middle = low + (high - low) / 2;

		if (functions->functions[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	function = &functions->functions[low - 1];
	return address - function->start < function->bytes ? function : NULL;
}

uint64
cprobe_elf_function_start(const CprobeElfFunctions *functions, uint64 address)
{
	size_t		low = 0;
	size_t		high = functions->start_count;

	while (low < high)
	{
		size_t		middle = low + (high - low) / 2;

		if (functions->starts[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? functions->starts[low - 1] : address;
}
