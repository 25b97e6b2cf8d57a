# Handing over the statistics of N tables is N flushes of relations, each of
# which took some time, and reset() starts the counts anew.
#
# Breaks when the callbacks of the kinds of statistics are not replaced, are
# replaced by each other's, or when a flush is counted twice.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $tables = 50;
my $node = start_cluster('flusher');
my ($session) = session($node);

$session->query_safe("CREATE TABLE t$_ (a int)") for 1 .. $tables;

# One statement for each table, twice: the first time fills the caches, so
# that the second reads no catalog.
my $work = join '', map { "INSERT INTO t$_ VALUES (1);" } 1 .. $tables;

sub flush
{
	$session->query_safe(
		"BEGIN; $work SELECT pg_stat_force_next_flush(); COMMIT;");
	return;
}

sub relations
{
	return split /\|/, $node->safe_psql('postgres', <<'SQL');
SELECT flushes, entries, lock_failures, flush_time > 0, max_time <= flush_time
  FROM contention_probe.pgstat_flushes WHERE kind = 'relation'
SQL
}

flush();
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
my ($before) = relations();
flush();
my ($flushes, $entries, $failures, $timed, $bounded) = relations();

# The sessions that ask flush what they read of the catalog.
cmp_ok($flushes - $before, '>=', $tables, 'every table is flushed');
my ($asking) = relations();
$asking -= $flushes;
cmp_ok($flushes - $before, '<=', $tables + 2 * ($asking + $before) + 20,
	'no table is flushed twice');
is($entries + $failures, $flushes, 'a flush succeeds or gives up');
is("$timed$bounded", 'tt', 'flushes take time, the longest not more than all');

is( $node->safe_psql(
		'postgres',
		q(SELECT string_agg(state, ',' ORDER BY symbol)
		    FROM contention_probe.hooks WHERE mechanism = 'callback')),
	$node->pg_version >= 18 ? 'active,active' : 'active,missing',
	'the callbacks that this major has are replaced');

$node->stop;
done_testing();
