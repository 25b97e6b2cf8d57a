# The life of an attachment: the sampler comes back when it is ended, a crash
# leaves nothing stale, DROP EXTENSION detaches, two attach() at once are one,
# a standby works, users without rights are refused, and a server that has
# preloaded the library says so.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeAttach;
use CprobeTest;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_unloaded(
	'life',
	streaming => 1,
	conf => "restart_after_crash = on\n");

# Who may.
$node->safe_psql('postgres', 'CREATE ROLE plain LOGIN');
$node->safe_psql('postgres', 'CREATE ROLE monitor LOGIN IN ROLE pg_monitor');
foreach my $role (qw(plain monitor))
{
	foreach my $function (qw(attach detach))
	{
		my ($rc, $out, $err) =
		  $node->psql('postgres',
			"SET ROLE $role; SELECT contention_probe.$function()");
		like($err, qr/permission denied/, "$role may not $function()");
	}
}

# Ten sessions at once: one attaches, the others find it done.
$node->safe_psql('postgres', 'CREATE TABLE said (word text)');
my @sessions = map { (session($node))[0] } 1 .. 10;
in_background($_, 'INSERT INTO said SELECT contention_probe.attach();')
  foreach @sessions;
$_->query('SELECT 1') foreach @sessions;
is( $node->safe_psql(
		'postgres',
		'SELECT word, count(*) FROM said GROUP BY word ORDER BY word'),
	"already attached|9\nattached|1",
	'one of ten has attached');
is(samplers($node), '1', 'one sampler');
$_->quit foreach @sessions;

# Who sees.
my ($rc, $out, $err) =
  $node->psql('postgres', 'SET ROLE plain; SELECT * FROM contention_probe.status');
like($err, qr/permission denied/, 'a plain user sees nothing');
is( $node->safe_psql(
		'postgres',
		'SET ROLE monitor; SELECT attached FROM contention_probe.status'),
	'attached',
	'a monitor sees it');

# The sampler is ended: it comes back, and readers do not wait.
my $sampler = sampler_pid($node);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($sampler)");
my $cost = cost_of(
	sub { $node->safe_psql('postgres', 'SELECT count(*) FROM contention_probe.profile') }
);
is_within($cost, 0, 5000, 'a reader does not wait for it');
eventually(
	$node,
	"SELECT sampler_pid <> $sampler FROM contention_probe.status",
	'the sampler is back');

# A rollback does not undo it; other databases see it too.
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION contention_probe');
is( $node->safe_psql('other', 'SELECT attached FROM contention_probe.status'),
	'attached', 'in another database');

# A process of the server is killed.
my ($victim, $victim_pid) = session($node);
kill 'KILL', $victim_pid;
until_true($node, 'SELECT true');
eventually($node, 'SELECT true', 'the server is back');
($rc, $out, $err) = $node->psql('postgres', 'SELECT * FROM contention_probe.status');
like($err, qr/must be loaded.*or attached/, 'not attached after a crash');
eventually(
	$node,
	q{SELECT count(*) = 0 FROM pg_stat_activity
	   WHERE backend_type = 'contention_probe sampler'},
	'no sampler');
is(attach($node), 'attached', 'attached again');
eventually($node, 'SELECT ticks > 2 FROM contention_probe.status',
	'sampling');
is(samplers($node), '1', 'one sampler');

# DROP EXTENSION detaches; a new CREATE EXTENSION attaches.
($rc, $out, $err) = $node->psql('other', 'DROP EXTENSION contention_probe');
like($err, qr/NOTICE:.*has been detached/, 'DROP EXTENSION says so');
is(samplers($node), '0', 'and detaches');
is(attach($node), 'attached', 'attach() after that');
$node->safe_psql('postgres', 'DROP EXTENSION contention_probe');
$node->safe_psql('postgres', 'CREATE EXTENSION contention_probe');
is(samplers($node), '0', 'dropped and made again: detached');
is(attach($node), 'attached', 'and attached');

# A standby.
$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;
my $lsn = $node->safe_psql('postgres', 'SELECT pg_current_wal_lsn()');
eventually($standby, "SELECT pg_last_wal_replay_lsn() >= '$lsn'::pg_lsn",
	'the standby has caught up');
is(attach($standby), 'attached', 'attached to a standby');
eventually(
	$standby,
	q{SELECT count(*) > 0 FROM contention_probe.profile
	   WHERE backend_type = 'startup'},
	'which is sampled');
is(detach($standby), 'detached', 'detached');
$standby->stop;

# A stop of the server while it is attached.
$node->stop('fast');
$node->start;
($rc, $out, $err) = $node->psql('postgres', 'SELECT * FROM contention_probe.status');
like($err, qr/must be loaded.*or attached/, 'not attached after a restart');

# Preloaded.
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'contention_probe'\n");
$node->restart;
($rc, $out, $err) = $node->psql('postgres', 'SELECT contention_probe.attach()');
is($out, 'preloaded', 'a server that has preloaded the library');
like($err, qr/preloaded already/, 'says so');
($rc, $out, $err) = $node->psql('postgres', 'SELECT contention_probe.detach()');
like($err, qr/preloaded and cannot be detached/, 'and is not detached');
is( $node->safe_psql(
		'postgres',
		'SELECT attached, instrument, hooked_processes = processes
		   FROM contention_probe.status'),
	'preloaded|waits|t',
	'its status');
$node->stop;

done_testing();
