/*-------------------------------------------------------------------------
 *
 * locate.c
 *	  From the name of a lock to the lock.
 *
 * Separate because it is the product's work done backwards and by other
 * means: places in shared memory come from pg_shmem_allocations, and the lock
 * with an index is the one that comes so many after the first of its tranche.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "storage/bufmgr.h"
#include "storage/dsm.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/pgstat_internal.h"
#include "utils/varlena.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "testkit.h"

/* A name taken apart: base[argument], base(argument) or base. */
typedef struct CprobeTestName
{
	char	   *base;
	char	   *argument;		/* NULL if there is none */
} CprobeTestName;

/* Where arrays of locks are; areas by their names in all majors. */
typedef struct CprobeTestArray
{
	const char *tranche;
	const char *areas;			/* text of an SQL array */
} CprobeTestArray;

static const CprobeTestArray testkit_arrays[] = {
	{"WALInsert", "{XLOG Ctl}"},
	{"XactBuffer", "{Xact,transaction}"},
	{"XactSLRU", "{transaction}"},
	{"SubtransBuffer", "{Subtrans,subtransaction}"},
	{"SubtransSLRU", "{subtransaction}"},
	{"MultiXactOffsetBuffer", "{MultiXactOffset,multixact_offset}"},
	{"MultiXactMemberBuffer", "{MultiXactMember,multixact_member}"},
	{"NotifyBuffer", "{Notify,notify}"},
	{"NotifySLRU", "{notify}"},
	{"SerialBuffer", "{Serial,serializable}"},
	{"ReplicationOriginState", "{ReplicationOriginState}"},
	{"PerXactPredicateList", "{PredXactList}"},
	{"PgStatsHash", "{Shared Memory Stats}"},
	{"PgStatsDSA", "{Shared Memory Stats}"},
};

/* Throws; the result is for the caller's return. */
static LWLock *
testkit_no_such_lock(const CprobeTestName *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("no lock \"%s\" (%s)", name->base,
					name->argument ? name->argument : "")));
}

static CprobeTestName
testkit_name_parse(const char *text)
{
	CprobeTestName name = {.base = pstrdup(text)};
	size_t		length = strlen(text);
	char	   *bracket = strpbrk(name.base, "[(");

	if (bracket != NULL && (text[length - 1] == ']' || text[length - 1] == ')'))
	{
		name.base[length - 1] = '\0';
		*bracket = '\0';
		name.argument = bracket + 1;
	}
	return name;
}

/* The argument as a number from 0 to count - 1. */
static int
testkit_name_index(const CprobeTestName *name, int count)
{
	int			index;

	if (name->argument == NULL)
		(void) testkit_no_such_lock(name);
	index = pg_strtoint32(name->argument);
	if (index < 0 || index >= count)
		(void) testkit_no_such_lock(name);
	return index;
}

/*
 * Offset of an area by one of its names, and the bytes to the next area, for
 * what belongs to an area may lie behind it without a name; false if there is
 * no such area.
 */
static bool
testkit_area(const char *names, int64 *offset, int64 *bytes)
{
	Oid			types[] = {TEXTOID};
	Datum		values[] = {CStringGetTextDatum(names)};
	bool		is_null;
	bool		found;

	SPI_connect();
	SPI_execute_with_args("SELECT off, bytes FROM"
						  " (SELECT name, off, lead(off) OVER (ORDER BY off)"
						  " - off AS bytes FROM pg_catalog.pg_shmem_allocations"
						  " WHERE off IS NOT NULL) a"
						  " WHERE name = ANY ($1::pg_catalog.text[])",
						  1, types, values, NULL, true, 1);
	found = SPI_processed > 0;
	if (found)
	{
		HeapTuple	row = SPI_tuptable->vals[0];
		TupleDesc	columns = SPI_tuptable->tupdesc;

		*offset = DatumGetInt64(SPI_getbinval(row, columns, 1, &is_null));
		*bytes = DatumGetInt64(SPI_getbinval(row, columns, 2, &is_null));
	}
	SPI_finish();
	return found;
}

