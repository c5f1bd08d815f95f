/*
 * ribbon_build.c - a ribbon from its keys, shard after shard
 *
 * A layer adds its keys bucket after bucket, from the first slot on, but the keys of one bucket
 * from the last on: the slots that the keys of the previous bucket reach into then come last. If a
 * key contradicts the keys added so far, it and all keys that start before it in the bucket are
 * bumped, or a few more: thresholds have three values.
 */
#include "kind/ribbon_band.h"

enum { TRIES = 100, BUCKET_KEYS = 2048 };

const uint8_t blm_ribbon_thresholds[RIBBON_THRESHOLDS] = { 0, 40, 104 };

/* ---- A shard ---- */

/* Keys that are bumped, at most; more are not random enough for this seed. */
static uint32_t most_bumped(uint64_t keys)
{
	return (uint32_t)(keys / 16 + RIBBON_FEW);
}

/* The working memory for one. */
struct bench {
	const struct blm_hash *keys;	/* of the layer */
	const uint64_t *flips;		/* of them: bits of their values; NULL: none */
	uint32_t count;
	uint32_t *starts;		/* of them, in ascending order */
	uint32_t *order;		/* the number of the key that has each start */
	struct blm_hash *bumped[2];	/* taken in turn by the layers */
	uint64_t *bumped_flips[2];
	struct ribbon_band band;
};

static uint64_t cut(uint8_t **buffer, uint64_t at, uint64_t bytes, void *ret)
{
	if (buffer) {
		void *p = *buffer + at;

		memcpy(ret, &p, sizeof(p));
	}
	return at + round_up(bytes, 64);
}

static unsigned planes(const struct ribbon *r)
{
	unsigned first = ribbon_code(r, 0).values, second = ribbon_code(r, 1).values,
		most = first > second ? first : second;

	return most ? most - 1 : 0;
}

/* The bytes to build a shard of `keys` keys, with flips or without; divides `buffer` if given. */
static uint64_t divide(struct bench *b, uint8_t *buffer, const struct ribbon *r, uint64_t keys,
		       bool flips)
{
	uint8_t **from = buffer ? &buffer : NULL;
	struct ribbon_layer l;
	uint64_t slots, at = 0;

	b->band.planes = planes(r);
	ribbon_first(r, keys, &l);
	slots = ribbon_slots(&l) + 2 * RIBBON_FEW;
	at = cut(from, at, keys * sizeof(*b->starts), &b->starts);
	at = cut(from, at, keys * sizeof(*b->order), &b->order);
	at = cut(from, at, most_bumped(keys) * sizeof(*b->bumped[0]), &b->bumped[0]);
	at = cut(from, at, most_bumped(keys) * sizeof(*b->bumped[1]), &b->bumped[1]);
	for (unsigned i = 0; i < 2 && flips; i++)
		at = cut(from, at, most_bumped(keys) * sizeof(*b->bumped_flips[i]),
			 &b->bumped_flips[i]);
	at = cut(from, at, slots * sizeof(*b->band.rows), &b->band.rows);
	at = cut(from, at, slots * sizeof(*b->band.values), &b->band.values);
	if (!b->band.planes)
		return at;
	at = cut(from, at, slots * b->band.planes * sizeof(*b->band.digits), &b->band.digits);
	return cut(from, at, slots, &b->band.rests);
}

static const struct blm_hash *key_at(const struct bench *b, uint32_t i)
{
	return &b->keys[b->order[i]];
}

static uint64_t value_at(const struct bench *b, uint32_t i, uint32_t seed)
{
	return ribbon_value(key_at(b, i), seed) ^ (b->flips ? b->flips[b->order[i]] : 0);
}

/*
 * All keys of the layer that start in one bucket; returns how many of them, the first ones, are
 * bumped. If that is more than a threshold can express, which does not happen to keys with random
 * starts, it is more than any layer bumps.
 */
