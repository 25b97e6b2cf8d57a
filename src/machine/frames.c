/*-------------------------------------------------------------------------
 *
 * frames.c
 *	  Walking frame pointers.
 *
 * Separate: see frames.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/auxv.h>

#include "machine/frames.h"

/*
 * Both machines store, where the frame pointer points, the caller's frame
 * pointer and above it the return address.  On aarch64 a return address may
 * carry a signature in the bits that user addresses do not use.
 */
#if defined(__x86_64__)
#define CPROBE_FRAMES_KNOWN 1
#define CPROBE_FRAME_ALIGNMENT 16
#define CPROBE_PLAIN_ADDRESS(address) (address)
#elif defined(__aarch64__)
#define CPROBE_FRAMES_KNOWN 1
#define CPROBE_FRAME_ALIGNMENT 8
#define CPROBE_PLAIN_ADDRESS(address) \
	((address) & (((uintptr_t) 1 << 48) - 1))
#else
#define CPROBE_FRAMES_KNOWN 0
#define CPROBE_FRAME_ALIGNMENT 1
#define CPROBE_PLAIN_ADDRESS(address) (address)
#endif

/*
 * The kernel maps nothing but the main thread's stack in so many bytes below
 * its top, whatever the stack's limit (MIN_GAP).  What lies there above a
 * frame in use is mapped, for a stack grows without holes.  So no other
 * thread's stack is taken for this one.
 */
#define CPROBE_STACK_BYTES ((uintptr_t) 128 * 1024 * 1024)

typedef struct CprobeFrameRecord
{
	uintptr_t	next;
	uintptr_t	return_address;
} CprobeFrameRecord;

/* An address on the main thread's stack above all frames; 0 = not known. */
static uintptr_t cprobe_stack_end = 0;

/*
 * The kernel puts random bytes on the stack above the program's arguments:
 * all C libraries tell where, and a process title does not overwrite them.
 */
void
cprobe_frames_init(CprobeModuleIntern intern, const char *program_path,
				   const void *own_code)
{
	cprobe_stack_end = CPROBE_FRAMES_KNOWN ? getauxval(AT_RANDOM) : 0;
	cprobe_text_map_init(intern, program_path, own_code);
}

static inline bool
cprobe_frames_on_stack(uintptr_t address)
{
	return cprobe_stack_end - address < CPROBE_STACK_BYTES &&
		cprobe_stack_end - address >= sizeof(CprobeFrameRecord);
}

/* Can there be a frame at an address, if all below "low" is used otherwise? */
static inline bool
cprobe_frames_plausible(uintptr_t address, uintptr_t low)
{
	return address >= low && address % CPROBE_FRAME_ALIGNMENT == 0 &&
		cprobe_frames_on_stack(address);
}

/*
 * Frames of the own module are passed over: what it put in between is not the
 * program's path.  The number of steps is bounded all the same.
 */
int
cprobe_frames_capture(const void *frame, uint64 *frames, int max_depth)
{
	uintptr_t	low = (uintptr_t) __builtin_frame_address(0);
	uintptr_t	current = (uintptr_t) frame;
	int			count = 0;

	if (!cprobe_frames_on_stack(low))
		return 0;
	for (int step = 0; step < 2 * max_depth + 2; step++)
	{
		const CprobeFrameRecord *record = (const CprobeFrameRecord *) current;
		const CprobeText *code;
		uintptr_t	address;

		if (!cprobe_frames_plausible(current, low))
			break;
		/* The call stands before the address that it returns to. */
		address = CPROBE_PLAIN_ADDRESS(record->return_address) - 1;
		code = cprobe_text_map_find(address);
		if (code == NULL || code->kind == CPROBE_TEXT_NAMELESS)
			break;
		if (code->kind == CPROBE_TEXT_LIBC)
			return count;
		if (code->kind == CPROBE_TEXT_MODULE)
		{
			if (count == max_depth)
			{
				frames[count++] = CPROBE_FRAME_CUT;
				return count;
			}
			frames[count++] = CPROBE_FRAME(code->module,
										   address - code->load_address);
		}
		low = current + sizeof(*record);
		current = record->next;
	}
	frames[count++] = CPROBE_FRAME_DOUBT;
	return count;
}
