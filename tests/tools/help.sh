#!/bin/bash
# help.sh - help, README and the manual pages say the same
. "${0%/*}/tap.sh"
: "${TOOLS:?must be the folder of the sources of the program}" "${PAGES:?must be the folder of the pages of its commands}"
man=$TOOLS/man/bloomery.1

all_verbs=$("$BLOOMERY" help --words | cut -f1)
verbs() { echo "$all_verbs"; }
widths='20 30 40 60 80 100'
[ "${BLOOMERY_TEST_SCALE:-full}" = full ] || widths='20 40 100'

# Has the text a line that begins so?
has_line()
{
	[[ $'\n'$1 == *$'\n'"$2"* ]] || { echo "no line begins with '$2'"; return 1; }
}

every_command_has_help() {
	local v text list
	list=$(bloomery help --all)
	[ "$(verbs | wc -l)" -gt 40 ]
	for v in $(verbs); do
		text=$(bloomery help "$v"); same "$text" "$(bloomery "$v" --help)"
		has_line "$text" "usage: bloomery $v "; has_line "$text"$'\n' $'Example\n'
		has_line "$list" "  $v "
	done
	same "$(bloomery --all)" "$list"
	exits 64 bloomery help --all claim; says 'leave out'; exits 64 bloomery --all claim
}

a_newcomer_sees_eight_commands_with_an_example_each() {
	bloomery help > first
	same "$(bloomery --help)" "$(< first)"
	code=0; bloomery 2> said || code=$?
	same $code 64; cmp first said
	[ "$(wc -l < first)" -le 24 ]	# of the smallest terminal
	sed -n 's/^  \([a-z]\+\) .*/\1/p' first > commands
	same "$(wc -l < commands)" 8
	while read -r v; do grep -q "^          .*bloomery $v" first || { echo "$v"; return 1; }; done < commands
}

# In the cells of a terminal, whose text is ASCII here. A shell can join no two lines within single quotes, so a word in them is whole.
help_is_never_wider_than_the_window() {
	local width v
	for width in $widths; do
		for v in '' --all $(verbs); do COLUMNS=$width bloomery help $v; done > all
		awk -v width=$width -v quote=\' 'length > width && (width >= 40 || !index($0, quote)) { print width ": " $0; bad = 1 } END { exit bad }' all
	done
	LC_ALL=C grep -n '[^ -~]' all > strange || :
	same "$(< strange)" ''
	COLUMNS=200 bloomery help claim > wide; COLUMNS=100 bloomery help claim | cmp - wide
	bloomery help claim > usual; COLUMNS=80 bloomery help claim | cmp - usual
	[ "$(wc -l < usual)" -gt "$(wc -l < wide)" ]
}

the_window_of_a_terminal_is_the_width_of_help() {
	no_terminal && return
	for width in 80 120; do
		python3 -S "${0%/*}/on_terminal.py" --columns $width "$BLOOMERY" help claim > seen
		COLUMNS=$width bloomery help claim | cmp - seen
	done
}

the_text_of_help_is_the_same_at_each_width() {
	local width v
	for width in $widths; do
		for v in $(verbs); do COLUMNS=$width bloomery help "$v"; done | sed 's/ \{0,1\}\\$//' | tr -d ' \n' > $width
		cmp 20 $width
	done
}

# Typed into a shell, the lines are the words of the example.
an_example_that_is_broken_into_lines_can_be_typed() {
	printf() { command printf '%s\n' "$@" >> words; }
	bloomery() { printf "$@"; }; ssh() { printf "$@"; }
	for width in 20 40 100; do
		rm -f words
		for v in export watch; do COLUMNS=$width "$BLOOMERY" help $v | sed '1,/^Example$/d' > lines; . ./lines; done
		mv words $width
	done
	cmp 20 100; cmp 40 100; [ "$(wc -l < 40)" -gt 9 ]
}

