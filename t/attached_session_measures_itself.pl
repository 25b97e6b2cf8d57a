# In a server that was attached to, a session that loads the library measures
# its own waits exactly, with lock, hand-off and call path; others are not
# touched, and after detach() it passes through.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeAttach;
use CprobeTest;
use Test::More;

# A lock is held for so long that the sampler would warn of it.
my $node = start_unloaded(
	'session',
	testkit => 1,
	conf => "contention_probe.stuck_after = '60s'\n");

# Loaded before there is anything to measure for, and after.
my ($early, $early_pid) = session($node);
$early->query_safe("LOAD 'contention_probe'");
is(attach($node), 'attached', 'attached');
my ($late, $late_pid) = session($node);
my ($plain, $plain_pid) = session($node);

# One that has called a function first: LOAD finds the library loaded.
$late->query_safe('SELECT count(*) FROM contention_probe.status');
is( $node->safe_psql(
		'postgres', 'SELECT hooked_processes FROM contention_probe.status'),
	'0',
	'whoever has no statement since is not hooked yet, nor is a reader');
$late->query_safe("LOAD 'contention_probe'");
$early->query_safe('SELECT 1');
eventually(
	$node,
	'SELECT hooked_processes = 2 AND processes > 5
	   FROM contention_probe.status',
	'two of all processes are hooked');
is( $node->safe_psql(
		'postgres',
		q{SELECT instrument || ' ' || attached || ' ' ||
		         (instrument_reason IS NOT NULL)
		    FROM contention_probe.status}),
	'none attached true',
	'status says what that means');

# Waits are exact.
foreach my $case ([ $early, $early_pid ], [ $late, $late_pid ])
{
	my ($psql, $pid) = @$case;

	$psql->query_safe('SELECT pg_sleep(0.1)') foreach 1 .. 3;
	my ($waits, $time) =
	  wait_numbers($node, 'backend_waits', 'Timeout/PgSleep', "pid = $pid");
	is($waits, 3, 'three sleeps');
	is_within($time, 300, 900, 'of 100 ms each');
}
$plain->query_safe('SELECT pg_sleep(0.1)');
my ($waits) = wait_numbers($node, 'waits', 'Timeout/PgSleep');
is($waits, 6, 'sleeps of the others are not counted');
ok( $node->safe_psql(
		'postgres',
		q{SELECT count(*) > 0 FROM contention_probe.wait_stacks
		   WHERE wait_event = 'PgSleep' AND stack LIKE '%pg_sleep%'}) eq 't',
	'call paths');

# A lock goes from one hooked session to the other.
in_background($early, "SELECT tk_hold('WALInsert[3]', 'exclusive', 3000);");
until_true($node,
	qq{SELECT state = 'active' FROM pg_stat_activity WHERE pid = $early_pid});
$late->query_safe("SELECT tk_wait_on('WALInsert[3]')");
$early->query_safe('SELECT 1');
my @lock = one_row(
	$node,
	q{SELECT waits, wait_time, proven_waits FROM contention_probe.lwlocks
	   WHERE lock = 'WALInsert[3]'});
is($lock[0], 1, 'one wait for the lock');
is_within($lock[1], 50, 3100, 'not longer than it was held');
is($lock[2], 1, 'proven');
is( $node->safe_psql(
		'postgres',
		q{SELECT waker_backend_type, handoffs
		    FROM contention_probe.lock_handoffs WHERE lock = 'WALInsert[3]'}),
	'client backend|1',
	'and who handed it over');

# Statements: the session asks for query ids by itself.
ok( $node->safe_psql(
		'postgres', 'SELECT count(*) > 0 FROM contention_probe.query_waits')
	  eq 't',
	'waits by statement');

# Sessions of a setting.
$node->append_conf('postgresql.conf',
	"session_preload_libraries = 'contention_probe'\n");
$node->reload;
my ($preset, $preset_pid) = session($node);
$preset->query_safe('SELECT pg_sleep(0.05)');
($waits) =
  wait_numbers($node, 'backend_waits', 'Timeout/PgSleep', "pid = $preset_pid");
is($waits, 1, 'session_preload_libraries');

# Parallel workers of a hooked session.
$preset->query_safe('CREATE TABLE wide AS SELECT generate_series(1, 100000) i');
$preset->query_safe('SET min_parallel_table_scan_size = 0');
$preset->query_safe('SET parallel_setup_cost = 0');
$preset->query_safe('SET parallel_tuple_cost = 0');
$preset->query_safe('SELECT count(*), pg_sleep(0.01) FROM wide');
eventually(
	$node,
	q{SELECT count(*) > 0 FROM contention_probe.backend_waits
	   WHERE backend_type = 'parallel worker'},
	'parallel workers of a hooked session');

# Gone: everything goes on as before.
is(detach($node), 'detached', 'detached');
$early->query_safe('SELECT pg_sleep(0.01)');
$late->query_safe('SELECT pg_sleep(0.01)');
is(mapping_count($early_pid), mapping_count($plain_pid),
	'the region is not mapped any more');
is(attach($node), 'attached', 'attached again');
$early->query_safe('SELECT pg_sleep(0.01)');
($waits) =
  wait_numbers($node, 'backend_waits', 'Timeout/PgSleep',
	"pid = $early_pid");
is($waits, 1, 'counting has begun anew');

# Nothing of a session's hooks is in the way of its end.
$_->quit foreach $early, $late, $plain, $preset;
eventually(
	$node,
	'SELECT hooked_processes <= 1 FROM contention_probe.status',
	'hooked sessions have left');
unlike(server_log($node), qr/ (?:PANIC|FATAL|WARNING): /,
	'nothing bad in the server log');
$node->stop;

done_testing();
