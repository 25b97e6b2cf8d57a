# shellcheck shell=bash
#
# chroot.sh: Debian chroots that hold the PostgreSQL majors which this machine
# does not have installed.
#
# A chroot is made of Debian's packages by debootstrap, from the mirror and
# with the settings of this machine's apt, and kept in CPROBE_CHROOT_DIR for
# the next run.  It is built under the name MAJOR.partial and gets its final
# name only when it is complete, so a chroot with its final name can be used.
# The tests never write outside /tmp in a chroot, which is a folder of the run.
#
# Signatures: debootstrap checks the suite's InRelease with the keys of this
# machine's debian-archive-keyring, and apt in the chroot checks with the keys
# that came with that suite.  Nothing here switches a check off.

# Rises when chroots made by an older version of this file are no longer good.
CPROBE_CHROOT_FORMAT=1

CPROBE_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# chroot_suites MAJOR: suites that have this major, the preferred one first.
chroot_suites()
{
	case $1 in
		15) say "bookworm" ;;
		17) say "trixie" ;;
		18) say "forky sid" ;;
		19) say "sid" ;;
		*) return 1 ;;
	esac
}

# chroot_packages MAJOR: what is installed on top of the base system.  clang
# is not named: where the dev package depends on one, that one is used.
chroot_packages()
{
	say "make gcc libc6-dev perl libipc-run-perl libnuma-dev libzydis-dev" \
		"postgresql-$1 postgresql-server-dev-$1"
}

# Identifies what a finished chroot was made of.
chroot_recipe()
{
	say "$CPROBE_CHROOT_FORMAT $1: $(chroot_suites "$1"):" \
		"$(chroot_packages "$1")"
}

chroot_ready()
{
	[ "$(head -n 1 "$CPROBE_CHROOT_DIR/$1/stamp" 2>/dev/null)" = \
		"$(chroot_recipe "$1")" ]
}

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
	setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child \
		debootstrap --variant=minbase --keyring="$CPROBE_KEYRING" \
		"$suite" "$root" "$mirror" "$script"
	chroot_configure "$major" "$root" "$mirror" "$suite"
	read -ra packages <<<"$(chroot_packages "$major")"
	isolate "$root" "$tmp" apt-get -q update
	isolate "$root" "$tmp" apt-get -q -y install "${packages[@]}"
	isolate "$root" "$tmp" apt-get clean
	rm -rf "$root"/var/lib/apt/lists/*

	# shellcheck disable=SC2016 # dpkg's own variables
	{
		chroot_recipe "$major"
		say "suite $suite, made $(date -u +%Y-%m-%d)"
		isolate "$root" "$tmp" \
			dpkg-query -W -f '${Package} ${Version}\n' "postgresql-$major"
	} >"$partial/stamp"
	rm -rf "$tmp" "${CPROBE_CHROOT_DIR:?}/$major"
	mv "$partial" "$CPROBE_CHROOT_DIR/$major"
}

# chroot_prepare MAJOR: make the chroot unless it is there.  What went wrong is
# left in words in MAJOR.reason; safe to run for several majors at a time.
chroot_prepare()
{
	local major=$1 mirror suite rc=0
	local base=$CPROBE_CHROOT_DIR/$1

	exec 9>"$base.lock"
	flock --shared 9
	if chroot_ready "$major"; then
		return 0
	fi
	flock --unlock 9
	flock --exclusive 9
	rm -f "$base.reason"
	if chroot_ready "$major"; then
		return 0
	fi
	if ! mirror=$(debian_mirror); then
		say "apt on this machine names no Debian archive" >"$base.reason"
		return 1
	fi
	for suite in $(chroot_suites "$major"); do
		reach_suite "$mirror" "$suite" || continue
		# As a job, since `set -e` has no effect on the left of a "||".
		chroot_build "$major" "$suite" "$mirror" \
			>"$base.log" 2>&1 9>&- </dev/null &
		wait $! || rc=$?
		rm -rf "$base.partial"
		[ "$rc" -eq 0 ] && return 0
		say "making the $suite chroot failed: $(tail -n 1 "$base.log")" \
			>"$base.reason"
		return 1
	done
	say "suite $(chroot_suites "$major" | sed 's/ / or /') cannot be reached" \
		>"$base.reason"
	return 1
}
