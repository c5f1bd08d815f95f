/*
 * complete.c - what the word under the cursor of a shell can become
 *
 * The shells' scripts in completions/ only take off quotes, call this, and quote what it prints:
 * names are bytes of other users, and a shell that expands them runs them. So which word is what,
 * and which names there are, is decided here, from the commands' tables.
 */
#include "complete.h"
#include "place.h"
#include "terms.h"


struct wanted {
	const char *prefix;	/* of a candidate, as it is typed so far */
	const char *before;	/* "--kind=": the option that stands in the same word; or "" */
	int before_len;
	bool dashes;		/* is a word that begins with a dash an operand here? */
};

static void candidate(const struct wanted *w, const char *word, const char *meaning)
{
	if (!strncmp(word, w->prefix, strlen(w->prefix)))
		printf("%.*s%s%c%s%c", w->before_len, w->before, word, 0, own_terms(meaning), 0);
}

static void else_the_shell_adds(const char *what)
{
	printf("%s%c", what, 0);
}

/* ---- Names, kinds, hashes, schemes, formats, commands ---- */

static int name(void *context, const struct blm_info *info, int err)
{
	const struct wanted *w = context;

	if (err == 0 && (*info->name != '-' || w->dashes || w->before_len))
		candidate(w, info->name, info->kind);
	return 0;
}

static void names(const struct wanted *w)
{
	static struct blm_store *store;
	static char said[MESSAGE];

	if (strchr(w->prefix, '/'))
		return;
	hold_messages(said);	/* the line of a prompt is no place for them */
	if (find_store(&store, BLM_STORE_READ) == DONE)
		blm_store_list(store, NULL, name, (void *)w);
	hold_messages(NULL);
}

static void kinds(const struct wanted *w)
{
	struct blm_kind_info kind;

	for (size_t i = 0; blm_kind_list(i, &kind) == 0; i++)
		candidate(w, kind.name, kind.summary);
}

static void hashes(const struct wanted *w)
{
	struct blm_hash_info hash;

	for (size_t i = 0; blm_hash_list(i, &hash) == 0; i++)
		candidate(w, hash.name, hash.summary);
}

static void schemes(const struct wanted *w)
{
	struct blm_scheme_info scheme;

	for (size_t i = 0; blm_scheme_list(i, &scheme) == 0; i++)
		candidate(w, scheme.name, scheme.summary);
}

static void formats(const struct wanted *w)
{
	struct blm_format_info format;

	for (size_t i = 0; blm_format_list(i, &format) == 0; i++)
		candidate(w, format.name, format.summary);
}

static void commands(const struct wanted *w)
{
	for (size_t i = 0; command_at(i); i++)
		candidate(w, command_at(i)->name, command_at(i)->summary);
}

/* "add|remove|list" */
static void choices(const struct wanted *w, const char *from, size_t len)
{
	char word[32];

	for (size_t n; len; from += n + (n < len), len -= n + (n < len)) {
		for (n = 0; n < len && from[n] != '|'; n++)
			;
		snprintf(word, sizeof(word), "%.*s", (int)n, from);
		candidate(w, word, "what to do");
	}
}

