/*
 * units.c - lines of JSON to documents, texts to units, and units to keys
 *
 * A key is bytes of the arena. The key of an n-gram is its tokens with one space between, so that
 * white space makes no difference, and each n-gram is a piece of all tokens of its unit.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "corpus.h"

#include <errno.h>
#include <inttypes.h>

bool more_space(void *array, size_t *capacity, size_t want, size_t bytes)
{
	size_t many = *capacity ? *capacity : 64;
	void *old, *more;

	if (want <= *capacity)
		return true;
	while (many < want)
		many *= 2;
	memcpy(&old, array, sizeof(old));
	more = reallocarray(old, many, bytes);
	if (!more)
		return false;
	memcpy(array, &more, sizeof(more));
	*capacity = many;
	return true;
}

#define SPACE_FOR(b, what, more) \
	more_space(&(b)->what##s, &(b)->what##_capacity, (b)->what##_count + (more), \
		   sizeof(*(b)->what##s))

/* Space for more bytes in the arena, with which the keys move. */
static bool arena_space(struct batch_of_documents *b, size_t more)
{
	uintptr_t old = (uintptr_t)b->arena;

	if (b->arena && b->used + more <= b->arena_capacity)
		return true;
	if (!more_space(&b->arena, &b->arena_capacity, b->used + more + 1, 1))
		return false;
	for (size_t i = 0; i < b->key_count; i++)
		b->keys[i].bytes = b->arena + ((uintptr_t)b->keys[i].bytes - old);
	return true;
}

/* Return: its place in the arena; SIZE_MAX: out of memory. */
static size_t keep(struct batch_of_documents *b, const char *bytes, size_t count)
{
	size_t at = b->used;

	if (!arena_space(b, count))
		return SIZE_MAX;
	if (count)
		memcpy(b->arena + at, bytes, count);
	b->used += count;
	return at;
}

static bool add_key(struct batch_of_documents *b, size_t at, size_t length)
{
	if (!SPACE_FOR(b, key, 1))
		return false;
	b->keys[b->key_count++] = (struct blm_key){ b->arena + at, length };
	return true;
}

static struct unit *add_unit(struct batch_of_documents *b, size_t begin, size_t body_end,
			     size_t end)
{
	struct unit *unit = SPACE_FOR(b, unit, 1) ? &b->units[b->unit_count++] : NULL;

	if (unit)
		*unit = (struct unit){ .begin = (uint32_t)begin, .body_end = (uint32_t)body_end,
				       .end = (uint32_t)end, .first = (uint32_t)b->key_count };
	return unit;
}

/* ---- Partitions ---- */

/*
 * Is a key in the partition of this run? The hash is the same for all filters, and no part of a
 * filter's own hash.
 */
static bool is_in_partition(const char *key, size_t length)
{
	uint64_t hash;

	if (!corpus.partition.count)
		return true;
	hash = XXH3_64bits_withSeed(key, length, 0x636f72707573);
	return (hash >> 32) * corpus.partition.count >> 32 == corpus.partition.part;
}

/* ---- N-grams ---- */

/* dolma takes the n-grams 0, 1, 1 + stride, 1 + 2 * stride, ... */
static size_t next_ngram(size_t i)
{
	return corpus.dolma && i == 0 ? 1 : i + corpus.stride;
}

/* The tokens with a space between. Return: the place of the first; SIZE_MAX: out of memory. */
static size_t join_tokens(struct batch_of_documents *b, struct tokens *t, size_t text)
{
	size_t first = b->used, bytes = 0;

	for (size_t i = 0; i < t->count; i++)
		bytes += t->end[i] - t->begin[i] + 1;
	if (!arena_space(b, bytes))
		return SIZE_MAX;
	for (size_t i = 0; i < t->count; i++) {
		size_t length = t->end[i] - t->begin[i];

		memcpy(b->arena + b->used, b->arena + text + t->begin[i], length);
		t->begin[i] = b->used;
		b->used += length;
		t->end[i] = b->used;
		b->arena[b->used++] = ' ';
	}
	return first;
}

static bool add_ngrams(struct batch_of_documents *b, const struct tokens *t)
{
	size_t n = t->count < corpus.ngram ? t->count : corpus.ngram;

	for (size_t i = 0; i + n <= t->count; i = next_ngram(i)) {
		size_t length = t->end[i + n - 1] - t->begin[i];

		if (is_in_partition(b->arena + t->begin[i], length)
		    && !add_key(b, t->begin[i], length))
			return false;
	}
	return true;
}

