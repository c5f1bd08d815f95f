/* cmd_help.c - bloomery help: the first commands, all of them, or one of them */
#include "command.h"
#include "complete.h"
#include "values.h"

static bool every, words, completing, mdoc;
static const struct opt own_options[] = {
	{ 0, "all", NULL, "all commands, not only those that a newcomer needs", set_flag, &every },
	{ 0, "words", NULL, NULL, set_flag, &words },	/* each with what it means */
	/* for manual pages: see tools/man/pages.py */
	{ 0, "mdoc", NULL, NULL, set_flag, &mdoc },
	/* for completions: -- and the words on the line */
	{ 0, "complete", NULL, NULL, set_flag, &completing },
	{ 0 }
};

static int run(int count, char **operands)
{
	const struct command *command;

	if (completing)
		return complete(count, operands);
	if (count > 1)
		return misuse("help: '%s' is one argument too many: bloomery help [COMMAND]",
			      operands[1]);
	if (count && every)
		return misuse("help: --all lists the commands; leave out '%s' or --all",
			      operands[0]);
	command = count ? command_find(operands[0]) : NULL;
	if (count && !command)
		return command_unknown(operands[0]);
	if (words)
		help_words(command);
	else if (command && mdoc)
		help_mdoc(command);
	else if (command)
		help_command(command);
	else if (every)
		help_overview(stdout);
	else
		help_first(stdout);
	return DONE;
}

static const struct opt *const options[] = { own_options, NULL };

const struct command cmd_help = {
	.name = "help",
	.group = ON_PAPER,
	.summary = "show the first commands to know, all of them, or the options of one",
	.operands = "[COMMAND]",
	.least = 0, .most = -1,
	.example = "bloomery help claim",
	.options = options,
	.run = run,
};
