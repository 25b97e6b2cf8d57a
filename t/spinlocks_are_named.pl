# A spinlock held for a known time against several contenders: the place that
# waited is named, with the time that it waited.
#
# Breaks when s_lock is not hooked, when places are mixed up, or when sleeps
# between the looks are left out of the time.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeLocks;
use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = start_testkit('spinner',
	conf => 'contention_probe.instrument = full');

if ($node->safe_psql('postgres',
		'SELECT instrument_reason FROM contention_probe.status') =~ /architecture/)
{
	$node->stop;
	plan skip_all => 'there are no hooks on code on this architecture';
}

my $contenders = 4;
my ($holder) = session($node);
my @sessions = map { (session($node))[0] } 1 .. $contenders;

# What each contender says of its own wait is the truth.
in_background($holder, 'SELECT tk_spin_hold(1000);');
in_background($_, 'SELECT tk_spin_wait();') foreach @sessions;
my $waited = 0;
foreach my $session (@sessions)
{
	my $out = $session->query_safe('SELECT 1');
	$waited += $1 if $out =~ /^([0-9.]+)$/m && $1 > 1;
}

my ($function, $file, $line, $contended, $spins, $sleeps, $time, $max) =
  one_row(
	$node, q(
	SELECT * FROM contention_probe.spinlocks ORDER BY spin_time DESC LIMIT 1));

# From 19 on the server takes all spinlocks in one inline function, and that is
# the place that it tells.
my $inline =
  $node->safe_psql('postgres', 'SHOW server_version_num') >= 190000;
is($function, $inline ? 'SpinLockAcquire' : 'tk_spin_wait',
	'the function is named');
like($file, $inline ? qr/spin\.h$/ : qr/locks\.c$/, 'and its file');
cmp_ok($line, '>', 0, 'and the line');
is_within($contended, 1, $contenders, 'each contender waits at most once');
cmp_ok($spins, '>', $contended, 'they look more than once');
cmp_ok($sleeps, '>', 0, 'and sleep in between');
is_within($time, 0.7 * $waited, 1.3 * $waited + 1,
	'for as long as they say themselves');
is_within($max, $time / $contended, $time, 'the longest is one of them');

$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
is( $node->safe_psql(
		'postgres',
		q(SELECT count(*) FROM contention_probe.spinlocks
		   WHERE sleeps > 0)),
	0,
	'nothing after a reset');

$_->quit foreach $holder, @sessions;
$node->stop;
done_testing();
