/* json_pointer.c - the walk over the parts of a line finds the values of the pointers */
#include "json_pointer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Pointers ---- */

struct token {
	const char *name;
	size_t length;
	bool index;		/* could it be that of an array? */
	size_t place;
};

struct json_pointer {
	char *names;		/* of all tokens, without their escapes */
	size_t count;
	struct token tokens[];
};

static void as_index(struct token *t)
{
	t->index = t->length > 0 && t->length < 19 && (t->name[0] != '0' || t->length == 1);
	for (size_t i = 0; i < t->length && t->index; i++) {
		t->index = t->name[i] >= '0' && t->name[i] <= '9';
		t->place = 10 * t->place + (size_t)(t->name[i] - '0');
	}
}

/* One token without its escapes, from behind its slash. Return: where it ends; NULL: no escape. */
static const char *compile_token(struct token *t, const char *at, char *to)
{
	t->name = to;
	for (; *at && *at != '/'; at++) {
		if (*at == '~' && at[1] != '0' && at[1] != '1')
			return NULL;
		*to++ = *at != '~' ? *at : *++at == '0' ? '~' : '/';
	}
	t->length = (size_t)(to - t->name);
	as_index(t);
	return at;
}

int pointer_compile(const char *text, struct json_pointer **ret)
{
	size_t count = 0, length = strlen(text);
	struct json_pointer *p;
	const char *at = text;
	char *to;

	for (size_t i = 0; i < length; i++)
		count += text[i] == '/';
	p = calloc(1, sizeof(*p) + count * sizeof(p->tokens[0]));
	to = malloc(length + 1);
	if (!p || !to) {
		free(p);
		free(to);
		return -ENOMEM;
	}
	p->names = to;
	while (at && *at == '/') {
		at = compile_token(&p->tokens[p->count], at + 1, to);
		to += p->tokens[p->count++].length;
	}
	if (!at || *at) {
		pointer_free(p);
		return -EINVAL;
	}
	*ret = p;
	return 0;
}

void pointer_free(struct json_pointer *pointer)
{
	if (pointer)
		free(pointer->names);
	free(pointer);
}

/* ---- Readers ---- */

/* A pointer and how far the walk is on its path. */
struct search {
	const struct json_pointer *pointer;
	size_t live;		/* it leads into the container that is open at this level */
	size_t open;		/* its value is that container; 0: none */
	bool here;		/* the value that begins next is on its path */
	bool *met;		/* has the container met this token? */
};

struct level {
	bool array, wanted;
	size_t index;
};

struct json_reader {
	struct json_line line;
	struct search *searches;
	size_t count;
	const uint8_t *string;	/* the next one of the parts */
	struct json_value *values;
	size_t depth;
	bool name_next;
	struct level levels[JSON_DEPTH + 1];
	char error[200];
};

struct json_reader *json_reader_new(const struct json_pointer *const *pointers, size_t count)
{
	struct json_reader *r = calloc(1, sizeof(*r));
	bool good;

	if (!r)
		return NULL;
	r->searches = calloc(count + 1, sizeof(*r->searches));
	good = json_line_open(&r->line);
	r->count = r->searches ? count : 0;
	good = good && r->searches;
	for (size_t i = 0; i < r->count; i++) {
		r->searches[i].pointer = pointers[i];
		r->searches[i].met = calloc(pointers[i]->count + 1, sizeof(bool));
		good = good && r->searches[i].met;
	}
	if (good)
		return r;
	json_reader_free(r);
	return NULL;
}

void json_reader_free(struct json_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++)
		free(r->searches[i].met);
	free(r->searches);
	json_line_close(&r->line);
	free(r);
}

const char *json_reader_error(const struct json_reader *r)
{
	return r->error;
}

static int refuse(struct json_reader *r, const char *reason)
{
	snprintf(r->error, sizeof(r->error), "%s", reason);
	return -1;
}

/* ---- The walk ---- */

static struct token next_string(struct json_reader *r)
{
	uint32_t length;
	struct token t;

	memcpy(&length, r->string, sizeof(length));
	t = (struct token){ .name = (const char *)r->string + sizeof(length), .length = length };
	r->string += sizeof(length) + length + 1;
	return t;
}

static int take_name(struct json_reader *r)
{
	struct token name = next_string(r);
	size_t at = r->depth - 1;

	for (size_t i = 0; i < r->count; i++) {
		struct search *s = &r->searches[i];
		const struct token *t = &s->pointer->tokens[at];

		s->here = s->live == r->depth && s->pointer->count > at &&
			t->length == name.length && !memcmp(t->name, name.name, name.length);
		if (s->here && s->met[at]) {
			snprintf(r->error, sizeof(r->error), "has the name \"%.*s\" twice in one "
				 "object", name.length < 60 ? (int)name.length : 60, name.name);
			return -1;
		}
		if (s->here)
			s->met[at] = true;
	}
	return 0;
}

