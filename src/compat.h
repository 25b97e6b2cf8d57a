/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Every difference between PostgreSQL majors that this project meets.
 *
 * Separate so that no other file tests PG_VERSION_NUM: the rest of the code
 * is written against the newest signature, and older servers are adapted
 * here.  Each block says what changed and when.  Majors 15, 17, 18 and 19 are
 * built and tested; 16 goes by the same branches as its neighbours.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_COMPAT_H
#define CPROBE_COMPAT_H

#include "miscadmin.h"
#if PG_VERSION_NUM >= 160000
#include "nodes/queryjumble.h"	/* EnableQueryId; 15: utils/queryjumble.h */
#else
#include "utils/queryjumble.h"
#endif
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/backend_status.h"

#if PG_VERSION_NUM < 150000
#error "contention_probe needs PostgreSQL 15 or newer"
#endif

/*
 * 17: process numbers replaced backend ids and PGPROC.pgprocno, and the
 * status array is indexed by them.  Before, auxiliary processes stood behind
 * the backends, one entry for each of their types.
 */
#if PG_VERSION_NUM >= 170000
#include "storage/procnumber.h"
#define CPROBE_MY_PROC_NUMBER_PLACE MyProcNumber
#define CPROBE_ACTIVITY_SLOTS() ((int) (MaxBackends + NUM_AUXILIARY_PROCS))
#define CPROBE_MY_ACTIVITY_INDEX() ((int) MyProcNumber)
#else
#define CPROBE_MY_PROC_NUMBER_PLACE MyProc->pgprocno
#define CPROBE_ACTIVITY_SLOTS() ((int) (MaxBackends + NUM_AUXPROCTYPES))
#define CPROBE_MY_ACTIVITY_INDEX() \
	(MyBackendId != InvalidBackendId ? MyBackendId - 1 : \
	 (int) (MaxBackends + MyAuxProcType))
#endif

#define CPROBE_MY_PROC_NUMBER() ((int) CPROBE_MY_PROC_NUMBER_PLACE)

/* 17: renamed. */
#if PG_VERSION_NUM >= 170000
#define CPROBE_NO_PROC INVALID_PROC_NUMBER
#else
#define CPROBE_NO_PROC INVALID_PGPROCNO
#endif

/*
 * 19: a buffer's content lock is no LWLock any more; its state and its queue
 * are in the buffer's descriptor.  The queue of the descriptor at an address,
 * NULL if there is none at that address.
 */
#if PG_VERSION_NUM >= 190000
#define CPROBE_BUFFER_QUEUE(address) \
	((address) < (uintptr_t) BufferDescriptors || \
	 (address) >= (uintptr_t) (BufferDescriptors + NBuffers) || \
	 ((address) - (uintptr_t) BufferDescriptors) % \
	 sizeof(BufferDescPadded) != 0 ? (volatile proclist_head *) NULL : \
	 &((volatile BufferDesc *) (address))->lock_waiters)
#else
#define CPROBE_BUFFER_QUEUE(address) \
	((void) (address), (volatile proclist_head *) NULL)
#endif

#if PG_VERSION_NUM >= 190000
#define CPROBE_IS_CONTENT_LOCK_EVENT(info) \
	((info) == WAIT_EVENT_BUFFER_EXCLUSIVE || \
	 (info) == WAIT_EVENT_BUFFER_SHARED || \
	 (info) == WAIT_EVENT_BUFFER_SHARE_EXCLUSIVE)
#define CPROBE_BUFFER_EVENT_MODE(info) \
	((info) == WAIT_EVENT_BUFFER_EXCLUSIVE ? CPROBE_MODE_EXCLUSIVE : \
	 (info) == WAIT_EVENT_BUFFER_SHARED ? CPROBE_MODE_SHARED : \
	 CPROBE_MODE_SHARE_EXCLUSIVE)
#define CPROBE_CONTENT_LOCK_BUFFER(lock, tranche) \
	((void) (lock), (void) (tranche), (const void *) NULL)
#else
#define CPROBE_IS_CONTENT_LOCK_EVENT(info) ((void) (info), false)
#define CPROBE_BUFFER_EVENT_MODE(info) \
	((void) (info), CPROBE_MODE_EXCLUSIVE)
#define CPROBE_CONTENT_LOCK_BUFFER(lock, tranche) \
	((lock) == NULL || (tranche) != LWTRANCHE_BUFFER_CONTENT ? \
	 (const void *) NULL : \
	 (const void *) ((const char *) (lock) - \
					 offsetof(BufferDesc, content_lock)))
