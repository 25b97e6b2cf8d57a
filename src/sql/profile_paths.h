/*-------------------------------------------------------------------------
 *
 * profile_paths.h
 *	  The call paths of a CPU profile and how many samples each has.
 *
 * Separate from taking the samples, and from what names the frames.
 *
 * Backends only; allocates in the context that was current at the begin, up
 * to a limit, and may throw when memory is out.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_PROFILE_PATHS_H
#define CPROBE_PROFILE_PATHS_H

/* Frames of one path, kernel and user together. */
#define CPROBE_PROFILE_DEPTH 160

/* What all paths together may take. */
#define CPROBE_PROFILE_BYTES ((size_t) 64 * 1024 * 1024)

typedef struct CprobeProfilePath
{
	uint32		type;			/* whose: as the caller numbers them */
	uint32		length;
	uint64		frames[CPROBE_PROFILE_DEPTH + 1];	/* innermost first; only
													 * length are there */
} CprobeProfilePath;

typedef struct CprobeProfileCount
{
	const CprobeProfilePath *path;
	uint64		samples;
} CprobeProfileCount;

typedef struct CprobeProfilePaths CprobeProfilePaths;

extern CprobeProfilePaths *cprobe_profile_paths_begin(void);

/* Count a sample. False if that is a new path and the limit is reached. */
extern bool cprobe_profile_paths_add(CprobeProfilePaths *paths,
									 const CprobeProfilePath *path);

/* All paths, most samples first. */
extern CprobeProfileCount *cprobe_profile_paths_sorted(CprobeProfilePaths *paths,
													   size_t *count);

#endif							/* CPROBE_PROFILE_PATHS_H */
