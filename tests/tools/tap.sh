# tap.sh - what the tests of the command share; each function of a test file that begins a line is a test, its name a
# true sentence. It runs in a folder and a store of its own, and fails with its first command that fails.
#
# A program that is missing fails the test that calls it, wherever the call is: behind `not` or `if !`, in a pipe, in $( ) or <( ), or before
# `|| true`. A test that can do without a program asks `command -v` first. A pipe fails if any of its commands fails.
set -u -o pipefail
export TAP_MISSING= TAP_TEST=	# while a test runs: the file for the names of missing programs, and the test's process

misses()
{
	[ -n "$TAP_MISSING" ] || return 0
	echo "$1" >> "$TAP_MISSING"
	kill -s TERM "$TAP_TEST"
}

# bash calls this for a program that is not found, in a process of its own.
command_not_found_handle()
{
	echo "$1: command not found" >&2
	misses "$1"
	return 127
}
export -f misses command_not_found_handle

# Programs that start others: 127 says that the other is missing.
starts_another()
{
	local code=0
	command "$@" || code=$?
	[ $code != 127 ] || misses "a program of: $*"
	return $code
}
for starter in bash chroot env flock nice setarch setpriv setsid sh stdbuf timeout unshare xargs; do
	eval "$starter() { starts_another $starter \"\$@\"; }"
done

