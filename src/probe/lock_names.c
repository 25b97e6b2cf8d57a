/*-------------------------------------------------------------------------
 *
 * lock_names.c
 *	  One way to a name for each of the server's structures that hold locks.
 *
 * Separate: see lock_names.h.
 *
 * The table at the end says which tranche goes which way.  A way that does
 * not lead to the lock (the structure is not where we think, or the lock is
 * another of that tranche) gives NULL, and the lock is named by its area: a
 * less telling name, never a wrong one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/slru.h"
#include "access/twophase.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "replication/origin.h"
#include "replication/slot.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/predicate_internals.h"
#include "utils/pgstat_internal.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "probe/lock_check.h"
#include "probe/lock_key.h"
#include "probe/lock_names.h"
#include "probe/shmem_areas.h"
#include "probe/wal_insert_locks.h"

/* What the server calls a tranche that it has no name for. */
#define CPROBE_NAMELESS_TRANCHE "extension"

#define CPROBE_CONTENT_LOCK_NAME "BufferContent"

/* From dshash.c: partitions of a table, and where they begin in it. */
#define CPROBE_DSHASH_PARTITIONS 128
#define CPROBE_DSHASH_FIRST 16

/* From predicate.c: places in the list for each process. */
#define CPROBE_SERIALIZABLE_PER_PROCESS 10

/* A partition of a dshash table: struct dshash_partition. */
typedef struct CprobeServerPartition
{
	LWLock		lock;
	size_t		count;
} CprobeServerPartition;

/* How locks of a tranche get their names. */
typedef struct CprobeLockNaming
{
	uint16		tranche;
	/* a palloc'd name, NULL if this way does not lead to the lock */
	char	   *(*name) (const struct CprobeLockNaming *naming,
						 const LWLock *lock);
	size_t		place;			/* for the way: index of the first lock in the
								 * main array, offset of a member */
	int			count;			/* locks in the array */
} CprobeLockNaming;

static char *
cprobe_name_indexed(uint16 tranche, int index)
{
	char	   *tranche_name;
	char	   *name;

	if (index < 0)
		return NULL;
	tranche_name = cprobe_lock_tranche_name(tranche);
	name = psprintf("%s[%d]", tranche_name, index);
	pfree(tranche_name);
	return name;
}

static char *
cprobe_name_described(uint16 tranche, const char *what)
{
	char	   *tranche_name = cprobe_lock_tranche_name(tranche);
	char	   *name = psprintf("%s(%s)", tranche_name, what);

	pfree(tranche_name);
	return name;
}

/* Index of what lies at an address in an array; -1 if that is no element. */
static int
cprobe_array_index(const void *address, const void *first, size_t stride,
				   int count)
{
	uintptr_t	distance = (uintptr_t) address - (uintptr_t) first;

	if ((uintptr_t) address < (uintptr_t) first || stride == 0 ||
		distance % stride != 0 || distance / stride >= (uintptr_t) count)
		return -1;
	return (int) (distance / stride);
}

/* Partitions at a fixed place of the main array. */
static char *
cprobe_name_partition(const CprobeLockNaming *naming, const LWLock *lock)
{
	return cprobe_name_indexed(naming->tranche,
							   cprobe_array_index(lock,
												  &MainLWLockArray[naming->place],
												  sizeof(LWLockPadded),
												  naming->count));
}

static char *
cprobe_name_wal_insert(const CprobeLockNaming *naming, const LWLock *lock)
{
	return cprobe_name_indexed(naming->tranche,
							   cprobe_wal_insert_lock_index(lock));
}

/*
 * Locks of an SLRU's buffers or banks.  Its area begins with the control
 * structure, one member of which, at offset "place", points to the locks.
 */
static char *
cprobe_name_slru(const CprobeLockNaming *naming, const LWLock *lock)
{
	const CprobeShmemArea *area;
	const char *control;
	const LWLockPadded *first;

	area = cprobe_shmem_area_at(cprobe_shmem_offset(lock));
	if (area == NULL || area->bytes < sizeof(SlruSharedData))
		return NULL;
	control = cprobe_shmem_address(area->offset);
	first = *(LWLockPadded *const *) (control + naming->place);
	if (!cprobe_lock_looks_valid(first, naming->tranche))
		return NULL;
	return cprobe_name_indexed(naming->tranche,
							   cprobe_array_index(lock, first,
												  sizeof(LWLockPadded),
												  ((const SlruSharedData *) control)->num_slots));
}

