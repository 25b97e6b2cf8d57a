# A wait is credited to the innermost statement that runs, whatever way that
# statement was called, and never to one that has ended.
#
# Breaks when the nesting is not followed through functions, utility
# statements, cursors and errors, or when parallel workers, the planner or the
# end of the transaction lose the statement.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('nesting', conf => "deadlock_timeout = 10s\n");
$node->safe_psql(
	'postgres', q{
	CREATE FUNCTION sleep_inside() RETURNS void LANGUAGE plpgsql AS
	$$ BEGIN PERFORM pg_sleep(0.02); END $$;

	CREATE FUNCTION sleep_deeper() RETURNS void LANGUAGE plpgsql AS
	$$ BEGIN PERFORM 1, sleep_inside(); END $$;

	CREATE FUNCTION sleep_in_sql() RETURNS void LANGUAGE sql AS
	$$ SELECT 1; SELECT pg_sleep(0.02) $$;

	CREATE FUNCTION sleep_in_expression() RETURNS void LANGUAGE plpgsql AS
	$$ DECLARE slept text; BEGIN slept := pg_sleep(0.02); END $$;

	CREATE FUNCTION sleep_and_fail() RETURNS void LANGUAGE plpgsql AS
	$$ BEGIN PERFORM pg_sleep(0.02); PERFORM 1 / 0; END $$;

	CREATE FUNCTION sleep_and_catch() RETURNS void LANGUAGE plpgsql AS
	$$ BEGIN
	     BEGIN
	       PERFORM sleep_and_fail();
	     EXCEPTION WHEN division_by_zero THEN
	       PERFORM 1, 2, pg_sleep(0.02);
	     END;
	     PERFORM 1, 2, 3, pg_sleep(0.02);
	   END $$;

	CREATE PROCEDURE sleep_and_commit() LANGUAGE plpgsql AS
	$$ BEGIN
	     FOR i IN 1 .. 3 LOOP
	       PERFORM pg_sleep(0.02);
	       IF i = 2 THEN ROLLBACK; ELSE COMMIT; END IF;
	     END LOOP;
	     BEGIN
	       PERFORM 1 / 0;
	     EXCEPTION WHEN division_by_zero THEN
	       PERFORM 1, 2, pg_sleep(0.02);
	     END;
	     COMMIT;
	   END $$;

	CREATE FUNCTION sleep_when_planned() RETURNS int IMMUTABLE
	LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.02); RETURN 1; END $$;

	CREATE FUNCTION sleep_in_trigger() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN PERFORM pg_sleep(0.02); RETURN NULL; END $$;
	CREATE TABLE triggered (a int);
	CREATE TRIGGER at_end_of_statement AFTER INSERT ON triggered
	  FOR EACH ROW EXECUTE FUNCTION sleep_in_trigger();
	CREATE TABLE deferred (a int);
	CREATE CONSTRAINT TRIGGER at_end_of_transaction AFTER INSERT ON deferred
	  DEFERRABLE INITIALLY DEFERRED
	  FOR EACH ROW EXECUTE FUNCTION sleep_in_trigger();
	CREATE TABLE numbers AS SELECT generate_series(1, 20) AS a;
	ANALYZE numbers});

# Statements, by a short name.
my %id = (
	sleep => query_id($node, 'SELECT pg_sleep(0.02)'),
	sleep_1 => query_id($node, 'SELECT 1, pg_sleep(0.02)'),
	sleep_2 => query_id($node, 'SELECT 1, 2, pg_sleep(0.02)'),
	sleep_3 => query_id($node, 'SELECT 1, 2, 3, pg_sleep(0.02)'),
	inside => query_id($node, 'SELECT sleep_inside()'),
	deeper => query_id($node, 'SELECT sleep_deeper()'),
	expression => query_id($node, 'SELECT sleep_in_expression()'),
	catch => query_id($node, 'SELECT sleep_and_catch()'),
	fail => query_id($node, 'SELECT sleep_and_fail()'),
	planned => query_id($node, 'SELECT sleep_when_planned()'),
	triggered => query_id($node, 'INSERT INTO triggered VALUES (1)'),
	deferred => query_id($node, 'INSERT INTO deferred VALUES (1)'),
	series =>
	  query_id($node, 'SELECT pg_sleep(0.02) FROM generate_series(1, 5)'));
my %name = reverse %id;
is(scalar(keys %name), scalar(keys %id), 'all statements differ');

