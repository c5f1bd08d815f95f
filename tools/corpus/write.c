/*
 * write.c - what becomes of the documents: left out, with a shorter text, or described
 *
 * Bytes outside of the text are written as they were read. Spans count code points of the text.
 */
#include "corpus.h"
#include "result.h"

#include <math.h>

/* ---- The text without what was removed ---- */

/* Return: false: out of memory */
static bool describe(const struct batch_of_documents *b, const struct document *d,
		     struct shortened *ret)
{
	ret->text = b->arena + d->text;
	ret->length = d->text_length;
	ret->written = d->line + d->text_begin + 1;
	ret->written_length = d->text_end - d->text_begin - 2;
	ret->edges = b->edges + d->edge;
	ret->edge_count = d->edges;
	return more_space(&ret->map, &ret->map_capacity, d->text_length / 64 + 1,
			  sizeof(*ret->map));
}

static int write_kept(struct result *r, const struct batch_of_documents *b,
		      const struct document *d)
{
	struct shortened *s = &r->shortened;
	size_t count;
	char *to;
	int code = result_space(r, d->length + COPY_BEHIND, &to);

	if (code != DONE)
		return code;
	if (!describe(b, d, s))
		return broken("out of memory");
	count = copy_pieces(to, s);
	if (count != SIZE_MAX) {
		result_wrote(r, count);
		return DONE;
	}
	for (size_t i = 0; i < s->edge_count && code == DONE; i += 2)
		code = result_string(r, s->text + s->edges[i], s->edges[i + 1] - s->edges[i]);
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
	return writes_texts() && !d->gone;
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
