# CprobeLocks.pm: what the tests of locks share: a cluster with the testkit,
# which makes contention with a known answer, and sessions that hold a lock
# and wait for it.

package CprobeLocks;

use strict;
use warnings;

use Exporter 'import';

use CprobeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(
  start_testkit major hold_sql wait_sql holder_query waiter_query
  begin_wait end_wait contend lock_numbers reset_all
);

# A started cluster with the product and the testkit.  Options as of
# CprobeTest::new_cluster; preload: a list of further libraries.
sub start_testkit
{
	my ($name, %options) = @_;
	my $preload = join ',', qw(contention_probe contention_probe_testkit),
	  @{ $options{preload} // [] };
	my $node = start_cluster($name, %options, preload => $preload);

	$node->safe_psql('postgres', 'CREATE EXTENSION contention_probe_testkit');
	return $node;
}

sub major
{
	my ($node) = @_;

	return $node->safe_psql('postgres',
		q{SELECT current_setting('server_version_num')::int / 10000});
}

sub reset_all
{
	my ($node) = @_;

	$node->safe_psql('postgres', 'SELECT contention_probe.reset()');
	return;
}

# The statements of a holder and of a waiter: always of the same shape, so
# that all holders have one query id, and all waiters another.
sub hold_sql
{
	my ($lock, $mode, $ms, $pastime) = @_;

	$pastime //= 'sleep';
	return "SELECT tk_hold('$lock', '$mode', $ms, '$pastime')";
}

sub wait_sql
{
	my ($lock, $mode, $once_held) = @_;

	$once_held //= 'true';
	return "SELECT tk_wait_on('$lock', '$mode', $once_held)";
}

sub holder_query
{
	my ($node) = @_;

	return query_id($node, hold_sql('ProcArray', 'exclusive', 1));
}

sub waiter_query
{
	my ($node) = @_;

	return query_id($node, wait_sql('ProcArray', 'exclusive'));
}

# Let a session wait for a lock as soon as somebody holds it.  The statement
# runs when this returns, so that what it needs itself is not held yet.
sub begin_wait
{
	my ($node, $waiter, $lock, $mode) = @_;
	my ($psql, $pid) = @$waiter;

	in_background($psql, wait_sql($lock, $mode) . ';');
	until_true($node,
		"SELECT state = 'active' AND query ~ 'tk_wait_on'
		   FROM pg_stat_activity WHERE pid = $pid");
	return;
}

# How long it took, in ms, as the session saw it.
sub end_wait
{
	my ($waiter) = @_;
	my ($waited) = split /\n/, $waiter->[0]->query_safe('SELECT 0');

	return $waited;
}

# One holder and some waiters: (ms held, ms that each waiter waited).
sub contend
{
	my ($node, $holder, $waiters, %contention) = @_;
	my $lock = $contention{lock};

	begin_wait($node, $_, $lock, $contention{wait} // 'exclusive')
	  foreach @$waiters;
	my $held = $holder->[0]->query_safe(
		hold_sql($lock, $contention{hold} // 'exclusive', $contention{ms}));
	return ($held, map { end_wait($_) } @$waiters);
}

# What lwlocks says of a lock: a hash, of zeroes if it has no row.
sub lock_numbers
{
	my ($node, $lock) = @_;
	my @columns = qw(waits wait_time shared_waits exclusive_waits
	  until_free_waits queue_time wakeup_time max_time proven_waits
	  inferred_waits exclusive_util shared_util queue_length);
	my %numbers;

	@numbers{@columns} = split /\|/,
	  $node->safe_psql(
		'postgres', 'SELECT ' . join(', ', map { "coalesce(sum($_), 0)" } @columns)
		  . " FROM contention_probe.lwlocks WHERE lock = '$lock'");
	return %numbers;
}

1;
