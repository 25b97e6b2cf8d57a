# Where a container forbids move_pages, get_mempolicy and perf_event_open, the
# views say so in a column: no error, nothing in the log, and everything else
# works.
#
# Breaks when a refusal becomes an error, or is logged at each look.
#
# The filter is this program's own, set before the server starts, which
# inherits it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use Config;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Numbers of x86-64.
my %call = (
	prctl => 157,
	get_mempolicy => 239,
	move_pages => 279,
	perf_event_open => 298);

# Have the kernel answer EPERM to some calls, as container runtimes do.
sub forbid
{
	my @numbers = @_;
	my @filter = (pack('S C C L', 0x20, 0, 0, 0));    # load the call's number

	while (defined(my $number = shift @numbers))
	{
		# If it is this one go to the end, else on.
		push @filter, pack('S C C L', 0x15, @numbers + 1, 0, $number);
	}
	push @filter, pack('S C C L', 0x06, 0, 0, 0x7fff0000);    # allow
	push @filter, pack('S C C L', 0x06, 0, 0, 0x00050001);    # EPERM
	my $code = join '', @filter;
	my $program = pack('S x6 P', scalar @filter, $code);

	return syscall($call{prctl}, 38, 1, 0, 0, 0) == 0
	  && syscall($call{prctl}, 22, 2, $program) == 0;
}

plan skip_all => 'the numbers of system calls are those of x86-64'
  unless $Config{archname} =~ /^x86_64/;
plan skip_all => "no filter can be set here: $!"
  unless forbid(@call{qw(get_mempolicy move_pages perf_event_open)});

my $node = start_cluster('refused',
	conf => "contention_probe.numa_interval = 10ms\n");

eventually($node, 'SELECT count(DISTINCT measured_at) = 1 AND
	max(measured_at) > pg_postmaster_start_time() + interval \'1 s\'
	FROM contention_probe.numa_memory', 'the sampler looks again and again');
is( $node->safe_psql(
		'postgres', "
		SELECT DISTINCT reason, method, node FROM contention_probe.numa_memory"
	),
	'move_pages is refused: Operation not permitted||',
	'numa_memory says why it knows nothing');
cmp_ok(
	$node->safe_psql('postgres',
		'SELECT count(*) FROM contention_probe.numa_memory'),
	'>', 30, 'and still names the areas');
is( $node->safe_psql(
		'postgres', "SELECT value, reason FROM contention_probe.machine_summary
		  WHERE metric = 'memory_placement'"),
	'|move_pages is refused: Operation not permitted',
	'so does the summary');
is( $node->safe_psql('postgres',
		'SELECT count(home_node) FROM contention_probe.lwlocks'),
	0,
	'no lock has a home that is known');
cmp_ok(
	$node->safe_psql('postgres',
		'SELECT count(*) FROM contention_probe.numa_nodes WHERE reason IS NULL'),
	'>=', 1, 'nodes are known all the same');
my $reasons = $node->safe_psql(
	'postgres', "SET contention_probe.perf_events = 'hardware';
	SELECT 1;
	SELECT reason FROM contention_probe.perf_counters
	 WHERE pid = pg_backend_pid()");
foreach my $counter (qw(task_clock page_faults cycles node_load_misses))
{
	like($reasons, qr/\b$counter\b/, "$counter has a reason");
}
like(
	$node->safe_psql('postgres',
		'SELECT stack, samples, reason FROM contention_probe.cpu_profile(5)'),
	qr/^\|\|not permitted/, 'a profile is one row that says why it is none');
unlike(
	slurp_file($node->logfile),
	qr/WARNING|ERROR|not permitted/,
	'nothing of it is in the log');

done_testing();
