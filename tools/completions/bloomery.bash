# bloomery.bash - completion for bash; the words come from the program itself
_bloomery()
{
	local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words
	local IFS=$'\n'

	if ((COMP_CWORD == 1)) || [[ $before == help ]]; then
		words=$("$program" help --words | cut -f1)
	elif [[ $before == --kind ]]; then
		words=$("$program" kinds | awk '/^[^ ]/ { print $1 }')
	elif [[ $before == --hash ]]; then
		words=$("$program" hashes | awk '{ print $1 }')
	elif [[ $before == --scheme ]]; then
		words=$("$program" schemes | awk '/^[^ ]/ { print $1 }')
	elif [[ $before == --format ]]; then
		words=$("$program" formats | awk '/^[^ ]/ { print $1 }')
	elif [[ $current == -* ]]; then
		words=$("$program" help --words "${COMP_WORDS[1]}" 2>/dev/null | cut -f1)
	else
		words=$("$program" ls 2>/dev/null)
		compopt -o default
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _bloomery bloomery
