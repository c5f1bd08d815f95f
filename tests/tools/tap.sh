# tap.sh - what the tests of the command share; each function of a test file that begins a line is a test, its name a
# true sentence. It runs in a folder and a store of its own, and fails with its first command that fails.
set -u
: "${BLOOMERY:?must be the path of the program under test}"
export LC_ALL=C.UTF-8
unset XDG_DATA_HOME BLOOMERY_SIMD

# Not one that stands before it in the PATH only to choose among several.
[ ! -x /usr/bin/python3 ] || hash -p /usr/bin/python3 python3

bloomery() { "$BLOOMERY" "$@"; }

# Does the command exit with that code, with one line on stderr if it is 2 or 64?
exits()
{
	local want=$1 got=0 lines
	shift
	"$@" > exits.out 2> exits.err || got=$?
	lines=$(wc -l < exits.err)
	[ "$got" = "$want" ] || { echo "exit $got, not $want: $*"; cat exits.err; return 1; }
	case $want in
	2 | 64)
		[ "$lines" = 1 ] || { echo "$lines lines on stderr: $*"; cat exits.err; return 1; }
		grep -q '^bloomery: ' exits.err || { echo "stderr: $(cat exits.err)"; return 1; }
	esac
}

# A command behind a ! fails no test, since `set -e` looks away; one behind `not` does.
not()
{
	! "$@"
}

# Does the last message of `exits` contain this?
says()
{
	grep -qF -- "$1" exits.err || { echo "no '$1' in: $(cat exits.err)"; return 1; }
}

same()
{
	[ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }
}

# A Python expression about the objects on stdin: j is the first, all is the list of them.
json()
{
	python3 -c '
import json, math, sys
def no(x): raise ValueError(x)
all = [json.loads(line, parse_constant=no) for line in sys.stdin]
j = all[0] if all else None
r = eval(sys.argv[1])
print(r if not isinstance(r, bool) else str(r).lower())' "$1"
}

holds()
{
	same "$(json "$1")" true
}

prove_all()
{
	local tests count=0 failed=0 code name skip
	mapfile -t tests < <(sed -n 's/^\([a-z][a-z0-9_]*\)() {$/\1/p' "$0")
	if grep -nE '(^|;|&&|[|][|]|then|do)[[:space:]]*! ' "$0"; then
		echo "Bail out! ${0##*/} has commands behind a !, which never fail: it is to say \`not\`"
		return 1
	fi
	echo "1..${#tests[@]}"
	top=$(mktemp -d)
	trap 'rm -rf "$top"' EXIT	# so $top must outlive this function
	for name in "${tests[@]}"; do
		count=$((count + 1))
		mkdir "$top/$name"
		(
			set -e
			cd "$top/$name"
			export BLOOMERY_STORE=$PWD/store HOME=$PWD
			"$name"
		) > "$top/log" 2>&1 < /dev/null
		code=$?
		if [ $code = 0 ]; then
			skip=$(sed -n 's/^# SKIP //p' "$top/log" | head -1)	# of what is not installed here
			echo "ok $count - ${name//_/ }${skip:+ # SKIP $skip}"
		else
			echo "not ok $count - ${name//_/ }"
			sed 's/^/# /' "$top/log" | head -50
			failed=$((failed + 1))
		fi
		rm -rf "${top:?}/$name"
	done
	[ $failed = 0 ]
}
