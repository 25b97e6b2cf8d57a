/*-------------------------------------------------------------------------
 *
 * detour.c
 *	  Finding functions, building trampolines, and patching the text.
 *
 * Separate: see detour.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "patch/detour.h"
#include "patch/got.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0
#endif

/* Distance between the addresses that are tried for the trampolines. */
#define CPROBE_TRAMPOLINE_STEP_BYTES (UINT64CONST(1) << 20)

/*
 * How far they may lie from either end of the text: what the text itself
 * refers to lies near it, and displacements reach 2 GB.
 */
#define CPROBE_TRAMPOLINE_REACH_BYTES (UINT64CONST(1) << 30)

/*
 * One function's part: the way to its replacement, the way back, and the
 * caller's code.  Where a push stays, the byte before the first or the last
 * takes it back, and the jump leads there.
 */
#define CPROBE_TRAMPOLINE_BYTES 320
#define CPROBE_WAY_TO_OFFSET 16
#define CPROBE_WAY_BACK_OFFSET 32
#define CPROBE_NEAR_OFFSET (CPROBE_WAY_TO_OFFSET + CPROBE_NEAR_GIVE_UP_BYTES)

#define CPROBE_OPCODE_JUMP 0xE9
#define CPROBE_JUMP_DISTANCE_OFFSET 1

/* jmp *0(%rip), and the address behind it. */
static const uint8 cprobe_jump_through[] = {0xFF, 0x25, 0x00, 0x00, 0x00, 0x00};

/* endbr64; four bytes of nothing on processors that do not know it. */
static const uint8 cprobe_landing[] = {0xF3, 0x0F, 0x1E, 0xFA};

StaticAssertDecl(CPROBE_WAY_TO_OFFSET + sizeof(cprobe_jump_through) +
				 sizeof(void *) <= CPROBE_WAY_BACK_OFFSET,
				 "the way to the replacement fits");
StaticAssertDecl(CPROBE_WAY_BACK_OFFSET + sizeof(cprobe_landing) +
				 CPROBE_RELOCATED_MAX_BYTES + CPROBE_JUMP_BYTES <
				 CPROBE_NEAR_OFFSET,
				 "the way back fits");
StaticAssertDecl(CPROBE_NEAR_OFFSET + CPROBE_NEAR_MAX_BYTES +
				 CPROBE_RELOCATED_MAX_BYTES + CPROBE_JUMP_BYTES <=
				 CPROBE_TRAMPOLINE_BYTES,
				 "the code of a caller fits");

/* movabs $immediate, %r11 */
static const uint8 cprobe_load_data[] = {0x49, 0xBB};

static void
cprobe_detour_refuse(CprobeDetour *detour, const char *why)
{
	detour->status = CPROBE_DETOUR_REFUSED;
	if (why != detour->reason)
		strlcpy(detour->reason, why, CPROBE_DETOUR_REASON_BYTES);
}

/* The program's text. */
static CprobeFunction
cprobe_detour_text(void)
{
	CprobeGotSlots program;
	CprobeFunction text;

	cprobe_got_find("", &program);
	text.		bytes = (const uint8 *) program.text_start;
	text.		byte_count = program.text_end - program.text_start;
	text.		address = program.text_start;
	return text;
}

/* Find a function of the program, and its size; false and a status if not. */
static bool
cprobe_detour_find(CprobeDetour *detour, const CprobeFunction *text,
				   CprobeFunction *function)
{
	void	   *address = dlsym(RTLD_DEFAULT, detour->symbol);
	Dl_info		info;
	const		ElfW(Sym) * symbol = NULL;

	detour->reason[0] = '\0';
	if (address == NULL ||
		(uint64) address < text->address ||
		(uint64) address >= text->address + text->byte_count)
	{
		detour->status = CPROBE_DETOUR_MISSING;
		strlcpy(detour->reason, "the server does not export it",
				CPROBE_DETOUR_REASON_BYTES);
		return false;
	}
	if (dladdr1(address, &info, (void **) &symbol, RTLD_DL_SYMENT) == 0 ||
		symbol == NULL || info.dli_saddr != address ||
		symbol->st_size > text->address + text->byte_count - (uint64) address)
	{
		cprobe_detour_refuse(detour, "its size is not known");
		return false;
	}
	function->bytes = address;
	function->byte_count = symbol->st_size;
	function->address = (uint64) address;
	return true;
}

