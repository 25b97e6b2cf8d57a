#!/bin/bash
#
# prepare-chroot.sh DIR MAJOR: make the chroot of a major in DIR, unless it is
# there; see chroot.sh.
#
# A script of its own, so that it can run in namespaces of its own: when the
# test run is ended, however, no half of a debootstrap goes on.  What went wrong
# is left in words in MAJOR.reason.  Safe to run for several majors, and by
# several users of DIR, at a time.
set -euo pipefail

CPROBE_CHROOT_DIR=$1
CPROBE_LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CPROBE_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

for part in common isolate chroot; do
	# shellcheck source=/dev/null
	. "$CPROBE_LIB/$part.sh"
done

# The archive that this machine's apt takes Debian itself from.
debian_mirror()
{
	local mirror

	# shellcheck disable=SC2016 # apt's own variables
	mirror=$(apt-get indextargets --format '$(LABEL) $(SITE)' \
		'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
		awk '$1 == "Debian" { print $2; exit }')
	[ -n "$mirror" ] || return 1
	say "$mirror"
}

# Of this machine's apt settings, those that decide whether an archive can be
# reached and is taken.
host_apt_settings()
{
	apt-config dump |
		grep -E '^Acquire::(https?|Retries|Check-Valid-Until|Check-Date)' || true
}

# reach_suite MIRROR SUITE: is it there?  Through apt's own downloader, so
# that its proxy settings apply.
reach_suite()
{
	local probe rc=0

	probe=$(mktemp)
	/usr/lib/apt/apt-helper download-file "$1/dists/$2/InRelease" "$probe" \
		>/dev/null 2>&1 || rc=$?
	rm -f "$probe"
	return "$rc"
}

chroot_configure()
{
	local major=$1 root=$2 mirror=$3 suite=$4

	host_apt_settings >"$root/etc/apt/apt.conf.d/90host"
	cat >"$root/etc/apt/apt.conf.d/91lean" <<-'CONF'
		APT::Install-Recommends "false";
		Acquire::Languages "none";
		Dpkg::Options { "--force-confold"; };
		Dpkg::Use-Pty "false";
	CONF
	cat >"$root/etc/dpkg/dpkg.cfg.d/lean" <<-'CONF'
		force-unsafe-io
		path-exclude=/usr/share/doc/*
		path-exclude=/usr/share/man/*
		path-exclude=/usr/share/locale/*
	CONF
	rm -f "$root/etc/apt/sources.list"
	say "deb $mirror $suite main" \
		>"$root/etc/apt/sources.list.d/contention_probe.list"
	if [ "$major" = 19 ]; then
		chroot_add_experimental "$root" "$mirror"
	fi

	# No service starts and no cluster is made by installing a package.
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod 755 "$root/usr/sbin/policy-rc.d"
	mkdir -p "$root/etc/postgresql-common/createcluster.d"
	say "create_main_cluster = false" \
		>"$root/etc/postgresql-common/createcluster.d/none.conf"
	cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
}

# Only the server's own packages come from experimental; whatever else they
# need comes from there when sid has no version that will do.
chroot_add_experimental()
{
	say "deb $2 experimental main" \
		>>"$1/etc/apt/sources.list.d/contention_probe.list"
	cat >"$1/etc/apt/preferences.d/contention_probe" <<-'CONF'
		Package: src:postgresql-19:any src:postgresql-common:any
		Pin: release a=experimental
		Pin-Priority: 990
	CONF
}

# chroot_build MAJOR SUITE MIRROR: make the chroot; runs in a subshell.
chroot_build()
{
	local major=$1 suite=$2 mirror=$3
	local partial=$CPROBE_CHROOT_DIR/$1.partial
	local script=/usr/share/debootstrap/scripts/sid
	local root=$partial/root tmp=$partial/tmp packages

	rm -rf "$partial"
	mkdir -p "$root" "$tmp"
	chmod 1777 "$tmp"

	# All suites from trixie on are made by the same script, but not every
	# debootstrap knows their names yet.
	debootstrap --variant=minbase --keyring="$CPROBE_KEYRING" \
		"$suite" "$root" "$mirror" "$script"
	chroot_configure "$major" "$root" "$mirror" "$suite"
	read -ra packages <<<"$(chroot_packages "$major")"
	(exec_isolated "$root" "$tmp" apt-get -q update)
	(exec_isolated "$root" "$tmp" apt-get -q -y install "${packages[@]}")
	(exec_isolated "$root" "$tmp" apt-get clean)
	rm -rf "$root"/var/lib/apt/lists/*

	# shellcheck disable=SC2016 # dpkg's own variables
	{
		chroot_recipe "$major"
		say "suite $suite, made $(date -u +%Y-%m-%d)"
		(exec_isolated "$root" "$tmp" \
			dpkg-query -W -f '${Package} ${Version}\n' "postgresql-$major")
	} >"$partial/stamp"
	rm -rf "$tmp" "${CPROBE_CHROOT_DIR:?}/$major"
	mv "$partial" "$CPROBE_CHROOT_DIR/$major"
}

# give_up MAJOR REASON
give_up()
{
	say "$2" >"$CPROBE_CHROOT_DIR/$1.reason"
	exit 1
}

chroot_prepare()
{
	local major=$1 mirror suite rc=0
	local base=$CPROBE_CHROOT_DIR/$1

	mirror=$(debian_mirror) ||
		give_up "$major" "apt on this machine names no Debian archive"
	for suite in $(chroot_suites "$major"); do
		reach_suite "$mirror" "$suite" || continue

		# As a job, since `set -e` has no effect on the left of a "||".
		chroot_build "$major" "$suite" "$mirror" >"$base.log" 2>&1 &
		wait $! || rc=$?
		rm -rf "$base.partial"
		[ "$rc" -eq 0 ] && return 0
		give_up "$major" \
			"making the $suite chroot failed: $(tail -n 1 "$base.log")"
	done
	suite=$(chroot_suites "$major")
	give_up "$major" "suite ${suite// / or } cannot be reached"
}

main()
{
	local major=$1

	exec 9>"$CPROBE_CHROOT_DIR/$major.lock"
	flock --shared 9
	if chroot_ready "$major"; then
		return
	fi
	flock --unlock 9
	flock --exclusive 9
	if ! chroot_ready "$major"; then
		rm -f "$CPROBE_CHROOT_DIR/$major".{reason,log}
		chroot_prepare "$major" 9>&-
	fi
}

main "$2"
