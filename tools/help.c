/* help.c - help, made from the commands' own tables */
#include "command.h"
#include "combine.h"
#include "durable.h"
#include "foreign.h"
#include "keys.h"
#include "load.h"
#include "params.h"
#include "place.h"
#include "progress.h"
#include "stream.h"
#include "output.h"
#include "wrap.h"

#include <ctype.h>
#include <string.h>

/* In fewer columns, what a word means is below the word, not behind it. */
enum { NARROW = 40 };

/* Is there an option of this name in a table before this one? Then that one is taken. */
static bool is_hidden(const struct command *command, size_t table, const struct opt *opt)
{
	for (size_t i = 0; i < table; i++)
		for (const struct opt *other = command->options[i]; other->name; other++)
			if (!strcmp(other->name, opt->name))
				return true;
	return !opt->help;
}

/* ---- The commands ---- */

static const char *const titles[GROUPS] = {
	[ON_KEYS] = "Keys",
	[ON_FILTERS] = "Filters",
	[ON_SETS] = "Sets",
	[ON_STORES] = "The store",
	[ON_PAPER] = "What there is",
};

/* What a newcomer needs, in the order of need. */
static const char *const first_commands[] = {
	"claim", "test", "info", "ls", "create", "add", "build", "plan",
};

static void heading(FILE *out, const char *text)
{
	fputc('\n', out);
	begin_colour(out, STRONG);
	if (strlen(text) > text_width()) {
		print_wrapped(out, text, 0, 2, "");
		end_colour(out);
		return;
	}
	fputs(text, out);
	end_colour(out);
	fputc('\n', out);
}

static void paragraph(FILE *out, const char *text)
{
	fputc('\n', out);
	print_wrapped(out, text, 0, 0, "");
}

static void usage_line(FILE *out)
{
	fputc('\n', out);
	print_wrapped(out, "usage: bloomery COMMAND [OPTION...] ARGUMENT...", 0, 8, "");
}

/* A command, and what it is for: in its line, or below it in a narrow window. */
static void print_summary(FILE *out, const char *name, int columns, const char *words,
			  unsigned indent)
{
	if (text_width() < NARROW) {
		fprintf(out, "  %s\n    ", name);
		print_wrapped(out, words, 4, 4, "");
		return;
	}
	fprintf(out, "  %-*s", columns, name);
	print_wrapped(out, words, 2 + (unsigned)columns, indent, "");
}

void help_first(FILE *out)
{
	const unsigned at = text_width() < NARROW ? 4 : 10;
	char words[160];
	size_t count = 0;

	print_wrapped(out, "bloomery: filters of the Bloom family in memory-mapped files that "
		      "many processes share", 0, 0, "");
	usage_line(out);
	fputc('\n', out);
	for (size_t i = 0; i < ARRAY_LEN(first_commands); i++) {
		const struct command *command = command_find(first_commands[i]);

		/* the exit codes, behind a semicolon, are for later */
		snprintf(words, sizeof(words), "%.*s", (int)strcspn(command->summary, ";"),
			 command->summary);
		print_summary(out, command->name, 8, words, 10);
		fprintf(out, "%*s", (int)at, "");
		print_wrapped(out, command->example, at, at + 2, " \\");
	}
	while (command_at(count))
		count++;
	snprintf(words, sizeof(words), "'bloomery help COMMAND' shows the options of a command, "
		 "'bloomery help --all' all %zu commands.", count);
	paragraph(out, words);
}

void help_overview(FILE *out)
{
	print_wrapped(out, "bloomery: filters of the Bloom family in memory-mapped files that "
		      "many processes share", 0, 0, "");
	usage_line(out);
	for (int group = 0; group < GROUPS; group++) {
		heading(out, titles[group]);
		for (size_t i = 0; command_at(i); i++) {
			if ((int)command_at(i)->group != group)
				continue;
			print_summary(out, command_at(i)->name, 11, command_at(i)->summary, 15);
		}
	}
	paragraph(out, "A filter F is a path if it has a slash, else a name in the store: --store "
		  "DIR, $BLOOMERY_STORE, or ~/.local/share/bloomery. Keys are lines of FILEs or of "
		  "standard input, or come by --key KEY. Numbers: 10k, 1.5m, 1e6, 4Mi.");
	paragraph(out, "Exit status: 0 yes or done, 1 no, 2 failed, 64 misused. 'bloomery help "
		  "COMMAND' shows the options of a command, 'bloomery --version' the version.");
}

/* ---- One command ---- */

/*
 * The options that a command shares with others, by what they are about. A command's own come
 * first, because they are what it is for.
 */
static const struct shared {
	const char *title;
	const struct opt *tables[8];
} shared[] = {
	{ "A new filter", { size_options, make_options, file_options, create_options, mode_option,
			    hash_key_options } },
	{ "Keys", { key_options, line_options, row_options, value_options,
			    partition_option } },
	{ "Other programs' filters", { foreign_option, maker_options } },
	{ "Work", { sync_option, jobs_option, threads_option, load_options, progress_option,
		    quiet_option } },
	{ "The store, and secrets", { key_option, store_option } },
};

static bool is_of(const struct opt *table, const struct shared *group)
{
	for (size_t i = 0; i < ARRAY_LEN(group->tables) && group->tables[i]; i++)
		if (table == group->tables[i])
			return true;
	return false;
}

