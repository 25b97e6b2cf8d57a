# A lock's name says which one it is, for every kind of lock that the server
# has in main shared memory.
#
# Breaks when a structure of the server that holds locks is read in another
# way than the server lays it out: then the name is another lock's, or only
# tells the area.  The testkit finds the locks in other ways than the product.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeLocks;
use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = start_testkit(
	'names',
	streaming => 1,
	conf => "shared_buffers = 64MB\nwal_level = logical\nmax_replication_slots = 7\n"
	  . "track_commit_timestamp = on\nmin_dynamic_shared_memory = 0");
my $major = $node->safe_psql('postgres',
	q{SELECT current_setting('server_version_num')::int / 10000});

sub name_of
{
	my ($lock) = @_;

	return $node->safe_psql('postgres', "SELECT tk_lock_name('$lock')");
}

# 1. Locks that the testkit calls by the same name.
my @same = (
	'ProcArray', 'WALWrite', 'XidGen',
	'BufferMapping[0]', 'BufferMapping[27]', 'BufferMapping[127]',
	'LockManager[0]', 'LockManager[5]', 'LockManager[15]',
	'PredicateLockManager[3]', 'PredicateLockManager[15]',
	'testkit[0]', 'testkit[2]', 'testkit[7]',
	'WALInsert[0]', 'WALInsert[3]', 'WALInsert[7]',
	'XactBuffer[0]', 'XactBuffer[5]', 'SubtransBuffer[7]',
	'MultiXactOffsetBuffer[2]', 'MultiXactMemberBuffer[11]',
	'NotifyBuffer[7]', 'SerialBuffer[15]',
	'ReplicationOriginState[0]', 'ReplicationOriginState[6]',
	'PerXactPredicateList[0]', 'PerXactPredicateList[42]',
	'PgStatsHash[0]', 'PgStatsHash[77]', 'PgStatsHash[127]',
	map { "PgStatsData($_)" } qw(archiver bgwriter checkpointer slru wal));

push @same, 'XactSLRU[0]', 'SubtransSLRU[0]', 'NotifySLRU[0]'
  if $major >= 17;
foreach my $lock (@same)
{
	is(name_of($lock), $lock, $lock);
}
is($node->safe_psql('postgres', 'SELECT tk_wal_insert_lock_count()'),
	8, 'the server has 8 WAL insertion locks');

# 2. Every WAL insertion lock has its own name.
is( $node->safe_psql(
		'postgres', q{
		SELECT string_agg(tk_lock_name('WALInsert[' || i || ']'), ' '
		                  ORDER BY i)
		  FROM generate_series(0, 7) i}),
	join(' ', map { "WALInsert[$_]" } 0 .. 7),
	'all of them in their order');

# 3. Whose lock it is.
my ($session, $pid) = session($node);

is(name_of("LockFastPath($pid)"), "LockFastPath(pid $pid)",
	'fast-path lock of a session');
my $offset =
  $node->safe_psql('postgres', "SELECT tk_lock_offset('LockFastPath($pid)')");
my $tranche =
  $node->safe_psql('postgres', "SELECT tk_lock_tranche('LockFastPath($pid)')");
$session->quit;
eventually($node,
	"SELECT tk_lock_name_at($tranche, $offset) !~ 'pid $pid\\y'",
	'once it has left, it is not called by that process');

$node->safe_psql('postgres',
	q{SELECT pg_create_physical_replication_slot('a_slot')});
is(name_of('ReplicationSlotIO(a_slot)'),
	'ReplicationSlotIO(a_slot)', 'lock of a replication slot');
$offset = $node->safe_psql('postgres',
	q{SELECT tk_lock_offset('ReplicationSlotIO(a_slot)')});
$tranche = $node->safe_psql('postgres',
	q{SELECT tk_lock_tranche('ReplicationSlotIO(a_slot)')});
$node->safe_psql('postgres', q{SELECT pg_drop_replication_slot('a_slot')});
is( $node->safe_psql(
		'postgres', "SELECT tk_lock_name_at($tranche, $offset)"),
	'ReplicationSlotIO[0]',
	'and of one that is free');

# 4. What has no better name tells its area; what is nowhere, its tranche.
like(name_of('PgStatsDSA[3]'),
	qr/^PgStatsDSA \@ Shared Memory Stats\+\d+$/, 'a place in an area');
$node->safe_psql('postgres', 'SELECT tk_dsm_create()');
is(name_of('dsm'), 'testkit_dsm', 'a lock in dynamic shared memory');
my $unknown = $node->safe_psql('postgres',
	q{SELECT tk_lock_name_at(tk_lock_tranche('dsm'), 0)});
is($unknown, 'testkit_dsm', 'by its tranche in a process that knows it');
if ($major < 19)
{
	my ($rc, $out) = $node->psql('postgres', 'SELECT tk_lock_name_at(250, 0)');

	is($out, 'extension tranche 250', 'a tranche that nobody knows');
}

# 5. Numbers that lead to no lock of the tranche give no wrong name.
$tranche =
  $node->safe_psql('postgres', q{SELECT tk_lock_tranche('WALInsert[0]')});
$offset =
  $node->safe_psql('postgres', q{SELECT tk_lock_offset('BufferMapping[27]')});
unlike(
	$node->safe_psql(
		'postgres', "SELECT tk_lock_name_at($tranche, $offset)"),
	qr/\[/,
	'a lock of another tranche');
foreach my $distance (1, 2, 4096, $offset + 4, 1 << 46, -1)
{
	unlike(
		$node->safe_psql(
			'postgres', "SELECT tk_lock_name_at($tranche, $distance)"),
		qr/\[/,
		"nothing at $distance");
}

$node->stop;
done_testing();
