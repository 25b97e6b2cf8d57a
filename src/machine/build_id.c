/*-------------------------------------------------------------------------
 *
 * build_id.c
 *	  Looking for a build id among notes.
 *
 * Separate: see build_id.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <elf.h>

#include "machine/build_id.h"

/* Notes that are looked at; modules have two or three. */
#define CPROBE_NOTES_MAX 16

#define CPROBE_NOTE_OWNER "GNU"

static inline size_t
cprobe_note_align(size_t bytes)
{
	return (bytes + 3) & ~(size_t) 3;
}

bool
cprobe_build_id_find(const char *notes, size_t bytes, CprobeBuildId *id)
{
	memset(id, 0, sizeof(*id));
	for (int i = 0; i < CPROBE_NOTES_MAX; i++)
	{
		const Elf64_Nhdr *note = (const Elf64_Nhdr *) notes;
		size_t		name_bytes;
		size_t		note_bytes;

		if (bytes < sizeof(*note))
			return false;
		name_bytes = cprobe_note_align(note->n_namesz);
		note_bytes = sizeof(*note) + name_bytes +
			cprobe_note_align(note->n_descsz);
		if (note_bytes > bytes)
			return false;
		if (note->n_type == NT_GNU_BUILD_ID &&
			note->n_namesz == sizeof(CPROBE_NOTE_OWNER) &&
			memcmp(note + 1, CPROBE_NOTE_OWNER, note->n_namesz) == 0)
		{
			id->bytes = Min(note->n_descsz, CPROBE_BUILD_ID_MAX_BYTES);
			memcpy(id->value, notes + sizeof(*note) + name_bytes, id->bytes);
			return id->bytes > 0;
		}
		notes += note_bytes;
		bytes -= note_bytes;
	}
	return false;
}
