/*-------------------------------------------------------------------------
 *
 * event_index.c
 *	  Building the dense numbering of wait events, and reading it backwards.
 *
 * Separate from the header, which holds only the lookup that hooks inline.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "store/event_index.h"

void
cprobe_event_index_build(CprobeSharedEventIndex *index,
						 const CprobeEventClassSpec *specs, int spec_count)
{
	uint32		next = CPROBE_EVENT_UNKNOWN + 1;

	memset(index, 0, sizeof(*index));
	for (int i = 0; i < spec_count; i++)
	{
		CprobeSharedEventClass *class = &index->classes[specs[i].class_byte];

		Assert(specs[i].class_byte < CPROBE_EVENT_CLASSES);
		Assert(class->base == 0);
		class->base = next;
		class->count = specs[i].event_count;
		class->always_idle = specs[i].always_idle;
		next += specs[i].event_count + 1;
		if (specs[i].idle_twin)
		{
			class->twin_base = next;
			next += specs[i].event_count + 1;
		}
	}
	/* Of classes that the caller does not know, there is only "(other)". */
	for (int i = 1; i < CPROBE_EVENT_CLASSES; i++)
	{
		if (index->classes[i].base == 0)
			index->classes[i].base = next++;
	}
	index->event_count = next;
}

/* Does the number lie in the run that starts at base? */
static bool
cprobe_event_in_run(uint32 number, uint32 base, uint32 count)
{
	return base != 0 && number >= base && number <= base + count;
}

CprobeEvent
cprobe_event_index_describe(const CprobeSharedEventIndex *index, uint32 number)
{
	CprobeEvent event = {0};

	for (uint32 i = 0; i < CPROBE_EVENT_CLASSES; i++)
	{
		const CprobeSharedEventClass *class = &index->classes[i];
		bool		twin = cprobe_event_in_run(number, class->twin_base,
											   class->count);

		if (!twin && !cprobe_event_in_run(number, class->base, class->count))
			continue;
		event.class_byte = i;
		event.id = number - (twin ? class->twin_base : class->base);
		event.other = event.id == class->count;
		event.idle = twin || class->always_idle;
		return event;
	}
	event.unknown = true;
	return event;
}
