/*
 * similar.c - which rows of a bank are most like a set of bits
 *
 * If two sets have a and b bits and share c, their likeness is a number that grows with c; c is at
 * most the smaller of a and b, and the likeness that this allows is greatest where b is a and
 * falls to both sides (S. J. Swamidass, P. Baldi, "Bounds and Algorithms for Fast Exact Searches of
 * Chemical Fingerprints in Linear and Sublinear Time", J. Chem. Inf. Model. 47(2), 2007). The rows
 * are in the order of their b: so the search begins among those with a bits and goes to whichever
 * side allows more, until neither allows enough.
 */
#include "bank/bank.h"
#include "file/sigbus.h"
#include "base/phase.h"

#include <math.h>

struct measure {
	const char *name;
	double alpha, beta;		/* what counts what only the one, and only the other, has */
	bool given;			/* by the caller, instead */
};

/* Tversky's index with these; the others are cases of it. */
static const struct measure measures[] = {
	{ .name = "tanimoto", .alpha = 1, .beta = 1 },
	{ .name = "jaccard", .alpha = 1, .beta = 1 },
	{ .name = "containment", .alpha = 1, .beta = 0 },
	{ .name = "tversky", .given = true },
};

struct search {
	const struct blm_bank *bank;
	const struct blm_simd *simd;
	double alpha, beta, least;
	uint64_t ones;			/* of the question */
	struct blm_bank_hit *hits;	/* a heap, the worst of them on top */
	size_t count, capacity;
};

static double likeness(const struct search *s, uint64_t ones, uint64_t common)
{
	double all = s->alpha * (double)(s->ones - common) + s->beta * (double)(ones - common)
		+ (double)common;

	return all > 0 ? (double)common / all : 0;
}

static double most_of(const struct search *s, uint64_t row)
{
	uint64_t ones = bank_ones(s->bank, row);

	return likeness(s, ones, ones < s->ones ? ones : s->ones);
}

/* ---- The best so far ---- */

static bool is_worse(const struct search *s, const struct blm_bank_hit *a,
		     const struct blm_bank_hit *b)
{
	if (a->score != b->score)
		return a->score < b->score;
	return bank_order(s->bank, a->row) > bank_order(s->bank, b->row);
}

static void swap(struct blm_bank_hit *a, struct blm_bank_hit *b)
{
	struct blm_bank_hit t = *a;

	*a = *b;
	*b = t;
}

static void sink(const struct search *s, size_t i, size_t count)
{
	for (;;) {
		size_t worst = i;

		for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < count; child++)
			if (is_worse(s, &s->hits[child], &s->hits[worst]))
				worst = child;
		if (worst == i)
			return;
		swap(&s->hits[i], &s->hits[worst]);
		i = worst;
	}
}

static void offer(struct search *s, const struct blm_bank_hit *hit)
{
	if (s->count == s->capacity) {
		if (is_worse(s, &s->hits[0], hit)) {
			s->hits[0] = *hit;
			sink(s, 0, s->count);
		}
		return;
	}
	s->hits[s->count] = *hit;
	for (size_t i = s->count++; i && is_worse(s, &s->hits[i], &s->hits[(i - 1) / 2]);
	     i = (i - 1) / 2)
		swap(&s->hits[i], &s->hits[(i - 1) / 2]);
}

/* The worst goes to the end, then the worst of the rest before it. */
static void put_into_order(struct search *s)
{
	for (size_t left = s->count; left > 1; left--) {
		swap(&s->hits[0], &s->hits[left - 1]);
		sink(s, 0, left - 1);
	}
}

/* ---- The search ---- */

static void look_at(struct search *s, uint64_t row, const uint64_t *bits)
{
	struct blm_bank_hit hit = { .row = row, .ones = bank_ones(s->bank, row) };

	hit.common = s->simd->count_common(bits, bank_row(s->bank, row), s->bank->row_bytes);
	hit.score = likeness(s, hit.ones, hit.common);
	if (hit.score >= s->least)
		offer(s, &hit);
}

