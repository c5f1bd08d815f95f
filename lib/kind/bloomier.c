/*
 * bloomier.c - a value for each key, as the XOR of 3 or 4 cells; and check bits, which recognise
 * absent keys (fuse_table.h)
 *
 * B. Chazelle, J. Kilian, R. Rubinfeld and A. Tal, "The Bloomier Filter: An Efficient Data
 * Structure for Static Support Lookup Tables", SODA 2004; here in the tables of binary fuse
 * filters, so a key needs 1.125 cells of check bits and value. A key that was given always has its
 * value; any other key has an arbitrary value with a probability of 1 in 2^check-bits.
 */
#include "kind/common/fuse_table.h"

static const struct blm_option options[] = {
	[BLM_PEEL_CHECK] = { "check-bits", "1 to 64, which recognise absent keys; 0: as few as "
			     "keep the rate", BLM_OPTION_COUNT, 0, 64, 0, NULL },
	[BLM_PEEL_VALUE] = { "value-bits", "bits of a value", BLM_OPTION_COUNT, 1, 64, 8, NULL },
	{ 0 }
};

const struct blm_kind blm_kind_bloomier;

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	return blm_peel_plan(&blm_kind_bloomier, ret, params, 1, 64,
			     (unsigned)ret->args[BLM_PEEL_VALUE]);
}

static bool valid(const struct blm_shape *s)
{
	uint64_t bits = s->args[BLM_PEEL_CHECK], value = s->args[BLM_PEEL_VALUE];

	return bits >= 1 && bits <= 64 && value >= 1 && value <= 64 && s->cell_bits == bits + value
		&& blm_peel_valid(s);
}

static int check_values(const uint64_t args[BLM_KIND_ARGS], const uint64_t *values, size_t count)
{
	unsigned bits = (unsigned)args[BLM_PEEL_VALUE];

	for (size_t i = 0; i < count; i++)
		if (values[i] > lowest_bits(bits))
			return blm_fail(-ERANGE, "the value %llu is not 0 to %llu, which a filter "
					"of this kind with value-bits=%u can hold",
					(unsigned long long)values[i],
					(unsigned long long)lowest_bits(bits), bits);
	return 0;
}

const struct blm_kind blm_kind_bloomier = {
	.id = 18,
	.name = "bloomier",
	.protocol = BLM_ATOMIC_WORDS,
	.summary = "a value of 1 to 64 bits for each key, exactly; made from all keys at once",
	.caveat = "made once from all its keys; none can be added, changed or taken out; strangers "
	"seldom have a value, too",
	.options = options,
	.plan = plan, .valid = valid, .contains = blm_peel_contains, .rate_at = blm_peel_rate_at,
	.splits = true, .build_within = blm_peel_build_within,
	.fit = blm_peel_fit, .check_values = check_values, .build = blm_peel_build,
	.get = blm_peel_get,
	.describe = blm_peel_describe, .foretell = blm_peel_foretell,
	.prefetch = blm_peel_prefetch, .probe = blm_peel_probe,
	.contains_many = blm_peel_contains_many,
};
