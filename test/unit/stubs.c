/*-------------------------------------------------------------------------
 *
 * stubs.c
 *	  The few functions of the server that the pure parts refer to.
 *
 * Separate from the tests: each program is linked with this instead of the
 * server.  Weak, so that a C library that has a function of that name wins.
 * Declared here and not by including postgres.h, whose macros rename them.
 *
 *-------------------------------------------------------------------------
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void ExceptionalCondition(const char *condition, const char *detail,
								 const char *file, int line)
			__attribute__((noreturn));
extern int	pg_snprintf(char *buffer, size_t size, const char *format,...)
			__attribute__((format(printf, 3, 4)));
extern char *pg_strerror(int number);
extern void pg_qsort(void *base, size_t count, size_t size,
					 int (*compare) (const void *, const void *));
extern void *palloc_extended(size_t size, int flags);
extern void pfree(void *memory);
extern size_t strlcpy(char *target, const char *source, size_t size);

/*
 * Of an assertion that failed.  PostgreSQL 15 calls it with the four
 * arguments above, later majors without the second.  Nothing is read, so that
 * either is fine.
 */
__attribute__((weak))
void
ExceptionalCondition(const char *condition, const char *detail,
					 const char *file, int line)
{
	(void) detail;
	(void) file;
	(void) line;
	fprintf(stderr, "assertion failed: %s\n", condition);
	abort();
}

__attribute__((weak))
int
pg_snprintf(char *buffer, size_t size, const char *format,...)
{
	va_list		args;
	int			length;

	va_start(args, format);
	length = vsnprintf(buffer, size, format, args);
	va_end(args);
	return length;
}

__attribute__((weak))
char *
pg_strerror(int number)
{
	return strerror(number);
}

__attribute__((weak))
size_t
strlcpy(char *target, const char *source, size_t size)
{
	size_t		length = strlen(source);

	if (size > 0)
	{
		size_t		copied = length < size ? length : size - 1;

		memcpy(target, source, copied);
		target[copied] = '\0';
	}
	return length;
}

__attribute__((weak))
void
pg_qsort(void *base, size_t count, size_t size,
		 int (*compare) (const void *, const void *))
{
	qsort(base, count, size, compare);
}

/* Only ever asked to return NULL where there is no memory left. */
__attribute__((weak))
void *
palloc_extended(size_t size, int flags)
{
	(void) flags;
	return malloc(size);
}

__attribute__((weak))
void
pfree(void *memory)
{
	free(memory);
}
