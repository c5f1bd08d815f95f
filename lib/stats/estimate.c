/*
 * estimate.c - fill, rate, number of keys and overlap, estimated from the bits, with standard
 * errors
 *
 * S. J. Swamidass and P. Baldi, "Mathematical Correction for Fingerprint Similarity Measures to
 * Improve Chemical Retrieval", J. Chem. Inf. Model. 47(3), 2007. An intersection is |A| + |B| - |A
 * or B|, three counts of the same sort: two filters have more bits in common than their common keys
 * set, so counting common bits would give too many.
 */
#include "handle/handle.h"
#include "stats/tally.h"
#include "base/phase.h"

#include <math.h>

enum { SAMPLE_BYTES = 16 << 20, SAMPLE_PIECE = 64 << 10 };

/*
 * Cells among the data that were read, those past the last one with them: a cell is in one word
 * of 64 bits.
 */
static double cells_read(const struct blm_part *part, const struct blm_tally *c)
{
	return (double)(c->bytes / 8) * (64 / part->shape.cell_bits);
}

struct blm_value blm_keys_of_tally(const struct blm_part *part, const struct blm_tally *c,
				   bool *ret_saturated)
{
	double cells = fmin(cells_read(part, c), (double)part->shape.cells);
	struct blm_value keys = { 0 };

	*ret_saturated = false;
	if (cells <= 0)		/* of a part of a split filter that owns nothing */
		return keys;
	*ret_saturated = (double)c->ones >= cells && !part->kind->exact;
	/* as many as all cells but one would say: the least that it can be */
	if (*ret_saturated)
		keys.value = part->kind->keys_of(&part->shape, (cells - 1) / cells, &keys.error);
	else
		keys.value = part->kind->keys_of(&part->shape, (double)c->ones / cells,
						 &keys.error);
	return keys;
}

double blm_rate_of_parts(const struct blm_view *view, const struct blm_tally *tally)
{
	double no = 1, kept = 1;

	for (unsigned i = 0; i < view->parts; i++) {
		double rate = view->part[i].kind->rate_of(&view->part[i].shape, &tally[i]);
		int counts = blm_part_counts(view, i);

		no *= counts > 0 ? 1 - rate : 1;
		kept *= counts < 0 ? 1 - rate : 1;
	}
	return view->parts == 1 ? view->part[0].kind->rate_of(&view->part[0].shape, &tally[0])
		: (1 - no) * kept;
}

/* A sample: pieces at even distances, from the first to the last, as many as make SAMPLE_BYTES. */
static void sample(const struct blm_part *part, struct blm_tally *to)
{
	uint64_t pieces = SAMPLE_BYTES / SAMPLE_PIECE, last = part->shape.bytes - SAMPLE_PIECE;

	for (uint64_t i = 0; i < pieces; i++) {
		uint64_t at = (uint64_t)((double)last * (double)i / (double)(pieces - 1)) / 64 * 64;

		part->kind->tally(part, part->bytes + at, SAMPLE_PIECE, to);
	}
}

/*
 * The standard error of a mean from a sample without replacement. The cells of a classic filter are
 * nearly independent. In blocks the keys come in lumps, so there the variance is that between the
 * blocks, of f(share of ones).
 */
static double sample_error(const struct blm_part *part, const struct blm_tally *c, double share,
			   double power)
{
	double left = 1 - (double)c->bytes / (double)part->shape.bytes, blocks = 0, sum = 0,
		squares = 0, cells;

	if (left <= 0)
		return 0;
	for (unsigned x = 0; x <= 512; x++) {
		double f = pow(x / 512.0, power), many = (double)c->blocks[x];

		blocks += many;
		sum += many * f;
		squares += many * f * f;
	}
	if (blocks > 0)
		return sqrt(fmax(squares / blocks - sum * sum / (blocks * blocks), 0) / blocks
			    * left);
	/* the error of x^k is k x^(k-1) times that of x */
	cells = cells_read(part, c);
	return power * pow(share, power - 1) * sqrt(share * (1 - share) / cells * left);
}

/*
 * The rule of three, for a sample without ones: if 3 in n are ones, a sample of n misses all of
 * them with a probability of 5 %. In blocks the sample is of blocks, because a key has all its ones
 * in one block; otherwise of cells.
 */
