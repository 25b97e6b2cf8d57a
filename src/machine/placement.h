/*-------------------------------------------------------------------------
 *
 * placement.h
 *	  On which NUMA node pages of memory lie.
 *
 * Separate because it asks the kernel about addresses, and knows nothing of
 * what lies there.
 *
 * move_pages without target nodes only asks.  It tells of pages that the
 * asked process has mapped, and faults nothing in, for it looks at the page
 * tables alone; other pages are "not there", though they may well be in
 * memory.  Processes that share memory have page tables of their own, filled
 * as each touches it.  So several are asked: the one that made the segment
 * has touched all that was initialised, those that work with it the rest.
 * The kernel lets a process ask about others of the same user.
 *
 * To touch a page so as to ask for oneself was rejected: it costs a fault
 * each, and takes memory where the page does not exist yet.
 *
 * Not for hooks: system calls, 0.1 us a page.  Does not throw or allocate.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CPROBE_PLACEMENT_H
#define CPROBE_PLACEMENT_H

/* What is told of a page besides the number of its node. */
#define CPROBE_PAGE_UNMAPPED (-1)	/* no asked process has it mapped */
#define CPROBE_PAGE_ABSENT (-2) /* it is not in memory */

/* Pages asked about in one system call. */
#define CPROBE_PLACEMENT_CHUNK 512

typedef struct CprobePlacementQuery
{
	void	  **pages;			/* an address in each */
	int		   *nodes;			/* the answers */
	int			count;
	const int  *pids;			/* processes to ask, in this order */
	int			pid_count;
	void		(*interrupt) (void);	/* called between chunks */

	/*
	 * Page size, if pages that are not in memory shall be told from those
	 * that nobody has mapped; 0 if not.  Not for huge pages, of which mincore
	 * says no more than move_pages.
	 */
	uint64		absent_page_bytes;
} CprobePlacementQuery;

/*
 * Ask until each page's node is known or nobody is left to ask.  Returns 0,
 * or the errno of the first refusal if no process could be asked; all nodes
 * are CPROBE_PAGE_UNMAPPED then.
 */
extern int	cprobe_placement_ask(const CprobePlacementQuery *query);

/*
 * Page size of the mapping that holds an address.  huge_page_bytes: that of
 * huge pages if the program asked for one, 0 = the machine's default.
 */
extern uint64 cprobe_placement_page_bytes(uintptr_t address,
										  uint64 huge_page_bytes);

/* The node on which this process would get memory: MPOL_* of the kernel. */
typedef struct CprobeMemoryPolicy
{
	int			error;			/* errno, 0 = known */
	int			mode;
	uint64		nodes;			/* bit mask of the first 64 */
} CprobeMemoryPolicy;

extern CprobeMemoryPolicy cprobe_memory_policy(void);

/* "default", "interleave", "bind", ...; never NULL. */
extern const char *cprobe_memory_policy_name(int mode);

/*
 * Which of the pages to look at: the i-th of so many drawn from total, one at
 * random from each of equal parts, so that they ascend and none is drawn
 * twice.  random is uniform in [0, 1).  Pure.
 */
extern uint64 cprobe_sample_place(uint64 total, uint64 draws, uint64 i,
								  double random);

/*
 * 95 % confidence interval of a share of which hits of draws are a sample
 * without replacement from total (Wilson's, with the correction for a finite
 * population).  Drawing from parts makes it wider than need be, never
 * narrower.  Pure.
 */
extern void cprobe_share_interval(uint64 hits, uint64 draws, uint64 total,
								  double *low, double *high);

#endif							/* CPROBE_PLACEMENT_H */
