/* escapes.c - how many characters of a text have an escape in a string of JSON */
#include "result.h"

#include <stdatomic.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#ifdef __SSE2__
/* Of 16 bytes, those before `count`: 1 in each that is escaped, in two sums. */
static __m128i escaped_bytes(const char *text, size_t count)
{
	static const char window[32] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	__m128i x = _mm_loadu_si128((const void *)text);
	__m128i found = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(' ' - 1)), x);

	found = _mm_or_si128(found, _mm_cmpeq_epi8(x, _mm_set1_epi8('"')));
	found = _mm_or_si128(found, _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
	found = _mm_and_si128(found, _mm_loadu_si128((const void *)(window + 16 - count)));
	return _mm_sad_epu8(found, _mm_setzero_si128());
}

static size_t count_by_16(const char *text, size_t length)
{
	__m128i sums = _mm_setzero_si128();
	size_t at = 0;

	for (; at + 16 <= length; at += 16)
		sums = _mm_add_epi64(sums, escaped_bytes(text + at, 16));
	sums = _mm_add_epi64(sums, escaped_bytes(text + at, length - at));
	return (unsigned)_mm_cvtsi128_si32(sums)
		+ (unsigned)_mm_cvtsi128_si32(_mm_unpackhi_epi64(sums, sums));
}

/* Paragraphs are short, so most of them are one step. */
__attribute__((target("avx512bw,popcnt"))) static size_t count_by_64(const char *text,
								      size_t length)
{
	const __m512i space = _mm512_set1_epi8(' '), quote = _mm512_set1_epi8('"'),
		slash = _mm512_set1_epi8('\\');
	size_t count = 0;

	for (size_t at = 0; at < length; at += 64) {
		__mmask64 rest = length - at < 64 ? (UINT64_C(1) << (length - at)) - 1
			: UINT64_MAX;
		__m512i x = _mm512_maskz_loadu_epi8(rest, text + at);

		count += (unsigned)__builtin_popcountll(rest
			& (_mm512_cmplt_epu8_mask(x, space) | _mm512_cmpeq_epi8_mask(x, quote)
			   | _mm512_cmpeq_epi8_mask(x, slash)));
	}
	return count;
}

/* By the instruction set that the library uses, which $BLOOMERY_SIMD can lower. */
size_t count_escapes(const char *text, size_t length)
{
	static atomic_int by_64 = -1;

	if (by_64 < 0)
		by_64 = !strcmp(blm_simd(), "avx512");
	return by_64 ? count_by_64(text, length) : count_by_16(text, length);
}
#else
size_t count_escapes(const char *text, size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		count += (c < ' ') | (c == '"') | (c == '\\');
	}
	return count;
}
#endif
