/* listed.c - claims and removals of keys that may be on the list of false positives */
#include "handle/allowlist.h"
#include "keys/change.h"

/* Listed keys that are claimed, and which of them are in the filter now. */
struct giving {
	const struct blm_filter *f;
	struct blm_view *view;
	const struct blm_key *keys;
	uint64_t *given, *revoked;
	const struct blm_when *when;
	int64_t new;			/* keys that the call has claimed so far */
};

/*
 * A claim does not depend on how long a slot lasts, so a key that is set in a slot that is about to
 * end counts as added.
 */
static int give(void *context, size_t i)
{
	struct giving *g = context;
	struct blm_part *root = &g->view->root;
	struct blm_hashed hashed = { .key = &g->keys[i], .by = &g->view->hasher, .when = g->when };
	int r;

	if (g->given[i / 64] >> i % 64 & 1)
		return 0;
	if (!wants_keys(&g->view->hasher))
		g->view->hasher.family->hash(&g->view->hasher, hashed.key, &hashed.hash);
	r = root->kind->add(root, &hashed);
	if (r < 0 && r != -EAGAIN && r != -EKEYREVOKED)
		return blm_change_word(g->f, g->view, r, g->new);
	g->given[i / 64] |= UINT64_C(1) << i % 64;
	if (r == -EKEYREVOKED)
		g->revoked[i / 64] |= UINT64_C(1) << i % 64;
	return 0;
}

/*
 * The filter already says yes to most listed keys, so the claim changed nothing for them, unless
 * claiming is the same as adding.
 */
static int claim_listed(struct blm_filter *f, struct blm_view *view, const struct blm_input *in,
			const struct blm_key *keys, const uint64_t *listed,
			uint64_t *bits, int64_t before)
{
	const struct blm_kind *kind = view->root.kind;
	uint64_t given[BLM_BATCH_WORDS], revoked[BLM_BATCH_WORDS] = { 0 };
	struct giving giving = { f, view, keys, given, revoked, in->when, before };
	int64_t yes;
	int r = blm_input_run(view, in, BLM_CLAIM, bits, &yes);

	for (size_t i = 0; i < BLM_BATCH_WORDS; i++)
		giving.new += __builtin_popcountll(bits[i] & ~listed[i]);
	r = blm_change_word(f, view, r, giving.new);
	if (r < 0) {
		for (size_t i = 0; i < BLM_BATCH_WORDS; i++)
			bits[i] &= ~listed[i];
		return r;
	}
	for (size_t i = 0; i < BLM_BATCH_WORDS; i++)
		given[i] = kind->claim == kind->add ? UINT64_MAX : bits[i];
	r = blm_allow_claim(f, view, keys, in->count, listed, bits, give, &giving);
	for (size_t i = 0; i < BLM_BATCH_WORDS; i++)
		bits[i] &= ~revoked[i];
	return r;
}

/* Listed keys are not in it: the others alone. */
static int remove_others(struct blm_filter *f, struct blm_view *view, const struct blm_input *in,
			 const struct blm_key *keys, const uint64_t *listed,
			 uint64_t *bits)
{
	struct blm_key others[BLM_BATCH];
	size_t index[BLM_BATCH], count = 0;
	uint64_t answers[BLM_BATCH_WORDS] = { 0 };
	int64_t yes;
	int r;

	for (size_t i = 0; i < in->count; i++)
		if (!(listed[i / 64] >> i % 64 & 1)) {
			others[count] = keys[i];
			index[count++] = i;
		}
	r = blm_change_word(f, view, blm_input_run(view, &(struct blm_input){ .keys = others,
									      .count = count },
						   BLM_REMOVE, answers, &yes), 0);
	for (size_t i = 0; i < count; i++)
		bits[index[i] / 64] |= (answers[i / 64] >> i % 64 & 1) << index[i] % 64;
	return r;
}

int blm_run_listed(struct blm_filter *f, struct blm_view *view, const struct blm_input *in,
		   enum blm_what what, uint64_t *ret_bits, int64_t *ret_yes)
{
	struct blm_key buffer[BLM_BATCH];
	int r = 0;

	*ret_yes = 0;
	for (size_t at = 0; r == 0 && at < in->count; at += BLM_BATCH) {
		struct blm_input some = blm_input_from(in, at);
		uint64_t listed[BLM_BATCH_WORDS] = { 0 }, bits[BLM_BATCH_WORDS] = { 0 };
		const struct blm_key *keys;
		int64_t found;

		some.count = some.count < BLM_BATCH ? some.count : BLM_BATCH;
		keys = blm_input_keys(in, at, some.count, buffer);
		found = blm_allow_find(f, view, keys, some.count, listed);
		if (found < 0)
			r = (int)found;
		else if (what == BLM_CLAIM)
			r = claim_listed(f, view, &some, keys, listed, bits, *ret_yes);
		else
			r = remove_others(f, view, &some, keys, listed, bits);
		for (size_t i = 0; i < (some.count + 63) / 64; i++) {
			if (ret_bits)
				ret_bits[at / 64 + i] = bits[i];
			*ret_yes += __builtin_popcountll(bits[i]);
		}
	}
	return r;
}
