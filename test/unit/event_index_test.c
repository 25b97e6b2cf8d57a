/*-------------------------------------------------------------------------
 *
 * event_index_test.c
 *	  The dense numbering of wait events: there and back, and what is unknown.
 *
 * Separate: a program of its own, as every unit test.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "store/event_index.h"

#include "tap.h"

/* Classes like a server's: gaps between them, twins, one without events. */
static const CprobeEventClassSpec specs[] = {
	{.class_byte = 0x01,.event_count = 70},
	{.class_byte = 0x03,.event_count = 11},
	{.class_byte = 0x05,.event_count = 16,.always_idle = true},
	{.class_byte = 0x06,.event_count = 9,.idle_twin = true},
	{.class_byte = 0x07,.event_count = 0,.idle_twin = true},
	{.class_byte = 0x0A,.event_count = 73},
	{.class_byte = 0x0F,.event_count = 1},
};

static CprobeSharedEventIndex event_index;

static bool
is_known(uint32 class_byte)
{
	for (int i = 0; i < (int) lengthof(specs); i++)
	{
		if (specs[i].class_byte == class_byte)
			return true;
	}
	return false;
}

static uint32
number_of(uint32 class_byte, uint32 id, bool idle)
{
	return cprobe_event_index_number(&event_index, (class_byte << 24) | id,
									 idle);
}

/* Each number in use, taken apart and put together again, is itself. */
static void
test_round_trip(void)
{
	int			wrong = 0;

	for (uint32 n = 1; n < event_index.event_count; n++)
	{
		CprobeEvent event = cprobe_event_index_describe(&event_index, n);
		CprobeSharedEventClass *class = &event_index.classes[event.class_byte];
		bool		ask_idle = event.idle && !class->always_idle;

		if (event.unknown || event.other != (event.id == class->count) ||
			number_of(event.class_byte, event.id, ask_idle) != n)
			wrong++;
	}
	cprobe_tap_ok(event_index.event_count > 180, "the numbers in use are many");
	cprobe_tap_equal((uint64) wrong, 0, "every number comes back as itself");
}

/* Two events that share a number would be one row in the views. */
static void
test_numbers_are_distinct(void)
{
	static bool taken[1024];
	uint32		used = 1;
	int			shared = 0;

	for (int i = 0; i < (int) lengthof(specs); i++)
	{
		for (int idle = 0; idle <= (specs[i].idle_twin ? 1 : 0); idle++)
		{
			for (uint32 id = 0; id <= specs[i].event_count; id++)
			{
				uint32		n = number_of(specs[i].class_byte, id, idle == 1);

				if (n == CPROBE_EVENT_UNKNOWN || n >= event_index.event_count ||
					taken[n])
					shared++;
				taken[n] = true;
				used++;
			}
		}
	}
	cprobe_tap_equal((uint64) shared, 0, "every event has a number of its own");
	for (uint32 class_byte = 1; class_byte < CPROBE_EVENT_CLASSES; class_byte++)
		used += is_known(class_byte) ? 0 : 1;
	cprobe_tap_equal(event_index.event_count, used,
					 "and none is left over but one for each class that is not known");
}

/*
 * A class that only a later server has: its waits are its own, under one name.
 * What is no class at all shares number 0.
 */
