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
  start_testkit
);

# A started cluster with the product, the testkit and pg_stat_statements, whose
# named tranche is one of another extension.
sub start_testkit
{
	my ($name, %options) = @_;
	my $preload = join ',', qw(contention_probe contention_probe_testkit),
	  @{ $options{preload} // [] };
	my $node = start_cluster($name, %options, preload => $preload);

	$node->safe_psql('postgres', 'CREATE EXTENSION contention_probe_testkit');
	return $node;
}

1;
