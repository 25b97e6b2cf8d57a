# shellcheck shell=bash
#
# lint.sh: checks that read the source and need no server.

run_cppcheck()
{
	local version rc=0
	local options=(
		--quiet --error-exitcode=1 --inline-suppr --std=c11
		'--enable=warning,performance,portability'
		--suppress=missingInclude --suppress=missingIncludeSystem
		--suppress=nullPointerRedundantCheck
		--suppress=unknownMacro --suppress=unusedStructMember
		-i "$CPROBE_TREE/test/testkit"
		-I "$CPROBE_TREE/src"
	)

	# Macros of the server that decide how code reads; its headers would cost
	# minutes and complain about themselves.
	options+=(
		'-DPG_FUNCTION_INFO_V1(f)=' '-DPG_MODULE_MAGIC='
		'-DPG_MODULE_MAGIC_EXT(...)='
		'-DPGDLLEXPORT=' '-Dpg_attribute_noreturn()='
		'-DStaticAssertDecl(c,m)=' '-DStaticAssertStmt(c,m)='
		'-DPG_TRY()=do{' '-DPG_FINALLY()=' '-DPG_CATCH()='
		'-DPG_END_TRY()=}while(0)'
	)
	for version in 150000 170000 180000 190000; do
		cppcheck "${options[@]}" "-DPG_VERSION_NUM=$version" \
			"$CPROBE_TREE/src" || rc=1
	done
	return "$rc"
}

# Shell scripts are known by their first lines.
run_shellcheck()
{
	local file files=()

	while read -r file; do
		head -n 1 "$file" | grep -Eq '^#(!.*\b(ba)?sh$| shellcheck shell=)' &&
			files+=("$file")
	done < <(find "$CPROBE_TREE/scripts" "$CPROBE_TREE/tools" \
		"$CPROBE_TREE/bench" "$CPROBE_TREE/.ci" -type f 2>/dev/null)
	shellcheck --external-sources "${files[@]}"
}

# lint_with TOOL NAME COMMAND...: skipped, in words, where the tool is missing.
lint_with()
{
	local tool=$1

	shift
	if command -v "$tool" >/dev/null; then
		check lint "$@" || true
	else
		record lint skipped "$1: $tool is not installed"
	fi
}

lint_stage()
{
	check lint "layers and version tests" \
		"$CPROBE_TREE/tools/check-layers" || true
	check lint "length of files and functions" \
		"$CPROBE_TREE/tools/check-size" || true
	lint_with pg_bsd_indent "layout of C" "$CPROBE_TREE/tools/check-format"
	lint_with shellcheck "shellcheck" run_shellcheck
	if compgen -G "$CPROBE_TREE/src/*" >/dev/null; then
		lint_with cppcheck "cppcheck" run_cppcheck
	fi
}
