# The tables of README.md and docs/reference.md are those of the catalog:
# views, columns, types, comments, functions, settings and their defaults.
#
# Breaks when something was added, renamed or given another default, and the
# documents were not brought up to date (tools/check-docs --fix does it).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use CprobeTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = start_cluster('docs');
my $tool = "$FindBin::RealBin/../tools/check-docs";

# psql is told where the server is by the environment; its messages belong to
# the log, not to the comparison.
local $ENV{PGHOST} = $node->host;
local $ENV{PGPORT} = $node->port;
local $ENV{PGDATABASE} = 'postgres';

my $differences = `$^X '$tool' 2>&1`;
my $status = $?;

is($differences, '', 'the documents say what the catalog says');
is($status, 0, 'and the tool agrees');

# The tool must see what it is there to see.
$node->safe_psql('postgres',
	'COMMENT ON COLUMN contention_probe.waits.waits IS NULL');
like(`$^X '$tool' 2>&1`, qr/column waits\.waits has no comment/,
	'a column without a comment is found');
isnt($?, 0, 'and is a failure');

$node->stop;
done_testing();
