/* commands.c - the list of commands; knows none of them by name */
#include "command.h"

#include "tool-lists.h"

#define COMMAND(name) extern const struct command cmd_##name;
COMMANDS
#undef COMMAND

#define COMMAND(name) &cmd_##name,
static const struct command *const commands[] = { COMMANDS };

const struct command *command_at(size_t i)
{
	return i < ARRAY_LEN(commands) ? commands[i] : NULL;
}

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

enum { LETTERS = 24 };

/*
 * How many letters one must change, add, take away, or swap with the next: Levenshtein's distance,
 * where two letters in the wrong order are one slip, as they are to who typed them. Both of at most
 * LETTERS.
 */
static size_t distance(const char *a, const char *b)
{
	size_t d[LETTERS + 1][LETTERS + 1], rows = strlen(a), columns = strlen(b);

	for (size_t i = 0; i <= rows; i++)
		for (size_t j = 0; j <= columns; j++) {
			d[i][j] = i ? i : j;
			if (!i || !j)
				continue;
			d[i][j] = least(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
					least(d[i - 1][j], d[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[rows][columns];
}

/* A slip of one letter in four is taken for the name. A more distant name would be a guess. */
static const char *nearest_to(const char *name)
{
	const char *nearest = NULL;
	size_t best, len = strlen(name);

	if (len > LETTERS)
		return NULL;
	best = (len + 3) / 4 + 1;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		size_t d = distance(name, commands[i]->name);

		if (d < best && d < len) {
			best = d;
			nearest = commands[i]->name;
		}
	}
	return nearest;
}

/* What other programs call such a command. */
static const char *synonym_of(const char *name)
{
	static const struct { const char *other, *ours; } synonyms[] = {
		{ "list", "ls" }, { "rm", "drop" }, { "del", "drop" }, { "delete", "drop" },
		{ "show", "info" }, { "stat", "info" }, { "stats", "info" }, { "rename", "mv" },
		{ "cp", "copy" }, { "query", "test" }, { "contains", "test" },
		{ "insert", "add" }, { "or", "union" }, { "and", "intersect" }, { "who", "top" },
		{ "monitor", "top" }, { "metrics", "watch" }, { "new", "create" },
		{ "fsck", "verify" }, { "repair", "verify" }, { "size", "plan" },
	};

	for (size_t i = 0; i < ARRAY_LEN(synonyms); i++)
		if (!strcmp(synonyms[i].other, name))
			return synonyms[i].ours;
	return NULL;
}

int command_unknown(const char *name)
{
	const char *synonym = synonym_of(name), *nearest = synonym ? synonym : nearest_to(name);

	if (nearest)
		return misuse("no command '%s'; did you mean '%s'? See 'bloomery help'", name,
			      nearest);
	return misuse("no command '%s'; see 'bloomery help'", name);
}
