# shellcheck shell=bash
#
# demo-cluster.sh: a throwaway cluster: made, started, loaded, removed.
#
# Separate from the demo's own steps.  All of it lies in CPROBE_CLUSTER, which
# only the account that runs the server can enter: connections are trusted.

CPROBE_JOB=""

# run_job COMMAND...: in a process group of its own, and waited for, so that a
# signal to this script is served at once and end_job reaches every process.
run_job()
{
	start_job "$@"
	wait_job
}

start_job()
{
	set -m
	"$@" </dev/null &
	CPROBE_JOB=$!
	set +m
}

wait_job()
{
	local rc=0

	wait "$CPROBE_JOB" || rc=$?
	CPROBE_JOB=""
	return "$rc"
}

job_runs()
{
	kill -0 "$CPROBE_JOB" 2>/dev/null
}

end_job()
{
	local try

	[ -n "$CPROBE_JOB" ] || return 0
	kill -TERM -- "-$CPROBE_JOB" 2>/dev/null || return 0
	for try in 1 2 3 4 5 6 7 8 9 10; do
		kill -0 -- "-$CPROBE_JOB" 2>/dev/null || return 0
		sleep "0.$try"
	done
	kill -KILL -- "-$CPROBE_JOB" 2>/dev/null || true
}

# The account that runs the server runs its clients as well.  The environment
# starts empty: nobody's PGHOST or PGOPTIONS leads to another server.  Unlike
# runuser, setpriv leaves no process behind that would outlive a signal.
as_server()
{
	local become=()

	if am_root; then
		become=(setpriv --reuid postgres --regid postgres --init-groups)
	fi
	"${become[@]}" env -i -C "$CPROBE_CLUSTER" \
		PATH="$CPROBE_BIN:/usr/bin:/bin" LANG=C.UTF-8 \
		HOME="$CPROBE_CLUSTER" TMPDIR="$CPROBE_CLUSTER" "$@"
}

# run_sql OPTION...: psql in the demo's database, as superuser.
run_sql()
{
	as_server psql -X -q -h "$CPROBE_CLUSTER" -U postgres \
		-v ON_ERROR_STOP=1 "$@" "$CPROBE_DATABASE"
}

# Is a module that comes with the server installed?
has_module()
{
	[ -f "$("$CPROBE_PG_CONFIG" --sharedir)/extension/$1.control" ]
}

# Out of reach of a Ctrl-C, which is served afterwards: initdb leaves shared
# memory behind when it is interrupted.
as_server_undisturbed()
{
	as_server setsid -w "$@" </dev/null
}

# make_cluster MAX_CONNECTIONS LIBRARIES
make_cluster()
{
	as_server_undisturbed initdb -D "$CPROBE_CLUSTER/data" -U postgres -A trust \
		-E UTF8 --locale=C --no-sync >"$CPROBE_WORK/initdb.log" 2>&1 ||
		die_with "$CPROBE_WORK/initdb.log" "initdb failed"
	as_server tee -a "$CPROBE_CLUSTER/data/postgresql.conf" >/dev/null <<-TEXT
		listen_addresses = ''
		unix_socket_directories = '$CPROBE_CLUSTER'
		unix_socket_permissions = 0700
		port = 5432
		max_connections = $1
		shared_preload_libraries = '$2'
	TEXT
}

# A start that was interrupted could leave a server that is not known yet.
start_cluster()
{
	on_exit stop_cluster
	as_server_undisturbed pg_ctl -w -D "$CPROBE_CLUSTER/data" \
		-l "$CPROBE_CLUSTER/server.log" start >"$CPROBE_WORK/start.log" 2>&1 ||
		die_with "$CPROBE_CLUSTER/server.log" "the server did not start"
}

# The data is thrown away: no checkpoint is needed.
stop_cluster()
{
	[ "$CPROBE_KEEP_CLUSTER" = 0 ] || return 0
	[ -f "$CPROBE_CLUSTER/data/postmaster.pid" ] || return 0
	as_server pg_ctl -w -t 30 -m immediate -D "$CPROBE_CLUSTER/data" stop \
		>/dev/null 2>&1 || warn "could not stop the server in $CPROBE_CLUSTER"
}

# die_with LOG MESSAGE
die_with()
{
	[ ! -s "$1" ] || tail -n 20 "$1" >&2
	die "$2"
}
