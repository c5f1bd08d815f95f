/*
 * scalable.c - a filter that keeps its rate however many keys come: filters, each larger and
 * stricter than the one before
 *
 * P. S. Almeida, C. Baquero, N. Preguica and D. Hutchison, "Scalable Bloom Filters", Information
 * Processing Letters 101(6), 2007. Stage i is for n s^i keys at the rate P (1 - r) r^i, n the
 * capacity and P the rate of the filter, s its `growth` and r its `tightening`; all rates together,
 * however many, are at most P. A key goes into the last stage unless an earlier one has it, and
 * when the count of keys has reached what the stages are for there is another (extend.c). Stages
 * are classic filters, since blocks cost the more bits the stricter they are, or blocked ones: a
 * question then reads one cache line of each.
 *
 * Each stage that comes is also for no more than s times what the last one can be, by its own
 * cells: else a file of a few hundred bytes could ask for one of gigabytes, and a chain whose
 * stages do not grow, as other programs have them, for one far larger than all of it.
 */
#include "kind/common/bits.h"
#include "kind/common/composite.h"
#include "kind/scalable.h"
#include "kind/common/sizing.h"

#include <math.h>
#include <stdio.h>

enum { GROWTH = SCALABLE_GROWTH, TIGHTENING = SCALABLE_TIGHTENING, ROLE_STAGE = SCALABLE_ROLE };
/* no stage that says no to anything has more: each of its cells would be set long before */
enum { KEYS_A_CELL = 64 };

static double tightening(const struct blm_shape *s)
{
	double r;

	memcpy(&r, &s->args[TIGHTENING], sizeof(r));
	return r;
}

/* How many keys stage i is for; 0: more than a filter can be. */
static uint64_t capacity_of(const struct blm_shape *s, unsigned i)
{
	uint64_t keys = s->capacity;

	for (; i; i--) {
		if (keys > BLM_CAPACITY_MAX / s->args[GROWTH])
			return 0;
		keys *= s->args[GROWTH];
	}
	return keys;
}

static double rate_of_stage(const struct blm_shape *s, unsigned i)
{
	return s->rate * (1 - tightening(s)) * pow(tightening(s), i);
}

static const char *kind_of_stages(const struct blm_shape *s)
{
	return s->args[SCALABLE_BLOCKED] ? "blocked" : "classic";
}

static bool compose(const struct blm_shape *root, unsigned i, struct blm_component *ret)
{
	struct blm_params stage = { .capacity = capacity_of(root, i),
				    .rate = rate_of_stage(root, i) };

	if (!stage.capacity || !(stage.rate >= 1e-300))
		return false;
	if (i == 0) {
		stage.cells = root->cells;
		stage.probes = root->probes;
	}
	return blm_component_plan(ret, kind_of_stages(root), ROLE_STAGE, &stage) == 0;
}

/*
 * What it says, but at most twice the keys that no cells do better than at its rate: twice, since
 * programs round what they make.
 */
static uint64_t fits(const struct blm_part *root, unsigned i)
{
	const struct blm_shape *s = &root->sub[i].shape;
	double keys = ceil((double)s->cells * M_LN2 * M_LN2
			   / -log(rate_of_stage(&root->shape, i)));
	uint64_t most = 2 * (uint64_t)fmin(keys, (double)BLM_CAPACITY_MAX);

	return s->capacity < most ? s->capacity : most;
}

static bool next(const struct blm_part *root, struct blm_component *ret)
{
	uint64_t keys = fits(root, root->subs - 1), growth = root->shape.args[GROWTH];

	if (!compose(&root->shape, root->subs, ret))
		return false;
	keys = keys ? keys : 1;
	if (ret->shape.capacity / growth <= keys)
		return true;
	return blm_component_plan(ret, kind_of_stages(&root->shape), ROLE_STAGE,
				  &(struct blm_params){ .capacity = keys * growth,
							.rate = ret->shape.rate }) == 0;
}

static unsigned parts(const struct blm_shape *root)
{
	return 1;
}

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = *ret;
	double first = 1 - tightening(&s);
	struct blm_params stage = *params;
	struct blm_component part;
	int r;

	stage.rate = params->cells ? params->rate * first
		: (params->rate ? params->rate : BLM_DEFAULT_RATE) * first;
	r = blm_component_plan(&part, kind_of_stages(&s), ROLE_STAGE, &stage);
	if (r < 0)
		return r;
	s.cells = part.shape.cells;
	s.probes = part.shape.probes;
	s.cell_bits = part.shape.cell_bits;
	s.capacity = part.shape.capacity;
	s.rate = part.shape.rate / first;
	s.bytes = part.shape.bytes;
	if (s.capacity / KEYS_A_CELL > s.cells)
		return blm_fail(-EINVAL, "the first stage of a scalable filter cannot be for %llu "
				"keys in %llu cells, more than %d a cell",
				(unsigned long long)s.capacity, (unsigned long long)s.cells,
				KEYS_A_CELL);
	if (!(s.rate < 1))
		return blm_fail(-EINVAL, "the first stage of a scalable filter would have a rate "
				"of %.3g; use a smaller rate",
				part.shape.rate);
	if (!compose(&s, 0, &part))
		return blm_fail(-EINVAL, "a rate of %g is too small for a scalable filter, which "
				"divides it among its stages", s.rate);
	*ret = s;
	return 0;
}

static bool takes_schemes(const struct blm_shape *s)
{
	return !s->args[SCALABLE_BLOCKED];
}