static void add_bounds(const struct blm_part *part, const struct blm_tally *c,
		       struct blm_estimate *to)
{
	double probes = part->shape.probes, all = (double)part->shape.bytes / (double)c->bytes,
		cells = (double)c->bytes * 8 / part->shape.cell_bits;
	double keys = c->blocks[0] ? 3 * all : 3 * all / probes;
	double rate = c->blocks[0] ? 3 / (double)c->blocks[0] * pow(probes / 512, probes)
		: pow(3 / cells, probes);

	to->keys.error = hypot(to->keys.error, keys);
	to->fill.error = hypot(to->fill.error, keys * probes);
	to->rate.error = hypot(to->rate.error, rate);
}

static void add_part(const struct blm_view *view, unsigned i, const struct blm_part *part,
		     const struct blm_tally *c, struct blm_estimate *to)
{
	int counts = blm_part_counts(view, i);
	double cells = (double)part->shape.cells, read = fmin(cells_read(part, c), cells);
	double fill = (double)c->ones / read, fill_error = sample_error(part, c, fill, 1), aside,
		ignored;
	bool saturated;
	struct blm_value keys = blm_keys_of_tally(part, c, &saturated);

	/* the sample's own error on top: how far the answer moves when the fill does */
	aside = fill_error > 0 && fill + fill_error < 1
		? part->kind->keys_of(&part->shape, fill + fill_error, &ignored) - keys.value : 0;
	/* a part of a split filter has nothing outside its range */
	to->sampled_bytes += c->bytes < part->shape.bytes ? c->bytes : view->part[i].shape.bytes;
	if (!counts)
		return;
	to->keys.value += counts * keys.value;
	to->keys.error = hypot(to->keys.error, hypot(keys.error, aside));
	to->saturated |= saturated && c->bytes >= part->shape.bytes;
	to->ones += c->ones;
	to->fill.value += fill * cells;
	to->fill.error = hypot(to->fill.error, fill_error * cells);
	to->rate.error = hypot(to->rate.error, sample_error(part, c, fill, part->shape.probes));
	if (!c->ones && c->bytes < part->shape.bytes)
		add_bounds(part, c, to);
}

BLM_API int blm_estimate(const struct blm_filter *f, bool exact, struct blm_estimate *ret)
{
	BLM_CRITICAL_SECTION;
	const struct blm_view *view = current_view(f);
	struct blm_estimate e = { 0 };
	struct blm_tally *tally = calloc(view->parts, sizeof(*tally));
	double cells = 0;
	int r = 0;

	if (!tally)
		return blm_fail(-ENOMEM, "%s: out of memory", f->place.display);
	BLM_PHASE("counting", blm_scan_bytes(view));
	for (unsigned i = 0; r == 0 && i < view->parts; i++) {
		const struct blm_part owned = blm_owned_part(view, i), *part = &owned;

		if (!part->shape.bytes)
			continue;
		if (!part->kind->tally)
			r = blm_cannot(view, f, "tell how many keys they hold", BLM_CAN_ESTIMATE);
		else if (exact || part->kind->exact || part->shape.bytes <= SAMPLE_BYTES)
			r = blm_union_tally(&view, 1, i, &tally[i]);
		else
			sample(part, &tally[i]);
		if (r == 0) {
			add_part(view, i, part, &tally[i], &e);
			cells += blm_part_counts(view, i) ? (double)part->shape.cells : 0;
		}
	}
	if (r == 0)
		r = blm_check_sigbus(view, f->place.display);
	if (r == 0) {
		e.keys.value = fmax(e.keys.value, 0);
		if (cells > 0) {	/* none: all parts of it are past */
			e.fill.value /= cells;
			e.fill.error /= cells;
		}
		e.rate.value = cells > 0 ? blm_rate_of_parts(view, tally) : 0;
		*ret = e;
	}
	free(tally);
	return r;
}

/* ---- Two filters ---- */

static struct blm_value ratio(struct blm_value a, struct blm_value b)
{
	struct blm_value q = { .value = b.value > 0 ? a.value / b.value : 0 };

	if (b.value > 0)
		q.error = hypot(a.error / b.value, q.value * b.error / b.value);
	return q;
}

