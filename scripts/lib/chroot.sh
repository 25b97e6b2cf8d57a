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
# Here is what a chroot is made of; prepare-chroot.sh makes it.
#
# Signatures: debootstrap checks the suite's InRelease with the keys of this
# machine's debian-archive-keyring, and apt in the chroot checks with the keys
# that came with that suite.  Nothing here switches a check off.

# Rises when chroots made by an older version of this file are no longer good.
CPROBE_CHROOT_FORMAT=1

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
