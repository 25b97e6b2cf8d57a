# Statistics that are reset every few milliseconds under load never show a
# negative, absurd or contradictory number.
#
# Breaks when a counter of the old epoch is shown in the new one, when a wait
# that began before the reset counts in full, when a difference of times goes
# below zero, or when a reader meets a half cleared table.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('resetter', conf => "max_connections = 60\n");

ok(run_pgbench($node, '-i', '-s', '1', '-q'), 'tables for the load');
$node->safe_psql(
	'postgres', q{
	-- What is wrong in the views now.  A process cannot have waited longer
	-- than the server has run.
	CREATE FUNCTION absurdities(begun timestamptz) RETURNS SETOF text
	LANGUAGE plpgsql AS $$
	DECLARE
	  longest float8;
	BEGIN
	  longest := extract(epoch FROM clock_timestamp() - begun) * 1000 + 1000;
	  RETURN QUERY SELECT format('waits: %s', w) FROM contention_probe.waits w
	    WHERE waits NOT BETWEEN 1 AND 1e7
	       OR NOT wait_time BETWEEN 0 AND longest * 60
	       OR NOT mean_time BETWEEN 0 AND longest
	       OR NOT max_time BETWEEN 0 AND longest
	       OR NOT p50_time BETWEEN 0 AND longest
	       OR NOT p95_time BETWEEN 0 AND longest
	       OR NOT p99_time BETWEEN 0 AND longest
	       OR NOT share BETWEEN 0 AND 1
	       OR idle IS NULL OR wait_event IS NULL OR wait_event_type IS NULL;
	  RETURN QUERY SELECT format('shares add up to %s', sum(share))
	    FROM contention_probe.waits HAVING abs(sum(share) - 1) > 1e-6;
	  RETURN QUERY SELECT format('wait_histogram: %s', h)
	    FROM contention_probe.wait_histogram h
	    WHERE waits NOT BETWEEN 1 AND 1e7 OR lower_us >= upper_us
	       OR lower_us > longest * 1000;
	  RETURN QUERY SELECT format('backend_waits: %s', b)
	    FROM contention_probe.backend_waits b
	    WHERE waits NOT BETWEEN 1 AND 1e7
	       OR NOT wait_time BETWEEN 0 AND longest * 60
	       OR (pid IS NOT NULL AND NOT wait_time BETWEEN 0 AND longest);
	  RETURN QUERY SELECT format('query_waits: %s', q)
	    FROM contention_probe.query_waits q
	    WHERE waits NOT BETWEEN 1 AND 1e7
	       OR NOT wait_time BETWEEN 0 AND longest * 60;
	  RETURN QUERY SELECT format('backends: %s', b)
	    FROM contention_probe.backends b
	    WHERE NOT wait_age BETWEEN 0 AND longest
	       OR waits NOT BETWEEN 0 AND 1e7
	       OR NOT wait_time BETWEEN 0 AND longest;
	  RETURN QUERY SELECT format('profile: %s', p)
	    FROM contention_probe.profile p WHERE samples NOT BETWEEN 1 AND 1e6;
	  RETURN QUERY SELECT format('history: %s', h)
	    FROM contention_probe.history h
	    WHERE sampled_at NOT BETWEEN begun - interval '1 s'
	                             AND clock_timestamp();
	  RETURN QUERY SELECT format('status: %s', s)
	    FROM contention_probe.status s
	    WHERE stats_since NOT BETWEEN begun - interval '1 s'
	                              AND clock_timestamp()
	       OR ticks NOT BETWEEN 0 AND longest
	       OR missed_ticks NOT BETWEEN 0 AND longest
	       OR NOT sampler_cpu_time BETWEEN 0 AND longest
	       OR slots_used NOT BETWEEN 0 AND slots_total
	       OR hook_hits NOT BETWEEN 0 AND 1e8
	       OR NOT hook_time BETWEEN 0 AND longest
	       OR dropped_queries NOT BETWEEN 0 AND 1e7
	       OR queries_used NOT BETWEEN 0 AND queries_total;
	END $$;

	CREATE PROCEDURE read_often(INOUT reads int, INOUT epochs int,
	                            INOUT wrong text)
	LANGUAGE plpgsql AS $$
	DECLARE
	  begun timestamptz := pg_postmaster_start_time();
	  last timestamptz := '-infinity';
	  since timestamptz;
	BEGIN
	  FOR i IN 1 .. reads LOOP
	    SELECT stats_since INTO since FROM contention_probe.status;
	    epochs := epochs + (since <> last)::int;
	    IF since < last THEN wrong := 'stats_since went back'; END IF;
	    last := since;
	    SELECT coalesce(wrong, min(a)) INTO wrong FROM absurdities(begun) AS a;
	    EXIT WHEN wrong IS NOT NULL;
	  END LOOP;
	END $$});

