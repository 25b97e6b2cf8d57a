/*-------------------------------------------------------------------------
 *
 * relocate.c
 *	  Decoding and refitting the first instructions of a function.
 *
 * Separate: see relocate.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "patch/relocate.h"

static bool
cprobe_relocate_refuse(char reason[CPROBE_RELOCATE_REASON_BYTES],
					   const char *why)
{
	strlcpy(reason, why, CPROBE_RELOCATE_REASON_BYTES);
	return false;
}

#if defined(__x86_64__)

#include <Zydis/Zydis.h>

#define CPROBE_ENDBR64_BYTES 4

/* mod and rm of an operand that is addressed from the next instruction. */
#define CPROBE_MODRM_MOD_RIP 0
#define CPROBE_MODRM_RM_RIP 5

/* Bytes of a 32-bit displacement. */
#define CPROBE_DISPLACEMENT_BITS 32

static const uint8 cprobe_endbr64[CPROBE_ENDBR64_BYTES] = {0xF3, 0x0F, 0x1E, 0xFA};

static bool
cprobe_relocate_decode(const CprobeFunction *function, size_t offset,
					   ZydisDecodedInstruction * instruction)
{
	ZydisDecoder decoder;

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
									   ZYDIS_STACK_WIDTH_64)))
		return false;
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL,
													  function->bytes + offset,
													  function->byte_count - offset,
													  instruction));
}

/* Has it an immediate that is a distance?  Then *target is where it leads. */
static bool
cprobe_relocate_branch_target(const ZydisDecodedInstruction * instruction,
							  uint64 address, uint64 *target)
{
	for (size_t i = 0; i < lengthof(instruction->raw.imm); i++)
	{
		if (instruction->raw.imm[i].size == 0 ||
			!instruction->raw.imm[i].is_relative)
			continue;
		*target = address + instruction->length +
			(uint64) instruction->raw.imm[i].value.s;
		return true;
	}
	return false;
}

