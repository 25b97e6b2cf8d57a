# The sampler takes its ticks at the pace that was asked for, and nobody waits
# for it: not readers, when it is stopped; not the server, when it shuts down.
#
# Breaks when readers ask the sampler instead of shared memory, when it does
# not come back, or when a new pace needs a restart.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;
use Time::HiRes qw(sleep);

my $node = start_cluster('sampler');

ok(until_true($node,
		'SELECT sampler_pid IS NOT NULL FROM contention_probe.status'),
	'the sampler runs');
my $pid = sampler_pid($node);
is( $node->safe_psql('postgres',
		"SELECT backend_type FROM pg_stat_activity WHERE pid = $pid"),
	'contention_probe sampler',
	'as a background worker of its own type');

# About a second: ticks taken, ticks due, and how long it was, in ms.  What is
# due is known only when the sampler has the CPU again.
sub ticks_of_a_second
{
	return split /\|/, (
		split /\n/,
		$node->safe_psql(
			'postgres', q{
			SELECT contention_probe.reset();
			SELECT pg_sleep(1.05);
			SELECT ticks, ticks + missed_ticks,
			       extract(epoch FROM clock_timestamp() - stats_since) * 1000
			  FROM contention_probe.status}))[-1];
}

# 1. Its pace.
my ($ticks, $due, $elapsed) = ticks_of_a_second();
is_within($due, $elapsed / 10 * 0.7, $elapsed / 10 + 3,
	'a tick every 10 ms is due');
cmp_ok($ticks, '>', 10, 'and many are taken');

$node->append_conf('postgresql.conf',
	'contention_probe.sample_interval = 100ms');
$node->reload;
eventually($node, 'SELECT sample_interval = 100 FROM contention_probe.status',
	'a new interval is shown');
($ticks, $due, $elapsed) = ticks_of_a_second();
is_within($due, $elapsed / 100 * 0.6, $elapsed / 100 + 2,
	'and followed after a reload');
is(sampler_pid($node), $pid, 'by the same process');

# 2. What it sees: a sleep of half a second is in the profile and the history.
$node->append_conf('postgresql.conf', q{
contention_probe.sample_interval = 10ms
contention_probe.history_interval = 50ms});
$node->reload;
until_true($node, 'SELECT sample_interval = 10 FROM contention_probe.status');
my ($session, $session_pid) = session($node);
my $query = query_id($node, 'SELECT pg_sleep(0.5)');
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
$elapsed = cost_of(sub { $session->query_safe('SELECT pg_sleep(0.5)') });
my ($samples) = one_row(
	$node, qq{
	SELECT coalesce(sum(samples), 0) FROM contention_probe.profile
	 WHERE queryid = $query AND wait_event = 'PgSleep' AND NOT idle
	   AND backend_type = 'client backend'});
my ($missed) = one_row($node,
	'SELECT missed_ticks FROM contention_probe.status');
is_within($samples + $missed, 45, $elapsed / 10 + $missed + 5,
	'profile: a sample for each tick');
my ($rows, $moments, $others) = one_row(
	$node, qq{
	SELECT count(*), count(DISTINCT sampled_at),
	       count(*) FILTER (WHERE queryid <> $query
	                           OR backend_type <> 'client backend')
	  FROM contention_probe.history
	 WHERE pid = $session_pid AND wait_event = 'PgSleep'});
is_within($rows, 4, $elapsed / 50 + 2, 'history: a row for each interval');
is($moments, $rows, 'each at another moment');
is($others, 0, 'with the statement and the kind of process');
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*) FROM contention_probe.history
		 WHERE wait_event_type = 'Activity' OR wait_event = 'ClientRead'}),
	0,
	'history has no idle process');
is( $node->safe_psql(
		'postgres', q{
		SELECT bool_and(idle) FROM contention_probe.profile
		 WHERE wait_event_type = 'Activity'}),
	't',
	'profile marks idle processes');

