# numa_memory tells of every area of shared memory, page by page, without
# making a page or a fault of shared memory; on a machine with one node all
# that is placed is there.
#
# Breaks when areas are left out, when pages are counted wrongly, or when
# looking touches what it looks at.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('placement',
	conf => "shared_buffers = 64MB\nhuge_pages = off\n"
	  . "contention_probe.numa_interval = 0\n");
my ($session, $pid) = session($node);

sub shared_pages
{
	my ($kb) = slurp_file("/proc/$pid/status") =~ /^RssShmem:\s+(\d+) kB/m;

	return $kb / 4;
}

# Of one area, by node or the lack of it.
sub area_pages
{
	my ($area, $condition) = @_;

	return $node->safe_psql(
		'postgres', "
		SELECT coalesce(sum(pages), 0) FROM contention_probe.numa_memory
		 WHERE area = '$area' AND $condition");
}

$session->query_safe('SELECT contention_probe.numa_refresh()');
my $refused = $node->safe_psql('postgres',
	"SELECT reason FROM contention_probe.numa_memory
	  WHERE method IS NULL LIMIT 1");
plan skip_all => $refused if $refused ne '';

# 1. Looking makes no page of shared memory its own.
$session->query_safe('SELECT count(*) FROM contention_probe.numa_memory');
my $before = shared_pages();
my $cost = $session->query_safe('SELECT contention_probe.numa_refresh()');
is(shared_pages(), $before, 'a look maps no page of shared memory');
note("a look took $cost ms");

# 2. All areas that have a name are there, each with all its pages.
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*) FROM pg_shmem_allocations AS a
		 WHERE a.name IS NOT NULL AND a.name <> '<anonymous>' AND a.size > 0
		   AND NOT EXISTS (SELECT FROM contention_probe.numa_memory AS m
		                    WHERE m.area = a.name)}),
	0,
	'every area is there');
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*) FROM
		  (SELECT m.area, sum(m.pages) AS pages, min(m.method) AS method
		     FROM contention_probe.numa_memory AS m GROUP BY m.area) AS m,
		  pg_shmem_allocations AS a
		 WHERE a.name = m.area
		   AND m.pages NOT IN (ceil(a.size / 4096.0), ceil(a.size / 4096.0) + 1)
		   AND (m.method = 'exact' OR
		        abs(m.pages - a.size / 4096.0) > 3)}),
	0,
	'with as many pages as it has');

# 3. What the server initialises is placed; what nobody has used is not.
is(area_pages('Buffer Descriptors', 'node IS NULL'),
	0, 'buffer descriptors are all in place');
cmp_ok(area_pages('Buffer Blocks', "reason LIKE 'not in memory%'"),
	'>', 10000, 'most of 16384 buffers have never been used');

# 4. Pages come into the picture as they are used.
my $used = area_pages('Buffer Blocks', "reason IS NULL OR reason NOT LIKE 'not in%'");
$session->query_safe('CREATE TABLE filler (g int, t text)');
$session->query_safe(
	q{INSERT INTO filler SELECT g, repeat('x', 1000) FROM generate_series(1, 16000) AS g}
);
$session->query_safe('SELECT contention_probe.numa_refresh()');
my $more = area_pages('Buffer Blocks', "reason IS NULL OR reason NOT LIKE 'not in%'");
is_within($more - $used, 2500, 6500,
	'18 MB of a table are about 4600 pages more, give or take the error of a sample');

# 5. Shares are shares, and the interval is around them.
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*) FROM contention_probe.numa_memory
		 WHERE node IS NOT NULL AND NOT (share_low <= share AND
		       share <= share_high AND share_low >= 0 AND share_high <= 1)}),
	0,
	'shares lie in their intervals');
SKIP:
{
	skip 'this machine has several nodes', 2
	  if $node->safe_psql('postgres',
		'SELECT count(*) FROM contention_probe.numa_nodes') != 1;
	is( $node->safe_psql(
			'postgres', 'SELECT count(*) FROM contention_probe.numa_memory
			  WHERE node <> 0 OR share <> 1'),
		0,
		'one node has all');
	like(
		$node->safe_psql(
			'postgres', "SELECT detail FROM contention_probe.machine_summary
			  WHERE metric = 'memory_placement'"),
		qr/^the machine has one node/,
		'the summary says so');
}

# 6. Locks lie where their area does.
$node->safe_psql('postgres', 'CREATE TABLE counter (n int);
	INSERT INTO counter VALUES (0)');
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
my $script = "$PostgreSQL::Test::Utils::tmp_check/inserts.sql";
append_to_file($script, "INSERT INTO counter SELECT g FROM generate_series(1, 200) g;\n");
run_pgbench($node, '-c', 16, '-j', 2, '-T', 2, '-f', $script);
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*) FROM contention_probe.lwlocks
		 WHERE home_node IS NULL AND lock <> tranche AND lock NOT LIKE '% @ %'}),
	0,
	'every lock that is known has a home');
is( $node->safe_psql(
		'postgres', q{
		SELECT sum(remote_handoffs) <= sum(waits) AND
		       sum(smt_handoffs) <= sum(waits)
		  FROM contention_probe.lwlocks}),
	't',
	'no more hand-offs than waits');
is( $node->safe_psql(
		'postgres', q{
		SELECT (SELECT sum(handoffs) FROM contention_probe.numa_handoffs) <=
		       (SELECT sum(handoffs) FROM contention_probe.lock_handoffs
		         WHERE waker_backend_type IS NOT NULL)}),
	't',
	'hand-offs by distance are hand-offs');

done_testing();
