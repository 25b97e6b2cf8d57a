# A wait for a page's content lock names the relation, the fork and the block.
#
# Breaks when the tag is read from another buffer, or when the content locks
# of PostgreSQL 19, which are no LWLocks, are missed.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeLocks;
use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $ms = 200;
my $node = start_testkit('content');
my $major = major($node);

$node->safe_psql(
	'postgres', q{
	CREATE TABLE some_table AS SELECT i, repeat('x', 500) AS filler
	  FROM generate_series(1, 100) i;
	CREATE INDEX some_index ON some_table (i);
	CREATE DATABASE other});
my $holder = [ session($node) ];
my @waiters = map { [ session($node) ] } 1 .. 2;

sub page_of
{
	my ($condition, $database) = @_;

	return split /\|/,
	  $node->safe_psql($database // 'postgres',
		"SELECT relname, fork, block, waits, wait_time, shared_waits,
		        exclusive_waits, database, relation
		   FROM contention_probe.buffer_locks WHERE $condition"), -1;
}

# 1. Exclusive waits for block 0 of a table, and for a block of an index.
foreach my $case ([ 'some_table', 0 ], [ 'some_table', 3 ],
	[ 'some_index', 1 ])
{
	my ($relation, $block) = @$case;

	reset_all($node);
	my ($held, $waited) = contend(
		$node, $holder, [ $waiters[0] ],
		lock => "BufferContent($relation,$block)",
		ms => $ms);
	my $filenode = $node->safe_psql('postgres',
		"SELECT pg_relation_filenode('$relation')");
	my ($relname, $fork, $number, $waits, $time, $shared, $exclusive,
		undef, $file)
	  = page_of('wait_time > 100');

	is($relname, $relation, "$relation/$block: relation");
	is($file, $filenode, "$relation/$block: its file");
	is($fork, 'main', "$relation/$block: fork");
	is($number, $block, "$relation/$block: block");
	is($waits, 1, "$relation/$block: waited for once");
	is_within($time, $waited - 10, $waited, "$relation/$block: for so long");
	is("$shared/$exclusive", '0/1', "$relation/$block: exclusively");
	is( $node->safe_psql(
			'postgres', q{SELECT count(*) FROM contention_probe.buffer_locks
			               WHERE wait_time > 100}),
		1,
		"$relation/$block: no other page");
	my ($event_waits, $event_time) = wait_numbers($node, 'waits',
		$major >= 19 ? 'Buffer/BufferExclusive' : 'LWLock/BufferContent',
		"wait_time > $ms / 2");
	is($event_waits, 1, "$relation/$block: as in waits");
	is($event_time, $time, "$relation/$block: with the same time");
}

# 2. Shared ones.
reset_all($node);
contend(
	$node, $holder, \@waiters,
	lock => 'BufferContent(some_table,0)',
	wait => 'shared',
	ms => $ms);
my (undef, undef, undef, $waits, undef, $shared, $exclusive) =
  page_of(q{relname = 'some_table'});
is("$waits $shared $exclusive", '2 2 0', 'shared waits are told apart');

# 3. Seen from another database the relation has a number, but no name.
$node->safe_psql('other', 'CREATE EXTENSION contention_probe');
my ($relname, $fork, $block) = page_of('waits = 2', 'other');
is("$relname/$fork/$block", '/main/0', 'from another database');

# 4. The processes and the hand-offs of it.
begin_wait($node, $waiters[0], 'BufferContent(some_table,0)', 'exclusive');
in_background($holder->[0],
	hold_sql('BufferContent(some_table,0)', 'exclusive', 3000) . ';');
my $waiter_pid = $waiters[0]->[1];
eventually(
	$node, "SELECT lock = 'BufferContent(some_table/main/0)'
	           AND lock_mode = 'exclusive'
	          FROM contention_probe.backends WHERE pid = $waiter_pid",
	'backends names the page while it lasts');
end_wait($waiters[0]);
$holder->[0]->query_safe('SELECT 0');
my $waiter_query = waiter_query($node);
my $holder_query = holder_query($node);
cmp_ok(
	$node->safe_psql(
		'postgres', "SELECT sum(handoffs) FROM contention_probe.lock_handoffs
		              WHERE waiter_queryid = $waiter_query
		                AND waker_queryid = $holder_query
		                AND waker_backend_type = 'client backend'
		                AND queue_time > 1000"),
	'>=', 1, 'lock_handoffs tells who held it');

$_->[0]->quit foreach $holder, @waiters;
$node->stop;
done_testing();
