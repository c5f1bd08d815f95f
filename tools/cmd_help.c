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

/* Words that people look up here, too. */
static const char *page_about(const char *name)
{
	struct blm_kind_info kind;
	struct blm_hash_info hash;
	struct blm_format_info format;

	for (size_t i = 0; blm_kind_list(i, &kind) == 0; i++)
		if (!strcmp(name, kind.name))
			return "a kind of filter; see 'bloomery kinds -l' and bloomery-kinds(7)";
	for (size_t i = 0; blm_format_list(i, &format) == 0; i++)
		if (!strcmp(name, format.name))
			return "a file format; see 'bloomery formats' and bloomery-formats(7)";
	for (size_t i = 0; blm_hash_list(i, &hash) == 0; i++)
		if (!strcmp(name, hash.name))
			return "a hash; see 'bloomery hashes' and bloomery-kinds(7)";
	return NULL;
}

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
	if (count && !command && page_about(operands[0]))
		return misuse("help: '%s' is no command but %s", operands[0],
			      page_about(operands[0]));
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
	.summary = "show the commands that a newcomer needs, all commands, or the options of one",
	.operands = "[COMMAND]",
	.least = 0, .most = -1,
	.example = "bloomery help claim",
	.options = options,
	.run = run,
};