# A letter has one name, and a name one kind of value, in all commands. --with takes the options of a kind.
an_option_means_the_same_in_each_command() {
	for v in $(verbs); do
		COLUMNS=100 bloomery help "$v" | sed -nE 's/^  (-(.),|   ) --([a-z0-9-]+)( ([A-Z][A-Z|=.]*))?( .*|$)/\3 value:\5 letter:\2/p'
	done > all
	sed -E 's/value:([CFG]|DIR) letter:o/value:FILE letter:o/' all | sort -u > kinds
	[ "$(wc -l < kinds)" -gt 80 ]
	# these say how much is printed, with and without a letter where a command has another use for it;
	# the other two have in corpus the names that such tools give them
	cut -d' ' -f1 kinds | uniq -d | grep -vxE 'count|list|by|key' > differ || :
	same "$(< differ)" ''
	sed -n 's/^\(.*\) .* letter:\(.\)$/\2 \1/p' kinds | sort -u | cut -d' ' -f1 | uniq -d > differ
	same "$(< differ)" ''
	for v in $(verbs); do bloomery help --words "$v" | grep -P '^--quiet\t' || :; done | sort -u > quiet
	same "$(wc -l < quiet)" 1
}

options_that_commands_share_stand_together() {
	local v
	for v in $(verbs); do
		bloomery help "$v" | sed -n '/^Options$/,/^Example$/s/^  \(-., \|    \)\(--[a-z0-9-]*\).*/\2/p' | sort > shown
		bloomery help --words "$v" | sed -n 's/^\(--[a-z0-9-]*\)\t.*/\1/p' | sort | cmp - shown
		same "$(uniq -d shown)" ''
	done
	bloomery help claim | grep -E '^[A-Z]' > titles
	[ "$(sed -n '/^Options$/=' titles)" -lt "$(sed -n '/^A new filter$/=' titles)" ]
}

no_output_names_functions_or_fields_of_the_library() {
	for list in kinds 'kinds -l' hashes schemes formats; do
		bloomery $list; bloomery $list --json
	done > out
	for option in kind hash scheme format; do bloomery help --complete -- create --$option '' | tr '\0' '\n'; done >> out
	for kind in $(bloomery kinds --json | sed 's/^{"name": *"\([^"]*\)".*/\1/'); do
		bloomery create ./"$kind" -n 100 --kind "$kind" 2> /dev/null && bloomery info ./"$kind" && bloomery info ./"$kind" --json
	done >> out || true
	grep -q 'use `bloomery copy`' out; test "$(wc -l < out)" -gt 200
	not grep -E 'blm_|BLM_' out
}

every_command_and_no_other_stands_in_the_overview() {
	sed -n '/^\.Sh COMMANDS/,/^\.Sh JSON/p' "$man" > overview
	sed -n '/^\.It Xr bloomery-/{s/^\.It Xr bloomery-\(.*\) 1$/\1/;N;s/\n\(.*\)\.$/\t\L\1/;p}' overview | sort > got
	bloomery help --words | tr 'A-Z' 'a-z' | sort | diff - got
}

the_page_of_a_command_leads_to_another_page() {
	local v
	for v in $(verbs); do
		[ "$v" = help ] || has_line "$(sed -n '/^\.Sh SEE ALSO/,$p' "$PAGES/bloomery-$v.1")" '.Xr bloomery-'
	done
}

