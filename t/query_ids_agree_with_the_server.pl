# Query ids are those of the server and of pg_stat_statements, in whatever
# order the two libraries are loaded, and both see every statement.
#
# Breaks when a hook is not chained, or when a statement is known under one
# name here and another one there.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($share) = run_command([ 'pg_config', '--sharedir' ]);
plan skip_all => 'pg_stat_statements is not installed'
  unless -f "$share/extension/pg_stat_statements.control";

my $node = new_cluster('names');
$node->append_conf('postgresql.conf', 'pg_stat_statements.track = all');

foreach my $preload ('pg_stat_statements, contention_probe',
	'contention_probe, pg_stat_statements')
{
	$node->append_conf('postgresql.conf',
		"shared_preload_libraries = '$preload'");
	$node->start;
	$node->safe_psql(
		'postgres', q{
		CREATE EXTENSION IF NOT EXISTS contention_probe;
		CREATE EXTENSION IF NOT EXISTS pg_stat_statements;
		CREATE OR REPLACE FUNCTION nap() RETURNS void LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_sleep(0.005), 'inside'; END $$;
		SELECT pg_stat_statements_reset();
		SELECT contention_probe.reset()});
	my ($session, $pid) = session($node);
	foreach my $round (1 .. 3)
	{
		$session->query_safe($_)
		  foreach 'SELECT pg_sleep(0.005)', 'SELECT nap()',
		  "SELECT pg_sleep(0.005), $round",
		  'PREPARE p AS SELECT pg_sleep(0.005), true', 'EXECUTE p',
		  'DEALLOCATE p',
		  "DO 'BEGIN PERFORM pg_sleep(0.005), 1.5; END'";
	}

	# Five statements sleep: constants of different types make three of one
	# text.
	is( $node->safe_psql(
			'postgres', q{
			SELECT count(*), min(s.calls), max(s.calls), min(w.waits),
			       max(w.waits)
			  FROM contention_probe.query_waits AS w
			  LEFT JOIN pg_stat_statements AS s USING (queryid, userid, dbid)
			 WHERE w.wait_event = 'PgSleep'}),
		'5|3|3|3|3',
		"$preload: the same statements, as often");

	# The id that the server itself reports.
	$session->query_safe('SELECT pg_sleep(0.005)');
	is( $node->safe_psql(
			'postgres', qq{
			SELECT count(*) FROM contention_probe.query_waits AS w
			  JOIN pg_stat_activity AS a ON a.query_id = w.queryid
			 WHERE a.pid = $pid AND w.wait_event = 'PgSleep'}),
		1,
		"$preload: and the one of pg_stat_activity");
	$session->quit;
	$node->stop;
}

done_testing();
