/*-------------------------------------------------------------------------
 *
 * rows.c
 *	  Putting together the result of a set-returning function.
 *
 * Separate: see rows.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "machine/clock.h"
#include "probe/event_names.h"
#include "probe/region.h"
#include "sql/rows.h"

#define CPROBE_CPU_TYPE "CPU"
#define CPROBE_CPU_EVENT "CPU or unknown"

void
cprobe_rows_begin(CprobeRows *rows, FunctionCallInfo fcinfo, int columns)
{
	cprobe_region_require();
	InitMaterializedSRF(fcinfo, 0);
	rows->result = (ReturnSetInfo *) fcinfo->resultinfo;
	rows->columns = columns;
	rows->column = 0;
	rows->caller = GetUserId();
	rows->all_stats = has_privs_of_role(rows->caller,
										ROLE_PG_READ_ALL_STATS);
	if (rows->result->setDesc->natts != columns)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("function returns %d columns but is declared with %d",
						columns, rows->result->setDesc->natts),
				 errhint("Run ALTER EXTENSION contention_probe UPDATE.")));
}

static void
cprobe_rows_put(CprobeRows *rows, Datum value, bool is_null)
{
	Assert(rows->column < rows->columns);
	rows->values[rows->column] = value;
	rows->nulls[rows->column] = is_null;
	rows->column++;
}

void
cprobe_rows_put_datum(CprobeRows *rows, Datum value)
{
	cprobe_rows_put(rows, value, false);
}

void
cprobe_rows_put_null(CprobeRows *rows)
{
	cprobe_rows_put(rows, (Datum) 0, true);
}

void
cprobe_rows_put_text(CprobeRows *rows, const char *text)
{
	if (text == NULL)
		cprobe_rows_put_null(rows);
	else
		cprobe_rows_put(rows, CStringGetTextDatum(text), false);
}

void
cprobe_rows_put_bool(CprobeRows *rows, bool value)
{
	cprobe_rows_put(rows, BoolGetDatum(value), false);
}

void
cprobe_rows_put_int4(CprobeRows *rows, int32 value)
{
	cprobe_rows_put(rows, Int32GetDatum(value), false);
}

void
cprobe_rows_put_int8(CprobeRows *rows, uint64 value)
{
	cprobe_rows_put(rows, Int64GetDatum((int64) value), false);
}

void
cprobe_rows_put_float8(CprobeRows *rows, double value)
{
	cprobe_rows_put(rows, Float8GetDatum(value), false);
}

void
cprobe_rows_put_timestamp(CprobeRows *rows, TimestampTz value)
{
	if (value == 0)
		cprobe_rows_put_null(rows);
	else
		cprobe_rows_put(rows, TimestampTzGetDatum(value), false);
}

void
cprobe_rows_put_ms(CprobeRows *rows, double ns)
{
	cprobe_rows_put_float8(rows, ns / CPROBE_NS_PER_MS);
}

void
cprobe_rows_put_oid(CprobeRows *rows, Oid value)
{
	cprobe_rows_put(rows, ObjectIdGetDatum(value), !OidIsValid(value));
}

void
cprobe_rows_put_query_id(CprobeRows *rows, uint64 value)
{
	cprobe_rows_put(rows, Int64GetDatum((int64) value), value == 0);
}

void
cprobe_rows_put_pid(CprobeRows *rows, int pid)
{
	cprobe_rows_put(rows, Int32GetDatum(pid), pid == 0);
}

void
cprobe_rows_put_event(CprobeRows *rows, uint32 info)
{
	if (info == 0)
	{
		cprobe_rows_put_text(rows, CPROBE_CPU_TYPE);
		cprobe_rows_put_text(rows, CPROBE_CPU_EVENT);
		return;
	}
	cprobe_rows_put_text(rows, cprobe_event_names_info_type(info));
	cprobe_rows_put_text(rows, cprobe_event_names_info_event(info));
}

void
cprobe_rows_put_int4_array(CprobeRows *rows, const int *values, int count)
{
	Datum	   *elements = palloc(Max(count, 1) * sizeof(Datum));

	for (int i = 0; i < count; i++)
		elements[i] = Int32GetDatum(values[i]);
	cprobe_rows_put(rows,
					PointerGetDatum(construct_array(elements, count, INT4OID,
													sizeof(int32), true,
													TYPALIGN_INT)),
					false);
	pfree(elements);
}

void
cprobe_rows_put_float8_array(CprobeRows *rows, const double *values,
							 int count)
{
	Datum	   *elements = palloc(Max(count, 1) * sizeof(Datum));

	for (int i = 0; i < count; i++)
		elements[i] = Float8GetDatum(values[i]);
	cprobe_rows_put(rows,
					PointerGetDatum(construct_array(elements, count,
													FLOAT8OID, sizeof(float8),
													FLOAT8PASSBYVAL,
													TYPALIGN_DOUBLE)),
					false);
	pfree(elements);
}

void
cprobe_rows_end_row(CprobeRows *rows)
{
	Assert(rows->column == rows->columns);
	tuplestore_putvalues(rows->result->setResult, rows->result->setDesc,
						 rows->values, rows->nulls);
	rows->column = 0;
}

bool
cprobe_rows_may_see(const CprobeRows *rows, Oid user_id)
{
	if (rows->all_stats)
		return true;
	return OidIsValid(user_id) && has_privs_of_role(rows->caller, user_id);
}
