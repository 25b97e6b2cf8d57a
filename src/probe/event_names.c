/*-------------------------------------------------------------------------
 *
 * event_names.c
 *	  Asking the running server for its wait events.
 *
 * Separate: see event_names.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/lock.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "probe/event_names.h"

/* The server's own word for an id that it does not know. */
#define CPROBE_UNKNOWN_EVENT "unknown wait event"
#define CPROBE_OTHER_NAME "(other)"

/* No class of a server has so many built-in events: a stop for the count. */
#define CPROBE_MAX_CLASS_EVENTS 1024

/* Tranches of extensions that get a row of their own. */
#define CPROBE_USER_TRANCHES 64

#define CPROBE_CLASS_BYTE(class_info) ((class_info) >> 24)

/*
 * Built-in events of a class: the ids are dense from 0, and the server has a
 * name for each.
 */
static uint32
cprobe_event_names_count(uint32 class_info)
{
	uint32		id = 0;

	while (id < CPROBE_MAX_CLASS_EVENTS &&
		   strcmp(pgstat_get_wait_event(class_info | id),
				  CPROBE_UNKNOWN_EVENT) != 0)
		id++;
	return id;
}

void
cprobe_event_names_index(CprobeSharedEventIndex *index)
{
	CprobeEventClassSpec specs[] = {
		{.class_byte = CPROBE_CLASS_BYTE(PG_WAIT_LWLOCK),
		.event_count = LWTRANCHE_FIRST_USER_DEFINED + CPROBE_USER_TRANCHES},
		{.class_byte = CPROBE_CLASS_BYTE(PG_WAIT_LOCK),
		.event_count = LOCKTAG_LAST_TYPE + 1},
		{.class_byte = CPROBE_CLASS_BYTE(CPROBE_WAIT_BUFFER),
		.event_count = CPROBE_BUFFER_EVENTS()},
		{.class_byte = CPROBE_CLASS_BYTE(PG_WAIT_ACTIVITY),
			.event_count = cprobe_event_names_count(PG_WAIT_ACTIVITY),
		.always_idle = true},
		{.class_byte = CPROBE_CLASS_BYTE(PG_WAIT_CLIENT),
			.event_count = cprobe_event_names_count(PG_WAIT_CLIENT),
		.idle_twin = true},
		{.class_byte = CPROBE_CLASS_BYTE(PG_WAIT_EXTENSION),
			.event_count = CPROBE_CUSTOM_EVENTS,
		.idle_twin = true},
		{.class_byte = CPROBE_CLASS_BYTE(PG_WAIT_IPC),
		.event_count = cprobe_event_names_count(PG_WAIT_IPC)},
		{.class_byte = CPROBE_CLASS_BYTE(PG_WAIT_TIMEOUT),
		.event_count = cprobe_event_names_count(PG_WAIT_TIMEOUT)},
		{.class_byte = CPROBE_CLASS_BYTE(PG_WAIT_IO),
		.event_count = cprobe_event_names_count(PG_WAIT_IO)},
	};

	cprobe_event_index_build(index, specs, lengthof(specs));
}

const char *
cprobe_event_names_type(const CprobeEvent *event)
{
	if (event->unknown)
		return CPROBE_OTHER_NAME;
	return pgstat_get_wait_event_type(event->class_byte << 24);
}

const char *
cprobe_event_names_event(const CprobeEvent *event)
{
	if (event->unknown || event->other)
		return CPROBE_OTHER_NAME;
	return pgstat_get_wait_event((event->class_byte << 24) | event->id);
}

const char *
cprobe_event_names_info_type(uint32 info)
{
	return pgstat_get_wait_event_type(info);
}

const char *
cprobe_event_names_info_event(uint32 info)
{
	return pgstat_get_wait_event(info);
}