#endif

/*
 * A buffer's content lock, the tranche that stands for it in a CprobeLockKey,
 * and its queue.
 */
#if PG_VERSION_NUM >= 190000
#define CPROBE_CONTENT_TRANCHE CPROBE_TRANCHE_BUFFER
#define CPROBE_CONTENT_LOCK(descriptor) ((void *) (descriptor))
#define CPROBE_CONTENT_QUEUE(lock) \
	(&((volatile BufferDesc *) (lock))->lock_waiters)
#else
#define CPROBE_CONTENT_TRANCHE LWTRANCHE_BUFFER_CONTENT
#define CPROBE_CONTENT_LOCK(descriptor) ((void *) &(descriptor)->content_lock)
#define CPROBE_CONTENT_QUEUE(lock) (&((volatile LWLock *) (lock))->waiters)
#endif

/* 16: the parts of a buffer tag lost their nesting and were renamed. */
#if PG_VERSION_NUM >= 160000
#define CPROBE_TAG_TABLESPACE(tag) ((tag)->spcOid)
#define CPROBE_TAG_DATABASE(tag) ((tag)->dbOid)
#define CPROBE_TAG_RELATION(tag) ((tag)->relNumber)
#else
#define CPROBE_TAG_TABLESPACE(tag) ((tag)->rnode.spcNode)
#define CPROBE_TAG_DATABASE(tag) ((tag)->rnode.dbNode)
#define CPROBE_TAG_RELATION(tag) ((tag)->rnode.relNode)
#endif

/*
 * Private to lwlock.c: how an LWLock's state says who holds it.  18 moved the
 * exclusive bit next to the count of shared holders.
 */
#if PG_VERSION_NUM >= 180000
#define CPROBE_LWLOCK_EXCLUSIVE ((uint32) (MAX_BACKENDS + 1))
#define CPROBE_LWLOCK_SHARED_MASK ((uint32) MAX_BACKENDS)
#define CPROBE_LWLOCK_HAS_WAITERS ((uint32) 1 << 31)
#else
#define CPROBE_LWLOCK_EXCLUSIVE ((uint32) 1 << 24)
#define CPROBE_LWLOCK_SHARED_MASK (((uint32) 1 << 24) - 1)
#define CPROBE_LWLOCK_HAS_WAITERS ((uint32) 1 << 30)
#endif

/* 19: how a buffer's state says who holds its content lock. */
#if PG_VERSION_NUM >= 190000
#define CPROBE_BUFFER_STATE(descriptor) \
	pg_atomic_read_u64(&((BufferDesc *) (descriptor))->state)
#define CPROBE_BUFFER_IS_LOCKED_EXCLUSIVE(descriptor) \
	((CPROBE_BUFFER_STATE(descriptor) & \
	  (BM_LOCK_VAL_EXCLUSIVE | BM_LOCK_VAL_SHARE_EXCLUSIVE)) != 0)
#define CPROBE_BUFFER_SHARE_HOLDERS(descriptor) \
	((uint32) ((CPROBE_BUFFER_STATE(descriptor) & BM_LOCK_MASK & \
				~(BM_LOCK_VAL_EXCLUSIVE | BM_LOCK_VAL_SHARE_EXCLUSIVE)) >> \
			   BM_LOCK_SHIFT))
#else
#define CPROBE_BUFFER_IS_LOCKED_EXCLUSIVE(descriptor) ((void) (descriptor), false)
#define CPROBE_BUFFER_SHARE_HOLDERS(descriptor) ((void) (descriptor), 0)
#endif

/* 16: relation file nodes became relation file numbers. */
#if PG_VERSION_NUM >= 160000
#include "utils/relfilenumbermap.h"
#define CPROBE_RELATION_BY_FILE(tablespace, number) \
	RelidByRelfilenumber(tablespace, number)
#else
#include "utils/relfilenodemap.h"
#define CPROBE_RELATION_BY_FILE(tablespace, number) \
	RelidByRelfilenode(tablespace, number)
#endif

/*
 * 19: ForEachLWLockHeldByMe is gone; a process can only be asked about a lock
 * that is named.
 */
#if PG_VERSION_NUM >= 190000
#define CPROBE_LISTS_HELD_LWLOCKS 0
#else
#define CPROBE_LISTS_HELD_LWLOCKS 1
#endif

