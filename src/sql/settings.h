/*-------------------------------------------------------------------------
 *
 * settings.h
 *	  Settings that the views show.
 *
 * Separate so that the functions behind the views need not include the
 * loader, which lies above them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_SETTINGS_H
#define CPROBE_SETTINGS_H

#include "probe/region.h"

typedef enum CprobeInstrument
{
	CPROBE_INSTRUMENT_NONE,		/* sampling only */
	CPROBE_INSTRUMENT_WAITS,	/* library calls that sleep */
	CPROBE_INSTRUMENT_FULL		/* code paths that do not sleep as well */
} CprobeInstrument;

/* GUC contention_probe.instrument, a CprobeInstrument */
extern int	cprobe_instrument;

/* Why less than that is measured; NULL if all of it is. Set at start. */
extern const char *cprobe_instrument_reason;

/* GUCs that size the region. */
extern CprobeRegionLimits cprobe_settings_limits(void);

#endif							/* CPROBE_SETTINGS_H */
