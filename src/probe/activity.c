/*-------------------------------------------------------------------------
 *
 * activity.c
 *	  Reading the server's own status entries without locks.
 *
 * Separate: see activity.h.  The array of entries is private to the server;
 * a process's own entry is not, and lies in that array at a known index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "probe/activity.h"

/* Looks at an entry that keeps changing before it is left out. */
#define CPROBE_ACTIVITY_MAX_TRIES 100

static volatile PgBackendStatus *
cprobe_activity_entry(int index)
{
	return MyBEEntry - CPROBE_MY_ACTIVITY_INDEX() + index;
}

int
cprobe_activity_count(void)
{
	return MyBEEntry != NULL ? CPROBE_ACTIVITY_SLOTS() : 0;
}

bool
cprobe_activity_read(int index, CprobeActivity *activity)
{
	volatile PgBackendStatus *entry = cprobe_activity_entry(index);

	for (int tries = 0; tries < CPROBE_ACTIVITY_MAX_TRIES; tries++)
	{
		int			before;
		int			after;

		pgstat_begin_read_activity(entry, before);
		activity->pid = entry->st_procpid;
		activity->type = entry->st_backendType;
		activity->state = entry->st_state;
		activity->database_id = entry->st_databaseid;
		activity->user_id = entry->st_userid;
		activity->start_time = entry->st_proc_start_timestamp;
		activity->in_transaction = entry->st_xact_start_timestamp != 0;
		activity->query_id = (uint64) entry->st_query_id;
		pgstat_end_read_activity(entry, after);
		if (pgstat_read_activity_complete(before, after))
			return activity->pid > 0;
	}
	return false;
}

int
cprobe_activity_find(int pid)
{
	int			count = cprobe_activity_count();

	for (int i = 0; i < count; i++)
	{
		if (cprobe_activity_entry(i)->st_procpid == pid)
			return i;
	}
	return -1;
}

const char *
cprobe_activity_state_name(BackendState state)
{
	switch (state)
	{
		case STATE_IDLE:
			return "idle";
		case STATE_RUNNING:
			return "active";
		case STATE_IDLEINTRANSACTION:
			return "idle in transaction";
		case STATE_FASTPATH:
			return "fastpath function call";
		case STATE_IDLEINTRANSACTION_ABORTED:
			return "idle in transaction (aborted)";
		case STATE_DISABLED:
			return "disabled";
		default:
			return NULL;
	}
}
