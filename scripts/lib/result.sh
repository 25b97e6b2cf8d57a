# shellcheck shell=bash
#
# result.sh: the record of what passed and failed.
#
# One line a result in CPROBE_RESULTS: stage, passed, failed, skipped, name
# (tabs between).  A file, since the results of a chroot are written by
# another process in there, and a sum over lines cannot lose count.

record()
{
	local stage=$1 outcome=$2 name=$3 counts

	case $outcome in
		passed) counts=$'1\t0\t0' ;;
		failed) counts=$'0\t1\t0' ;;
		skipped) counts=$'0\t0\t1' ;;
	esac
	printf '%s\t%s\t%s\n' "$stage" "$counts" "$name" >>"$CPROBE_RESULTS"
	[ "$outcome" = passed ] && outcome=ok
	printf '  %-7s %s\n' "$outcome" "$name"
}

# check STAGE NAME COMMAND...: one result; the output is shown on failure only.
check()
{
	local stage=$1 name=$2 log

	shift 2
	log=$(mktemp "$CPROBE_WORK/check.XXXXXX")
	if "$@" >"$log" 2>&1 </dev/null; then
		record "$stage" passed "$name"
		rm -f "$log"
		return 0
	fi
	record "$stage" failed "$name"
	show_log "$log" 100
	return 1
}

# show_log FILE LINES: the end of a log, set off from the rest.
show_log()
{
	[ -s "$1" ] || return 0
	say "  ---- ${1##*/} (last $2 lines at most)"
	tail -n "$2" "$1" | sed 's/^/  | /'
}

# sum_results FILE...: passed, failed, skipped.
sum_results()
{
	cat "$@" 2>/dev/null | awk -F '\t' '
		{ p += $2; f += $3; s += $4 }
		END { printf "%d %d %d\n", p, f, s }'
}