/* dolma compares a paragraph of less than two n-grams whole, and adds its n-gram as well. */
static bool add_short(struct batch_of_documents *b, const struct tokens *t, size_t text,
		      size_t length)
{
	size_t at = b->used;

	if (!arena_space(b, length + 1))
		return false;
	b->arena[at] = 0;	/* no n-gram begins so */
	memcpy(b->arena + at + 1, b->arena + text, length);
	b->used += length + 1;
	return add_key(b, at, length + 1) && (t->count < corpus.ngram || add_ngrams(b, t));
}

/* @text: its place in the arena */
static int cut_ngrams(struct cutter *c, struct batch_of_documents *b, struct unit *unit,
		      size_t text)
{
	struct tokens *t = &c->tokens;
	size_t length = unit->body_end - unit->begin, ngrams;
	int r = tokens_of(t, b->arena + text + unit->begin, length);
	bool fits;

	if (r < 0)
		return r == -ENOMEM ? broken("out of memory") : fail(r);
	unit->blank = !t->count;
	if (t->count < corpus.min_tokens || (!t->count && !corpus.dolma))
		return DONE;
	ngrams = t->count < corpus.ngram ? 0 : 1 + (t->count > corpus.ngram);
	if (corpus.dolma && ngrams < 2) {
		fits = join_tokens(b, t, text + unit->begin) != SIZE_MAX
			&& add_short(b, t, text + unit->begin, length);
		unit->asked = 1;
	} else {
		fits = join_tokens(b, t, text + unit->begin) != SIZE_MAX && add_ngrams(b, t);
		unit->asked = (uint32_t)(b->key_count - unit->first);
	}
	unit->added = (uint32_t)(b->key_count - unit->first);
	return fits ? DONE : broken("out of memory");
}

/* ---- Paragraphs and documents ---- */

/* For most texts the first letter decides. */
static int has_tokens(struct cutter *c, const char *text, size_t length, size_t least, bool *ret)
{
	int r;

	for (size_t i = 0; i < length && least == 1; i++)
		if ((unsigned char)text[i] > ' '
		    && ((unsigned char)text[i] < 0x7f || corpus.by == BY_DOCUMENT)) {
			*ret = true;
			return DONE;
		}
	*ret = false;
	if (!length || (corpus.by == BY_DOCUMENT && least == 1))
		return DONE;
	r = tokens_of(&c->tokens, text, length);
	if (r < 0)
		return r == -ENOMEM ? broken("out of memory") : fail(r);
	*ret = c->tokens.count >= least;
	return DONE;
}

static int cut_whole(struct cutter *c, struct batch_of_documents *b, struct unit *unit,
		     size_t text)
{
	const char *at = b->arena + text + unit->begin;
	size_t length = unit->body_end - unit->begin;
	bool enough = true;
	int code = has_tokens(c, at, length, 1, &enough);

	unit->blank = !enough;
	if (code == DONE && corpus.min_tokens > 1)
		code = has_tokens(c, at, length, corpus.min_tokens, &enough);
	if (code != DONE || (!enough && corpus.min_tokens) || !is_in_partition(at, length))
		return code;
	unit->asked = unit->added = 1;
	return add_key(b, text + unit->begin, length) ? DONE : broken("out of memory");
}

static int cut_unit(struct cutter *c, struct batch_of_documents *b, size_t text, size_t begin,
		    size_t body_end, size_t end)
{
	struct unit *unit = add_unit(b, begin, body_end, end);

	if (!unit)
		return broken("out of memory");
	return corpus.by == BY_NGRAM ? cut_ngrams(c, b, unit, text) : cut_whole(c, b, unit, text);
}

static int cut_paragraphs(struct cutter *c, struct batch_of_documents *b,
			  const struct document *d)
{
	size_t separator = strlen(corpus.separator), begin = 0;
	int code = DONE;

	while (code == DONE && d->text_length) {
		const char *from = b->arena + d->text + begin;
		const char *at = memmem(from, d->text_length - begin, corpus.separator, separator);
		size_t body_end = at ? begin + (size_t)(at - from) : d->text_length;

		code = cut_unit(c, b, d->text, begin, body_end, body_end + (at ? separator : 0));
		if (!at)
			break;
		begin = body_end + separator;
	}
	return code;
}

/* ---- Lines ---- */

static const char *value_of_document(const char *line, const struct json_value *v,
				     const char *pointer, char buffer[MESSAGE])
{
	if (corpus.annotate && *line != '{')
		return "is no object, so it cannot take spans";
	if (v->type == JSON_STRING || (v->type == JSON_NUMBER && corpus.by == BY_DOCUMENT))
		return NULL;
	snprintf(buffer, MESSAGE, v->type == JSON_ABSENT ? "there is no %s"
		 : corpus.by == BY_DOCUMENT ? "%s is neither a string nor a number"
		 : "%s is not a string", *pointer ? pointer : "value");
	return buffer;
}