# A process that computes is seen as such.
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
$session->query_safe(
	'SELECT count(*) FROM generate_series(1, 2000000) AS g WHERE g % 7 = 3');
eventually($node, q{
	SELECT sum(samples) > 0 FROM contention_probe.profile
	 WHERE wait_event_type = 'CPU' AND wait_event = 'CPU or unknown'
	   AND backend_type = 'client backend' AND NOT idle},
	'a process on CPU is no wait');

# 3. Stopped: readers go on.
kill 'STOP', $pid;
my $cost = cost_of(
	sub {
		$node->safe_psql(
			'postgres', q{
			SET statement_timeout = '5s';
			SELECT count(*) FROM contention_probe.status;
			SELECT count(*) FROM contention_probe.hooks;
			SELECT count(*) FROM contention_probe.waits;
			SELECT count(*) FROM contention_probe.wait_histogram;
			SELECT count(*) FROM contention_probe.backend_waits;
			SELECT count(*) FROM contention_probe.query_waits;
			SELECT count(*) FROM contention_probe.backends;
			SELECT count(*) FROM contention_probe.history;
			SELECT count(*) FROM contention_probe.profile;
			SELECT contention_probe.reset()});
	});
pass("all views and reset() answer while the sampler is stopped ($cost ms)");
my ($still) = one_row($node, 'SELECT ticks FROM contention_probe.status');
sleep 0.1;
my ($later) = one_row($node, 'SELECT ticks FROM contention_probe.status');
is($later, $still, 'meanwhile there are no ticks');
$session->query_safe('SELECT pg_sleep(0.02)');
is((wait_numbers($node, 'waits', 'Timeout/PgSleep'))[0],
	1, 'waits are counted exactly without it');
kill 'CONT', $pid;
eventually($node, "SELECT ticks > 2 FROM contention_probe.status",
	'continued, it ticks on');
my ($passed) = one_row($node,
	'SELECT missed_ticks FROM contention_probe.status');
cmp_ok($passed, '>', 5, 'and says how many ticks it missed');

# 4. Ended by SIGTERM: a new one comes.
kill 'TERM', $pid;
eventually($node, "SELECT sampler_pid <> $pid FROM contention_probe.status",
	'after SIGTERM another sampler comes');
my ($before) = one_row($node, 'SELECT ticks FROM contention_probe.status');
eventually($node, "SELECT ticks > $before FROM contention_probe.status",
	'and ticks');
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*) FROM pg_stat_activity
		 WHERE backend_type = 'contention_probe sampler'}),
	1,
	'there is one of it');

# 5. Shutdown does not wait for it, even in a long sleep.
$session->quit;
$node->append_conf('postgresql.conf',
	'contention_probe.sample_interval = 60s');
foreach my $mode (qw(fast smart immediate))
{
	$node->reload;
	eventually($node,
		'SELECT sample_interval = 60000 AND sampler_pid IS NOT NULL
		   FROM contention_probe.status', 'a sampler that sleeps for long');
	$cost = cost_of(sub { $node->stop($mode) });
	cmp_ok($cost, '<', 4500, "$mode shutdown ends at once");
	$node->start;
}

# 6. Switched off, it does not look.
$node->append_conf('postgresql.conf', q{
contention_probe.sample_interval = 1ms
contention_probe.enabled = off});
$node->reload;
eventually($node,
	'SELECT NOT enabled AND sample_interval = 1 FROM contention_probe.status',
	'enabled can be switched off for all');
until_true($node, q{
	SELECT sum(waits) > 0 FROM contention_probe.backend_waits});
sleep 0.1;
($still) = one_row($node, 'SELECT ticks FROM contention_probe.status');
sleep 0.1;
($later) = one_row($node, 'SELECT ticks FROM contention_probe.status');
is($later, $still, 'then there are no ticks');

$node->stop;
done_testing();