# With -q, too, it reads all of a pipe: what writes there would else end by SIGPIPE in some runs.
# GNU grep stops early if it writes to /dev/null, but not if it writes to /dev/zero.
grep()
{
	local arg before='' quiet='' args=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		arg=$1
		shift
		if [[ $arg == -[!-]* && $arg == *q* && $before != -e ]]; then
			arg=${arg//q/} quiet=yes
			[ "$arg" != - ] || continue
		fi
		args+=("$arg") before=$arg
	done
	if [ "$quiet" ]; then
		command grep "${args[@]}" "$@" > /dev/zero
	else
		command grep "${args[@]}" "$@"
	fi
}

: "${BLOOMERY:?must be the path of the program under test}"
export LC_ALL=C.UTF-8 NO_COLOR=1

# The tests run in memory if there is space for 2 GiB, because most of them are not about disks. A script that needs a real disk (for its
# syncs, or for a file system that keeps its settings) sets TAP_DISK=1 before it reads this file.
tap_folder=${TMPDIR:-/tmp}
if [ -z "${TMPDIR:-}${TAP_DISK:-}" ] && [ -w /dev/shm ]; then
	read -r tap_blocks tap_bytes <<< "$(stat -f -c '%a %S' /dev/shm 2> /dev/null)"
	[ $((${tap_blocks:-0} * ${tap_bytes:-0} >> 31)) = 0 ] ||
		command grep -q '^[^ ]* /dev/shm [^ ]* [^ ]*noexec' /proc/mounts || tap_folder=/dev/shm
fi
unset XDG_DATA_HOME

# Not one that stands before it in the PATH only to choose among several.
[ ! -x /usr/bin/python3 ] || hash -p /usr/bin/python3 python3

# A name and not a function, because a function starts one process more in each pipe and each $( ).
hash -p "$BLOOMERY" bloomery

# Can no pseudo terminal be had, as in a chroot without /dev/pts? `no_terminal && return` skips a test.
no_terminal()
{
	python3 -c 'import os, pty, sys
try: os.close(pty.openpty()[0])
except OSError as e: sys.exit(str(e))' 2> no-terminal && return 1
	echo "# SKIP no pseudo terminal can be had: $(< no-terminal)"
}

# Can this process become no other user, because it is not root, or root of a user namespace that has no other? Says which.
no_other_user()
{
	[ "$(id -u)" = 0 ] || { echo 'only root can become another user'; return 0; }
	# `command`, because setpriv ends with 127 as well where it may not change the user.
	command setpriv --reuid 65534 --regid 65534 --clear-groups true 2>&1 && return 1
	return 0
}

# With $TAP_LATE what writes to a pipe comes late, as it may on a busy machine. A reader that does not wait for it, but should, ends
# before, so the writer dies by SIGPIPE and fails the pipe.
if [ -n "${TAP_LATE:-}" ]; then
	late() { [ "$BASHPID" = "${TAP_TEST:-}" ] || [ ! -p /dev/stdout ] || command sleep 0.04; }
	echo() { late; builtin echo "$@"; }
	printf() { late; builtin printf "$@"; }
	seq() { late; command seq "$@"; }
	cat() { late; command cat "$@"; }
fi

# Processes are what the tests spend their time on, so the checks below start none, but for a pipe.

# Does the command exit with that code, with one line on stderr if it is 2 or 64?
exits()
{
	local want=$1 got=0 lines
	shift
	"$@" > exits.out 2> exits.err || got=$?
	# At the end of a pipe it reads what is left, or the writer may die by SIGPIPE. In the test's own shell stdin is not
	# its own: in a loop it holds the lines of the rounds to come.
	[ ! -p /dev/stdin ] || [ "$BASHPID" = "$TAP_TEST" ] || cat > /dev/null
	mapfile lines < exits.err
	[ "$got" = "$want" ] || { echo "exit $got, not $want: $*"; cat exits.err; return 1; }
	case $want in
	2 | 64)
		[ ${#lines[@]} = 1 ] || { echo "${#lines[@]} lines on stderr: $*"; cat exits.err; return 1; }
		[[ ${lines[0]} == 'bloomery: '*$'\n' ]] || { echo "stderr: ${lines[0]}"; return 1; }
	esac
}

# A command behind a ! fails no test, since `set -e` looks away; one behind `not` does. It must say no, not be missing or killed.
not()
{
	local code=0
	"$@" || code=$?
	[ $code != 0 ] && [ $code -lt 126 ]
}

# What writes to a reader that leaves, as `head` does: only its death by SIGPIPE is forgiven.
may_be_cut()
{
	local code=0
	"$@" || code=$?
	[ $code = 0 ] || [ $code = 141 ] || return $code
}

# Does the last message of `exits` contain this?
says()
{
	local message
	message=$(< exits.err)
	[[ $message == *"$1"* ]] || { echo "no '$1' in: $message"; return 1; }
}

same()
{
	[ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }
}

# json EXPRESSION: the value of a Python expression about the objects on stdin: j is the first, all is the list of them.
# holds EXPRESSION: is it true?
#
# One Python answers all questions of a script, because to start one for each takes longer than most tests do otherwise. The steps:
#
# 1. The shell that asks takes the byte out of the pipe $json_turn, so only one asks at a time.
# 2. It writes its process and the expression into $json_ask. Python opens the stdin of that process and reads it to its end.
# 3. Python writes "PROCESS:CODE:ANSWER" and a zero byte into $json_answer. The shell reads it and puts the byte back.
#
# What feeds a question must not ask one itself: it would wait for its own reader. A question that waits too long fails.
json_server='
import json, math, sys, traceback
sys.stdout.reconfigure(errors="backslashreplace")
def no(x): raise ValueError(x)
for question in sys.stdin:
    process, expression = question.split(" ", 1)
    code = 0
    try:
        with open("/proc/%s/fd/0" % process, encoding="utf-8", errors="surrogateescape") as objects:
            all = [json.loads(line, parse_constant=no) for line in objects]
        r = eval(expression, {"all": all, "j": all[0] if all else None, "json": json, "math": math, "sys": sys})
        answer = r if not isinstance(r, bool) else str(r).lower()
    except Exception:
        code, answer = 1, traceback.format_exc()
    print(process, code, answer, sep=":", end="\0", flush=True)'
json_ask= json_answer= json_turn=
if [[ $(< "$0") == *@(json|holds)[[:space:]]* ]] && command -v python3 > /dev/null; then
	coproc json_python { exec python3 -IS -c "$json_server" 2> /dev/null; }
	exec {json_ask}>&"${json_python[1]}" {json_answer}<&"${json_python[0]}" {json_turn}<> <(:)
	printf . >&"$json_turn"
fi

# The answer is put into $answer.
asked()
{
	local turn reply process='' code=1
	answer=
	[ "$json_ask" ] || { misses python3; return 127; }
	if ! read -r -t 200 -N 1 -u "$json_turn" turn; then
		echo 'another question about JSON did not end' >&2
		return 1
	fi
	printf '%s\n' "$BASHPID ${1//$'\n'/ }" >&"$json_ask"
	while [ "$process" != $BASHPID ]; do
		IFS= read -r -t 100 -d '' -u "$json_answer" reply || break
		process=${reply%%:*} answer=${reply#*:}
		code=${answer%%:*} answer=${answer#*:}
	done
	printf %s "$turn" >&"$json_turn"
	[ "$code" = 0 ] || { echo "${answer:-python3 gives no answer}" >&2; return 1; }
}

json()
{
	local answer
	asked "$1" && printf '%s\n' "$answer"
}

holds()
{
	local answer
	asked "$1" && same "$answer" true
}

# The library's random numbers are the same in every run of a test, if $SAME_RANDOM says by what.
draw_the_same()
{
	[ -e "${SAME_RANDOM:-}" ] || return 0
	mkdir "$top/runs"
	export LD_PRELOAD=$SAME_RANDOM SAME_RANDOM_RUNS=$top/runs
}

prove_all()
{
	local tests count=0 failed=0 code name skip lacks line
	mapfile -t tests < <(sed -n 's/^\([a-z][a-z0-9_]*\)() {$/\1/p' "$0")
	if grep -nE '(^|;|&&|[|][|]|then|do)[[:space:]]*! ' "$0"; then
		echo "Bail out! ${0##*/} has commands behind a !, which never fail: it is to say \`not\`"
		return 1
	fi
	if grep -nE '[|] *head ' "$0" | grep -v may_be_cut; then
		echo "Bail out! ${0##*/} has pipes to \`head\`, which ends what writes there in some runs: may_be_cut, or sed -n 1,Np"
		return 1
	fi
	if [ ${#tests[@]} = 0 ] || ! command -v "$BLOOMERY" > /dev/null || ! top=$(mktemp -d "$tap_folder/bloomery-test-XXXXXX"); then
		echo "Bail out! ${0##*/} has no tests, or sed, mktemp or $BLOOMERY is missing"
		return 1
	fi
	echo "1..${#tests[@]}"
	trap 'rm -rf "$top"' EXIT	# so $top must outlive this function
	for name in "${tests[@]}"; do
		count=$((count + 1))
		TAP_MISSING=$top/missing
		: > "$TAP_MISSING"
		mkdir "$top/$name"
		(
			TAP_TEST=$BASHPID
			set -e
			cd "$top/$name"
			export BLOOMERY_STORE=$PWD/store HOME=$PWD
			draw_the_same
			"$name"
		) > "$top/log" 2>&1 < /dev/null
		code=$?
		lacks=$(< "$TAP_MISSING")
		if [ -n "$lacks" ]; then
			echo "needed and missing: ${lacks//$'\n'/, }" >> "$top/log"
			code=127
		fi
		TAP_MISSING=
		if [ $code = 0 ]; then
			skip=	# of what is not installed here
			while IFS= read -r line; do
				[[ $line != '# SKIP '* ]] || { skip=${line#\# SKIP }; break; }
			done < "$top/log"
			echo "ok $count - ${name//_/ }${skip:+ # SKIP $skip}"
		else
			echo "not ok $count - ${name//_/ }"
			sed 's/^/# /' "$top/log" | head -50
			failed=$((failed + 1))
		fi
		rm -rf "${top:?}/$name" "$top/runs"
	done
	[ $failed = 0 ]
}
