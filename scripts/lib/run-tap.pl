#!/usr/bin/perl
#
# run-tap.pl: run TAP programs one after another and record their results.
#
#   run-tap.pl STAGE SECONDS RESULTS PROGRAM...
#
# Like prove, but every assertion is counted into the file RESULTS (format: see
# result.sh), and a program that hangs is ended after SECONDS.  A program that
# dies, breaks its plan or has none, without a failed assertion, counts as one
# failure.
# Exit code 1 when anything failed.

use strict;
use warnings;

use TAP::Harness;

my ($stage, $seconds, $results, @programs) = @ARGV;
die "usage: $0 STAGE SECONDS RESULTS PROGRAM...\n" unless @programs;

my $harness = TAP::Harness->new(
	{
		failures => 1,
		timer => 1,
		exec => sub {
			my $program = $_[1];
			my @interpreter = $program =~ /\.pl$/ ? ($^X) : ();

			# SIGTERM first: PostgreSQL::Test::Cluster then stops its servers.
			return [
				'timeout', '--kill-after=30', $seconds, @interpreter,
				$program
			];
		},
	});
my $aggregate = $harness->runtests(@programs);
my $bad = 0;

open my $fh, '>>', $results or die "could not open $results: $!\n";
foreach my $program (@programs)
{
	my ($parser) = $aggregate->parsers($program);
	my $failed = scalar $parser->failed;
	my $skipped = scalar $parser->skipped;
	my $passed = scalar($parser->passed) - $skipped;
	(my $name = $program) =~ s{^.*/}{};

	if ($parser->has_problems)
	{
		$failed ||= 1;
	}
	elsif ($parser->skip_all && $parser->skip_all ne '(no reason given)')
	{
		$skipped = 1;
		print "  skipped $name: ", $parser->skip_all, "\n";
	}
	elsif ($passed + $skipped == 0)
	{
		$failed = 1;
	}
	$bad ||= $failed;
	print $fh join("\t", $stage, $passed, $failed, $skipped, $name), "\n";
}
close $fh or die "could not write $results: $!\n";
exit($bad ? 1 : 0);
