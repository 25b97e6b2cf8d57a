/*-------------------------------------------------------------------------
 *
 * stacks.c
 *	  Function behind the view wait_stacks: completed waits by call path.
 *
 * Separate from the other views of completed waits, for here names are looked
 * up in files.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "probe/event_names.h"
#include "probe/stacks.h"
#include "probe/symbols.h"
#include "sql/rows.h"

PG_FUNCTION_INFO_V1(cprobe_wait_stacks);

#define CPROBE_WAIT_STACKS_COLUMNS 5

static void
cprobe_stacks_put_row(CprobeRows *rows, CprobeSymbols *symbols,
					  const CprobeStackRow *row)
{
	CprobeEvent event = cprobe_event_index_describe(&cprobe_region->events,
													row->event);
	char	   *path = cprobe_symbols_path(symbols, row->frames, row->depth);

	cprobe_rows_put_text(rows, cprobe_event_names_type(&event));
	cprobe_rows_put_text(rows, cprobe_event_names_event(&event));
	cprobe_rows_put_text(rows, path[0] != '\0' ? path : NULL);
	cprobe_rows_put_int8(rows, row->waits);
	cprobe_rows_put_ms(rows, (double) row->time_ns);
	cprobe_rows_end_row(rows);
	pfree(path);
}

/*
 * Different call sites in the same functions give rows that read alike: the
 * view adds them up.  An entry without waits is that of a process that is in
 * its first wait from there.
 */
Datum
cprobe_wait_stacks(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeStackRow row;
	CprobeSymbols *symbols;
	uint32		position = 0;
	uint32		epoch;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_WAIT_STACKS_COLUMNS);
	epoch = cprobe_region_epoch();
	symbols = cprobe_symbols_begin();
	while (cprobe_stack_next(epoch, &position, &row))
	{
		CHECK_FOR_INTERRUPTS();
		if (row.waits > 0)
			cprobe_stacks_put_row(&rows, symbols, &row);
	}
	return (Datum) 0;
}
