# What is handed over to the statistics system by 32 clients that write to
# 1,000 tables is counted to the entry, as the server itself says; and a flush
# that finds an entry's lock taken is counted as such, not lost, and made up
# for later.
#
# Breaks when counts of processes that run at once overwrite each other, when
# those of processes that left are lost, or when a flush that gave up counts
# as one that did its work.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeLocks;
use CprobeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $tables = 1000;
my $clients = 32;

# What a session reads of the catalog is handed over as well: so many tables
# at most, and as much again for the indexes of a new process's start.
my $catalogs = 120;

my $node = start_testkit('statistics',
	conf => "contention_probe.instrument = full\nmax_locks_per_transaction = 256\n");

sub flushes
{
	my ($column) = @_;

	return $node->safe_psql('postgres', "
		SELECT $column FROM contention_probe.pgstat_flushes
		 WHERE kind = 'relation'");
}

sub reports
{
	my ($column) = @_;

	return $node->safe_psql('postgres',
		"SELECT $column FROM contention_probe.pgstat_reports");
}

# 1. Every client writes to every table in one transaction, and hands all of
# it over at its end, waiting for the locks.
$node->safe_psql('postgres', "
	SELECT format('CREATE TABLE t%s (a int)', n)
	  FROM generate_series(1, $tables) AS n \\gexec");
my $script = $node->basedir . '/write.sql';
append_to_file($script,
	"BEGIN;\n"
	  . join('', map { "INSERT INTO t$_ VALUES (1);\n" } 1 .. $tables)
	  . "SELECT pg_stat_force_next_flush();\nCOMMIT;\n");
reset_all($node);
$node->command_ok(
	[
		'pgbench', '-n', '-M', 'simple', '-c', $clients, '-t', 1, '-f',
		$script, 'postgres'
	],
	"$clients clients write to $tables tables");
eventually($node, "SELECT sum(n_tup_ins) = $tables * $clients
	FROM pg_stat_user_tables", 'the server has it all');
my ($flushes, $entries, $failures) =
  split /\|/, flushes('flushes, entries, lock_failures');
cmp_ok($entries, '>=', $tables * $clients, 'every table of every client');
cmp_ok($entries, '<=', ($tables + $catalogs) * $clients, 'is handed over once');
is($entries + $failures, $flushes, 'a flush succeeds or gives up');
cmp_ok(reports('forced'), '>=', $clients, 'each client was told to wait');
cmp_ok(reports('share'), '>', 0, 'reports have a share of all the work');
cmp_ok(reports('share'), '<', 1, 'which is not all of it');
is($node->safe_psql('postgres', q{
		SELECT bool_and(share > 0 AND share < 1)
		  FROM contention_probe.pgstat_flushes WHERE flushes > 1000}),
	't', 'and so have flushes');

# 2. The lock of one entry is held.  The writer has not reported for more than
# a second, so it does so at the end of its statement, without waiting.
my ($holder) = session($node);
my ($writer, $writer_pid) = session($node);

$writer->query_safe('INSERT INTO t1 VALUES (2)');
eventually($node, "SELECT now() - state_change > '2.5 s' FROM pg_stat_activity
	WHERE pid = $writer_pid", 'the writer has handed over what it had');
reset_all($node);
my $inserted = $node->safe_psql('postgres',
	"SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 't1'");
in_background($holder, "SELECT tk_hold_stats('t1', 1500);");
eventually($node,
	"SELECT count(*) = 1 FROM pg_stat_activity
	  WHERE query ~ 'tk_hold_stats' AND state = 'active'
	    AND pid <> pg_backend_pid()",
	'the lock is held');
$writer->query_safe('INSERT INTO t1 VALUES (3)');
cmp_ok(flushes('lock_failures'), '>=', 1, 'a flush that gave up is counted');
cmp_ok(reports('partial'), '>=', 1, 'and the report of which it was part');
($flushes, $entries, $failures) =
  split /\|/, flushes('flushes, entries, lock_failures');
is($entries + $failures, $flushes, 'and not as one that did its work');
$holder->query_safe('SELECT 1');
eventually($node, "SELECT n_tup_ins > $inserted FROM pg_stat_user_tables
	WHERE relname = 't1'", 'it is made up for');
is( $node->safe_psql('postgres',
		'SELECT lock_waits = (SELECT coalesce(sum(waits), 0)
			   FROM contention_probe.waits
			  WHERE wait_event ~ \'^PgStats(DSA|Hash|Data)$\')
		  FROM contention_probe.pgstat_reports'),
	't',
	'waits for its locks are those of the view waits');

$_->quit foreach $holder, $writer;
$node->stop;
done_testing();