static bool is_shared(const struct opt *table)
{
	for (size_t i = 0; i < ARRAY_LEN(shared); i++)
		if (is_of(table, &shared[i]))
			return true;
	return false;
}

static void print_option(char letter, const char *name, const char *value, const char *help)
{
	const unsigned width = text_width(), at = width < NARROW ? 4 : width < 64 ? 8 : 28;
	char words[64];
	int n = snprintf(words, sizeof(words), "  %c%c%s--%s%s%s", letter ? '-' : ' ',
			 letter ? letter : ' ', letter ? ", " : "  ", name, value ? " " : "",
			 value ? value : "");

	if (width < NARROW) {
		fputs("  ", stdout);
		print_wrapped(stdout, words + strspn(words, " "), 2, 6, "");
		printf("%*s", (int)at, "");
	} else if (n + 2 > (int)at)
		printf("%s\n%*s", words, (int)at, "");
	else
		printf("%-*s", (int)at, words);
	print_wrapped(stdout, help, at, at, "");
}

/* Prints the options of the tables that are of this group; NULL: of none. */
static void print_group(const struct command *command, const struct shared *group)
{
	bool any = false;

	for (size_t i = 0; command->options[i]; i++) {
		const struct opt *table = command->options[i];

		if (group ? !is_of(table, group) : is_shared(table))
			continue;
		for (const struct opt *opt = table; opt->name; opt++) {
			if (is_hidden(command, i, opt))
				continue;
			if (!any && group)
				heading(stdout, group->title);
			any = true;
			print_option(opt->letter, opt->name, opt->value, opt->help);
		}
	}
}

void help_command(const struct command *command)
{
	char words[256];

	snprintf(words, sizeof(words), "usage: %s %s [OPTION...] %s", program, command->name,
		 command->operands);
	print_wrapped(stdout, words, 0, 8, "");
	paragraph(stdout, command->summary);
	if (command->notes)
		paragraph(stdout, command->notes);
	heading(stdout, "Options");
	print_group(command, NULL);
	print_option('h', "help", NULL, "show this");
	for (size_t i = 0; i < ARRAY_LEN(shared); i++)
		print_group(command, &shared[i]);
	heading(stdout, "Example");
	fputs("  ", stdout);
	print_wrapped(stdout, command->example, 2, 4, " \\");
}

/* ---- Manual pages, in mdoc(7) ---- */

/* Text, each byte as itself. */
static void mdoc_text(const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '\\': fputs("\\e", stdout); break;
		case '\'': fputs("\\(aq", stdout); break;
		case '^': fputs("\\(ha", stdout); break;
		case '"': fputs("\\(dq", stdout); break;
		default: putchar(*text);
		}
}

/* A sentence of a page. */
static void mdoc_sentence(const char *text)
{
	char first[] = { (char)toupper((unsigned char)*text), '\0' };

	fputs("\\&", stdout);	/* a dot would begin a macro */
	mdoc_text(first);
	mdoc_text(text + 1);
	puts(".");
}

static void mdoc_option(const struct opt *opt)
{
	fputs(".It", stdout);
	if (opt->letter)
		printf(" Fl %c ,", opt->letter);
	printf(" Fl -%s", opt->name);
	if (opt->value)
		printf(" Ar %s", opt->value);
	putchar('\n');
	mdoc_sentence(opt->help);
}

/* tools/man/pages.py puts the date before this, and text at the comments. */
void help_mdoc(const struct command *command)
{
	printf(".Dt BLOOMERY-");
	for (const char *c = command->name; *c; c++)
		putchar(toupper((unsigned char)*c));
	printf(" 1\n.Os\n.Sh NAME\n.Nm bloomery-%s\n.Nd ", command->name);
	mdoc_text(command->summary);
	printf("\n.Sh SYNOPSIS\n.Nm bloomery %s\n.Op Ar option ...\n", command->name);
	if (*command->operands)
		printf(".Ar \"%s\"\n", command->operands);
	fputs(".Sh DESCRIPTION\n.\\\" text\n.Sh OPTIONS\n.Bl -tag -width Ds\n", stdout);
	for (size_t i = 0; command->options[i]; i++)
		for (const struct opt *opt = command->options[i]; opt->name; opt++)
			if (!is_hidden(command, i, opt)) {
				mdoc_option(opt);
				printf(".\\\" --%s\n", opt->name);
			}
	fputs(".It Fl h , Fl -help\nShow the options.\n.El\n.Sh EXAMPLES\n", stdout);
	fputs(".Bd -literal -offset indent\n", stdout);
	mdoc_text(command->example);
	fputs("\n.Ed\n.\\\" --examples\n.Sh SEE ALSO\n.Xr bloomery 1\n.\\\" --see\n", stdout);
}

void help_words(const struct command *command)
{
	if (!command) {
		for (size_t i = 0; command_at(i); i++)
			printf("%s\t%s\n", command_at(i)->name, command_at(i)->summary);
		return;
	}
	for (size_t i = 0; command->options[i]; i++)
		for (const struct opt *opt = command->options[i]; opt->name; opt++) {
			if (is_hidden(command, i, opt))
				continue;
			printf("--%s\t%s\n", opt->name, opt->help);
			if (opt->letter)
				printf("-%c\t%s\n", opt->letter, opt->help);
		}
	puts("--help\tshow this");
}
