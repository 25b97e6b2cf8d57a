# With the hooks on code in place the server starts and stops fifty times,
# comes back after twenty crashes under load, and stands a debugger with a
# breakpoint on a hooked function.  Each time the hooks are set, and count.
#
# Breaks when code is patched twice, or on top of itself, when a trampoline is
# lost in a new postmaster's life, or when shared counters of before a crash
# are trusted.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_cluster('full', conf => <<'CONF');
contention_probe.instrument = full
restart_after_crash = on
shared_buffers = 2MB
max_wal_size = 64MB
CONF

if ($node->safe_psql('postgres',
		'SELECT instrument_reason FROM contention_probe.status') =~ /architecture/)
{
	$node->stop;
	plan skip_all => 'there are no hooks on code on this architecture';
}
$node->safe_psql('postgres', 'CREATE TABLE hot (id int PRIMARY KEY, n int);
	INSERT INTO hot VALUES (1, 0)');

# Detours that are set, and whether acquisitions are counted.
sub state_of_hooks
{
	return $node->safe_psql('postgres', q{
		SELECT count(*), bool_and(state = 'active'),
		       (SELECT sum(shared_acquires + exclusive_acquires) > 100
		          FROM contention_probe.lwlock_tranches)
		  FROM contention_probe.hooks WHERE mechanism = 'detour'});
}

# 1. Restarts.
my $first = state_of_hooks();
like($first, qr/^\d\d\|t\|t$/, 'the hooks on code are set, and count');
my %seen;
foreach my $round (1 .. 50)
{
	$node->stop($round % 2 == 0 ? 'fast' : 'immediate');
	$node->start;
	$seen{ state_of_hooks() }++;
}
is_deeply(\%seen, { $first => 50 }, 'so they are after each of 50 restarts');

# 2. Crashes in the middle of work.
my $script = "$PostgreSQL::Test::Utils::tmp_check/full_hot.sql";
append_to_file($script, "UPDATE hot SET n = n + 1 WHERE id = 1;\n");
%seen = ();
foreach my $round (1 .. 20)
{
	my $load = start_pgbench($node, '-c', 4, '-T', 60, '-f', $script);

	last
	  unless until_true($node,
		"SELECT count(*) = 4 FROM pg_stat_activity
		  WHERE application_name = 'pgbench'");
	my ($since, $victim) = one_row($node, q{
		SELECT stats_since, (SELECT max(pid) FROM pg_stat_activity
		                      WHERE application_name = 'pgbench')
		  FROM contention_probe.status});
	kill 'KILL', $victim;
	stop_program($load);
	last
	  unless until_true($node,
		"SELECT stats_since > '$since' FROM contention_probe.status");
	$seen{ state_of_hooks() }++;
}
is_deeply(\%seen, { $first => 20 }, 'and after each of 20 crashes');

# 3. A breakpoint on a hooked function, hit in the middle of statements.
SKIP:
{
	skip 'there is no gdb here', 3 unless grep { -x "$_/gdb" } split /:/, $ENV{PATH};

	my ($session, $pid) = session($node);
	my $log = "$PostgreSQL::Test::Utils::tmp_check/gdb.log";
	my $commands = "$PostgreSQL::Test::Utils::tmp_check/gdb.commands";
	append_to_file($commands, <<'GDB');
set pagination off
handle SIGUSR1 SIGALRM nostop noprint pass
break LWLockAcquire
ignore 1 1000000
echo attached\n
continue
info breakpoints
delete
detach
quit
GDB
	my $gdb = fork // die "no process: $!";
	if ($gdb == 0)
	{
		open STDOUT, '>', $log;
		open STDERR, '>&', \*STDOUT;
		open STDIN, '<', '/dev/null';
		exec 'gdb', '-nx', '-q', '-batch', '-p', $pid, '-x', $commands;
	}
	my $there = 0;
	foreach (1 .. 600)
	{
		last if $there = (-s $log && slurp_file($log) =~ /^attached$/m);
		select undef, undef, undef, 0.1;
	}
  SKIP:
	{
		if (!$there || slurp_file($log) =~ /ptrace: Operation not permitted/)
		{
			kill 'KILL', $gdb;
			waitpid $gdb, 0;
			skip 'gdb may not attach here', 3;
		}
		my $sum = 0;
		$sum += $session->query_safe(
			"UPDATE hot SET n = $_ WHERE id = 1 RETURNING 1")
		  for 1 .. 20;
		kill 'INT', $pid;    # gdb sees it first, and stops
		waitpid $gdb, 0;
		is($sum, 20, 'statements run under a breakpoint on LWLockAcquire');
		like(slurp_file($log), qr/breakpoint already hit \d{2,} times/,
			'which was hit');
		is($session->query_safe('SELECT n FROM hot'),
			20, 'and without it when gdb is gone');
	}
	$session->quit;
}
is(state_of_hooks(), $first, 'the hooks are what they were');
$node->stop;
my @crashes = slurp_file($node->logfile) =~ /was terminated by signal (?!9:)/g;
is(scalar @crashes, 0, 'nothing died but what was killed');

done_testing();
