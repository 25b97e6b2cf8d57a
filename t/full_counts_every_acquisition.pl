# instrument = full: every acquisition of an LWLock is counted, shared and
# exclusive, tried and failed; who holds one is known, whatever happens between
# acquisition and release.
#
# Breaks when a way to take or release a lock is not hooked, when a hook counts
# twice, or when an error leaves a lock in the list of a process.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeLocks;
use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = start_testkit('counter',
	conf => 'contention_probe.instrument = full');

if ($node->safe_psql('postgres',
		'SELECT instrument_reason FROM contention_probe.status') =~ /architecture/)
{
	$node->stop;
	plan skip_all => 'there are no hooks on code on this architecture';
}

is( $node->safe_psql(
		'postgres', q(
		SELECT string_agg(symbol || ': ' || reason, '; ')
		  FROM contention_probe.hooks
		 WHERE mechanism = 'detour' AND state <> 'active')),
	'',
	'every function is hooked');

sub counts
{
	return $node->safe_psql(
		'postgres', q(
		SELECT shared_acquires, exclusive_acquires, conditional_failures
		  FROM contention_probe.lwlock_tranches WHERE tranche = 'testkit'));
}

my ($session) = session($node);

# 1. Exactly as many as were taken.
$session->query_safe(
	q(SELECT tk_acquire_many('testkit[0]', 'shared', 1000000),
	         tk_acquire_many('testkit[0]', 'exclusive', 500000)));
is(counts(), '1000000|500000|0', 'a million shared, half a million exclusive');

# 2. A session that is not measured counts nothing.
$session->query_safe('SET contention_probe.enabled = off');
$session->query_safe(q(SELECT tk_acquire_many('testkit[0]', 'shared', 1000)));
$session->query_safe('SET contention_probe.enabled = on');
is(counts(), '1000000|500000|0', 'switched off, nothing is counted');

# 3. reset() starts anew, for living processes too; a process that ends leaves
# its counts behind.
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
is(counts(), '', 'nothing after a reset');
$session->query_safe(q(SELECT tk_acquire_many('testkit[1]', 'shared', 1000)));
$node->safe_psql('postgres',
	q(SELECT tk_acquire_many('testkit[2]', 'shared', 234)));
is(counts(), '1234|0|0', 'counts of those who live and those who left');

# 4. Nested, out of order, tried and failed.
is($session->query_safe(q(SELECT tk_nest('testkit[3]', 'testkit[4]'))),
	't', 'nested acquisitions');
is(counts(), '1235|1|2', 'are counted, failures apart');

# 5. Hold times of one in N.
$session->query_safe('SET contention_probe.timed_fraction = 1');
$session->query_safe(q(SELECT tk_acquire_many('testkit[0]', 'shared', 1000)));
$session->query_safe('SET contention_probe.timed_fraction = 0');
$session->query_safe(q(SELECT tk_hold('testkit[0]', 'exclusive', 20)));
is( $node->safe_psql(
		'postgres', q(
		SELECT timed_holds BETWEEN 1000 AND 1100, hold_mean_time < 1,
		       hold_p95_time <= hold_max_time
		  FROM contention_probe.lwlock_tranches WHERE tranche = 'testkit')),
	't|t|t',
	'all are timed where all are asked for, none where none are');

# 6. Holders: one that does not sleep in anything that is hooked.
sub blocker_is_found
{
	my ($name, $before) = @_;
	my ($holder, $pid) = session($node);
	my ($waiter, $waiter_pid) = session($node);

	in_background($holder,
		"SELECT $before, tk_hold('testkit[5]', 'exclusive', 3000);");
	until_true($node, q(SELECT query LIKE '%tk_hold%' AND state = 'active'
	                      FROM pg_stat_activity WHERE pid = ) . $pid);
	in_background($waiter, "SELECT tk_wait_on('testkit[5]');");
	eventually(
		$node,
		"SELECT lock = 'testkit[5]' AND blocker_pid = $pid
		   FROM contention_probe.backends WHERE pid = $waiter_pid",
		$name);
	$_->quit foreach $holder, $waiter;
	return;
}

blocker_is_found('the holder is known though it does not sleep', '1');
blocker_is_found('more locks at once than the list takes do not upset it',
	'tk_nest_many(100)');

# 7. After an error the lock is held no more.
$session->query_safe(
	q{DO $$ BEGIN
	    PERFORM tk_fail_holding('testkit[5]');
	  EXCEPTION WHEN raise_exception THEN NULL;
	  END $$}) for 1 .. 2;
blocker_is_found('a process that failed with a lock is no holder', '1');

# 8. The fixed locks have counts of their own, and one that nobody waited for
# a row.
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
$session->query_safe(
	q(SELECT tk_acquire_many('AddinShmemInit', 'shared', 777)));
is( $node->safe_psql(
		'postgres', q(
		SELECT shared_acquires, waits, contention
		  FROM contention_probe.lwlocks WHERE lock = 'AddinShmemInit')),
	'777|0|0',
	'a fixed lock is counted by itself');
$session->quit;

# 9. Below full there are no counts.
$node->append_conf('postgresql.conf', 'contention_probe.instrument = waits');
$node->restart;
is( $node->safe_psql(
		'postgres', q(
		SELECT count(*) FROM contention_probe.lwlocks
		 WHERE shared_acquires IS NOT NULL)),
	0,
	'waits: no counts of acquisitions');

$node->stop;
done_testing();
