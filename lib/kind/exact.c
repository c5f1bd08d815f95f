/*
 * exact.c - a filter of keys that is never wrong about a second list, of keys that are not in it
 *
 * J. Larisch et al., "CRLite: A Scalable System for Pushing All TLS Revocations to All Browsers",
 * 2017; J. M. Schanck, "Clubcards for the WebPKI", IEEE S&P 2025: two levels, each a linear system,
 * are smaller than a cascade of many. The first level is a filter of the n keys at the rate r. The
 * second one has a bit for each key, and for each of the o others that pass the first. So both take
 * n log2(1/r) + n + r o bits, which is the least for r = n / (o ln 2).
 *
 * A key on neither list passes the second level half the time: it has a bit of the key's hash, so
 * the filter's rate is r/2. Without others there is the first level only, a ribbon.
 */
#include "kind/common/sizing.h"
#include "kind/exact_parts.h"

#include <math.h>

static const struct blm_option options[] = {
	[EXACT_OTHERS] = { "others", "how many keys it is told that are not in it: build counts "
			   "them itself", BLM_OPTION_COUNT, 0, 0x1p47, 0 },
	[EXACT_UPDATES] = { "updates", "how often it was updated since it was built",
			    BLM_OPTION_COUNT, 0, EXACT_UPDATES_MAX, 0 },
	{ NULL }
};

/* ---- Sizes ---- */

double blm_exact_first_rate(const struct blm_shape *s)
{
	double keys = (double)s->capacity, others = (double)s->args[EXACT_OTHERS],
		rate = 2 * s->rate;

	if (!s->args[EXACT_OTHERS])
		return s->rate;
	/* for fewer others it costs as much as it saves in the second level, or more */
	if (others > 2 * keys)
		rate = fmin(rate, fmax(keys / (others * M_LN2), 0x1p-32));
	/* a ribbon has no rate between 1/2 and 1 */
	return rate >= 1 ? 1 : fmin(rate, 0.5);
}

double blm_exact_resulting_first(const struct blm_shape *s)
{
	double rate = blm_exact_first_rate(s);
	struct blm_shape first = exact_level(s->capacity, rate);

	return rate < 1 ? blm_ribbon_rate(&first) : 1;
}

uint64_t blm_exact_passing(const struct blm_shape *s)
{
	return (uint64_t)ceil((double)s->args[EXACT_OTHERS] * blm_exact_resulting_first(s));
}

void blm_exact_level_bytes(const struct blm_shape *s, uint64_t ret[2])
{
	double rate = blm_exact_first_rate(s);
	struct blm_shape first = exact_level(s->capacity, rate),
		second = exact_level(s->capacity + blm_exact_passing(s), 0.5);

	ret[0] = rate < 1 ? blm_ribbon_bytes(&first) : 0;
	ret[1] = s->args[EXACT_OTHERS] ? blm_ribbon_bytes(&second) : 0;
}

static bool sized(const struct blm_shape *s)
{
	return s->capacity >= 1 && s->capacity <= BLM_CAPACITY_MAX
		&& s->bytes >= sizeof(struct exact_head) * (1 + s->args[EXACT_UPDATES])
		&& s->bytes <= BLM_CELLS_MAX * 2
		&& s->bytes % BLM_SHARD_ALIGN == 0;
}

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = exact_level(params->capacity, params->rate);
	uint64_t bytes[2];

	memcpy(s.args, ret->args, sizeof(s.args));
	if (params->cells || params->probes)
		return blm_fail(-EINVAL, "an exact filter is sized by its two lists and its rate; "
				"leave out blm_params.cells and blm_params.probes");
	if (s.args[EXACT_UPDATES])
		return blm_fail(-EINVAL, "an exact filter has no updates when it is built; leave "
				"out the option updates");
	if (!s.rate)
		s.rate = s.args[EXACT_OTHERS] ? blm_exact_best_rate(&s) : BLM_DEFAULT_RATE;
	else if (s.rate < 0x1p-32)
		return blm_fail(-EFBIG, "an exact filter has a rate of at least 2^-32 for keys on "
				"neither list, above the rate %g", s.rate);
	blm_exact_level_bytes(&s, bytes);
	s.bytes = sizeof(struct exact_head) + bytes[0] + bytes[1];
	s.cells = s.bytes * 8;
	if (!sized(&s))
		return blm_fail(-EFBIG, "an exact filter for %llu keys and %llu others is larger "
				"than 2^48 bytes", (unsigned long long)s.capacity,
				(unsigned long long)s.args[EXACT_OTHERS]);
	*ret = s;
	return 0;
}

static bool valid(const struct blm_shape *s)
{
	return s->probes == RIBBON_WIDTH && s->cell_bits == 1 && sized(s)
		&& s->cells == s->bytes * 8;
}

double blm_exact_best_rate(const struct blm_shape *shape)
{
	struct blm_shape s = *shape;

	s.rate = 0.5;
	return blm_exact_first_rate(&s) / 2;
}