/* The first row with as many ones as that. */
static uint64_t first_with(const struct blm_bank *b, uint64_t ones)
{
	uint64_t from = 0, to = b->rows;

	while (from < to) {
		uint64_t middle = from + (to - from) / 2;

		if (bank_ones(b, middle) < ones)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/*
 * What a bound is rounded by is far less than this; of rows that are as good as the worst, one that
 * came earlier takes its place.
 */
static bool allows_enough(const struct search *s, double most)
{
	double needed = s->count == s->capacity
		&& s->hits[0].score > s->least ? s->hits[0].score : s->least;

	return most >= needed * (1 - 1e-9);
}

enum { REPORT_EVERY = 1 << 20 };	/* bytes, in whole rows */

/* How many rows were read. The phase is at most the whole bank, and mostly ends before. */
static uint64_t search(struct search *s, const uint64_t *bits)
{
	uint64_t up = first_with(s->bank, s->ones), down = up;
	uint64_t rows = REPORT_EVERY / s->bank->row_bytes + 1, next = rows;

	BLM_PHASE("searching", s->bank->rows * s->bank->row_bytes);
	while (down || up < s->bank->rows) {
		double above = up < s->bank->rows ? most_of(s, up) : -1, below = down
			? most_of(s, down - 1) : -1;

		if (!allows_enough(s, fmax(above, below)))
			break;
		look_at(s, above >= below ? up++ : --down, bits);
		if (up - down < next)
			continue;
		blm_phase_at((up - down) * s->bank->row_bytes);
		next += rows;
	}
	blm_phase_at((up - down) * s->bank->row_bytes);
	return up - down;
}

static int choose(struct search *s, const struct blm_likeness *how)
{
	const char *name = how->measure ? how->measure : measures[0].name;

	for (size_t i = 0; i < ARRAY_LEN(measures); i++) {
		const struct measure *m = &measures[i];

		if (strcmp(name, m->name))
			continue;
		s->alpha = m->given ? how->alpha : m->alpha;
		s->beta = m->given ? how->beta : m->beta;
		if (!(s->alpha >= 0 && s->alpha <= 1e6 && s->beta >= 0 && s->beta <= 1e6
		      && how->threshold >= 0 && how->threshold <= 1e6))
			return blm_fail(-EINVAL, "alpha %g, beta %g, threshold %g: each is from 0 "
					"to 10^6", s->alpha, s->beta, how->threshold);
		return 0;
	}
	return blm_fail(-EINVAL, "\"%s\" is not a measure; use tanimoto, jaccard, containment or "
			"tversky", name);
}

int64_t blm_bank_rank(const struct blm_bank *b, const void *bits, const struct blm_likeness *how,
		      struct blm_bank_hit *ret, size_t capacity,
		      uint64_t *ret_rows)
{
	struct search s = { .bank = b, .simd = b->like->part[0].simd, .least = how->threshold,
			    .hits = ret, .capacity = capacity };
	int r = blm_bank_check_bits(b);
	uint64_t *words, rows;

	r = r < 0 ? r : choose(&s, how);
	if (r < 0 || !capacity)
		return r;
	words = malloc(b->row_bytes);
	if (!words)
		return blm_fail(-ENOMEM, "%s: out of memory", b->display);
	memcpy(words, bits, b->row_bytes);
	s.ones = s.simd->count_ones(words, b->row_bytes);
	rows = search(&s, words);
	put_into_order(&s);
	free(words);
	if (ret_rows)
		*ret_rows = rows;
	return blm_sigbus_hit(b->image.map)
		? blm_fail(-EIO, "%s: truncated, or cannot be read", b->display) : (int64_t)s.count;
}

BLM_API int64_t blm_bank_similar(const struct blm_bank *b, const void *bits,
				 const struct blm_likeness *how, struct blm_bank_hit *ret,
				 size_t capacity)
{
	int r = blm_must_have(bits && how, bits ? "how" : "bits");

	return r < 0 ? r : blm_bank_rank(b, bits, how, ret, capacity, NULL);
}
