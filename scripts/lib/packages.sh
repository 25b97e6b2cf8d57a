# shellcheck shell=bash
#
# packages.sh: what the tests need from Debian, installed when it is missing.
#
# When all is there, neither root nor the network is touched.

# The major that this Debian release comes with.
debian_major()
{
	local codename

	# shellcheck source=/dev/null
	codename=$(. /etc/os-release && say "${VERSION_CODENAME:-}")
	case $codename in
		bookworm) say 15 ;;
		trixie) say 17 ;;
		*) return 1 ;;
	esac
}

# installed_pg_config MAJOR: of a server with its headers and PGXS.
installed_pg_config()
{
	local pg_config=/usr/lib/postgresql/$1/bin/pg_config

	[ -x "$pg_config" ] && [ -x "${pg_config%pg_config}postgres" ] &&
		[ -f "$("$pg_config" --pgxs)" ] && say "$pg_config"
}

# needed_packages MAJOR: to build and test with it on this machine; one a line.
needed_packages()
{
	printf '%s\n' gcc clang make libc6-dev perl libipc-run-perl libnuma-dev \
		libzydis-dev "postgresql-$1" "postgresql-server-dev-$1"
}

missing_packages()
{
	local package

	for package in "$@"; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null |
			grep -q '^install ok installed$' || say "$package"
	done
}

as_root()
{
	if am_root; then
		"$@"
	elif ! command -v sudo >/dev/null; then
		return 1
	elif [ -t 0 ]; then
		sudo "$@"
	else
		sudo -n "$@"
	fi
}

# Installing a server makes and starts a cluster named main, which nobody who
# runs a test has asked for: leave that out, for this installation only.
install_packages()
{
	local none=/etc/postgresql-common/createcluster.d/contention_probe.conf
	local rc=0

	say "installing: $*"
	as_root mkdir -p "${none%/*}" || die "needs root or sudo to install: $*"
	on_exit as_root rm -f "$none"
	say "create_main_cluster = false" | as_root tee "$none" >/dev/null
	as_root apt-get -q update >"$CPROBE_WORK/apt.log" 2>&1 &&
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y install \
			--no-install-recommends "$@" >>"$CPROBE_WORK/apt.log" 2>&1 ||
		rc=$?
	as_root rm -f "$none"
	if [ "$rc" -ne 0 ]; then
		tail -n 20 "$CPROBE_WORK/apt.log" >&2
		die "apt-get could not install: $*"
	fi
}

# ensure_packages PACKAGE...
ensure_packages()
{
	local missing

	mapfile -t missing < <(missing_packages "$@")
	[ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
}
