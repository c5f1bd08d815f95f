/* stream.c - what pulls through any stage's decoder, and what pushes through any stage's encoder */
#include "stream/stream.h"
#include "stream/sticky_error.h"

#include "bloomery.h"

#define BLOCK 32768

void blm_give(struct blm_out *out, struct blm_in *from)
{
	size_t count = from->count < out->count ? from->count : out->count;

	if (!count)
		return;
	memcpy(out->at, from->at, count);
	*out = (struct blm_out){ out->at + count, out->count - count };
	*from = (struct blm_in){ from->at + count, from->count - count };
}

int blm_trouble(struct blm_trouble *trouble, int err)
{
	trouble->err = err;
	trouble->words = strdup(blm_error_message());
	return err;
}

int blm_trouble_again(const struct blm_trouble *trouble)
{
	return blm_fail(trouble->err, "%s",
			trouble->words ? trouble->words : strerror(-trouble->err));
}

static void *begin(const struct blm_codec *codec, int level, int *ret_error)
{
	void *state = calloc(1, codec->bytes);

	*ret_error = state ? 0 : blm_fail(-ENOMEM, "out of memory");
	if (state && codec->start)
		*ret_error = codec->start(state, level);
	return state;
}

static void end(const struct blm_codec *codec, void *state)
{
	if (state && codec->stop)
		codec->stop(state);
	free(state);
}

/* ---- Reading ---- */

struct stage_reader {
	struct blm_reader reader;
	struct blm_reader *from;
	const struct blm_stage *stage;
	void *state;
	char *display;
	struct blm_trouble trouble;
	bool dry, ended;	/* no more input from below; no more output */
	struct blm_in in;
	uint8_t block[BLOCK];
};

/* The decoder cannot use its input. */
static int refill(struct stage_reader *s)
{
	int64_t r;

	if (s->in.count)
		return blm_fail(-EBADMSG, "%s: the %s data is damaged", s->display, s->stage->name);
	if (s->dry)
		return blm_fail(-EBADMSG, "%s: the %s data ends too early; it is truncated",
				s->display, s->stage->name);
	r = s->from->read(s->from, s->block, BLOCK);
	if (r < 0)
		return (int)r;
	s->dry = r == 0;
	s->in = (struct blm_in){ s->block, (size_t)r };
	return 0;
}

static int64_t stage_read(struct blm_reader *reader, void *buffer, size_t bytes)
{
	struct stage_reader *s = (struct stage_reader *)reader;
	struct blm_out out = { buffer, bytes };
	int r = 0;

	if (s->trouble.err)
		return blm_trouble_again(&s->trouble);
	while (r == 0 && bytes && out.count == bytes && !s->ended) {
		size_t before = s->in.count;

		r = s->stage->decode.step(s->state, &s->in, &out, s->dry, s->display);
		s->ended = r == BLM_STREAM_ENDED;
		if (r == 0 && s->in.count == before && out.count == bytes)
			r = refill(s);
	}
	if (r < 0)
		blm_trouble(&s->trouble, r);
	return r < 0 && out.count == bytes ? r : (int64_t)(bytes - out.count);
}

static void stage_reader_close(struct blm_reader *reader)
{
	struct stage_reader *s = (struct stage_reader *)reader;

	blm_reader_close(s->from);
	end(&s->stage->decode, s->state);
	free(s->trouble.words);
	free(s->display);
	free(s);
}

int blm_reader_stage(struct blm_reader **top, const struct blm_stage *stage, const char *display)
{
	struct stage_reader *s = calloc(1, sizeof(*s));
	int r;

	if (!s) {
		*top = blm_reader_close(*top);
		return blm_fail(-ENOMEM, "%s: out of memory", display);
	}
	s->reader = (struct blm_reader){ stage_read, stage_reader_close };
	s->from = *top;
	s->stage = stage;
	s->in.at = s->block;
	s->display = strdup(display);
	s->state = begin(&stage->decode, 0, &r);
	if (r == 0 && !s->display)
		r = blm_fail(-ENOMEM, "%s: out of memory", display);
	*top = r < 0 ? blm_reader_close(&s->reader) : &s->reader;
	return r;
}