/* Memory at exactly that address; NULL if it is not free. */
static uint8 *
cprobe_detour_map_at(uint64 address, size_t bytes)
{
	uint8	   *memory = mmap((void *) address, bytes, PROT_READ | PROT_WRITE,
							  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
							  -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	if (memory == (uint8 *) address)
		return memory;

	/* A kernel before 4.17 takes the address for a mere wish. */
	munmap(memory, bytes);
	return NULL;
}

/*
 * Memory within reach of the text, writable, not executable; NULL if there is
 * none.  Below the program first: above it the heap grows.
 */
static uint8 *
cprobe_detour_map(const CprobeFunction *text, size_t bytes)
{
	uint64		page_mask = ~((uint64) sysconf(_SC_PAGESIZE) - 1);
	uint64		end = text->address + text->byte_count;

	for (uint64 distance = CPROBE_TRAMPOLINE_STEP_BYTES;
		 distance < CPROBE_TRAMPOLINE_REACH_BYTES;
		 distance += CPROBE_TRAMPOLINE_STEP_BYTES)
	{
		uint8	   *memory = NULL;

		if (text->address > distance)
			memory = cprobe_detour_map_at((text->address - distance) &page_mask,
										  bytes);
		if (memory == NULL)
			memory = cprobe_detour_map_at((end + distance) & page_mask, bytes);
		if (memory != NULL)
			return memory;
	}
	return NULL;
}

/* Write a jump that stands at a place and leads to a target. */
static bool
cprobe_detour_write_jump(uint8 *jump, const uint8 *place, const uint8 *target)
{
	int64		distance = target - (place + CPROBE_JUMP_BYTES);
	int32		stored = (int32) distance;

	jump[0] = CPROBE_OPCODE_JUMP;
	memcpy(jump + CPROBE_JUMP_DISTANCE_OFFSET, &stored, sizeof(stored));
	return stored == distance;
}

/*
 * Write the displaced instructions for a place, and the jump to the rest of
 * the function; false if they have to be refused.
 */
static bool
cprobe_detour_write_way_back(CprobeDetour *detour,
							 const CprobeFunction *function, uint8 *code)
{
	CprobeRelocated *relocated = &detour->relocated;

	if (!cprobe_relocate(function, (uint64) code, relocated, detour->reason))
		return false;
	memcpy(code, relocated->code, relocated->code_bytes);
	if (cprobe_detour_write_jump(code + relocated->code_bytes,
								 code + relocated->code_bytes,
								 function->bytes + relocated->skipped_bytes +
								 relocated->displaced_bytes))
		return true;
	strlcpy(detour->reason, "there is no free memory near it",
			CPROBE_DETOUR_REASON_BYTES);
	return false;
}

/* The caller's own code, with the displaced instructions behind it. */
static bool
cprobe_detour_write_near(CprobeDetour *detour, const CprobeFunction *function,
						 uint8 *near)
{
	const CprobeNearCode *code = &detour->near_code;
	size_t		bytes = (size_t) (code->end - code->start);

	if (bytes > CPROBE_NEAR_MAX_BYTES ||
		bytes < sizeof(cprobe_load_data) + sizeof(code->data) ||
		memcmp(code->start, cprobe_load_data, sizeof(cprobe_load_data)) != 0)
	{
		strlcpy(detour->reason, "the code for it is not as it should be",
				CPROBE_DETOUR_REASON_BYTES);
		return false;
	}
	memcpy(near, code->start, bytes);
	memcpy(near + sizeof(cprobe_load_data), &code->data, sizeof(code->data));
	return cprobe_detour_write_way_back(detour, function, near + bytes);
}

/* Fill one function's trampoline; false if it has to be refused. */
static bool
cprobe_detour_build(CprobeDetour *detour, const CprobeFunction *function,
					const CprobeFunction *text, uint8 *trampoline)
{
	uint8	   *way_to = trampoline + CPROBE_WAY_TO_OFFSET;
	uint8	   *back = trampoline + CPROBE_WAY_BACK_OFFSET;
	uint8	   *entry;

	way_to[-1] = CPROBE_OPCODE_POP_FRAME;
	trampoline[CPROBE_NEAR_OFFSET - 1] = CPROBE_OPCODE_POP_FRAME;
	memcpy(way_to, cprobe_jump_through, sizeof(cprobe_jump_through));
	memcpy(way_to + sizeof(cprobe_jump_through), &detour->replacement,
		   sizeof(detour->replacement));
	memcpy(back, cprobe_landing, sizeof(cprobe_landing));
	if (!cprobe_detour_write_way_back(detour, function,
									  back + sizeof(cprobe_landing)))
		return false;
	if (detour->near_code.start != NULL &&
		!cprobe_detour_write_near(detour, function,
								  trampoline + CPROBE_NEAR_OFFSET))
		return false;
	entry = (uint8 *) function->bytes + detour->relocated.skipped_bytes;
	if (cprobe_relocate_is_entered(text, (uint64) entry,
								   detour->relocated.displaced_bytes))
	{
		strlcpy(detour->reason, "other code jumps into its first instructions",
				CPROBE_DETOUR_REASON_BYTES);
		return false;
	}
	detour->place = entry + detour->relocated.kept_bytes;
	return true;
}

/* Store five bytes into the text, which is opened for that moment. */
static bool
cprobe_detour_store(uint8 *place, const uint8 bytes[CPROBE_JUMP_BYTES])
{
	uintptr_t	page_bytes = (uintptr_t) sysconf(_SC_PAGESIZE);
	uintptr_t	start = (uintptr_t) place & ~(page_bytes - 1);
	size_t		length = (uintptr_t) place + CPROBE_JUMP_BYTES - start;

	if (mprotect((void *) start, length,
				 PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		return false;
	memcpy(place, bytes, CPROBE_JUMP_BYTES);
	return mprotect((void *) start, length, PROT_READ | PROT_EXEC) == 0;
}

/* Let the function begin with a jump; if the page cannot be closed, undo. */
static void
cprobe_detour_patch(CprobeDetour *detour, uint8 *trampoline)
{
	uint8		jump[CPROBE_JUMP_BYTES];
	const uint8 *target = trampoline + (detour->near_code.start != NULL ?
										CPROBE_NEAR_OFFSET :
										CPROBE_WAY_TO_OFFSET) -
	detour->relocated.kept_bytes;

	if (!cprobe_detour_write_jump(jump, detour->place, target))
	{
		cprobe_detour_refuse(detour, "there is no free memory near it");
		return;
	}
	memcpy(detour->saved, detour->place, CPROBE_JUMP_BYTES);

	/* First the way back: the function may be called at once. */
	*detour->original = trampoline + CPROBE_WAY_BACK_OFFSET;
	if (cprobe_detour_store(detour->place, jump))
	{
		detour->status = CPROBE_DETOUR_ACTIVE;
		return;
	}
	snprintf(detour->reason, CPROBE_DETOUR_REASON_BYTES,
			 "the text could not be changed: mprotect: %s", strerror(errno));
	cprobe_detour_refuse(detour, detour->reason);

	/* Open but not closed again: at least the bytes are the old ones. */
	if (memcmp(detour->place, detour->saved, CPROBE_JUMP_BYTES) != 0)
		(void) cprobe_detour_store(detour->place, detour->saved);
}

static void
cprobe_detour_refuse_all(CprobeDetour *detours, int count, const char *why)
{
	for (int i = 0; i < count; i++)
	{
		if (detours[i].status != CPROBE_DETOUR_MISSING)
			cprobe_detour_refuse(&detours[i], why);
	}
}

/* Fill all trampolines, in memory that is not executable yet. */
static void
cprobe_detours_build(CprobeDetour *detours, int count,
					 const CprobeFunction *text, uint8 *memory)
{
	for (int i = 0; i < count; i++)
	{
		CprobeFunction function;

		detours[i].place = NULL;
		if (cprobe_detour_find(&detours[i], text, &function) &&
			!cprobe_detour_build(&detours[i], &function, text,
								 memory + i * CPROBE_TRAMPOLINE_BYTES))
			cprobe_detour_refuse(&detours[i], detours[i].reason);
	}
}

void
cprobe_detours_install(CprobeDetour *detours, int count)
{
	CprobeFunction text = cprobe_detour_text();
	size_t		bytes = (size_t) count * CPROBE_TRAMPOLINE_BYTES;
	uint8	   *memory = cprobe_detour_map(&text, bytes);

	if (memory == NULL)
	{
		cprobe_detour_refuse_all(detours, count,
								 "there is no free memory near the program");
		return;
	}
	cprobe_detours_build(detours, count, &text, memory);
	if (mprotect(memory, bytes, PROT_READ | PROT_EXEC) != 0)
	{
		char		reason[CPROBE_DETOUR_REASON_BYTES];

		snprintf(reason, sizeof(reason),
				 "memory could not be made executable: mprotect: %s",
				 strerror(errno));
		munmap(memory, bytes);
		cprobe_detour_refuse_all(detours, count, reason);
		return;
	}
	for (int i = 0; i < count; i++)
	{
		if (detours[i].place != NULL)
			cprobe_detour_patch(&detours[i],
								memory + i * CPROBE_TRAMPOLINE_BYTES);
	}
}

bool
cprobe_detours_remove(CprobeDetour *detours, int count)
{
	bool		all = true;

	for (int i = 0; i < count; i++)
	{
		CprobeDetour *detour = &detours[i];

		if (detour->status != CPROBE_DETOUR_ACTIVE)
			continue;
		if (!cprobe_detour_store(detour->place, detour->saved) &&
			memcmp(detour->place, detour->saved, CPROBE_JUMP_BYTES) != 0)
		{
			all = false;
			continue;
		}
		detour->status = CPROBE_DETOUR_NONE;
	}
	return all;
}
