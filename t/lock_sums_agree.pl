# Under load, all views of locks account for the same waits: the sums over
# locks, over hand-offs and over tranches are the waits of their class, nearly
# every lock is known, and nothing is dropped at default sizes.
#
# Breaks when a wait is lost between two accounts, when maps overflow, or when
# the scan of the stack stops finding locks with another compiler.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeLocks;
use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $clients = 64;
my $seconds = $ENV{CPROBE_LOAD_SECONDS} // 15;
my $node = start_testkit('sums',
	conf => "max_connections = 100\nshared_buffers = 64MB\nfsync = off");
my $major = major($node);

run_pgbench($node, '-i', '-s', '4', '--quiet') or die 'pgbench -i failed';
reset_all($node);
ok( run_pgbench(
		$node, '-c', $clients, '-j', '2', '-T', $seconds, '-M', 'prepared'),
	'TPC-B with many clients');
until_true($node,
	q{SELECT count(*) = 0 FROM pg_stat_activity
	   WHERE application_name = 'pgbench'});

# Taken in one statement; background processes may still wait now and then.
sub sums
{
	return one_row(
		$node, "SELECT (SELECT sum(waits) FROM contention_probe.waits
		                 WHERE wait_event_type = 'LWLock'),
		               (SELECT sum(waits) FROM contention_probe.lwlocks),
		               (SELECT sum(waits) FROM contention_probe.lwlock_tranches),
		               (SELECT sum(handoffs) FROM contention_probe.lock_handoffs
		                 WHERE lock NOT LIKE 'BufferContent%' OR $major < 19),
		               (SELECT sum(wait_time) FROM contention_probe.waits
		                 WHERE wait_event_type = 'LWLock'),
		               (SELECT sum(wait_time) FROM contention_probe.lwlocks)");
}

my @sums;
foreach my $try (1 .. 50)
{
	@sums = sums();
	last if $sums[0] == $sums[1] && $sums[0] == $sums[3];
}
my ($waits, $locks, $tranches, $handoffs, $time, $lock_time) = @sums;

note("$waits waits, of $time ms");
cmp_ok($waits, '>', 100, 'there were waits');
is($locks, $waits, 'the sum over locks');
is($tranches, $waits, 'the sum over tranches');
is($handoffs, $waits, 'the sum over hand-offs');
is_within($lock_time, $time * 0.9999, $time * 1.0001, 'and of their time');

my ($proven, $inferred, $unknown) = one_row(
	$node, 'SELECT locks_proven, locks_inferred, locks_unknown
	          FROM contention_probe.status');
my $all = $proven + $inferred + $unknown;

note("$proven proven, $inferred inferred, $unknown unknown");
cmp_ok($proven / $all, '>=', 0.97, 'the lock of 97 % of the waits is proven');
cmp_ok(($proven + $inferred) / $all,
	'>=', 0.995, 'and of 99.5 % proven or inferred');
is( $node->safe_psql(
		'postgres', 'SELECT dropped_locks + dropped_pages + dropped_handoffs
		                    + dropped_queries
		               FROM contention_probe.status'),
	0,
	'nothing was dropped');
is( $node->safe_psql(
		'postgres', q{SELECT count(*) FROM contention_probe.lwlocks
		               WHERE lock ~ ' @ ' AND lock !~ '^PgStats'}),
	0,
	'and every lock has a name');

# Most wakers are known, and who wakes is a process of this load.
my ($known) = one_row(
	$node, 'SELECT sum(handoffs) FILTER (WHERE waker_backend_type IS NOT NULL)
	                 / sum(handoffs)
	          FROM contention_probe.lock_handoffs');
cmp_ok($known, '>=', 0.97, 'the waker of nearly all waits is known');

$node->stop;
done_testing();
