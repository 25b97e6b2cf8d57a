# shellcheck shell=bash
#
# bench.sh: what the benchmarks share: options, a private server with the
# library built into it, clusters of its own, and facts about the machine.
#
# Sourced, never run.  Nothing outside of one temporary folder is written to,
# but for Debian packages that are missing; no server of this machine is met.
#
# shellcheck disable=SC2034 # variables that only the scripts use

CPROBE_TREE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CPROBE_LIB=$CPROBE_TREE/scripts/lib
BENCH_CLUSTERS=()
BENCH_CHILDREN=()
BENCH_FULL=0
BENCH_INSTALL=1
BENCH_PG_CONFIG=

for part in common packages server; do
	# shellcheck source=/dev/null
	. "$CPROBE_LIB/$part.sh"
done

# The part of --help that is the same everywhere.
bench_usage_common()
{
	cat <<'TEXT'
  --full             the run whose figures may be quoted: longer, repeated
  --pg-config PATH   server to measure (default: the installed one)
  --no-install       fail instead of installing missing Debian packages
  --help

The server is copied and the library built and installed into the copy, in a
temporary folder (TMPDIR) that is removed at the end.
TEXT
}

# bench_option ARGUMENT...: takes an option that all scripts know; sets
# BENCH_TAKEN to the number of words.
bench_option()
{
	BENCH_TAKEN=1
	case $1 in
		--full) BENCH_FULL=1 ;;
		--no-install) BENCH_INSTALL=0 ;;
		--pg-config)
			bench_value "$@"
			BENCH_PG_CONFIG=$2
			BENCH_TAKEN=2
			;;
		--help) usage; exit 0 ;;
		*) usage >&2; die "unknown option \"$1\"" ;;
	esac
}

