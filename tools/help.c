/* help.c - help, made from the commands' own tables */
#include "command.h"

#include <ctype.h>
#include <string.h>

static const char *const titles[GROUPS] = {
	[ON_KEYS] = "Keys",
	[ON_FILTERS] = "Filters",
	[ON_SETS] = "Sets",
	[ON_STORES] = "The store",
	[ON_PAPER] = "What there is",
};

void help_overview(FILE *out)
{
	fputs("bloomery: memory-mapped filters of the Bloom family, shared by any number of "
	      "processes\n\nusage: bloomery COMMAND [OPTION...] ARGUMENT...\n", out);
	for (int group = 0; group < GROUPS; group++) {
		fprintf(out, "\n%s\n", titles[group]);
		for (size_t i = 0; command_at(i); i++)
			if ((int)command_at(i)->group == group)
				fprintf(out, "  %-10s %s\n", command_at(i)->name,
					command_at(i)->summary);
	}
	fputs("\nA filter F is a path if it has a slash, else a name in the store: --store DIR, "
	      "$BLOOMERY_STORE, or\n~/.local/share/bloomery. Keys are lines of FILEs or of "
	      "standard input, or come by --key KEY.\nNumbers: 10k, 1.5m, 1e6, 4Mi.\n"
	      "Exit status: 0 yes or done, 1 no, 2 failed, 64 misused.\n"
	      "'bloomery help COMMAND' tells more; 'bloomery --version' tells the version.\n", out);
}

static void help_option(const struct opt *opt)
{
	char words[64];

	snprintf(words, sizeof(words), "%c%c%s--%s%s%s", opt->letter ? '-' : ' ',
		 opt->letter ? opt->letter : ' ',
		 opt->letter ? ", " : "  ", opt->name, opt->value ? " " : "", opt->value
		 ? opt->value : "");
	printf("  %-24s  %s\n", words, opt->help);
}

void help_command(const struct command *command)
{
	printf("usage: bloomery %s [OPTION...] %s\n\n%s\n", command->name, command->operands,
	       command->summary);
	if (command->notes)
		printf("\n%s\n", command->notes);
	fputs("\nOptions\n", stdout);
	for (size_t i = 0; command->options[i]; i++)
		for (const struct opt *opt = command->options[i]; opt->name; opt++)
			if (opt->help)
				help_option(opt);
	fputs("  -h, --help                show this\n", stdout);
	printf("\nExample\n  %s\n", command->example);
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
			if (opt->help) {
				mdoc_option(opt);
				printf(".\\\" --%s\n", opt->name);
			}
	fputs(".It Fl h , Fl -help\nShow the options.\n.El\n.Sh EXAMPLES\n", stdout);
	fputs(".Bd -literal -offset indent\n", stdout);
	mdoc_text(command->example);
	fputs("\n.Ed\n.Sh SEE ALSO\n.Xr bloomery 1\n", stdout);
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
			if (!opt->help)
				continue;
			printf("--%s\t%s\n", opt->name, opt->help);
			if (opt->letter)
				printf("-%c\t%s\n", opt->letter, opt->help);
		}
	puts("--help\tshow this");
}