char *
testkit_shmem_start(void)
{
	int64		offset;
	int64		bytes;

	if (!testkit_area("{contention_probe_testkit}", &offset, &bytes))
		elog(ERROR, "the area of contention_probe_testkit is not listed");
	return (char *) testkit_shared() - offset;
}

/* Id of a built-in tranche, -1 if the name is none. */
static int
testkit_tranche(const char *name)
{
	for (int i = 0; i < LWTRANCHE_FIRST_USER_DEFINED; i++)
	{
		const char *known = GetLWLockIdentifier(PG_WAIT_LWLOCK, (uint16) i);

		if (known != NULL && strcmp(known, name) == 0)
			return i;
	}
	return -1;
}

/*
 * Does a lock lie here?  The padding behind the tranche's id is zero in memory
 * that was used for nothing else, and a queue is empty or flagged.
 */
static bool
testkit_is_lock(char *address, int tranche)
{
	LWLock	   *lock = (LWLock *) address;

	if (*(uint32 *) address != (uint32) tranche)
		return false;
	if (lock->waiters.head == CPROBE_NO_PROC &&
		lock->waiters.tail == CPROBE_NO_PROC)
		return true;
	return (pg_atomic_read_u32(&lock->state) &
			CPROBE_LWLOCK_HAS_WAITERS) != 0;
}

/* The lock with an index among those of its tranche in an area. */
static LWLock *
testkit_locate_in_area(const CprobeTestName *name, const char *areas)
{
	int			tranche = testkit_tranche(name->base);
	int			index = testkit_name_index(name, PG_INT32_MAX);
	int64		offset;
	int64		bytes;
	char	   *start;

	if (tranche < 0 || !testkit_area(areas, &offset, &bytes))
		return testkit_no_such_lock(name);
	start = testkit_shmem_start() + offset;
	for (int64 i = 0; i + (int64) sizeof(LWLock) <= bytes; i += sizeof(uint32))
	{
		if (testkit_is_lock(start + i, tranche) && index-- == 0)
			return (LWLock *) (start + i);
	}
	return testkit_no_such_lock(name);
}

/* Partitions, which the server has macros for. */
static LWLock *
testkit_locate_partition(const CprobeTestName *name)
{
	int			first;
	int			count;

	if (strcmp(name->base, "BufferMapping") == 0)
	{
		first = BUFFER_MAPPING_LWLOCK_OFFSET;
		count = NUM_BUFFER_PARTITIONS;
	}
	else if (strcmp(name->base, "LockManager") == 0)
	{
		first = LOCK_MANAGER_LWLOCK_OFFSET;
		count = NUM_LOCK_PARTITIONS;
	}
	else if (strcmp(name->base, "PredicateLockManager") == 0)
	{
		first = PREDICATELOCK_MANAGER_LWLOCK_OFFSET;
		count = NUM_PREDICATELOCK_PARTITIONS;
	}
	else
		return NULL;
	return &MainLWLockArray[first + testkit_name_index(name, count)].lock;
}

static LWLock *
testkit_locate_fast_path(const CprobeTestName *name)
{
	CprobeTestName number = *name;
	PGPROC	   *process;
	int			pid;

	if (number.argument != NULL && strncmp(number.argument, "pid ", 4) == 0)
		number.argument += 4;
	pid = testkit_name_index(&number, PG_INT32_MAX);
	process = BackendPidGetProc(pid);
	if (process == NULL)
		process = AuxiliaryPidGetProc(pid);
	if (process == NULL)
		return testkit_no_such_lock(name);
	return &process->fpInfoLock;
}

static LWLock *
testkit_locate_slot(const CprobeTestName *name)
{
	ReplicationSlot *slot = NULL;

	if (name->argument != NULL)
		slot = SearchNamedReplicationSlot(name->argument, true);
	if (slot == NULL)
		return testkit_no_such_lock(name);
	return &slot->io_in_progress_lock;
}

