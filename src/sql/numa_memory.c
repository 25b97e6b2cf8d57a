/*-------------------------------------------------------------------------
 *
 * numa_memory.c
 *	  Functions behind the view numa_memory, and numa_refresh().
 *
 * Separate from the views of processes and locks: here a row is memory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "probe/numa_areas.h"
#include "sql/rows.h"

PG_FUNCTION_INFO_V1(cprobe_numa_memory);
PG_FUNCTION_INFO_V1(cprobe_numa_refresh);

#define CPROBE_NUMA_MEMORY_COLUMNS 12

/* Some pages of an area that have a place, or lack of it, in common. */
typedef struct CprobeNumaPart
{
	int			node;			/* -1 = none */
	uint32		pages;			/* of those looked at */
	const char *reason;			/* why there is no node */
} CprobeNumaPart;

static void
cprobe_numa_memory_put_nulls(CprobeRows *rows, int count)
{
	while (count-- > 0)
		cprobe_rows_put_null(rows);
}

static void
cprobe_numa_memory_put_share(CprobeRows *rows, const CprobeNumaArea *area,
							 uint32 pages)
{
	uint64		placed = area->looked_at - area->unmapped - area->absent;
	uint64		total = area->pages * placed / area->looked_at;
	double		low;
	double		high;

	cprobe_share_interval(pages, placed, Max(total, placed), &low, &high);
	cprobe_rows_put_float8(rows, (double) pages / (double) placed);
	cprobe_rows_put_float8(rows, low);
	cprobe_rows_put_float8(rows, high);
}

static void
cprobe_numa_memory_put_part(CprobeRows *rows, const CprobeNumaAreas *answers,
							const CprobeNumaArea *area,
							const CprobeNumaPart *part)
{
	bool		exact = area->looked_at == area->pages;
	uint64		pages = exact ? part->pages :
	(uint64) ((double) area->pages * part->pages / area->looked_at + 0.5);

	if (part->pages == 0)
		return;
	cprobe_rows_put_text(rows, area->name);
	if (part->node >= 0)
		cprobe_rows_put_int4(rows, part->node);
	else
		cprobe_rows_put_null(rows);
	cprobe_rows_put_int8(rows, pages);
	cprobe_rows_put_int8(rows, pages * answers->page_bytes);
	cprobe_rows_put_int8(rows, answers->page_bytes);
	cprobe_rows_put_text(rows, exact ? "exact" : "sample");
	cprobe_rows_put_text(rows, part->reason);
	if (part->node >= 0)
		cprobe_numa_memory_put_share(rows, area, part->pages);
	else
		cprobe_numa_memory_put_nulls(rows, 3);
	cprobe_rows_put_int8(rows, area->looked_at);
	cprobe_rows_put_timestamp(rows, answers->taken_at);
	cprobe_rows_end_row(rows);
}

/* An area that nothing is known of. */
static void
cprobe_numa_memory_put_refused(CprobeRows *rows,
							   const CprobeNumaAreas *answers,
							   const CprobeNumaArea *area)
{
	cprobe_rows_put_text(rows, area->name);
	cprobe_rows_put_null(rows);
	cprobe_rows_put_int8(rows, area->pages);
	cprobe_rows_put_int8(rows, area->pages * answers->page_bytes);
	cprobe_rows_put_int8(rows, answers->page_bytes);
	cprobe_rows_put_null(rows);
	cprobe_rows_put_text(rows, psprintf("move_pages is refused: %s",
										strerror(answers->error)));
	cprobe_numa_memory_put_nulls(rows, 3);
	cprobe_rows_put_int8(rows, 0);
	cprobe_rows_put_timestamp(rows, answers->taken_at);
	cprobe_rows_end_row(rows);
}

static void
cprobe_numa_memory_put_area(CprobeRows *rows, const CprobeNumaAreas *answers,
							const CprobeNumaArea *area)
{
	CprobeNumaPart part = {0};

	if (answers->error != 0)
	{
		cprobe_numa_memory_put_refused(rows, answers, area);
		return;
	}
	for (part.node = 0; part.node < CPROBE_MAX_NODES; part.node++)
	{
		part.pages = area->on_node[part.node];
		cprobe_numa_memory_put_part(rows, answers, area, &part);
	}
	part.node = -1;
	part.pages = area->absent;
	part.reason = "not in memory: never touched, or swapped out";
	cprobe_numa_memory_put_part(rows, answers, area, &part);
	part.pages = area->unmapped;
	part.reason = "not mapped by any of the processes that were asked";
	cprobe_numa_memory_put_part(rows, answers, area, &part);
}

Datum
cprobe_numa_memory(PG_FUNCTION_ARGS)
{
	CprobeRows	rows;
	CprobeNumaAreas *answers;

	cprobe_rows_begin(&rows, fcinfo, CPROBE_NUMA_MEMORY_COLUMNS);
	answers = cprobe_numa_areas_read();
	if (answers->taken_at == 0)
	{
		cprobe_numa_areas_refresh();
		answers = cprobe_numa_areas_read();
	}
	for (uint32 i = 0; i < answers->area_count; i++)
		cprobe_numa_memory_put_area(&rows, answers, &answers->areas[i]);
	return (Datum) 0;
}

/* Look now; how long that took, in ms. */
Datum
cprobe_numa_refresh(PG_FUNCTION_ARGS)
{
	(void) fcinfo;
	cprobe_region_require();
	cprobe_numa_areas_refresh();
	PG_RETURN_FLOAT8((double) cprobe_numa_areas_read()->taken_in_ns / 1e6);
}
