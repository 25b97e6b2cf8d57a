/*-------------------------------------------------------------------------
 *
 * relocate_test.c
 *	  First instructions of functions: the server's own, and nasty ones.
 *
 * Separate: a program of its own, as every unit test.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "patch/relocate.h"
#include "tap.h"

#if defined(__x86_64__)

/* Where the nasty functions pretend to run, and where they are moved to. */
#define HERE UINT64CONST(0x555555554000)
#define THERE UINT64CONST(0x555545554000)

typedef struct Nasty
{
	const char *what;
	const char *reason;			/* part of it; NULL: it can be moved */
	size_t		byte_count;
	uint8		bytes[32];
} Nasty;

static const Nasty nasties[] = {
	{"an ordinary prologue", NULL, 7,
	{0x55, 0x48, 0x89, 0xE5, 0x41, 0x57, 0xC3}},
	{"endbr64, then an ordinary prologue", NULL, 11,
	{0xF3, 0x0F, 0x1E, 0xFA, 0x55, 0x48, 0x89, 0xE5, 0x41, 0x57, 0xC3}},
	{"a conditional jump at once", "branch", 7,
	{0x85, 0xFF, 0x74, 0x02, 0xFF, 0xC0, 0xC3}},
	{"a jump at once", "branch", 6,
	{0xE9, 0x00, 0x10, 0x00, 0x00, 0xC3}},
	{"a call at once", "branch", 7,
	{0x55, 0xE8, 0x00, 0x10, 0x00, 0x00, 0xC3}},
	{"an indirect jump at once", "branch", 7,
	{0xFF, 0x25, 0x00, 0x10, 0x00, 0x00, 0xC3}},
	{"a return at once", "branch", 8,
	{0x31, 0xC0, 0xC3, 0x90, 0x90, 0x90, 0x90, 0x90}},
	{"a breakpoint of a debugger", "branch", 8,
	{0xCC, 0x48, 0x89, 0xE5, 0x41, 0x57, 0x90, 0xC3}},
	{"a loop by count", "branch", 7,
	{0x55, 0xE2, 0xFD, 0x90, 0x90, 0x90, 0xC3}},
	{"a transaction that aborts to an address", "branch", 8,
	{0xC7, 0xF8, 0x00, 0x00, 0x00, 0x00, 0x90, 0xC3}},
	{"too few bytes", "shorter", 4,
	{0x55, 0x48, 0x89, 0xE5}},
	{"endbr64 and too few bytes", "shorter", 7,
	{0xF3, 0x0F, 0x1E, 0xFA, 0x55, 0x48, 0x90}},
	{"no bytes", "shorter", 0, {0}},
	{"an opcode that does not exist at the start", "not known", 7,
	{0x06, 0x55, 0x48, 0x89, 0xE5, 0x90, 0xC3}},
	{"an instruction that is cut off", "not known", 4,
	{0x55, 0x48, 0x8D, 0x35}},
	{"an opcode that does not exist later", "not known", 9,
	{0x55, 0x48, 0x89, 0xE5, 0x41, 0x57, 0x06, 0x90, 0xC3}},
	{"a short jump back to the second instruction", "jumps back", 9,
	{0x55, 0x48, 0x89, 0xE5, 0x41, 0x57, 0xEB, 0xF9, 0xC3}},
	{"a conditional near jump back to the third", "jumps back", 13,
	{0x55, 0x48, 0x89, 0xE5, 0x41, 0x57, 0x0F, 0x84, 0xF8, 0xFF, 0xFF, 0xFF, 0xC3}},
	{"a jump back to the first", "jumps back", 9,
	{0x55, 0x48, 0x89, 0xE5, 0x41, 0x57, 0xEB, 0xF8, 0xC3}},
	{"a jump back behind them", NULL, 9,
	{0x55, 0x48, 0x89, 0xE5, 0x41, 0x57, 0xEB, 0xFE, 0xC3}},
	{"a call of itself", NULL, 12,
	{0x55, 0x48, 0x89, 0xE5, 0x41, 0x57, 0xE8, 0xF5, 0xFF, 0xFF, 0xFF, 0xC3}},
	{"a look at its own first bytes", "jumps back", 14,
	{0x55, 0x48, 0x89, 0xE5, 0x41, 0x57, 0x48, 0x8D, 0x05, 0xF4, 0xFF, 0xFF, 0xFF, 0xC3}},
};

