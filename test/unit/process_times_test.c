/*-------------------------------------------------------------------------
 *
 * process_times_test.c
 *	  What the kernel tells of a process, taken out of its files.
 *
 * Separate: a program of its own, as every unit test.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/resource.h>
#include <unistd.h>

#include "machine/process_times.h"

#include "tap.h"

static const char stat_line[] =
"4851 (a) R (b c) S 4583 4583 20527 0 -1 4194304 100 11 7 12 250 130 1 2 20 0 "
"1 0 307646 3133440 394 18446744073709551615 94621170368512 94621170388393 "
"140722791359216 0 0 0 0 0 0 0 0 0 17 63 0 0 0 0 0 94621170404400 "
"94621170406016 94622237884416 1 2 3 4 0\n";

static void
test_stat(void)
{
	CprobeProcessStat stat;

	cprobe_tap_ok(cprobe_process_stat_parse(stat_line, &stat),
				  "a name with parentheses and spaces does no harm");
	cprobe_tap_ok(stat.state == 'S' && stat.minor_faults == 100 &&
				  stat.major_faults == 7 && stat.user_ticks == 250 &&
				  stat.system_ticks == 130 && stat.cpu == 63,
				  "each number is taken from its place");
	cprobe_tap_ok(!cprobe_process_stat_parse("", &stat) &&
				  !cprobe_process_stat_parse("1 (a", &stat) &&
				  !cprobe_process_stat_parse("1 (a)", &stat) &&
				  !cprobe_process_stat_parse("1 (a) R 1 2 3", &stat),
				  "a line that is cut off is refused");
}

static void
test_sched(void)
{
	CprobeProcessSched sched;

	cprobe_tap_ok(cprobe_process_sched_parse("338180 39038 12\n", &sched) &&
				  sched.cpu_ns == 338180 && sched.delay_ns == 39038 &&
				  sched.timeslices == 12,
				  "three numbers of schedstat");
	cprobe_tap_ok(!cprobe_process_sched_parse("338180\n", &sched) &&
				  !cprobe_process_sched_parse("", &sched),
				  "less is refused");
}

static void
test_switches(void)
{
	CprobeProcessSwitches switches;

	cprobe_tap_ok(cprobe_process_switches_parse("Name:\tvoluntary_ctxt_switches:\nMems_allowed_list:\t0\n"
												"voluntary_ctxt_switches:\t150\n"
												"nonvoluntary_ctxt_switches:\t545\n",
												&switches) &&
				  switches.voluntary == 150 && switches.involuntary == 545,
				  "both kinds of switches, whatever the process is called");
	cprobe_tap_ok(!cprobe_process_switches_parse("Name:\tx\n", &switches),
				  "a kernel that does not tell is noticed");
}

/* Against what the C library says of this program. */
static void
test_self(void)
{
	CprobeProcessStat stat;
	CprobeProcessSwitches switches;
	struct rusage before;
	struct rusage after;

	getrusage(RUSAGE_SELF, &before);
	cprobe_tap_ok(cprobe_process_stat_read(getpid(), &stat) && stat.state == 'R',
				  "this program is running");
	if (!cprobe_process_switches_read(getpid(), &switches))
		memset(&switches, 0, sizeof(switches));
	getrusage(RUSAGE_SELF, &after);
	cprobe_tap_ok(switches.voluntary >= (uint64) before.ru_nvcsw &&
				  switches.voluntary <= (uint64) after.ru_nvcsw &&
				  stat.minor_faults >= (uint64) before.ru_minflt &&
				  stat.minor_faults <= (uint64) after.ru_minflt,
				  "switches and faults agree with getrusage");
	cprobe_tap_ok(!cprobe_process_stat_read(0x7FFFFFFF, &stat),
				  "there is no such process");
	cprobe_tap_ok(cprobe_process_tick_ns() > 0, "a tick has a duration");
}

int
main(void)
{
	test_stat();
	test_sched();
	test_switches();
	test_self();
	return cprobe_tap_done();
}
