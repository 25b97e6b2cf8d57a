# Waits in shared and in exclusive mode are told apart, whatever mode the
# holder has; so is waiting for a release without taking the lock.
#
# Breaks when the mode is taken from the holder, or from the process's last
# wait.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeLocks;
use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $ms = 150;
my $node = start_testkit('modes');
my $holder = [ session($node) ];
my @waiters = map { [ session($node) ] } 1 .. 3;

# Waiters of one mode against a holder of another; what lwlocks says.
sub split_of
{
	my ($hold, $wait) = @_;

	reset_all($node);
	my ($held, @waited) = contend(
		$node, $holder, \@waiters,
		lock => 'testkit[4]',
		hold => $hold,
		wait => $wait,
		ms => $ms);
	my %seen = lock_numbers($node, 'testkit[4]');

	is($seen{waits}, 3, "$wait against $hold: all waited");
	is_within(
		$seen{wait_time},
		3 * $ms * 0.6,
		$waited[0] + $waited[1] + $waited[2],
		"$wait against $hold: for that long");
	return join ' ',
	  @seen{qw(exclusive_waits shared_waits until_free_waits)};
}

is(split_of('exclusive', 'shared'), '0 3 0', 'shared against exclusive');
is(split_of('exclusive', 'exclusive'),
	'3 0 0', 'exclusive against exclusive');
is(split_of('shared', 'exclusive'), '3 0 0', 'exclusive against shared');
is(split_of('exclusive', 'until free'),
	'0 0 3', 'until free against exclusive');

# Shared against shared does not wait.
reset_all($node);
begin_wait($node, $waiters[0], 'testkit[4]', 'shared');
$holder->[0]->query_safe(hold_sql('testkit[4]', 'shared', $ms));
cmp_ok(end_wait($waiters[0]), '<', $ms, 'shared against shared gets the lock');
is({ lock_numbers($node, 'testkit[4]') }->{waits},
	0, 'and is no wait');

# What is seen while it lasts: utilisation by mode, and the queue.
foreach my $case ([ 'exclusive', 'exclusive_util', 'shared_util' ],
	[ 'shared', 'shared_util', 'exclusive_util' ])
{
	my ($hold, $high, $low) = @$case;

	reset_all($node);
	# The sampler looks at locks that were waited for.
	contend($node, $holder, [ $waiters[0] ],
		lock => 'testkit[5]', ms => 20);
	contend(
		$node, $holder, \@waiters,
		lock => 'testkit[5]',
		hold => $hold,
		ms => 2500);
	my %seen = lock_numbers($node, 'testkit[5]');

	is_within($seen{$high}, 0.2, 1, "$hold hold shows as utilisation");
	cmp_ok($seen{$low}, '<', 0.2, "and not as the other");
	cmp_ok($seen{queue_length}, '>', 0.2, 'and the queue');
}

$_->[0]->quit foreach $holder, @waiters;
$node->stop;
done_testing();
