# The server's table of calls is as protected after its entries were replaced
# as before, and where it cannot be replaced the server starts all the same.
#
# Breaks when a page stays writable, when code becomes writable, or when a
# refusal is taken for success or for a reason not to start.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'no /proc/PID/maps here' unless -r '/proc/self/maps';

my $node = new_cluster('protected',
	conf => "contention_probe.instrument = none\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION contention_probe');

# Protection of each page of the server's own file, by its distance from the
# first, in a process.
sub protection
{
	my ($pid) = @_;
	my (%pages, $start);

	foreach my $line (split /\n/, file_text("/proc/$pid/maps"))
	{
		next
		  unless $line =~
		  m{^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+\s+\S*/bin/postgres$};
		my ($from, $to, $rights) = (hex $1, hex $2, $3);
		$start //= $from;
		for (my $page = $from; $page < $to; $page += 4096)
		{
			$pages{ $page - $start } = $rights;
		}
	}
	return \%pages;
}

sub backend_protection
{
	my ($session, $pid) = session($node);
	my $pages = protection($pid);

	$session->quit;
	return $pages;
}

sub postmaster_pid
{
	return (split /\n/, file_text($node->data_dir . '/postmaster.pid'))[0];
}

my $untouched = protection(postmaster_pid());
cmp_ok(scalar(keys %$untouched), '>', 100, 'the mappings can be read');

sub hook_states
{
	return $node->safe_psql(
		'postgres', q{
		SELECT string_agg(DISTINCT state, ',' ORDER BY state)
		  FROM contention_probe.hooks WHERE mechanism = 'got'});
}

# 1. Replaced.
$node->append_conf('postgresql.conf', "contention_probe.instrument = waits");
$node->restart;
like(hook_states(), qr/^active/, 'the table is replaced');
my $hooked = protection(postmaster_pid());
is_deeply($hooked, $untouched,
	'each page of the server is as protected as without hooks');
is_deeply(backend_protection(), $untouched, 'in its children as well');
is(scalar(grep { /w.*x/ } values %$hooked),
	0, 'no page is writable and executable');
unlike(file_text('/proc/' . postmaster_pid() . '/maps'),
	qr/ \Srwxp|^\S+ .wx/m, 'nor any other page of the postmaster');
$node->stop;

# 2. Refused.  A shim stands before mprotect, as a security policy would.
my $directory = "$PostgreSQL::Test::Utils::tmp_check/shim";
my $built = -d $directory || mkdir $directory;
append_to_file(
	"$directory/shim.c", <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* CPROBE_DENY: "open", pages may not become writable; "close", not cease to. */
int
mprotect(void *address, size_t bytes, int rights)
{
	int			(*original) (void *, size_t, int);
	const char *deny = getenv("CPROBE_DENY");
	int			opens = (rights & PROT_WRITE) != 0;

	original = (int (*) (void *, size_t, int)) dlsym(RTLD_NEXT, "mprotect");
	if (deny != NULL && opens == (strcmp(deny, "open") == 0))
	{
		errno = EPERM;
		return -1;
	}
	return original(address, bytes, rights);
}
C
my $compiler = $ENV{CC} // 'cc';
$built &&= system("$compiler -shared -fPIC -o $directory/shim.so "
	  . "$directory/shim.c -ldl 2>/dev/null") == 0;

SKIP:
{
	skip 'no C compiler to build the shim that refuses mprotect', 1
	  unless $built;

	foreach my $deny (qw(open close))
	{
		local $ENV{LD_PRELOAD} = "$directory/shim.so";
		local $ENV{CPROBE_DENY} = $deny;
		ok($node->start(fail_ok => 1),
			"mprotect refused to $deny: the server starts");
		delete local $ENV{LD_PRELOAD};

		like(hook_states(), qr/^(missing,)?refused$/,
			"$deny: no entry is replaced");
		is( $node->safe_psql(
				'postgres', q{
				SELECT count(*) FROM contention_probe.hooks
				 WHERE state = 'refused'
				   AND reason !~ 'mprotect: Operation not permitted'}),
			0,
			"$deny: the reason is told");
		my ($session) = session($node);
		$session->query_safe('SELECT pg_sleep(0.01)');
		is( $node->safe_psql('postgres',
				'SELECT count(*) FROM contention_probe.waits'),
			0,
			"$deny: nothing is measured by halves");
		eventually(
			$node,
			q{SELECT sampler_pid IS NOT NULL AND ticks > 0
			    FROM contention_probe.status},
			"$deny: the sampler works");
		is_deeply(protection(postmaster_pid()), $untouched,
			"$deny: the pages are as protected as before")
		  if $deny eq 'open';
		$session->quit;
		$node->stop;
	}
}

# Without the shim all is well again.
$node->start;
like(hook_states(), qr/^active/, 'without a refusal the table is replaced');
$node->stop;
done_testing();