static char *
cprobe_name_fast_path(const CprobeLockNaming *naming, const LWLock *lock)
{
	int			number;
	int			pid;
	char		process[32];

	number = cprobe_array_index(lock, &ProcGlobal->allProcs[0].fpInfoLock,
								sizeof(PGPROC),
								(int) ProcGlobal->allProcCount);
	if (number < 0)
		return NULL;
	pid = ((volatile PGPROC *) &ProcGlobal->allProcs[number])->pid;
	if (pid == 0)
		return cprobe_name_described(naming->tranche, "no process");
	snprintf(process, sizeof(process), "pid %d", pid);
	return cprobe_name_described(naming->tranche, process);
}

/*
 * The slot's name is copied without its lock: at worst the copy is a mixture
 * of two names, of a slot that is being made where another was dropped.
 */
static char *
cprobe_name_slot(const CprobeLockNaming *naming, const LWLock *lock)
{
	const ReplicationSlot *slots = ReplicationSlotCtl->replication_slots;
	int			index;
	char		slot_name[NAMEDATALEN];

	index = cprobe_array_index(lock, &slots[0].io_in_progress_lock,
							   sizeof(ReplicationSlot), CPROBE_MAX_SLOTS);
	if (index < 0)
		return NULL;
	if (!slots[index].in_use)
		return cprobe_name_indexed(naming->tranche, index);
	strlcpy(slot_name, NameStr(slots[index].data.name), NAMEDATALEN);
	return cprobe_name_described(naming->tranche, slot_name);
}

/*
 * States of replication origins: a private structure, so that its size comes
 * from the area's: a header of one aligned word, then the states.
 */
static char *
cprobe_name_origin(const CprobeLockNaming *naming, const LWLock *lock)
{
	const CprobeShmemArea *area;
	size_t		stride;
	const char *states;
	size_t		member;

	area = cprobe_shmem_area_at(cprobe_shmem_offset(lock));
	if (area == NULL || CPROBE_MAX_ORIGINS <= 0 ||
		area->bytes < MAXIMUM_ALIGNOF ||
		(area->bytes - MAXIMUM_ALIGNOF) % (size_t) CPROBE_MAX_ORIGINS != 0)
		return NULL;
	stride = (area->bytes - MAXIMUM_ALIGNOF) / (size_t) CPROBE_MAX_ORIGINS;
	states = (const char *) cprobe_shmem_address(area->offset) +
		MAXIMUM_ALIGNOF;
	if (stride < sizeof(LWLock) || (const char *) lock < states)
		return NULL;
	member = (size_t) ((const char *) lock - states) % stride;
	if (!cprobe_lock_array_is_valid(states + member, stride,
									CPROBE_MAX_ORIGINS, naming->tranche))
		return NULL;
	return cprobe_name_indexed(naming->tranche,
							   cprobe_array_index(lock, states + member,
												  stride, CPROBE_MAX_ORIGINS));
}

/*
 * Serializable transactions.  Their list is an area that begins with the
 * control structure, which points to the array.
 */
static char *
cprobe_name_serializable(const CprobeLockNaming *naming, const LWLock *lock)
{
	const CprobeShmemArea *area = cprobe_shmem_area_named("PredXactList");
	const char *first;
	int			count = (MaxBackends + max_prepared_xacts) *
	CPROBE_SERIALIZABLE_PER_PROCESS;

	if (area == NULL || area->bytes < sizeof(PredXactListData))
		return NULL;
	first = (const char *)
		((PredXactList) cprobe_shmem_address(area->offset))->element +
		CPROBE_SERIALIZABLE_MEMBER;
	if (!cprobe_lock_array_is_valid(first, CPROBE_SERIALIZABLE_STRIDE, count,
									naming->tranche))
		return NULL;
	return cprobe_name_indexed(naming->tranche,
							   cprobe_array_index(lock, first,
												  CPROBE_SERIALIZABLE_STRIDE,
												  count));
}

/* Partitions of the hash table of statistics. */
static char *
cprobe_name_stats_hash(const CprobeLockNaming *naming, const LWLock *lock)
{
	const char *first;

	if (pgStatLocal.dsa == NULL || pgStatLocal.shmem == NULL)
		return NULL;
	first = (const char *) dsa_get_address(pgStatLocal.dsa,
										   pgStatLocal.shmem->hash_handle) +
		CPROBE_DSHASH_FIRST;
	if (!cprobe_lock_array_is_valid(first, sizeof(CprobeServerPartition),
									CPROBE_DSHASH_PARTITIONS,
									naming->tranche))
		return NULL;
	return cprobe_name_indexed(naming->tranche,
							   cprobe_array_index(lock, first,
												  sizeof(CprobeServerPartition),
												  CPROBE_DSHASH_PARTITIONS));
}

