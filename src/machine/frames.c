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

/* Looks at whatever lies on the stack, which a sanitizer would object to. */
#define CPROBE_READS_STACK __attribute__((no_sanitize_address))

/* Steps to main that the search for it takes at most. */
#define CPROBE_FRAMES_TO_MAIN 100

typedef struct CprobeFrameRecord
{
	uintptr_t	next;
	uintptr_t	return_address;
} CprobeFrameRecord;

/* An address on the main thread's stack above all frames; 0 = not known. */
static uintptr_t cprobe_stack_end = 0;

/* The call of main, where every path begins; 0 = not known. */
static uintptr_t cprobe_main_call = 0;

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
 * Take the frame whose record is at *frame: the call that it returns to, or 0
 * if it is no frame.  Move on to the caller's.
 */
CPROBE_READS_STACK
static inline uintptr_t
cprobe_frames_step(uintptr_t *frame, uintptr_t low)
{
	const CprobeFrameRecord *record = (const CprobeFrameRecord *) *frame;

	if (!cprobe_frames_plausible(*frame, low))
		return 0;
	*frame = record->next;
	/* The call stands before the address that it returns to. */
	return CPROBE_PLAIN_ADDRESS(record->return_address) - 1;
}

/*
 * Frames of the C library are passed over: it calls main, and it has signal
 * handlers called, behind which the interrupted path goes on if the library
 * left the frame pointer alone.  So are those of the own module: what it put
 * in between is not the program's path.  The number of steps is bounded all
 * the same.
 */
CPROBE_READS_STACK
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
		uintptr_t	above = current + sizeof(CprobeFrameRecord);
		uintptr_t	call = cprobe_frames_step(&current, low);
		const CprobeText *code = cprobe_text_map_find(call);

		low = above;
		if (unlikely(code == NULL || code->kind == CPROBE_TEXT_NAMELESS))
			break;
		if (unlikely(call == cprobe_main_call))
			return count;
		if (code->kind != CPROBE_TEXT_MODULE)
			continue;
		if (unlikely(count == max_depth))
		{
			frames[count++] = CPROBE_FRAME_CUT;
			return count;
		}
		frames[count++] = CPROBE_FRAME(code->module,
									   call - code->load_address);
	}
	frames[count++] = CPROBE_FRAME_DOUBT;
	return count;
}

/* Who called main: the first call on the way up that the C library makes. */
CPROBE_READS_STACK
static uintptr_t
cprobe_frames_find_main_call(const void *frame)
{
	uintptr_t	low = (uintptr_t) frame;
	uintptr_t	current = low;

	for (int step = 0; step < CPROBE_FRAMES_TO_MAIN; step++)
	{
		uintptr_t	above = current + sizeof(CprobeFrameRecord);
		uintptr_t	call = cprobe_frames_step(&current, low);
		const CprobeText *code = cprobe_text_map_find(call);

		if (code == NULL)
			break;
		if (code->kind == CPROBE_TEXT_LIBC)
			return call;
		low = above;
	}
	return 0;
}

/*
 * The kernel puts random bytes on the stack above the program's arguments:
 * all C libraries tell where, and a process title does not overwrite them.
 *
 * Who called main is found out once.  A postmaster that starts anew after a
 * crash may do so in a signal handler, where that is not the first call of
 * the C library on the way up.
 */
void
cprobe_frames_init(CprobeModuleIntern intern, const char *program_path,
				   const void *own_code)
{
	cprobe_text_map_init(intern, program_path, own_code);
	if (!CPROBE_FRAMES_KNOWN)
		return;
	cprobe_stack_end = getauxval(AT_RANDOM);
	if (cprobe_main_call == 0)
		cprobe_main_call =
			cprobe_frames_find_main_call(__builtin_frame_address(0));
}
