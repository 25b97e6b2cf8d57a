# Under load, attach, query and detach go round 100 times: no transaction
# fails, no error or warning is logged, and at the end no worker, segment or
# mapping is left.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeAttach;
use CprobeTest;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $rounds = $ENV{CPROBE_ATTACH_ROUNDS} // 100;
my $node = start_unloaded(
	'rounds',
	conf => "max_connections = 60\ncontention_probe.history_size = 1000\n");

# What each round asks for: views of samples, of now, and of waits.
my $queries = join ";\n",
  map { "SELECT count(*) FROM contention_probe.$_" }
  qw(status backends history profile stuck_waiters lwlocks waits
  wal_insert_occupancy buffer_locks);

ok(run_pgbench($node, '-i', '-q'), 'tables of pgbench');
my ($hooked, $hooked_pid) = session($node);
my ($idle, $idle_pid) = session($node);
$hooked->query_safe("LOAD 'contention_probe'");
$idle->query_safe('SELECT contention_probe.attach()');
$idle->query_safe('SELECT contention_probe.detach()');
my $segments = segments_of($node);

my ($out, $err) = ('', '');
my $bench = IPC::Run::start(
	[
		$node->installed_command('pgbench'),
		'-h', $node->host, '-p', $node->port, '-n',
		'-c', '32', '-j', '2', '-T', '600', 'postgres'
	],
	'<', \undef, '>', \$out, '2>', \$err);
eventually(
	$node,
	q{SELECT count(*) >= 32 + 2 FROM pg_stat_activity
	   WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()},
	'32 clients are at work');

my ($attach_ms, $detach_ms, $done) = (0, 0, 0);
foreach my $round (1 .. $rounds)
{
	my $begun = time();
	last if attach($node) ne 'attached';
	$attach_ms += (time() - $begun) * 1000;
	$node->safe_psql('postgres', $queries);
	$hooked->query_safe('SELECT pg_sleep(0.001)');
	$idle->query_safe('SELECT count(*) FROM contention_probe.backends')
	  if $round % 10 == 0;
	$begun = time();
	last if detach($node) ne 'detached';
	$detach_ms += (time() - $begun) * 1000;
	$done++;
}
is($done, $rounds, 'all rounds done');
diag(sprintf 'attach %.1f ms, detach %.1f ms on average, connections included',
	$attach_ms / ($done || 1), $detach_ms / ($done || 1));

# What the end of pgbench leaves in the log is not our business.
my $log = server_log($node);
$bench->signal('INT');
$bench->finish;
unlike($err, qr/error|aborted|fatal/i, 'no transaction failed');

# The sessions let go at their next statement.
$hooked->query_safe('SELECT 1');
$idle->query_safe('SELECT 1');
is(samplers($node), '0', 'no worker is left');
is(segments_of($node), $segments, 'no segment is left');
is(mapping_count($idle_pid), mapping_count($hooked_pid),
	'no session keeps one');
unlike($log, qr/ (?:ERROR|WARNING|FATAL|PANIC): /,
	'nothing bad in the server log');
is(attach($node), 'attached', 'attached once more');
$hooked->query_safe('SELECT pg_sleep(0.001)');
like(
	$hooked->query_safe(
		q{SELECT count(*) > 0 FROM contention_probe.backend_waits
		   WHERE pid = pg_backend_pid()}),
	qr/^t$/m,
	'a hooked session has followed all of that');

$hooked->quit;
$idle->quit;
$node->stop;

# Segments that processes of this server have mapped.
sub segments_of
{
	my ($server) = @_;
	my %found;
	my $pids = $server->safe_psql('postgres',
		'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()');

	foreach my $pid (split /\n/, $pids)
	{
		next unless -r "/proc/$pid/maps";
		$found{$_} = 1
		  foreach file_text("/proc/$pid/maps") =~ m{(/dev/shm/PostgreSQL\.\d+)}g;
	}
	return scalar keys %found;
}

done_testing();