/* A member of the control structure of statistics. */
typedef struct CprobeStatsMember
{
	const char *name;
	size_t		offset;
	size_t		bytes;
} CprobeStatsMember;

#define CPROBE_STATS_MEMBER(member) \
	{#member, offsetof(PgStat_ShmemControl, member), \
	sizeof(((PgStat_ShmemControl *) NULL)->member)},

/* Of I/O statistics: a lock for each backend type. */
static char *
cprobe_name_stats_io(const CprobeLockNaming *naming, size_t distance)
{
	char		what[64];

	if (distance % sizeof(LWLock) != 0 ||
		distance / sizeof(LWLock) >= CPROBE_SERVER_BACKEND_TYPES)
		return NULL;
	snprintf(what, sizeof(what), "io/%s",
			 GetBackendTypeDesc((BackendType) (distance / sizeof(LWLock))));
	return cprobe_name_described(naming->tranche, what);
}

/* Statistics that exist once. */
static char *
cprobe_name_stats(const CprobeLockNaming *naming, const LWLock *lock)
{
	static const CprobeStatsMember members[] = {
		CPROBE_STATS_MEMBERS(CPROBE_STATS_MEMBER)
	};
	uintptr_t	distance = (uintptr_t) lock - (uintptr_t) pgStatLocal.shmem;

	for (size_t i = 0; i < lengthof(members); i++)
	{
		if (distance < members[i].offset ||
			distance - members[i].offset >= members[i].bytes)
			continue;
		if (strcmp(members[i].name, "io") == 0)
			return cprobe_name_stats_io(naming, distance - members[i].offset);
		return cprobe_name_described(naming->tranche, members[i].name);
	}
	return NULL;
}

/*
 * The page that is in a buffer now.  Its tag is read without the header's
 * lock, twice: a tag that is being changed is no name.
 */
static char *
cprobe_name_buffer(const void *descriptor)
{
	int			index;
	BufferTag	tag;
	BufferTag	again;

	index = cprobe_array_index(descriptor, BufferDescriptors,
							   sizeof(BufferDescPadded), NBuffers);
	if (index < 0)
		return NULL;
	tag = BufferDescriptors[index].bufferdesc.tag;
	pg_read_barrier();
	again = BufferDescriptors[index].bufferdesc.tag;
	if (memcmp(&tag, &again, sizeof(tag)) != 0 ||
		CPROBE_TAG_RELATION(&tag) == InvalidOid ||
		tag.forkNum < 0 || tag.forkNum > MAX_FORKNUM)
		return NULL;
	return psprintf("%s(%u/%u/%s/%u)", CPROBE_CONTENT_LOCK_NAME,
					CPROBE_TAG_DATABASE(&tag), CPROBE_TAG_RELATION(&tag),
					forkNames[tag.forkNum], tag.blockNum);
}

/*
 * Named tranches of extensions: behind the server's own locks in the main
 * array, tranche after tranche, all of them of extensions' tranches.
 */
static char *
cprobe_name_user(uint16 tranche, const LWLock *lock)
{
	int			index;
	int			first = NUM_FIXED_LWLOCKS;

	index = cprobe_array_index(lock, MainLWLockArray, sizeof(LWLockPadded),
							   INT_MAX);
	if (index < NUM_FIXED_LWLOCKS)
		return NULL;
	for (int i = first; i <= index; i++)
	{
		uint16		found = MainLWLockArray[i].lock.tranche;

		if (found < LWTRANCHE_FIRST_USER_DEFINED ||
			!cprobe_lock_looks_valid(&MainLWLockArray[i], found))
			return NULL;
		if (found != tranche)
			first = i + 1;
	}
	return first > index ? NULL : cprobe_name_indexed(tranche, index - first);
}

#define CPROBE_SLRU_BUFFERS(id) \
	{id, cprobe_name_slru, offsetof(SlruSharedData, buffer_locks), 0},
#define CPROBE_SLRU_BANKS(id) \
	{id, cprobe_name_slru, CPROBE_SLRU_BANK_LOCKS_MEMBER, 0},

