/*
 * exact_update.c - a layer more, of the answers that change
 *
 * The keys and the others of the new lists together are the universe. Those of it that the filter
 * answers wrongly are the keys of the new layer, and all of the universe are the others of that. So
 * the layer is never wrong about which answers change, and is as small as an exact filter of them.
 */
#include "kind/exact_sieve.h"

#include <math.h>

/* What revised() leaves for revise(). */
struct revision {
	struct sieve universe;
	/* the answers that change, in order; to the others of these belongs the universe */
	struct blm_sorted changed;
	struct blm_others rest;
	struct blm_shape shape;		/* of the layer */
	struct blm_hash *hashes;
	size_t capacity;
	uint64_t yes;			/* of the universe, that the filter has */
};

static void free_revision(void *work)
{
	struct revision *v = work;

	if (!v)
		return;
	if (v->rest.work)
		v->rest.free_work(v->rest.work);
	blm_sieve_end(&v->universe);
	free(v->hashes);
	free(v);
}

static int read_changed(const struct blm_sorted *changed, uint64_t from, struct blm_hash *ret,
			uint64_t *ret_values, size_t count)
{
	const struct revision *v = (const struct revision *)((const char *)changed
		- offsetof(struct revision, changed));

	memcpy(ret, v->hashes + from, count * sizeof(*ret));
	return 0;
}

static int note(struct revision *v, const struct blm_hash *hash)
{
	if (v->changed.count == v->capacity) {
		size_t capacity = v->capacity ? 2 * v->capacity : 1024;
		struct blm_hash *more = realloc(v->hashes, capacity * sizeof(*more));

		if (!more)
			return blm_fail(-ENOMEM, "no memory for %zu answers that change", capacity);
		v->hashes = more;
		v->capacity = capacity;
	}
	v->hashes[v->changed.count++] = *hash;
	return 0;
}

static int ask_batch(struct revision *v, const struct blm_part *from, uint64_t at, size_t count)
{
	uint64_t is_other[BLM_BATCH], bits[BLM_BATCH_WORDS];
	struct blm_hash hashes[BLM_BATCH];
	struct blm_batch batch = { .hashes = hashes, .count = count };
	int r = sorted_read(&v->universe.merged, at, hashes, is_other, count);

	if (r < 0)
		return r;
	from->kind->contains_many(from, &batch, bits);
	for (size_t i = 0; i < count && r == 0; i++) {
		bool yes = bits[i / 64] >> i % 64 & 1;

		v->yes += yes;
		if (yes == (is_other[i] != 0))
			r = note(v, &hashes[i]);
	}
	return r;
}

/*
 * All of the universe. If it has each of the filter's keys, the filter says yes to that many of it.
 * Its false positives count too, so keys that are missing can go unseen.
 */
static int find_changed(struct revision *v, const struct blm_part *from, uint64_t had)
{
	uint64_t all = v->universe.merged.count;
	int r = 0;

	for (uint64_t at = 0; at < all && r == 0; at += BLM_BATCH)
		r = ask_batch(v, from, at, all - at < BLM_BATCH ? (size_t)(all - at) : BLM_BATCH);
	if (r == 0 && v->yes < had)
		return blm_fail(-EINVAL, "at least %llu of its %llu keys are on neither list: name "
				"all keys that it has and all that it denies",
				(unsigned long long)(had - v->yes), (unsigned long long)had);
	return r;
}

static int revise_shape(struct blm_shape *shape, struct revision *v, const struct blm_part *from,
			const struct blm_sorted *keys)
{
	/* less than the rate that was asked for if the first level can only have a lower one */
	double was = from->kind->rate_in(from, from->shape.capacity);
	struct blm_shape *s = &v->shape;
	int r;

	shape->capacity = keys->count ? keys->count : 1;
	shape->args[EXACT_OTHERS] = keys->others->list->count;
	if (!v->changed.count)
		return 0;
	if (shape->args[EXACT_UPDATES] == EXACT_UPDATES_MAX)
		return blm_fail(-EMLINK, "it was updated %d times, which is the most; build it "
				"again from its keys",
				EXACT_UPDATES_MAX);
	*s = exact_level(v->changed.count, 0);
	s->args[EXACT_OTHERS] = v->universe.merged.count;
	s->rate = fmin(blm_exact_best_rate(s), was / 8);
	r = blm_exact_fit(s, &v->changed);
	if (r < 0)
		return r;
	shape->args[EXACT_UPDATES]++;
	shape->bytes += s->bytes;
	shape->cells = shape->bytes * 8;
	/* a rate in a header is below 1 */
	shape->rate = fmin(was + blm_exact_layer_rate(s), 1 - 0x1p-20);
	return shape->bytes <= BLM_CELLS_MAX * 2 ? 0
		: blm_fail(-EFBIG, "it would be larger than 2^48 bytes; build it again from its "
			   "keys");
}

int blm_exact_revised(struct blm_shape *shape, const struct blm_part *from, uint64_t had,
		      const struct blm_sorted *keys)
{
	struct revision *v = calloc(1, sizeof(*v));
	int r;

	if (!v)
		return blm_fail(-ENOMEM, "out of memory");
	if (!from->kind->intact(from)) {
		free(v);
		return blm_fail(-EUCLEAN, "it is damaged: its layers do not end where its data "
				"end; build it again from its keys");
	}
	keys->others->work = v;
	keys->others->free_work = free_revision;
	r = blm_sieve_make(&v->universe, keys, keys->others->list, NULL);
	v->universe.plain = true;
	v->rest.list = &v->universe.merged;
	v->changed = (struct blm_sorted){ .threads = keys->threads, .read = read_changed,
					  .memory_bytes = keys->memory_bytes, .others = &v->rest };
	if (r == 0)
		r = find_changed(v, from, had);
	return r < 0 ? r : revise_shape(shape, v, from, keys);
}

int blm_exact_revise(struct blm_part *part, const struct blm_part *from,
		     const struct blm_sorted *keys)
{
	struct revision *v = keys->others->work;
	struct blm_part layer = { .kind = part->kind, .simd = part->simd, .unshared = true,
				  .bytes = part->bytes + from->shape.bytes };
	int r = 0;

	memcpy(part->bytes, from->bytes, from->shape.bytes);
	layer.shape = v->shape;
	if (v->changed.count)
		r = blm_exact_build(&layer, &v->changed);
	if (r == 0 && v->changed.count)
		((struct exact_head *)layer.bytes)->both = htole64(v->universe.both);
	mark_range(part, part->bytes, part->shape.bytes);
	return r;
}
