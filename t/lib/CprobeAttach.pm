# CprobeAttach.pm: what the tests of attach() share: clusters that have not
# preloaded the library, and what an attachment could leave behind.

package CprobeAttach;

use strict;
use warnings;

use Exporter 'import';

use CprobeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(
  start_unloaded attach detach samplers segments mapping_count server_log
  server_major
);

# A started cluster without the library, but with the extension.  Options as
# for new_cluster; testkit => 1 preloads the testkit.
sub start_unloaded
{
	my ($name, %options) = @_;
	my $kit = delete $options{testkit};
	my $node = new_cluster($name, %options,
		preload => $kit ? 'contention_probe_testkit' : '');

	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION contention_probe');
	$node->safe_psql('postgres', 'CREATE EXTENSION contention_probe_testkit')
	  if $kit;
	return $node;
}

sub attach
{
	my ($node) = @_;

	return $node->safe_psql('postgres', 'SELECT contention_probe.attach()');
}

sub detach
{
	my ($node) = @_;

	return $node->safe_psql('postgres', 'SELECT contention_probe.detach()');
}

# Samplers that the server knows.
sub samplers
{
	my ($node) = @_;

	return $node->safe_psql('postgres',
		q{SELECT count(*) FROM pg_stat_activity
		   WHERE backend_type = 'contention_probe sampler'});
}

# Memory that a process of the server has mapped from segments that other
# processes can map too, in number of mappings.
sub mapping_count
{
	my ($pid) = @_;

	return
	  scalar grep { m{/dev/shm/PostgreSQL\.|/SYSV|/pg_dynshmem/mmap\.} }
	  split /\n/, file_text("/proc/$pid/maps");
}

# Segments of dynamic shared memory of this server in /dev/shm: the postmaster
# gives them names that it alone uses, so they are told by who has them mapped
# or, as here, by being there before and after.
sub segments
{
	my @found = glob '/dev/shm/PostgreSQL.*';

	return scalar @found;
}

sub server_major
{
	my ($node) = @_;

	return $node->safe_psql('postgres',
		"SELECT current_setting('server_version_num')::int / 10000");
}

sub server_log
{
	my ($node) = @_;

	return file_text($node->logfile);
}

1;