static void take_place(struct json_reader *r)
{
	size_t at = r->depth - 1;

	for (size_t i = 0; i < r->count; i++) {
		struct search *s = &r->searches[i];

		s->here = s->live == r->depth && s->pointer->count > at &&
			s->pointer->tokens[at].index &&
			s->pointer->tokens[at].place == r->levels[r->depth].index;
	}
}

static int type_at(const char *at)
{
	switch (*at) {
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	case '"':
		return JSON_STRING;
	case 'n':
		return JSON_NULL;
	case 't':
		return JSON_TRUE;
	case 'f':
		return JSON_FALSE;
	default:
		return JSON_NUMBER;
	}
}

static void give(struct json_reader *r, size_t search, size_t part, const struct token *string)
{
	size_t begin = r->line.parts.at[part];
	struct json_value *v = &r->values[search];

	*v = (struct json_value){ .begin = begin, .type = type_at(r->line.text + begin) };
	if (v->type == JSON_OBJECT || v->type == JSON_ARRAY) {
		r->searches[search].open = r->depth + 1;
		return;
	}
	v->end = json_part_end(&r->line, part);
	v->text = string ? string->name : r->line.text + begin;
	v->length = string ? string->length : v->end - begin;
}

/* Return: is it a container with something in it that is wanted? */
static bool take_value(struct json_reader *r, size_t part)
{
	bool string = r->line.text[r->line.parts.at[part]] == '"', wanted = false;
	struct token text = { 0 };

	if (string)
		text = next_string(r);
	if (r->depth && r->levels[r->depth].array)
		take_place(r);
	for (size_t i = 0; i < r->count; i++) {
		struct search *s = &r->searches[i];

		if (!s->here)
			continue;
		s->here = false;
		if (s->pointer->count == r->depth) {
			give(r, i, part, string ? &text : NULL);
			continue;
		}
		if (strchr("{[", r->line.text[r->line.parts.at[part]])) {
			s->live = r->depth + 1;
			s->met[r->depth] = false;
			wanted = true;
		}
	}
	return wanted;
}

static void open_level(struct json_reader *r, bool array, bool wanted)
{
	r->levels[++r->depth] = (struct level){ .array = array, .wanted = wanted };
	r->name_next = !array;
}

static void close_level(struct json_reader *r, size_t part)
{
	for (size_t i = 0; i < r->count; i++) {
		struct search *s = &r->searches[i];
		struct json_value *v = &r->values[i];

		if (s->open == r->depth) {
			s->open = 0;
			v->end = r->line.parts.at[part] + 1;
			v->text = r->line.text + v->begin;
			v->length = v->end - v->begin;
		}
		if (s->live == r->depth)
			s->live--;
	}
	r->depth--;
}

/* The rest of a container in which nothing is wanted. Return: the part that closes it. */
static size_t skip_level(struct json_reader *r, size_t part)
{
	for (size_t open = 1;; part++) {
		char c = r->line.text[r->line.parts.at[part]];

		if (c == '"')
			next_string(r);
		open += c == '{' || c == '[';
		open -= c == '}' || c == ']';
		if (!open)
			return part;
	}
}

static int walk(struct json_reader *r)
{
	bool wanted;

	for (size_t i = 0; i < r->line.parts.count; i++) {
		char c = r->line.text[r->line.parts.at[i]];

		switch (c) {
		case '}':
		case ']':
			close_level(r, i);
			break;
		case ',':
			r->levels[r->depth].index++;
			r->name_next = !r->levels[r->depth].array;
			break;
		case ':':
			r->name_next = false;
			break;
		default:
			if (r->name_next) {
				if (take_name(r))
					return -1;
				break;
			}
			wanted = take_value(r, i);
			if (c != '{' && c != '[')
				break;
			open_level(r, c == '[', wanted);
			if (!wanted)
				i = skip_level(r, i + 1) - 1;
		}
	}
	return 0;
}

int json_reader_find(struct json_reader *r, const char *line, size_t length,
		     struct json_value *values)
{
	enum json_fault fault;

	r->values = values;
	fault = json_line_parse(&r->line, line, length);
	if (fault != JSON_GOOD)
		return refuse(r, json_fault_words(fault));
	r->string = r->line.parts.strings;
	r->depth = 0;
	r->name_next = false;
	for (size_t i = 0; i < r->count; i++) {
		struct search *s = &r->searches[i];

		values[i] = (struct json_value){ .type = JSON_ABSENT };
		s->live = s->open = 0;
		s->here = true;
	}
	return walk(r);
}
