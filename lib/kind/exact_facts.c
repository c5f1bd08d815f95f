/*
 * exact_facts.c - the facts of an exact filter: its lists, levels, updates and parts, and its size
 * against the information bound
 */
#include "kind/common/sizing.h"
#include "kind/exact.h"

#include <math.h>
#include <stdio.h>

/* log2 of how many sets of n of u there are. */
static double log2_choices(double n, double others)
{
	double u = n + others;

	if (n < 1 || others < 1)
		return 0;
	return n * log2(u / n) + others * log2(u / others)
		- 0.5 * log2(2 * M_PI * n * others / u);
}

/* For a filter, or on paper. */
struct numbers {
	uint64_t keys, others, both, passed, bytes[2], updates;
	double first, rate;		/* of the first level, and of the whole */
	bool parts;			/* the first level has them */
};

static bool fact(const struct numbers *n, unsigned i, struct blm_fact *ret)
{
	double least = log2_choices((double)n->keys, (double)(n->others - n->both)) / 8,
		bytes = (double)(n->bytes[0] + n->bytes[1] + n->updates)
			+ sizeof(struct exact_head);

	if (i > 3 || !n->others || !n->keys)
		return false;
	if (i == 0) {
		*ret = (struct blm_fact){ .name = "others", .value = (double)n->others };
		snprintf(ret->text, sizeof(ret->text), "%llu that it denies, and %llu that are "
			 "keys too, so it has them", (unsigned long long)(n->others - n->both),
			 (unsigned long long)n->both);
	} else if (i == 1) {
		*ret = (struct blm_fact){ .name = "levels", .value = n->first };
		snprintf(ret->text, sizeof(ret->text), "%llu bytes at %s %.4g; %llu bytes for the "
			 "keys and the %llu others that pass", (unsigned long long)n->bytes[0],
			 n->parts ? "rates of up to" : "a rate of", n->first,
			 (unsigned long long)n->bytes[1], (unsigned long long)n->passed);
	} else if (i == 2) {
		*ret = (struct blm_fact){ .name = "strangers", .value = n->rate };
		snprintf(ret->text, sizeof(ret->text), "%.4g: the rate of wrong answers about keys "
			 "that are on neither list%s", n->rate,
			 n->parts ? ", or less, as their column says" : "");
	} else {
		*ret = (struct blm_fact){ .name = "least", .value = bytes / least };
		snprintf(ret->text, sizeof(ret->text), "%.4g times as many bytes as tell these "
			 "keys from the others at all%s, %.0f", bytes / least,
			 n->parts ? " without their columns" : "", ceil(least));
	}
	return true;
}

/* All updates together. */
static void fact_of_updates(const struct blm_part *part, uint64_t begin, struct blm_fact *ret)
{
	uint64_t updates = part->shape.args[EXACT_UPDATES], changed = 0, at = begin;
	struct exact_layer l;

	for (uint64_t i = 0; i < updates && blm_exact_open_layer(part, &at, &l); i++)
		changed += l.head.keys;
	*ret = (struct blm_fact){ .name = "updates", .value = (double)updates };
	snprintf(ret->text, sizeof(ret->text), "%llu, of %llu answers and %llu bytes in all",
		 (unsigned long long)updates, (unsigned long long)changed,
		 (unsigned long long)(part->shape.bytes - begin));
}

static void fact_of_parts(const struct exact_head *h, struct blm_fact *ret)
{
	double bytes = (double)h->bytes[0] + (double)h->bytes[1], saved = (double)h->saved;

	*ret = (struct blm_fact){ .name = "parts", .value = h->parts };
	snprintf(ret->text, sizeof(ret->text), "%u, by the columns of keys; they save some %.0f "
		 "bytes, %.2g %%", h->parts, saved, 100 * saved / (bytes + saved));
}

/* What not every filter has: its parts, and its updates. */
static bool describe_more(const struct blm_part *part, const struct exact_head *h, uint64_t begin,
			  unsigned i, struct blm_fact *ret)
{
	if (h->parts && i-- == 0) {
		fact_of_parts(h, ret);
		return true;
	}
	if (i || !part->shape.args[EXACT_UPDATES])
		return false;
	fact_of_updates(part, begin, ret);
	return true;
}

/* The levels of the first layer; and of the last layer, how many of the others are keys. */
bool blm_exact_describe(const struct blm_part *part, unsigned i, struct blm_fact *ret)
{
	struct numbers n = { .keys = part->shape.capacity,
			     .others = part->shape.args[EXACT_OTHERS] };
	uint64_t updates = part->shape.args[EXACT_UPDATES], at = 0, begin;
	struct exact_layer l;

	if (!blm_exact_open_layer(part, &at, &l) || (!l.head.keys && !updates))
		return false;
	begin = at;
	if (i >= 4)
		return describe_more(part, &l.head, begin, i - 4, ret);
	n.passed = l.head.passed;
	n.parts = l.head.parts;
	memcpy(n.bytes, l.head.bytes, sizeof(n.bytes));
	n.first = l.has[1] ? 2 * blm_double_of(l.head.rate) : blm_double_of(l.head.rate);
	for (uint64_t j = 0; j < updates; j++)
		if (!blm_exact_open_layer(part, &at, &l))
			return false;
	n.both = l.head.both;
	n.updates = part->shape.bytes - begin;
	n.rate = blm_exact_rate_in(part, 1);
	return n.both <= n.others && fact(&n, i, ret);
}

/* Without this kind: a classic filter, and a list of the others that it has wrongly. */
static void beside_classic(const struct blm_shape *s, struct blm_fact *ret)
{
	const double rate = BLM_DEFAULT_RATE, hash = sizeof(struct blm_hash);
	double wrong = ceil((double)s->args[EXACT_OTHERS] * rate),
		filter = ceil((double)s->capacity * -log(rate) / (M_LN2 * M_LN2) / 8);

	*ret = (struct blm_fact){ .name = "classic", .value = filter + wrong * hash };
	snprintf(ret->text, sizeof(ret->text), "%.0f bytes at a rate of %g, and %.0f for hashes of "
		 "the %.0f others that it has wrongly", filter, rate, wrong * hash, wrong);
}

bool blm_exact_foretell(const struct blm_shape *s, unsigned i, struct blm_fact *ret)
{
	struct numbers n = { .keys = s->capacity, .others = s->args[EXACT_OTHERS] };

	n.first = blm_exact_resulting_first(s);
	n.rate = blm_exact_rate_at(s, s->capacity);
	n.passed = blm_exact_passing(s);
	blm_exact_level_bytes(s, n.bytes);
	if (i == 4 && n.others) {
		beside_classic(s, ret);
		return true;
	}
	return fact(&n, i, ret);
}