/* 17: BACKEND_NUM_TYPES appeared; before, the logger was the last type. */
#if PG_VERSION_NUM >= 170000
#define CPROBE_SERVER_BACKEND_TYPES BACKEND_NUM_TYPES
#else
#define CPROBE_SERVER_BACKEND_TYPES (B_LOGGER + 1)
#endif

/*
 * 17: extensions can name their wait events, up to 128 of them
 * (WAIT_EVENT_CUSTOM_HASH_MAX_SIZE, private to wait_event.c); asking for the
 * name of one that does not exist is an error, so their number is not probed.
 * Before, the class Extension had the one event.
 */
#if PG_VERSION_NUM >= 170000
#define CPROBE_CUSTOM_EVENTS 129
#else
#define CPROBE_CUSTOM_EVENTS 1
#endif

/*
 * The wait class of buffers: BufferPin until 18, with one event (15 has the
 * same name for every id, so it is not counted); in 19 content locks are
 * waits of this class, Buffer, as well.
 */
#if PG_VERSION_NUM >= 190000
#define CPROBE_WAIT_BUFFER PG_WAIT_BUFFER
#define CPROBE_BUFFER_EVENTS() cprobe_event_names_count(PG_WAIT_BUFFER)
#elif PG_VERSION_NUM >= 170000
#define CPROBE_WAIT_BUFFER PG_WAIT_BUFFERPIN
#define CPROBE_BUFFER_EVENTS() cprobe_event_names_count(PG_WAIT_BUFFERPIN)
#else
#define CPROBE_WAIT_BUFFER PG_WAIT_BUFFER_PIN
#define CPROBE_BUFFER_EVENTS() 1
#endif

/* 17: the names of wait events became those shown to users. */
#if PG_VERSION_NUM >= 170000
#define CPROBE_WAL_SENDER_IDLE_EVENT WAIT_EVENT_WAL_SENDER_WAIT_FOR_WAL
#else
#define CPROBE_WAL_SENDER_IDLE_EVENT WAIT_EVENT_WAL_SENDER_WAIT_WAL
#endif

/* 17: extensions name their wait events. */
#if PG_VERSION_NUM >= 170000
#define CPROBE_NEW_WAIT_EVENT(name) WaitEventExtensionNew(name)
#else
#define CPROBE_NEW_WAIT_EVENT(name) PG_WAIT_EXTENSION
#endif

/* 18: ExecutorRun lost its execute_once argument. */
#if PG_VERSION_NUM >= 180000
#define CPROBE_EXECUTOR_RUN_ARGS \
	QueryDesc *query_desc, ScanDirection direction, uint64 count
#define CPROBE_EXECUTOR_RUN_PASS query_desc, direction, count
#else
#define CPROBE_EXECUTOR_RUN_ARGS \
	QueryDesc *query_desc, ScanDirection direction, uint64 count, \
	bool execute_once
#define CPROBE_EXECUTOR_RUN_PASS query_desc, direction, count, execute_once
#endif

/* 19: the planner hook is told about EXPLAIN. */
#if PG_VERSION_NUM >= 190000
#define CPROBE_PLANNER_ARGS \
	Query *parse, const char *query_string, int cursor_options, \
	ParamListInfo bound_params, struct ExplainState *es
#define CPROBE_PLANNER_PASS \
	parse, query_string, cursor_options, bound_params, es
#else
#define CPROBE_PLANNER_ARGS \
	Query *parse, const char *query_string, int cursor_options, \
	ParamListInfo bound_params
#define CPROBE_PLANNER_PASS parse, query_string, cursor_options, bound_params
#endif

/*
 * Main shared memory's index of areas.  19: the segment's header names it no
 * longer; it stands at the start of the contents, in a structure of shmem.c
 * that is repeated here, and so does its lock, whose tranche tells whether
 * the structure is the one we know.
 */
#if PG_VERSION_NUM >= 190000
typedef struct CprobeServerAllocator
{
	Size		free_offset;
	slock_t		free_lock;
	struct HASHHDR *index;
	Size		index_bytes;
	LWLock		index_lock;
} CprobeServerAllocator;

typedef struct CprobeServerArea
{
	char		key[48];
	void	   *location;
	Size		size;
	Size		allocated_size;
	bool		initialized;
} CprobeServerArea;

#define CPROBE_SERVER_ALLOCATOR(header) \
	((CprobeServerAllocator *) ((char *) (header) + (header)->content_offset))