static void
test_unknown_classes(void)
{
	int			wrong = 0;

	for (uint32 class_byte = 1; class_byte < CPROBE_EVENT_CLASSES; class_byte++)
	{
		uint32		n = number_of(class_byte, 1, false);
		CprobeEvent event = cprobe_event_index_describe(&event_index, n);

		if (is_known(class_byte))
			continue;
		if (n == CPROBE_EVENT_UNKNOWN || event.class_byte != class_byte ||
			!event.other || event.idle ||
			number_of(class_byte, 0, true) != n)
			wrong++;
	}
	cprobe_tap_equal((uint64) wrong, 0,
					 "a class that is not known has (other) to itself");
	wrong = number_of(0, 1, false) != CPROBE_EVENT_UNKNOWN;
	for (uint32 class_byte = CPROBE_EVENT_CLASSES; class_byte < 256; class_byte++)
		wrong += number_of(class_byte, 1, false) != CPROBE_EVENT_UNKNOWN;
	cprobe_tap_equal((uint64) wrong, 0, "what is no class has number 0");
	cprobe_tap_ok(cprobe_event_index_describe(&event_index, 0).unknown,
				  "number 0 says that it is unknown");
	cprobe_tap_ok(cprobe_event_index_describe(&event_index, event_index.event_count).unknown &&
				  cprobe_event_index_describe(&event_index, PG_UINT32_MAX).unknown,
				  "so do numbers that are not in use");
}

static void
test_ids_beyond(void)
{
	int			wrong = 0;

	for (int i = 0; i < (int) lengthof(specs); i++)
	{
		uint32		class_byte = specs[i].class_byte;
		uint32		other = number_of(class_byte, specs[i].event_count, false);
		CprobeEvent event = cprobe_event_index_describe(&event_index, other);

		if (!event.other || event.class_byte != class_byte ||
			number_of(class_byte, specs[i].event_count + 1, false) != other ||
			number_of(class_byte, 0xFFFF, false) != other)
			wrong++;
	}
	cprobe_tap_equal((uint64) wrong, 0,
					 "ids that a class did not have share the class's (other)");

	/* The server keeps nothing there; if it did, the id must not change. */
	cprobe_tap_equal(cprobe_event_index_number(&event_index, 0x06FF0002, false),
					 number_of(0x06, 2, false),
					 "the byte between class and id is not looked at");
}

static void
test_idle(void)
{
	CprobeEvent busy = cprobe_event_index_describe(&event_index, number_of(0x06, 4, false));
	CprobeEvent idle = cprobe_event_index_describe(&event_index, number_of(0x06, 4, true));

	cprobe_tap_ok(!busy.idle && idle.idle && busy.id == 4 && idle.id == 4 &&
				  busy.class_byte == idle.class_byte,
				  "a class with a twin has each event busy and idle");
	cprobe_tap_ok(number_of(0x05, 3, false) == number_of(0x05, 3, true) &&
				  cprobe_event_index_describe(&event_index, number_of(0x05, 3, false)).idle,
				  "a class that is always idle has each event once, as idle");
	cprobe_tap_ok(number_of(0x01, 3, false) == number_of(0x01, 3, true) &&
				  !cprobe_event_index_describe(&event_index, number_of(0x01, 3, true)).idle,
				  "a class without a twin has each event once, as busy");
	cprobe_tap_ok(number_of(0x07, 0, false) != number_of(0x07, 0, true) &&
				  cprobe_event_index_describe(&event_index, number_of(0x07, 5, true)).other,
				  "a class without events has (other), busy and idle");
}

static void
test_rebuild(void)
{
	CprobeSharedEventIndex again;

	memset(&again, 0xAA, sizeof(again));
	cprobe_event_index_build(&again, specs, lengthof(specs));
	cprobe_tap_ok(memcmp(&again, &event_index, sizeof(again)) == 0,
				  "the same specs give the same numbers, whatever was there before");
	cprobe_event_index_build(&again, specs, 0);
	cprobe_tap_ok(again.event_count == CPROBE_EVENT_CLASSES &&
				  cprobe_event_index_describe(&again, cprobe_event_index_number(&again, 0x01000001, false)).other,
				  "without specs every class has (other)");
}

int
main(void)
{
	cprobe_event_index_build(&event_index, specs, lengthof(specs));
	test_round_trip();
	test_numbers_are_distinct();
	test_unknown_classes();
	test_ids_beyond();
	test_idle();
	test_rebuild();
	return cprobe_tap_done();
}
