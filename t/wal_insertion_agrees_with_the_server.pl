# Records, bytes, page images and full buffers are those of pg_stat_wal, and
# synchronous commit shows in the columns that it should.
#
# Breaks when a record is counted twice or not at all, or when flushes are
# mixed up with insertions.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = start_cluster('writer', conf => q{
contention_probe.instrument = full
contention_probe.timed_fraction = 0.5
wal_buffers = 64kB
bgwriter_lru_maxpages = 0
wal_writer_delay = 10s
checkpoint_timeout = 1h
wal_log_hints = on
});

if ($node->safe_psql('postgres',
		'SELECT instrument_reason FROM contention_probe.status') =~ /architecture/)
{
	$node->stop;
	plan skip_all => 'there are no hooks on code on this architecture';
}

sub server
{
	return one_row($node,
		'SELECT wal_records, wal_fpi, wal_bytes, wal_buffers_full FROM pg_stat_wal');
}

sub probe
{
	return one_row(
		$node, q(
		SELECT coalesce(sum(records), 0), coalesce(sum(full_page_images), 0),
		       coalesce(sum(bytes), 0), coalesce(sum(buffers_full), 0)
		  FROM contention_probe.wal_insertion));
}

my ($session) = session($node);

# Everything is reported before it is compared; what processes report while
# the two are read, a record now and then, is the tolerance.
sub flushed
{
	$session->query_safe('SELECT pg_stat_force_next_flush()');
	return;
}

flushed();
my @server_before = server();
my @probe_before = probe();
$session->query_safe(
	q(CREATE TABLE filled AS SELECT i, repeat('x', 500) AS t
	    FROM generate_series(1, 20000) i));
$session->query_safe('UPDATE filled SET i = i + 1');
flushed();
my @server_after = server();
my @probe_after = probe();

my @names = ('records', 'page images', 'bytes', 'times that buffers were full');
my @slack = (20, 5, 20000, 5);
foreach my $i (0 .. 3)
{
	my $want = $server_after[$i] - $server_before[$i];

	is_within(
		$probe_after[$i] - $probe_before[$i],
		$want - $slack[$i], $want + $slack[$i],
		"$names[$i] are those of the server ($want)");
}
cmp_ok($probe_after[3], '>', 0, 'tiny buffers were full');

# After a checkpoint the first record of a process is made, refused for want of
# a page image, and made anew: that is one record.  Of both ways through the
# hook: with a clock and without.
foreach my $fraction (0, 1)
{
	my $rounds = 40;

	$session->query_safe("SET contention_probe.timed_fraction = $fraction");
	$session->query_safe('UPDATE filled SET i = i WHERE i < 10');
	flushed();
	@server_before = server();
	@probe_before = probe();
	foreach my $n (1 .. $rounds)
	{
		$session->query_safe('CHECKPOINT');
		$session->query_safe("UPDATE filled SET i = i WHERE i = $n * 100");
	}
	flushed();
	@server_after = server();
	@probe_after = probe();
	my $want = $server_after[0] - $server_before[0];
	is_within($probe_after[0] - $probe_before[0],
		$want - $rounds / 2, $want + $rounds / 2,
		"a record that was made twice counts once, timed $fraction ($want)");
}
$session->query_safe('RESET contention_probe.timed_fraction');

# Workers of a parallel query write page images for the hints that they set, and
# the leader adds their counters to its own.  pg_stat_wal counts these twice
# therefore; how far the log has grown tells the truth.
sub wal_position
{
	return $node->safe_psql('postgres',
		"SELECT pg_current_wal_insert_lsn() - '0/0'");
}

$session->query_safe(q(CREATE TABLE hinted AS SELECT i, repeat('x', 500) AS t
	FROM generate_series(1, 20000) i));
flushed();
$node->safe_psql('postgres', 'CHECKPOINT');
@probe_before = probe();
my $grown = -wal_position();
$session->query_safe("SET $_")
  foreach 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
  'min_parallel_table_scan_size = 0', 'parallel_leader_participation = off';
$session->query_safe('SELECT count(*) FROM hinted');
flushed();
$grown += wal_position();
@probe_after = probe();
my ($records, $images, $bytes, $full) =
  map { $probe_after[$_] - $probe_before[$_] } 0 .. 3;
cmp_ok($images, '>', 1000, 'hints of parallel workers are page images');
is_within($bytes, 0.97 * $grown, 1.001 * $grown,
	"their bytes are those that the log has grown by ($grown)");
cmp_ok($records, '>=', $images, 'each is a record, and 19 adds some');
is_within($full, $grown / 8192 / 2, $grown / 8192 + 20,
	'buffers were full at most once for each page of the log');

# What happens while measuring is off does not count when it is on again, in
# the same transaction, before the process has reported anything.
@probe_before = probe();
$session->query_safe($_)
  foreach 'BEGIN', 'SET contention_probe.enabled = off',
  'UPDATE hinted SET i = i', 'SET contention_probe.enabled = on',
  'UPDATE hinted SET i = i WHERE i = 1', 'COMMIT';
flushed();
@probe_after = probe();
foreach my $i (0, 3)
{
	cmp_ok($probe_after[$i] - $probe_before[$i],
		'<', 200, "$names[$i] of while it was off are left out");
}

# Times: estimated, but more than nothing and less than what the client saw.
is( $node->safe_psql(
		'postgres', q(
		SELECT insert_time > 0, insert_p95_time > 0, insert_mean_time > 0
		  FROM contention_probe.wal_insertion
		 WHERE backend_type = 'client backend')),
	't|t|t',
	'insertions take time');
is( $node->safe_psql(
		'postgres', q(
		SELECT sum(records) > 1000 FROM contention_probe.wal_insertion_histogram
		 WHERE backend_type = 'client backend')),
	't',
	'half of the records are in the histogram');

# Synchronous commit flushes, asynchronous does not.
sub flushes_of
{
	my ($synchronous) = @_;

	$session->query_safe("SET synchronous_commit = $synchronous");
	$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
	$session->query_safe("UPDATE filled SET i = i WHERE i = $_ * 50")
	  for 1 .. 30;
	return $node->safe_psql(
		'postgres', q(
		SELECT coalesce(sum(flushes - flushes_done), 0)
		  FROM contention_probe.wal_insertion
		 WHERE backend_type = 'client backend'));
}

cmp_ok(flushes_of('on'), '>=', 30, 'each synchronous commit flushes');
cmp_ok(flushes_of('off'), '<', 30, 'asynchronous ones do not');

is( $node->safe_psql(
		'postgres', q(
		SELECT calls >= 30, "time" > 0 FROM contention_probe.pgstat_reports)),
	't|t',
	'reports of statistics are counted since the reset');

$session->quit;
$node->stop;
done_testing();
