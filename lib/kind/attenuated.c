/*
 * attenuated.c - how far away a thing is: a filter for each distance
 *
 * S. C. Rhea and J. Kubiatowicz, "Probabilistic Location and Routing", INFOCOM 2002. Level i of a
 * node's filter is the union of the local filters of the nodes i hops away, level 0 its own.
 * Advancing makes one of it from its neighbours': their level i goes into level i + 1. A key is
 * asked for level by level, and the first that has it says how far its nearest holder is: a false
 * positive makes that too near, never too far. Levels are classic filters of one size, all of the
 * same rate.
 */
#include "kind/common/bits.h"
#include "kind/common/composite.h"
#include "kind/common/sizing.h"

#include <stdio.h>

enum { DEPTH };
enum { ROLE_LEVEL = 1 };	/* of level i: this + i */

static unsigned parts(const struct blm_shape *root)
{
	return (unsigned)root->args[DEPTH];
}

static bool compose(const struct blm_shape *root, unsigned i, struct blm_component *ret)
{
	return i < parts(root) && blm_component_plan(ret, "classic", ROLE_LEVEL + i,
						     &(struct blm_params){
		.cells = root->cells, .probes = root->probes, .capacity = root->capacity,
		.rate = root->rate }) == 0;
}

/* The capacity is that of each level, the rate that of a question, which asks them all. */
static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	double depth = (double)ret->args[DEPTH], rate = params->rate ? params->rate
		: BLM_DEFAULT_RATE;
	struct blm_params level = *params;
	struct blm_shape s = *ret;
	struct blm_component part;
	int r;

	level.rate = params->cells && !params->rate ? 0 : blm_rate_of_each(rate, depth);
	r = blm_component_plan(&part, "classic", 0, &level);
	if (r < 0)
		return r;
	s.cells = part.shape.cells;
	s.probes = part.shape.probes;
	s.cell_bits = part.shape.cell_bits;
	s.capacity = part.shape.capacity;
	s.rate = blm_rate_of_any(part.shape.rate, depth);
	s.bytes = (uint64_t)depth * part.shape.bytes;
	*ret = s;
	return 0;
}

static bool valid(const struct blm_shape *s)
{
	return s->cells >= 1 && s->cells <= BLM_CELLS_MAX && s->probes >= 1
		&& s->probes <= BLM_PROBES_MAX && s->cell_bits == 1
	    && s->args[DEPTH] >= 1;
}

static double rate_at(const struct blm_shape *s, uint64_t keys)
{
	struct blm_component part;

	return compose(s, 0, &part) ? blm_rate_of_any(part.kind->rate_at(&part.shape, keys),
						      (double)s->args[DEPTH]) : 1;
}

static bool contains(const struct blm_part *root, const struct blm_hashed *key)
{
	return blm_in_any(root->sub, root->subs, key);
}

static void contains_many(const struct blm_part *root, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	blm_any_contains(root->sub, root->subs, batch, ret_bits);
}

static int put(struct blm_part *root, const struct blm_hashed *key, uint64_t level)
{
	if (level >= root->subs)
		return blm_fail(-ERANGE, "level %llu: this filter has the levels 0 to %u",
				(unsigned long long)level, root->subs - 1);
	return root->sub[level].kind->add(&root->sub[level], key);
}

static int get(const struct blm_part *root, const struct blm_hashed *key, uint64_t *ret)
{
	for (unsigned i = 0; i < root->subs; i++)
		if (root->sub[i].kind->contains(&root->sub[i], key)) {
			*ret = i;
			return 1;
		}
	return 0;
}

/* Here. */
static int add(struct blm_part *root, const struct blm_hashed *key)
{
	return root->sub[0].kind->add(&root->sub[0], key);
}

static int add_many(struct blm_part *root, const struct blm_batch *batch, uint64_t *ret_bits)
{
	return blm_part_add(&root->sub[0], batch, ret_bits);
}

static bool advance(const struct blm_part *root, unsigned i, unsigned *ret_to)
{
	*ret_to = i + 1;
	return i + 1 < root->subs;
}

static int counts(const struct blm_part *root, unsigned i)
{
	return 1;
}

static bool describe(const struct blm_part *root, unsigned i, struct blm_fact *ret)
{
	static const char *const names[] = NUMBERED("level");
	double keys, rate;

	if (i >= root->subs)
		return false;
	keys = blm_keys_in(&root->sub[i], &rate);
	*ret = (struct blm_fact){ .name = names[i], .value = keys };
	snprintf(ret->text, sizeof(ret->text), "about %.0f keys, false positives at a rate of %.3g",
		 keys, rate);
	return true;
}

static const struct blm_option options[] = {
	{ "depth", "how many levels: distances from 0 on", BLM_OPTION_COUNT, 1, 64, 3 },
	{ 0 }
};

const struct blm_kind blm_kind_attenuated = {
	.id = 14,
	.name = "attenuated",
	.protocol = BLM_SETS_BITS,
	.summary = "how many hops away a key is: a classic filter for each distance",
	.caveat = "a false positive makes a key seem nearer than it is, never farther",
	.options = options,
	.plan = plan, .valid = valid, .contains = contains, .rate_at = rate_at,
	.add = add, .put = put, .get = get,
	.unite = blm_bits_unite,
	.contains_many = contains_many, .add_many = add_many,
	.compose = compose, .parts = parts, .counts = counts, .advance = advance,
	.describe = describe,
};