static void
test_nasty(const Nasty *nasty)
{
	CprobeFunction function = {nasty->bytes, nasty->byte_count, HERE};
	CprobeRelocated relocated;
	char		reason[CPROBE_RELOCATE_REASON_BYTES];
	bool		moved = cprobe_relocate(&function, THERE, &relocated, reason);

	if (nasty->reason == NULL)
		cprobe_tap_ok(moved && reason[0] == '\0' &&
					  relocated.code_bytes == relocated.displaced_bytes &&
					  memcmp(relocated.code,
							 nasty->bytes + relocated.skipped_bytes,
							 relocated.code_bytes) == 0,
					  "%s is moved unchanged (%s)", nasty->what, reason);
	else
		cprobe_tap_ok(!moved && strstr(reason, nasty->reason) != NULL,
					  "%s is refused: %s", nasty->what, reason);
}

/* push rbp; lea rsi,[rip+0x1000]; ret: moved by a distance. */
static void
test_rip_relative(void)
{
	static const uint8 bytes[] = {0x55, 0x48, 0x8D, 0x35, 0x00, 0x10, 0x00, 0x00, 0xC3};
	CprobeFunction function = {bytes, sizeof(bytes), HERE};
	CprobeRelocated relocated;
	char		reason[CPROBE_RELOCATE_REASON_BYTES];
	int32		displacement;

	cprobe_tap_ok(cprobe_relocate(&function, THERE, &relocated, reason),
				  "an address that depends on the place is refitted");
	memcpy(&displacement, relocated.code + 4, sizeof(displacement));
	cprobe_tap_equal((uint64) (THERE + 8 + (int64) displacement),
					 HERE + 8 + 0x1000, "and leads to where it led");
	cprobe_tap_ok(!cprobe_relocate(&function, HERE + (UINT64CONST(1) << 32),
								   &relocated, reason) &&
				  strstr(reason, "too far") != NULL,
				  "not if it is too far away: %s", reason);

	/* An edge: the largest displacement there is, one byte further. */
	cprobe_tap_ok(cprobe_relocate(&function, HERE - (0x7FFFFFFF - 0x1000),
								  &relocated, reason),
				  "the largest displacement fits");
	cprobe_tap_ok(!cprobe_relocate(&function, HERE - (0x80000000 - 0x1000),
								   &relocated, reason),
				  "one more does not");
}

static void
test_entered(void)
{
	uint8		bytes[64];
	CprobeFunction text = {bytes, sizeof(bytes), HERE};
	int32		distance = 18 - 45;

	memset(bytes, 0x90, sizeof(bytes));
	cprobe_tap_ok(!cprobe_relocate_is_entered(&text, HERE + 16, 5),
				  "a text without jumps enters nothing");
	memcpy(bytes + 41, &distance, sizeof(distance));
	bytes[40] = 0xE9;
	cprobe_tap_ok(cprobe_relocate_is_entered(&text, HERE + 16, 5),
				  "a jump from elsewhere into the displaced bytes is seen");
	cprobe_tap_ok(!cprobe_relocate_is_entered(&text, HERE + 18, 5),
				  "one to the first of them is not meant");
	bytes[39] = 0x0F;
	bytes[40] = 0x8C;
	cprobe_tap_ok(cprobe_relocate_is_entered(&text, HERE + 16, 5),
				  "a conditional one is seen");
}

/* The functions that are hooked. */
static const char *const hooked[] = {
	"LWLockAcquire", "LWLockConditionalAcquire", "LWLockAcquireOrWait",
	"LWLockRelease", "LWLockReleaseClearVar", "LWLockWaitForVar", "s_lock",
	"perform_spin_delay", "finish_spin_delay", "XLogInsertRecord",
	"XLogFlush", "pgstat_report_stat",
};

