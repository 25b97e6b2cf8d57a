# The deadlock check in the middle of a wait for a row may have to wait for
# LWLocks: that is a wait of its own, and the wait for the row goes on.
#
# Breaks when the inner wait ends the outer one, so that it counts twice, or
# when the inner one is lost.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeLocks;
use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = start_testkit('check', conf => "deadlock_timeout = 1s\n");

$node->safe_psql('postgres',
	'CREATE TABLE accounts (id int, balance int);
	 INSERT INTO accounts VALUES (1, 0)');

# All sessions are there before a part of the lock table is closed.
my ($holder) = session($node);
my ($waiter, $pid) = session($node);
my ($closer) = session($node);
my ($observer) = session($node);
my $update = 'UPDATE accounts SET balance = balance + 1';
my $now = "FROM contention_probe.backends WHERE pid = $pid";

# Ask the observer until the answer is t.
sub observe
{
	my ($sql) = @_;

	foreach (1 .. 2000)
	{
		return 1 if $observer->query_safe($sql) eq 't';
	}
	return 0;
}

# The check takes the parts one after the other: the last one is closed, so
# that what the sessions themselves need is open.
$observer->query_safe('SELECT contention_probe.reset()');
$holder->query_safe("BEGIN; $update");
my ($inner, $outer_goes_on);
my $elapsed = cost_of(
	sub {
		in_background($waiter, "$update;");
		observe("SELECT wait_event = 'transactionid' $now");
		in_background($closer,
			hold_sql('LockManager[15]', 'exclusive', 1500) . ';');
		$inner = observe("SELECT wait_event = 'LockManager' $now");
		$outer_goes_on = observe(
			"SELECT wait_event = 'transactionid' AND wait_age > 1000 $now");
		$closer->query_safe('SELECT 1');
		$holder->query_safe('COMMIT');
		$waiter->query_safe('SELECT 1');
	});
# The observer may itself need the closed part and look too late; the accounts
# below tell of the wait in any case.
note('the wait of the check was over before it was looked for') if !$inner;
ok($outer_goes_on, 'and then the wait for the row, with its whole age');

my ($waits, $time) = wait_numbers($node, 'backend_waits',
	'Lock/transactionid', "pid = $pid");
is($waits, 1, 'the wait for the row is one wait');
is_within($time, 1000, $elapsed, 'of all its time');
($waits, $time) = one_row($node,
	q{SELECT waits, wait_time FROM contention_probe.lwlocks
	   WHERE lock = 'LockManager[15]'});
is($waits, 1, 'the wait of the check is one as well');
is_within($time, 1, $elapsed, 'of its own time');

$_->quit foreach $holder, $waiter, $closer, $observer;
$node->stop;
done_testing();
