/* cmd_kinds.c - bloomery kinds: the kinds of filter there are */
#include "describe.h"
#include "fit.h"
#include "json.h"
#include "values.h"
#include "terms.h"

static bool all;
static const struct opt own_options[] = {
	{ 'l', "long", NULL, "with the options of each kind, and what to know before relying on it",
	  set_flag, &all },
	{ 0 }
};

static void print_names(const struct blm_option_info *o)
{
	printf("%-12s   --with %s=%s: %s (", "", o->name, o->names[(int)o->usual],
	       own_terms(o->summary));
	for (int i = 0; i <= (int)o->most; i++)
		printf("%s%s", i ? ", " : "", o->names[i]);
	puts(")");
}

/* The i-th option's range: spans of time are in seconds. */
static void print_option(const struct blm_option_info *o)
{
	if (o->names) {
		print_names(o);
		return;
	}
	printf("%-12s   --with %s=%g: %s (%g to %g%s)\n", "", o->name, o->usual,
	       own_terms(o->summary), o->least, o->most, o->seconds ? " seconds" : "");
}

static void print_more(const struct blm_kind_info *kind)
{
	struct blm_option_info option;

	if (!all)
		return;
	printf("%-12s hash: %s\n", "", kind->hash);
	for (size_t i = 0; blm_option_list(kind->name, i, &option) == 0; i++)
		print_option(&option);
	if (kind->becomes)
		printf("%-12s convert makes a %s filter of it\n", "", kind->becomes);
	if (kind->caveat)
		printf("%-12s %s\n", "", own_terms(kind->caveat));
}

static void json_options(const char *kind)
{
	struct blm_option_info option;

	json_open("options");
	for (size_t i = 0; blm_option_list(kind, i, &option) == 0; i++) {
		json_open_object(NULL);
		json_text("name", option.name);
		json_text("summary", own_terms(option.summary));
		if (option.names) {
			json_open("values");
			for (int v = 0; v <= (int)option.most; v++)
				json_text(NULL, option.names[v]);
			json_close();
			json_text("usual", option.names[(int)option.usual]);
		} else {
			json_real("least", option.least);
			json_real("most", option.most);
			json_real("usual", option.usual);
			json_bool("whole", option.whole);
			json_text("unit", option.seconds ? "seconds" : NULL);
		}
		json_close_object();
	}
	json_close();
}

static int run(int count, char **operands)
{
	struct blm_kind_info kind;

	fit_output(13);
	for (size_t i = 0; blm_kind_list(i, &kind) == 0; i++) {
		if (!json) {
			printf("%-12s %s\n%-12s can: ", kind.name, own_terms(kind.summary), "");
			print_abilities(kind.can);
			print_more(&kind);
			continue;
		}
		json_begin();
		json_text("name", kind.name);
		json_text("summary", own_terms(kind.summary));
		json_count("id", kind.id);
		json_text("hash", kind.hash);
		json_options(kind.name);
		json_text("becomes", kind.becomes);
		json_text("caveat", own_terms(kind.caveat));
		json_abilities(kind.can);
		json_end();
	}
	return DONE;
}

static const struct opt *const options[] = { own_options, json_option, NULL };

const struct command cmd_kinds = {
	.name = "kinds",
	.group = ON_PAPER,
	.summary = "list the kinds of filter and what they can do",
	.operands = "",
	.example = "bloomery kinds",
	.options = options,
	.run = run,
};
