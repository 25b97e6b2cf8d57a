# A wait is shown with the functions that led to it, from main to the wait,
# in a release build; also through a library that was loaded a moment ago, in
# a server that has recovered from a crash, and for a reader that has not
# loaded what it reads about.
#
# Breaks when a frame is lost or believed that is none, when a static function
# goes by its neighbour's name, when addresses are taken for those of another
# process, or when a setting has no effect.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('caller',
	conf => "contention_probe.max_stacks = 16\nrestart_after_crash = on\n");

sub reset_all
{
	$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
	return;
}

# The call paths of an event, one a line.
sub paths
{
	my ($event) = @_;

	return $node->safe_psql(
		'postgres', qq{
		SELECT stack FROM contention_probe.wait_stacks
		 WHERE wait_event = '$event' ORDER BY waits DESC});
}

# Functions between main and a statement's execution, in every major.
my $to_executor =
  qr/^main;PostmasterMain;.*PostgresMain;.*PortalRun;.*standard_ExecutorRun;/;
my $sleep = qr/pg_sleep;.*WaitLatch;/;

# A plain sleep.
reset_all();
$node->safe_psql('postgres', 'SELECT pg_sleep(0.01)');
my $path = paths('PgSleep');
like($path, qr/$to_executor.*$sleep/, 'a sleep: from main to the wait');
unlike($path, qr/contention_probe/, 'without the frames of the probe itself');
unlike($path, qr/\n/, 'it is one path');
foreach my $frame (split /;/, $path)
{
	like($frame, qr/^(?:\w+|postgres\+0x[0-9a-f]+)$/, "frame $frame");
}

# Two statements that end up in the same place by different ways.
$node->safe_psql('postgres', 'CREATE TABLE t AS SELECT 1 AS i');
reset_all();
$node->safe_psql('postgres', 'SELECT pg_sleep(0.01)');
$node->safe_psql('postgres', 'SELECT i FROM t WHERE pg_sleep(0.01) IS NOT NULL');
my @paths = split /\n/, paths('PgSleep');
is(scalar @paths, 2, 'two ways to the same function are two paths');

# A row lock.
my ($holder) = session($node);
my ($waiter, $waiter_pid) = session($node);
reset_all();
$holder->query_safe('BEGIN; UPDATE t SET i = 2');
in_background($waiter, "UPDATE t SET i = 3;");
ok( until_true(
		$node, qq{
		SELECT wait_event_type = 'Lock' FROM pg_stat_activity
		 WHERE pid = $waiter_pid}),
	'a row is waited for');
$holder->query_safe('COMMIT');
$waiter->query_safe('SELECT 1');
like(
	paths('transactionid'),
	qr/$to_executor.*;heap_update;.*XactLockTableWait;.*ProcSleep;.*WaitLatch;/,
	'a row lock: through heap_update and ProcSleep');
$holder->quit;
$waiter->quit;

# The first wait of a session whose language was loaded by that statement; the
# reader has not loaded it.
reset_all();
$node->safe_psql('postgres',
	'DO $$BEGIN PERFORM pg_sleep(0.01); END$$');
my ($inside) = paths('PgSleep') =~ /^main;.*PostgresMain;.*?standard_ProcessUtility;(.*)$sleep/;
like($inside // '', qr/(?:^|;)(?:plpgsql_\w+|plpgsql\.so\+0x[0-9a-f]+);/,
	'a function: through its language, loaded a moment ago');
unlike(paths('PgSleep'), qr/^\[/, 'of which nothing is missing');

# Nothing is wrong in the waits themselves.
reset_all();
$node->safe_psql('postgres', 'SELECT pg_sleep(0.05)') for 1 .. 3;
my ($waits, $time) = wait_numbers($node, 'wait_stacks', 'Timeout/PgSleep');
my ($all_waits, $all_time) = wait_numbers($node, 'waits', 'Timeout/PgSleep');
is($waits, 3, 'each wait is counted by its path');
is_within($time, $all_time - 0.001, $all_time + 0.001, 'with its time');

# What flame graph tools read: frames without spaces, and a number.
my $folded = $node->safe_psql('postgres',
	'SELECT * FROM contention_probe.folded_stacks()');
my $microseconds = 0;
my $wrong = 0;
foreach my $line (split /\n/, $folded)
{
	$wrong++ unless $line =~ /^[^\s;]+(?:;[^\s;]+)* \d+$/;
	$microseconds += $1 if $line =~ /^main;.*;Timeout:PgSleep (\d+)$/;
}
is($wrong, 0, 'every folded line is frames and a number');
is_within($microseconds, $time * 1000 - 2, $time * 1000 + 2,
	'the sleeps are there, in microseconds, and the wait event is the leaf');

# Settings.
reset_all();
$node->safe_psql('postgres',
	'SET contention_probe.stack_depth = 0; SELECT pg_sleep(0.01)');
is(paths('PgSleep'), '', 'stack_depth = 0: nothing is recorded');
($all_waits) = wait_numbers($node, 'waits', 'Timeout/PgSleep');
is($all_waits, 1, 'though the wait is');
$node->safe_psql('postgres',
	'SET contention_probe.stack_depth = 4; SELECT pg_sleep(0.01)');
like(
	paths('PgSleep'),
	qr/^\[truncated\];[^;]+;pg_sleep;.*WaitLatch;[^;]+$/,
	'stack_depth = 4: the innermost four, and that there were more');
is(scalar(split /;/, paths('PgSleep')), 5, 'four frames and the mark');

# Each depth makes another path: more than there is room for.
reset_all();
my $sleeps = 0;
foreach my $depth (1 .. 12, 1 .. 12)
{
	$node->safe_psql('postgres',
		"SET contention_probe.stack_depth = $depth; SELECT pg_sleep(0.001)");
	$sleeps++;
}
$node->safe_psql('postgres',
	    "SET contention_probe.stack_depth = $_;"
	  . 'SELECT i FROM t WHERE pg_sleep(0.001) IS NOT NULL')
  foreach 1 .. 12;
$sleeps += 12;
my ($dropped, $counted) = one_row(
	$node, q{
	SELECT dropped_stacks,
	       (SELECT sum(waits) FROM contention_probe.wait_stacks)
	  FROM contention_probe.status});
my $total = $node->safe_psql('postgres',
	'SELECT sum(waits) FROM contention_probe.waits WHERE NOT idle');
cmp_ok($dropped, '>', 0, 'waits beyond max_stacks are counted as dropped');
is_within($dropped + $counted, $sleeps, $total,
	'none is lost without a trace');
cmp_ok(
	$node->safe_psql('postgres',
		'SELECT count(*) FROM contention_probe.wait_stacks()'),
	'<=', 16, 'there are not more paths than max_stacks');
reset_all();
is($node->safe_psql('postgres',
		'SELECT dropped_stacks FROM contention_probe.status'),
	0, 'a reset forgets what was dropped');

# After a crash the shared memory is a new one, and the postmaster the same.
my ($victim, $victim_pid) = session($node);
my $since = $node->safe_psql('postgres',
	'SELECT stats_since FROM contention_probe.status');
kill 'KILL', $victim_pid;
ok( until_true(
		$node, "SELECT stats_since > '$since' FROM contention_probe.status"),
	'the server recovers from a crash');
eval { $victim->quit };
is(paths('PgSleep'), '', 'with no paths of before');
reset_all();
$node->safe_psql('postgres', 'SELECT pg_sleep(0.01)');
like(paths('PgSleep'), qr/$to_executor.*$sleep/,
	'and paths are whole again');

$node->stop;
done_testing();
