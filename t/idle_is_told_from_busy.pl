# Waiting for the next command is idleness, waiting for the rest of a command
# is not, though the server has one event for both; shares are of what is not
# idle.
#
# Breaks when idle sessions drown the rest, when a COPY that waits for its
# data looks idle, or when idle time enters shares or sums of busy time.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = start_cluster('idlers');
$node->safe_psql('postgres', 'CREATE TABLE copied (a int)');
my ($session, $pid) = session($node);
my ($other, $other_pid) = session($node);
my $mine = "pid = $pid";

# Numbers of the session's waits for its client: of the idle ones, or others.
sub client_reads
{
	my ($idle, $condition) = @_;

	return wait_numbers($node, 'backend_waits', 'Client/ClientRead',
		($idle ? 'idle' : 'NOT idle') . ' AND ' . ($condition // $mine));
}

# A command that comes early enough is not waited for: let the session sleep.
sub let_it_idle
{
	return until_true(
		$node,
		"SELECT wait_event = 'ClientRead' AND wait_age > 100
		   FROM contention_probe.backends WHERE $mine");
}

# 1. Idle, and idle in a transaction.
let_it_idle();
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
$session->query_safe('SELECT 1');
let_it_idle();
$session->query_safe('BEGIN');
my ($idle_waits) = client_reads(1);
cmp_ok($idle_waits, '>=', 2, 'waits for the next command are idle');
let_it_idle();
is( join(',',
		one_row(
			$node,
			"SELECT state, wait_event_type, wait_event, waits, wait_time
			   FROM contention_probe.backends WHERE $mine")),
	'idle in transaction,Client,ClientRead,0,0',
	'backends: in a transaction as well, and no busy wait');
my ($before, $time_before) = client_reads(1);
$session->query_safe('COMMIT');
my ($after, $time_after) = client_reads(1);
cmp_ok($after, '>', $before, 'it is counted when it ends');
cmp_ok($time_after, '>', $time_before + 100, 'with its time');
is((client_reads(0))[0], 0, 'none of it is busy');

# 2. In the middle of a COPY.
my $elapsed = cost_of(
	sub {
		in_background($session, 'COPY copied FROM STDIN;');
		ok( until_true(
				$node,
				"SELECT wait_event = 'ClientRead' AND state = 'active'
				        AND wait_age > 200
				   FROM contention_probe.backends WHERE $mine"),
			'COPY waits for its data');
		($before) = client_reads(1);
		$session->query_until(qr/copied/, "1\n2\n\\.\n\\echo copied\n");
	});
my ($waits, $time) = client_reads(0);
cmp_ok($waits, '>=', 1, 'that is not idle');
is_within($time, 200, $elapsed, 'and has its time');
is($node->safe_psql('postgres', 'SELECT count(*) FROM copied'),
	2, 'the data came through');
my $copy = $node->safe_psql('postgres',
	"SELECT query_id FROM pg_stat_activity WHERE $mine");
is((wait_numbers($node, 'query_waits', 'Client/ClientRead',
			"queryid = $copy"))[0], $waits, 'COPY is credited with it');
is((wait_numbers($node, 'query_waits', 'Client/ClientRead'))[0],
	$waits, 'idle waits are credited to no statement');

# 3. Two rows of one event, and shares.
is( $node->safe_psql(
		'postgres', q{
		SELECT string_agg(format('%s:%s', idle, share IS NULL), ' '
		                  ORDER BY idle)
		  FROM contention_probe.waits WHERE wait_event = 'ClientRead'}),
	'f:f t:t',
	'the event has a busy row with a share and an idle one without');
$other->query_safe('SELECT pg_sleep(0.05)');
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*) FROM contention_probe.waits
		 WHERE idle <> (share IS NULL)}),
	0,
	'all busy rows have a share, no idle one');
my ($sum, $wrong) = one_row(
	$node, q{
	SELECT round(sum(share)::numeric, 6),
	       count(*) FILTER (WHERE abs(share - wait_time / busy) > 1e-9)
	  FROM (SELECT share, wait_time, sum(wait_time) OVER () AS busy
	          FROM contention_probe.waits WHERE NOT idle) AS w});
is($sum, '1.000000', 'shares add up to one');
is($wrong, 0, 'each is the part of its time in the busy time');
is( $node->safe_psql(
		'postgres', q{
		SELECT string_agg(DISTINCT wait_event_type, ',')
		  FROM contention_probe.waits WHERE idle
		   AND wait_event_type NOT IN ('Activity', 'Client', 'Extension')}),
	'',
	'only background loops and clients are ever idle');

# 4. A client that does not take its result keeps the session busy.
my ($type) = one_row(
	$node,
	"SELECT bool_and(NOT idle) FROM contention_probe.waits
	  WHERE wait_event = 'ClientWrite'");
isnt($type, 'f', 'waiting to send is never idle');

$_->quit foreach $session, $other;
$node->stop;
done_testing();
