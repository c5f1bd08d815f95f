/*
 * merge.c - attribute files of all partitions, applied to their documents
 *
 * Each partition says which of its own units were seen. A unit that any of them names was seen. By
 * n-grams it says how many of its own keys were seen, and the numbers are added up.
 */
#include "../source.h"
#include "result.h"
#include "run.h"

#include <errno.h>
#include <inttypes.h>

struct part {
	char *name;
	struct source source;
	struct block block;
	size_t at;		/* of the next line in the block */
	uint64_t line;
	bool open;
};

struct merge {
	struct part parts[PARTS_MOST];
	struct json_pointer *pointer;
	struct json_reader *reader;
};

const char *part_folders[PARTS_MOST];
size_t part_count;

static int open_part(struct part *part, const char *folder, const char *name)
{
	const char *slash = strrchr(name, '/');
	int code;

	*part = (struct part){ 0 };
	if (asprintf(&part->name, "%s/%s", folder, slash ? slash + 1 : name) < 0) {
		part->name = NULL;
		return broken("out of memory");
	}
	code = source_open(&part->source, part->name, NULL);
	part->open = code == DONE;
	return code;
}

static void close_part(struct part *part)
{
	if (part->open)
		source_close(&part->source);
	block_free(&part->block);
	free(part->name);
	*part = (struct part){ 0 };
}

/* Return: 1; 0: there are no more; -1 after a message. */
static int next_line(struct part *part, const char **ret, size_t *ret_length)
{
	const char *line, *end;
	int more = 1;

	if (part->at == part->block.used) {
		more = block_read(&part->block, &part->source);
		part->at = 0;
	}
	if (more <= 0)
		return more;
	line = part->block.text + part->at;
	end = memchr(line, '\n', part->block.used - part->at);
	*ret = line;
	*ret_length = (size_t)(end - line);
	part->at += *ret_length + 1;
	part->line++;
	return 1;
}

/*
 * The next "[begin,end,score]" of a list of spans. Return: behind it; NULL: there is no more.
 * @at: behind the bracket of the list, or behind a span
 */
static const char *next_span(const char *at, const char *end, size_t *ret_begin,
			     size_t *ret_score)
{
	const char *open = memchr(at, '[', (size_t)(end - at)), *close, *comma;

	close = open ? memchr(open, ']', (size_t)(end - open)) : NULL;
	if (!close)
		return NULL;
	*ret_begin = strtoull(open + 1, NULL, 10);
	comma = memrchr(open, ',', (size_t)(close - open));
	*ret_score = comma ? strtoull(comma + 1, NULL, 10) : 0;
	return close + 1;
}

/* Behind the bracket that begins the list of the first member; NULL: the object is empty. */
static const char *list_of(const char *object, const char *end)
{
	const char *at = memchr(object, '"', (size_t)(end - object));

	if (!at)
		return NULL;
	for (at++; *at != '"'; at++)	/* the name, which may have brackets */
		at += *at == '\\';
	at = memchr(at, '[', (size_t)(end - at));
	return at ? at + 1 : NULL;
}

/* The spans are in the order of the units. A document that is known by its key has one, from 0. */
static bool mark_units(struct batch_of_documents *b, const struct document *d, const char *spans,
		       const char *end)
{
	size_t unit = d->first, at = 0, begin, score;

	while ((spans = next_span(spans, end, &begin, &score))) {
		while (unit < d->first + d->count && at < begin) {
			const struct unit *u = &b->units[unit++];

			at += code_points(b->arena + d->text + u->begin, u->end - u->begin);
		}
		if (unit == d->first + d->count || at != begin)
			return false;
		if (corpus.by != BY_NGRAM)
			b->units[unit].seen = b->units[unit].asked;
		else if (score > b->units[unit].asked - b->units[unit].seen)
			return false;
		else
			b->units[unit].seen += (uint32_t)score;
	}
	return true;
}

static int take_line(struct merge *m, struct part *part, struct batch_of_documents *b,
		     const struct document *d)
{
	struct json_value value;
	const char *line, *list, *end;
	size_t length;
	int more = next_line(part, &line, &length);

	if (more < 0)
		return FAILED;
	if (!more)
		return broken("%s: has fewer lines than there are documents", part->name);
	if (json_reader_find(m->reader, line, length, &value) < 0)
		return broken("%s: line %" PRIu64 ": %s", part->name, part->line,
			      json_reader_error(m->reader));
	if (value.type != JSON_OBJECT)
		return broken("%s: line %" PRIu64 ": has no attributes", part->name, part->line);
	end = line + value.end;
	list = list_of(line + value.begin, end);
	if (list && !mark_units(b, d, list, end))
		return broken("%s: line %" PRIu64 ": its spans are not of this document; give the "
			      "options that the partitions had", part->name, part->line);
	return DONE;
}

static int work(struct run *r, struct batch_of_documents *b)
{
	struct merge *m = r->context;
	int code = DONE;

	for (size_t i = 0; i < b->document_count; i++)
		for (size_t p = 0; p < part_count && code == DONE; p++)
			code = take_line(m, &m->parts[p], b, &b->documents[i]);
	return code;
}

static int begin_file(struct run *r, const char *name)
{
	struct merge *m = r->context;
	int code = DONE;

	for (size_t p = 0; p < part_count && code == DONE; p++)
		code = open_part(&m->parts[p], part_folders[p], name);
	return code;
}

static int end_file(struct run *r, int code)
{
	struct merge *m = r->context;
	const char *line;
	size_t length;

	for (size_t p = 0; p < part_count; p++) {
		struct part *part = &m->parts[p];

		if (code == DONE && part->open && next_line(part, &line, &length) > 0)
			code = broken("%s: has more lines than there are documents", part->name);
		close_part(part);
	}
	return code;
}

int run_merge(struct run *r, char **names, size_t count)
{
	struct merge *m = calloc(1, sizeof(*m));
	const struct json_pointer *pointers[1];
	int code;

	if (!m)
		return broken("out of memory");
	r->context = m;
	r->work = work;
	r->begin_file = begin_file;
	r->end_file = end_file;
	code = pointer_compile("/attributes", &m->pointer) < 0 ? broken("out of memory") : DONE;
	pointers[0] = m->pointer;
	m->reader = code == DONE ? json_reader_new(pointers, 1) : NULL;
	if (code == DONE && !m->reader)
		code = broken("out of memory");
	if (code == DONE)
		code = run_files(r, names, count);
	if (m->reader)
		json_reader_free(m->reader);
	if (m->pointer)
		pointer_free(m->pointer);
	free(m);
	return code;
}