double blm_exact_layer_rate(const struct blm_shape *s)
{
	double rate = blm_exact_resulting_first(s);

	return s->args[EXACT_OTHERS] ? rate / 2 : rate;
}

/* That of an updated filter is the sum of its layers' rates, and no formula gives it. */
double blm_exact_rate_at(const struct blm_shape *s, uint64_t keys)
{
	return !keys ? 0 : s->args[EXACT_UPDATES] ? fmin(s->rate, 1) : blm_exact_layer_rate(s);
}

/* Each part has a rate of its own: the header has the largest. */
double blm_exact_rate_in(const struct blm_part *part, uint64_t keys)
{
	const struct exact_head *h = (const struct exact_head *)part->bytes;

	return keys && __atomic_load_n(&h->parts, __ATOMIC_RELAXED) ? fmin(part->shape.rate, 1)
		: blm_exact_rate_at(&part->shape, keys);
}

static void count_others(uint64_t args[BLM_KIND_ARGS], uint64_t others)
{
	args[EXACT_OTHERS] = others;
}

/* ---- Questions: the bytes are anyone's, as in ribbon.c ---- */

static void load_head(const struct blm_part *part, uint64_t at, struct exact_head *ret)
{
	const struct exact_head *h = (const struct exact_head *)(part->bytes + at);

	*ret = (struct exact_head){ .keys = load_relaxed(&h->keys), .both = load_relaxed(&h->both),
				    .passed = load_relaxed(&h->passed),
				    .bytes = { load_relaxed(&h->bytes[0]),
					       load_relaxed(&h->bytes[1]) },
				    .rate = load_relaxed(&h->rate),
				    .saved = load_relaxed(&h->saved) };
	ret->parts = le32toh(__atomic_load_n(&h->parts, __ATOMIC_RELAXED));
	ret->columns = le32toh(__atomic_load_n(&h->columns, __ATOMIC_RELAXED));
}

/* One that has no keys has no levels. */
static bool head_valid(const struct exact_head *h, uint64_t rest)
{
	if (h->bytes[0] > rest || h->bytes[1] > rest - h->bytes[0])
		return false;
	if (!h->keys)
		return !h->bytes[0] && !h->bytes[1];
	if (h->parts > EXACT_PARTS_MAX || h->columns > UINT32_C(1) << COLUMN_BITS
	    || (!h->bytes[0] && h->parts))
		return false;
	return h->keys <= BLM_CAPACITY_MAX && h->passed <= BLM_CAPACITY_MAX - h->keys
		&& (h->bytes[0] || h->bytes[1]);
}

static bool level_valid(const struct blm_part *level)
{
	return level->kind == &blm_exact_parts ? blm_exact_parts_valid(level)
		: blm_shards_valid(&level->shape);
}

bool blm_exact_open_layer(const struct blm_part *part, uint64_t *at, struct exact_layer *ret)
{
	uint64_t rest = part->shape.bytes - *at;
	struct exact_head *h = &ret->head;

	if (rest < sizeof(*h))
		return false;
	load_head(part, *at, h);
	if (!head_valid(h, rest - sizeof(*h)))
		return false;
	*at += sizeof(*h);
	for (unsigned i = 0; i < 2; i++) {
		struct blm_part *level = &ret->level[i];

		*level = (struct blm_part){ .kind = i || !h->parts ? &blm_kind_ribbon
					    : &blm_exact_parts, .simd = part->simd,
					    .bytes = part->bytes + *at };
		level->shape = exact_level(h->keys + (i ? h->passed : 0), 0.5);
		level->shape.bytes = h->bytes[i];
		level->shape.args[EXACT_LEVEL_PARTS] = h->parts;
		level->shape.args[EXACT_LEVEL_COLUMNS] = h->columns;
		ret->has[i] = h->bytes[i] != 0;
		if (ret->has[i] && !level_valid(level))
			return false;
		*at += h->bytes[i];
	}
	return true;
}

static bool intact(const struct blm_part *part)
{
	struct exact_layer l;
	uint64_t at = 0;

	for (uint64_t i = 0; i <= part->shape.args[EXACT_UPDATES]; i++)
		if (!blm_exact_open_layer(part, &at, &l))
			return false;
	return at == part->shape.bytes;
}

static struct blm_hashed second_of(const struct blm_hashed *key)
{
	struct blm_hashed second = *key;

	second.hash = exact_second(key->hash);
	return second;
}

static bool in_layer(const struct exact_layer *l, const struct blm_hashed *key)
{
	const struct blm_hashed second = second_of(key);

	return (l->has[0] || l->has[1])
		&& (!l->has[0] || l->level[0].kind->contains(&l->level[0], key))
		&& (!l->has[1] || blm_kind_ribbon.contains(&l->level[1], &second));
}

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	struct exact_layer l;
	uint64_t at = 0;
	bool yes = false;

	for (uint64_t i = 0; i <= part->shape.args[EXACT_UPDATES]; i++) {
		if (!blm_exact_open_layer(part, &at, &l))
			return false;
		yes ^= in_layer(&l, key);
	}
	return yes;
}