/* If only one of them has the part yet, that one alone. */
static int count_pair(const struct blm_view *const view[2], unsigned i, struct blm_tally to[3])
{
	int r, which = i >= view[0]->parts;

	if (i < view[0]->parts && i < view[1]->parts)
		return blm_pair_tally(view, i, to);
	r = blm_union_tally(&view[which], 1, i, &to[which]);
	to[2] = to[which];
	return r;
}

static int check_comparable(const struct blm_view *const view[2],
			    const struct blm_filter *const f[2])
{
	if (!view[0]->part[0].kind->tally)
		return blm_cannot(view[0], f[0], "tell how much two of them have in common",
				  BLM_CAN_ESTIMATE);
	return blm_check_template(view[0], f[0]->place.display, view[1], f[1]->place.display);
}

/* Add what part i says of the one, of the other, and of their union. */
static int add_pair(const struct blm_view *const view[2], unsigned i, struct blm_tally tally[3],
		    struct blm_comparison *to, double ones[3])
{
	const struct blm_view *one = i < view[0]->parts ? view[0] : view[1];
	const struct blm_part part = blm_owned_part(one, i);
	struct blm_value *sizes[3] = { &to->a, &to->b, &to->both };
	int r;

	memset(tally, 0, 3 * sizeof(*tally));
	r = count_pair(view, i, tally);
	for (int which = 0; r == 0 && which < 3; which++) {
		bool saturated;
		struct blm_value keys;

		if (!tally[which].bytes || !blm_part_counts(one, i))
			continue;
		keys = blm_keys_of_tally(&part, &tally[which], &saturated);
		sizes[which]->value += blm_part_counts(one, i) * keys.value;
		sizes[which]->error = hypot(sizes[which]->error, keys.error);
		ones[which] += (double)tally[which].ones;
		to->saturated |= saturated;
	}
	if (r == 0 && one->part[i].kind->difference_of)
		to->difference.value = one->part[i].kind->difference_of(&one->part[i].shape,
			&tally[2],
									&to->difference.error);
	return r;
}

static int add_pairs(const struct blm_view *const view[2], struct blm_tally tally[3],
		     struct blm_comparison *to, double ones[3])
{
	const struct blm_view *larger = view[view[0]->parts < view[1]->parts];
	int r = 0;

	BLM_PHASE("comparing", blm_scan_bytes(larger));
	for (unsigned i = 0; r == 0 && i < larger->parts; i++)
		r = add_pair(view, i, tally, to, ones);
	return r;
}

/*
 * The three errors are alike and far from independent; added up as if they were, they bound the
 * truth from above.
 */
static void derive(struct blm_comparison *c, const double ones[3], bool has_difference)
{
	c->common.value = fmax(0, c->a.value + c->b.value - c->both.value);
	c->common.error = hypot(hypot(c->a.error, c->b.error), c->both.error);
	if (!has_difference) {
		c->difference.value = fmax(0, 2 * c->both.value - c->a.value - c->b.value);
		c->difference.error = hypot(hypot(c->a.error, c->b.error), 2 * c->both.error);
	}
	c->jaccard = ratio(c->common, c->both);
	c->tanimoto.value = ones[2] > 0 ? (ones[0] + ones[1] - ones[2]) / ones[2] : 0;
}

BLM_API int blm_compare(const struct blm_filter *a, const struct blm_filter *b,
			struct blm_comparison *ret)
{
	BLM_CRITICAL_SECTION;
	const struct blm_filter *const f[2] = { a, b };
	const struct blm_view *view[2];
	struct blm_comparison c = { 0 };
	struct blm_tally *tally = NULL;
	double ones[3] = { 0 };
	int r = blm_views_at_once(view, f, 2);

	if (r == 0)
		r = check_comparable(view, f);
	if (r == 0 && !(tally = malloc(3 * sizeof(*tally))))
		r = blm_fail(-ENOMEM, "%s: out of memory", a->place.display);
	if (r == 0)
		r = add_pairs(view, tally, &c, ones);
	for (int i = 0; r == 0 && i < 2; i++)
		r = blm_check_sigbus(view[i], f[i]->place.display);
	free(tally);
	if (r < 0)
		return r;
	derive(&c, ones, view[0]->part[0].kind->difference_of != NULL);
	*ret = c;
	return 0;
}
