#!/bin/bash
# shell.sh - what shell tests share: a missing program, or a pipe that fails, fails the test that has it, and the console tells why
# shellcheck source=tap.sh
. "${0%/*}/tap.sh"
folder=$(cd "${0%/*}/.." && pwd)

# A test file with these tests in it; its exit code, and what it prints in `out`.
tried()
{
	local test number=0
	echo ". '$folder/tools/tap.sh'" > tried.sh
	for test; do
		number=$((number + 1))
		printf 'it_is_tried_%d() {\n%s\n}\n' $number "$test" >> tried.sh
	done
	echo prove_all >> tried.sh
	code=0; "$BASH" tried.sh > out 2>&1 < /dev/null || code=$?
}

# Does each of these tests fail?
fails()
{
	local number
	tried "$@"
	[ $code != 0 ] || { cat out; return 1; }
	for ((number = 1; number <= $#; number++)); do
		has "not ok $number - " || { echo "it does not fail: ${!number}"; cat out; return 1; }
	done
}

passes()
{
	local number
	tried "$@"
	[ $code = 0 ] || { cat out; return 1; }
	for ((number = 1; number <= $#; number++)); do
		has "ok $number - " || { echo "it fails: ${!number}"; cat out; return 1; }
	done
}

# Does a line of `out` begin so?
has()
{
	[[ $'\n'$(< out) == *$'\n'"$1"* ]]
}

a_missing_program_fails_its_test_wherever_it_is_called() {
	local calls
	mapfile -t calls <<-'END'
		not-there
		not not-there
		if ! not-there; then :; fi
		if not-there | grep -q x; then return 1; fi
		if seq 10 | not-there | grep -q x; then return 1; fi
		not-there | cat || true
		not-there || [ $? != 0 ]
		same "$(not-there | wc -l)" 0
		cmp <(not-there) /dev/null
		exits 127 not-there
		(not-there; true)
		not-there & wait
		bash -c 'not-there; true'
		bash -c 'bash -c "not-there | cat"'
		sh -c not-there || true
		env not-there || true
		env A=1 timeout 600 not-there || true
		not env not-there
		echo x | xargs not-there || true
		same "$(env not-there | wc -l)" 0
		f() { env "$@"; }; f not-there || true
	END
	fails "${calls[@]}"; same "$(grep -c '^# needed and missing: .*not-there' out)" ${#calls[@]}
}

a_test_may_ask_whether_a_program_is_there() {
	passes 'if command -v not-there > /dev/null; then return 1; fi' \
		'command -v not-there > /dev/null || { echo "# SKIP not-there is not installed"; return 0; }'
	grep -q '# SKIP not-there is not installed' out
}

a_pipe_fails_with_any_of_its_commands() {
	fails 'false | cat' \
		'same "$(false | echo x)" y' \
		'cat nosuch | wc -l | cat' \
		'seq 10 | grep -q x' \
		'may_be_cut false | head -1'
	passes 'not false | cat' \
		'for i in 1 2 3; do seq 300000 | grep -q 1; seq 300000 | grep -qx -e 2; done' \
		'may_be_cut yes | head -1 > first; same "$(cat first)" y'
}

not_takes_no_for_an_answer_and_nothing_else() {
	passes 'not false; not grep x /dev/null'
	fails 'not true' "not bash -c 'kill -SEGV \$\$'" 'not /nosuch/program'
}

a_check_fails_if_its_condition_does_not_hold() {
	fails 'exits 2 true' \
		'exits 0 false' \
		"exits 2 $BASH -c 'echo no >&2; exit 2'" \
		"exits 2 $BASH -c 'echo bloomery: a >&2; echo bloomery: b >&2; exit 2'" \
		"exits 2 $BASH -c 'printf \"bloomery: a\" >&2; exit 2'" \
		"exits 64 $BASH -c 'exit 64'" \
		"exits 2 $BASH -c 'echo bloomery: a >&2; exit 2'; says other" \
		'same 1 2' \
		'echo 1 | holds "j == 2"'
	passes "exits 2 $BASH -c 'echo bloomery: a >&2; exit 2'; says a" \
		'exits 0 true' \
		'echo 1 | holds "j == 1"'
}

what_hides_a_failure_is_no_test_at_all() {
	local line no=!
	for line in "$no true" "true; $no true" "if true; then $no true; fi" 'seq 10 | h''ead -1'; do
		tried "$line"; [ $code != 0 ]; grep -q '^Bail out!' out
	done
}

# The folder has only what tap.sh itself needs, and a program that answers yes to everything.
no_test_passes_without_the_programs_that_it_calls() {
	local program file files name limit number step=1 tried=0 lost='seq|wc|sort|cmp|od|tr|cut|awk|diff|dd|gzip|zstd|xargs|stat|touch|cp|mv|ln|chmod|truncate|mkfifo|base64|sha256sum|sleep'
	lost+='|md5sum|uniq|comm|tail|find|shuf|paste|nl|yes|tee|readlink|id|pkg-config|readelf|objdump|nm|cc|gcc'
	mkdir few; ln -s "$(type -P true)" few/bloomery; limit=$(type -P timeout)
	for program in bash sh sed grep head mktemp mkdir rm cat env; do ln -s "$(type -P $program)" few/$program; done
	for name in TAP TESTS TOOLS TABLE FRUIT PUZZLE SERVICES RUNS MANUAL BLACKLIST PEER DATA SPV BLOCK PEERS MESON BUILD PREFIX LIBDIR HEADER \
		USER_C CC ROOT CLUSTER PAGE EXAMPLES GROUPS_OF_CALLS; do export $name=/nosuch; done
	export TAP=$folder/tools/tap.sh TESTS=$folder TOOLS=$folder/../tools PAGES=/nosuch
	mapfile -t files < <(command grep -l '^prove_all' "$folder"/*/*.sh)
	[ ${#files[@]} -gt 30 ]
	[ "${BLOOMERY_TEST_SCALE:-full}" = full ] || step=8	# every eighth script
	for ((number = 0; number < ${#files[@]}; number += step)); do
		file=${files[number]}
		[[ ${file##*/} != @(shell|tap).sh ]] || continue
		PATH=$PWD/few BLOOMERY=$PWD/few/bloomery "$limit" 3000 "$BASH" "$file" > out 2>&1 < /dev/null || true
		tried=$((tried + 1)); not grep '^Bail out' out
		grep -qE '^not ok|# SKIP' out || { echo "${file##*/}: nothing fails"; return 1; }
		sed -n '/# SKIP/d; s/^ok [0-9]* - //p' out > passed
		while read -r name; do
			sed -n "/^${name// /_}() {\$/,/^}/p" "$file" > body
			grep -vE '^[[:space:]]*#' body > code || true
			if grep -nE "(^|[;|&({]|do|then|else)[[:space:]]*($lost)([[:space:]]|\$)" code; then echo "${file##*/}: $name"; return 1; fi
		done < passed
	done
	[ $tried -ge $((${#files[@]} / step - 2)) ]
}

every_script_begins_with_what_makes_it_so() {
	local file
	mapfile -t files < <(grep -rlE '^#!/bin/(ba)?sh' "$folder" "$folder"/../.ci "$folder"/../tools/quickstart)
	[ ${#files[@]} -gt 30 ]
	for file in "${files[@]}"; do
		grep -qE '^\. .*(TAP|tap\.sh|setup\.sh)|^exec python3' "$file" || { echo "$file"; return 1; }
	done
	for file in "$folder"/../tools/examples/*.sh; do grep -qx 'set -euo pipefail' "$file" || { echo "$file"; return 1; }; done
}

a_missing_program_ends_every_other_script() {
	local call
	for call in not-there 'if ! not-there | grep x; then echo on; fi' 'a=$(not-there | wc -l)' '! not-there' 'not-there || true'; do
		printf '. "%s/setup.sh"\n%s\necho on\n' "$folder" "$call" > script
		code=0; "$BASH" script > out 2> err || code=$?
		[ $code != 0 ] && [ ! -s out ] && grep -q 'not-there: command not found' err || { echo "$call"; cat out err; return 1; }
	done
}

the_program_uses_the_instruction_set_that_is_asked_for() {
	export BLOOMERY_SIMD=scalar; passes 'bloomery --version | grep -qw scalar'
}

the_console_tells_why_a_test_failed() {
	tried 'echo "this is why"; seq 3 > three; cmp three /dev/null'
	python3 - <<-'P'
		import json
		said = open('out').read()
		with open('testlog.json', 'w') as log:
		    for name, result, out, err in (('one', 'FAIL', said, ''), ('two', 'OK', 'ok 1 - fine\n# SKIP\n', ''),
		                                   ('three', 'ERROR', 'ok 1 - a\nlast words\n', 'on stderr\n'), ('four', 'ERROR', 'Bail out! why\n', '')):
		        print(json.dumps({'name': name, 'result': result, 'duration': 1, 'stdout': out, 'stderr': err}), file=log)
	P
	exits 1 python3 "$folder/count.py" .
	grep -qx '    # this is why' exits.out; grep -q '    # cmp: EOF on .*dev/null' exits.out; grep -qx '    not ok 1 - it is tried 1' exits.out
	grep -qx '    last words' exits.out; grep -qx '    on stderr' exits.out; grep -qx '    Bail out! why' exits.out; not grep fine exits.out
	same "$(tail -1 exits.out)" '2 passed, 3 failed, 0 skipped'
}

the_gate_repeats_the_reasons_before_and_after_a_failure() {
	sed -n '/^reasons()$/,/^}$/p' "$folder/../.ci/run" > functions; . ./functions
	log=$PWD
	{
		echo '# of another'; echo 'ok 1 - a'; echo '# the reason'; echo '# and more'; echo 'not ok 2 - b'; echo '# after it'
		seq 8; echo '# of the next'; echo 'ok 3 - c'
	} > said
	same "$(reasons)" "$(printf '# the reason\n# and more\nnot ok 2 - b\n# after it\n'; seq 7)"
}

long_work_shows_its_progress() {
	cat > script <<-END
		. "$folder/setup.sh"
		EVERY=0.1 underway 'doing this' bash -c 'echo half of it; until grep -q half out; do sleep 0.1; done' || exit 1
		underway 'doing that' bash -c 'echo the reason; exit 3' || exit \$?
	END
	code=0; "$BASH" script > out 2> err || code=$?
	same $code 3; same "$(cat err)" 'the reason'
	grep -qx 'doing this' out; grep -qE '^ +[0-9]+ s: half of it$' out; grep -qx 'doing that' out
}

the_readme_names_the_packages_of_the_build() {
	local named wanted
	named=$(sed -n 's/^apt-get install -y //p' "$folder/../README.md")
	wanted=$(. "$folder/setup.sh"; echo "$build_packages")
	same "$named" "$wanted"
}

prove_all
