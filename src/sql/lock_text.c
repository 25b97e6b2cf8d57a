/*-------------------------------------------------------------------------
 *
 * lock_text.c
 *	  Locks and pages as the views show them.
 *
 * Separate: see lock_text.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_tablespace.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "probe/lock_names.h"
#include "sql/lock_text.h"

#define CPROBE_CONTENT_TRANCHE_NAME "BufferContent"

const char *
cprobe_fork_name(int fork)
{
	return fork >= 0 && fork <= MAX_FORKNUM ? forkNames[fork] : NULL;
}

/* Name of a relation of this database, by its file. */
static const char *
cprobe_page_relation_name(const CprobePageParts *parts)
{
	Oid			tablespace = parts->tablespace;
	Oid			relation;

	if (OidIsValid(parts->database) && parts->database != MyDatabaseId)
		return NULL;
	if (tablespace == MyDatabaseTableSpace)
		tablespace = InvalidOid;
	relation = CPROBE_RELATION_BY_FILE(tablespace, parts->relation);
	return OidIsValid(relation) ? get_rel_name(relation) : NULL;
}

CprobePageParts
cprobe_page_parts(const CprobePage *page)
{
	CprobePageParts parts = {
		.tablespace = (Oid) (page->words[0] >> 32),
		.database = (Oid) page->words[0],
		.relation = (Oid) (page->words[1] >> 32),
		.fork = (int) (uint32) page->words[1],
		.block = (uint32) page->words[2],
	};

	parts.relation_name = cprobe_page_relation_name(&parts);
	return parts;
}

const char *
cprobe_lock_tranche_text(CprobeLockKey lock)
{
	uint16		tranche = CPROBE_LOCK_KEY_TRANCHE(lock);

	if (tranche == CPROBE_TRANCHE_BUFFER)
		return CPROBE_CONTENT_TRANCHE_NAME;
	return GetLWLockIdentifier(PG_WAIT_LWLOCK, tranche);
}

const char *
cprobe_lock_text(CprobeLockKey lock, const CprobePage *page)
{
	CprobePageParts parts;

	if (page == NULL)
		return CPROBE_LOCK_KEY_TRANCHE(lock) == CPROBE_TRANCHE_BUFFER ?
			CPROBE_CONTENT_TRANCHE_NAME :
			cprobe_lock_name(CPROBE_LOCK_KEY_TRANCHE(lock),
							 CPROBE_LOCK_KEY_OFFSET(lock));
	parts = cprobe_page_parts(page);
	if (parts.relation_name != NULL)
		return psprintf("%s(%s/%s/%u)", CPROBE_CONTENT_TRANCHE_NAME,
						parts.relation_name, cprobe_fork_name(parts.fork),
						parts.block);
	return psprintf("%s(%u/%u/%s/%u)", CPROBE_CONTENT_TRANCHE_NAME,
					parts.database, parts.relation,
					cprobe_fork_name(parts.fork), parts.block);
}
