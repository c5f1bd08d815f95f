#!/bin/bash
# bare.sh - in a bare Debian the lines of README, as they stand, end in a program that runs and a library that links
#
# usage: tests/install/bare.sh [--suite] [FOLDER]
#
# Needs root, and a mirror in this machine's apt configuration; exits 77 where it cannot run. debootstrap makes the system, FOLDER
# keeps it packed for the next run. --suite: tests/run must pass there, too (a quarter of an hour). The last line counts.
. "${BASH_SOURCE[0]%/*}/../setup.sh"
. "$root/tests/install/bare_system.sh"
suite=
if [ "${1:-}" = --suite ]; then
	suite=yes
	shift
fi
make_bare "$@"
mkdir "$top/bare/bloomery" || exit 2
git -C "$root" ls-files -z | tar -C "$root" --null -T - -cf "$top/tree.tar" && tar -C "$top/bare/bloomery" -xf "$top/tree.tar" || exit 2

# Types the lines in the bare system, in the folder of the repository.
typed() { in_bare /bloomery "$1"; }

# block HEADING LANGUAGE - the first block of that language below the heading of README
block()
{
	awk -v heading="## $1" -v fence="\`\`\`$2" '$0 == heading { on = 1 } in_it && /^```/ { exit } in_it { print }
		on && $0 == fence { in_it = 1 }' "$root/README.md"
}

quickstart_says_what_is_under_way()
{
	typed tools/quickstart > "$top/quickstart" 2>&1 || { cat "$top/quickstart"; return 1; }
	grep -qE '^ +[0-9]+ s: .' "$top/quickstart" && grep -q '^It worked' "$top/quickstart"
}

the_first_lines_print_what_they_say()
{
	block 'Try it' sh > "$top/lines"
	typed "$(cat "$top/lines")" > "$top/printed" || return 1
	sed -n 's/.* # \([0-9]\+\).*/\1/p' "$top/lines" > "$top/want"
	head -n "$(wc -l < "$top/want")" "$top/printed" | cmp - "$top/want" && [ "$(wc -l < "$top/want")" = 3 ]
}

the_installation_ends_in_a_program_that_runs()
{
	typed "apt-get update; $(block Install sh)" > "$top/installed" || { cat "$top/installed"; return 1; }
	tail -n 1 "$top/installed" | grep -qw -- -lbloomery
}

every_user_has_the_program()
{
	typed 'setpriv --reuid 65534 --regid 65534 --clear-groups env -i PATH=/usr/local/bin:/usr/bin:/bin bloomery --version'
}

# Each line of README that links must give a program that works, from an empty folder.
the_example_links_in_every_way()
{
	local line number=0
	typed 'apt-get install -y g++; mkdir /example' || return 1
	block 'From C' c > "$top/bare/example/example.c"
	block 'From C' sh > "$top/ways"
	while read -r line; do
		number=$((number + 1))
		echo "$line"
		typed "cd /example; rm -f a.out seen.blm; $line"$'\n./a.out | grep "first to see"' || return 1
	done < "$top/ways"
	[ $number = 5 ] || { echo "$number ways to link"; return 1; }
}

the_licence_the_format_and_the_examples_are_there()
{
	typed 'cd /usr/local/share/doc/bloomery; for f in LICENSE README.md format-spec.md examples/fruit.c; do cmp $f /bloomery/$(
		[ $f = examples/fruit.c ] && echo tools/)$f; done; cd /example; cc -o fruit /usr/local/share/doc/bloomery/examples/fruit.c -lbloomery; mkdir empty; ./fruit empty'
}

fish_and_bash_find_their_completions()
{
	typed 'apt-get install -y --no-install-recommends fish bash-completion
		fish -c "complete -C \"bloomery cla\"" > /example/fish; grep claim /example/fish
		bash --norc -i -c ". /usr/share/bash-completion/bash_completion; _completion_loader bloomery || [ \$? = 124 ]; complete -p bloomery" 2>&1'
}

under_another_prefix_the_program_runs_too()
{
	typed 'meson configure build --prefix=/opt/b --libdir=lib/deep; meson install -C build; mv /usr/local/lib /usr/local/hidden; ldconfig
		/opt/b/bin/bloomery --version; PKG_CONFIG_PATH=/opt/b/lib/deep/pkgconfig pkg-config --libs bloomery | grep "/opt/b/lib/deep"'
}

for name in quickstart_says_what_is_under_way the_first_lines_print_what_they_say the_installation_ends_in_a_program_that_runs \
	every_user_has_the_program the_example_links_in_every_way the_licence_the_format_and_the_examples_are_there \
	fish_and_bash_find_their_completions under_another_prefix_the_program_runs_too; do
	prove "${name//_/ }" $name
done
if [ -n "$suite" ]; then
	typed 'BUILD=build-suite tests/run' 2>&1 | tee "$top/said" | grep -v '^\['
	read -r p _ f _ s _ < <(tail -n 1 "$top/said")
	[[ "$p$f$s" =~ ^[0-9]+$ ]] || p=0 f=1 s=0
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
fi
count_tests
