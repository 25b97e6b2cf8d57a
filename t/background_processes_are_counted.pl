# Processes that serve no client are measured as well, each under its own
# type: archiver, replication, recovery, autovacuum; on a standby as on a
# primary.
#
# Breaks when a process is not recognized or never gets a slot, when a standby
# cannot start the sampler or answer, or when promotion stops either.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $primary = start_cluster(
	'primary',
	streaming => 1,
	conf => q{
archive_mode = on
archive_command = 'sleep 0.2'
autovacuum = on
autovacuum_naptime = 1
autovacuum_vacuum_threshold = 1
autovacuum_vacuum_cost_delay = 2ms
autovacuum_vacuum_cost_limit = 1
contention_probe.history_interval = 10ms
});

# 1. The archiver waits for its command.
$primary->safe_psql('postgres',
	'CREATE TABLE t AS SELECT generate_series(1, 1000) AS a;
	 SELECT contention_probe.reset();
	 SELECT pg_switch_wal()');
eventually(
	$primary, q{
	SELECT archived_count + failed_count > 0 FROM pg_stat_archiver},
	'a segment is archived');
my ($waits, $time) = wait_numbers($primary, 'backend_waits',
	'IPC/ArchiveCommand', "backend_type = 'archiver' AND pid IS NOT NULL");
cmp_ok($waits, '>=', 1, 'the archiver waits for its command');
is_within($time / ($waits || 1), 200, 1000, 'as long as it runs');

# 2. Autovacuum: the launcher, and a worker that keeps its delays.
$primary->safe_psql('postgres', 'UPDATE t SET a = a + 1');
eventually($primary, q{
	SELECT count(*) = 1 FROM contention_probe.backends
	 WHERE backend_type = 'autovacuum launcher'},
	'backends: the launcher');
eventually($primary, q{
	SELECT coalesce(sum(waits), 0) > 0 FROM contention_probe.backend_waits
	 WHERE backend_type = 'autovacuum worker' AND wait_event = 'VacuumDelay'},
	'a worker waits for its delay');
eventually($primary, q{
	SELECT count(*) > 0 FROM contention_probe.history
	 WHERE backend_type = 'autovacuum worker' AND wait_event = 'VacuumDelay'},
	'and is sampled');
is( $primary->safe_psql(
		'postgres', q{
		SELECT count(*) FROM contention_probe.query_waits
		 WHERE wait_event = 'VacuumDelay'}),
	0,
	'it runs no statement');
$primary->append_conf('postgresql.conf', 'autovacuum = off');
$primary->reload;

# 3. Background processes that every server has.
is( $primary->safe_psql(
		'postgres', q{
		SELECT string_agg(type, ', ') FROM unnest(ARRAY['checkpointer',
		  'background writer', 'walwriter', 'contention_probe sampler']) AS type
		 WHERE NOT EXISTS (SELECT FROM contention_probe.backends
		                    WHERE backend_type = type)}),
	'',
	'backends: those of every server');
eventually($primary, q{
	SELECT count(DISTINCT backend_type) = 2 FROM contention_probe.backend_waits
	 WHERE backend_type IN ('background writer', 'contention_probe sampler')
	   AND idle},
	'backend_waits: their idle loops');

# 4. A standby.
$primary->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'copy', has_streaming => 1);
$standby->start;
$primary->wait_for_catchup($standby);
eventually($standby,
	'SELECT sampler_pid IS NOT NULL AND ticks > 5
	   FROM contention_probe.status',
	'standby: the sampler runs and ticks');
is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'),
	't', 'in recovery');
my ($session, $pid) = session($standby);
my $sleep = 'SELECT pg_sleep(0.05)';
my $query = query_id($standby, $sleep);
$session->query_safe($sleep);
is((wait_numbers($standby, 'query_waits', 'Timeout/PgSleep',
			"queryid = $query"))[0], 1, 'standby: waits are counted');
eventually($standby, q{
	SELECT count(*) > 0 FROM contention_probe.history
	 WHERE wait_event = 'PgSleep'}, 'standby: and sampled');
$standby->safe_psql('postgres', 'SELECT contention_probe.reset()');

$primary->safe_psql('postgres', 'INSERT INTO t VALUES (1)');
$primary->wait_for_catchup($standby);
foreach my $type ('startup', 'walreceiver')
{
	eventually(
		$standby, qq{
		SELECT count(*) > 0 FROM contention_probe.backend_waits
		 WHERE backend_type = '$type' AND pid IS NOT NULL},
		"standby: waits of the $type process");
}
eventually(
	$primary, q{
	SELECT count(*) > 0 FROM contention_probe.backend_waits
	 WHERE backend_type = 'walsender' AND pid IS NOT NULL},
	'primary: waits of the walsender');

# 5. A commit that waits for the standby.
$primary->append_conf('postgresql.conf',
	"synchronous_standby_names = '*'\nsynchronous_commit = remote_apply");
$primary->reload;
eventually($primary,
	q{SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'},
	'the standby is synchronous');
my $insert = 'INSERT INTO t VALUES (2)';
$query = query_id($primary, $insert);
$primary->safe_psql('postgres', 'SELECT contention_probe.reset()');
# A standby that answers at once leaves nothing to wait for, so try until one
# commit had to.
my $elapsed = cost_of(
	sub {
		foreach (1 .. 100)
		{
			$primary->safe_psql('postgres', $insert);
			($waits, $time) = wait_numbers($primary, 'query_waits',
				'IPC/SyncRep', "queryid = $query");
			last if $waits;
		}
	});
is_within($waits, 1, 5, 'commits wait for the standby');
is_within($time, 0.001, $elapsed, 'no longer than their statements took');

# 6. Promoted, all goes on.
my $sampler = sampler_pid($standby);
$primary->stop('immediate');
$standby->promote;
is(sampler_pid($standby), $sampler, 'promoted: the same sampler');
$session->query_safe($sleep);
is((wait_numbers($standby, 'backend_waits', 'Timeout/PgSleep',
			"pid = $pid"))[0], 1, 'promoted: waits are counted');
$standby->safe_psql('postgres',
	'DROP EXTENSION contention_probe; CREATE EXTENSION contention_probe');

$session->quit;
$standby->stop;
done_testing();
