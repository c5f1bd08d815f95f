/*
 * options.c - a command's tables of options, read by getopt_long, with our own words for what is
 * wrong
 */
#include "command.h"
#include "values.h"

#include <ctype.h>
#include <getopt.h>

const char *program = "bloomery";
bool json, quiet;
const struct opt json_option[] = {
	{ 0, "json", NULL, "one JSON object a line", set_flag, &json },
	{ 0 }
};
const struct opt quiet_option[] = {
	{ 'q', "quiet", NULL, "no progress, no warnings", set_flag, &quiet },
	{ 0 }
};

static bool help_wanted;
static const struct opt help_option[] = {
	{ 'h', "help", NULL, "show this", set_flag, &help_wanted },
	{ 0 }
};

enum { OPTIONS_MAX = 64, LONG_BASE = 0x100 };

struct parser {
	const struct opt *opts[OPTIONS_MAX];
	struct option longs[OPTIONS_MAX + 1];
	char shorts[2 * OPTIONS_MAX + 2];
	size_t count;
};

static void take_table(struct parser *p, const struct opt *table)
{
	size_t at = strlen(p->shorts);

	for (; table->name && p->count < OPTIONS_MAX; table++) {
		p->opts[p->count] = table;
		p->longs[p->count] = (struct option){ table->name, table->value ? required_argument
						      : no_argument, NULL,
						      (int)(LONG_BASE + p->count) };
		if (table->letter) {
			p->shorts[at++] = table->letter;
			if (table->value)
				p->shorts[at++] = ':';
		}
		p->count++;
	}
}

static const struct opt *by_code(const struct parser *p, int code)
{
	if (code >= LONG_BASE)
		return p->opts[code - LONG_BASE];
	for (size_t i = 0; i < p->count; i++)
		if (p->opts[i]->letter == code)
			return p->opts[i];
	return NULL;
}

/*
 * getopt_long leaves in optopt a letter it does not know, an option that wanted other arguments, or
 * 0.
 */
static int wrong(const struct parser *p, const char *command, int code, const char *word)
{
	const struct opt *opt = by_code(p, optopt);

	if (!command && code == ':' && opt)
		return misuse("--%s needs a value, %s; see '%s help'", opt->name, opt->value,
			      program);
	if (!command)
		return misuse("%s stands where a command is due; options follow their command, see "
			      "'%s help'", word, program);
	if (code == ':' && opt)
		return misuse("%s: %s needs a value, %s; see '%s help %s'", command, word,
			      opt->value, program, command);
	if (opt && optopt >= LONG_BASE)
		return misuse("%s: --%s takes no value; see '%s help %s'", command, opt->name,
			      program, command);
	if (optopt)
		return misuse("%s: unknown option -%c; see '%s help %s'", command,
			      isprint(optopt) ? optopt : '?', program, command);
	return misuse("%s: unknown or ambiguous option %s; see '%s help %s'", command, word,
		      program, command);
}

/*
 * The word of an option that getopt_long has just taken. Its value is the next word, or follows
 * '='.
 */
static const char *word_taken(char **argv)
{
	bool value_apart = optarg && optarg == argv[optind - 1];

	return argv[optind - (value_apart ? 2 : 1)];
}

static bool has_option(const struct command *command, const char *name, size_t len)
{
	for (size_t i = 0; command->options[i]; i++)
		for (const struct opt *opt = command->options[i]; opt->name; opt++)
			if (opt->help && strlen(opt->name) == len && !strncmp(opt->name, name, len))
				return true;
	return false;
}

/*
 * getopt_long takes the beginning of a long option for the option, unless two begin so. But the
 * whole name of an option that another command has means that option: --key is not --key-file.
 */
static int refuse_anothers(const char *command, const struct opt *opt, const char *word)
{
	size_t len = strcspn(word, "=");
	const struct command *other;

	if (strncmp(word, "--", 2) || len - 2 == strlen(opt->name))
		return DONE;
	for (size_t i = 0; (other = command_at(i)); i++)
		if (has_option(other, word + 2, len - 2))
			return misuse("%s: %.*s is an option of other commands, like '%s'; for "
				      "--%s write it in full", command, (int)len, word, other->name,
				      opt->name);
	return DONE;
}

/* command NULL: what stands before it. */
static int parse(const char *command, const struct opt *const *tables, int argc, char **argv)
{
	struct parser p = { .shorts = "+:" };
	/* + stops at the first word that is no option */
	const char *shorts = command ? p.shorts + 1 : p.shorts;
	const struct opt *opt;
	int code, r;

	for (size_t i = 0; tables[i]; i++)
		take_table(&p, tables[i]);
	if (command)
		take_table(&p, help_option);
	opterr = optind = 0;	/* begin anew */
	while ((code = getopt_long(argc, argv, shorts, p.longs, NULL)) != -1) {
		opt = code == ':' && optopt >= LONG_BASE ? by_code(&p, optopt) : NULL;
		if (opt && command && refuse_anothers(command, opt, argv[optind - 1]))
			return USAGE;
		if (code == '?' || code == ':')
			return wrong(&p, command, code, argv[optind - 1]);
		opt = by_code(&p, code);
		r = code < LONG_BASE ? DONE
			: refuse_anothers(command ? command : program, opt, word_taken(argv));
		if (r)
			return r;
		r = opt->set(opt, optarg);
		if (r)
			return r;
	}
	return DONE;
}

int skip_options(const struct opt *const *tables, int *argc, char ***argv)
{
	int code = parse(NULL, tables, *argc, *argv);

	*argc -= optind;
	*argv += optind;
	return code;
}

int run_command(const struct command *command, int argc, char **argv)
{
	int code = parse(command->name, command->options, argc, argv), count = argc - optind;

	if (code)
		return code;
	if (help_wanted) {
		help_command(command);
		return DONE;
	}
	if (count < command->least)
		return misuse("%s: not enough arguments: %s %s %s; see '%s help %s'",
			      command->name, program, command->name,
			      command->operands, program, command->name);
	if (command->most >= 0 && count > command->most)
		return misuse("%s: '%s' is one argument too many: %s %s %s; see '%s help %s'",
			      command->name, argv[optind + command->most], program,
			      command->name, command->operands, program, command->name);
	return command->run(count, argv + optind);
}
