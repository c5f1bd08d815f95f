/*
 * command.h - what a command is: one file each, cmd_NAME.c, with its options, its help and its work
 */
#ifndef BLOOMERY_COMMAND_H
#define BLOOMERY_COMMAND_H

#include <bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DONE = 0, NO = 1, FAILED = 2, USAGE = 64 };	/* exit codes, the same for every command */

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/*
 * An option: one row of a table that ends with { 0 }. Parsing, help and completions all read the
 * same table. The range is for numbers.
 */
struct opt {
	char letter;		/* 0: none */
	const char *name;	/* without its dashes */
	const char *value;	/* what its value is called; NULL: it takes none */
	const char *help;	/* NULL: not shown */
	/* writes *target. Return: DONE, or USAGE with a message */
	int (*set)(const struct opt *opt, const char *text);
	void *target;
	uint64_t least, most;
};

enum group { ON_KEYS, ON_FILTERS, ON_SETS, ON_STORES, ON_PAPER, GROUPS };

struct command {
	const char *name;
	enum group group;	/* where `bloomery help` shows it */
	const char *summary;	/* one line */
	const char *operands;	/* "F [FILE...]" */
	int least, most;	/* how many operands; most -1: any number */
	const char *notes;	/* what else there is to know; may be NULL */
	const char *example;
	const struct opt *const *options;	/* tables; NULL at the end */
	/* Return: an exit code, with a message where it is not DONE or NO */
	int (*run)(int count, char **operands);
};

/* ---- The list, made by meson.build (commands.c) ---- */

const struct command *command_at(size_t i);	/* NULL past the last */
const struct command *command_find(const char *name);
int command_unknown(const char *name);	/* with the name that is near, if one is. Return: USAGE */

/* ---- Running one (options.c, help.c) ---- */

extern const char *program;	/* its name, for help; "bloomery" where nothing else is set */

/* those before the command: DONE, or USAGE with a message */
int skip_options(const struct opt *const *tables, int *argc, char ***argv);
int run_command(const struct command *command, int argc, char **argv);
void help_first(FILE *out);	/* the commands that a newcomer needs */
void help_overview(FILE *out);	/* all commands */
void help_command(const struct command *command);
void help_mdoc(const struct command *command);	/* its manual page, without its text */
/* for completions: WORD, tab, what it means; NULL: the commands */
void help_words(const struct command *command);

/* ---- Messages: always one line on stderr (say.c) ---- */

enum { MESSAGE = 2048 };

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
int misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));	/* Return: USAGE */
int broken(const char *format, ...) __attribute__((format(printf, 1, 2)));	/* Return: FAILED */
int fail(int64_t err);		/* in the library's words. Return: FAILED */
/*
 * Return: the code, or FAILED where a file was cut under its map; from then on nothing else is said
 * before it
 */
int tell_if_cut(int code);
/* what each message begins with; else the name of the program */
void say_as(const char *name);
/* of this thread: the first one goes there, until NULL ends it; `buffer` begins empty */
void hold_messages(char buffer[MESSAGE]);

/* ---- Options that many commands have ---- */

extern const struct opt json_option[], quiet_option[];
extern bool json, quiet;

#endif