#define CPROBE_SERVER_INDEX(header) (CPROBE_SERVER_ALLOCATOR(header)->index)
#define CPROBE_SERVER_INDEX_LOCK(header) \
	(&CPROBE_SERVER_ALLOCATOR(header)->index_lock)
#define CPROBE_SERVER_INDEX_IS_KNOWN(header) \
	(CPROBE_SERVER_INDEX_LOCK(header)->tranche == LWTRANCHE_SHMEM_INDEX)
#else
#define CprobeServerArea ShmemIndexEnt
#define CPROBE_SERVER_INDEX(header) ((header)->index)
#define CPROBE_SERVER_INDEX_LOCK(header) ((void) (header), ShmemIndexLock)
#define CPROBE_SERVER_INDEX_IS_KNOWN(header) ((header)->index != NULL)
#endif

/* 17: SLRUs are divided into banks, each with a lock in an array. */
#if PG_VERSION_NUM >= 170000
#define CPROBE_SLRU_BANK_TRANCHES(X) \
	X(LWTRANCHE_XACT_SLRU) \
	X(LWTRANCHE_COMMITTS_SLRU) \
	X(LWTRANCHE_SUBTRANS_SLRU) \
	X(LWTRANCHE_MULTIXACTOFFSET_SLRU) \
	X(LWTRANCHE_MULTIXACTMEMBER_SLRU) \
	X(LWTRANCHE_NOTIFY_SLRU) \
	X(LWTRANCHE_SERIAL_SLRU)
#define CPROBE_SLRU_BANK_LOCKS_MEMBER offsetof(SlruSharedData, bank_locks)
#else
#define CPROBE_SLRU_BANK_TRANCHES(X)
#define CPROBE_SLRU_BANK_LOCKS_MEMBER 0
#endif

/*
 * Tranches of one lock.  19: the lock of shared memory's index has a tranche
 * of its own.
 */
#if PG_VERSION_NUM >= 190000
#define CPROBE_IS_LONE_TRANCHE(tranche) \
	((tranche) < NUM_INDIVIDUAL_LWLOCKS || (tranche) == LWTRANCHE_SHMEM_INDEX)
#else
#define CPROBE_IS_LONE_TRANCHE(tranche) ((tranche) < NUM_INDIVIDUAL_LWLOCKS)
#endif

/* 17: serializable transactions lost their list element's header. */
#if PG_VERSION_NUM >= 170000
#define CPROBE_SERIALIZABLE_STRIDE sizeof(SERIALIZABLEXACT)
#define CPROBE_SERIALIZABLE_MEMBER \
	offsetof(SERIALIZABLEXACT, perXactPredicateListLock)
#else
#define CPROBE_SERIALIZABLE_STRIDE PredXactListElementDataSize
#define CPROBE_SERIALIZABLE_MEMBER \
	(offsetof(PredXactListElementData, sxact) + \
	 offsetof(SERIALIZABLEXACT, perXactPredicateListLock))
#endif

/* 18: replication origins have a setting of their own. */
#if PG_VERSION_NUM >= 180000
#define CPROBE_MAX_ORIGINS max_active_replication_origins
#else
#define CPROBE_MAX_ORIGINS max_replication_slots
#endif

/* 19: REPACK has replication slots behind the others. */
#if PG_VERSION_NUM >= 190000
#define CPROBE_MAX_SLOTS (max_replication_slots + max_repack_replication_slots)
#else
#define CPROBE_MAX_SLOTS max_replication_slots
#endif

/*
 * Kinds of statistics that exist once and have their lock in the control
 * structure: members of PgStat_ShmemControl.  16: I/O, which has a lock for
 * each backend type.  19: heavyweight locks.
 */
#if PG_VERSION_NUM >= 190000
#define CPROBE_STATS_MEMBERS(X) \
	X(archiver) X(bgwriter) X(checkpointer) X(io) X(lock) X(slru) X(wal)
#elif PG_VERSION_NUM >= 160000
#define CPROBE_STATS_MEMBERS(X) \
	X(archiver) X(bgwriter) X(checkpointer) X(io) X(slru) X(wal)
#else
#define CPROBE_STATS_MEMBERS(X) \
	X(archiver) X(bgwriter) X(checkpointer) X(slru) X(wal)
#endif

/*
 * What only the test module needs.  18: the flag of an LWLock with waiters
 * moved.  19: the server keeps the names of all tranches; content locks are
 * no LWLocks.
 */
