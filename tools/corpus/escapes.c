/*
 * escapes.c - a text that is shortened, by pieces of the string of JSON that it was read from
 *
 * A bit for each byte of the text says if it has an escape, and a number for each 64 bytes how many
 * escapes come before them. So no loop over bytes is needed to find where a piece is in the string.
 */
#include "result.h"

#include <stdatomic.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

enum { STEP = COPY_BEHIND };

#define INLINED static inline __attribute__((always_inline))

typedef uint64_t escaped_in(const char *text, size_t count);

/* How many escapes come before a place of the text. */
INLINED size_t escapes_before(const struct escapes *map, size_t at)
{
	const struct escapes *e = &map[at / STEP];

	return e->before + (size_t)__builtin_popcountll(e->bits & ((UINT64_C(1) << at % STEP) - 1));
}

/* Return: how many there are */
INLINED size_t map_by(const char *text, size_t length, struct escapes *map, escaped_in *in)
{
	size_t before = 0, at = 0;

	for (; at + STEP <= length; at += STEP, map++) {
		*map = (struct escapes){ in(text + at, STEP), before };
		before += (size_t)__builtin_popcountll(map->bits);
	}
	*map = (struct escapes){ at < length ? in(text + at, length - at) : 0, before };
	return before + (size_t)__builtin_popcountll(map->bits);
}

/* More bytes than the piece has, in steps: most pieces are one or two. */
INLINED void copy_piece(char *to, const char *from, size_t count)
{
	for (size_t at = 0; at < count; at += STEP)
		memcpy(to + at, from + at, STEP);
}

INLINED size_t copy_by(char *to, const struct shortened *s, escaped_in *in)
{
	size_t count = 0;

	if (s->length + map_by(s->text, s->length, s->map, in) != s->written_length)
		return SIZE_MAX;
	for (size_t i = 0; i < s->edge_count; i += 2) {
		size_t begin = s->edges[i] + escapes_before(s->map, s->edges[i]);
		size_t bytes = s->edges[i + 1] + escapes_before(s->map, s->edges[i + 1]) - begin;

		copy_piece(to + count, s->written + begin, bytes);
		count += bytes;
	}
	return count;
}

#ifdef __SSE2__
static inline uint64_t escaped_in_16(const char *text)
{
	__m128i x = _mm_loadu_si128((const void *)text);
	__m128i found = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(' ' - 1)), x);

	found = _mm_or_si128(found, _mm_cmpeq_epi8(x, _mm_set1_epi8('"')));
	found = _mm_or_si128(found, _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
	return (unsigned)_mm_movemask_epi8(found);
}

INLINED uint64_t escaped_by_16(const char *text, size_t count)
{
	char last[STEP];

	if (count < STEP) {
		memset(last, 'a', sizeof(last));
		text = memcpy(last, text, count);
	}
	return escaped_in_16(text) | escaped_in_16(text + 16) << 16 | escaped_in_16(text + 32) << 32
		| escaped_in_16(text + 48) << 48;
}

static size_t copy_by_16(char *to, const struct shortened *s)
{
	return copy_by(to, s, escaped_by_16);
}

#define BY_64 __attribute__((target("avx512bw,popcnt")))

BY_64 static inline uint64_t escaped_by_64(const char *text, size_t count)
{
	__mmask64 some = UINT64_MAX >> (STEP - count);
	__m512i x = _mm512_maskz_loadu_epi8(some, text);

	return some & (_mm512_cmplt_epu8_mask(x, _mm512_set1_epi8(' '))
		       | _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('"'))
		       | _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('\\')));
}

BY_64 static size_t copy_by_64(char *to, const struct shortened *s)
{
	return copy_by(to, s, escaped_by_64);
}

/* By the instruction set that the library uses, which $BLOOMERY_SIMD can lower. */
size_t copy_pieces(char *to, const struct shortened *s)
{
	static atomic_int by_64 = -1;

	if (by_64 < 0)
		by_64 = !strcmp(blm_simd(), "avx512");
	return by_64 ? copy_by_64(to, s) : copy_by_16(to, s);
}
#else
static inline uint64_t escaped_by_1(const char *text, size_t count)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned char c = (unsigned char)text[i];

		bits |= (uint64_t)((c < ' ') | (c == '"') | (c == '\\')) << i;
	}
	return bits;
}

size_t copy_pieces(char *to, const struct shortened *s)
{
	return copy_by(to, s, escaped_by_1);
}
#endif
