# Waits of processes that have left stay in the sums, and what is shown of
# processes is that of the living: the sum over living and gone processes is
# the total at every moment.
#
# Breaks when a slot is lost, counted twice or left occupied as processes come
# and go, or when a process that has left is taken for a living one.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('comers_and_goers', conf => "max_connections = 320\n");

# 1. A session that leaves.
my ($session, $pid) = session($node);
my ($other) = session($node);
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
$session->query_safe('SELECT pg_sleep(0.01)') foreach 1 .. 3;
$other->query_safe('SELECT pg_sleep(0.01)');

my $gone = "pid IS NULL AND backend_type = 'client backend'";
my ($before, $time_before) =
  wait_numbers($node, 'waits', 'Timeout/PgSleep');
is($before, 4, 'four sleeps of two sessions');
is((wait_numbers($node, 'backend_waits', 'Timeout/PgSleep', $gone))[0],
	0, 'none of a session that has left');

$session->quit;
eventually($node, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity
                                       WHERE pid = $pid)", 'a session leaves');
is((wait_numbers($node, 'backend_waits', 'Timeout/PgSleep', $gone))[0],
	3, 'its waits are those of a session that has left');
foreach my $view (qw(backend_waits backends))
{
	is( $node->safe_psql('postgres',
			"SELECT count(*) FROM contention_probe.$view WHERE pid = $pid"),
		0,
		"$view does not show its process");
}
my ($after, $time_after) = wait_numbers($node, 'waits', 'Timeout/PgSleep');
is("$after $time_after", "$before $time_before", 'the total is the same');

# 2. Every process that is shown is one that the server shows, and the other
# way round, as long as it has a status entry.
is( $node->safe_psql(
		'postgres', q{
		SELECT string_agg(coalesce(a.backend_type, b.backend_type), ', ')
		  FROM pg_stat_activity AS a
		  FULL JOIN contention_probe.backends AS b USING (pid)
		 WHERE a.pid IS NULL OR b.pid IS NULL
		    OR a.backend_type IS DISTINCT FROM b.backend_type}),
	'',
	'backends has the processes of pg_stat_activity');

# 3. The sums, while processes come and go.  A sum lies between the totals
# that were read before and after it.
$node->safe_psql(
	'postgres', q{
	CREATE FUNCTION totals() RETURNS jsonb LANGUAGE sql AS $$
	  SELECT jsonb_object_agg(concat_ws('/', wait_event_type, wait_event, idle),
	                          jsonb_build_array(waits, wait_time))
	    FROM contention_probe.waits $$;
	CREATE FUNCTION backend_sums() RETURNS jsonb LANGUAGE sql AS $$
	  SELECT jsonb_object_agg(event, numbers)
	    FROM (SELECT concat_ws('/', wait_event_type, wait_event, idle) AS event,
	                 jsonb_build_array(sum(waits), sum(wait_time)) AS numbers
	            FROM contention_probe.backend_waits GROUP BY 1) AS s $$;
	CREATE FUNCTION histogram_sums() RETURNS jsonb LANGUAGE sql AS $$
	  SELECT jsonb_object_agg(event, numbers)
	    FROM (SELECT concat_ws('/', wait_event_type, wait_event, idle) AS event,
	                 jsonb_build_array(sum(waits)) AS numbers
	            FROM contention_probe.wait_histogram GROUP BY 1) AS s $$;

	-- Events of which "middle" does not lie between "low" and "high"; the
	-- tolerance is for the last digits of sums in another order.
	CREATE FUNCTION not_between(low jsonb, middle jsonb, high jsonb, what text,
	                            tolerance float8 DEFAULT 1e-3)
	RETURNS SETOF text LANGUAGE sql AS $$
	  SELECT format('%s %s[%s]: %s, %s, %s', what, key, n, low -> key -> n,
	                middle -> key -> n, high -> key -> n)
	    FROM jsonb_object_keys(low || middle) AS key,
	         generate_series(0, jsonb_array_length(middle -> key) - 1) AS n
	   WHERE NOT coalesce((middle -> key -> n)::float8, 0)
	             BETWEEN coalesce((low -> key -> n)::float8, 0) - tolerance
	                 AND coalesce((high -> key -> n)::float8, 0) + tolerance $$;

	CREATE PROCEDURE compare_sums(seconds float8, INOUT rounds int,
	                              INOUT wrong text[])
	LANGUAGE plpgsql AS $$
	DECLARE
	  until_time timestamptz := clock_timestamp() + seconds * interval '1 s';
	  a jsonb; b jsonb; c jsonb; d jsonb; e jsonb;
	BEGIN
	  rounds := 0;
	  wrong := '{}';
	  WHILE clock_timestamp() < until_time LOOP
	    a := totals();
	    b := backend_sums();
	    c := totals();
	    d := histogram_sums();
	    e := totals();
	    wrong := wrong
	      || ARRAY(SELECT not_between(a, b, c, 'backends')
	               -- A process that loses its CPU between its two stores has
	               -- its wait in the total and not yet in the histogram.
	               UNION ALL SELECT not_between(c, d, e, 'histogram', 20)
	               UNION ALL SELECT not_between(a, c, e, 'totals'));
	    rounds := rounds + 1;
	    EXIT WHEN cardinality(wrong) > 10;
	  END LOOP;
	END $$});

