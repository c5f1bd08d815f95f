# bloomery.fish - completion for fish; the words come from the program itself
function __bloomery_words
	set -l words (commandline -opc)
	switch $words[-1]
		case --kind
			bloomery kinds | string match -r '^\S+'
		case --hash
			bloomery hashes | string match -r '^\S+'
		case --scheme
			bloomery schemes | string match -r '^\S+'
		case --format
			bloomery formats | string match -r '^\S+'
		case '*'
			if test (count $words) -lt 2; or test $words[-1] = help
				bloomery help --words
			else if string match -q -- '-*' (commandline -ct)
				bloomery help --words $words[2] 2>/dev/null
			else
				bloomery ls 2>/dev/null
			end
	end
end
complete -c bloomery -n 'test (count (commandline -opc)) -lt 2' -f
complete -c bloomery -a '(__bloomery_words)'