struct blm_reader *blm_reader_close(struct blm_reader *reader)
{
	if (reader)
		reader->close(reader);
	return NULL;
}

int64_t blm_read_full(struct blm_reader *reader, void *buffer, size_t bytes)
{
	size_t count = 0;
	int64_t r = 1;

	while (count < bytes && r > 0) {
		r = reader->read(reader, (uint8_t *)buffer + count, bytes - count);
		if (r < 0)
			return r;
		count += (size_t)r;
	}
	return (int64_t)count;
}

/* ---- Writing ---- */

struct stage_writer {
	struct blm_writer writer;
	struct blm_writer *to;
	const struct blm_stage *stage;
	void *state;
	struct blm_trouble trouble;
	bool finished;
	/*
	 * bytes of `block`: the encoder gets complete blocks, so that its output does not depend on
	 * the writes
	 */
	size_t held;
	uint8_t block[BLOCK], encoded[BLOCK];
};

/* Passes the held bytes to the encoder. */
static int encode(struct stage_writer *s, bool last)
{
	struct blm_in in = { s->block, s->held };
	int r = 0;

	while (r == 0 && (in.count || last)) {
		struct blm_out out = { s->encoded, BLOCK };
		size_t before = in.count;
		int w = 0;

		r = s->stage->encode.step(s->state, &in, &out, last, s->stage->name);
		if (r >= 0 && out.count < BLOCK)
			w = s->to->write(s->to, s->encoded, BLOCK - out.count);
		else if (r == 0 && in.count == before)
			r = blm_fail(-EIO, "%s: makes no progress", s->stage->name);
		if (w < 0)
			r = w;
	}
	s->held = 0;
	return r < 0 ? r : 0;
}

static int stage_write(struct blm_writer *writer, const void *bytes, size_t count)
{
	struct stage_writer *s = (struct stage_writer *)writer;
	struct blm_in from = { bytes, count };

	if (s->trouble.err)
		return blm_trouble_again(&s->trouble);
	if (s->finished)
		return blm_fail(-EINVAL, "%s: written to after its end", s->stage->name);
	while (from.count) {
		struct blm_out space = { s->block + s->held, BLOCK - s->held };
		int r;

		blm_give(&space, &from);
		s->held = BLOCK - space.count;
		r = s->held == BLOCK ? encode(s, false) : 0;
		if (r < 0)
			return blm_trouble(&s->trouble, r);
	}
	return 0;
}

static int stage_finish(struct blm_writer *writer)
{
	struct stage_writer *s = (struct stage_writer *)writer;
	int r;

	if (s->trouble.err)
		return blm_trouble_again(&s->trouble);
	if (s->finished)
		return 0;
	s->finished = true;
	r = encode(s, true);
	if (r == 0)
		r = s->to->finish(s->to);
	return r < 0 ? blm_trouble(&s->trouble, r) : 0;
}

static void stage_writer_close(struct blm_writer *writer)
{
	struct stage_writer *s = (struct stage_writer *)writer;

	blm_writer_close(s->to);
	end(&s->stage->encode, s->state);
	free(s->trouble.words);
	free(s);
}

int blm_writer_stage(struct blm_writer **top, const struct blm_stage *stage, int level)
{
	struct stage_writer *s = calloc(1, sizeof(*s));
	int r;

	if (!s) {
		*top = blm_writer_close(*top);
		return blm_fail(-ENOMEM, "%s: out of memory", stage->name);
	}
	s->writer = (struct blm_writer){ stage_write, stage_finish, stage_writer_close };
	s->to = *top;
	s->stage = stage;
	s->state = begin(&stage->encode, level, &r);
	*top = r < 0 ? blm_writer_close(&s->writer) : &s->writer;
	return r;
}

struct blm_writer *blm_writer_close(struct blm_writer *writer)
{
	if (writer)
		writer->close(writer);
	return NULL;
}