static uint32_t fill_bucket(struct bench *b, struct ribbon_code code, uint32_t seed, uint32_t from,
			    uint32_t to, unsigned *ret_threshold)
{
	struct ribbon_rows rows[BUCKET_KEYS];
	unsigned t = 0, in = 0;
	uint32_t k = to;

	while (k > from && in < BUCKET_KEYS
	       && blm_ribbon_insert(&b->band, code, b->starts[k - 1],
				    ribbon_coefficients(key_at(b, k - 1), seed),
				    value_at(b, k - 1, seed), &rows[in])) {
		k--;
		in++;
	}
	if (k > from)
		while (t < RIBBON_THRESHOLDS && blm_ribbon_thresholds[t]
		       <= b->starts[k - 1] % RIBBON_BUCKET)
			t++;
	if (t == RIBBON_THRESHOLDS)
		return UINT32_MAX;
	for (; in && b->starts[k] % RIBBON_BUCKET < blm_ribbon_thresholds[t]; k++)
		blm_ribbon_take_out(&b->band, rows[--in]);
	*ret_threshold = t;
	return k - from;
}

/* The keys from `from` on are bumped: to the place `at` of the bumped keys. */
static void bump(struct bench *b, const struct ribbon_layer *l, uint32_t from, uint32_t count,
		 uint32_t at)
{
	for (uint32_t i = 0; i < count; i++) {
		b->bumped[l->number % 2][at + i] = *key_at(b, from + i);
		if (b->flips)
			b->bumped_flips[l->number % 2][at + i] = b->flips[b->order[from + i]];
	}
}

/* Those that find no place are bumped; returns how many, or that they are too many. */
static uint32_t fill_layer(const struct ribbon *r, struct bench *b, const struct ribbon_layer *l,
			   uint32_t seed, uint64_t *words, uint32_t most)
{
	static const uint8_t power[RIBBON_THRESHOLDS_A_BYTE] = { 1, 3, 9, 27, 81 };
	uint8_t *thresholds = (uint8_t *)(words + l->at);
	uint32_t count = 0, from = 0;

	while (from < b->count && count <= most) {
		uint32_t bucket = b->starts[from] / RIBBON_BUCKET, to = from, few;
		unsigned threshold;

		while (to < b->count && b->starts[to] / RIBBON_BUCKET == bucket)
			to++;
		few = fill_bucket(b, ribbon_code(r, b->starts[from] >= l->slots[0]), seed, from, to,
				  &threshold);
		if (few > most)
			return few;
		thresholds[bucket / RIBBON_THRESHOLDS_A_BYTE] +=
			(uint8_t)(threshold * power[bucket % RIBBON_THRESHOLDS_A_BYTE]);
		if (count < most)
			bump(b, l, from, few < most - count ? few : most - count, count);
		count += few;
		from = to;
	}
	return count;
}

/* All of them; false: their equations contradict each other. */
static bool fill_last(const struct ribbon *r, struct bench *b, uint32_t seed)
{
	struct ribbon_rows rows;

	for (uint32_t k = 0; k < b->count; k++)
		if (!blm_ribbon_insert(&b->band, ribbon_code(r, 1), b->starts[k],
				       ribbon_coefficients(key_at(b, k), seed),
				       value_at(b, k, seed), &rows))
			return false;
	return true;
}

static uint32_t start_of(const struct blm_shape *shape, const struct ribbon_layer *l,
			 const struct blm_hash *hash, uint32_t seed)
{
	uint64_t rest;

	shard_number(shape, hash, &rest);
	return (uint32_t)ribbon_start(l, hash, seed, rest);
}

/*
 * The keys in the order of their starts, and keys with the same start in their present order. The
 * band is empty, and the memory of its values is used for this.
 */
static void find_starts(const struct blm_shape *shape, struct bench *b,
			const struct ribbon_layer *l, uint32_t seed)
{
	uint32_t *next = b->band.values, slots = (uint32_t)ribbon_slots(l), at = 0;

	for (uint32_t k = 0; k < b->count; k++)
		b->order[k] = k;
	if (!ribbon_in_order(l, seed)) {
		for (uint32_t k = 0; k < b->count; k++)
			next[start_of(shape, l, &b->keys[k], seed)]++;
		for (uint32_t s = 0; s < slots; s++) {
			uint32_t n = next[s];

			next[s] = at;
			at += n;
		}
		for (uint32_t k = 0; k < b->count; k++)
			b->order[next[start_of(shape, l, &b->keys[k], seed)]++] = k;
		memset(next, 0, slots * sizeof(*next));
	}
	for (uint32_t k = 0; k < b->count; k++)
		b->starts[k] = start_of(shape, l, key_at(b, k), seed);
}

