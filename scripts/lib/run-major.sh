#!/bin/bash
#
# run-major.sh TREE WORK STAGES MAJOR ELAPSED: build and test the tree with a PostgreSQL
# that is installed here, on this machine or in a chroot.
#
# Started by scripts/test in namespaces of its own, see isolate.sh; everything
# it makes is below WORK, and the results are in WORK/results.  STAGES is a
# list with commas, of build, unit, regress, tap, numa; ELAPSED the seconds since
# scripts/test started.
#
# shellcheck disable=SC2034 # variables that only the parts use
set -euo pipefail

CPROBE_TREE=$1
CPROBE_WORK=$2
CPROBE_STAGES=$3
CPROBE_MAJOR=$4
CPROBE_ELAPSED=$5
CPROBE_RESULTS=$CPROBE_WORK/results
CPROBE_LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

for part in common result packages server build suites; do
	# shellcheck source=/dev/null
	. "$CPROBE_LIB/$part.sh"
done

# Only where namespaces could not be had is there anything left to stop.
stop_servers()
{
	local file pid

	while read -r file; do
		if read -r pid <"$file"; then
			kill -QUIT "$pid" 2>/dev/null || true
		fi
	done < <(find "$CPROBE_WORK" -name postmaster.pid 2>/dev/null)
}

wants()
{
	case ",$CPROBE_STAGES," in
		*,"$1",*) return 0 ;;
	esac
	return 1
}

# Minutes of emulation: not in CI.
wants_numa()
{
	wants numa && [ "${CI:-}" != true ]
}

run_stage()
{
	stage "PostgreSQL $CPROBE_MAJOR: $1"
	timed "  $1" "$2"
}

run_stages()
{
	if wants build; then
		run_stage build build_stage
	fi
	if wants unit; then
		run_stage unit unit_stage
	fi
	if wants regress || wants tap || wants_numa; then
		run_stage install install_stage || return 0
	fi
	if wants regress; then
		run_stage regress regress_stage
	fi
	if wants tap; then
		run_stage tap tap_stage
	fi
	if wants_numa; then
		run_stage numa numa_stage
	fi
}

main()
{
	local pg_config

	pg_config=$(installed_pg_config "$CPROBE_MAJOR") ||
		die "PostgreSQL $CPROBE_MAJOR is not installed here"
	mkdir -p "$CPROBE_WORK/tmp"
	: >"$CPROBE_RESULTS"
	# The tester may not be able to read the checkout.
	cp "$CPROBE_LIB/run-tap.pl" "$CPROBE_WORK/"
	copy_server "$pg_config" "$CPROBE_WORK/server"
	give_to_tester "$CPROBE_WORK"
	"$pg_config" --version >"$CPROBE_WORK/version"
	run_stages
	printf '%s\n' "${CPROBE_TIMINGS[@]}" >"$CPROBE_WORK/timings"
	: >"$CPROBE_WORK/finished"
}

install_traps
on_exit stop_servers
main