/* What a word is called in the help of its command says what it can be. */
static void value(const struct wanted *w, const char *called, size_t len)
{
	static const struct {
		const char *called, *rest;
		void (*list)(const struct wanted *w);
	} values[] = {
		{ "KIND", "none", kinds }, { "HASH", "none", hashes },
			{ "SCHEME", "none", schemes }, { "FORMAT", "none", formats },
		{ "COMMAND", "none", commands }, { "NAME", "none", names },
		{ "OLD", "none", names }, { "PATTERN", "none", names },
		{ "F", "files", names }, { "A", "files", names }, { "B", "files", names },
		{ "C", "files", names }, { "G", "files", names },
		{ "FILTER", "files", names }, { "NEIGHBOUR", "files", names },
		{ "DIR", "folders", NULL }, { "FILE", "files", NULL },
		{ "DB", "files", NULL }, { "BANK", "files", NULL }, { "SMALL", "files", NULL },
		{ "BIG", "files", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		if (strlen(values[i].called) == len && !memcmp(values[i].called, called, len)) {
			else_the_shell_adds(values[i].rest);
			if (values[i].list)
				values[i].list(w);
			return;
		}
	else_the_shell_adds("none");
	if (memchr(called, '|', len))
		choices(w, called, len);
}

/* ---- Options ---- */

/* By its whole name, or by the beginning of one alone, as getopt_long takes it. */
static const struct opt *option_called(const struct opt *const *tables, const char *text,
				       size_t len)
{
	const struct opt *found = NULL;
	int count = 0;

	for (; *tables; tables++)
		for (const struct opt *opt = *tables; opt->name; opt++) {
			if (strncmp(opt->name, text, len))
				continue;
			if (!opt->name[len])
				return opt;
			found = opt;
			count++;
		}
	return count == 1 ? found : NULL;
}

static const struct opt *option_of_letter(const struct opt *const *tables, char letter)
{
	for (; *tables; tables++)
		for (const struct opt *opt = *tables; opt->name; opt++)
			if (opt->letter == letter)
				return opt;
	return NULL;
}

/*
 * The option in a word that takes a value. *ret: where that stands in the word; NULL: it is the
 * next word.
 */
static const struct opt *option_with_value(const struct opt *const *tables, const char *word,
					   const char **ret)
{
	const struct opt *opt = NULL;

	*ret = NULL;
	if (word[0] == '-' && word[1] == '-') {
		const char *end = word + 2 + strcspn(word + 2, "=");

		opt = end > word + 2 ? option_called(tables, word + 2, (size_t)(end - word - 2))
			: NULL;
		*ret = *end ? end + 1 : NULL;
	} else if (word[0] == '-') {
		while (*++word && (!opt || !opt->value))	/* -vc, -p0.01 */
			opt = option_of_letter(tables, *word);
		*ret = *word ? word : NULL;
	}
	return opt && opt->value ? opt : NULL;
}

static void options_of(const struct wanted *w, const struct opt *const *tables)
{
	char word[64];

	for (; *tables; tables++)
		for (const struct opt *opt = *tables; opt->name; opt++) {
			if (!opt->help)
				continue;
			snprintf(word, sizeof(word), "--%s", opt->name);
			candidate(w, word, opt->help);
			snprintf(word, sizeof(word), "-%c", opt->letter);
			if (opt->letter)
				candidate(w, word, opt->help);
		}
	candidate(w, "--help", "show this");
}

/* ---- The line ---- */

/*
 * The n-th operand of a command is called so. Return: how long that is; 0: there is no such
 * operand.
 */
static size_t operand(const char *operands, int n, const char **ret)
{
	size_t len = 0;

	for (const char *at = operands; *at && *at != '|';
	     at += strcspn(at, " "), at += strspn(at, " ")) {
		const char *begin = at + (*at == '[');
		size_t all = strcspn(begin, " ]"), dots = all >= 3
			&& !memcmp(begin + all - 3, "...", 3) ? 3 : 0;

		if (*begin == '-') {	/* an option, and what its value is called */
			at += strcspn(at, " ");
			at += strspn(at, " ");
			continue;
		}
		*ret = begin;
		len = all - dots;
		if (dots || n-- == 0)
			return len;
		len = 0;
	}
	return len;
}

struct line {
	const struct opt *pending;	/* the word before is an option whose value is due */
	bool ended;			/* by -- : each word after it is an operand */
	int operands;
};

/* A word that is whole. The store is what it says. */
static void take_word(struct line *line, const struct opt *const *tables, const char *word)
{
	const struct opt *opt = line->pending;
	const char *text = word;

	line->pending = NULL;
	if (!opt && !line->ended && !strcmp(word, "--")) {
		line->ended = true;
		return;
	}
	if (!opt && (line->ended || word[0] != '-' || !word[1])) {
		line->operands++;
		return;
	}
	if (!opt) {
		opt = option_with_value(tables, word, &text);
		if (opt && !text)
			line->pending = opt;
	}
	if (opt && text && !strcmp(opt->name, "store"))
		opt->set(opt, text);
}

static void last_word(const struct line *line, const struct command *command,
		      const struct opt *const *tables, const char *word)
{
	struct wanted w = { .prefix = word, .before = word, .dashes = line->ended };
	const struct opt *opt = line->pending;
	const char *called, *text;
	size_t len;

	if (!opt && !line->ended && (opt = option_with_value(tables, word, &text)) && text) {
		w.before_len = (int)(text - word);
		w.prefix = text;
	} else if (!line->pending) {
		opt = NULL;
	}
	if (opt) {
		value(&w, opt->value, strlen(opt->value));
	} else if (*word == '-' && !line->ended) {
		else_the_shell_adds("none");
		options_of(&w, tables);
	} else if (!command) {
		else_the_shell_adds("none");
		commands(&w);
	} else {
		len = operand(command->operands, line->operands, &called);
		value(&w, len ? called : "", len);
	}
}

int complete(int count, char **words)
{
	static const struct opt *const before_command[] = { store_option, NULL };
	const struct opt *const *tables = before_command;
	const struct command *command = NULL;
	struct line line = { 0 };

	for (int i = 0; i < count - 1; i++) {
		take_word(&line, tables, words[i]);
		if (command || !line.operands)
			continue;
		command = command_find(words[i]);
		if (!command)
			return NO;
		tables = command->options;
		line = (struct line){ 0 };
	}
	last_word(&line, command, tables, count ? words[count - 1] : "");
	return DONE;
}
