/*-------------------------------------------------------------------------
 *
 * rows.h
 *	  Putting together the result of a set-returning function.
 *
 * Separate so that each function behind a view reads as the list of its
 * columns.
 *
 * Backends only; these throw and allocate as SQL functions do.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_ROWS_H
#define CPROBE_ROWS_H

#include "datatype/timestamp.h"
#include "fmgr.h"
#include "nodes/execnodes.h"

#define CPROBE_ROWS_MAX_COLUMNS 32

typedef struct CprobeRows
{
	ReturnSetInfo *result;
	int			columns;		/* of the result */
	int			column;			/* next one to be put */
	bool		all_stats;		/* caller may see other users' details */
	Oid			caller;
	Datum		values[CPROBE_ROWS_MAX_COLUMNS];
	bool		nulls[CPROBE_ROWS_MAX_COLUMNS];
} CprobeRows;

/*
 * Start the result.  Throws if the library was not preloaded, or if the
 * function was declared with another number of columns.
 */
extern void cprobe_rows_begin(CprobeRows *rows, FunctionCallInfo fcinfo,
							  int columns);

/* Put the next column of the row. */
extern void cprobe_rows_put_null(CprobeRows *rows);
extern void cprobe_rows_put_text(CprobeRows *rows, const char *text);
extern void cprobe_rows_put_bool(CprobeRows *rows, bool value);
extern void cprobe_rows_put_int4(CprobeRows *rows, int32 value);
extern void cprobe_rows_put_int8(CprobeRows *rows, uint64 value);
extern void cprobe_rows_put_float8(CprobeRows *rows, double value);
extern void cprobe_rows_put_timestamp(CprobeRows *rows, TimestampTz value);

/* Nanoseconds, shown in ms. */
extern void cprobe_rows_put_ms(CprobeRows *rows, double ns);

/* InvalidOid is NULL. */
extern void cprobe_rows_put_oid(CprobeRows *rows, Oid value);

/* 0 is NULL. */
extern void cprobe_rows_put_query_id(CprobeRows *rows, uint64 value);
extern void cprobe_rows_put_pid(CprobeRows *rows, int pid);

/* Type and name of a wait event; 0 is a process on CPU, or unknown. */
extern void cprobe_rows_put_event(CprobeRows *rows, uint32 info);

/* Arrays of that many elements; they are copied. */
extern void cprobe_rows_put_int4_array(CprobeRows *rows, const int *values,
									   int count);
extern void cprobe_rows_put_float8_array(CprobeRows *rows,
										 const double *values, int count);

/* A value of the column's type that has no function of its own here. */
extern void cprobe_rows_put_datum(CprobeRows *rows, Datum value);

/* Append the row; every column must have been put. */
extern void cprobe_rows_end_row(CprobeRows *rows);

/*
 * May the caller see pid and query id of that user's processes?  Users see
 * their own, members of pg_read_all_stats those of all; processes without a
 * user are only for the latter.
 */
extern bool cprobe_rows_may_see(const CprobeRows *rows, Oid user_id);

#endif							/* CPROBE_ROWS_H */
