# Reads and flushes of files are waits of the process and the statement that
# made them: as many reads as blocks, as many flushes as commits.
#
# Breaks when a read, a write or a flush does not go through the hooks, is
# counted twice, or when COMMIT's flush is credited to another statement.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = new_cluster(
	'files', conf => q{
fsync = on
wal_sync_method = fdatasync
wal_writer_delay = 10s
checkpoint_timeout = 1h
});

# One read for each block, by the process that wants it.
$node->append_conf('postgresql.conf', 'io_combine_limit = 1')
  if $node->pg_version >= 17;
$node->append_conf('postgresql.conf', 'io_method = sync')
  if $node->pg_version >= 18;
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION contention_probe;
	CREATE TABLE large WITH (autovacuum_enabled = off) AS
	  SELECT i, repeat('x', 1000) AS filler FROM generate_series(1, 10000) AS i;
	CREATE TABLE small (a int);
	VACUUM (FREEZE, ANALYZE) large});

# 1. Reads.  The table is larger than shared_buffers.
my ($session, $pid) = session($node);
my $scan = 'SELECT count(filler) FROM large';
my $query = query_id($node, $scan);
$session->query_safe('SET max_parallel_workers_per_gather = 0');
$session->query_safe($scan);
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
my $plan =
  $session->query_safe("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) $scan");
my ($blocks) = $plan =~ /read=(\d+)/;
cmp_ok($blocks, '>', 400, "the scan reads many blocks: $blocks");
my ($reads, $time) =
  wait_numbers($node, 'query_waits', 'IO/DataFileRead', "queryid = $query");
is($reads, $blocks, 'as many waits as blocks');
cmp_ok($time, '>', 0, 'of some time');
is((wait_numbers($node, 'backend_waits', 'IO/DataFileRead', "pid = $pid"))[0],
	$reads, 'all of them of the one process');

# 2. Flushes of the log.
sub flushes
{
	my ($condition) = @_;

	return (wait_numbers($node, 'query_waits', 'IO/WALSync', $condition))[0];
}

my $insert = 'INSERT INTO small VALUES (1)';
my $insert_id = query_id($node, $insert);
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
foreach (1 .. 10)
{
	$session->query_safe('BEGIN');
	$session->query_safe($insert);
	$session->query_safe('COMMIT');
}
my $commit = $node->safe_psql('postgres',
	"SELECT query_id FROM pg_stat_activity WHERE pid = $pid");
is(flushes("queryid = $commit"), 10, 'ten COMMITs, ten flushes');
is(flushes("queryid = $insert_id"), 0, 'none of them is that of an INSERT');

$session->query_safe($insert) foreach 1 .. 5;
is(flushes("queryid = $insert_id"),
	5, 'an INSERT that commits by itself flushes');
is(flushes("queryid = $commit"), 10, 'and no COMMIT');

$session->query_safe('SET synchronous_commit = off');
$session->query_safe($insert) foreach 1 .. 5;
is(flushes("queryid = $insert_id"), 5, 'without waiting, no wait');

# 3. Work done by other processes is theirs.
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
$node->safe_psql('postgres', 'CHECKPOINT');
my ($syncs) = wait_numbers($node, 'backend_waits', 'IO/DataFileSync',
	"backend_type = 'checkpointer' AND pid IS NOT NULL");
cmp_ok($syncs, '>', 0, 'the checkpointer waits for files to be flushed');
my ($waits) = one_row(
	$node, q{
	SELECT count(DISTINCT queryid) FROM contention_probe.query_waits
	 WHERE wait_event IN ('CheckpointStart', 'CheckpointDone')});
is($waits, 1, 'and who asked for the checkpoint waits for it');

$session->quit;
$node->stop;
done_testing();
