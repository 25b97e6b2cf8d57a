# Without shared_preload_libraries and attach() the extension can be created and
# dropped, and every view answers with one error that says what to do.
#
# Breaks when a function reads shared memory that was never set up, or when the
# library, loaded too late, changes the running server.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = new_cluster('not_preloaded', preload => '');
$node->start;

# Names and calls of all views and functions of the extension.
my $members = q{
	SELECT CASE WHEN c.oid IS NOT NULL THEN 'TABLE ' || c.oid::regclass
	            ELSE format('SELECT %s(%s)', p.oid::regproc,
	                        (SELECT string_agg('NULL::' || t::regtype, ', ')
	                           FROM unnest(p.proargtypes) AS t)) END
	  FROM pg_depend AS d
	  JOIN pg_extension AS e ON e.oid = d.refobjid AND d.deptype = 'e'
	  LEFT JOIN pg_class AS c ON d.classid = 'pg_class'::regclass
	        AND c.oid = d.objid AND c.relkind = 'v'
	  LEFT JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass
	        AND p.oid = d.objid
	        AND (NOT p.proisstrict OR p.pronargs = 0)
	 WHERE e.extname = 'contention_probe'
	   AND (c.oid IS NOT NULL OR p.oid IS NOT NULL)
	   AND (p.oid IS NULL
	        OR p.proname NOT IN ('attach', 'detach', 'before_drop'))
	 ORDER BY 1};

sub check_errors
{
	my ($how) = @_;
	my @calls = split /\n/, $node->safe_psql('postgres', $members);
	my @silent;

	cmp_ok(scalar(@calls), '>', 18, "$how: there is much to call");
	foreach my $call (@calls)
	{
		my ($rc, $out, $err) = $node->psql('postgres',
			"\\set VERBOSITY verbose\n$call", on_error_stop => 1);

		push @silent, "$call: $err"
		  unless $rc == 3
		  && $err =~ /ERROR:  55000: contention_probe must be loaded/
		  && $err =~ /shared_preload_libraries/;
	}
	is(join("\n", @silent), '', "$how: each call says what is missing");
	return;
}

$node->safe_psql('postgres', 'CREATE EXTENSION contention_probe');
check_errors('without the library');
my ($rc, $out, $err) = $node->psql('postgres',
	'SELECT * FROM contention_probe.waits');
like($err, qr/^HINT:  .*shared_preload_libraries.*restart/mi,
	'the hint tells the setting and that it needs a restart');

# Loaded into a session, it leaves the server as it is.
foreach my $how ("LOAD 'contention_probe'; ", '')
{
	($rc, $out, $err) = $node->psql('postgres',
		"${how}SELECT count(*) FROM contention_probe.status");
	is($rc, 3, 'an error, and no crash');
}
$node->append_conf('postgresql.conf',
	"session_preload_libraries = 'contention_probe'");
$node->reload;
eventually($node,
	q{SELECT setting <> '' FROM pg_settings
	   WHERE name = 'session_preload_libraries'},
	'preloaded into sessions');
check_errors('preloaded into sessions');
is( $node->safe_psql(
		'postgres', q{SELECT count(*) > 10 FROM pg_settings
		WHERE name LIKE 'contention_probe.%' AND context <> 'postmaster'}),
	't',
	'its settings are there, and none asks for a restart');
is($node->safe_psql('postgres', q{SELECT pg_sleep(0.01); SELECT 'fine'}),
	"\nfine", 'sessions work');

$node->safe_psql('postgres', 'DROP EXTENSION contention_probe');
$node->safe_psql('postgres', 'CREATE EXTENSION contention_probe');
unlike(file_text($node->logfile), qr/terminated by signal/,
	'no process crashed');

# Preloaded, the same objects answer.
$node->append_conf('postgresql.conf', q{
session_preload_libraries = ''
shared_preload_libraries = 'contention_probe'});
$node->restart;
is( $node->safe_psql('postgres',
		'SELECT attached FROM contention_probe.status'),
	'preloaded',
	'after the restart that the hint asks for, they answer');

$node->stop;
done_testing();
