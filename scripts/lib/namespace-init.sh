#!/bin/bash
#
# namespace-init.sh ROOT TMP COMMAND...: first process in the namespaces that
# isolate.sh makes: mounts what the command needs, starts it, waits.
#
# The mounts need no undoing: they go with the mount namespace.
set -euo pipefail

root=${1%/}
tmp=$2
shift 2

mount --make-rprivate /
if [ -n "$root" ]; then
	# In the chroot, too, "/" is a mount point.
	mount --bind "$root" "$root"
fi
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"

# The command is started as a child: process 1 itself would ignore signals
# that it has no handler for.  SIGINT is ignored in a background job of a
# shell; a test that sends it to a program must find the default.
start()
{
	local rc=0

	env --default-signal=INT,QUIT "$@" || rc=$?
	exit "$rc"
}

if [ -z "$root" ]; then
	start "$@"
fi

mkdir -p "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
mount --rbind /sys "$root/sys"
mount --bind "$tmp" "$root/tmp"
if [ -n "${CPROBE_BIND:-}" ]; then
	mount --bind "$CPROBE_BIND" "$root/mnt"
	mount -o remount,bind,ro "$root/mnt"
fi
start chroot "$root" /usr/bin/env -i \
	PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
	DEBIAN_FRONTEND=noninteractive TERM="${TERM:-dumb}" \
	CPROBE_TEST_SECONDS="${CPROBE_TEST_SECONDS:-600}" "$@"
