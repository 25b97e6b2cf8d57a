/*-------------------------------------------------------------------------
 *
 * cpu_samples.c
 *	  Sampling a process by perf_event_open.
 *
 * Separate: see cpu_samples.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "port/atomics.h"

#include "machine/cpu_samples.h"

/* The longest record that is taken: kernel.perf_event_max_stack up to 1000. */
#define CPROBE_RECORD_WORDS 1024
#define CPROBE_RECORD_BYTES (CPROBE_RECORD_WORDS * sizeof(uint64))

/* What follows the header of a record of type PERF_RECORD_SAMPLE. */
#define CPROBE_SAMPLE_COUNT 1	/* word that tells the chain's length */
#define CPROBE_SAMPLE_CHAIN 2	/* where it begins */

/* Of one of type PERF_RECORD_LOST: id and number. */
#define CPROBE_LOST_COUNT 2

static size_t
cprobe_cpu_samples_page_bytes(void)
{
	return (size_t) sysconf(_SC_PAGESIZE);
}

int
cprobe_cpu_samples_open(CprobeCpuSamples *samples,
						const CprobeCpuSampling *sampling, int pid)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = sampling->period_ns,
		.sample_type = PERF_SAMPLE_CALLCHAIN,
		.exclude_kernel = !sampling->kernel,
		.exclude_hv = 1,
		.exclude_callchain_kernel = !sampling->kernel,
	};
	int			fd;
	int			error = 0;
	void	   *ring;

	memset(samples, 0, sizeof(*samples));
	fd = (int) syscall(SYS_perf_event_open, &attr, pid, -1, -1,
					   PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno;
	samples->bytes = (size_t) (1 + sampling->ring_pages) *
		cprobe_cpu_samples_page_bytes();
	ring = mmap(NULL, samples->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				0);

	/* EPERM says here that it would be too much locked memory. */
	if (ring == MAP_FAILED)
		error = errno == EPERM ? ENOMEM : errno;
	else
		samples->ring = ring;
	close(fd);
	return error;
}

/* Copy a part of the ring, which may go over its end. */
static void
cprobe_cpu_samples_copy(const CprobeCpuSamples *samples, uint64 position,
						void *to, size_t bytes)
{
	size_t		page_bytes = cprobe_cpu_samples_page_bytes();
	const char *data = (const char *) samples->ring + page_bytes;
	size_t		data_bytes = samples->bytes - page_bytes;
	size_t		offset = (size_t) (position % data_bytes);
	size_t		first = Min(bytes, data_bytes - offset);

	memcpy(to, data + offset, first);
	memcpy((char *) to + first, data, bytes - first);
}

static void
cprobe_cpu_samples_handle(CprobeCpuSamples *samples, const uint64 *record,
						  const struct perf_event_header *header,
						  CprobeCpuSampleTake take, void *context)
{
	size_t		words = header->size / sizeof(uint64);

	switch (header->type)
	{
		case PERF_RECORD_SAMPLE:
			if (words >= CPROBE_SAMPLE_CHAIN &&
				record[CPROBE_SAMPLE_COUNT] <= words - CPROBE_SAMPLE_CHAIN)
				take(context, record + CPROBE_SAMPLE_CHAIN,
					 (size_t) record[CPROBE_SAMPLE_COUNT]);
			break;
		case PERF_RECORD_LOST:
			if (words > CPROBE_LOST_COUNT)
				samples->lost += record[CPROBE_LOST_COUNT];
			break;
		case PERF_RECORD_THROTTLE:
			samples->throttled++;
			break;
		default:
			break;
	}
}

void
cprobe_cpu_samples_drain(CprobeCpuSamples *samples, CprobeCpuSampleTake take,
						 void *context)
{
	struct perf_event_mmap_page *page = samples->ring;
	uint64		record[CPROBE_RECORD_WORDS];
	uint64		head;
	uint64		tail;

	if (page == NULL)
		return;
	/* The kernel writes data, then data_head; see linux/perf_event.h. */
	head = *(volatile uint64 *) &page->data_head;
	pg_read_barrier();
	tail = page->data_tail;
	while (head - tail >= sizeof(struct perf_event_header))
	{
		struct perf_event_header header;

		cprobe_cpu_samples_copy(samples, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		if (header.size > CPROBE_RECORD_BYTES)
			samples->lost++;
		else
		{
			cprobe_cpu_samples_copy(samples, tail, record, header.size);
			cprobe_cpu_samples_handle(samples, record, &header, take, context);
		}
		tail += header.size;
	}
	/* Reads of the data come first, then the room is given back. */
	pg_memory_barrier();
	*(volatile uint64 *) &page->data_tail = tail;
}

void
cprobe_cpu_samples_close(CprobeCpuSamples *samples)
{
	if (samples->ring != NULL)
		(void) munmap(samples->ring, samples->bytes);
	samples->ring = NULL;
}
