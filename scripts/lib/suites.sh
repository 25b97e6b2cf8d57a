# shellcheck shell=bash
#
# suites.sh: the test suites: unit, pg_regress, isolation, TAP, NUMA.
#
# All run in CPROBE_WORK/build-gcc, as the account of as_tester, against the
# private server of server.sh.

# Seconds that one program, or one run of pg_regress, may take.
CPROBE_TEST_SECONDS=${CPROBE_TEST_SECONDS:-600}

# run_tap STAGE PROGRAM...: false when anything failed.  The runner says 1 when
# it has recorded failures; anything else means that it could not do its work.
run_tap()
{
	local stage=$1 rc=0

	shift
	as_tester "${CPROBE_TAP_ENV[@]}" perl "$CPROBE_WORK/run-tap.pl" \
		"$stage" "$CPROBE_TEST_SECONDS" "$CPROBE_RESULTS" "$@" \
		</dev/null || rc=$?
	if [ "$rc" -gt 1 ]; then
		record "$stage" failed "the runner of TAP programs ($rc)"
	fi
	return "$rc"
}

# build_unit DIR CC: the programs of test/unit, in a copy.
build_unit()
{
	as_tester make -s -C "$1" --no-print-directory \
		PG_CONFIG="$CPROBE_PG_CONFIG" CC="$2"
}

# run_unit NAME CC: build and run all unit tests with one compiler.
run_unit()
{
	local name=$1 cc=$2 top=$CPROBE_WORK/unit-$1 program programs=()

	copy_tree "$CPROBE_TREE" "$top"
	give_to_tester "$top"
	check "unit" "building the unit tests ($name)" \
		build_unit "$top/test/unit" "$cc" || return 0
	for program in "$top"/test/unit/*_test.c; do
		program=${program##*/}
		programs+=("./${program%.c}")
	done
	CPROBE_TAP_ENV=(ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1)
	(cd "$top/test/unit" && run_tap unit "${programs[@]}") || true
}

unit_stage()
{
	if ! compgen -G "$CPROBE_TREE/test/unit/*_test.c" >/dev/null; then
		record unit skipped "no unit tests"
		return
	fi
	run_unit plain gcc
	run_unit sanitized "gcc -fsanitize=address,undefined -fno-sanitize-recover=all"
}

# One result for each test that pg_regress names: "test a ... ok" up to
# PostgreSQL 15, TAP from 16 on.
record_regress()
{
	local line outcome
	local new='^(not )?ok +[0-9]+ +[-+] +([^ ]+)'
	local old='^(test +)?([^ ]+) +\.\.\. (ok|FAILED|failed)'

	while read -r line; do
		outcome=passed
		if [[ $line =~ $new ]]; then
			[ -z "${BASH_REMATCH[1]}" ] || outcome=failed
		elif [[ $line =~ $old ]]; then
			[ "${BASH_REMATCH[3]}" = ok ] || outcome=failed
		else
			continue
		fi
		record "$1" "$outcome" "${BASH_REMATCH[2]}"
	done
}

# run_installcheck STAGE VARIABLE=...: pg_regress by `make installcheck`, with
# the kinds of test that this is not about taken out of the Makefile.
run_installcheck()
{
	local stage=$1 dir=$CPROBE_WORK/build-gcc log=$CPROBE_WORK/$1.log rc=0

	shift
	touch "$CPROBE_WORK/installcheck.begin"
	as_tester timeout --kill-after=30 "$CPROBE_TEST_SECONDS" \
		make -C "$dir" --no-print-directory PG_CONFIG="$CPROBE_PG_CONFIG" \
		with_llvm=no "$@" installcheck >"$log" 2>&1 </dev/null || rc=$?
	record_regress "$stage" <"$log"
	if ! grep -q "^$stage"$'\t' "$CPROBE_RESULTS"; then
		record "$stage" failed "make installcheck ran no test ($rc)"
		show_log "$log" 60
	elif [ "$rc" -ne 0 ] && [ "$(count_failed "$stage")" -eq 0 ]; then
		record "$stage" failed "make installcheck ($rc)"
		show_log "$log" 60
	fi
	if [ "$rc" -ne 0 ]; then
		show_new "$dir" regression.diffs 300 || true
		show_new "$dir" postmaster.log 40 || show_new "$dir" initdb.log 20 ||
			true
	fi
}

count_failed()
{
	awk -F '\t' -v stage="$1" '
		$1 == stage { n += $3 } END { print n + 0 }' "$CPROBE_RESULTS"
}

# show_new DIR NAME LINES: logs of that name that the last run_installcheck
# wrote; false when there are none.
show_new()
{
	local file files

	mapfile -t files < <(find "$1" -name "$2" -size +0 \
		-newer "$CPROBE_WORK/installcheck.begin")
	for file in "${files[@]}"; do
		show_log "$file" "$3"
	done
	[ ${#files[@]} -gt 0 ]
}

regress_stage()
{
	if compgen -G "$CPROBE_TREE/sql/*.sql" >/dev/null; then
		run_installcheck regress TAP_TESTS= ISOLATION=
	else
		record regress skipped "no regression tests"
	fi
	if compgen -G "$CPROBE_TREE/specs/*.spec" >/dev/null; then
		run_installcheck isolation TAP_TESTS= REGRESS=
	fi
}

# The variables that PGXS sets for prove; which of them PostgreSQL::Test reads
# changed with the majors (TESTDIR up to 15, the other two from 16 on).
set_tap_environment()
{
	local pgxs dir=$CPROBE_WORK/build-gcc

	pgxs=$("$CPROBE_PG_CONFIG" --pgxs)
	pgxs=${pgxs%/src/makefiles/pgxs.mk}
	mkdir -p "$dir/tmp_check/log"
	give_to_tester "$dir/tmp_check"
	CPROBE_TAP_ENV=(
		PERL5LIB="$pgxs/src/test/perl"
		PG_REGRESS="$pgxs/src/test/regress/pg_regress"
		top_builddir="$pgxs"
		TESTDIR="$dir"
		TESTDATADIR="$dir/tmp_check"
		TESTLOGDIR="$dir/tmp_check/log"
		share_contrib_dir="$("$CPROBE_PG_CONFIG" --sharedir)/contrib"
		PGPORT=65432
	)
}

tap_stage()
{
	local dir=$CPROBE_WORK/build-gcc

	if ! compgen -G "$dir/t/*.pl" >/dev/null; then
		record tap skipped "no TAP tests"
		return
	fi
	set_tap_environment
	(cd "$dir" && run_tap tap t/*.pl) || show_tap_logs "$dir"
}

# Known answers on four NUMA nodes; see test/numa/run.  It needs the server of
# this machine; where qemu is not installed it says so and is skipped.
numa_stage()
{
	local dir=$CPROBE_WORK/build-gcc

	CPROBE_TAP_ENV=()
	if [ -n "${CPROBE_NUMA_KERNEL:-}" ]; then
		CPROBE_TAP_ENV=("CPROBE_NUMA_KERNEL=$CPROBE_NUMA_KERNEL")
	fi
	(cd "$dir" && run_tap numa test/numa/run) || true
}

# For each program with a failure: the end of its own log and of the logs of
# its servers.
show_tap_logs()
{
	local program log

	while read -r program; do
		for log in "$1/tmp_check/log/regress_log_${program%.pl}" \
			"$1/tmp_check/log/${program%.pl}"_*.log; do
			show_log "$log" 40
		done
	done < <(awk -F '\t' '$1 == "tap" && $3 > 0 { print $5 }' "$CPROBE_RESULTS")
}