my $script = "$PostgreSQL::Test::Utils::tmp_check/reset.sql";
append_to_file($script, "SELECT contention_probe.reset();\n\\sleep 3 ms\n");
my $load = start_pgbench($node, '-c', 6, '-T', 120);
my $resets = start_pgbench($node, '-c', 2, '-T', 120, '-f', $script);
until_true($node,
	q{SELECT count(*) >= 8 FROM pg_stat_activity
	   WHERE application_name = 'pgbench'});

# Two readers at a time.
my @readers = map { (session($node))[0] } 1 .. 2;
in_background($_, 'CALL read_often(500, 0, NULL);') foreach @readers;
foreach my $reader (@readers)
{
	my $answer = $reader->query('SELECT 1');
	my ($reads, $epochs, $wrong) = $answer =~ /^(\d+)\|(\d+)\|(.*)$/m;

	is($reads, 500, 'reads');
	is($wrong, '', 'nothing absurd was seen');
	cmp_ok($epochs, '>', 50, "in many epochs: $epochs");
	$reader->quit;
}
stop_program($load);
stop_program($resets);

# Once it is quiet, one reset leaves nothing of what was before.
eventually($node,
	q{SELECT count(*) = 0 FROM pg_stat_activity
	   WHERE application_name = 'pgbench'}, 'the load has ended');
my ($session) = session($node);
$session->query_safe('SELECT pg_sleep(0.01)');
my $since = $node->safe_psql('postgres',
	'SELECT stats_since FROM contention_probe.status');
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
is( $node->safe_psql(
		'postgres', qq{
		SELECT stats_since > '$since' FROM contention_probe.status}),
	't',
	'stats_since moves');
foreach my $view (qw(waits wait_histogram backend_waits query_waits))
{
	is( $node->safe_psql(
			'postgres', qq{SELECT count(*) FROM contention_probe.$view
			WHERE wait_event IN ('PgSleep', 'transactionid', 'tuple')}),
		0,
		"$view is empty of what was before");
}
is( $node->safe_psql('postgres',
		"SELECT count(*) FROM contention_probe.history
		  WHERE sampled_at < (SELECT stats_since
		                        FROM contention_probe.status)"),
	0,
	'history is empty of what was before');

# A wait over a reset counts with what came after it.
my ($holder) = session($node);
$holder->query_safe('SELECT pg_advisory_lock(1)');
in_background($session, 'SELECT pg_advisory_lock(1);');
until_true($node,
	q{SELECT EXISTS (SELECT FROM contention_probe.backends
	                  WHERE wait_event = 'advisory' AND wait_age > 300)});
my $rest = cost_of(
	sub {
		$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
		until_true($node,
			q{SELECT clock_timestamp() > stats_since + interval '100 ms'
			    FROM contention_probe.status});
		$holder->query_safe('SELECT pg_advisory_unlock(1)');
		$session->query_safe('SELECT 1');
	});
foreach my $view (qw(waits backend_waits query_waits))
{
	my ($waits, $time) = wait_numbers($node, $view, 'Lock/advisory');

	is($waits, 1, "$view: a wait over a reset is one wait");
	is_within($time, 100, $rest, "$view: of the rest of its time");
}
my ($age) = one_row($node,
	q{SELECT max_time FROM contention_probe.waits
	   WHERE wait_event = 'advisory'});
is_within($age, 100, $rest, 'its maximum as well');

$holder->quit;
$session->quit;
$node->stop;
done_testing();
