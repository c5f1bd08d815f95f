/*
 * fuse.c - binary fuse filters: a few bits of each key's hash, as the XOR of 3 or 4 cells
 * (fuse_table.h)
 *
 * With 3 cells a key 1.125 cells of the fingerprint's width are needed for a key, with 4 cells
 * 1.075, and n bits of fingerprint are wrong once in 2^n. Made once, from all keys; a question
 * touches 3 or 4 cache lines.
 */
#include "kind/common/fuse_table.h"

enum { LEAST_BITS = 4, MOST_BITS = 32 };

static const struct blm_option options[] = {
	[BLM_PEEL_CHECK] = { "fingerprint-bits", "4 to 32; 0: as few as keep the rate",
			     BLM_OPTION_COUNT, 0, MOST_BITS, 0, NULL },
	{ 0 }
};

const struct blm_kind blm_kind_fuse;

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	return blm_peel_plan(&blm_kind_fuse, ret, params, LEAST_BITS, MOST_BITS, 0);
}

static bool valid(const struct blm_shape *s)
{
	return s->cell_bits >= LEAST_BITS && s->cell_bits <= MOST_BITS
		&& s->args[BLM_PEEL_CHECK] == s->cell_bits && blm_peel_valid(s);
}

const struct blm_kind blm_kind_fuse = {
	.id = 16,
	.name = "fuse",
	.protocol = BLM_ATOMIC_WORDS,
	.summary = "fingerprints in 1.13 times the least space there can be, or 1.08; made from "
	"all keys at once",
	.caveat = "made once from all its keys; none can be added or taken out",
	.options = options,
	.plan = plan, .valid = valid, .contains = blm_peel_contains, .rate_at = blm_peel_rate_at,
	.splits = true, .build_within = blm_peel_build_within,
	.fit = blm_peel_fit, .build = blm_peel_build,
	.describe = blm_peel_describe, .foretell = blm_peel_foretell,
	.prefetch = blm_peel_prefetch, .probe = blm_peel_probe,
	.contains_many = blm_peel_contains_many,
};
