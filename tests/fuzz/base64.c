/*
 * base64.c - whatever bytes pass through the stages of lib/stream, reading ends, and what is
 * written reads back
 *
 * The first byte of the input: which stages, one above the other, three times two bits (0: none
 * more, 1 base64, 2 zlib, 3 zstd), and two bits for the size of the pieces.
 */
#include "bloomery.h"
#include "must.h"
#include "stream/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * How much is read: of a few bytes of input stages make a flood, and the rest of it, or of pieces
 * that are small, tells nothing new.
 */
enum { MOST = 1 << 20, PIECES = 1 << 14, BETWEEN = 1 << 18 };

static const struct blm_stage *const stages[] = { NULL, &blm_stage_base64, &blm_stage_zlib,
						  &blm_stage_zstd };

/* Between two stages: ends after this many bytes. */
struct meter {
	struct blm_reader reader, *from;
	size_t left;
};

static int64_t meter_read(struct blm_reader *reader, void *buffer, size_t bytes)
{
	struct meter *m = (struct meter *)reader;
	int64_t r = m->left ? m->from->read(m->from, buffer, bytes < m->left ? bytes : m->left) : 0;

	if (r > 0)
		m->left -= (size_t)r;
	return r;
}

static void meter_close(struct blm_reader *reader)
{
	blm_reader_close(((struct meter *)reader)->from);
}

static size_t most_of(size_t piece)
{
	return piece < MOST / PIECES ? piece * PIECES : MOST;
}

static int read_back(unsigned choices, const uint8_t *bytes, size_t count, size_t between,
		     size_t piece, uint8_t *buffer, size_t *ret)
{
	const size_t most = most_of(piece);
	struct meter meters[3];
	struct blm_reader *top;
	int64_t r = blm_reader_memory(&top, bytes, count);

	for (int i = 0; i < 3 && r == 0 && choices >> 2 * i & 3; i++) {
		meters[i] = (struct meter){ { meter_read, meter_close }, top, between };
		top = &meters[i].reader;
		r = blm_reader_stage(&top, stages[choices >> 2 * i & 3], "input");
	}
	for (*ret = 0; r >= 0 && *ret < most; *ret += (size_t)r) {
		r = top->read(top, buffer + *ret, piece < most - *ret ? piece : most - *ret);
		if (r == 0)
			break;
	}
	must(r >= 0 || *blm_error_message() != '\0');
	blm_reader_close(top);
	return (int)(r < 0 ? r : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t pieces[] = { 1, 7, 4096, MOST };
	static uint8_t buffer[MOST];
	unsigned choices = size ? data[0] : 0, last = 0;
	const size_t piece = pieces[choices >> 6];
	struct blm_buffer there = { 0 };
	struct blm_writer *out;
	size_t count;
	int r;

	if (!size)
		return 0;
	data++, size--;
	read_back(choices, data, size, BETWEEN, piece, buffer, &count);
	while (last < 3 && choices >> 2 * last & 3)
		last++;
	r = blm_writer_memory(&out, &there);
	for (unsigned i = 0; r == 0 && i < last; i++)
		r = blm_writer_stage(&out, stages[choices >> 2 * i & 3], 1);
	must(r == 0 && out->write(out, data, size) == 0 && out->finish(out) == 0);
	blm_writer_close(out);
	must(read_back(choices, there.bytes, there.count, SIZE_MAX, piece, buffer, &count) == 0);
	must(count == (size < most_of(piece) ? size : most_of(piece))
	     && !memcmp(buffer, data, count));
	free(there.bytes);
	return 0;
}
