/*-------------------------------------------------------------------------
 *
 * event_index.h
 *	  From the server's 32-bit wait event to a small dense number and back.
 *
 * Separate because it is pure: what classes there are and how many events
 * each has is told by the caller, who asks the running server.
 *
 * A wait event is class << 24 | id.  Each known class has a run of numbers,
 * one per id, then one "(other)" for ids beyond.  Classes with an idle twin
 * have a second such run for the waits of an idle process (a client that has
 * nothing to do waits in the same event as one in the middle of a COPY).
 * A class that the caller does not know has an "(other)" all the same, so that
 * the waits of a class that a coming server adds are seen as its own.  Number 0
 * takes what belongs to no class: class byte 0, and those that are too large.
 *
 * Immutable once built; then readable by any process in any context.  Nothing
 * here throws, allocates or locks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_EVENT_INDEX_H
#define CPROBE_EVENT_INDEX_H

#define CPROBE_EVENT_CLASSES 16 /* class bytes 0x00 to 0x0F */
#define CPROBE_EVENT_UNKNOWN 0
#define CPROBE_EVENT_CLASS(info) ((info) >> 24)
#define CPROBE_EVENT_ID(info) ((info) & 0xFFFF)

/* What the caller knows of one class. */
typedef struct CprobeEventClassSpec
{
	uint32		class_byte;		/* below CPROBE_EVENT_CLASSES */
	uint32		event_count;	/* ids 0 to event_count - 1 have numbers */
	bool		idle_twin;		/* second run for waits of idle processes */
	bool		always_idle;	/* every wait of the class is idle */
} CprobeEventClassSpec;

typedef struct CprobeSharedEventClass
{
	uint32		base;			/* number of id 0; 0 in class 0 only */
	uint32		count;			/* ids with a number of their own */
	uint32		twin_base;		/* number of id 0 of the twin; 0 = none */
	bool		always_idle;
} CprobeSharedEventClass;

typedef struct CprobeSharedEventIndex
{
	/* Immutable after startup, read by all. */
	uint32		event_count;	/* numbers in use, 0 included */
	CprobeSharedEventClass classes[CPROBE_EVENT_CLASSES];
} CprobeSharedEventIndex;

/* A number, taken apart. */
typedef struct CprobeEvent
{
	uint32		class_byte;
	uint32		id;				/* meaningless when other or unknown */
	bool		other;			/* the "(other)" number of the class */
	bool		unknown;		/* number 0 */
	bool		idle;
} CprobeEvent;

/* Fill the index from the specs; specs of the same class must not repeat. */
extern void cprobe_event_index_build(CprobeSharedEventIndex *index,
									 const CprobeEventClassSpec *specs,
									 int spec_count);

extern CprobeEvent cprobe_event_index_describe(const CprobeSharedEventIndex *index,
											   uint32 number);

/* Hot path: two loads and a few compares. */
static inline uint32
cprobe_event_index_number(const CprobeSharedEventIndex *index, uint32 info,
						  bool idle)
{
	const CprobeSharedEventClass *class;
	uint32		base;

	if (CPROBE_EVENT_CLASS(info) >= CPROBE_EVENT_CLASSES)
		return CPROBE_EVENT_UNKNOWN;
	class = &index->classes[CPROBE_EVENT_CLASS(info)];
	if (class->base == 0)
		return CPROBE_EVENT_UNKNOWN;
	base = (idle && class->twin_base != 0) ? class->twin_base : class->base;
	return base + Min(CPROBE_EVENT_ID(info), class->count);
}

#endif							/* CPROBE_EVENT_INDEX_H */