/* Is its memory operand addressed from the next instruction? */
static bool
cprobe_relocate_is_rip_relative(const ZydisDecodedInstruction * instruction)
{
	return (instruction->attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0 &&
		instruction->raw.modrm.mod == CPROBE_MODRM_MOD_RIP &&
		instruction->raw.modrm.rm == CPROBE_MODRM_RM_RIP;
}

/*
 * May an instruction be moved at all?  Not if it changes the flow of control,
 * and not if it would behave differently when a debugger steps over it.
 */
static bool
cprobe_relocate_is_movable(const ZydisDecodedInstruction * instruction)
{
	switch (instruction->meta.category)
	{
		case ZYDIS_CATEGORY_CALL:
		case ZYDIS_CATEGORY_COND_BR:
		case ZYDIS_CATEGORY_INTERRUPT:
		case ZYDIS_CATEGORY_RET:
		case ZYDIS_CATEGORY_SYSCALL:
		case ZYDIS_CATEGORY_SYSRET:
		case ZYDIS_CATEGORY_SYSTEM:
		case ZYDIS_CATEGORY_UNCOND_BR:
			return false;
		default:
			return true;
	}
}

/* Copy one instruction to its new place, displacement refitted. */
static bool
cprobe_relocate_copy(const CprobeFunction *function, size_t offset,
					 const ZydisDecodedInstruction * instruction,
					 uint64 new_address, CprobeRelocated *relocated,
					 char *reason)
{
	uint8	   *copy = relocated->code + relocated->code_bytes;
	int64		distance;
	int32		displacement;

	memcpy(copy, function->bytes + offset, instruction->length);
	relocated->code_bytes += instruction->length;
	if (!cprobe_relocate_is_rip_relative(instruction))
		return true;
	if (instruction->raw.disp.size != CPROBE_DISPLACEMENT_BITS)
		return cprobe_relocate_refuse(reason,
									  "an address in its first instructions is of a kind that is not known");
	distance = (int64) (function->address + offset - new_address) +
		instruction->raw.disp.value;
	displacement = (int32) distance;
	if (displacement != distance)
		return cprobe_relocate_refuse(reason,
									  "an address in its first instructions would be too far away");
	memcpy(copy + instruction->raw.disp.offset, &displacement,
		   sizeof(displacement));
	return true;
}

/* Take over whole instructions until there is room for a jump. */
static bool
cprobe_relocate_displace(const CprobeFunction *function, uint64 address,
						 CprobeRelocated *relocated, char *reason)
{
	while (relocated->displaced_bytes <
		   relocated->kept_bytes + CPROBE_JUMP_BYTES)
	{
		ZydisDecodedInstruction instruction;
		size_t		offset = relocated->skipped_bytes +
		relocated->displaced_bytes;
		uint64		target;

		if (offset >= function->byte_count)
			return cprobe_relocate_refuse(reason,
										  "it is shorter than the jump that would go there");
		if (!cprobe_relocate_decode(function, offset, &instruction))
			return cprobe_relocate_refuse(reason,
										  "its first instructions are not known");
		if (!cprobe_relocate_is_movable(&instruction) ||
			cprobe_relocate_branch_target(&instruction, 0, &target))
			return cprobe_relocate_refuse(reason,
										  "there is a branch, call or trap among its first instructions");
		if (!cprobe_relocate_copy(function, offset, &instruction,
								  address + relocated->code_bytes, relocated,
								  reason))
			return false;
		relocated->displaced_bytes += instruction.length;
	}
	return true;
}

/* Does an instruction of the rest lead to, or look into, what is displaced? */
static bool
cprobe_relocate_leads_back(const CprobeFunction *function, size_t offset,
						   const ZydisDecodedInstruction * instruction,
						   const CprobeRelocated *relocated)
{
	uint64		first = function->address + relocated->skipped_bytes;
	uint64		end = first + relocated->displaced_bytes;
	uint64		address = function->address + offset;
	uint64		target;

	if (cprobe_relocate_is_rip_relative(instruction))
		target = address + instruction->length +
			(uint64) instruction->raw.disp.value;
	else if (!cprobe_relocate_branch_target(instruction, address, &target))
		return false;

	/* To call itself is what any caller does; to jump there is a loop. */
	if (instruction->meta.category == ZYDIS_CATEGORY_CALL && target == first)
		return false;
	return target >= first && target < end;
}

/* Look at the rest of the function; nothing in it may need the first bytes. */
static bool
cprobe_relocate_check_rest(const CprobeFunction *function,
						   const CprobeRelocated *relocated, char *reason)
{
	size_t		offset = relocated->skipped_bytes + relocated->displaced_bytes;

	while (offset < function->byte_count)
	{
		ZydisDecodedInstruction instruction;

		if (!cprobe_relocate_decode(function, offset, &instruction))
			return cprobe_relocate_refuse(reason,
										  "it contains an instruction that is not known");
		if (cprobe_relocate_leads_back(function, offset, &instruction,
									   relocated))
			return cprobe_relocate_refuse(reason,
										  "it jumps back into its first instructions");
		offset += instruction.length;
	}
	return true;
}

bool
cprobe_relocate(const CprobeFunction *function, uint64 address,
				CprobeRelocated *relocated,
				char reason[CPROBE_RELOCATE_REASON_BYTES])
{
	memset(relocated, 0, sizeof(*relocated));
	reason[0] = '\0';
	if (function->byte_count >= CPROBE_ENDBR64_BYTES &&
		memcmp(function->bytes, cprobe_endbr64, CPROBE_ENDBR64_BYTES) == 0)
		relocated->skipped_bytes = CPROBE_ENDBR64_BYTES;
	else if (function->byte_count > 0 &&
			 function->bytes[0] == CPROBE_OPCODE_PUSH_FRAME)
		relocated->kept_bytes = 1;
	return cprobe_relocate_displace(function, address, relocated, reason) &&
		cprobe_relocate_check_rest(function, relocated, reason);
}

/* Bytes of a jump's distance, and the opcodes before it. */
#define CPROBE_DISTANCE_BYTES 4
#define CPROBE_OPCODE_CALL 0xE8
#define CPROBE_OPCODE_JUMP 0xE9
#define CPROBE_OPCODE_TWO_BYTES 0x0F
#define CPROBE_OPCODE_JUMP_IF_MASK 0xF0
#define CPROBE_OPCODE_JUMP_IF 0x80

bool
cprobe_relocate_is_entered(const CprobeFunction *text, uint64 first,
						   size_t byte_count)
{
	for (size_t i = 2; i + CPROBE_DISTANCE_BYTES <= text->byte_count; i++)
	{
		const uint8 *distance = text->bytes + i;
		int32		value;
		uint64		target;

		memcpy(&value, distance, sizeof(value));
		target = text->address + i + CPROBE_DISTANCE_BYTES + (uint64) (int64) value;

		if (target <= first || target >= first + byte_count)
			continue;
		if (distance[-1] == CPROBE_OPCODE_CALL ||
			distance[-1] == CPROBE_OPCODE_JUMP ||
			(distance[-2] == CPROBE_OPCODE_TWO_BYTES &&
			 (distance[-1] & CPROBE_OPCODE_JUMP_IF_MASK) == CPROBE_OPCODE_JUMP_IF))
			return true;
	}
	return false;
}

#else							/* not x86-64 */

bool
cprobe_relocate(const CprobeFunction *function, uint64 address,
				CprobeRelocated *relocated,
				char reason[CPROBE_RELOCATE_REASON_BYTES])
{
	(void) function;
	(void) address;
	memset(relocated, 0, sizeof(*relocated));
	return cprobe_relocate_refuse(reason, "not available on this architecture");
}

bool
cprobe_relocate_is_entered(const CprobeFunction *text, uint64 first,
						   size_t byte_count)
{
	(void) text;

	(void) first;
	(void) byte_count;
	return true;
}

#endif
