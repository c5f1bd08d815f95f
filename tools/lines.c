/*
 * lines.c - lines of any length, read in large blocks; nothing is copied but what a block has of
 * the next one's first line
 */
#include "lines.h"
#include "command.h"

#include <inttypes.h>

#ifndef LINES_BLOCK	/* the tests have many more ends of blocks than that gives */
#define LINES_BLOCK (256 << 10)
#endif

enum { BLOCK = LINES_BLOCK, LINES = BLOCK / 64 };

void batch_free(struct batch *b)
{
	free(b->own_keys);
	key_reader_free(b->reader);
	free(b->lines);
	free(b->bits);
	free(b->hashes);
	free(b->objects);
	free(b->text);
	free(b->key_buffer);
	*b = (struct batch){ 0 };
}

bool batch_hash_buffer(struct batch *b)
{
	if (b->hash_capacity < b->count) {
		struct blm_hash *hashes = realloc(b->hashes, b->most * sizeof(*hashes));

		if (!hashes)
			return false;
		b->hashes = hashes;
		b->hash_capacity = b->most;
	}
	return true;
}

void batch_drop(struct batch *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->count; i++) {
		b->lines[kept] = b->lines[i];
		b->keys[kept] = b->keys[i];
		if (b->hashed)
			b->hashes[kept] = b->hashes[i];
		kept += !(b->bits[i / 64] >> i % 64 & 1);
	}
	b->count = kept;
}

struct batch batch_part(const struct batch *batch, size_t from, size_t count)
{
	struct batch part = {
		.lines = batch->lines + from,
		.keys = batch->keys + from,
		.bits = batch->bits,
		.hashes = batch->hashed ? batch->hashes + from : NULL,
		.hash_id = batch->hash_id,
		.hashed = batch->hashed,
		.text = batch->text,
		.count = count < batch->count - from ? count : batch->count - from,
	};

	return part;
}

/* How many lines of the batch come before one of those that are left? */
static size_t lines_before(const struct batch *b, size_t i)
{
	const char *line = b->lines[i].bytes;
	size_t n = 0;

	if (!b->skipped)
		return i;
	for (const char *at = b->text; (at = memchr(at, line_end(), (size_t)(line - at))); at++)
		n++;
	return n;
}

int batch_refuse(struct batch *b, size_t good, const char *reason)
{
	snprintf(b->message, sizeof(b->message), "%s", reason);
	b->wrong = b->message;
	b->skipped = lines_before(b, good) - good;
	b->count = b->read = good;
	return DONE;
}

/* ---- Reading ---- */

/* One byte more than asked for: the last line of a file may lack its end. */
static bool make_space(struct batch *b, size_t bytes)
{
	char *text = realloc(b->text, bytes + 1);
	uint8_t *keys = NULL;

	if (text)
		b->text = text;
	if (text && keys_need_buffer())
		keys = realloc(b->key_buffer, bytes + 1);
	if (keys)
		b->key_buffer = keys;
	if (!text || (keys_need_buffer() && !keys))
		return false;
	b->capacity = bytes;
	return true;
}

/*
 * Begin with what the block before has of a line; a block that had grown for a long line becomes
 * small again. The block before may be this one.
 */
static bool begin(struct batch *b, const struct batch *before)
{
	size_t rest = before ? before->end - before->used : 0;
	size_t bytes = BLOCK + rest / BLOCK * BLOCK;

	if (rest && before == b)
		memmove(b->text, b->text + b->used, rest);
	b->used = b->end = 0;
	if (b->capacity != bytes && !make_space(b, bytes))
		return false;
	if (rest && before != b)
		memcpy(b->text, before->text + before->used, rest);
	b->end = rest;
	return true;
}

static void finish(struct batch *b)
{
	if (b->end)
		b->text[b->end++] = line_end();
	b->used = b->end;
}

int batch_read(struct batch *b, const struct batch *before, struct source *source)
{
	bool good = begin(b, before);
	const char *last = NULL;

	while (!last) {
		ssize_t n;

		if (good && b->capacity - b->end < BLOCK / 2)
			good = make_space(b, 2 * b->capacity);
		if (!good) {
			say("%s: out of memory for a line of more than %zu bytes", source->name,
			    b->end);
			return -1;
		}
		n = source_read(source, b->text + b->end, b->capacity - b->end);
		if (n < 0)
			return -1;
		if (n == 0) {
			finish(b);
			return 0;
		}
		last = memrchr(b->text + b->end, line_end(), (size_t)n);
		b->end += (size_t)n;
	}
	b->used = (size_t)(last + 1 - b->text);
	return 1;
}

