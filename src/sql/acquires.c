/*-------------------------------------------------------------------------
 *
 * acquires.c
 *	  Acquisitions and hold times of a lock or a tranche.
 *
 * Separate: see acquires.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "probe/shmem_areas.h"
#include "probe/wal_insert_locks.h"
#include "sql/acquires.h"

/* What the cells of one lock or tranche add up to. */
typedef struct CprobeAcquireSum
{
	uint64		counts[CPROBE_CELL_COUNTS];
	uint64		hold_ns;
	CprobeHistogram holds;
} CprobeAcquireSum;

CprobeAcquires *
cprobe_acquires_read(void)
{
	CprobeAcquires *acquires = palloc0(sizeof(*acquires));

	acquires->epoch = cprobe_region_epoch();
	if (cprobe_code_is_active())
		acquires->counts = cprobe_code_read();
	return acquires;
}

/* Tranche of the locks that are counted in a cell. */
static uint16
cprobe_acquires_tranche(uint32 cell)
{
	if (cell < CPROBE_FIRST_WAL_CELL)
		return MainLWLockArray[cell].lock.tranche;
	if (cell < CPROBE_FIRST_TRANCHE_CELL)
		return LWTRANCHE_WAL_INSERT;
	return (uint16) (cell - CPROBE_FIRST_TRANCHE_CELL);
}

static bool
cprobe_acquires_is_used(const CprobeAcquires *acquires, uint32 cell)
{
	for (int i = 0; i < CPROBE_CELL_COUNTS; i++)
	{
		if (acquires->counts->cells[cell][i] != 0)
			return true;
	}
	return false;
}

static void
cprobe_acquires_add(CprobeAcquires *acquires, uint32 cell,
					CprobeAcquireSum *sum)
{
	CprobeSharedHold *hold = cprobe_code_hold(acquires->epoch, cell);

	acquires->shown[cell] = true;
	for (int i = 0; i < CPROBE_CELL_COUNTS; i++)
		sum->counts[i] += acquires->counts->cells[cell][i];
	sum->hold_ns += pg_atomic_read_u64(&hold->time_ns);
	cprobe_histogram_merge(&sum->holds, &hold->histogram);
}

static void
cprobe_acquires_put_holds(CprobeRows *rows, const CprobeAcquireSum *sum)
{
	cprobe_rows_put_int8(rows, sum->holds.total);
	if (sum->holds.total == 0)
	{
		cprobe_rows_put_null(rows);
		cprobe_rows_put_null(rows);
		cprobe_rows_put_null(rows);
		return;
	}
	cprobe_rows_put_ms(rows, (double) sum->hold_ns /
					   (double) sum->holds.total);
	cprobe_rows_put_ms(rows, (double) sum->holds.max_ns);
	cprobe_rows_put_ms(rows, cprobe_histogram_quantile_ns(&sum->holds, 0.95));
}

static void
cprobe_acquires_put(CprobeRows *rows, const CprobeAcquireSum *sum,
					uint64 waits)
{
	uint64		acquires = sum->counts[CPROBE_CELL_SHARED] +
	sum->counts[CPROBE_CELL_EXCLUSIVE];

	cprobe_rows_put_int8(rows, sum->counts[CPROBE_CELL_SHARED]);
	cprobe_rows_put_int8(rows, sum->counts[CPROBE_CELL_EXCLUSIVE]);
	cprobe_rows_put_int8(rows, sum->counts[CPROBE_CELL_CONDITIONAL_FAILURES]);
	if (acquires == 0)
		cprobe_rows_put_null(rows);
	else
		cprobe_rows_put_float8(rows, (double) waits / (double) acquires);
	cprobe_acquires_put_holds(rows, sum);
}

static void
cprobe_acquires_put_nulls(CprobeRows *rows)
{
	for (int i = 0; i < CPROBE_ACQUIRES_COLUMNS; i++)
		cprobe_rows_put_null(rows);
}

void
cprobe_acquires_put_lock(CprobeRows *rows, CprobeAcquires *acquires,
						 CprobeLockKey lock, uint64 waits)
{
	CprobeAcquireSum sum = {0};
	uint64		offset = CPROBE_LOCK_KEY_OFFSET(lock);
	uint32		cell = CPROBE_CELLS;

	if (acquires->counts != NULL && offset != 0 &&
		CPROBE_LOCK_KEY_TRANCHE(lock) != CPROBE_TRANCHE_BUFFER)
		cell = cprobe_code_cell(cprobe_shmem_address(offset));
	if (cell >= CPROBE_FIRST_TRANCHE_CELL)
	{
		cprobe_acquires_put_nulls(rows);
		return;
	}
	cprobe_acquires_add(acquires, cell, &sum);
	cprobe_acquires_put(rows, &sum, waits);
}

void
cprobe_acquires_put_tranche(CprobeRows *rows, CprobeAcquires *acquires,
							uint16 tranche, uint64 waits)
{
	CprobeAcquireSum sum = {0};

	if (acquires->counts == NULL)
	{
		cprobe_acquires_put_nulls(rows);
		return;
	}
	for (uint32 cell = 0; cell < CPROBE_CELLS; cell++)
	{
		if (cprobe_acquires_tranche(cell) == tranche)
			cprobe_acquires_add(acquires, cell, &sum);
	}
	cprobe_acquires_put(rows, &sum, waits);
}

static bool
cprobe_acquires_is_left(const CprobeAcquires *acquires, uint32 cell)
{
	return !acquires->shown[cell] && cprobe_acquires_is_used(acquires, cell);
}

bool
cprobe_acquires_next_lock(CprobeAcquires *acquires, CprobeLockKey *lock)
{
	if (acquires->counts == NULL)
		return false;
	for (uint32 cell = 0; cell < CPROBE_FIRST_WAL_CELL; cell++)
	{
		LWLock	   *address = &MainLWLockArray[cell].lock;

		if (!cprobe_acquires_is_left(acquires, cell))
			continue;
		*lock = CPROBE_LOCK_KEY(address->tranche, cprobe_shmem_offset(address));
		return CPROBE_LOCK_KEY_OFFSET(*lock) != 0;
	}
	for (int i = 0; i < cprobe_wal_insert_lock_count(); i++)
	{
		LWLock	   *address = cprobe_wal_insert_lock(i);

		if (!cprobe_acquires_is_left(acquires, cprobe_code_cell(address)))
			continue;
		*lock = CPROBE_LOCK_KEY(LWTRANCHE_WAL_INSERT,
								cprobe_shmem_offset(address));
		return true;
	}
	return false;
}

bool
cprobe_acquires_next_tranche(CprobeAcquires *acquires, CprobeLockKey *lock)
{
	if (acquires->counts == NULL)
		return false;
	for (uint32 cell = 0; cell < CPROBE_CELLS; cell++)
	{
		if (!cprobe_acquires_is_left(acquires, cell))
			continue;
		*lock = CPROBE_LOCK_KEY(cprobe_acquires_tranche(cell), 0);
		return true;
	}
	return false;
}