/* PgStatsData(wal) and others of its kind. */
static LWLock *
testkit_locate_stats(const CprobeTestName *name)
{
	PgStat_ShmemControl *control = pgStatLocal.shmem;
	const char *kind = name->argument ? name->argument : "";

	if (strcmp(kind, "archiver") == 0)
		return &control->archiver.lock;
	if (strcmp(kind, "bgwriter") == 0)
		return &control->bgwriter.lock;
	if (strcmp(kind, "checkpointer") == 0)
		return &control->checkpointer.lock;
	if (strcmp(kind, "slru") == 0)
		return &control->slru.lock;
	if (strcmp(kind, "wal") == 0)
		return &control->wal.lock;
	return testkit_no_such_lock(name);
}

/* The lock in the segment of tk_dsm_create, mapped here if it was not. */
static LWLock *
testkit_locate_dsm(const CprobeTestName *name)
{
	CprobeTestShared *shared = testkit_shared();
	dsm_segment *segment;

	if (!shared->dsm_exists)
		return testkit_no_such_lock(name);
	segment = dsm_find_mapping(shared->dsm_segment);
	if (segment == NULL)
	{
		segment = dsm_attach(shared->dsm_segment);
		if (segment == NULL)
			return testkit_no_such_lock(name);
		dsm_pin_mapping(segment);
		CPROBE_REGISTER_TRANCHE(shared->dsm_tranche, TESTKIT_DSM_TRANCHE);
	}
	return dsm_segment_address(segment);
}

/* BufferContent(table,block): the page is read and stays pinned. */
static CprobeTestLock
testkit_locate_page(const CprobeTestName *name)
{
	CprobeTestLock lock = {0};
	char	   *comma;
	List	   *names;

	comma = name->argument != NULL ? strrchr(name->argument, ',') : NULL;
	if (comma == NULL)
		(void) testkit_no_such_lock(name);
	*comma = '\0';
	names = textToQualifiedNameList(cstring_to_text(name->argument));
	lock.relation = relation_openrv(makeRangeVarFromNameList(names),
									AccessShareLock);
	lock.buffer = ReadBuffer(lock.relation,
							 (BlockNumber) pg_strtoint32(comma + 1));
	return lock;
}

static LWLock *
testkit_locate_lwlock(const CprobeTestName *name)
{
	LWLock	   *partition = testkit_locate_partition(name);
	int			tranche;

	if (partition != NULL)
		return partition;
	if (strcmp(name->base, "LockFastPath") == 0)
		return testkit_locate_fast_path(name);
	if (strcmp(name->base, "ReplicationSlotIO") == 0)
		return testkit_locate_slot(name);
	if (strcmp(name->base, "PgStatsData") == 0)
		return testkit_locate_stats(name);
	if (strcmp(name->base, "dsm") == 0)
		return testkit_locate_dsm(name);
	for (size_t i = 0; i < lengthof(testkit_arrays); i++)
	{
		if (strcmp(name->base, testkit_arrays[i].tranche) == 0)
			return testkit_locate_in_area(name, testkit_arrays[i].areas);
	}
	tranche = testkit_tranche(name->base);
	if (tranche >= 0 && tranche < NUM_INDIVIDUAL_LWLOCKS)
		return &MainLWLockArray[tranche].lock;

	/* A named tranche of an extension; throws if it is none. */
	return &GetNamedLWLockTranche(name->base)[testkit_name_index(name, PG_INT32_MAX)].lock;
}

CprobeTestLock
testkit_lock_locate(const char *text)
{
	CprobeTestName name = testkit_name_parse(text);
	CprobeTestLock lock = {0};

	(void) testkit_shared();
	if (strcmp(name.base, "BufferContent") == 0)
		return testkit_locate_page(&name);
	lock.lwlock = testkit_locate_lwlock(&name);
	return lock;
}

void
testkit_lock_forget(CprobeTestLock *lock)
{
	if (lock->relation == NULL)
		return;
	ReleaseBuffer(lock->buffer);
	relation_close(lock->relation, AccessShareLock);
	lock->relation = NULL;
}
