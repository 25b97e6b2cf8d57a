/*-------------------------------------------------------------------------
 *
 * protect.c
 *	  Opening and closing a page for one store.
 *
 * Separate: see protect.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <errno.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "patch/protect.h"

typedef struct CprobeProtectSearch
{
	uintptr_t	address;
	bool		read_only;
} CprobeProtectSearch;

bool
cprobe_protect_store(void **slot, void *value, bool read_only)
{
	uintptr_t	page_bytes = (uintptr_t) sysconf(_SC_PAGESIZE);
	void	   *page = (void *) ((uintptr_t) slot & ~(page_bytes - 1));
	void	   *old_value = *slot;
	int			saved_errno;

	if (read_only && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0)
		return false;
	__atomic_store_n(slot, value, __ATOMIC_RELEASE);
	if (!read_only || mprotect(page, page_bytes, PROT_READ) == 0)
		return true;
	saved_errno = errno;
	__atomic_store_n(slot, old_value, __ATOMIC_RELEASE);
	errno = saved_errno;
	return false;
}

/* Callback of dl_iterate_phdr: is the address in one of the segments? */
static int
cprobe_protect_visit(struct dl_phdr_info *info, size_t size, void *data)
{
	CprobeProtectSearch *search = data;
	uintptr_t	page_mask = ~((uintptr_t) sysconf(_SC_PAGESIZE) - 1);
	bool		found = false;

	(void) size;
	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		const		ElfW(Phdr) * segment = &info->dlpi_phdr[i];
		uintptr_t	start = info->dlpi_addr + segment->p_vaddr;
		uintptr_t	end = start + segment->p_memsz;

		if (segment->p_type == PT_LOAD && search->address >= start &&
			search->address < end)
		{
			found = true;
			search->read_only |= (segment->p_flags & PF_W) == 0;
		}

		/* As the linker does it: the last, partial page stays writable. */
		if (segment->p_type == PT_GNU_RELRO &&
			search->address >= (start & page_mask) &&
			search->address < (end & page_mask))
			search->read_only = true;
	}
	return found ? 1 : 0;
}

bool
cprobe_protect_is_read_only(const void *address)
{
	CprobeProtectSearch search = {.address = (uintptr_t) address};

	return dl_iterate_phdr(cprobe_protect_visit, &search) == 1 &&
		search.read_only;
}