static const CprobeLockNaming cprobe_lock_namings[] = {
	{LWTRANCHE_BUFFER_MAPPING, cprobe_name_partition,
	BUFFER_MAPPING_LWLOCK_OFFSET, NUM_BUFFER_PARTITIONS},
	{LWTRANCHE_LOCK_MANAGER, cprobe_name_partition,
	LOCK_MANAGER_LWLOCK_OFFSET, NUM_LOCK_PARTITIONS},
	{LWTRANCHE_PREDICATE_LOCK_MANAGER, cprobe_name_partition,
	PREDICATELOCK_MANAGER_LWLOCK_OFFSET, NUM_PREDICATELOCK_PARTITIONS},
	{LWTRANCHE_WAL_INSERT, cprobe_name_wal_insert, 0, 0},
	CPROBE_SLRU_BUFFERS(LWTRANCHE_XACT_BUFFER)
	CPROBE_SLRU_BUFFERS(LWTRANCHE_COMMITTS_BUFFER)
	CPROBE_SLRU_BUFFERS(LWTRANCHE_SUBTRANS_BUFFER)
	CPROBE_SLRU_BUFFERS(LWTRANCHE_MULTIXACTOFFSET_BUFFER)
	CPROBE_SLRU_BUFFERS(LWTRANCHE_MULTIXACTMEMBER_BUFFER)
	CPROBE_SLRU_BUFFERS(LWTRANCHE_NOTIFY_BUFFER)
	CPROBE_SLRU_BUFFERS(LWTRANCHE_SERIAL_BUFFER)
	CPROBE_SLRU_BANK_TRANCHES(CPROBE_SLRU_BANKS)
	{LWTRANCHE_LOCK_FASTPATH, cprobe_name_fast_path, 0, 0},
	{LWTRANCHE_REPLICATION_SLOT_IO, cprobe_name_slot, 0, 0},
	{LWTRANCHE_REPLICATION_ORIGIN_STATE, cprobe_name_origin, 0, 0},
	{LWTRANCHE_PER_XACT_PREDICATE_LIST, cprobe_name_serializable, 0, 0},
	{LWTRANCHE_PGSTATS_HASH, cprobe_name_stats_hash, 0, 0},
	{LWTRANCHE_PGSTATS_DATA, cprobe_name_stats, 0, 0},
};

static char *
cprobe_name_by_structure(uint16 tranche, const LWLock *lock)
{
	const void *descriptor = CPROBE_CONTENT_LOCK_BUFFER(lock, tranche);

	if (descriptor != NULL)
		return cprobe_name_buffer(descriptor);
	if (tranche >= LWTRANCHE_FIRST_USER_DEFINED)
		return cprobe_name_user(tranche, lock);
	for (size_t i = 0; i < lengthof(cprobe_lock_namings); i++)
	{
		if (cprobe_lock_namings[i].tranche == tranche)
			return cprobe_lock_namings[i].name(&cprobe_lock_namings[i], lock);
	}
	return NULL;
}

/* What is left: where in which area. */
static char *
cprobe_name_by_area(uint16 tranche, uint64 offset)
{
	const CprobeShmemArea *area = cprobe_shmem_area_at(offset);
	char	   *tranche_name = cprobe_lock_tranche_name(tranche);
	char	   *name;

	name = psprintf("%s @ %s+" UINT64_FORMAT, tranche_name,
					area != NULL ? area->name : "shared memory",
					area != NULL ? offset - area->offset : offset);
	pfree(tranche_name);
	return name;
}

char *
cprobe_lock_tranche_name(uint16 tranche)
{
	const char *name;

	if (tranche == CPROBE_TRANCHE_BUFFER)
		return pstrdup(CPROBE_CONTENT_LOCK_NAME);
	name = GetLWLockIdentifier(PG_WAIT_LWLOCK, tranche);
	if (name == NULL)
		return psprintf("tranche %u", tranche);
	if (tranche >= LWTRANCHE_FIRST_USER_DEFINED &&
		strcmp(name, CPROBE_NAMELESS_TRANCHE) == 0)
		return psprintf("%s tranche %u", CPROBE_NAMELESS_TRANCHE, tranche);
	return pstrdup(name);
}

char *
cprobe_lock_name(uint16 tranche, uint64 offset)
{
	char	   *name = NULL;

	if (offset == 0 || CPROBE_IS_LONE_TRANCHE(tranche) ||
		!cprobe_shmem_find_bounds())
		return cprobe_lock_tranche_name(tranche);
	if (tranche == CPROBE_TRANCHE_BUFFER)
		name = cprobe_name_buffer(cprobe_shmem_address(offset));
	else if (cprobe_lock_is_valid(tranche, offset))
		name = cprobe_name_by_structure(tranche, cprobe_shmem_address(offset));
	return name != NULL ? name : cprobe_name_by_area(tranche, offset);
}
