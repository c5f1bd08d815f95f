/*
 * write.c - what becomes of the documents: left out, with a shorter text, or described
 *
 * Bytes outside of the text are written as they were read. Spans count code points of the text.
 */
#include "corpus.h"
#include "result.h"

#include <math.h>

/* ---- The text without what was removed ---- */

/* The next units that are kept, from *unit on. Return: false: there are none */
static bool next_kept(const struct batch_of_documents *b, const struct document *d, size_t *unit,
		      size_t *ret_begin, size_t *ret_end)
{
	size_t i = *unit, end = d->first + d->count;

	while (i < end && b->units[i].removed)
		i++;
	if (i == end)
		return false;
	*ret_begin = b->units[i].begin;
	while (i < end && !b->units[i].removed)
		i++;
	*ret_end = b->units[i - 1].end;
	*unit = i;
	return true;
}

/*
 * The kept units as they are written in the line, if each escape there takes one byte more than its
 * character, and no other character has an escape. Then a piece of the text is as far behind the
 * begin of the string as it has escapes before it. Each character takes at least as many bytes as
 * that, so all bytes are those of the string, whatever is found out at its end.
 * Return: how many bytes; SIZE_MAX: there are other escapes
 */
static size_t copy_kept(char *to, const struct batch_of_documents *b, const struct document *d)
{
	const char *text = b->arena + d->text, *written = d->line + d->text_begin + 1;
	size_t at = 0, escapes = 0, unit = d->first, count = 0, begin, end;

	while (next_kept(b, d, &unit, &begin, &end)) {
		size_t own;

		escapes += count_escapes(text + at, begin - at);
		own = count_escapes(text + begin, end - begin);
		memcpy(to + count, written + begin + escapes, end - begin + own);
		count += end - begin + own;
		escapes += own;
		at = end;
	}
	escapes += count_escapes(text + at, d->text_length - at);
	return d->text_length + escapes == d->text_end - d->text_begin - 2 ? count : SIZE_MAX;
}

static int write_kept(struct result *r, const struct batch_of_documents *b,
		      const struct document *d)
{
	size_t unit = d->first, begin, end, count;
	char *to;
	int code = result_space(r, d->length, &to);

	if (code != DONE)
		return code;
	count = copy_kept(to, b, d);
	if (count != SIZE_MAX) {
		result_wrote(r, count);
		return DONE;
	}
	while (code == DONE && next_kept(b, d, &unit, &begin, &end))
		code = result_string(r, b->arena + d->text + begin, end - begin);
	return code;
}

static int write_shorter(struct result *r, const struct batch_of_documents *b,
			 const struct document *d)
{
	int code = result_write(r, d->line, d->text_begin + 1);

	if (code == DONE)
		code = write_kept(r, b, d);
	return code == DONE ? result_write(r, d->line + d->text_end - 1,
					   d->length - d->text_end + 1) : code;
}

/* ---- Spans ---- */

size_t code_points(const char *text, size_t bytes)
{
	size_t count = 0;

	for (size_t i = 0; i < bytes; i++)
		count += (text[i] & 0xc0) != 0x80;
	return count;
}

/* 1 as dolma has it where a key is seen or not, else the share; of a partition the number. */
static int write_score(struct result *r, const struct unit *unit)
{
	double share = (double)unit->seen / (double)unit->asked;
	char text[32];

	if (corpus.by != BY_NGRAM)
		return result_print(r, "1");
	if (is_part_of_ngrams())
		return result_print(r, "%u", (unsigned)unit->seen);
	if (corpus.dolma)
		share = (float)unit->seen / (float)unit->asked;
	if (share == floor(share))
		return result_print(r, "%.1f", share);
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, share);
		if (strtod(text, NULL) == share)
			break;
	}
	return result_print(r, "%s", text);
}

struct spans {
	struct result *result;
	const struct batch_of_documents *batch;
	const struct document *document;
	size_t at;		/* code points, or what dolma counts */
	bool any;
};

static int write_span(struct spans *s, const struct unit *unit, size_t begin, size_t end)
{
	int code;

	if (!unit->removed)
		return DONE;
	code = result_print(s->result, "%s[%zu,%zu,", s->any ? "," : "", begin, end);
	s->any = true;
	if (code == DONE)
		code = write_score(s->result, unit);
	return code == DONE ? result_write(s->result, "]", 1) : code;
}