bool batch_give(struct batch *b, const struct given *given)
{
	const char end[] = { '\r', line_end() };
	size_t ends = rows_end_in_cr() ? 2 : 1, bytes = 0;
	char *to;

	for (size_t i = 0; i < given->count; i++)
		bytes += strlen(given->keys[i].text) + ends;
	if (!make_space(b, bytes))
		return false;
	to = b->text;
	for (size_t i = 0; i < given->count; i++)
		to = mempcpy(mempcpy(to, given->keys[i].text, strlen(given->keys[i].text)),
			     end + 2 - ends, ends);
	b->used = b->end = bytes;
	b->source = given->option;
	b->given = given;
	return true;
}

const char *batch_where(char buffer[WHERE], const struct batch *b, size_t i)
{
	size_t before = i < b->count ? lines_before(b, i) : i + b->skipped;

	if (b->given)
		snprintf(buffer, WHERE, "%s %s", b->given->option, b->given->keys[i].text);
	else
		snprintf(buffer, WHERE, "%s: line %" PRIu64, b->source, b->line + before + 1);
	return buffer;
}

const char *batch_value(uint64_t *ret, const struct batch *b, size_t i, char buffer[WHY])
{
	return b->given ? given_value_of(ret, &b->given->keys[i], buffer)
		: value_of(ret, &b->lines[i], buffer);
}

/* ---- Splitting ---- */

static bool more_lines(struct batch *b)
{
	size_t most = b->most ? 2 * b->most : LINES;
	struct blm_key *lines = realloc(b->lines, most * sizeof(*lines)), *keys = NULL;
	uint64_t *bits = realloc(b->bits, (most + 63) / 64 * sizeof(*bits));

	if (!keys_are_lines() && (keys = realloc(b->own_keys, most * sizeof(*keys))))
		b->own_keys = keys;
	if (lines)
		b->lines = lines;
	if (bits)
		b->bits = bits;
	b->keys = keys_are_lines() ? b->lines : b->own_keys;
	if (!lines || !bits || (!keys && !keys_are_lines()))
		return false;
	b->most = most;
	return true;
}

static const char *find_key(struct batch *b, size_t i, struct blm_key *ret)
{
	const struct blm_key *line = &b->lines[i];
	size_t at = (size_t)((const char *)line->bytes - b->text);
	uint8_t *buffer = b->key_buffer ? b->key_buffer + at : NULL;

	return b->given ? given_key_of(ret, line, buffer) : key_of(ret, line, buffer, &b->reader);
}

static void skip(struct batch *b, size_t i, const char *reason)
{
	if (!b->skipped++) {
		b->first_skipped = i;
		snprintf(b->why_skipped, sizeof(b->why_skipped), "%s", reason);
	}
}

/* Return: how many lines with keys there are before one that is wrong. */
static size_t find_keys(struct batch *b, const char **ret_wrong)
{
	bool skips = bad_lines_are_skipped() && !b->given;
	size_t good = 0;

	for (size_t i = 0; i < b->read; i++) {
		const char *wrong = find_key(b, i, &b->keys[good]);

		if (!wrong) {
			b->lines[good++] = b->lines[i];
		} else if (skips) {
			skip(b, i, wrong);
		} else {
			*ret_wrong = wrong;
			break;
		}
	}
	return good;
}

/*
 * The end of a line. Those that were read are whole: there is one. That of a key may stand in it,
 * too.
 */
static const char *line_from(const struct batch *b, const char *at)
{
	if (!b->given)
		return memchr(at, line_end(), (size_t)(b->text + b->used - at));
	return at + strlen(b->given->keys[b->read].text) + rows_end_in_cr();
}

const char *batch_split(struct batch *b)
{
	const char *at = b->text, *end = b->text + b->used;
	const char *wrong = NULL;

	b->read = b->skipped = 0;
	while (at < end) {
		const char *next = line_from(b, at);

		if (b->read == b->most && !more_lines(b)) {
			wrong = "has no room in memory";
			break;
		}
		b->lines[b->read++] = (struct blm_key){ at, (size_t)(next - at) };
		at = next + 1;
	}
	if (!keys_are_lines())
		b->read = find_keys(b, &wrong);
	b->count = b->read;
	return wrong;
}
