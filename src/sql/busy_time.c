/*-------------------------------------------------------------------------
 *
 * busy_time.c
 *	  Adding up the samples of processes at work.
 *
 * Separate: see busy_time.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "machine/clock.h"
#include "probe/region.h"
#include "sampler/tick.h"
#include "sql/busy_time.h"

double
cprobe_busy_time_ns(void)
{
	CprobeMapRow row;
	uint32		position = 0;
	uint32		epoch = cprobe_region_epoch();
	uint64		samples = 0;
	uint64		ticks = pg_atomic_read_u64(&cprobe_region->sampler.ticks);
	uint64		since_ns = pg_atomic_read_u64(&cprobe_region->reset_at_ns);

	if (ticks == 0)
		return 0;
	while (cprobe_map_next(cprobe_region_profile(), epoch, &position, &row))
	{
		CHECK_FOR_INTERRUPTS();
		if (!cprobe_profile_key_unpack(row.key).idle)
			samples += row.values[0];
	}
	/* A sample stands for the time from one tick to the next. */
	return (double) samples * (double) (cprobe_clock_now_ns() - since_ns) /
		(double) ticks;
}
