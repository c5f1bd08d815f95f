/*
 * base64.c - base64 (RFC 4648, section 4), read leniently and written without line breaks
 *
 * A reader drops every byte outside the alphabet wherever it stands, as Python's base64.b64decode()
 * does, and also the two characters "\n", "\r" or "\t" that a line break becomes in source code.
 * Padding that completes a group ends the text; missing padding at the end of input does no harm.
 */
#include "stream/stream.h"

#include <sodium.h>

#define BYTES 3072		/* at a time: a multiple of 3 */
#define CHARS (BYTES / 3 * 4)

/* ---- Decoding ---- */

struct decoder {
	char text[CHARS];	/* the alphabet's characters alone */
	size_t count;		/* of them, that wait: less than a group between steps */
	bool padded;		/* the last that counted was one '=' after two characters */
	bool escaped;		/* the last was a backslash */
	bool ended;
	uint8_t bytes[BYTES];
	struct blm_in decoded;	/* of these, not yet given */
};

/* a value of at most DIGIT counts as that many characters */
enum { OTHER = 0, DIGIT = 1, PAD, BACKSLASH };

static const uint8_t meaning[256] = {
	['A' ... 'Z'] = DIGIT, ['a' ... 'z'] = DIGIT, ['0' ... '9'] = DIGIT, ['+'] = DIGIT,
		['/'] = DIGIT,
	['='] = PAD, ['\\'] = BACKSLASH,
};

static bool stands_for_a_break(uint8_t c)	/* after a backslash */
{
	return c == 'n' || c == 'r' || c == 't';
}

/* A '=' after `count` characters: does it complete the group? */
static bool pads(struct decoder *d, size_t count)
{
	bool complete = count % 4 == 3 || (count % 4 == 2 && d->padded);

	d->padded = count % 4 == 2;
	return complete;
}

/*
 * Appends the valid characters to the text, up to the end of the input, of the buffer or of the
 * base64.
 */
static void sift(struct decoder *d, struct blm_in *in)
{
	const uint8_t *at = in->at, *end = at + (in->count < CHARS - d->count ? in->count
						 : CHARS - d->count);
	size_t count = d->count;

	if (d->escaped && at < end) {
		d->escaped = false;
		at += stands_for_a_break(*at);
	}
	while (at < end && !d->ended) {
		size_t before = count;

		for (; at < end && meaning[*at] <= DIGIT; at++) {
			d->text[count] = (char)*at;
			count += meaning[*at];
		}
		d->padded = d->padded && count == before;
		if (at == end)
			break;
		if (meaning[*at++] == PAD)
			d->ended = pads(d, count);
		else if (at == end)
			d->escaped = true;
		else
			at += stands_for_a_break(*at);
	}
	d->count = count;
	*in = (struct blm_in){ at, in->count - (size_t)(at - in->at) };
}

/* Decodes the complete groups, and at the end also the last one. */
static int decode_text(struct decoder *d, const char *display)
{
	size_t left = d->count % 4, missing = d->ended
		&& left ? 4 - left : 0, chars = d->count - left, bytes;

	if (missing == 3)
		return blm_fail(-EBADMSG, "%s: base64 ends in the middle of a group; it is "
				"truncated",
				display);
	if (missing) {
		/* zeros, whose bytes are not given */
		memset(d->text + d->count, 'A', missing);
		chars = d->count += missing;
		left = 0;
	}
	if (sodium_base642bin(d->bytes, BYTES, d->text, chars, NULL, &bytes, NULL,
			      sodium_base64_VARIANT_ORIGINAL_NO_PADDING) != 0)
		return blm_fail(-EBADMSG, "%s: base64 is damaged", display);
	d->decoded = (struct blm_in){ d->bytes, bytes - missing };
	memmove(d->text, d->text + chars, left);
	d->count = left;
	return 0;
}

static int decode(void *state, struct blm_in *in, struct blm_out *out, bool last,
		  const char *display)
{
	struct decoder *d = state;
	int r = 0;

	if (!d->decoded.count && !d->ended) {
		sift(d, in);
		d->ended = d->ended || (last && !in->count && d->count < 4);
		r = decode_text(d, display);
	}
	blm_give(out, &d->decoded);
	if (r < 0)
		return r;
	return d->ended && !d->decoded.count ? BLM_STREAM_ENDED : 0;
}

/* ---- Encoding ---- */

struct encoder {
	uint8_t bytes[BYTES];
	size_t count;
	bool ended;
	char text[CHARS + 1];
	struct blm_in encoded;	/* of the text, not yet given */
};

static int encode(void *state, struct blm_in *in, struct blm_out *out, bool last,
		  const char *display)
{
	struct encoder *e = state;

	if (!e->encoded.count && !e->ended) {
		struct blm_out space = { e->bytes + e->count, BYTES - e->count };

		blm_give(&space, in);
		e->count = BYTES - space.count;
		e->ended = last && !in->count;
		if (e->count == BYTES || e->ended) {
			sodium_bin2base64(e->text, sizeof(e->text), e->bytes, e->count,
					  sodium_base64_VARIANT_ORIGINAL);
			e->encoded = (struct blm_in){ (const uint8_t *)e->text, strlen(e->text) };
			e->count = 0;
		}
	}
	blm_give(out, &e->encoded);
	return e->ended && !e->encoded.count ? BLM_STREAM_ENDED : 0;
}

const struct blm_stage blm_stage_base64 = {
	.name = "base64",
	.decode = { .bytes = sizeof(struct decoder), .step = decode },
	.encode = { .bytes = sizeof(struct encoder), .step = encode },
};
