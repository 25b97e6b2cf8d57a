# When there are more statements than max_queries, those that have a place
# stay exact, the rest is counted as dropped, and nobody sees an error.
#
# Breaks when a full table evicts or mixes up entries, when waits vanish
# without being counted as dropped, or when a reset does not make room.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node =
  start_cluster('full', conf => "contention_probe.max_queries = 16\n");
my $known = 'SELECT pg_sleep(0.005)';
my $query = query_id($node, $known);

# Sleeps of 2 ms in statements of many shapes: which of ten constants are
# numbers and which are text makes another statement each time.
$node->safe_psql(
	'postgres', q{
	CREATE PROCEDURE many_shapes(first int, last int) LANGUAGE plpgsql AS $$
	DECLARE
	  constants text;
	BEGIN
	  FOR shape IN first .. last LOOP
	    SELECT string_agg(CASE WHEN shape & (1 << bit) <> 0
	                           THEN '1' ELSE '''one''' END, ', ')
	      INTO constants FROM generate_series(0, 9) AS bit;
	    EXECUTE format('SELECT pg_sleep(0.0005), %s', constants);
	  END LOOP;
	END $$});

sub numbers
{
	my ($dropped, $used, $total) = one_row($node,
		'SELECT dropped_queries, queries_used, queries_total
		   FROM contention_probe.status');
	my ($waits) = wait_numbers($node, 'waits', 'Timeout/PgSleep');
	my ($credited) = wait_numbers($node, 'query_waits', 'Timeout/PgSleep');

	return {
		dropped => $dropped,
		used => $used,
		total => $total,
		waits => $waits,
		credited => $credited
	};
}

my ($session) = session($node);
$session->query_safe('SELECT contention_probe.reset()');
$session->query_safe($known) foreach 1 .. 7;
my $before = numbers();
is($before->{dropped}, 0, 'nothing is dropped while there is room');
is($before->{total}, 16, 'status tells the size of the table');
cmp_ok($before->{used}, '<=', 16, 'and how much of it is used');

my ($out, $ret) = $session->query('CALL many_shapes(1, 1000)');
is($ret, 0, 'a thousand statements run without an error');
$session->query_safe($known) foreach 1 .. 5;

my $after = numbers();
is($after->{used}, 16, 'the table is full');
cmp_ok($after->{waits}, '>=', 1000, 'all waits are in the totals');
cmp_ok($after->{credited}, '<', 40, 'few statements have a place');
cmp_ok(
	$after->{dropped}, '>=',
	$after->{waits} - $after->{credited},
	'each wait without a statement is counted as dropped');
cmp_ok(
	$after->{dropped}, '<=',
	$after->{waits} - $after->{credited} + 100,
	'and hardly anything else');
is( $node->safe_psql(
		'postgres', 'SELECT count(DISTINCT (dbid, userid, queryid))
		  FROM contention_probe.query_waits'),
	16,
	'sixteen statements are shown');
my ($waits, $time) = wait_numbers($node, 'query_waits', 'Timeout/PgSleep',
	"queryid = $query");
is($waits, 12, 'a statement that was there before the flood is exact');
is_within($time, 60, 600, 'in its time as well');

# A statement that has a place gets every event it waits for: the table of
# statements and events is large enough.
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*) FROM contention_probe.query_waits AS q
		 WHERE wait_event = 'PgSleep' AND waits > 1}),
	1,
	'no other statement was taken for it');

# A reset makes room.
$session->query_safe('SELECT contention_probe.reset()');
$session->query_safe('CALL many_shapes(1, 5)');
$after = numbers();
is($after->{dropped}, 0, 'after a reset nothing is dropped');
is($after->{waits}, 5, 'five new waits');
is($after->{credited}, 5, 'have their statements again');

$session->quit;
$node->stop;
done_testing();
