# After a backend or the sampler is killed with SIGKILL, or the server stopped
# in the middle of its work, the server comes back and the extension measures
# again.
#
# Breaks when shared state of before the crash is trusted after it, when the
# hooks or the sampler do not come back, or when either delays the shutdown.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster(
	'crashing', conf => q{
	restart_after_crash = on
	shared_buffers = 2MB
	max_wal_size = 64MB
	log_statement = none
});
$node->safe_psql('postgres',
	'CREATE TABLE hot (id int PRIMARY KEY, n int);
	 INSERT INTO hot VALUES (1, 0)');

my $script = "$PostgreSQL::Test::Utils::tmp_check/hot.sql";
append_to_file($script,
	"UPDATE hot SET n = n + 1 WHERE id = 1;\nSELECT pg_sleep(0.001);\n");

my ($recovered, $measures, $samples, $fresh) = (0, 0, 0, 0);
foreach my $round (1 .. 20)
{
	my $load = start_pgbench($node, '-c', 4, '-T', 60, '-f', $script);

	last
	  unless until_true($node,
		q{SELECT count(*) = 4 FROM contention_probe.backends
		   WHERE backend_type = 'client backend'
		     AND pid <> pg_backend_pid()});
	my ($since, $victim) = one_row(
		$node, q{
		SELECT stats_since, (SELECT max(pid) FROM pg_stat_activity
		                      WHERE application_name = 'pgbench')
		  FROM contention_probe.status});

	# Now and then it is the sampler.
	$victim = sampler_pid($node) if $round % 5 == 0;
	kill 'KILL', $victim;
	stop_program($load);

	last
	  unless until_true($node,
		"SELECT stats_since > '$since' FROM contention_probe.status");
	$recovered++;
	$fresh += $node->safe_psql('postgres',
		q{SELECT count(*) FROM contention_probe.waits
		   WHERE wait_event = 'PgSleep'}) == 0;
	$node->safe_psql('postgres', 'SELECT pg_sleep(0.01)');
	$measures += (wait_numbers($node, 'waits', 'Timeout/PgSleep'))[0];
	$samples += until_true($node,
		q{SELECT sampler_pid IS NOT NULL AND ticks > 0
		    FROM contention_probe.status});
}
is($recovered, 20, 'the server came back twenty times');
is($fresh, 20, 'each time with new statistics');
is($measures, 20, 'each time waits are measured');
is($samples, 20, 'each time the sampler is back');
is( $node->safe_psql('postgres',
		q{SELECT count(*) FROM contention_probe.hooks
		   WHERE state = 'active' AND mechanism = 'got'}) > 5,
	1,
	'the hooks are still there');
ok(-s $node->logfile, 'the server has a log');
unlike(file_text($node->logfile), qr/TRAP:|terminated by signal (6|11)\b/,
	'no process crashed by itself');

# Under load, an immediate and a fast shutdown end at once; then all is well.
foreach my $mode (qw(immediate fast))
{
	my $load = start_pgbench($node, '-c', 4, '-T', 60, '-f', $script);

	until_true($node,
		q{SELECT count(*) = 4 FROM contention_probe.backends
		   WHERE backend_type = 'client backend'
		     AND pid <> pg_backend_pid()});
	my $cost = cost_of(sub { $node->stop($mode) });

	# The postmaster kills after five seconds what does not obey.
	cmp_ok($cost, '<', 4500, "$mode shutdown under load ends at once");
	stop_program($load);
	$node->start;
	eventually($node,
		q{SELECT sampler_pid IS NOT NULL AND ticks > 0
		    FROM contention_probe.status},
		"after $mode shutdown the sampler is back");
	$node->safe_psql('postgres', 'SELECT pg_sleep(0.01)');
	is((wait_numbers($node, 'waits', 'Timeout/PgSleep'))[0],
		1, 'and waits are measured');
}

$node->stop;
done_testing();