# Errors stay in what psql has said, so query_safe is of no use here.
my ($session, $pid) = session($node);
my ($holder) = session($node);

# Run SQL in the session; tell which statements got how many sleeps.
sub sleeps_of
{
	my ($sql) = @_;

	$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
	$session->query($sql);
	my $rows = $node->safe_psql(
		'postgres', q{
		SELECT queryid, waits FROM contention_probe.query_waits
		 WHERE wait_event = 'PgSleep'});
	my ($all) = wait_numbers($node, 'waits', 'Timeout/PgSleep');
	my %got = map { my ($query, $waits) = split /\|/; ($query => $waits) }
	  split /\n/, $rows;

	return {
		all => $all,
		map { ($name{$_} // $_) => $got{$_} } keys %got
	};
}

sub is_credited
{
	my ($sql, $want, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $all = 0;

	$all += $_ foreach values %$want;
	my $got = sleeps_of($sql);
	return is_deeply($got, { all => $all, %$want }, $what)
	  || diag(explain($got));
}

# Functions and blocks.
is_credited('SELECT pg_sleep(0.02)', { sleep => 1 }, 'a plain statement');
is_credited('SELECT sleep_inside()', { sleep => 1 }, 'a statement in PL/pgSQL');
is_credited('SELECT sleep_deeper()', { sleep => 1 }, 'two levels down');
is_credited('SELECT sleep_in_sql()', { sleep => 1 }, 'a statement in SQL');
is_credited('SELECT sleep_in_expression()',
	{ expression => 1 },
	'an expression in PL/pgSQL is no statement of its own');
is_credited('DO $$ BEGIN PERFORM pg_sleep(0.02);
             PERFORM 1, pg_sleep(0.02); END $$',
	{ sleep => 1, sleep_1 => 1 }, 'statements in DO');
is_credited('CALL sleep_and_commit()', { sleep => 3, sleep_2 => 1 },
	'a procedure with COMMIT, ROLLBACK and an exception block');
is_credited('SELECT sleep_when_planned()',
	{ sleep => 1 }, 'a function that the planner runs');

# Errors.
is_credited('SELECT sleep_and_catch()',
	{ sleep => 1, sleep_2 => 1, sleep_3 => 1 },
	'after an error that was caught');
is_credited("SELECT sleep_and_fail();\nSELECT 1, pg_sleep(0.02)",
	{ sleep => 1, sleep_1 => 1 },
	'after an error in a nested statement');
is_credited(
	"BEGIN;\nSELECT sleep_and_fail();\nROLLBACK;\nSELECT 1, pg_sleep(0.02)",
	{ sleep => 1, sleep_1 => 1 },
	'after an error in a transaction');
is_credited(
	"SET statement_timeout = '10ms';\nSELECT sleep_deeper();\n"
	  . "RESET statement_timeout;\nSELECT 1, pg_sleep(0.02)",
	{ sleep => 1, sleep_1 => 1 },
	'after a cancelled nested statement');

# Statements in statements.
is_credited('EXPLAIN ANALYZE SELECT pg_sleep(0.02)',
	{ sleep => 1 }, 'EXPLAIN ANALYZE');
is_credited(
	"PREPARE sleeper AS SELECT pg_sleep(0.02);\n"
	  . "EXECUTE sleeper;\nEXECUTE sleeper",
	{ sleep => 2 }, 'EXECUTE');
is_credited('SELECT pg_sleep(0.02) \; SELECT 1, pg_sleep(0.02)',
	{ sleep => 1, sleep_1 => 1 }, 'two statements in one message');

# Before 18 the statement in a CREATE TABLE AS or a cursor has no id of its own:
# the waits are those of the statement that makes it run.
my $inner_has_id = $node->pg_version >= 18;

sub last_id
{
	return $node->safe_psql('postgres',
		"SELECT query_id FROM pg_stat_activity WHERE pid = $pid");
}

my $got = sleeps_of('CREATE TEMP TABLE made AS SELECT pg_sleep(0.02)::text');
my $inner =
  $inner_has_id
  ? query_id($node, 'SELECT pg_sleep(0.02)::text')
  : last_id();
is_deeply($got, { all => 1, $inner => 1 }, 'CREATE TABLE AS')
  || diag(explain($got));

$got = sleeps_of("BEGIN;\nDECLARE sleeper CURSOR FOR SELECT pg_sleep(0.02)"
	  . " FROM generate_series(1, 5);\n"
	  . "SELECT 1, pg_sleep(0.02);\nFETCH 3 FROM sleeper");
$inner = $inner_has_id ? 'series' : last_id();
is_deeply($got, { all => 4, sleep_1 => 1, $inner => 3 }, 'a cursor')
  || diag(explain($got));
$session->query('COMMIT');

# Triggers.
is_credited('INSERT INTO triggered VALUES (1)', { sleep => 1 }, 'a trigger');
is_credited("BEGIN;\nINSERT INTO deferred VALUES (1);\nCOMMIT",
	{ sleep => 1 }, 'a deferred trigger, at COMMIT');
is_credited('INSERT INTO deferred VALUES (1)',
	{ sleep => 1 }, 'a deferred trigger, at the end of its statement');

# Without the server's own reporting.
$session->query('SET track_activities = off');
is_credited('SELECT pg_sleep(0.02)', { sleep => 1 },
	'a plain statement without track_activities');
is_credited("SELECT sleep_deeper();\nSELECT 1, pg_sleep(0.02)",
	{ sleep => 1, sleep_1 => 1 },
	'a nested statement without track_activities');
$session->query('RESET track_activities');

# Parallel workers: the leader does not take part, so all sleeps are theirs.
$session->query(
	q{
	SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0;
	SET max_parallel_workers_per_gather = 2;
	SET parallel_leader_participation = off;
	ALTER TABLE numbers SET (parallel_workers = 2)});
my $parallel =
  'SELECT count(*) FROM numbers WHERE pg_sleep(0.01)::text IS NOT NULL';
like($session->query("EXPLAIN (COSTS OFF) $parallel"),
	qr/Workers Planned: 2/, 'the plan is parallel');
is_credited($parallel, { query_id($node, $parallel) => 20 },
	'parallel workers count for the statement of their leader');
eventually(
	$node,
	q{SELECT NOT EXISTS (SELECT FROM pg_stat_activity
	                      WHERE backend_type = 'parallel worker')},
	'the workers leave');
my ($by_workers) = wait_numbers($node, 'backend_waits', 'Timeout/PgSleep',
	"backend_type = 'parallel worker' AND pid IS NULL");
is($by_workers, 20, 'and are processes of their own kind');

# The extended protocol, in which the statement was analyzed in an earlier
# message or in another transaction.
foreach my $mode (qw(extended prepared))
{
	my $script = "$PostgreSQL::Test::Utils::tmp_check/sleep_$mode.sql";

	append_to_file($script,
		"\\set a 1\nBEGIN;\nSELECT :a, pg_sleep(0.005);\nEND;\n");
	$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
	ok(run_pgbench($node, '-M', $mode, '-t', 20, '-f', $script),
		"pgbench -M $mode");
	my ($all) = wait_numbers($node, 'waits', 'Timeout/PgSleep');
	my ($credited) = wait_numbers($node, 'query_waits', 'Timeout/PgSleep');
	is($all, 20, 'every sleep is a wait');
	is($credited, 20, 'that is credited');
	is( $node->safe_psql(
			'postgres', q{SELECT count(DISTINCT queryid) FROM
			contention_probe.query_waits WHERE wait_event = 'PgSleep'}),
		1,
		'to one statement');
}

# Utility statements: a lock on a table that another session holds.
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
$holder->query_safe("BEGIN; LOCK TABLE numbers");
in_background($session, 'TRUNCATE numbers;');
ok( until_true($node,
		"SELECT wait_event = 'relation' FROM contention_probe.backends
		  WHERE pid = $pid"),
	'TRUNCATE waits for a lock');
my ($truncate) = one_row($node,
	"SELECT query_id FROM pg_stat_activity WHERE pid = $pid");
my ($shown) = one_row($node,
	"SELECT queryid FROM contention_probe.backends WHERE pid = $pid");
is($shown, $truncate, 'backends shows the utility statement');
$holder->query_safe('COMMIT');
$session->query('SELECT 1');
my ($waits) = wait_numbers($node, 'query_waits', 'Lock/relation',
	"queryid = $truncate");
is($waits, 1, 'a utility statement has its wait');

# Nobody runs a statement while the session is idle.
is( $node->safe_psql('postgres',
		q{SELECT count(*) FROM contention_probe.query_waits
		   WHERE wait_event = 'ClientRead'}),
	0,
	'the wait for the next command belongs to no statement');

$holder->quit;
$session->quit;
$node->stop;
done_testing();
