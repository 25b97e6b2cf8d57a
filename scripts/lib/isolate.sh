# shellcheck shell=bash
#
# isolate.sh: run a command so that nothing of it survives its end.
#
# The command gets mount, process and IPC namespaces of its own: when it ends,
# or the shell that started it is killed, the kernel ends every process and
# drops every mount and SysV segment in them.  A test server that was left
# behind by a crash cannot outlive its run.

# exec_isolated ROOT TMP COMMAND...: as root, in the file system below ROOT
# ("/" for this machine's own); elsewhere than in "/", the folder TMP is its
# /tmp.
#
# Replaces the shell, so call it as a job or in parentheses: a shell between
# this script and the command would live on when the script is killed.
exec_isolated()
{
	exec setpriv --pdeathsig KILL \
		unshare --mount --pid --ipc --fork --kill-child \
		bash "$CPROBE_LIB/namespace-init.sh" "$@"
}

# False where namespaces are not to be had: in most containers, and in a
# chroot.
can_isolate()
{
	(exec_isolated / "" true) >/dev/null 2>&1
}

# exec_isolated_here COMMAND...: on this machine's own file system, as well as
# this user can: a user without root by a user namespace, and without any
# namespace where the kernel gives none.
exec_isolated_here()
{
	local isolate=(
		setpriv --pdeathsig KILL
		unshare --user --map-current-user --mount --pid --ipc
		--fork --kill-child bash "$CPROBE_LIB/namespace-init.sh" / ""
	)

	if can_isolate; then
		exec_isolated / "" "$@"
	elif ! am_root && "${isolate[@]}" true >/dev/null 2>&1; then
		exec "${isolate[@]}" "$@"
	fi
	exec setpriv --pdeathsig TERM "$@"
}

# remove_scratch DIR: what runs in a namespace may take a moment to die after
# it was killed, and may still write.
remove_scratch()
{
	local try

	for try in 1 2 3 4 5 6 7 8 9 10; do
		rm -rf "$1" 2>/dev/null && return 0
		sleep "0.$try"
	done
	warn "could not remove $1"
}