static void empty_band(struct ribbon_band *b, uint64_t slots)
{
	memset(b->rows, 0, slots * sizeof(*b->rows));
	memset(b->values, 0, slots * sizeof(*b->values));
	if (!b->planes)
		return;
	memset(b->digits, 0, slots * b->planes * sizeof(*b->digits));
	memset(b->rests, 0, slots);
}

/* False: not with this seed. */
static bool fill_shard(const struct blm_shape *shape, const struct ribbon *r, struct bench *b,
		       uint64_t keys, uint32_t seed, uint64_t *words)
{
	uint32_t most = most_bumped(keys), bumped;
	struct ribbon_layer l;

	for (ribbon_first(r, keys, &l);; ribbon_next(r, &l)) {
		empty_band(&b->band, ribbon_slots(&l));
		find_starts(shape, b, &l, seed);
		bumped = l.last ? 0 : fill_layer(r, b, &l, seed, words, most);
		if (bumped > most || (l.last && !fill_last(r, b, seed)))
			return false;
		for (unsigned i = 0; i < 2; i++)
			blm_ribbon_solve(&b->band, i ? (uint32_t)l.slots[0] : 0, l.slots[i],
					 ribbon_code(r, i), words + ribbon_section_at(r, &l, i));
		if (l.last)
			return true;
		b->keys = b->bumped[l.number % 2];
		if (b->flips)
			b->flips = b->bumped_flips[l.number % 2];
		b->count = bumped;
	}
}

/* ---- All of them (shards.h) ---- */

static uint64_t bytes(const struct blm_shape *shape, uint64_t keys)
{
	struct ribbon r = blm_ribbon_for(shape, keys);

	return ribbon_shard_words(&r, keys) * sizeof(uint64_t);
}

static uint64_t work_bytes(const struct blm_shape *shape, uint64_t keys)
{
	struct ribbon r = blm_ribbon_for(shape, keys);
	struct bench b;

	return divide(&b, NULL, &r, keys, false);
}

static uint64_t work_bytes_with_flips(const struct blm_shape *shape, uint64_t keys)
{
	struct ribbon r = blm_ribbon_for(shape, keys);
	struct bench b;

	return divide(&b, NULL, &r, keys, true);
}

/* With one seed after another, until one serves; the first nearly always does. */
static int make(const struct blm_part *part, struct blm_shard *shard, const struct blm_hash *hashes,
		const uint64_t *values, uint64_t count,
		void *buffer)
{
	struct ribbon r = blm_ribbon_for(&part->shape, count);
	struct bench b = { 0 };

	if (count > UINT32_MAX / 2)
		return blm_fail(-EFBIG, "%llu keys have hashes that begin alike, too many for one "
				"shard; build with another seed or a keyed hash",
				(unsigned long long)count);
	divide(&b, buffer, &r, count, values != NULL);
	for (uint64_t seed = 0; seed < TRIES; seed++) {
		b.keys = hashes;
		b.flips = values;
		b.count = (uint32_t)count;
		if (fill_shard(&part->shape, &r, &b, count, (uint32_t)seed, shard->words)) {
			shard->own[0] = count | seed << 32;
			shard->own[1] = r.share | (uint64_t)r.codes << 32;
			return 0;
		}
		memset(shard->words, 0, shard->bytes);
	}
	return blm_fail(-EFBIG, "the hashes of %llu keys are too similar for a ribbon filter; "
			"build with another seed or a keyed hash", (unsigned long long)count);
}

static const struct blm_shard_maker
	maker = { .bytes = bytes, .work_bytes = work_bytes, .make = make },
	maker_with_flips = { .bytes = bytes, .work_bytes = work_bytes_with_flips, .make = make };

uint64_t blm_ribbon_bytes(const struct blm_shape *shape)
{
	return blm_shards_bytes(shape, &maker);
}

int blm_ribbon_fit(struct blm_shape *shape, const struct blm_sorted *keys)
{
	int r = blm_shards_fit(shape, keys, &maker);

	if (r == 0)
		shape->cells = shape->bytes * 8;
	return r;
}

int blm_ribbon_build(struct blm_part *part, const struct blm_sorted *keys)
{
	return blm_shards_build(part, keys, keys->has_values ? &maker_with_flips : &maker);
}

int blm_ribbon_build_within(struct blm_part *part, const struct blm_sorted *keys, uint64_t from,
			    uint64_t to)
{
	return blm_shards_build_within(part, keys, &maker, from, to);
}
