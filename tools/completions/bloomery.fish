# bloomery.fish - completion for fish. The program says what a word can become; fish quotes it.
function __bloomery_words
	set -l typed (commandline -opc) (commandline -ct | string unescape)
	set -l answer ($typed[1] help --complete -- $typed[2..-1] 2>/dev/null | string split0)
	for i in (seq 2 2 (count $answer))
		set -l next (math $i + 1)
		printf '%s\t%s\n' $answer[$i] $answer[$next]
	end
	switch "$answer[1]"
		case files
			__fish_complete_path (commandline -ct)
		case folders
			__fish_complete_directories (commandline -ct)
	end
end
complete -c bloomery -f -a '(__bloomery_words)'