static int cut_document(struct cutter *c, struct batch_of_documents *b, struct document *d,
			const struct json_value values[])
{
	int code;

	d->first = b->unit_count;
	d->text_begin = values[0].begin;
	d->text_end = values[0].end;
	if (values[1].type != JSON_ABSENT) {
		d->id_begin = values[1].begin;
		d->id_end = values[1].end;
	}
	d->text_length = values[0].length;
	d->text = keep(b, values[0].text, values[0].length);
	if (d->text == SIZE_MAX)
		return broken("out of memory");
	if (corpus.by == BY_DOCUMENT || (corpus.by == BY_NGRAM && corpus.judged == JUDGE_DOCUMENTS))
		code = cut_unit(c, b, d->text, 0, d->text_length, d->text_length);
	else
		code = cut_paragraphs(c, b, d);
	d->count = b->unit_count - d->first;
	return code;
}

static bool is_blank(const char *line, size_t length)
{
	while (length && strchr(" \t\r", line[length - 1]) && line[length - 1])
		length--;
	return !length;
}

static int cut_line(struct cutter *c, struct batch_of_documents *b, const char *line,
		    size_t length, const char *name, uint64_t number)
{
	const char *pointer = corpus.by == BY_DOCUMENT ? corpus.key : corpus.text, *reason;
	struct json_value values[2];
	char buffer[MESSAGE];

	reason = json_reader_find(c->reader, line, length, values) < 0
		? json_reader_error(c->reader)
		: value_of_document(line + strspn(line, " \t\r"), &values[0], pointer, buffer);
	if (reason && corpus.skip_bad) {
		b->bad++;
		return DONE;
	}
	if (reason)
		return broken("%s: line %" PRIu64 ": %s", name, number, reason);
	if (!SPACE_FOR(b, document, 1))
		return broken("out of memory");
	b->documents[b->document_count] = (struct document){ .line = line, .length = length };
	return cut_document(c, b, &b->documents[b->document_count++], values);
}

int cut_block(struct cutter *c, const struct block *block, const char *name,
	      struct batch_of_documents *b)
{
	const char *line = block->text, *end = block->text + block->used;
	int code = DONE;

	b->document_count = b->unit_count = b->key_count = b->used = 0;
	b->bad = 0;
	b->judged = false;
	b->bytes = block->used;
	for (uint64_t number = block->line + 1; code == DONE && line < end; number++) {
		const char *behind = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)(behind - line);

		if (!is_blank(line, length))
			code = cut_line(c, b, line, length, name, number);
		line = behind + 1;
	}
	return code;
}

/* ---- The whole of it ---- */

static int take_pointer(struct cutter *c, const char *option, const char *text)
{
	int r = pointer_compile(text, &c->pointers[c->count]);

	if (r == -EINVAL)
		return misuse("corpus: %s %s: not a JSON Pointer: " POINTER_FORM, option, text);
	if (r < 0)
		return broken("out of memory");
	c->count++;
	return DONE;
}

int cutter_open(struct cutter *ret)
{
	const char *reason = json_need();
	int code = reason ? broken("JSON cannot be read: %s", reason) : DONE;

	*ret = (struct cutter){ 0 };
	reason = code == DONE && (corpus.by != BY_DOCUMENT || corpus.min_tokens > 1) ? tokens_need()
		: NULL;
	if (reason)
		code = broken("words cannot be found: %s", reason);
	if (code == DONE)
		code = corpus.by == BY_DOCUMENT ? take_pointer(ret, "--json-key", corpus.key)
			: take_pointer(ret, "--text", corpus.text);
	if (code == DONE)
		code = take_pointer(ret, "--document-id", corpus.id);
	if (code != DONE)
		return code;
	ret->reader = json_reader_new((const struct json_pointer *const *)ret->pointers,
				      ret->count);
	return ret->reader ? DONE : broken("out of memory");
}

void cutter_close(struct cutter *c)
{
	if (c->reader)
		json_reader_free(c->reader);
	for (size_t i = 0; i < c->count; i++)
		pointer_free(c->pointers[i]);
	tokens_free(&c->tokens);
}

void batch_of_documents_free(struct batch_of_documents *b)
{
	free(b->documents);
	free(b->units);
	free(b->keys);
	free(b->hashes);
	free(b->edges);
	decision_free(b->decision);
	free(b->arena);
}

int hash_keys(struct batch_of_documents *b, const struct blm_filter *f)
{
	int r;

	if (!more_space(&b->hashes, &b->hash_capacity, b->key_count, sizeof(*b->hashes)))
		return broken("out of memory");
	r = blm_hash_many(f, b->keys, b->key_count, b->hashes);
	return r < 0 ? fail(r) : DONE;
}
