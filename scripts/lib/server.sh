# shellcheck shell=bash
#
# server.sh: a private copy of an installed PostgreSQL, and the account that
# runs it.
#
# PostgreSQL finds its files relative to the place of its programs.  So a copy
# under another root is a complete installation, and `make install` into it
# needs no root, touches no server of this machine and cannot meet the files
# of another run.

# copy_server PG_CONFIG ROOT: copy an installation to below ROOT; sets
# CPROBE_PG_CONFIG to the pg_config of the copy.
copy_server()
{
	local pg_config=$1 root=$2 option path

	for option in --bindir --pkglibdir --sharedir; do
		path=$("$pg_config" "$option")
		[ -d "$root$path" ] && continue
		mkdir -p "$root${path%/*}"
		tar -C "${path%/*}" -cf - --exclude='*.bc' --exclude='*/man' \
			"${path##*/}" | tar -C "$root${path%/*}" -xf - --no-same-owner
	done
	path=$("$pg_config" --includedir)
	mkdir -p "$root${path%/*}"
	ln -s "$path" "$root$path"

	CPROBE_PG_CONFIG=$root$("$pg_config" --bindir)/pg_config
	path=$("$pg_config" --pkglibdir)
	[ "$("$CPROBE_PG_CONFIG" --pkglibdir)" = "$root$path" ] ||
		die "the installation of $pg_config cannot be copied"
}

# The server refuses to run as root, so root becomes the account that Debian's
# packages made for it.  The environment starts empty: nobody's PGHOST,
# PGOPTIONS, LANG or MAKEFLAGS changes what a test sees.
as_tester()
{
	local become=()

	if am_root; then
		become=(runuser -u postgres --)
	fi
	"${become[@]}" env -i \
		PATH="${CPROBE_PG_CONFIG%/*}:/usr/local/bin:/usr/bin:/bin:/usr/sbin" \
		HOME="$CPROBE_WORK" TMPDIR="$CPROBE_WORK/tmp" LANG=C.UTF-8 \
		PG_CONFIG="$CPROBE_PG_CONFIG" "$@"
}

give_to_tester()
{
	if am_root; then
		chown -R postgres: "$@"
	fi
}
