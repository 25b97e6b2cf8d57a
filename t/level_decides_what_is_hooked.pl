# contention_probe.instrument decides what is hooked, contention_probe.enabled
# whether a session is measured.
#
# Breaks when `none` still redirects calls, when `full` pretends to do more
# than it does, or when switching off a session switches off others.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = start_cluster('levels');

sub hook_states
{
	return $node->safe_psql(
		'postgres', q{
		SELECT string_agg(DISTINCT state, ',' ORDER BY state)
		  FROM contention_probe.hooks});
}

# 1. waits, the default.
is( join(',',
		one_row($node,
			'SELECT instrument, enabled, attached, instrument_reason IS NULL
			   FROM contention_probe.status')),
	'waits,t,preloaded,t',
	'the default is waits, and all of it works');
is( $node->safe_psql(
		'postgres', q{
		SELECT string_agg(symbol, ' ' ORDER BY symbol)
		  FROM contention_probe.hooks
		 WHERE symbol IN ('sem_wait', 'epoll_wait', 'fsync', 'ExecutorRun_hook',
		                  'ProcessUtility_hook') AND state = 'active'}),
	'ExecutorRun_hook ProcessUtility_hook epoll_wait fsync sem_wait',
	'the main hooks are active');
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*) FROM contention_probe.hooks
		 WHERE (reason IS NULL) <> (state = 'active')}),
	0,
	'each hook that is not active says why, and no other');
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*) FROM contention_probe.hooks
		 WHERE mechanism = 'got' AND state <> 'active' AND hits > 0}),
	0,
	'only active hooks are hit');

# 2. enabled, for a session.
my ($session, $pid) = session($node);
my ($other) = session($node);
my $mine = "pid = $pid";
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
$session->query_safe('SET contention_probe.enabled = off');
$session->query_safe('SELECT pg_sleep(0.01)');
is((wait_numbers($node, 'backend_waits', 'Timeout/PgSleep', $mine))[0],
	0, 'a session that is switched off has no waits');
$other->query_safe('SELECT pg_sleep(0.01)');
is((wait_numbers($node, 'waits', 'Timeout/PgSleep'))[0],
	1, 'others have theirs');
is($session->query_safe('SELECT enabled FROM contention_probe.status'),
	'f', 'status tells so in the session');
is($other->query_safe('SELECT enabled FROM contention_probe.status'),
	't', 'and in no other');
$session->query_safe('SET contention_probe.enabled = on');
$session->query_safe('SELECT pg_sleep(0.01)');
is((wait_numbers($node, 'backend_waits', 'Timeout/PgSleep', $mine))[0],
	1, 'switched on again, it has');

# In the middle of a statement: from here to there.
$session->query_safe(
	q{DO $$ BEGIN
	    PERFORM pg_sleep(0.01);
	    SET LOCAL contention_probe.enabled = off;
	    PERFORM pg_sleep(0.01), pg_sleep(0.01);
	    SET LOCAL contention_probe.enabled = on;
	    PERFORM pg_sleep(0.01);
	  END $$});
is((wait_numbers($node, 'backend_waits', 'Timeout/PgSleep', $mine))[0],
	3, 'switched within a statement');

# Only superusers, like all settings that hide something.
$node->safe_psql('postgres', 'CREATE ROLE nobody LOGIN');
my ($rc, $out, $err) = $node->psql(
	'postgres',
	'SET contention_probe.enabled = off',
	extra_params => [ '-U', 'nobody' ]);
like($err, qr/permission denied to set parameter/,
	'a user without privileges may not switch it off');
$_->quit foreach $session, $other;

# For all, by the configuration file.
$node->append_conf('postgresql.conf', 'contention_probe.enabled = off');
$node->reload;
eventually($node, 'SELECT NOT enabled FROM contention_probe.status',
	'switched off for all');
$node->safe_psql('postgres',
	'SELECT contention_probe.reset(); SELECT pg_sleep(0.01)');
is((wait_numbers($node, 'waits', 'Timeout/PgSleep'))[0],
	0, 'then nothing is counted');

# 3. none: sampling only.
$node->append_conf('postgresql.conf', q{
contention_probe.enabled = on
contention_probe.instrument = none
contention_probe.history_interval = 10ms});
$node->restart;
($session, $pid) = session($node);
is( join(',',
		one_row($node,
			'SELECT instrument, hook_hits FROM contention_probe.status')),
	'none,0',
	'without hooks');
is(hook_states(), 'off', 'all hooks are off');
my $query = query_id($node, 'SELECT pg_sleep(0.3)');
$session->query_safe('SELECT pg_sleep(0.3)');
foreach my $view (qw(waits wait_histogram backend_waits query_waits))
{
	is( $node->safe_psql('postgres',
			"SELECT count(*) FROM contention_probe.$view"),
		0,
		"none: $view is empty");
}
is( $node->safe_psql(
		'postgres', qq{
		SELECT sum(samples) > 5 FROM contention_probe.profile
		 WHERE wait_event = 'PgSleep' AND NOT idle AND queryid = $query}),
	't',
	'none: the profile is sampled, by statement');
is( $node->safe_psql(
		'postgres', qq{
		SELECT count(*) > 3 FROM contention_probe.history
		 WHERE pid = $pid AND wait_event = 'PgSleep' AND queryid = $query}),
	't',
	'none: and the history');
is( $node->safe_psql(
		'postgres', qq{
		SELECT count(*) FROM contention_probe.history
		 WHERE wait_event = 'ClientRead' OR wait_event_type = 'Activity'}),
	0,
	'none: idle processes are told from busy ones');
in_background($session, 'SELECT pg_sleep(0.5);');
eventually(
	$node,
	"SELECT wait_event = 'PgSleep' AND queryid IS NOT NULL
	        AND wait_age IS NULL AND coalesce(waits, 0) = 0
	   FROM contention_probe.backends WHERE pid = $pid",
	'none: backends shows waits, without their age');
$session->query_safe('SELECT contention_probe.reset()');
$session->quit;

# 4. full.
$node->append_conf('postgresql.conf', 'contention_probe.instrument = full');
$node->restart;
my ($instrument, $reason) = one_row($node,
	'SELECT instrument, instrument_reason FROM contention_probe.status');
is($instrument, 'full', 'full');
if ($node->safe_psql('postgres',
		q{SELECT count(*) FROM contention_probe.hooks
		   WHERE mechanism = 'detour' AND state = 'active'}) == 0)
{
	isnt($reason, '', "full that is not full says why: $reason");
}
else
{
	pass("full has hooks of its own: $reason");
}
$node->safe_psql('postgres', 'SELECT pg_sleep(0.01)');
is((wait_numbers($node, 'waits', 'Timeout/PgSleep'))[0],
	1, 'full: waits are counted');

$node->stop;
done_testing();
