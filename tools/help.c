/* help.c - help, made from the commands' own tables */
#include "command.h"

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
