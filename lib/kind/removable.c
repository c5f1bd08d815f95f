/*
 * removable.c - a pair of filters: the keys that were added, and those of them that were removed
 *
 * The second filter of a pair stands for deletion from the first: A. Broder and M. Mitzenmacher,
 * "Network Applications of Bloom Filters: A Survey", Internet Mathematics 1(4), 2004. A key is
 * present if the first filter has it and the second does not. So a key is removed for good: adding
 * it again is refused. A false positive of the second filter denies a key that was added and never
 * removed, at the rate of that filter. Both filters only grow, and the union of two pairs is the
 * union of both filters (a set of two phases).
 */
#include "kind/common/bits.h"
#include "kind/common/composite.h"

#include <stdio.h>

enum { ADDED, REMOVED, PARTS };		/* their roles are these + 1 */

static bool compose(const struct blm_shape *root, unsigned i, struct blm_component *ret)
{
	return i < PARTS && blm_component_plan(ret, "blocked", i + 1, &(struct blm_params){
		.cells = root->cells, .probes = root->probes, .capacity = root->capacity,
		.rate = root->rate }) == 0;
}

static unsigned parts(const struct blm_shape *root)
{
	return PARTS;
}

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_component part;
	int r = blm_component_plan(&part, "blocked", 0, params);

	if (r < 0)
		return r;
	*ret = part.shape;
	ret->bytes = PARTS * part.shape.bytes;
	return 0;
}

static bool valid(const struct blm_shape *s)
{
	return s->cells >= 512 && s->cells <= BLM_CELLS_MAX && s->cells % 512 == 0 && s->probes >= 1
		&& s->probes <= BLM_PROBES_MAX
	    && s->cell_bits == 1;
}

/* With nothing removed. */
static double rate_at(const struct blm_shape *s, uint64_t keys)
{
	struct blm_component part;

	return compose(s, ADDED, &part) ? part.kind->rate_at(&part.shape, keys) : 1;
}

static bool has(const struct blm_part *root, unsigned i, const struct blm_hashed *key)
{
	return root->sub[i].kind->contains(&root->sub[i], key);
}

static bool contains(const struct blm_part *root, const struct blm_hashed *key)
{
	return has(root, ADDED, key) && !has(root, REMOVED, key);
}

static void contains_many(const struct blm_part *root, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	uint64_t removed[BLM_BATCH_WORDS];

	blm_part_contains(&root->sub[ADDED], batch, ret_bits);
	blm_part_contains(&root->sub[REMOVED], batch, removed);
	for (size_t i = 0; i < (batch->count + 63) / 64; i++)
		ret_bits[i] &= ~removed[i];
}

static int add(struct blm_part *root, const struct blm_hashed *key)
{
	return has(root, REMOVED, key) ? -EKEYREVOKED
		: root->sub[ADDED].kind->add(&root->sub[ADDED], key);
}

/* The keys that may be added are, whatever the others are. */
static int add_many(struct blm_part *root, const struct blm_batch *batch, uint64_t *ret_bits)
{
	uint64_t removed[BLM_BATCH_WORDS], answers[BLM_BATCH_WORDS];
	struct blm_picked others;
	int r;

	blm_part_contains(&root->sub[REMOVED], batch, removed);
	blm_pick(&others, batch, removed, false);
	memset(ret_bits, 0, (batch->count + 63) / 64 * sizeof(*ret_bits));
	r = blm_part_add(&root->sub[ADDED], &others.batch, answers);
	if (r == 0)
		blm_put_back(&others, answers, ret_bits);
	return r == 0 && others.batch.count < batch->count ? -EKEYREVOKED : r;
}

/* A key that was removed had been there before, so no claim of it is the first. */
static int claim(struct blm_part *root, const struct blm_hashed *key)
{
	return has(root, REMOVED, key) ? 0
		: root->sub[ADDED].kind->claim(&root->sub[ADDED], key);
}

/* If several callers remove a key at the same time, one gets the answer that it did. */
static int remove_key(struct blm_part *root, const struct blm_hashed *key)
{
	return has(root, ADDED, key) ? root->sub[REMOVED].kind->claim(&root->sub[REMOVED], key)
		: 0;
}

static void prefetch(const struct blm_part *root, const struct blm_hashed *key)
{
	for (unsigned i = 0; i < PARTS; i++)
		root->sub[i].kind->prefetch(&root->sub[i], key);
}

static int counts(const struct blm_part *root, unsigned i)
{
	return i == ADDED ? 1 : -1;
}

static bool describe(const struct blm_part *root, unsigned i, struct blm_fact *ret)
{
	static const char *const names[PARTS] = { "added", "removed" };
	struct blm_tally tally = { 0 };
	const struct blm_part *part;
	double rate;

	if (i >= PARTS)
		return false;
	part = &root->sub[i];
	part->kind->tally(part, part->bytes, part->shape.bytes, &tally);
	rate = part->kind->rate_of(&part->shape, &tally);
	*ret = (struct blm_fact){ .name = names[i], .value = rate };
	snprintf(ret->text, sizeof(ret->text), i == ADDED
		 ? "false positives at a rate of %.3g; some of them are denied as removed"
		 : "keys denied that were not removed, at a rate of %.3g", rate);
	return true;
}

const struct blm_kind blm_kind_removable = {
	.id = 12,
	.name = "removable",
	.protocol = BLM_SETS_BITS,
	.summary = "keys can be removed, once and for good: a pair of blocked filters, so twice "
	"the bits",
	.caveat = "a key that was removed is never taken again; keys that were not removed are "
	"denied at the rate of the filter of removed ones",
	.plan = plan, .valid = valid, .contains = contains, .rate_at = rate_at,
	.add = add, .claim = claim, .remove = remove_key,
	.unite = blm_bits_unite,
	.prefetch = prefetch, .contains_many = contains_many, .add_many = add_many,
	.compose = compose, .parts = parts, .counts = counts, .describe = describe,
	.forgets = true,
};
