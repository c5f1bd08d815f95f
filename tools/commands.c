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

/* How many letters one must change, add or take away: Levenshtein's distance, a row at a time. */
static size_t distance(const char *a, const char *b)
{
	size_t row[32], len = strlen(b);

	for (size_t j = 0; j <= len; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= len; j++) {
			size_t replace = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			row[j] = least(replace, least(row[j], row[j - 1]) + 1);
		}
	}
	return row[len];
}

const char *command_nearest(const char *name)
{
	const char *nearest = NULL;
	size_t best = 3;	/* farther away it would be a guess */

	if (strlen(name) > 24)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		size_t d = distance(name, commands[i]->name);

		if (d < best && d < strlen(name)) {
			best = d;
			nearest = commands[i]->name;
		}
	}
	return nearest;
}