# bench_value NAME [VALUE]: an option that wants one.
bench_value()
{
	[ $# -ge 2 ] || die "$1 wants a value"
}

# bench_number NAME [VALUE]: the same, a positive integer.
bench_number()
{
	bench_value "$@"
	[[ $2 =~ ^[1-9][0-9]{0,8}$ ]] || die "$1: \"$2\" is not a positive integer"
}

bench_find_server()
{
	local major

	if [ -n "$BENCH_PG_CONFIG" ]; then
		[ -x "$BENCH_PG_CONFIG" ] || die "no such program: $BENCH_PG_CONFIG"
		return
	fi
	major=$(debian_major) || major=15
	BENCH_PG_CONFIG=/usr/lib/postgresql/$major/bin/pg_config
	bench_packages postgresql-"$major" postgresql-server-dev-"$major"
	[ -x "$BENCH_PG_CONFIG" ] || die "PostgreSQL is not installed; see --pg-config"
}

# bench_packages PACKAGE...
bench_packages()
{
	local missing

	if [ "$BENCH_INSTALL" = 1 ]; then
		ensure_packages "$@"
		return
	fi
	mapfile -t missing < <(missing_packages "$@")
	[ ${#missing[@]} -eq 0 ] || die "not installed: ${missing[*]}"
}

bench_build()
{
	local tree=$CPROBE_WORK/build

	copy_tree "$CPROBE_TREE" "$tree"
	give_to_tester "$tree" "$CPROBE_WORK/server"
	as_tester make -s -C "$tree" -j "$(nproc)" PG_CONFIG="$CPROBE_PG_CONFIG" \
		with_llvm=no install >"$CPROBE_WORK/build.log" 2>&1 || {
		tail -n 20 "$CPROBE_WORK/build.log" >&2
		die "the library does not build"
	}
}

# bench_begin PACKAGE...: scratch folder, packages, server and library.  Must
# come after the options.  A % in a package's name is the server's major.
bench_begin()
{
	local major

	install_traps
	CPROBE_WORK=$(mktemp -d "${TMPDIR:-/tmp}/cprobe-bench.XXXXXX")
	chmod 755 "$CPROBE_WORK"
	on_exit rm -rf "$CPROBE_WORK"
	on_exit bench_stop_all
	mkdir -m 1777 "$CPROBE_WORK/tmp"
	bench_find_server
	major=$("$BENCH_PG_CONFIG" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
	bench_packages gcc make libc6-dev "${@//%/$major}"
	copy_server "$BENCH_PG_CONFIG" "$CPROBE_WORK/server"
	bench_build
	BENCH_BIN=${CPROBE_PG_CONFIG%/*}
}

# A program that was started in the background and must end with the script.
bench_child()
{
	BENCH_CHILDREN+=("$1")
}

# Clients that were started in the background and wrote their pid to a file
# in the scratch folder's tmp.
bench_kill_clients()
{
	local file

	for file in "$CPROBE_WORK"/tmp/*.pid; do
		[ -f "$file" ] || continue
		kill "$(cat "$file")" 2>/dev/null || true
		rm -f "$file"
	done
}

bench_stop_all()
{
	local pid name

	bench_kill_clients
	for pid in "${BENCH_CHILDREN[@]}"; do
		kill "$pid" 2>/dev/null || true
	done
	for name in "${BENCH_CLUSTERS[@]}"; do
		if [ -f "$CPROBE_WORK/$name/data/postmaster.pid" ]; then
			as_tester pg_ctl -s -w -m immediate -D "$CPROBE_WORK/$name/data" \
				stop >/dev/null 2>&1 || true
		fi
	done
}

# ---- clusters ----

# cluster_make NAME: a cluster with a database "bench", not running.  Settings
# are the server's defaults but for what would add noise: no background
# vacuum, no checkpoint within a run.
cluster_make()
{
	local dir=$CPROBE_WORK/$1

	mkdir "$dir"
	give_to_tester "$dir"
	BENCH_CLUSTERS+=("$1")
	as_tester initdb -D "$dir/data" -A trust -N -U postgres -E UTF8 \
		--locale=C >"$dir/initdb.log" 2>&1 || die "initdb failed: $(cat "$dir/initdb.log")"
	cat >>"$dir/data/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$dir'
autovacuum = off
checkpoint_timeout = 1h
max_wal_size = 8GB
include = 'bench.conf'
CONF
	cluster_configure "$1"
	cluster_start "$1"
	cluster_client "$1" createdb bench
}

# cluster_configure NAME LINE...: the settings of this benchmark, from the
# next start on.
cluster_configure()
{
	local file=$CPROBE_WORK/$1/data/bench.conf

	shift
	printf '%s\n' "$@" >"$file"
	give_to_tester "$file"
}

cluster_start()
{
	local dir=$CPROBE_WORK/$1

	as_tester pg_ctl -s -w -D "$dir/data" -l "$dir/log" start >/dev/null || {
		tail -n 10 "$dir/log" >&2
		die "the cluster \"$1\" does not start"
	}
}

cluster_stop()
{
	as_tester pg_ctl -s -w -m fast -D "$CPROBE_WORK/$1/data" stop >/dev/null
}

# cluster_client NAME PROGRAM...: a client program, connected to the database
# "bench" (createdb: to "postgres").
cluster_client()
{
	local name=$1

	shift
	as_tester env PGHOST="$CPROBE_WORK/$name" PGUSER=postgres \
		PGDATABASE="${BENCH_DATABASE:-bench}" "$@"
}

# cluster_sql NAME QUERY: rows as lines, columns separated by tabs.
cluster_sql()
{
	cluster_client "$1" psql -XAtq -F $'\t' -v ON_ERROR_STOP=1 -c "$2"
}

# cluster_fill NAME SCALE: pgbench's tables and the extension.
cluster_fill()
{
	cluster_client "$1" pgbench -i -q -s "$2" >"$CPROBE_WORK/$1/fill.log" 2>&1 ||
		die "pgbench -i failed: $(tail -n 3 "$CPROBE_WORK/$1/fill.log")"
	cluster_sql "$1" "CREATE EXTENSION contention_probe;
		CREATE EXTENSION pg_prewarm;"
}

# Read pgbench's tables and indexes into shared buffers.
cluster_warm()
{
	cluster_sql "$1" "SELECT sum(pg_prewarm(oid::regclass))
		FROM pg_class WHERE relname LIKE 'pgbench%' AND relkind IN ('r', 'i')" \
		>/dev/null
}

# Wait until no client but the one that asks is connected, so that all their
# counts are complete.
cluster_quiet()
{
	local try

	for ((try = 0; try < 300; try++)); do
		[ "$(cluster_sql "$1" "SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = 'client backend'")" = 1 ] && return
		sleep 0.1
	done
	die "clients of \"$1\" do not leave"
}

# CPU time that all processes of the cluster have used, in ms: those that live
# and those that have left.  Full ticks of 10 ms.
cluster_cpu_ms()
{
	# Processes may end between the listing and the reading.
	{ cat /proc/[0-9]*/stat 2>/dev/null || true; } |
		awk -v pid="$(head -n 1 "$CPROBE_WORK/$1/data/postmaster.pid")" \
		-v hz="$(getconf CLK_TCK)" '
		$1 == pid {ticks += $14 + $15 + $16 + $17}
		$4 == pid {ticks += $14 + $15}
		END {printf "%d\n", 1000 * ticks / hz}'
}

# ---- facts and figures ----

bench_cpu_model()
{
	sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1
}

bench_version()
{
	git -C "$CPROBE_TREE" describe --always --dirty 2>/dev/null || say unknown
}

# Time that the hypervisor and all programs took so far, in clock ticks:
# "busy steal".
bench_cpu_ticks()
{
	awk '/^cpu / {print $2 + $3 + $4 + $7 + $8, $9; exit}' /proc/stat
}

fact()
{
	printf '%-16s %s\n' "$1" "$2"
}

# Every figure is worth as much as the machine was quiet: say so first.
bench_facts()
{
	fact "date" "$(date -u '+%Y-%m-%d %H:%M UTC')"
	fact "cpu" "$(nproc) x $(bench_cpu_model)"
	fact "clock source" "$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource 2>/dev/null || say unknown)"
	fact "kernel" "$(uname -sr)"
	fact "server" "$("$BENCH_BIN/postgres" --version)"
	fact "library" "$(bench_version)"
	fact "load before" "$(cut -d ' ' -f 1-3 /proc/loadavg)"
	read -r BENCH_BUSY BENCH_STEAL <<<"$(bench_cpu_ticks)"
	BENCH_BEGUN=$SECONDS
}

# How much the hypervisor took away while the benchmark ran.
bench_facts_after()
{
	local busy steal

	read -r busy steal <<<"$(bench_cpu_ticks)"
	fact "duration" "$((SECONDS - BENCH_BEGUN)) s"
	fact "steal" "$(awk -v s="$((steal - BENCH_STEAL))" \
		-v b="$((busy - BENCH_BUSY))" \
		'BEGIN {printf "%.2f %% of the busy time", 100 * s / (b + s + 1)}')"
}

# median NUMBER...
median()
{
	printf '%s\n' "$@" | sort -g | awk '{v[NR] = $1}
		END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'
}

# holds CONDITION: of awk, on numbers.
holds()
{
	awk "BEGIN {exit !($1)}"
}

# The script's exit code will be 1.
bench_fail()
{
	BENCH_FAILED=1
}

# verdict CONDITION TEXT: prints the line and remembers a failure for the exit
# code.
verdict()
{
	if holds "$1"; then
		say "PASS  $2"
	else
		say "FAIL  $2"
		bench_fail
	fi
}

bench_end()
{
	exit "${BENCH_FAILED:-0}"
}