/* The keys of a batch that their bits say: their second hashes, and which of the batch they are. */
static size_t choose(const struct blm_batch *batch, const uint64_t *bits, struct blm_hash *ret,
		     uint16_t *ret_which)
{
	size_t count = 0;

	for (size_t w = 0; w < (batch->count + 63) / 64; w++)
		for (uint64_t left = bits[w]; left; left &= left - 1) {
			size_t i = 64 * w + (size_t)__builtin_ctzll(left);

			ret[count] = exact_second(batch->hashes[i]);
			ret_which[count++] = (uint16_t)i;
		}
	return count;
}

static void ask_second(const struct exact_layer *l, const struct blm_batch *batch, uint64_t *bits)
{
	struct blm_hash hashes[BLM_BATCH];
	uint64_t yes[BLM_BATCH_WORDS];
	uint16_t which[BLM_BATCH];
	struct blm_batch second = { .by = batch->by, .hashes = hashes };

	second.count = choose(batch, bits, hashes, which);
	blm_kind_ribbon.contains_many(&l->level[1], &second, yes);
	memset(bits, 0, (batch->count + 63) / 64 * sizeof(*bits));
	for (size_t i = 0; i < second.count; i++)
		bits[which[i] / 64] |= (yes[i / 64] >> i % 64 & 1) << which[i] % 64;
}

/* For a batch of at least one. */
static void ask_layer(const struct exact_layer *l, const struct blm_batch *batch, uint64_t *bits)
{
	size_t words = (batch->count + 63) / 64;

	memset(bits, l->has[1] ? 0xff : 0, words * sizeof(*bits));
	bits[words - 1] &= UINT64_MAX >> (64 * words - batch->count);
	if (l->has[0])
		l->level[0].kind->contains_many(&l->level[0], batch, bits);
	if (l->has[1])
		ask_second(l, batch, bits);
}

static void contains_many(const struct blm_part *part, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	uint64_t bits[BLM_BATCH_WORDS], at = 0;
	size_t words = (batch->count + 63) / 64;
	struct exact_layer l;

	memset(ret_bits, 0, words * sizeof(*ret_bits));
	for (uint64_t i = 0; words && i <= part->shape.args[EXACT_UPDATES]; i++) {
		if (!blm_exact_open_layer(part, &at, &l)) {
			memset(ret_bits, 0, words * sizeof(*ret_bits));
			return;
		}
		ask_layer(&l, batch, bits);
		for (size_t w = 0; w < words; w++)
			ret_bits[w] ^= bits[w];
	}
}

/* Most keys need the second level only if they are in the filter, and updates are small. */
static void prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	const struct blm_hashed second = second_of(key);
	struct exact_layer l;
	uint64_t at = 0;

	if (!blm_exact_open_layer(part, &at, &l))
		return;
	if (l.has[0])
		l.level[0].kind->prefetch(&l.level[0], key);
	else if (l.has[1])
		blm_kind_ribbon.prefetch(&l.level[1], &second);
}

/* The i-th place of a layer; NULL: there are no more, and *i is reduced by their number. */
static const uint64_t *probe_layer(const struct exact_layer *l, const struct blm_hashed *key,
				   unsigned *i, uint64_t *ret_mask)
{
	const struct blm_hashed of[2] = { *key, second_of(key) };
	const uint64_t *place;

	for (unsigned level = 0; level < 2; level++)
		for (unsigned j = 0; l->has[level]; j++) {
			const struct blm_part *in = &l->level[level];

			place = in->kind->probe(in, &of[level], j, ret_mask);
			if (!place)
				break;
			if ((*i)-- == 0)
				return place;
		}
	return NULL;
}

static const uint64_t *probe(const struct blm_part *part, const struct blm_hashed *key, unsigned i,
			     uint64_t *ret_mask)
{
	struct exact_layer l;
	uint64_t at = 0;

	*ret_mask = 0;
	for (uint64_t n = 0; n <= part->shape.args[EXACT_UPDATES]; n++) {
		const uint64_t *place;

		if (!blm_exact_open_layer(part, &at, &l))
			return NULL;
		place = probe_layer(&l, key, &i, ret_mask);
		if (place)
			return place;
	}
	return NULL;
}

const struct blm_kind blm_kind_exact = {
	.id = 21,
	.name = "exact",
	.protocol = BLM_ATOMIC_WORDS,
	.summary = "never wrong about two lists: its keys, and others that are not in it; made "
	"from both at once",
	.caveat = "made from all its keys, and updated by all of them; it is never wrong only "
	"about keys of the two lists",
	.options = options,
	.plan = plan, .valid = valid, .contains = contains, .rate_at = blm_exact_rate_at,
	.rate_in = blm_exact_rate_in,
	.fit = blm_exact_fit, .build = blm_exact_build, .count_others = count_others,
	.revised = blm_exact_revised, .revise = blm_exact_revise, .intact = intact,
	.describe = blm_exact_describe, .foretell = blm_exact_foretell,
	.prefetch = prefetch, .probe = probe, .contains_many = contains_many,
};