/*
 * dolma counts 1 for each separator, and leaves it out where the offset in code points reaches the
 * end of the text in bytes.
 */
static int write_next(struct spans *s, const struct unit *unit)
{
	const char *text = s->batch->arena + s->document->text;
	size_t begin = s->at;

	if (corpus.dolma) {
		s->at += code_points(text + unit->begin, unit->body_end - unit->begin);
		s->at += s->at + 1 < s->document->text_length;
	} else {
		s->at += code_points(text + unit->begin, unit->end - unit->begin);
	}
	return write_span(s, unit, begin, s->at);
}

static int write_spans(struct result *r, const struct batch_of_documents *b,
		       const struct document *d)
{
	struct spans s = { .result = r, .batch = b, .document = d };
	int code = result_write(r, "[", 1);

	for (size_t i = d->first; code == DONE && i < d->first + d->count; i++)
		code = corpus.by == BY_DOCUMENT
			? write_span(&s, &b->units[i], 0, d->text_length)
			: write_next(&s, &b->units[i]);
	return code == DONE ? result_write(r, "]", 1) : code;
}

/* ---- Lines ---- */

/* Into the object, as its last member. */
static int write_annotated(struct result *r, const struct batch_of_documents *b,
			   const struct document *d)
{
	size_t end = d->length;
	int code;

	while (end && d->line[end - 1] != '}')
		end--;
	code = result_write(r, d->line, end ? end - 1 : 0);
	if (code == DONE)
		code = result_print(r, ",\"");
	if (code == DONE)
		code = result_string(r, corpus.attribute, strlen(corpus.attribute));
	if (code == DONE)
		code = result_print(r, "\":");
	if (code == DONE)
		code = write_spans(r, b, d);
	return code == DONE ? result_write(r, d->line + (end ? end - 1 : 0),
					   d->length - (end ? end - 1 : 0)) : code;
}

/* A new document, and a text without paragraphs, has no attribute. */
static bool has_attribute(const struct batch_of_documents *b, const struct document *d)
{
	if (corpus.by == BY_DOCUMENT)
		return !d->count || !b->units[d->first].asked || d->removed;
	return d->text_length > 0;
}

static int write_attributes(struct result *r, const struct batch_of_documents *b,
			    const struct document *d)
{
	int code = result_print(r, "{\"attributes\":{");

	if (code == DONE && has_attribute(b, d)) {
		code = result_write(r, "\"", 1);
		if (code == DONE)
			code = result_string(r, corpus.attribute, strlen(corpus.attribute));
		if (code == DONE)
			code = result_print(r, "\":");
		if (code == DONE)
			code = write_spans(r, b, d);
	}
	if (code == DONE)
		code = result_print(r, "},\"id\":");
	if (code == DONE)
		code = d->id_end > d->id_begin
			? result_write(r, d->line + d->id_begin, d->id_end - d->id_begin)
			: result_print(r, "null");
	return code == DONE ? result_print(r, "}") : code;
}

static int write_document(struct result *r, const struct batch_of_documents *b,
			  const struct document *d)
{
	int code;

	if (corpus.attributes)
		code = write_attributes(r, b, d);
	else if (corpus.annotate)
		code = write_annotated(r, b, d);
	else if (d->removed)
		return DONE;
	else
		code = write_shorter(r, b, d);
	return code == DONE ? result_write(r, "\n", 1) : code;
}

static bool is_unchanged(const struct document *d)
{
	return !corpus.attributes && !corpus.annotate && !d->gone;
}

/* Lines from *at on that are unchanged and follow each other are written at once. */
static int write_unchanged(struct result *r, const struct batch_of_documents *b, size_t *at)
{
	const char *begin = b->documents[*at].line, *end = begin;
	const struct document *d = &b->documents[*at];

	for (; *at < b->document_count && is_unchanged(d) && d->line == end; d++, ++*at)
		end = d->line + d->length + 1;	/* the end of the line stands behind it */
	return result_write(r, begin, (size_t)(end - begin));
}

int write_documents(const struct batch_of_documents *b, struct result *r)
{
	int code = DONE;

	for (size_t i = 0; code == DONE && i < b->document_count;)
		code = is_unchanged(&b->documents[i]) ? write_unchanged(r, b, &i)
			: write_document(r, b, &b->documents[i++]);
	return code;
}
