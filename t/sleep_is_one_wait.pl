# A sleep of 300 ms is one wait of 300 ms: in the totals, of its process, of
# its statement, and of nobody else.
#
# Breaks when waits are counted per system call instead of per sleep, when
# time is lost or counted twice, or when a wait is credited to the wrong
# process or statement.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $sleep = 'SELECT pg_sleep(0.3)';
my $node = start_cluster('sleeper');
my ($session, $pid) = session($node);
my ($bystander) = session($node);
my $query = query_id($node, $sleep);

# A machine that is busy with something else may let a sleeper sleep on.  The
# wait is compared with what the client saw; a sleep that took much longer
# than it should is taken again.
my $elapsed;
for my $try (1 .. 5)
{
	$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
	$elapsed = cost_of(sub { $session->query_safe($sleep) });
	last if $elapsed < 350;
}

foreach my $case (
	[ 'waits', 'true' ],
	[ 'backend_waits', "pid = $pid" ],
	[ 'query_waits', "queryid = $query" ])
{
	my ($view, $condition) = @$case;
	my ($waits, $time) =
	  wait_numbers($node, $view, 'Timeout/PgSleep', $condition);

	is($waits, 1, "$view: one wait");
	is_within($time, 300, 360, "$view: of 300 ms");
	cmp_ok($time, '<=', $elapsed, "$view: not longer than its statement");
}

my ($others) = wait_numbers($node, 'backend_waits', 'Timeout/PgSleep',
	"pid IS DISTINCT FROM $pid");
is($others, 0, 'no other process has it');
($others) = wait_numbers($node, 'query_waits', 'Timeout/PgSleep',
	"queryid IS DISTINCT FROM $query");
is($others, 0, 'no other statement has it');

my ($database, $user) = one_row(
	$node, qq{
	SELECT dbid = (SELECT oid FROM pg_database WHERE datname = 'postgres'),
	       userid = (SELECT oid FROM pg_roles WHERE rolname = current_user)
	  FROM contention_probe.query_waits WHERE queryid = $query});
is($database, 't', 'the statement has its database');
is($user, 't', 'the statement has its user');

# Percentiles and maximum of a single wait, and its bucket.
my ($time, $mean, $max, $p50, $p95, $p99, $idle, $share) = one_row(
	$node, q{
	SELECT wait_time, mean_time, max_time, p50_time, p95_time, p99_time, idle,
	       share
	  FROM contention_probe.waits WHERE wait_event = 'PgSleep'});
is($mean, $time, 'the mean of one wait is its time');
is($max, $time, 'the maximum of one wait is its time');
is($idle, 'f', 'a sleep is not idle');
is_within($share, 0.5, 1, 'it has most of the busy time');

my ($buckets, $count, $lower, $upper) = one_row(
	$node, q{
	SELECT count(*), sum(waits), min(lower_us), max(upper_us)
	  FROM contention_probe.wait_histogram WHERE wait_event = 'PgSleep'});
is($buckets, 1, 'one bucket is filled');
is($count, 1, 'with one wait');
is($upper, 2 * $lower, 'buckets go by powers of two');
foreach my $value ([ time => $time ], [ p50 => $p50 ], [ p95 => $p95 ],
	[ p99 => $p99 ])
{
	is_within($value->[1] * 1000, $lower, $upper,
		"$value->[0] lies in the bucket");
}

# Signals wake a sleeper up, which sleeps on: an alarm of a timeout that was
# set for the statement before, and a reload.
$session->query_safe("SET statement_timeout = '100ms'");
$session->query_safe("SET statement_timeout = 0");
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
in_background($session, "$sleep;");
until_true($node, "SELECT wait_age > 50 FROM contention_probe.backends
                    WHERE pid = $pid AND wait_event = 'PgSleep'");
kill 'HUP', $pid;
$session->query_safe('SELECT 1');
my ($woken, $woken_time) = wait_numbers($node, 'waits', 'Timeout/PgSleep');
is($woken, 1, 'a sleep that signals interrupt is one wait');
cmp_ok($woken_time, '>=', 299, 'of all of its time');

# The sum of a few sleeps, some of which are shorter than a tick of the
# sampler: exact, not sampled.
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
$session->query_safe('SELECT pg_sleep(0.002)') foreach 1 .. 50;
my ($waits, $sum) = wait_numbers($node, 'waits', 'Timeout/PgSleep');
is($waits, 50, 'fifty sleeps are fifty waits');
cmp_ok($sum, '>=', 100, 'of 2 ms or more each');

$session->quit;
$bystander->quit;
$node->stop;
done_testing();
