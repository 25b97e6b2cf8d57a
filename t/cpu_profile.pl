# cpu_profile() shows where the server's processes spend their CPU time: the
# function that burns it, the way there from main, and as much as the kernel
# says.  It is for superusers, can be cancelled, and leaves nothing behind.
#
# Breaks when a ring is read wrongly, an address is taken for that of another
# library, a process that starts meanwhile is not seen, or a ring outlives the
# query.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeLocks;
use CprobeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_testkit('profile');
my ($profiler, $profiler_pid) = session($node);
my ($burner, $burner_pid) = session($node);

my ($refusal) = $node->safe_psql('postgres',
	'SELECT reason FROM contention_probe.cpu_profile(0.01) WHERE stack IS NULL');

sub cpu_ms
{
	my ($pid) = @_;

	return (split ' ', slurp_file("/proc/$pid/schedstat"))[0] / 1e6;
}

# Rings of a process that are mapped, and descriptors that are open.
sub left_over
{
	my ($pid) = @_;
	my $rings = () = slurp_file("/proc/$pid/maps") =~ /perf_event/g;
	my $descriptors =
	  grep { (readlink($_) // '') =~ /perf_event/ } glob "/proc/$pid/fd/*";

	return "$rings $descriptors";
}

# 1. Bad input, and who may.  Even one who was granted the function is refused.
foreach my $arguments (
	"0, 99", "-1, 99", "'NaN', 99", "'inf', 99",
	"3601, 99", "1, 0", "1, -5", "1, 10001")
{
	my ($rc, $out, $err) = $node->psql('postgres',
		"SELECT * FROM contention_probe.cpu_profile($arguments)");

	like($err, qr/(seconds|frequency) must be/, "($arguments) is refused");
}
is($node->safe_psql('postgres',
		'SELECT count(*) FROM contention_probe.cpu_profile(NULL)'),
	0, 'of nothing comes nothing');
$node->safe_psql('postgres', q{
	CREATE ROLE monitor LOGIN IN ROLE pg_monitor;
	CREATE ROLE granted LOGIN;
	GRANT USAGE ON SCHEMA contention_probe TO granted;
	GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA contention_probe TO granted});
foreach my $role (qw(monitor granted))
{
	my ($rc, $out, $err) = $node->psql('postgres',
		'SELECT * FROM contention_probe.cpu_profile(0.1)',
		extra_params => [ '-U', $role ]);

	like($err, qr/permission denied|must be superuser/, "$role may not");
}

SKIP:
{
	skip "nothing can be sampled here: $refusal"
	  if defined $refusal && $refusal =~ /not permitted|no perf events/;

	# 2. One that burns, for longer than is looked, all in user mode.
	in_background($burner,
		"SELECT tk_burn(4000);");
	until_true($node, "SELECT state = 'active' FROM pg_stat_activity
		WHERE pid = $burner_pid");
	my $before = cpu_ms($burner_pid);
	$profiler->query_safe('CREATE TEMP TABLE found AS
		SELECT * FROM contention_probe.cpu_profile(2, 250)');
	my $burnt = cpu_ms($burner_pid) - $before;
	my ($sampled) = $profiler->query_safe(q{
		SELECT sum(cpu_time) FROM found WHERE stack ~ 'testkit_burn_cpu$'});

	is_within($sampled, 0.8 * $burnt, 1.02 * $burnt,
		'its CPU time is what the kernel says');
	my ($top) = $profiler->query_safe(
		'SELECT backend_type, stack FROM found
		  WHERE stack IS NOT NULL ORDER BY samples DESC LIMIT 1');
	like($top, qr/^client backend\|main;PostmasterMain;/,
		'it is the first, and begins with main');
	like($top,
		qr/;PostgresMain;.*;PortalRun;.*ExecutorRun;.*;testkit_burn_cpu\|?$/,
		'and leads over the executor to the function');
	is($profiler->query_safe('SELECT round(sum(share)::numeric, 6) FROM found'),
		'1.000000', 'shares add up to one');
	is($profiler->query_safe(
			'SELECT count(*) FROM found WHERE stack IS NULL AND reason IS NULL'),
		0, 'what has no stack has a reason');
	is($profiler->query_safe(q{SELECT count(*) FROM found
			WHERE reason ~ 'lost|could not|no memory'}), 0, 'nothing is lost');
	is(left_over($profiler_pid), '0 0', 'no ring and no descriptor is left');
	$burner->query_safe('SELECT 1');

	# 3. One that comes and goes while it is looked.
	in_background($profiler, 'CREATE TEMP TABLE later AS
		SELECT * FROM contention_probe.cpu_profile(3, 250);');
	until_true($node, "SELECT wait_event_type = 'Extension'
		FROM pg_stat_activity WHERE pid = $profiler_pid");
	my ($child) = session($node);
	my $child_ms = $child->query_safe('SELECT tk_burn(800)');
	$child->quit;
	$profiler->query_safe('SELECT 1');
	is_within(
		$profiler->query_safe(
			q{SELECT coalesce(sum(cpu_time), 0) FROM later
			   WHERE stack ~ 'testkit_burn_cpu$'}),
		0.7 * $child_ms, 1.02 * $child_ms,
		'a process that came and went is there with its time');

	# 4. Cancelled.
	my ($rc, $out, $err) = $node->psql('postgres', q{
		SET statement_timeout = 300;
		SELECT count(*) FROM contention_probe.cpu_profile(60)});
	like($err, qr/statement timeout/, 'it can be cancelled');
	$profiler->query_safe("SET statement_timeout = 300");
	$profiler->query_safe(q{
		DO $$ BEGIN
			PERFORM contention_probe.cpu_profile(60);
		EXCEPTION WHEN query_canceled THEN
			CREATE TEMP TABLE cancelled ();
		END $$});
	is($profiler->query_safe("SELECT to_regclass('cancelled')"),
		'cancelled', 'in a block that goes on');
	is(left_over($profiler_pid), '0 0', 'and leaves nothing behind');
}

foreach my $psql ($profiler, $burner)
{
	$psql->quit;
}
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal/,
	'and nothing broke');
done_testing();
