# A process that waits very long for a lock is reported with the reason: the
# wake-up was lost, the holder is stopped, or the lock is just held for long.
#
# Breaks when a free lock with a sleeper is not seen, when a lock that is free
# for a moment is taken for one, when the holder is not known, or when the log
# is flooded.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeLocks;
use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $stuck_after = 300;
my $node = start_testkit(
	'stuck',
	conf => "contention_probe.stuck_after = $stuck_after\n"
	  . 'contention_probe.sample_interval = 10');
my $holder = [ session($node) ];
my $waiter = [ session($node) ];
my $other = [ session($node) ];

sub stuck_row
{
	my ($pid) = @_;

	return one_row(
		$node, "SELECT pid, backend_type, lock, mode, waiting_time, lock_state,
		               holder_pids, verdict, stack
		          FROM contention_probe.stuck_waiters WHERE pid = $pid");
}

sub is_reported
{
	my ($pid, $verdict) = @_;

	return until_true(
		$node, "SELECT EXISTS (SELECT FROM contention_probe.stuck_waiters
		                        WHERE pid = $pid AND verdict = '$verdict')");
}

# Lines of the log that are about a process.
sub logged
{
	my ($pid, $pattern) = @_;

	return scalar(() = file_text($node->logfile) =~
		  /WARNING:  client backend $pid has waited .*$pattern/g);
}

is($node->safe_psql('postgres',
		'SELECT count(*) FROM contention_probe.stuck_waiters'),
	0, 'nobody is stuck');

# 1. A lost wake-up.
begin_wait($node, $waiter, 'testkit[1]', 'exclusive');
is($holder->[0]->query_safe(q{SELECT tk_lose_wakeup('testkit[1]', 20000)}),
	't', 'a lock was released without waking its waiter');
ok(is_reported($waiter->[1], 'lost wake-up'), 'the lost wake-up is reported');
my ($pid, $type, $lock, $mode, $time, $state, $holders, $verdict, $stack) =
  stuck_row($waiter->[1]);
is($type, 'client backend', 'kind of process');
is($lock, 'testkit[1]', 'lock');
is($mode, 'exclusive', 'mode');
is($state, 'free', 'nobody holds it');
is($holders, '', 'so no holder is named');
like($stack, qr/ExecutorRun;.*tk_wait_on;.*LWLockAcquire/, 'call path');
ok( until_true(
		$node, "SELECT waiting_time > $stuck_after + 1000
		          FROM contention_probe.stuck_waiters
		         WHERE pid = $waiter->[1]"),
	'it stays');
is(logged($waiter->[1], 'testkit\[1\] in mode exclusive: lost wake-up'),
	1, 'and was logged within a second, once');
is( $node->safe_psql(
		'postgres', "SELECT lock, lock_mode FROM contention_probe.backends
		              WHERE pid = $waiter->[1]"),
	'testkit[1]|exclusive',
	'backends shows the lock');

$other->[0]->query_safe(q{SELECT tk_rescue('testkit[1]')});
cmp_ok(end_wait($waiter), '>', $stuck_after + 1000, 'rescued');
is($node->safe_psql('postgres',
		'SELECT count(*) FROM contention_probe.stuck_waiters'),
	0, 'then the row is gone');
is({ lock_numbers($node, 'testkit[1]') }->{waits}, 1, 'it was one wait');

# 2. A long hold, by a process that sleeps itself and so tells what it holds.
# From 19 on it can only tell of locks that it has waited for before.
begin_wait($node, $holder, 'testkit[2]', 'exclusive');
$other->[0]->query_safe(hold_sql('testkit[2]', 'exclusive', 50));
end_wait($holder);
begin_wait($node, $waiter, 'testkit[2]', 'shared');
in_background($holder->[0],
	hold_sql('testkit[2]', 'exclusive', 6000, 'latch') . ';');
ok(is_reported($waiter->[1], 'long hold'), 'a long hold is reported');
(undef, undef, $lock, $mode, undef, $state, $holders) =
  stuck_row($waiter->[1]);
is("$lock $mode", 'testkit[2] shared', 'lock and mode');
is($state, 'exclusive', 'how it is held');
is($holders, "{$holder->[1]}", 'by whom');
is( $node->safe_psql(
		'postgres', "SELECT blocker_pid FROM contention_probe.backends
		              WHERE pid = $waiter->[1]"),
	$holder->[1],
	'backends names the holder');
until_true($node,
	"SELECT waiting_time > $stuck_after + 500
	   FROM contention_probe.stuck_waiters WHERE pid = $waiter->[1]");
is(logged($waiter->[1], 'testkit\[2\] in mode shared: long hold'),
	1, 'logged once');

# 3. The holder is stopped.
kill 'STOP', $holder->[1];
ok(is_reported($waiter->[1], 'holder stopped'),
	'a stopped holder is reported');
(undef, undef, undef, undef, undef, undef, $holders) =
  stuck_row($waiter->[1]);
is($holders, "{$holder->[1]}", 'with its pid');
kill 'CONT', $holder->[1];
ok(is_reported($waiter->[1], 'long hold'),
	'once it runs again, it just holds the lock');
end_wait($waiter);
$holder->[0]->query_safe('SELECT 0');
is($node->safe_psql('postgres',
		'SELECT count(*) FROM contention_probe.stuck_waiters'),
	0, 'in the end nobody is stuck');

# 4. A holder that does not sleep tells nothing, and nobody is made up.
begin_wait($node, $waiter, 'testkit[3]', 'exclusive');
in_background($other->[0],
	hold_sql('testkit[3]', 'shared', 2000, 'spin') . ';');
ok(is_reported($waiter->[1], 'long hold'), 'a hold by somebody unknown');
(undef, undef, undef, undef, undef, $state, $holders) =
  stuck_row($waiter->[1]);
is($state, 'shared (1)', 'how it is held');
is($holders, '', 'not by whom');
end_wait($waiter);
$other->[0]->query_safe('SELECT 0');

# 5. Waits for anything else are no matter of this view.
in_background($other->[0], 'SELECT pg_sleep(1);');
ok( until_true(
		$node, "SELECT wait_age > $stuck_after * 2
		          FROM contention_probe.backends WHERE pid = $other->[1]"),
	'a process sleeps for long');
is($node->safe_psql('postgres',
		'SELECT count(*) FROM contention_probe.stuck_waiters'),
	0, 'which is not reported');
$other->[0]->query_safe('SELECT 0');

$_->[0]->quit foreach $holder, $waiter, $other;
$node->stop;
done_testing();
