/*-------------------------------------------------------------------------
 *
 * build_id.h
 *	  The number by which a linker tells apart what it built.
 *
 * Separate because it is read from loaded modules and from files, and the two
 * are compared: a file may have been replaced since it was loaded.
 *
 * Hook context; reads what it is given and nothing else.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_BUILD_ID_H
#define CPROBE_BUILD_ID_H

#define CPROBE_BUILD_ID_MAX_BYTES 32

typedef struct CprobeBuildId
{
	size_t		bytes;			/* 0 = none */
	unsigned char value[CPROBE_BUILD_ID_MAX_BYTES]; /* rest is 0 */
} CprobeBuildId;

/*
 * Look for a build id among ELF notes, 4-byte aligned; false, and no bytes, if
 * there is none.
 */
extern bool cprobe_build_id_find(const char *notes, size_t bytes,
								 CprobeBuildId *id);

static inline bool
cprobe_build_id_equal(const CprobeBuildId *a, const CprobeBuildId *b)
{
	return a->bytes == b->bytes && memcmp(a->value, b->value, a->bytes) == 0;
}

#endif							/* CPROBE_BUILD_ID_H */
