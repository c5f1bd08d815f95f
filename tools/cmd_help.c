/* cmd_help.c - bloomery help: the commands, or one of them */
#include "command.h"
#include "values.h"

static bool words;
static const struct opt own_options[] = {
	{ 0, "words", NULL, NULL, set_flag, &words },	/* for completions */
	{ 0 }
};

static int run(int count, char **operands)
{
	const struct command *command = count ? command_find(operands[0]) : NULL;
	const char *nearest;

	if (count && !command) {
		nearest = command_nearest(operands[0]);
		return misuse("no command '%s'%s%s%s; 'bloomery help' lists them", operands[0], nearest ? "; did you mean '" : "",
			      nearest ? nearest : "", nearest ? "'?" : "");
	}
	if (words)
		help_words(command);
	else if (command)
		help_command(command);
	else
		help_overview(stdout);
	return DONE;
}

static const struct opt *const options[] = { own_options, NULL };

const struct command cmd_help = {
	.name = "help",
	.group = ON_PAPER,
	.summary = "show the commands, or the options of one",
	.operands = "[COMMAND]",
	.least = 0, .most = 1,
	.example = "bloomery help claim",
	.options = options,
	.run = run,
};