static const Elf64_Shdr *
section_of_type(const uint8 *file, uint32 type)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *) file;
	const Elf64_Shdr *sections = (const Elf64_Shdr *) (file + header->e_shoff);

	for (int i = 0; i < header->e_shnum; i++)
	{
		if (sections[i].sh_type == type)
			return &sections[i];
	}
	return NULL;
}

/* A function of a program file, as it runs with that load address. */
static bool
function_of_file(const uint8 *file, const char *name, CprobeFunction *function)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *) file;
	const Elf64_Shdr *sections = (const Elf64_Shdr *) (file + header->e_shoff);
	const Elf64_Shdr *table = section_of_type(file, SHT_DYNSYM);
	const Elf64_Sym *symbols = (const Elf64_Sym *) (file + table->sh_offset);
	const char *names = (const char *) file + sections[table->sh_link].sh_offset;

	for (size_t i = 0; i < table->sh_size / sizeof(Elf64_Sym); i++)
	{
		const Elf64_Shdr *section = &sections[symbols[i].st_shndx];

		if (strcmp(names + symbols[i].st_name, name) != 0 ||
			symbols[i].st_shndx == SHN_UNDEF)
			continue;
		function->bytes = file + section->sh_offset +
			(symbols[i].st_value - section->sh_addr);
		function->byte_count = symbols[i].st_size;
		function->address = HERE + symbols[i].st_value;
		return true;
	}
	return false;
}

static void
test_function_of_server(const uint8 *file, const char *name)
{
	CprobeFunction function;
	CprobeRelocated relocated;
	char		reason[CPROBE_RELOCATE_REASON_BYTES];

	if (!function_of_file(file, name, &function))
		cprobe_tap_ok(false, "the server has %s", name);
	else if (cprobe_relocate(&function, THERE, &relocated, reason))
		cprobe_tap_ok(relocated.displaced_bytes >=
					  relocated.kept_bytes + CPROBE_JUMP_BYTES &&
					  (relocated.skipped_bytes > 0 ||
					   relocated.kept_bytes > 0 ||
					   strstr(name, "_spin_delay") != NULL),
					  "%s can be moved: %zu bytes, %s", name,
					  relocated.displaced_bytes,
					  relocated.skipped_bytes + relocated.kept_bytes > 0 ?
					  "and a probe at its entry does no harm" :
					  "but no probe may be set there");
	else

		/*
		 * From 17 on it is a store and a jump to LWLockRelease: that is
		 * hooked, and so nothing is lost.
		 */
		cprobe_tap_ok(strcmp(name, "LWLockReleaseClearVar") == 0 &&
					  strstr(reason, "branch") != NULL,
					  "%s is refused: %s", name, reason);
}

static void
test_server(const char *path)
{
	int			fd = open(path, O_RDONLY);
	struct stat status;
	const uint8 *file = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &status) == 0)
		file = mmap(NULL, (size_t) status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
	{
		cprobe_tap_skip("there is no server in %s", path);
		return;
	}
	for (size_t i = 0; i < lengthof(hooked); i++)
		test_function_of_server(file, hooked[i]);
}

int
main(int argc, char **argv)
{
	for (size_t i = 0; i < lengthof(nasties); i++)
		test_nasty(&nasties[i]);
	test_rip_relative();
	test_entered();
	test_server(CPROBE_SERVER);
	for (int i = 1; i < argc; i++)
		test_server(argv[i]);
	return cprobe_tap_done();
}

#else							/* not x86-64 */

int
main(void)
{
	CprobeFunction function = {0};
	CprobeRelocated relocated;
	char		reason[CPROBE_RELOCATE_REASON_BYTES];

	cprobe_tap_ok(!cprobe_relocate(&function, 0, &relocated, reason) &&
				  strcmp(reason, "not available on this architecture") == 0,
				  "there are no detours on this architecture");
	return cprobe_tap_done();
}

#endif
