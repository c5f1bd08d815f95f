/*
 * syntax.c - what COMMAND DOCS and COMMAND INFO say of a command, made of its syntax
 *
 * redis-cli shows the arguments while a user types, and the summary in HELP. The server compares
 * the number of arguments with the syntax, also where a transaction queues the command. An access
 * list that lets a user only read a key (%R~) lets the user run the commands that only read it.
 *
 *	key item... capacity:int [NOCREATE] [RATE rate:double] [value:SIZE|ITEMS]
 */
#include "command.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 16, CHOICES = 8, NAMES = 512, KEYS = 2 };

struct syntax {
	struct redis_arg args[WORDS + 1];	/* ends with one that has no name */
	struct redis_arg choices[CHOICES + 1];
	struct redis_key_spec keys[KEYS + 1];
	char names[NAMES];			/* of the words in capitals, in lower case */
	size_t used;
	int arity;
};

static const char *lower(struct syntax *s, const char *word)
{
	char *name = s->names + s->used;
	size_t len = strlen(word);

	if (s->used + len >= NAMES)
		return word;
	for (size_t i = 0; i <= len; i++)
		name[i] = (char)tolower((unsigned char)word[i]);
	s->used += len + 1;
	return name;
}

static void choose(struct syntax *s, struct redis_arg *arg, char *words)
{
	unsigned count = 0;
	char *rest;

	arg->type = REDIS_ARG_ONE_OF;
	arg->subargs = s->choices;
	for (char *w = strtok_r(words, "|", &rest); w && count < CHOICES;
	     w = strtok_r(NULL, "|", &rest))
		s->choices[count++] = (struct redis_arg){ .name = lower(s, w), .token = w,
							  .type = REDIS_ARG_TOKEN };
}

static int type_of(const char *name)
{
	bool key = !strcmp(name, "key") || !strcmp(name, "source") || !strcmp(name, "destination");

	return key ? REDIS_ARG_KEY : REDIS_ARG_STRING;
}

/* A word without its brackets and dots. @token: the word in capitals before it, or NULL */
static struct redis_arg parse(struct syntax *s, char *word, const char *token)
{
	struct redis_arg arg = { .name = word, .token = token };
	char *type = strchr(word, ':');

	if (isupper((unsigned char)*word)) {
		arg.name = lower(s, word);
		arg.token = word;
		arg.type = REDIS_ARG_TOKEN;
		return arg;
	}
	if (type)
		*type++ = '\0';
	if (!type)
		arg.type = type_of(word);
	else if (!strcmp(type, "int"))
		arg.type = REDIS_ARG_INTEGER;
	else if (!strcmp(type, "double"))
		arg.type = REDIS_ARG_DOUBLE;
	else
		choose(s, &arg, type);
	return arg;
}

/* Cuts the end off the word. Return: the word ended so */
static bool cut(char *word, const char *end)
{
	size_t len = strlen(word), tail = strlen(end);
	bool ends = len >= tail && !strcmp(word + len - tail, end);

	if (ends)
		word[len - tail] = '\0';
	return ends;
}

static void parse_all(struct syntax *s, char *text)
{
	const char *token = NULL;
	bool optional = false, more = false;
	unsigned count = 0;
	char *rest;

	s->arity = 1;
	for (char *word = strtok_r(text, " ", &rest); word && count < WORDS;
	     word = strtok_r(NULL, " ", &rest)) {
		bool ends, many;

		optional = optional || *word == '[';
		word += *word == '[';
		ends = cut(word, "]");
		many = cut(word, "...");
		if (optional && !ends) {
			token = word;
			continue;
		}
		s->args[count] = parse(s, word, token);
		s->args[count++].flags = (optional ? REDIS_ARG_OPTIONAL : 0)
			| (many ? REDIS_ARG_MULTIPLE : 0);
		s->arity += !optional;
		more = more || optional || many;
		optional = false;
		token = NULL;
	}
	s->arity = more ? -s->arity : s->arity;
}

/* The second word of a command with more keys than one is the second key. */
static void set_keys(struct syntax *s, const struct command *c)
{
	bool writes = !strncmp(c->flags, "write", 5), copies = c->last == LAST_DESTINATION;

	s->keys[0] = (struct redis_key_spec){
		.flags = writes && !copies ? REDIS_KEY_CHANGES : REDIS_KEY_READS,
		.begin = REDIS_KEY_AT, .at.pos = 1, .find = REDIS_KEY_RANGE, .step = 1,
	};
	if (!c->last)
		return;
	s->keys[1] = s->keys[0];
	s->keys[1].flags = copies ? REDIS_KEY_REPLACES : REDIS_KEY_READS;
	s->keys[1].at.pos = 2;
	s->keys[1].last = c->last == LAST_SOURCE ? -1 : 0;
	s->args[1].key_spec = 1;
}

void command_describe(struct redis_command *command, const struct command *c, bool checked)
{
	static const struct redis_info_version version = { 1, REDIS_HISTORY_BYTES,
		sizeof(struct redis_key_spec), sizeof(struct redis_arg) };
	struct syntax s = { 0 };
	struct redis_command_info info = { .version = &version, .summary = c->summary,
					   .key_specs = s.keys };
	char *words = strdup(c->syntax);

	if (!words)
		return;
	parse_all(&s, words);
	set_keys(&s, c);
	if (checked) {
		info.args = s.args;
		info.arity = s.arity;
	}
	redis_SetCommandInfo(command, &info);
	free(words);
}
