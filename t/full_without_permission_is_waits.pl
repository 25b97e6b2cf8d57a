# Where the system does not let a program change its own code, as SELinux may,
# full works as waits and says so, and nothing else changes.
#
# Breaks when a refusal leaves a function half redirected, keeps the server
# from starting, or is kept silent.
#
# The filter is this program's own, set before the server starts, which
# inherits it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use Config;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Numbers of x86-64.
my $call_prctl = 157;
my $call_mprotect = 10;

# Protections that are refused: writable and executable.
my $forbidden = 2 | 4;

# Have the kernel answer EPERM to mprotect for such memory.
sub forbid
{
	my $code = join '',
	  pack('S C C L', 0x20, 0, 0, 0),                # load the call's number
	  pack('S C C L', 0x15, 0, 4, $call_mprotect),
	  pack('S C C L', 0x20, 0, 0, 32),               # load its third argument
	  pack('S C C L', 0x54, 0, 0, $forbidden),
	  pack('S C C L', 0x15, 0, 1, $forbidden),
	  pack('S C C L', 0x06, 0, 0, 0x00050001),       # EPERM
	  pack('S C C L', 0x06, 0, 0, 0x7fff0000);       # allow
	my $program = pack('S x6 P', 7, $code);

	return syscall($call_prctl, 38, 1, 0, 0, 0) == 0
	  && syscall($call_prctl, 22, 2, $program) == 0;
}

plan skip_all => 'the numbers of system calls are those of x86-64'
  unless $Config{archname} =~ /^x86_64/;
plan skip_all => "no filter can be set here: $!" unless forbid();

my $node = start_cluster('unchanged',
	conf => 'contention_probe.instrument = full');

my ($instrument, $reason) = one_row($node,
	'SELECT instrument, instrument_reason FROM contention_probe.status');
is($instrument, 'full', 'full was asked for');
like($reason, qr/mprotect: Operation not permitted/, 'and is not: why');
like(
	slurp_file($node->logfile),
	qr/instrument = full works as waits/,
	'the log says so');
is( $node->safe_psql(
		'postgres', q(
		SELECT string_agg(DISTINCT state, ',') FROM contention_probe.hooks
		 WHERE mechanism = 'detour')),
	'refused',
	'no function is redirected');
is( $node->safe_psql(
		'postgres', q(
		SELECT count(shared_acquires) FROM contention_probe.lwlock_tranches)),
	0,
	'acquisitions are not counted');
is( $node->safe_psql(
		'postgres', q(
		SELECT count(*) > 0, bool_and(records IS NULL)
		  FROM contention_probe.wal_insertion)),
	't|t',
	'what needs no hooks on code is there');
$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
$node->safe_psql('postgres', 'SELECT pg_sleep(0.01)');
is((wait_numbers($node, 'waits', 'Timeout/PgSleep'))[0],
	1, 'waits are counted');
is( $node->safe_psql('postgres', 'SELECT count(*) FROM contention_probe.spinlocks'),
	0,
	'no spinlocks');

$node->stop;
done_testing();
