# A WAL insertion lock that is held keeps inserters waiting: it is shown by its
# index, with the time, who held it, and the way into it; and how many of the
# locks are held at once is counted.
#
# Breaks when the locks are not found, or are numbered in another way than the
# server's.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeLocks;
use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $index = 3;
my $ms = 400;
my $node = start_testkit('wal');
my $holder = [ session($node) ];
my $holder_query = holder_query($node);

# More inserters than locks: a process begins with the lock of its number.
$node->safe_psql('postgres', 'CREATE TABLE rows (i int)');
my @inserters = map { [ session($node) ] } 1 .. 16;
my $insert = 'INSERT INTO rows VALUES (1)';
my $insert_query = query_id($node, $insert);
$_->[0]->query_safe("SET synchronous_commit = off; $insert")
  foreach @inserters;

reset_all($node);
in_background($holder->[0],
	hold_sql("WALInsert[$index]", 'exclusive', $ms) . ';');
until_true($node, "SELECT tk_is_held('WALInsert[$index]')");
in_background($_->[0], "$insert;") foreach @inserters;
my ($held) = split /\n/, $holder->[0]->query_safe('SELECT 0');
$_->[0]->query_safe('SELECT 0') foreach @inserters;

my %locks;
foreach my $row (
	split /\n/,
	$node->safe_psql(
		'postgres', 'SELECT lock_index, waits, wait_time, queue_time,
		                    wakeup_time FROM contention_probe.wal_insert_locks
		              ORDER BY 1'))
{
	my ($number, @numbers) = split /\|/, $row, -1;
	$locks{$number} = \@numbers;
}
is(join(' ', sort keys %locks), '0 1 2 3 4 5 6 7', 'one row for each lock');
my ($waits, $time, $queue, $wakeup) = @{ $locks{$index} };
cmp_ok($waits, '>=', 1, 'inserters waited for the lock that was held');
cmp_ok($waits, '<=', 60, 'each a few times at most');
is_within(
	$node->safe_psql(
		'postgres', "SELECT max_time FROM contention_probe.lwlocks
		              WHERE lock = 'WALInsert[$index]'"),
	$ms * 0.3, $held + 20, 'the longest for most of the time');
is_within($queue + $wakeup, $time * 0.7, $time * 1.001,
	'mostly since it was held, or was waking up');
foreach my $other (grep { $_ != $index } 0 .. 7)
{
	cmp_ok($locks{$other}->[1], '<', $ms * 0.3, "not for the lock $other");
}

cmp_ok(
	$node->safe_psql(
		'postgres', "SELECT sum(handoffs) FROM contention_probe.lock_handoffs
		              WHERE lock = 'WALInsert[$index]'
		                AND waker_queryid = $holder_query
		                AND waiter_queryid = $insert_query
		                AND waker_backend_type = 'client backend'"),
	'>=', 1, 'the inserters know who held it');
like(
	$node->safe_psql(
		'postgres', q{SELECT string_agg(stack, E'\n')
		                FROM contention_probe.wait_stacks
		               WHERE wait_event = 'WALInsert'}),
	qr/heap_insert;.*XLogInsert.*;LWLockAcquire/,
	'and came there through an insertion');

# Occupancy.
is( $node->safe_psql(
		'postgres', q{SELECT string_agg(locks_held::text, ' '
		                                ORDER BY locks_held)
		                FROM contention_probe.wal_insert_occupancy}),
	'0 1 2 3 4 5 6 7 8',
	'a row for each number of locks held at once');
reset_all($node);
my @holders = map { [ session($node) ] } 0 .. 2;
my @picked = (0, 4, 7);
in_background($holders[$_]->[0],
	hold_sql("WALInsert[$picked[$_]]", 'exclusive', 1500) . ';')
  foreach 0 .. 2;
$_->[0]->query_safe('SELECT 0') foreach @holders;
my $three = $node->safe_psql('postgres',
	'SELECT samples FROM contention_probe.wal_insert_occupancy
	  WHERE locks_held = 3');
cmp_ok($three, '>=', 30, 'three locks held at once were seen');
is( $node->safe_psql(
		'postgres', q{SELECT coalesce(sum(samples), 0)
		                FROM contention_probe.wal_insert_occupancy
		               WHERE locks_held > 3}),
	0,
	'and never more');
is_within(
	$node->safe_psql(
		'postgres',
		'SELECT sum(share) FROM contention_probe.wal_insert_occupancy'),
	0.999,
	1.001,
	'the shares are whole');
cmp_ok(
	$node->safe_psql(
		'postgres', 'SELECT exclusive_util
		               FROM contention_probe.wal_insert_locks
		              WHERE lock_index = 4'),
	'>', 0.2, 'utilisation of one that was held');
cmp_ok(
	$node->safe_psql(
		'postgres', 'SELECT exclusive_util
		               FROM contention_probe.wal_insert_locks
		              WHERE lock_index = 5'),
	'<', 0.05, 'and of one that was not');

$_->[0]->quit foreach $holder, @holders, @inserters;
$node->stop;
done_testing();