every_command_has_a_page_with_all_of_its_options() {
	local v word options
	for v in $(verbs); do
		options=$(sed -n 's/^\(\.It .*\)$/\1 /p' "$PAGES/bloomery-$v.1"; echo .)
		for word in $(bloomery help --words "$v" | cut -f1); do
			word=${word#-}	# .It Fl k , Fl -probes Ar K
			[[ $options == *" Fl $word "* ]] || { echo "$v -$word"; return 1; }
		done
		grep -qxF -- ".Nm bloomery-$v" "$PAGES/bloomery-$v.1"
	done
}

every_kind_stands_in_the_manual_and_in_the_format() {
	local kind
	bloomery kinds --json | sed 's/^{"name": *"\([^"]*\)".*/\1/' > kinds; [ "$(wc -l < kinds)" -gt 15 ]
	while read -r kind; do grep -qxF ".It Cm $kind" "$TOOLS/man/bloomery-kinds.7" || { echo "$kind"; return 1; }; done < kinds
	while read -r kind; do grep -q "^## Kind [0-9]*: $kind\$" "$TOOLS/../format-spec.md" || { echo "$kind"; return 1; }; done < kinds
}

# The sentence about these kinds, and the files that have a checkpoint image.
every_kind_with_a_checkpoint_image_is_in_three_pages() {
	local kind
	for kind in $(bloomery kinds --json | json '" ".join(k["name"] for k in all if {"add", "put"} & set(k["can"]))'); do
		bloomery create ./"$kind" -n 100 --kind "$kind" 2> err
		bloomery info ./"$kind" --json | json 'j["checkpoint_bytes"] > 0' | sed -n "s/true/$kind/p"
	done | sort > moving
	test -s moving
	for page in bloomery-kinds.7 bloomery-durability.7 bloomery.5; do
		tr '\n' ' ' < "$TOOLS/man/$page" |
			grep -oE 'with a checkpoint image \.Cm \([^)]*|(\.Cm [a-z-]+ (, |and )*)+move or cancel|the kinds \.Cm [^)]{0,60} that change all' > lists
		while read -r list; do
			while read -r kind; do [[ " $list " == *" $kind "* ]] || { echo "$page: $list: lacks $kind"; return 1; }; done < moving
		done < lists
		test -s lists
	done
}

the_manual_pages_are_well_formed() {
	local pages
	ls "$TOOLS"/man/*.[0-9] "$PAGES"/bloomery-*.1 "$PAGES"/libbloomery*.3 > pages
	grep -q bloomery-kinds.7 pages; grep -q libbloomery-keys.3 pages
	mapfile -t pages < pages
	# One start for all pages, because it takes longer than a page. The messages name the page.
	if command -v mandoc > /dev/null; then mandoc -Tlint -W warning "${pages[@]}"; fi
	if command -v groff > /dev/null; then same "$(groff -mandoc -Tutf8 -ww "${pages[@]}" 2>&1 > /dev/null)" ''; fi
}

every_manual_page_is_installed_and_its_references_exist() {
	local page
	sed -n "/^manual_pages = /,/]/s/'/\n/gp" "$TOOLS/meson.build" | grep '^bloomery.*[.][0-9]$' | sort > installed
	(cd "$TOOLS/man" && ls ./*.[0-9]) | cut -c3- | sort | cmp - installed
	sed -n 's/^\.\(It \)\?Xr (\? \?\(\(lib\)\?bloomery[a-z-]*\|blm_[a-z_]*\) \([0-9]\).*/\2.\4/p' "$TOOLS"/man/*.[0-9] "$PAGES"/*.[0-9] | sort -u > named
	grep -q blm_claim.3 named
	sed -n 's/.*`\(\(lib\)\?bloomery[a-z-]*\)(\([0-9]\))`.*/\1.\3/p' "$TOOLS/../README.md" >> named
	[ "$(wc -l < named)" -gt 10 ]
	while read -r page; do [ -e "$TOOLS/man/$page" ] || [ -e "$PAGES/$page" ] || { echo "no $page"; return 1; }; done < named
}

# The commands as they stand in the page; scp is a copy, and the other machine another store.
the_everyday_tasks_of_the_examples_work() {
	local data=$TOOLS/../tests/format/data
	sed -n '/^[.]Sh EVERYDAY/,/^[.]Sh LARGE/p' "$TOOLS/man/bloomery-examples.7" | sed -n '/^[.]Bd/,/^[.]Ed/{/^[.]/d;p}' | sed 's/^scp .*/export BLOOMERY_STORE=$PWD\/there/' > tasks
	[ "$(wc -l < tasks)" -ge 25 ]
	seq 1000 > urls; cp urls list; cp $data/redisbloom/rdb-dump-50.bin seen.dump; cp $data/guava/p2.guava.bin theirs.bin
	bloomery create blacklist -n 10
	(PATH=${BLOOMERY%/*}:$PATH; bash -e tasks) > printed 2> said || { cat said; return 1; }
	same "$(cat first.1 first.2 | sort -n | cmp - urls)" ''
	same "$(head -n 50 $data/keys/insert.txt | bloomery test redis-seen -c)" 50
	[ -s commands ]; cmp ours.bin theirs.bin; [ -s bloomery.prom ]; [ -s report.html ]
	same "$(bloomery test blacklist -c list)" 1000
	same "$(bloomery info seen --store there --json | json 'j["sealed"]')" true
	bloomery template seen today2; bloomery compare seen today2 > out
	exits 2 bloomery compare seen crawl; says 'differ in'
	rm -r store/catalog; exits 2 bloomery ls; says 'verify --repair'
	bloomery verify --repair > out; bloomery ls | grep -qx blacklist
}

# The commands as they stand in the page.
a_backup_of_a_store_comes_back_whole() {
	local page=$TOOLS/man/bloomery.5
	seq 1000 | bloomery claim 'my seen' --store DIR --create -n 1000 -p 0.05 > claimed
	bloomery create secret --store DIR -n 1000 --untrusted
	bloomery add secret --store DIR --key 1
	seq 2000 4000 | bloomery test 'my seen' --store DIR > wrong; [ "$(wc -l < wrong)" -gt 20 ]
	bloomery allow add 'my seen' --store DIR wrong
	mkdir BACKUP
	sed -n '/^cp -a DIR/,/^[.]Ed/p' "$page" | sed '$d' > lines; (PATH=${BLOOMERY%/*}:$PATH; bash -e lines)
	sed -n '/^mkdir NEW/,/^[.]Ed/p' "$page" | sed '$d' > lines; (PATH=${BLOOMERY%/*}:$PATH; bash -e lines) > printed; grep -q 'made anew' printed
	same "$(bloomery ls --store NEW)" "$(bloomery ls --store DIR)"
	same "$(bloomery allow list 'my seen' --store NEW | sort)" "$(sort wrong)"
	same "$(seq 4000 | bloomery test 'my seen' --store NEW)" "$(seq 4000 | bloomery test 'my seen' --store DIR)"
	same "$(bloomery test secret --store NEW --key 1)" 1
	bloomery verify --store NEW
}

every_function_of_the_library_has_its_page() {
	local name page
	sed -n 's/\(blm_[a-z0-9_]*\);/\n\1\n/gp' "$TOOLS/../lib/bloomery.map" | grep '^blm_' | sort > functions
	[ "$(wc -l < functions)" -gt 100 ]
	(cd "$PAGES" && grep -HE '^[.]Fo ' lib*.3) | sed 's/\(.*\):[.]Fo \(.*\)/\2 .so man3\/\1/' | sort > declared
	while read -r name; do
		read -r page < "$PAGES/$name.3"
		echo "$name $page"
	done < functions | diff declared -
	sed -nE 's/^[.]Nm (blm_[a-z0-9_]*)( ,)?$/\1/p' "$PAGES"/lib*.3 | sort | diff - functions
	sed -n '/^[.]Ss /s/\(blm_[a-z0-9_]*\)()/\n\1\n/gp' "$PAGES"/lib*.3 | grep '^blm_' | sort | diff - functions
}

the_examples_in_help_are_commands_that_parse() {
	for v in $(verbs); do
		bloomery help "$v" | sed '1,/^Example$/d' | grep -q "bloomery $v"
	done
}

the_first_lines_of_the_readme_print_what_they_say() {
	mkdir build; ln -s "${BLOOMERY%/*}" build/tools
	sed -n '/^## Try it/,/^## /p' "$TOOLS/../README.md" | sed -n '/^```sh$/,/^```$/p' | sed '1d;$d' > lines
	bash -e lines > printed
	sed -n 's/.* # \([0-9]\+\).*/\1/p' lines > want; same "$(wc -l < want)" 3
	sed -n 1,3p printed | cmp - want
}

# The lines behind `$ ` are typed in one shell; everything else is what they print.
the_tasks_of_the_readme_print_what_they_say() {
	mkdir tests; ln -s "$TOOLS/../tests/exchange" tests/exchange
	sed -n '/^## Tasks/,/^## From C/p' "$TOOLS/../README.md" | sed -n '/^```console$/,/^```$/p' | sed '/^```/d' > session
	sed -n 's/^\$ //p' session > lines; [ "$(wc -l < lines)" -gt 8 ]
	PATH=${BLOOMERY%/*}:$PATH bash -e lines > printed
	grep -v '^\$ ' session | cmp - printed
}

prove_all
