# shellcheck shell=bash
#
# common.sh: messages, timings and clean-up shared by the test scripts.
#
# Sourced, never run.  Separate from the stages so that each stage file holds
# nothing but its stage.

# A script that is started by another shows the time since that one started.
SECONDS=${CPROBE_ELAPSED:-0}
CPROBE_CLEANUPS=()
CPROBE_TIMINGS=()

say()
{
	printf '%s\n' "$*"
}

warn()
{
	printf '%s\n' "$*" >&2
}

die()
{
	warn "error: $*"
	exit 2
}

clock()
{
	printf '%02d:%02d' $(($1 / 60)) $(($1 % 60))
}

# A heading with the time since the start, so that a CI log shows where the
# minutes went even when the run is cut off before the table at the end.
stage()
{
	say ""
	say "== [$(clock "$SECONDS")] $*"
}

# timed NAME COMMAND...: run a command and note how long it took.
#
# In the command `set -e` has no effect, as always on the left of a "||": a
# stage checks what it calls.
timed()
{
	local name=$1 begun=$SECONDS rc=0

	shift
	"$@" || rc=$?
	CPROBE_TIMINGS+=("$(clock $((SECONDS - begun)))  $name")
	return "$rc"
}

print_timings()
{
	local line

	[ ${#CPROBE_TIMINGS[@]} -gt 0 ] || return 0
	say ""
	say "Time (minutes:seconds)"
	for line in "${CPROBE_TIMINGS[@]}"; do
		say "  $line"
	done
	say "  $(clock "$SECONDS")  in all"
}

# on_exit COMMAND...: run when the script ends, however it ends (other than by
# SIGKILL); the newest first.
on_exit()
{
	local quoted

	printf -v quoted '%q ' "$@"
	CPROBE_CLEANUPS+=("$quoted")
}

run_cleanups()
{
	local rc=$? i

	# A second Ctrl-C must not leave half of it undone.
	trap '' INT TERM HUP
	trap - EXIT
	for ((i = ${#CPROBE_CLEANUPS[@]} - 1; i >= 0; i--)); do
		eval "${CPROBE_CLEANUPS[$i]}" || true
	done
	exit "$rc"
}

install_traps()
{
	trap run_cleanups EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

am_root()
{
	[ "$(id -u)" -eq 0 ]
}

# copy_tree FROM TO: the source tree without version control and without what
# a build may have left there.  Tests never build in the checkout.
copy_tree()
{
	mkdir -p "$2"
	tar -C "$1" -cf - --exclude-vcs --exclude='*.o' --exclude='*.so' \
		--exclude='*.bc' --exclude='tmp_check*' --exclude=results \
		--exclude=output_iso --exclude='regression.*' . |
		tar -C "$2" -xf - --no-same-owner
}
