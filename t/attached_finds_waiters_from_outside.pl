# In a server that was attached to while it ran, the sampler names the lock of
# every waiter, finds a lost wake-up and a stopped holder, and how locks are
# held: of sessions that were there before and have loaded nothing.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeAttach;
use CprobeTest;
use Test::More;

my $node = start_unloaded(
	'outside',
	testkit => 1,
	conf => "contention_probe.stuck_after = '300ms'\n");

$node->safe_psql('postgres',
	'CREATE TABLE page (id int); INSERT INTO page VALUES (1)');

# SLRUs have locks of banks from 17 on.
my $slru = server_major($node) >= 17 ? 'SubtransSLRU[0]' : 'SubtransBuffer[0]';

my ($holder, $holder_pid) = session($node);
my ($waiter, $waiter_pid) = session($node);

is(attach($node), 'attached', 'attached');

# The view says this of the waiter, at last.
sub waits_for
{
	my ($lock, $name) = @_;

	return eventually(
		$node,
		qq{SELECT count(*) = 1 FROM contention_probe.backends
		    WHERE pid = $waiter_pid AND lock = '$lock'},
		$name);
}

# One session holds a lock for some seconds and the other waits for it.
sub hold_and_wait
{
	my ($lock, $code, $mode) = @_;

	$mode //= 'exclusive';
	in_background($holder, "SELECT tk_hold('$lock', 'exclusive', 4000);");
	until_true($node,
		qq{SELECT state = 'active' FROM pg_stat_activity
		    WHERE pid = $holder_pid});
	in_background($waiter, "SELECT tk_wait_on('$lock', '$mode');");
	$code->();
	$holder->query('SELECT 1');
	$waiter->query('SELECT 1');
	return;
}

# A lock in each of the places where locks are looked for.
hold_and_wait(
	'WALInsert[3]',
	sub {
		waits_for('WALInsert[3]', 'WAL insertion lock');
		eventually(
			$node,
			q{SELECT exclusive_util > 0 FROM contention_probe.wal_insert_locks
			   WHERE lock_index = 3},
			'it is seen held');
		eventually(
			$node,
			q{SELECT samples > 0 FROM contention_probe.wal_insert_occupancy
			   WHERE locks_held = 1},
			'and counted');
	});
hold_and_wait(
	'BufferMapping[27]',
	sub {
		waits_for('BufferMapping[27]', 'partition');
		is( $node->safe_psql(
				'postgres',
				qq{SELECT lock_mode FROM contention_probe.backends
				    WHERE pid = $waiter_pid}),
			'shared',
			'its mode');
	},
	'shared');
hold_and_wait(
	"LockFastPath($holder_pid)",
	sub {
		waits_for("LockFastPath(pid $holder_pid)", 'lock of a process');
	});
hold_and_wait(
	'testkit[1]',
	sub {
		waits_for('testkit[1]', 'lock of a tranche of an extension');
		eventually(
			$node,
			qq{SELECT verdict = 'long hold' AND lock_state = 'exclusive'
			          AND mode = 'exclusive' AND waiting_time > 300
			     FROM contention_probe.stuck_waiters
			    WHERE pid = $waiter_pid AND lock = 'testkit[1]'},
			'a long hold');
	});
hold_and_wait($slru,
	sub { waits_for($slru, 'lock somewhere in an area of shared memory') });
hold_and_wait(
	'BufferContent(page,0)',
	sub {
		waits_for('BufferContent(page/main/0)', 'content lock of a page');
		eventually(
			$node,
			q{SELECT samples > 0 AND waits IS NULL
			     FROM contention_probe.buffer_locks
			    WHERE relname = 'page' AND block = 0},
			'a hot page');
	});

my $row = $node->safe_psql(
	'postgres',
	q{SELECT waits IS NULL AND wait_time IS NULL AND queue_length > 0
	         AND exclusive_util > 0
	    FROM contention_probe.lwlocks WHERE lock = 'testkit[1]'});
is($row, 't', 'queue and utilisation are sampled, waits are not known');

# The server itself does not need this lock: whoever asks is not in the way.
# Lost wake-up: nobody holds the lock, and the waiter sleeps on.
in_background($holder, "SELECT tk_lose_wakeup('testkit[1]');");
until_true($node,
	qq{SELECT state = 'active' FROM pg_stat_activity WHERE pid = $holder_pid}
);
in_background($waiter, "SELECT tk_wait_on('testkit[1]');");
eventually(
	$node,
	qq{SELECT verdict = 'lost wake-up' AND lock_state = 'free'
	          AND holder_pids IS NULL
	     FROM contention_probe.stuck_waiters
	    WHERE pid = $waiter_pid AND lock = 'testkit[1]'},
	'a lost wake-up is found');
ok( wait_for_log_line($node, qr/WARNING:.*$waiter_pid.*lost wake-up/),
	'and logged');
$holder->query("SELECT tk_rescue('testkit[1]')");
$waiter->query('SELECT 1');

# Stopped holder.
in_background($holder, "SELECT tk_hold('testkit[1]', 'exclusive', 1000);");
until_true($node,
	qq{SELECT state = 'active' FROM pg_stat_activity WHERE pid = $holder_pid}
);
select undef, undef, undef, 0.2;
kill 'STOP', $holder_pid;
in_background($waiter, "SELECT tk_wait_on('testkit[1]');");
eventually(
	$node,
	qq{SELECT verdict = 'holder stopped' AND holder_pids = '{$holder_pid}'
	     FROM contention_probe.stuck_waiters
	    WHERE pid = $waiter_pid AND lock = 'testkit[1]'},
	'a stopped holder is found');
kill 'CONT', $holder_pid;
$holder->query('SELECT 1');
$waiter->query('SELECT 1');
eventually(
	$node,
	'SELECT count(*) = 0 FROM contention_probe.stuck_waiters',
	'nobody is stuck any more');

# The history keeps who waited for what.
eventually(
	$node,
	qq{SELECT count(*) > 0 FROM contention_probe.history
	    WHERE pid = $waiter_pid AND lock = 'testkit[1]'},
	'the history names the lock');
is( $node->safe_psql(
		'postgres', 'SELECT hooked_processes FROM contention_probe.status'),
	'0',
	'no process was hooked for all this');

is(detach($node), 'detached', 'detached');
$holder->quit;
$waiter->quit;
$node->stop;

sub wait_for_log_line
{
	my ($server, $pattern) = @_;

	foreach (1 .. 200)
	{
		return 1 if server_log($server) =~ $pattern;
		select undef, undef, undef, 0.05;
	}
	return 0;
}

done_testing();
