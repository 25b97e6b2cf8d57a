# perf_counters counts what the kernel counts by other means, opens nothing
# unless it is asked to, closes what it opened, and says of each counter that
# is missing why.
#
# Breaks when counters start late, are read from the wrong place, or when
# descriptors are left open.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('counters');
my ($session, $pid) = session($node);

sub descriptors
{
	return scalar grep { (readlink($_) // '') =~ /perf_event/ } glob "/proc/$pid/fd/*";
}

# Counters of the session, as it tells itself; empty for NULL.
sub counters
{
	my ($row) = $session->query_safe(
		"SELECT task_clock, context_switches, page_faults, cycles, reason
		   FROM contention_probe.perf_counters WHERE pid = $pid");
	my %counter;

	@counter{qw(clock switches faults cycles reason)} = split /\|/, $row, -1;
	return %counter;
}

# What the kernel tells of it elsewhere: ms, switches, faults.
sub truth
{
	my ($cpu_ns) = split ' ', slurp_file("/proc/$pid/schedstat");
	my $switches = 0;
	$switches += $_
	  foreach slurp_file("/proc/$pid/status") =~ /ctxt_switches:\s+(\d+)/g;
	my @stat = split ' ', slurp_file("/proc/$pid/stat") =~ s/^.*\) //r;

	return ($cpu_ns / 1e6, $switches, $stat[7]);
}

# 1. Off: nothing is open, and the view says so.
is(descriptors(), 0, 'nothing is open');
my %before = counters();
is($before{clock}, '', 'nothing is counted');
like($before{reason}, qr/perf_events/, 'and the view says why');

# 2. Software counters.
$session->query_safe("SET contention_probe.perf_events = 'software'");
$session->query_safe('SELECT 1');
%before = counters();
if ($before{clock} eq '')
{
	like($before{reason}, qr/task_clock/, 'what is refused has a reason');
	note($before{reason});
	done_testing();
	exit;
}
cmp_ok(descriptors(), '>=', 1, 'counters are open');
is(descriptors(), 4 - (() = ($before{reason} =~ /happens in the kernel/g)) * 2,
	'one for each counter');
my @truth_before = truth();
$session->query_safe('SELECT count(*) FROM generate_series(1, 3000000)');
$session->query_safe("SELECT length(repeat('x', 100000000))");
$session->query_safe('SELECT pg_sleep(0.001)') foreach 1 .. 10;
my @truth = truth();
my %after = counters();
my $clock = $after{clock} - $before{clock};
my $cpu = $truth[0] - $truth_before[0];
is_within($clock, $cpu * 0.9, $cpu * 1.1 + 10, 'task_clock is CPU time');
my $faults = $after{faults} - $before{faults};
my $minor = $truth[2] - $truth_before[2];
if ($before{reason} =~ /page_faults: in user mode only/)
{
	is_within($faults, $minor / 2, $minor + 50, 'page_faults in user mode are faults');
}
else
{
	is_within($faults, $minor * 0.99, $minor + 50, 'page_faults are faults');
}
cmp_ok($faults, '>', 1000, 'and there are many');

SKIP:
{
	skip 'context switches may not be counted here', 1
	  if $before{switches} eq '';
	my $switches = $truth[1] - $truth_before[1];

	is_within($after{switches} - $before{switches},
		$switches - 2, $switches + 20, 'context_switches are switches');
}
is($after{cycles}, '', 'no hardware counter among them');
like($after{reason}, qr/cycles.*does not ask/, 'which is said');

# 3. Hardware counters count, or say why they do not.
$session->query_safe("SET contention_probe.perf_events = 'hardware'");
$session->query_safe('SELECT 1');
%after = counters();
ok($after{cycles} ne '' ? $after{cycles} > 0
	: $after{reason} =~ /cycles/, 'cycles, or a reason');

# 4. Another session sees it; off closes; a session that leaves is summed.
eventually($node, "SELECT task_clock > 0 FROM contention_probe.perf_counters
                    WHERE pid = $pid", 'another session sees the counters');
$session->query_safe("SET contention_probe.perf_events = 'off'");
$session->query_safe('SELECT 1');
is(descriptors(), 0, 'all are closed when they are turned off');
$session->query_safe("SET contention_probe.perf_events = 'software'");
$session->query_safe('SELECT 1');
$session->query_safe('SELECT count(*) FROM generate_series(1, 3000000)');
my $sum = 'SELECT task_clock FROM contention_probe.perf_counters
            WHERE backend_type = ';
my $total = $node->safe_psql('postgres', "$sum 'total'");
$session->quit;
eventually($node, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity
                                       WHERE pid = $pid)", 'the session leaves');
cmp_ok($node->safe_psql('postgres', "$sum 'departed'"),
	'>=', $total, 'what it used is that of one that has left');

done_testing();
