# CprobeTest.pm: what the TAP tests of contention_probe share: clusters,
# sessions, the numbers of a wait event, and waiting for a condition.
#
# Only functions that PostgreSQL::Test::Cluster has in every major from 15 on
# are used here.

package CprobeTest;

use strict;
use warnings;

use Carp;
use Exporter 'import';
use IPC::Run ();
use Time::HiRes qw(sleep time);

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(
  new_cluster start_cluster session in_background eventually until_true
  wait_numbers query_id cost_of one_row is_within file_text sampler_pid
  run_pgbench start_pgbench stop_program
);

# Seconds after which a condition that should come true is given up.
our $DEADLINE = 60;

# A cluster with the library preloaded, not started.  Options: conf (lines for
# postgresql.conf), preload (list of libraries), streaming.
sub new_cluster
{
	my ($name, %options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my $preload = $options{preload} // 'contention_probe';

	$node->init(allows_streaming => $options{streaming} // 0);

	# Counts are compared, so nothing runs by itself; jit could spend more
	# time on a test's plan than the waits take.
	$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = '$preload'
shared_buffers = 8MB
max_connections = 50
autovacuum = off
jit = off
max_logical_replication_workers = 0
compute_query_id = auto
CONF
	$node->append_conf('postgresql.conf', $options{conf})
	  if defined $options{conf};
	return $node;
}

# The same, started and with the extension.
sub start_cluster
{
	my ($name, %options) = @_;
	my $node = new_cluster($name, %options);

	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION contention_probe');
	return $node;
}

# A psql that stays connected: (session, pid of its backend).
sub session
{
	my ($node, %options) = @_;
	my $psql = $node->background_psql($options{database} // 'postgres',
		on_error_stop => 0, %{ $options{psql} // {} });
	my $pid = $psql->query_safe('SELECT pg_backend_pid()');

	return ($psql, $pid);
}

# Let a session run a statement, and go on at once.  What it prints stands
# before the result of the session's next query.
sub in_background
{
	my ($psql, $sql) = @_;

	$psql->query_until(qr/begun/, "\\echo begun\n$sql\n");
	return;
}

# True as soon as the query says t; false after the deadline.
sub until_true
{
	my ($node, $sql, %options) = @_;
	my $deadline = time() + ($options{seconds} // $DEADLINE);

	while (time() < $deadline)
	{
		my ($rc, $out) = $node->psql('postgres', $sql);

		return 1 if $rc == 0 && $out eq 't';
		sleep 0.02;
	}
	return 0;
}

# The same as a test.
sub eventually
{
	my ($node, $sql, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return ok(until_true($node, $sql), $name);
}

# Waits and their time in ms that a view shows for an event, under a further
# condition.  Spelling of events changed with the majors, in case only.
sub wait_numbers
{
	my ($node, $view, $event, $condition) = @_;
	my ($class, $name) = split m{/}, $event;

	$condition //= 'true';
	my $row = $node->safe_psql(
		'postgres', qq{
		SELECT coalesce(sum(waits), 0), coalesce(sum(wait_time), 0)
		  FROM contention_probe.$view
		 WHERE wait_event_type = '$class'
		   AND lower(wait_event) = lower('$name') AND $condition});

	return split /\|/, $row;
}

# Query id of a statement that EXPLAIN takes.
sub query_id
{
	my ($node, $sql, $database) = @_;
	my $plan = $node->safe_psql($database // 'postgres',
		"EXPLAIN (VERBOSE, COSTS OFF) $sql");

	$plan =~ /^Query Identifier: (-?\d+)$/m
	  or croak "no query id in the plan of: $sql";
	return $1;
}

# Run something, and tell how long it took, in ms.
sub cost_of
{
	my ($code) = @_;
	my $begun = time();

	$code->();
	return (time() - $begun) * 1000;
}

# Fields of the one row of a query.
sub one_row
{
	my ($node, $sql) = @_;

	return split /\|/, $node->safe_psql('postgres', $sql), -1;
}

sub is_within
{
	my ($got, $low, $high, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return ok($got >= $low && $got <= $high, $name)
	  || diag("got $got, want $low to $high");
}

sub file_text
{
	my ($path) = @_;

	return PostgreSQL::Test::Utils::slurp_file($path);
}

# Process id of the sampler, 0 while there is none.
sub sampler_pid
{
	my ($node) = @_;

	return $node->safe_psql('postgres',
		'SELECT coalesce(sampler_pid, 0) FROM contention_probe.status');
}

sub pgbench_command
{
	my ($node, @arguments) = @_;

	return (
		$node->installed_command('pgbench'),
		'-h', $node->host, '-p', $node->port, '-n', @arguments, 'postgres');
}

# Run pgbench to its end; true when it had no error.
sub run_pgbench
{
	my ($node, @arguments) = @_;
	my ($out, $err) = ('', '');
	local $ENV{PGAPPNAME} = 'pgbench';
	my $ok = IPC::Run::run([ pgbench_command($node, @arguments) ],
		'<', \undef, '>', \$out, '2>', \$err);

	diag("pgbench @arguments: $err") unless $ok;
	return $ok;
}

# Start pgbench; stop_program ends it.
sub start_pgbench
{
	my ($node, @arguments) = @_;
	my $output = '';

	local $ENV{PGAPPNAME} = 'pgbench';
	return IPC::Run::start([ pgbench_command($node, @arguments) ],
		'<', \undef, '>', \$output, '2>', \$output);
}

sub stop_program
{
	my ($program) = @_;

	$program->signal('TERM') if $program->pumpable;
	$program->finish;
	return;
}

1;
