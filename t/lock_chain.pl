# A process that sleeps on one lock while it holds another is shown as waiting
# for the one and as blocking whoever waits for the other.
#
# Breaks when a sleeping holder does not tell what it holds, or when the last
# waker of a lock is shown although the holder is known.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeLocks;
use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = start_testkit('chain',
	conf => 'contention_probe.history_interval = 100');
my @sessions = map { [ session($node) ] } 1 .. 4;
my ($end, $middle, $first, $other) = @sessions;

# From 19 on a process can only tell of locks that it has waited for before.
foreach my $case ([ $end, 'testkit[2]' ], [ $middle, 'testkit[1]' ])
{
	begin_wait($node, $case->[0], $case->[1], 'exclusive');
	$other->[0]->query_safe(hold_sql($case->[1], 'exclusive', 30));
	end_wait($case->[0]);
}

# $first waits for 1, which $middle holds, who waits for 2, which $end holds.
begin_wait($node, $first, 'testkit[1]', 'exclusive');
in_background($end->[0],
	hold_sql('testkit[2]', 'exclusive', 4000, 'latch') . ';');
until_true($node, q{SELECT tk_is_held('testkit[2]')});
in_background($middle->[0], q{SELECT tk_chain('testkit[1]', 'testkit[2]');});

my $chain = q{
	SELECT string_agg(lock || ' ' || lock_mode || ' ' || blocker_pid, ', '
	                  ORDER BY lock)
	  FROM contention_probe.backends
	 WHERE wait_event_type = 'LWLock' AND lock ~ 'testkit'};
my $expected = "testkit[1] exclusive $middle->[1], "
  . "testkit[2] exclusive $end->[1]";

ok(until_true($node, "SELECT ($chain) = '$expected'"), 'backends shows the chain')
  || diag($node->safe_psql('postgres', $chain));
foreach my $case ([ $first, 1, $middle ], [ $middle, 2, $end ])
{
	my ($process, $number, $blocker) = @$case;

	ok( until_true(
			$node, "SELECT count(*) > 0 FROM contention_probe.history
			         WHERE pid = $process->[1]
			           AND lock = 'testkit[$number]'
			           AND lock_mode = 'exclusive'
			           AND blocker_pid = $blocker->[1]"),
		"history shows the wait for lock $number");
}
end_wait($first);
$_->[0]->query_safe('SELECT 0') foreach $end, $middle;
is( $node->safe_psql(
		'postgres', q{SELECT count(*) FROM contention_probe.backends
		               WHERE lock IS NOT NULL}),
	0,
	'when it is over, nobody waits for a lock');

$_->[0]->quit foreach @sessions;
$node->stop;
done_testing();