#if PG_VERSION_NUM >= 180000
#define CPROBE_LWLOCK_HAS_WAITERS ((uint32) 1 << 31)
#else
#define CPROBE_LWLOCK_HAS_WAITERS ((uint32) 1 << 30)
#endif
#if PG_VERSION_NUM >= 190000
#define CPROBE_NEW_TRANCHE_ID(name) LWLockNewTrancheId(name)
#define CPROBE_REGISTER_TRANCHE(id, name) ((void) (id), (void) (name))
#define CPROBE_CONTENT_LWLOCK(descriptor) ((void) (descriptor), (LWLock *) NULL)
#else
#define CPROBE_NEW_TRANCHE_ID(name) ((void) (name), LWLockNewTrancheId())
#define CPROBE_REGISTER_TRANCHE(id, name) LWLockRegisterTranche(id, name)
#define CPROBE_CONTENT_LWLOCK(descriptor) \
	BufferDescriptorGetContentLock(descriptor)
#endif

/*
 * Kinds of cumulative statistics.  18: extensions may add some, ids have holes
 * (pgstat_get_kind_info says NULL), and kinds that exist once are flushed by a
 * callback as well.
 */
#if PG_VERSION_NUM >= 180000
#define CPROBE_STATS_KIND_FIRST PGSTAT_KIND_MIN
#define CPROBE_STATS_KIND_LAST PGSTAT_KIND_MAX
#define CPROBE_STATS_KINDS (PGSTAT_KIND_MAX + 1)
#define CPROBE_HAS_STATIC_FLUSH 1
#else
#define CPROBE_STATS_KIND_FIRST PGSTAT_KIND_FIRST_VALID
#define CPROBE_STATS_KIND_LAST PGSTAT_KIND_LAST
#define CPROBE_STATS_KINDS PGSTAT_NUM_KINDS
#define CPROBE_HAS_STATIC_FLUSH 0
#endif

/* 17: the variable that an LWLock protects became an atomic one. */
#if PG_VERSION_NUM >= 170000
#define CPROBE_LOCK_VARIABLE pg_atomic_uint64
#else
#define CPROBE_LOCK_VARIABLE uint64
#endif

/* 19: the inserter of a WAL record tells the size of its page images. */
#if PG_VERSION_NUM >= 190000
#define CPROBE_WAL_INSERT_ARGS \
	struct XLogRecData *data, XLogRecPtr page_lsn, uint8 flags, \
	int page_images, uint64 page_image_bytes, bool top_xid_included
#define CPROBE_WAL_INSERT_PASS \
	data, page_lsn, flags, page_images, page_image_bytes, top_xid_included
#else
#define CPROBE_WAL_INSERT_ARGS \
	struct XLogRecData *data, XLogRecPtr page_lsn, uint8 flags, \
	int page_images, bool top_xid_included
#define CPROBE_WAL_INSERT_PASS \
	data, page_lsn, flags, page_images, top_xid_included
#endif

/*
 * 18: a process's count of full WAL buffers moved to the usage counters, to
 * which the leader of a parallel query adds what its workers have counted.
 */
#if PG_VERSION_NUM >= 180000
#include "executor/instrument.h"
#define CPROBE_WAL_BUFFERS_FULL_IS_OWN 0
#define CPROBE_WAL_BUFFERS_FULL_COUNT() ((uint64) pgWalUsage.wal_buffers_full)
#else
#include "pgstat.h"
#define CPROBE_WAL_BUFFERS_FULL_IS_OWN 1
#define CPROBE_WAL_BUFFERS_FULL_COUNT() \
	((uint64) PendingWalStats.wal_buffers_full)
#endif

/* A variable of this library that is not looked up through a table. */
#define CPROBE_HIDDEN __attribute__((visibility("hidden")))

/*
 * Private to bgworker.c, the same in all majors: which registration of a
 * dynamic worker.  Kept in shared memory, so that a process can end a worker
 * that another one started.
 */
typedef struct CprobeServerWorkerHandle
{
	int			slot;
	uint64		generation;
} CprobeServerWorkerHandle;

/* 18: a module can tell its name and version (pg_get_loaded_modules). */
#if PG_VERSION_NUM >= 180000
#define CPROBE_MODULE_MAGIC \
	PG_MODULE_MAGIC_EXT(.name = "contention_probe", .version = "0.1")
#else
#define CPROBE_MODULE_MAGIC PG_MODULE_MAGIC
#endif

#endif							/* CPROBE_COMPAT_H */
