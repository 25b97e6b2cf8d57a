# Where the server has no background worker, no dynamic shared memory or no
# spare room left, attach() says so, with advice, and leaves nothing behind;
# other kinds of dynamic shared memory work.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeAttach;
use CprobeTest;
use Test::More;

# attach() fails with that error, a detail and a hint.
sub attach_fails
{
	my ($node, $pattern, $name) = @_;
	my ($rc, $out, $err) = $node->psql(
		'postgres',
		'SELECT contention_probe.attach()',
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);

	isnt($rc, 0, "$name: refused");
	like($err, $pattern, "$name: in words");
	like($err, qr/HINT:  \S/, "$name: with advice");
	is(samplers($node), '0', "$name: no sampler is left");
	is( $node->safe_psql('postgres', 'SELECT contention_probe.detach()'),
		'not attached', "$name: not attached");
	return;
}

# Without attach(), the views say what to do.
my $node = start_unloaded('words', testkit => 1);
my ($rc, $out, $err) = $node->psql(
	'postgres',
	'SELECT * FROM contention_probe.waits',
	extra_params => [ '-v', 'VERBOSITY=verbose' ]);
like($err, qr/ERROR:  55000/, 'a view: error code');
like(
	$err,
	qr/HINT: .*contention_probe\.attach\(\).*shared_preload_libraries/,
	'a view: the two ways');

# Sizes come from postgresql.conf.
$node->append_conf('postgresql.conf',
	"contention_probe.max_queries = 1234\n");
$node->reload;
is(attach($node), 'attached', 'attached');
is( $node->safe_psql(
		'postgres', 'SELECT queries_total FROM contention_probe.status'),
	'1234',
	'a size that was set after the start');
is(detach($node), 'detached', 'detached');

# A segment that is too large.
$node->append_conf('postgresql.conf',
	"contention_probe.history_size = 10000000\n"
	  . "contention_probe.max_stacks = 1000000\n"
	  . "contention_probe.max_queries = 1000000\n");
$node->reload;
SKIP:
{
	my $room = (split ' ', (split /\n/, `df -Pk /dev/shm`)[1])[3] // 0;
	skip 'more room in /dev/shm than the largest settings take', 5
	  if $room > 1500 * 1024;
	attach_fails($node, qr/ERROR:  53\d\d\d: .*shared memory/, 'no room');
}
$node->adjust_conf('postgresql.conf', 'contention_probe.history_size', '1000');
$node->adjust_conf('postgresql.conf', 'contention_probe.max_stacks', '100');
$node->adjust_conf('postgresql.conf', 'contention_probe.max_queries', '100');

# No worker.
$node->append_conf('postgresql.conf', "max_worker_processes = 0\n");
$node->restart;
attach_fails($node, qr/ERROR:  53000: .*sampler.*DETAIL: .*workers/s,
	'no worker');
$node->adjust_conf('postgresql.conf', 'max_worker_processes', '8');
$node->restart;

# Nothing left of main shared memory: only before the first attach().
ok( $node->safe_psql('postgres', 'SELECT tk_fill_shared_memory() > 0'),
	'spare room used up');
attach_fails($node, qr/ERROR:  53200/, 'no spare room');

# Other kinds of segments.
foreach my $type (qw(sysv mmap))
{
	$node->append_conf('postgresql.conf',
		"dynamic_shared_memory_type = $type\n");
	$node->restart;
	is(attach($node), 'attached', "$type: attached");
	eventually($node, 'SELECT ticks > 1 FROM contention_probe.status',
		"$type: sampling");
	is(detach($node), 'detached', "$type: detached");
	is(samplers($node), '0', "$type: nothing is left");
}
$node->stop;

done_testing();
