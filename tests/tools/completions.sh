#!/bin/bash
# completions.sh - what TAB does in the shells, also with names that are code for them
. "${0%/*}/tap.sh"
: "${TOOLS:?must be the folder of the sources of the program}"

# What each line becomes, in an interactive shell on a terminal.
bash_makes() { python3 "${0%/*}/press_tab.py" bash "$TOOLS/completions/bloomery.bash" "$BLOOMERY" "$@"; }
zsh_makes() { python3 "${0%/*}/press_tab.py" zsh "$TOOLS/completions/_bloomery" "$BLOOMERY" "$@"; }

# The words that fish offers for each line, without what they mean.
fish_offers()
{
	for line; do
		PATH=${BLOOMERY%/*}:$PATH fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$TOOLS/completions/bloomery.fish" "$line"
	done | cut -f1
}

missing()
{
	command -v "$1" > /dev/null && return 1
	echo "# SKIP $1 is not installed"
}

names=('$(touch${IFS}PWNED)' '`touch PWNED`' 'a b' "it's it" 'say "x" now' 'back\slash' '-dash' '~tilde' 'g*[ob]?' 'co:lon' 'eq=ual' 'ex!cl' '#hash'
	'da$HOME' ';touch PWNED' 'ümlaut')

make_names()
{
	for name in "${names[@]}"; do
		bloomery create -n 10 --sparse -- "$name"
	done
}

# The beginning of each name alone, as it is typed, and what the shell makes of it.
typed=('\$' '\`' 'a\ ' 'it' 'sa' 'ba' '\~' 'g' 'co:l' 'eq=u' 'ex' '\#' 'da' '\;' 'ü')

quoted_lines_name_the_filters()
{
	while read -r line; do
		eval "set -- $line"	# as the shell itself would, once the line is sent
		same "$#" 3
		printf '%s\n' "$3"
	done | sort > got
	printf '%s\n' "${names[@]}" | grep -v -- '^-' | sort > want
	cmp got want
	[ ! -e PWNED ]
}

bash_quotes_names_and_expands_none() {
	no_terminal && return
	make_names
	bash_makes "${typed[@]/#/bloomery add }" > lines
	quoted_lines_name_the_filters < lines
	same "$(bash_makes "bloomery add 'i" 'bloomery add "da' 'bloomery add "$' 'bloomery add -- -d')" \
		"$(printf '%s\n' "bloomery add 'it'\\''s it' " 'bloomery add "da\$HOME" ' 'bloomery add "\$(touch\${IFS}PWNED)" ' 'bloomery add -- -dash ')"
	[ ! -e PWNED ]
}

zsh_quotes_names_and_expands_none() {
	missing zsh && return
	no_terminal && return
	make_names
	zsh_makes "${typed[@]/#/bloomery add }" > lines
	quoted_lines_name_the_filters < lines
	same "$(zsh_makes 'bloomery add -- -d')" 'bloomery add -- -dash '
	[ ! -e PWNED ]
}

fish_offers_names_as_they_are() {
	missing fish && return
	make_names
	fish_offers 'bloomery drop ' | sort > got
	printf '%s\n' "${names[@]}" | grep -v -- '^-' | sort > want
	cmp got want
	same "$(fish_offers 'bloomery drop -- -d')" -dash
	[ ! -e PWNED ]
}

lines='bloomery cla
bloomery claim --ba
bloomery create x --kind bloc
bloomery create x --kind=bloc
bloomery create x --hash superf
bloomery create x --scheme enh
bloomery create x --format gua
bloomery add se
bloomery add --store ./other els
bloomery --store=./other add els
bloomery claim seen keys
bloomery create x -n se
bloomery help unio'
made='bloomery claim 
bloomery claim --batch 
bloomery create x --kind blocked 
bloomery create x --kind=blocked 
bloomery create x --hash superfast 
bloomery create x --scheme enhanced 
bloomery create x --format guava 
bloomery add seen 
bloomery add --store ./other elsewhere 
bloomery --store=./other add elsewhere 
bloomery claim seen keys.txt 
bloomery create x -n se
bloomery help union '

make_some()
{
	bloomery create seen -n 10; bloomery create keystone -n 10; bloomery create --store ./other elsewhere -n 10
	echo 1 > keys.txt
	mapfile -t all <<< "$lines"
}

bash_completes_what_stands_at_each_place() {
	no_terminal && return
	make_some
	same "$(bash_makes "${all[@]}")" "$made"
}

zsh_completes_what_stands_at_each_place() {
	missing zsh && return
	no_terminal && return
	make_some
	same "$(zsh_makes "${all[@]}")" "$made"
}

fish_completes_what_stands_at_each_place() {
	missing fish && return
	make_some
	same "$(fish_offers "${all[@]}")" "$(sed 's/.* \(.\)/\1/; /^se$/d; s/ $//' <<< "$made" | sed 's/.* //')"
}

the_program_lists_candidates_and_makes_nothing() {
	bloomery help --complete -- --store ./none add '' > out 2> err
	same "$(tr '\0' '|' < out)" 'files|'; same "$(cat err)" ''; [ ! -e none ]
	bloomery help --complete > out
	grep -qz '^claim$' out
	exits 1 bloomery help --complete -- nothing a
}

prove_all
