# Waiting for a row's lock is one wait from the first sleep to the grant, and
# it can be watched while it lasts.
#
# Breaks when the deadlock check in the middle (a wake-up, and what it logs or
# locks) splits the wait, when the wait is counted for the holder or for the
# wrong statement, or when `backends` shows the time since something else.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;
use Time::HiRes qw(sleep);

my $update = 'UPDATE accounts SET balance = balance + 1 WHERE id = 1';
my $node = start_cluster('locks');
$node->safe_psql(
	'postgres', q{
	CREATE TABLE accounts (id int PRIMARY KEY, balance int);
	INSERT INTO accounts VALUES (1, 0), (2, 0)});
my $query = query_id($node, $update);
my ($holder) = session($node);
my ($waiter, $pid) = session($node);

my $now = "FROM contention_probe.backends WHERE pid = $pid";

# Let the waiter wait for about 500 ms; returns what `backends` said meanwhile
# and how long, as seen from here, it waited at least and at most.
sub make_wait
{
	my @seen;
	my ($least, $most);

	$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
	$holder->query_safe("BEGIN; $update");
	$most = cost_of(
		sub {
			in_background($waiter, "$update;");
			until_true($node, "SELECT wait_event = 'transactionid' $now");
			$least = cost_of(
				sub {
					for (1 .. 5)
					{
						push @seen,
						  [
							one_row(
								$node,
								"SELECT wait_event_type, wait_event, queryid,
								        state, wait_age $now")
						  ];
						sleep 0.09;
					}
				});
			$holder->query_safe('COMMIT');
			$waiter->query_safe('SELECT 1');
		});
	return (\@seen, $least, $most);
}

sub check_wait
{
	my ($how, $least, $most) = @_;

	foreach my $case (
		[ 'waits', 'true' ],
		[ 'backend_waits', "pid = $pid" ],
		[ 'query_waits', "queryid = $query" ])
	{
		my ($view, $condition) = @$case;
		my ($waits, $time) =
		  wait_numbers($node, $view, 'Lock/transactionid', $condition);

		is($waits, 1, "$how: one wait in $view");
		is_within($time, $least, $most, "$how: of that time in $view");
		is_within($time, $most * 0.8, $most * 1.2,
			"$how: within 20 % of what the client saw in $view");
	}
	return;
}

# 1. Short of the deadlock check.
my ($seen, $least, $most) = make_wait();

check_wait('before the deadlock check', $least, $most);
my $age = 0;
foreach my $row (@$seen)
{
	my ($type, $event, $queryid, $state, $wait_age) = @$row;

	is("$type/$event", 'Lock/transactionid', 'backends shows the wait');
	is($queryid, $query, 'and its statement');
	is($state, 'active', 'and the state of the session');
	cmp_ok($wait_age, '>', $age, 'its age grows');
	$age = $wait_age;
}
is_within($age, 360, $most, 'to most of the wait');
eventually($node, "SELECT wait_event = 'ClientRead' $now",
	'afterwards it shows the wait for the client');

# 2. With a deadlock check in the middle that finds none, and logs nothing.
$node->append_conf('postgresql.conf',
	"deadlock_timeout = 100ms\nlog_lock_waits = off");
$node->reload;
until_true($node, "SELECT setting = '100' FROM pg_settings
                    WHERE name = 'deadlock_timeout'");
$_->query_safe('SELECT 1') foreach $holder, $waiter;
($seen, $least, $most) = make_wait();
check_wait('over a deadlock check', $least, $most);
is_within($seen->[-1][4], 360, $most, 'its age goes on over the check');

# 3. The same when the check writes a message to the log.
$node->append_conf('postgresql.conf', 'log_lock_waits = on');
$node->reload;
until_true($node, "SELECT setting = 'on' FROM pg_settings
                    WHERE name = 'log_lock_waits'");
$_->query_safe('SELECT 1') foreach $holder, $waiter;
my $log_offset = -s $node->logfile;
($seen, $least, $most) = make_wait();
like(substr(file_text($node->logfile), $log_offset),
	qr/process $pid still waiting for ShareLock on transaction/,
	'the check logged a message');
check_wait('over a logged deadlock check', $least, $most);
is_within($seen->[-1][4], 360, $most, 'its age goes on over the message');

# 4. A wait that ends in an error counts as well.
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
$holder->query_safe("BEGIN; $update");
$waiter->query("SET lock_timeout = '50ms'");
$waiter->query($update);
$waiter->query("RESET lock_timeout");
$holder->query_safe('ROLLBACK');
my ($waits, $time) = wait_numbers($node, 'query_waits', 'Lock/transactionid',
	"queryid = $query");
is($waits, 1, 'a wait cancelled by lock_timeout is one wait');
is_within($time, 49, 1000, 'of the time until the timeout');

$holder->quit;
$waiter->quit;
$node->stop;
done_testing();
