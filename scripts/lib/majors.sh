# shellcheck shell=bash
#
# majors.sh: run the suite with one PostgreSQL major after another, each where
# it is: on this machine or in a chroot.

CPROBE_CHILD=""
CPROBE_PREPARERS=()

# run_child COMMAND...: as a job that is waited for, so that a signal to this
# script is served at once and takes the command along.
run_child()
{
	local rc=0

	"$@" </dev/null &
	CPROBE_CHILD=$!
	wait "$CPROBE_CHILD" || rc=$?
	CPROBE_CHILD=""
	return "$rc"
}

kill_children()
{
	local pid

	for pid in "${CPROBE_CHILD:-}" "${CPROBE_PREPARERS[@]}"; do
		if [ -n "$pid" ]; then
			kill -KILL "$pid" 2>/dev/null || true
		fi
	done
}

# All chroots at a time, before any test, since installing packages beside
# them would disturb tests that measure time.
prepare_chroots()
{
	local major pid

	for major in $CPROBE_MAJORS; do
		is_local "$major" && continue
		can_isolate || continue
		mkdir -p "$CPROBE_CHROOT_DIR"
		if [ "$CPROBE_REFRESH" = 1 ]; then
			rm -f "$CPROBE_CHROOT_DIR/$major/stamp"
		fi
		exec_isolated / "" bash "$CPROBE_LIB/prepare-chroot.sh" \
			"$CPROBE_CHROOT_DIR" "$major" </dev/null &
		CPROBE_PREPARERS+=($!)
	done
	for pid in "${CPROBE_PREPARERS[@]}"; do
		wait "$pid" || true
	done
	CPROBE_PREPARERS=()
}

# Why a major cannot be tested; nothing when it can.
missing_reason()
{
	if is_local "$1"; then
		return 0
	elif ! am_root; then
		say "a chroot needs root"
	elif ! can_isolate; then
		say "a chroot needs mount namespaces, which are not to be had here"
	elif ! chroot_ready "$1"; then
		cat "$CPROBE_CHROOT_DIR/$1.reason" 2>/dev/null || say "no chroot"
	fi
}

# In a chroot the script runs from the copy of the tree, and sees the folder
# CPROBE_WORK/MAJOR as /tmp.  The stage numa is for this machine alone.
test_in_chroot()
{
	local major=$1 work=$CPROBE_WORK/$1 lock

	# Open while the chroot is in use: nobody makes it anew meanwhile.
	exec {lock}<"$CPROBE_CHROOT_DIR/$major.lock"
	flock --shared "$lock"
	copy_tree "$CPROBE_TREE" "$work/tree"
	chmod 1777 "$work"
	run_child exec_isolated "$CPROBE_CHROOT_DIR/$major/root" "$work" \
		bash /tmp/tree/scripts/lib/run-major.sh /tmp/tree /tmp/run \
		"${CPROBE_STAGES//numa/}" "$major" "$SECONDS" || true
	exec {lock}<&-
}

test_locally()
{
	run_child exec_isolated_here bash "$CPROBE_LIB/run-major.sh" \
		"$CPROBE_TREE" "$CPROBE_WORK/$1/run" "$CPROBE_STAGES" "$1" \
		"$SECONDS" || true
}

# note SUITE OUTCOME TEXT: a result of this script's own.
note()
{
	local CPROBE_RESULTS=$CPROBE_WORK/$1/run/results

	record setup "$2" "$3"
}

# A major that could not be had is skipped, in words.  Where the answer must be
# complete, in CI, that is a failure.
note_missing()
{
	local outcome=skipped

	if [ "${CI:-}" = true ]; then
		outcome=failed
	fi
	note "$1" "$outcome" "PostgreSQL $1 was not tested: $2"
	if [ -f "$CPROBE_CHROOT_DIR/$1.reason" ]; then
		show_log "$CPROBE_CHROOT_DIR/$1.log" 30
	fi
	say "not tested: $2" >"$CPROBE_WORK/$1/run/version"
}

test_major()
{
	local major=$1 begun=$SECONDS run=$CPROBE_WORK/$1/run reason

	mkdir -p "$run"
	reason=$(missing_reason "$major")
	if [ -n "$reason" ]; then
		stage "PostgreSQL $major"
		note_missing "$major" "$reason"
		return
	fi
	if is_local "$major"; then
		test_locally "$major"
	else
		test_in_chroot "$major"
	fi
	if [ ! -f "$run/finished" ]; then
		note "$major" failed "PostgreSQL $major: the run broke off"
	fi
	CPROBE_TIMINGS+=("$(clock $((SECONDS - begun)))  PostgreSQL $major")
	if [ -f "$run/timings" ]; then
		mapfile -t -O "${#CPROBE_TIMINGS[@]}" CPROBE_TIMINGS <"$run/timings"
	fi
}

table_row()
{
	local passed failed skipped

	read -r passed failed skipped <<<"$(sum_results "$3")"
	printf '%-8s %8d %8d %8d  %s\n' "$1" "$passed" "$failed" "$skipped" "$2"
}

print_table()
{
	local major run

	say ""
	printf '%-8s %8s %8s %8s  %s\n' "" passed failed skipped server
	if [ -s "$CPROBE_RESULTS" ]; then
		table_row source "checks of the source" "$CPROBE_RESULTS"
	fi
	for major in $CPROBE_MAJORS; do
		[ -d "$CPROBE_WORK/$major" ] || continue
		run=$CPROBE_WORK/$major/run
		table_row "$major" "$(head -n 1 "$run/version" 2>/dev/null)" \
			"$run/results"
	done
}

# Every failure once more, by name: the log above may be long.
print_failures()
{
	local major

	for major in "" $CPROBE_MAJORS; do
		awk -F '\t' -v m="${major:+PostgreSQL $major: }" '
			$3 > 0 { printf "FAILED  %s%s: %s (%d)\n", m, $1, $5, $3 }' \
			"$CPROBE_WORK${major:+/$major/run}/results" 2>/dev/null || true
	done
}
