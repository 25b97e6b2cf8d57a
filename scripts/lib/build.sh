# shellcheck shell=bash
#
# build.sh: builds with every compiler that is there, without a warning.

CPROBE_WARNINGS="-Wall -Wextra -Werror"

# clang has its version in its name where only the server's dev package needs
# it; the newest is taken.
find_clang()
{
	local candidate

	if command -v clang >/dev/null; then
		say clang
		return
	fi
	candidate=$(find /usr/bin -name 'clang-[0-9]*' | sort -V | tail -n 1)
	[ -n "$candidate" ] && say "${candidate##*/}"
}

# The server's headers are not ours to make free of warnings.  PGXS names their
# folder with -I; named with -isystem as well, both compilers drop the -I and
# take it for a system folder.  clang is told to let pass the options that the
# server was configured with for gcc.
compiler_options()
{
	local options

	options="-isystem $("$CPROBE_PG_CONFIG" --includedir-server)"
	case $1 in
		clang*)
			options+=" -Wno-unknown-warning-option"
			options+=" -Wno-ignored-optimization-argument"
			;;
	esac
	say "$options"
}

# make_extension DIR CC WARNINGS TARGET...
make_extension()
{
	local dir=$1 cc=$2 warnings=$3

	shift 3
	as_tester make -s -C "$dir" -j "$(nproc)" --no-print-directory \
		PG_CONFIG="$CPROBE_PG_CONFIG" CC="$cc" with_llvm=no \
		COPT="$warnings $(compiler_options "$cc")" "$@"
}

# build_with CC: build in a copy of its own, CPROBE_WORK/build-CC.
build_with()
{
	local cc=$1 dir=$CPROBE_WORK/build-$1

	copy_tree "$CPROBE_TREE" "$dir"
	give_to_tester "$dir"
	check build "$cc $CPROBE_WARNINGS" make_extension "$dir" "$cc" \
		"$CPROBE_WARNINGS" all || true
}

build_stage()
{
	local clang

	build_with gcc
	if clang=$(find_clang); then
		build_with "$clang"
	else
		record build skipped "clang is not here"
	fi
}

# install_stage: what was built with gcc goes into the private server, and the
# test-only extension with it.  Here a warning is no error: it has been counted
# as a failure already, and should not hide what the tests would say.
install_stage()
{
	local dir=$CPROBE_WORK/build-gcc kit=$CPROBE_WORK/build-gcc/test/testkit

	if [ ! -d "$dir" ]; then
		copy_tree "$CPROBE_TREE" "$dir"
		give_to_tester "$dir"
	fi
	check build "make install" make_extension "$dir" gcc "" all install ||
		return 1
	if [ -f "$kit/Makefile" ]; then
		check build "make install in test/testkit" \
			make_extension "$kit" gcc "" all install || return 1
	fi
}
