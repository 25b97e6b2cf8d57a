# What run_queue and machine_summary tell of a process is what the kernel
# tells of it, what a session used stays in the sum when it has left, and
# transactions are counted once each.
#
# Breaks when a number is taken from the wrong place, when the living or the
# departed are left out of the sums, or when reset() does not start anew.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('usage');
my $burn = 'SELECT count(*) FROM generate_series(1, 2000000)';

sub total
{
	my ($column) = @_;

	return $node->safe_psql('postgres',
		"SELECT $column FROM contention_probe.run_queue
		  WHERE backend_type = 'total'");
}

sub metric
{
	my ($name) = @_;

	return $node->safe_psql('postgres',
		"SELECT value FROM contention_probe.machine_summary
		  WHERE metric = '$name'");
}

# 1. A process that has used CPU time and slept, against /proc.
my ($session, $pid) = session($node);
$session->query_safe($burn);
$session->query_safe('SELECT pg_sleep(0.001)') foreach 1 .. 20;
eventually($node, "SELECT wait_event = 'ClientRead' FROM pg_stat_activity
                    WHERE pid = $pid", 'the session sleeps');
my ($cpu, $delay, $slices) = split ' ', slurp_file("/proc/$pid/schedstat");
my $status = slurp_file("/proc/$pid/status");
my ($voluntary) = $status =~ /^voluntary_ctxt_switches:\s+(\d+)/m;
my ($involuntary) = $status =~ /^nonvoluntary_ctxt_switches:\s+(\d+)/m;
my @got = one_row(
	$node, "
	SELECT cpu_time, run_queue_delay, timeslices, voluntary_switches,
	       involuntary_switches, user_time + system_time, reason
	  FROM contention_probe.run_queue WHERE pid = $pid");

is_within($got[0], $cpu / 1e6 - 0.001, $cpu / 1e6 + 0.001, 'cpu_time');
is_within($got[1], $delay / 1e6 - 0.001, $delay / 1e6 + 0.001,
	'run_queue_delay');
is($got[2], $slices, 'timeslices');
is($got[3], $voluntary, 'voluntary_switches');
is($got[4], $involuntary, 'involuntary_switches');
cmp_ok($voluntary, '>=', 20, 'a sleep is a voluntary switch');
cmp_ok($got[5], '>', 0, 'user and system time');
is($got[6], '', 'nothing is unknown');

# 2. What it used is still there when it has left.
my $before = total('cpu_time');
$session->quit;
eventually($node, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity
                                       WHERE pid = $pid)", 'the session leaves');
cmp_ok(total('cpu_time'), '>=', $before, 'no CPU time leaves with a session');
cmp_ok(
	$node->safe_psql('postgres',
		"SELECT cpu_time FROM contention_probe.run_queue
		  WHERE backend_type = 'departed'"),
	'>=', $cpu / 1e6, 'the departed have it');

# 3. Since a reset: 30 transactions, and what they used.
($session, $pid) = session($node);
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
my $settled = metric('transactions');
$session->query_safe($burn) foreach 1 .. 2;
$session->query_safe('SELECT 1') foreach 1 .. 28;
my $counted = metric('transactions') - $settled;

# The sessions that ask: each two transactions to start and one to ask, and
# the last of them has not ended when it looks.
is_within($counted, 30, 36, 'transactions of a session');
cmp_ok(metric('cpu_time'), '<', total('cpu_time'),
	'cpu_time of the summary starts at the reset');
cmp_ok(metric('cpu_time'), '>', 0, 'and grows');
is_within(
	$node->safe_psql(
		'postgres', "
		SELECT abs(value / t - per_transaction)
		  FROM contention_probe.machine_summary,
		       (SELECT value AS t FROM contention_probe.machine_summary
		         WHERE metric = 'transactions') AS transactions
		 WHERE metric = 'voluntary_switches'"),
	0, 10, 'numbers per transaction');

# 4. The machine is this one.
my $cpus = () = slurp_file('/proc/cpuinfo') =~ /^processor/mg;
is( $node->safe_psql('postgres',
		'SELECT count(*) FROM contention_probe.cpu_topology WHERE online'),
	$cpus, 'as many CPUs as the kernel has online');
is( $node->safe_psql(
		'postgres',
		'SELECT count(DISTINCT c.cpu) FROM contention_probe.numa_nodes AS n,
		        contention_probe.cpu_topology AS c
		  WHERE c.cpu = ANY (n.cpus) AND c.node = n.node AND c.online'),
	$cpus, 'each is in a node');
cmp_ok(
	$node->safe_psql('postgres',
		'SELECT sum(backends_seen) FROM contention_probe.cpu_topology'),
	'>=', 3, 'processes are seen on them');

# 5. An ordinary user sees no pids of others.
$node->safe_psql('postgres', 'CREATE ROLE monitor LOGIN;
	GRANT pg_monitor TO monitor; REVOKE pg_read_all_stats FROM pg_monitor');
is( $node->safe_psql(
		'postgres',
		'SET ROLE monitor; SELECT count(pid) FROM contention_probe.run_queue'
	),
	0,
	'pids are for those who may read all statistics');

done_testing();
