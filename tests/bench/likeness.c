/*
 * likeness.c - what in a bank of fingerprints is most like one, against reading memory of the same
 * size
 */
#include "bench.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* of a fingerprint; rows made at a time; seeds */
enum { WORDS = 32, LINES = WORDS * 8 / LINE_BYTES, TOP = 10, SOME = 1024, OWN = 1, ASKED };

struct it {
	struct blm_bank *bank;
	uint64_t rows, *plain;		/* the same bits in memory, in the order they came in */
	uint64_t query[WORDS];
	struct blm_bank_hit hits[TOP];
	double best;			/* of any row, counted by nothing of the library */
};

/* Half of the bits of each are set, so that the bounds leave out none. */
static int64_t rank(struct site *s, size_t count)
{
	struct it *it = s->it;

	return blm_bank_similar(it->bank, it->query, &(struct blm_likeness){ .measure = NULL },
				it->hits, TOP);
}

static int check_hits(struct site *s, size_t count)
{
	const struct it *it = s->it;

	for (size_t i = 1; i < TOP; i++)
		if (it->hits[i].score > it->hits[i - 1].score)
			return -EUCLEAN;
	return it->hits[0].score == it->best ? 0 : -EUCLEAN;
}

typedef uint64_t vector __attribute__((vector_size(32), may_alias));

#if defined(__x86_64__)
__attribute__((target("avx2")))
#endif
static int64_t read_plain(struct site *s, size_t count)
{
	const struct it *it = s->it;
	const vector *at = (const vector *)it->plain;
	vector sum = { 0 };

	for (uint64_t i = 0; i < it->rows * WORDS / 4; i++)
		sum ^= at[i];
	sink = sum[0] ^ sum[1] ^ sum[2] ^ sum[3];
	return 0;
}

static const struct work works[] = {
	{ .name = "loop: read", .run = read_plain, .whole = true },
	{ .name = "similar",
	  .limit = "loop: read",
	  .run = rank,
	  .whole = true,
	  .check = check_hits },
};

/* ---- The bank ---- */

static double likeness(const uint64_t *a, const uint64_t *b)
{
	unsigned both = 0, any = 0;

	for (unsigned w = 0; w < WORDS; w++) {
		both += (unsigned)__builtin_popcountll(a[w] & b[w]);
		any += (unsigned)__builtin_popcountll(a[w] | b[w]);
	}
	return (double)both / (double)any;
}

static void make_bits(struct it *it)
{
	for (unsigned w = 0; w < WORDS; w++)
		it->query[w] = noise_word(ASKED, w);
	for (uint64_t i = 0; i < it->rows * WORDS; i++)
		it->plain[i] = noise_word(OWN, i);
	for (uint64_t row = 0; row < it->rows; row++) {
		double l = likeness(it->query, it->plain + row * WORDS);

		it->best = l > it->best ? l : it->best;
	}
}

/* A file of some of them, as chemists have it. */
static size_t write_some(char *text, const struct it *it, uint64_t from, uint64_t to)
{
	static const char digits[] = "0123456789abcdef";
	char *at = text + sprintf(text, "#FPS1\n#num_bits=%d\n", 64 * WORDS);

	for (uint64_t row = from; row < to; row++) {
		const uint8_t *bytes = (const uint8_t *)(it->plain + row * WORDS);

		for (unsigned i = 0; i < 8 * WORDS; i++) {
			*at++ = digits[bytes[i] >> 4];
			*at++ = digits[bytes[i] & 15];
		}
		at += sprintf(at, "\t%llu\n", (unsigned long long)row);
	}
	return (size_t)(at - text);
}

static int make_bank(struct it *it, const char *path)
{
	char *text = malloc(64 + SOME * (16 * WORDS + 24));
	struct blm_bank_build *b;
	int64_t r = text ? blm_bank_begin(&b, path, true, 0) : -ENOMEM;

	if (r < 0) {
		free(text);
		return (int)r;
	}
	for (uint64_t from = 0; from < it->rows && r >= 0; from += SOME) {
		uint64_t to = it->rows - from < SOME ? it->rows : from + SOME;

		r = blm_bank_add_fps(b, text, write_some(text, it, from, to), "fingerprints");
	}
	free(text);
	if (r < 0) {
		blm_bank_cancel(b);
		return (int)r;
	}
	r = blm_bank_finish(b);
	r = r < 0 ? r : blm_bank_open(&it->bank, path);
	unlink(path);
	return (int)r;
}

static void close_it(struct site *s)
{
	struct it *it = s->it;

	blm_bank_close(it->bank);
	if (it->plain)
		munmap(it->plain, it->rows * WORDS * 8);
	free(it);
	s->it = NULL;
}

static int make(struct site *s)
{
	struct it *it = calloc(1, sizeof(*it));
	int r = -ENOMEM;

	if (!it)
		return r;
	s->it = it;
	it->rows = s->keys / LINES;	/* a "key" of this site is a line */
	s->data_bytes = it->rows * WORDS * 8;
	it->plain = mmap(NULL, s->data_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (it->plain == MAP_FAILED)
		it->plain = NULL;
	if (it->plain) {
		madvise(it->plain, s->data_bytes, MADV_HUGEPAGE);
		make_bits(it);
		r = make_bank(it, s->path);
	}
	if (r < 0)
		close_it(s);
	return r;
}

const struct engine likeness_of_bits = {
	.name = "likeness",
	.make = make, .close = close_it,
	.works = works, .work_count = ARRAY_LEN(works),
};
