# A wait for an LWLock is shown for that lock and no other, with its time, in
# the mode in which it was waited for, and with the statement that held it.
#
# Breaks when the lock on the stack is missed or mistaken, when the name is
# another lock's, or when the stamp of the waker is lost or of somebody else.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeLocks;
use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $ms = 200;
my $node = start_testkit(
	'named',
	streaming => 1,
	conf => "shared_buffers = 64MB\nwal_level = logical\n"
	  . "max_replication_slots = 4");
my $major = major($node);

$node->safe_psql('postgres',
	q{SELECT pg_create_physical_replication_slot('a_slot')});
my $holder = [ session($node) ];
my $waiter = [ session($node) ];
my $holder_query = holder_query($node);
my $waiter_query = waiter_query($node);

# The waiter's wait, as the holder kept it waiting.
sub handoff
{
	my ($lock) = @_;

	return one_row(
		$node, "SELECT sum(handoffs), sum(queue_time), sum(wakeup_time),
		               string_agg(DISTINCT waker_backend_type, ',')
		          FROM contention_probe.lock_handoffs
		         WHERE lock = '$lock' AND waiter_queryid = $waiter_query
		           AND waker_queryid = $holder_query");
}

# Hold a lock, wait for it, and look at all that is said of that.
sub check_lock
{
	my ($lock, %expected) = @_;
	my $name = $expected{name} // $lock;
	my ($tranche) = $expected{tranche} // $name =~ /^(\w+)/;

	my ($held, $waited, %seen);

	# Processes that the server starts by itself may want a lock as well, and
	# come between the two: then once more.
	foreach my $try (1 .. 5)
	{
		reset_all($node);
		($held, $waited) =
		  contend($node, $holder, [$waiter], lock => $lock, ms => $ms);
		%seen = lock_numbers($node, $name);
		last if $seen{waits} == 1;
	}
	is($seen{waits}, 1, "$name: waited for once");
	is_within($seen{max_time}, $waited - 10, $waited, "$name: for so long");
	is($seen{exclusive_waits} + $seen{shared_waits},
		$seen{waits}, "$name: each in a mode");
	is($seen{proven_waits} + $seen{inferred_waits},
		$expected{known} // $seen{waits}, "$name: known which it was");

	my ($handoffs, $queue, $wakeup, $type) = handoff($name);
	is($handoffs, 1, "$name: handed over once by the holder's statement");
	is($type, 'client backend', "$name: by a process of its kind");
	is_within($queue, $ms * 0.8, $held + 5, "$name: after it was held");
	is_within($queue + $wakeup, $waited - 10, $waited,
		"$name: queueing and waking up are the whole wait");

	like(
		$node->safe_psql(
			'postgres', "SELECT string_agg(stack, E'\\n')
			               FROM contention_probe.wait_stacks
			              WHERE wait_event = '$tranche'"),
		qr/ExecutorRun;.*tk_wait_on;.*LWLockAcquire/,
		"$name: call path");

	# The others of its tranche have had nothing to do with it.
	my $others = $node->safe_psql(
		'postgres', "SELECT coalesce(max(wait_time), 0)
		               FROM contention_probe.lwlocks
		              WHERE tranche = '$tranche' AND lock <> '$name'");
	cmp_ok($others, '<', $ms * 0.8, "$name: no other of its tranche");
	return;
}

my ($psql, $pid) = session($node);

check_lock($_)
  foreach 'BufferMapping[27]', 'LockManager[5]', 'PredicateLockManager[3]',
  'ProcArray', 'WALInsert[6]', 'XactBuffer[5]', 'testkit[2]', 'PgStatsHash[9]',
  'PgStatsData(slru)', 'ReplicationSlotIO(a_slot)', 'ReplicationOriginState[2]',
  "LockFastPath(pid $pid)";
check_lock('XactSLRU[0]') if $major >= 17;

# A lock in dynamic shared memory has no address that all share: its tranche.
# Who does not know the name of an extension's tranche says so; from 19 on the
# server itself knows them all.
$holder->[0]->query_safe('SELECT tk_dsm_create()');
my $tranche =
  $holder->[0]->query_safe(q{SELECT tk_lock_tranche('dsm')});
check_lock(
	'dsm',
	known => 0,
	$major >= 19
	? (name => 'testkit_dsm')
	: (name => "extension tranche $tranche", tranche => 'extension'));
$holder->[0]->query_safe('SELECT tk_dsm_drop()');

$psql->quit;
$_->[0]->quit foreach $holder, $waiter;
$node->stop;
done_testing();