static bool valid(const struct blm_shape *s)
{
	return s->cells >= 1 && s->cells <= BLM_CELLS_MAX && s->probes >= 1
		&& s->probes <= BLM_PROBES_MAX && s->cell_bits == 1
	    && s->args[GROWTH] >= 2 && s->capacity / KEYS_A_CELL <= s->cells;
}

/* With the stages full one after the other. */
static double rate_at(const struct blm_shape *s, uint64_t keys)
{
	struct blm_component part;
	double no = 1;

	for (unsigned i = 0; keys && compose(s, i, &part); i++) {
		uint64_t here = keys < part.shape.capacity ? keys : part.shape.capacity;

		no *= 1 - part.kind->rate_at(&part.shape, here);
		keys -= here;
	}
	return keys ? 1 : 1 - no;
}

/* The newest stage has most of the keys. */
static bool contains(const struct blm_part *root, const struct blm_hashed *key)
{
	for (unsigned i = root->subs; i--; )
		if (root->sub[i].kind->contains(&root->sub[i], key))
			return true;
	return false;
}

static void contains_many(const struct blm_part *root, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	blm_any_contains(root->sub, root->subs, batch, ret_bits);
}

static struct blm_part *last(struct blm_part *root)
{
	return &root->sub[root->subs - 1];
}

static int add(struct blm_part *root, const struct blm_hashed *key)
{
	return blm_in_any(root->sub, root->subs - 1, key) ? 0
		: last(root)->kind->add(last(root), key);
}

/*
 * A claimer holds off the next stage (keys.c). So all claimers of a key claim it in one stage, and
 * see the keys that were claimed in an earlier one.
 */
static int claim(struct blm_part *root, const struct blm_hashed *key)
{
	return blm_in_any(root->sub, root->subs - 1, key) ? 0
		: last(root)->kind->claim(last(root), key);
}

static int change_many(struct blm_part *root, const struct blm_batch *batch, uint64_t *ret_bits,
		       int (*change)(struct blm_part *, const struct blm_batch *, uint64_t *))
{
	struct blm_picked absent;
	uint64_t answers[BLM_BATCH_WORDS];
	int r;

	if (root->subs == 1)
		return change(last(root), batch, ret_bits);
	blm_any_contains(root->sub, root->subs - 1, batch, ret_bits);
	blm_pick(&absent, batch, ret_bits, false);
	memset(ret_bits, 0, (batch->count + 63) / 64 * sizeof(*ret_bits));
	r = change(last(root), &absent.batch, answers);
	if (r == 0)
		blm_put_back(&absent, answers, ret_bits);
	return r;
}

static int add_many(struct blm_part *root, const struct blm_batch *batch, uint64_t *ret_bits)
{
	return change_many(root, batch, ret_bits, blm_part_add);
}

static int claim_many(struct blm_part *root, const struct blm_batch *batch, uint64_t *ret_bits)
{
	return change_many(root, batch, ret_bits, blm_part_claim);
}

static void prefetch(const struct blm_part *root, const struct blm_hashed *key)
{
	const struct blm_part *newest = &root->sub[root->subs - 1];

	newest->kind->prefetch(newest, key);
}

static uint64_t space(const struct blm_part *root, uint64_t keys)
{
	uint64_t capacity = 0;

	for (unsigned i = 0; i < root->subs; i++)
		capacity += root->sub[i].shape.capacity;
	return keys < capacity ? capacity - keys : 0;
}

static int counts(const struct blm_part *root, unsigned i)
{
	return 1;
}

static bool describe(const struct blm_part *root, unsigned i, struct blm_fact *ret)
{
	static const char *const names[] = NUMBERED("stage");
	const struct blm_shape *s;

	if (i == 0) {
		*ret = (struct blm_fact){ .name = "stages", .value = root->subs };
		snprintf(ret->text, sizeof(ret->text), "%u", root->subs);
		return true;
	}
	if (i > root->subs)
		return false;
	s = &root->sub[i - 1].shape;
	*ret = (struct blm_fact){ .name = names[i], .value = (double)s->capacity };
	snprintf(ret->text, sizeof(ret->text), "for %llu keys at a rate of %.3g, m %llu, k %u",
		 (unsigned long long)s->capacity, s->rate,
		 (unsigned long long)s->cells, s->probes);
	return true;
}

static const struct blm_option options[] = {
	{ "growth", "how many times as many keys each stage is for as the one before",
	  BLM_OPTION_COUNT, SCALABLE_GROWTH_LEAST,
	  SCALABLE_GROWTH_MOST, 2 },
	{ "tightening", "the rate of each stage, as a share of that of the one before",
	  BLM_OPTION_SHARE,
	  SCALABLE_TIGHTENING_LEAST, SCALABLE_TIGHTENING_MOST, 0.5 },
	{ "blocked", "1: the stages are blocked filters: a question reads one cache line of each, "
	  "for more bits", BLM_OPTION_COUNT, 0, 1, 0 },
	{ 0 }
};

const struct blm_kind blm_kind_scalable = {
	.id = 11,
	.name = "scalable",
	.protocol = BLM_SETS_BITS,
	.summary = "grows: keeps its rate however many keys come, for two to three times the bits "
	"of classic",
	.options = options,
	.plan = plan, .valid = valid, .contains = contains, .rate_at = rate_at,
	.add = add, .claim = claim,
	.unite = blm_bits_unite,
	.prefetch = prefetch, .contains_many = contains_many, .add_many = add_many,
	.claim_many = claim_many,
	.compose = compose, .parts = parts, .counts = counts, .space = space, .fits = fits,
	.next = next, .describe = describe,
	.takes_schemes = takes_schemes,
};
