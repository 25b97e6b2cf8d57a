/*-------------------------------------------------------------------------
 *
 * site_table.c
 *	  Finding and claiming the entry of a place in the source.
 *
 * Separate: see site_table.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "store/site_table.h"

/* Looks at a maximum that others raise too. */
#define CPROBE_SITE_MAX_TRIES 16

/*
 * Entries that this process found before, by the address of the text and the
 * line: within a process the same place has the same text.
 */
#define CPROBE_SITE_CACHE 64

typedef struct CprobeSiteCached
{
	const char *file;
	int			line;
	CprobeSharedSite *site;
} CprobeSiteCached;

static CprobeSiteCached cprobe_site_cache[CPROBE_SITE_CACHE];

static bool
cprobe_site_is(const CprobeSharedSite *site, const CprobePlace *place)
{
	return site->line == place->line &&
		strncmp(site->file, place->file, CPROBE_SITE_FILE_BYTES - 1) == 0 &&
		strncmp(site->function, place->function,
				CPROBE_SITE_FUNCTION_BYTES - 1) == 0;
}

static void
cprobe_site_fill(CprobeSharedSite *site, const CprobePlace *place)
{
	site->line = place->line;
	strlcpy(site->file, place->file, CPROBE_SITE_FILE_BYTES);
	strlcpy(site->function, place->function, CPROBE_SITE_FUNCTION_BYTES);
	pg_write_barrier();
	pg_atomic_write_u32(&site->state, CPROBE_SITE_READY);
}

static CprobeSharedSite *
cprobe_sites_claim(CprobeSharedSites *sites, const CprobePlace *place)
{
	for (int i = 0; i < CPROBE_SITES; i++)
	{
		CprobeSharedSite *site = &sites->sites[i];
		uint32		state = pg_atomic_read_u32(&site->state);

		if (state == CPROBE_SITE_FREE &&
			pg_atomic_compare_exchange_u32(&site->state, &state,
										   CPROBE_SITE_FILLING))
		{
			cprobe_site_fill(site, place);
			return site;
		}
		pg_read_barrier();
		if (state == CPROBE_SITE_READY && cprobe_site_is(site, place))
			return site;
	}
	return NULL;
}

static CprobeSharedSite *
cprobe_sites_find(CprobeSharedSites *sites, const CprobePlace *place)
{
	uintptr_t	hash = (uintptr_t) place->file + (uintptr_t) place->line;
	CprobeSiteCached *cached = &cprobe_site_cache[hash % CPROBE_SITE_CACHE];

	if (cached->file == place->file && cached->line == place->line &&
		cached->site != NULL)
		return cached->site;
	cached->site = cprobe_sites_claim(sites, place);
	cached->file = place->file;
	cached->line = place->line;
	return cached->site;
}

void
cprobe_sites_add(CprobeSharedSites *sites, uint32 epoch,
				 const CprobePlace *place, const CprobeSpinEvent *event)
{
	CprobePlace known = {
		.file = place->file != NULL ? place->file : "",
		.function = place->function != NULL ? place->function : "",
		.line = place->line,
	};
	CprobeSharedSite *site = cprobe_sites_find(sites, &known);
	CprobeSharedSpins *spins;
	uint64		max_ns;
	int			tries = CPROBE_SITE_MAX_TRIES;

	if (site == NULL)
	{
		pg_atomic_fetch_add_u64(&sites->dropped, 1);
		return;
	}
	spins = &site->spins[epoch % CPROBE_SITE_PARITIES];
	pg_atomic_fetch_add_u64(&spins->contended, 1);
	pg_atomic_fetch_add_u64(&spins->spins, event->spins);
	pg_atomic_fetch_add_u64(&spins->sleeps, event->sleeps);
	pg_atomic_fetch_add_u64(&spins->time_ns, event->time_ns);
	max_ns = pg_atomic_read_u64(&spins->max_ns);
	while (event->time_ns > max_ns && tries-- > 0)
	{
		if (pg_atomic_compare_exchange_u64(&spins->max_ns, &max_ns,
										   event->time_ns))
			break;
	}
}

void
cprobe_sites_clear(CprobeSharedSites *sites, uint32 epoch)
{
	for (int i = 0; i < CPROBE_SITES; i++)
	{
		CprobeSharedSpins *spins =
		&sites->sites[i].spins[epoch % CPROBE_SITE_PARITIES];

		pg_atomic_write_u64(&spins->contended, 0);
		pg_atomic_write_u64(&spins->spins, 0);
		pg_atomic_write_u64(&spins->sleeps, 0);
		pg_atomic_write_u64(&spins->time_ns, 0);
		pg_atomic_write_u64(&spins->max_ns, 0);
	}
}