eventually($node,
	'SELECT count(*) = 2 FROM pg_stat_activity
	  WHERE backend_type = \'client backend\'', 'nobody else is here');
my ($slots_before) = one_row($node,
	'SELECT slots_used FROM contention_probe.status');
my $start_time = $node->safe_psql('postgres',
	q{SELECT sum(wait_time) FROM contention_probe.waits WHERE NOT idle});

my $script = "$PostgreSQL::Test::Utils::tmp_check/short_session.sql";
append_to_file($script, "SELECT pg_sleep(0.001);\n");
my $pgbench = start_pgbench($node, '-C', '-c', 300, '-j', 2, '-T', 8, '-f',
	$script);
until_true($node, 'SELECT count(*) > 100 FROM pg_stat_activity');
my ($rounds, $wrong) = split /\|/,
  $node->safe_psql('postgres', 'CALL compare_sums(4, 0, NULL)');
cmp_ok($rounds, '>', 20, "the sums were compared often enough: $rounds");
is($wrong, '{}', 'the sum over all processes is the total, at any moment');
$pgbench->finish;
eventually(
	$node, q{
	SELECT (SELECT sum(waits) FROM contention_probe.waits
	         WHERE wait_event = 'PgSleep') =
	       (SELECT sum(waits) FROM contention_probe.wait_histogram
	         WHERE wait_event = 'PgSleep')}, 'in the end every wait is in the histogram');

my ($sessions) = wait_numbers($node, 'waits', 'Timeout/PgSleep');
cmp_ok($sessions, '>', 300, "many sessions came and went: $sessions");
eventually($node,
	'SELECT count(*) = 2 FROM pg_stat_activity
	  WHERE backend_type = \'client backend\'', 'all have left');

# 4. No slot is left behind, and nothing is lost.
my ($slots_after, $slots_total) = one_row($node,
	'SELECT slots_used, slots_total FROM contention_probe.status');
is_within($slots_after, 1, $slots_before + 1, 'their slots are free again');
cmp_ok($slots_after, '<=', $slots_total, 'there are never too many');
is( $node->safe_psql(
		'postgres', q{
		SELECT sum(waits) FROM contention_probe.backend_waits
		 WHERE wait_event = 'PgSleep'}),
	$sessions,
	'each sleep is still there');
is( $node->safe_psql(
		'postgres', q{
		SELECT sum(waits) FROM contention_probe.query_waits
		 WHERE wait_event = 'PgSleep'}),
	$sessions,
	'and has its statement');
cmp_ok(
	$node->safe_psql('postgres',
		q{SELECT sum(wait_time) FROM contention_probe.waits WHERE NOT idle}),
	'>', $start_time,
	'the time only grows');

$other->quit;
$node->stop;
done_testing();
