/*-------------------------------------------------------------------------
 *
 * map_rows.c
 *	  Collecting, sorting and merging the entries of a counter map.
 *
 * Separate: see map_rows.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "sql/map_rows.h"

typedef struct CprobeMapRowsShape
{
	uint32		key_words;
	uint32		value_words;
	uint64		maxima;
} CprobeMapRowsShape;

static int
cprobe_map_rows_compare(const void *a, const void *b, void *arg)
{
	const CprobeMapRow *left = a;
	const CprobeMapRow *right = b;
	const CprobeMapRowsShape *shape = arg;

	for (uint32 i = 0; i < shape->key_words; i++)
	{
		if (left->key[i] != right->key[i])
			return left->key[i] < right->key[i] ? -1 : 1;
	}
	return 0;
}

static void
cprobe_map_rows_add(CprobeMapRow *sum, const CprobeMapRow *row,
					const CprobeMapRowsShape *shape)
{
	for (uint32 i = 0; i < shape->value_words; i++)
	{
		if ((shape->maxima >> i) & 1)
			sum->values[i] = Max(sum->values[i], row->values[i]);
		else
			sum->values[i] += row->values[i];
	}
}

/* Rows are sorted: join neighbours of the same key. */
static void
cprobe_map_rows_merge(CprobeMapRows *rows, CprobeMapRowsShape *shape)
{
	uint32		last = 0;

	for (uint32 i = 1; i < rows->count; i++)
	{
		if (cprobe_map_rows_compare(&rows->rows[last], &rows->rows[i],
									shape) == 0)
			cprobe_map_rows_add(&rows->rows[last], &rows->rows[i], shape);
		else
			rows->rows[++last] = rows->rows[i];
	}
	if (rows->count > 0)
		rows->count = last + 1;
}

CprobeMapRows
cprobe_map_rows_read(CprobeSharedMap *map, uint32 epoch, uint64 maxima,
					 uint64 key_mask)
{
	CprobeMapRowsShape shape = {
		.key_words = map->key_words,
		.value_words = map->value_words,
		.maxima = maxima,
	};
	CprobeMapRows rows = {0};
	uint32		room = cprobe_map_used(map, epoch) + 64;
	uint32		position = 0;

	rows.rows = palloc_extended(room * sizeof(CprobeMapRow), MCXT_ALLOC_HUGE);
	while (rows.count < room &&
		   cprobe_map_next(map, epoch, &position, &rows.rows[rows.count]))
	{
		CHECK_FOR_INTERRUPTS();
		rows.rows[rows.count].key[0] &= key_mask;
		rows.count++;
	}
	qsort_arg(rows.rows, rows.count, sizeof(CprobeMapRow),
			  cprobe_map_rows_compare, &shape);
	cprobe_map_rows_merge(&rows, &shape);
	return rows;
}
