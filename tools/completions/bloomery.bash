# bloomery.bash - completion for bash. The program says what a word can become. Names of filters are bytes of other users: no
# word, of the line or of the answer, is ever expanded, but for ~/ at its beginning.

# A word of the line without its quotes: to `plain`, and to `open` the quote that does not end.
_bloomery_plain()
{
	local raw=$1 c

	plain='' open=''
	if [[ ${raw:0:2} == '~/' ]]; then
		plain=$HOME raw=${raw:1}
	fi
	while [[ -n $raw ]]; do
		c=${raw:0:1} raw=${raw:1}
		if [[ $open == "$c" && -n $open ]]; then
			open=''
		elif [[ -z $open && ( $c == \' || $c == \" ) ]]; then
			open=$c
		elif [[ $c == \\ && -z $open ]] || [[ $c == \\ && $open == \" && ${raw:0:1} == ['"\$`'] ]]; then
			plain+=${raw:0:1} raw=${raw:1}
		else
			plain+=$c
		fi
	done
}

# The words up to the cursor: = and : part them for readline, but only blanks part them for the shell.
_bloomery_words()
{
	local line=${COMP_LINE:0:COMP_POINT} blanks i

	words=()
	for ((i = 0; i <= COMP_CWORD; i++)); do
		blanks=${line%%[![:space:]]*} line=${line#"$blanks"}
		if [[ -n $blanks || $i == 0 ]]; then
			words+=('')
		fi
		words[-1]+=${COMP_WORDS[i]:0:${#line}}
		line=${line:${#COMP_WORDS[i]}}
	done
}

# One that goes where the quote `$2` is open, if any.
_bloomery_quote()
{
	case $2 in
	'') printf -v quoted %q "$1" ;;
	\') quoted=${1//\'/\'\\\'\'} ;;
	\") quoted=${1//\\/\\\\} quoted=${quoted//\"/\\\"} quoted=${quoted//\$/\\\$} quoted=${quoted//\`/\\\`} ;;
	esac
	[[ $2 != \" || $1 != *'!'* ]] && [[ -z $2 || $1 != *"$2" ]]	# history expansion; readline would not end the quote
}

_bloomery()
{
	local words plain open quoted program answer before quote i
	local -a typed=()

	_bloomery_words
	_bloomery_plain "${words[0]}"
	program=$plain
	for ((i = 1; i < ${#words[@]}; i++)); do
		_bloomery_plain "${words[i]}"
		typed+=("$plain")
	done
	quote=$open
	before=${words[-1]}	# what of the word stands before the part that readline replaces
	before=${before%"${2#[\'\"]}"}
	_bloomery_plain "${before%[\'\"]}"
	before=$plain
	mapfile -d '' -t answer < <("$program" help --complete -- "${typed[@]}" 2> /dev/null)
	case ${answer[0]-} in
	files) compopt -o default 2> /dev/null ;;
	folders) compopt -o dirnames 2> /dev/null ;;
	esac
	COMPREPLY=()
	for ((i = 1; i < ${#answer[@]}; i += 2)); do
		if _bloomery_quote "${answer[i]:${#before}}" "$quote"; then
			COMPREPLY+=("$quoted")
		fi
	done
}
complete -F _bloomery bloomery
