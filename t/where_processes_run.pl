# Where processes run is told as it is: the CPU of each, each move to another
# CPU once, how far a lock was handed over, and cores that are shared while
# another is free.
#
# Breaks when moves are missed or counted twice, when the waker's CPU is taken
# for the waiter's, or when a core with two processes is not noticed.
#
# Processes are put on CPUs by taskset.  Needs two CPUs of different cores.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeLocks;
use CprobeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_testkit('places',
	conf => "contention_probe.machine_interval = 10ms\n"
	  . "contention_probe.history_interval = 10ms\n");

# The first CPUs of two cores that this program may use.
my ($allowed) = slurp_file('/proc/self/status') =~ /^Cpus_allowed_list:\s+(\S+)/m;
my @cpus = split /\n/, $node->safe_psql(
	'postgres', "
	SELECT min(cpu) FROM contention_probe.cpu_topology
	 WHERE online AND node = (SELECT min(node) FROM contention_probe.cpu_topology)
	   AND cpu IN (" . join(',', map { /(\d+)-(\d+)/ ? $1 .. $2 : $_ } split /,/, $allowed) . ')
	 GROUP BY core ORDER BY 1 LIMIT 2');
plan skip_all => 'there are no two cores' if @cpus < 2;

sub move
{
	my ($pid, $cpu) = @_;

	return system_log('taskset', '-cp', $cpu, $pid) == 0;
}

my ($one, $one_pid) = session($node);
my ($two, $two_pid) = session($node);
plan skip_all => 'processes cannot be put on a CPU here'
  unless move($one_pid, $cpus[0]) && move($two_pid, $cpus[0]);
$_->query_safe('SELECT 1') foreach $one, $two;

# 1. Each move while it sleeps is one migration.
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
foreach my $cpu ($cpus[1], $cpus[0], $cpus[1], $cpus[0])
{
	move($one_pid, $cpu);
	$one->query_safe('SELECT 1');
	is( $node->safe_psql(
			'postgres', "SELECT cpu FROM contention_probe.numa_backends
			  WHERE pid = $one_pid"),
		$cpu,
		'the CPU of a process');
}
is( join(
		' ', one_row(
			$node, "SELECT migrations, node_changes
			  FROM contention_probe.numa_backends WHERE pid = $one_pid")),
	'4 0',
	'four moves are four migrations within a node');
is( join(
		' ', one_row(
			$node, "SELECT migrations, node_changes
			  FROM contention_probe.numa_backends WHERE pid = $two_pid")),
	'0 0',
	'a process that stays has none');

# 2. Hand-offs, on one CPU and between two cores of a node.
sub hand_over
{
	my ($times) = @_;

	$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
	foreach (1 .. $times)
	{
		in_background($one, "SELECT tk_hold('testkit[0]', 'exclusive', 200);");
		until_true($node, "SELECT query LIKE 'SELECT tk_hold%' AND
			state = 'active' AND
			clock_timestamp() > query_start + interval '20 ms'
			FROM pg_stat_activity WHERE pid = $one_pid");
		$two->query_safe("SELECT tk_wait_on('testkit[0]')");
		$one->query_safe('SELECT 1');
	}
	return $node->safe_psql(
		'postgres', q{
		SELECT string_agg(format('%s %s %s', within, handoffs,
		                         from_node = to_node), ',' ORDER BY within)
		  FROM contention_probe.numa_handoffs});
}

is(hand_over(3), 'cpu 3 t', 'three hand-offs on one CPU');
my ($queue, $handoffs) = one_row($node,
	'SELECT queue_time, handoffs FROM contention_probe.numa_handoffs');
is_within($queue, 3 * 50, 3 * 400, 'they have waited as long as the lock was held');
move($two_pid, $cpus[1]);
is(hand_over(2), 'node 2 t', 'two hand-offs between two cores of a node');
is( $node->safe_psql(
		'postgres', "SELECT waits, remote_handoffs, smt_handoffs
		  FROM contention_probe.lwlocks WHERE lock = 'testkit[0]'"),
	'2|0|0',
	'none of the lock between nodes or siblings');

# The history knows where each of them was, running or asleep.
foreach my $ran (
	[ 'waits', "SELECT pg_sleep(0.3)" ],
	[ 'runs', 'SELECT count(*) FROM generate_series(1, 3000000)' ])
{
	my ($how, $statement) = @$ran;

	$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
	until_true($node, "SELECT NOT EXISTS (SELECT FROM contention_probe.history)");
	$two->query_safe($statement);
	is( $node->safe_psql(
			'postgres', "SELECT DISTINCT h.cpu, h.node = c.node
			  FROM contention_probe.history AS h
			  JOIN contention_probe.cpu_topology AS c USING (cpu)
			 WHERE h.pid = $two_pid"),
		"$cpus[1]|t",
		"the history tells the CPU of one that $how");
}

# 3. Two that run on one core while the other has nobody.
my $burn = 'SELECT count(*) FROM generate_series(1, 100000000) AS g,
	generate_series(1, 1000);';

sub sharing
{
	my ($place) = @_;

	$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
	until_true($node,
		'SELECT samples >= 60 FROM contention_probe.cpu_sharing
		  WHERE core IS NULL');
	return one_row(
		$node, "
		SELECT shared_samples::float / samples,
		       shared_while_idle_samples::float / samples
		  FROM contention_probe.cpu_sharing
		 WHERE core = (SELECT core FROM contention_probe.cpu_topology
		                WHERE cpu = $place)");
}

move($two_pid, $cpus[0]);
in_background($_, $burn) foreach $one, $two;
eventually($node, "SELECT count(*) = 2 FROM pg_stat_activity
                    WHERE pid IN ($one_pid, $two_pid) AND state = 'active'",
	'two sessions are at work');
my ($shared, $wasted) = sharing($cpus[0]);
cmp_ok($shared, '>', 0.7, 'two backends share a core at most looks');
cmp_ok($wasted, '>', 0.3, 'often while another core had none');
move($two_pid, $cpus[1]);
($shared, $wasted) = sharing($cpus[0]);
cmp_ok($shared, '<', 0.3, 'on two cores they do not share');
is( $node->safe_psql(
		'postgres', "SELECT samples > 10 AND
		       (SELECT sum(s) FROM unnest(node_shares) AS s)
		       BETWEEN 0.999 AND 1.001
		  FROM contention_probe.numa_backends WHERE pid = $one_pid"),
	't',
	'the samples of a process by node');
$node->safe_psql('postgres',
	"SELECT pg_cancel_backend(pid) FROM unnest(ARRAY[$one_pid, $two_pid]) AS pid"
);

done_testing();
