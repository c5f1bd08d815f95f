/*
 * build.c - a filter made from all its keys at once: it appears when it is whole
 *
 * The file is one without a name, so that a builder which dies leaves nothing. There are two ways.
 * Where the filter's size is known and its kind takes keys one by one, they go into the new file as
 * they come (partition_pool.h). Else they are gathered and put into order (sort.h), and when all
 * are there the size follows from them: then the kind is built from them, or they go in one after
 * the other.
 */
#include "handle/allowlist_carry.h"
#include "file/sigbus.h"
#include "make/new_filter.h"
#include "kind/common/raw_data.h"
#include "place/boot.h"
#include "base/secret_memory.h"
#include "make/partition_pool.h"
#include "sort/sort.h"
#include "stats/tally.h"


enum { THREADS_MAX = 1024, KEPT_FREE = 64 << 20 };

struct blm_build {
	struct blm_place place;
	struct blm_build_options options;
	bool replace;
	struct blm_allowlist_carry *carry;	/* then: for the list of what is replaced */
	struct blm_spec spec;
	struct blm_choice choice;
	uint8_t *secret;		/* in memory that is not dumped */
	struct blm_hasher hasher;
	uint64_t seeds[BLM_SEEDS_MAX];
	uint64_t hash_id;
	/* keys, before there is a file; then `sort` is in use, else `unborn` and `lanes` */
	bool gathers;
	bool wants_values;
	struct blm_sort sort;
	/* kinds that also know keys that are not in the filter: `excluded` is in use */
	bool excludes;
	struct blm_sort excluded;
	struct blm_others others;
	uint64_t kept_free;		/* memory that the keys were not gathered in */
	struct blm_staged staged;
	struct blm_lanes lanes;
	/*
	 * kinds that grow or turn, of a size that is known: what makes room where there is none;
	 * else NULL
	 */
	struct blm_filter *growing;
};

/* ---- Beginning and ending ---- */

/*
 * In the place of what a link leads to, where the filter is to come in the place of one; else where
 * the name says.
 */
static int set_place(struct blm_build *b, struct blm_store *store, const char *name)
{
	struct blm_place place;
	int r = blm_place_set(&place, store, name);

	if (r < 0)
		return r;
	if (!b->replace) {
		b->place = place;
		/* before any space is taken; the naming itself looks again */
		return blm_place_is_taken(&b->place);
	}
	r = blm_place_follow(&b->place, &place);
	blm_place_clear(&place);
	return r;
}

static bool is_sized(const struct blm_params *params)
{
	return params->capacity || params->cells;
}

/* Which of the two ways, and can it be gone? */
static int check_way(struct blm_build *b)
{
	const struct blm_kind *kind = b->spec.of;

	b->gathers = kind->build || !is_sized(&b->choice.params);
	b->wants_values = kind->build && kind->get;
	if (!kind->add && !kind->build)
		return blm_fail(-EOPNOTSUPP, "%s: no %s filter can be built: its keys come one by "
				"one, with values", b->place.display, kind->name);
	if (b->spec.split_parts && b->gathers)
		return blm_fail(-EOPNOTSUPP, "%s: %s", b->place.display, kind->build
				? "a kind that is made from all its keys at once is not built in "
				"parts: build it whole, then split it (blm_split())"
				: "all parts of a filter are of one size: say for how many keys "
				"the whole filter is to be (blm_params.capacity)");
	if (b->spec.split_parts && !kind->place && !kind->add_within)
		return blm_fail(-EOPNOTSUPP, "%s: no %s filter is built in parts, because where a "
				"key goes depends on the keys before it: build it whole, then "
				"split it (blm_split())", b->place.display, kind->name);
	if (b->gathers && kind->holds_keys)
		return blm_fail(-EOPNOTSUPP, "%s: an %s is as large as what differs, not as what "
				"is in it: say for how many keys that differ it is to be "
				"(blm_params.capacity)", b->place.display, kind->name);
	if (b->gathers && wants_keys(&b->hasher))
		return blm_fail(-EOPNOTSUPP, "%s: its hash %s is not made once for all probes, so "
				"keys are not counted beforehand: say for how many the filter is "
				"to be (blm_params.capacity)", b->place.display,
				b->hasher.family->name);
	if (b->gathers && kind->forgets && !kind->remove)
		return blm_fail(-EOPNOTSUPP, "%s: a %s filter forgets what came first, so its keys "
				"are not put into another order to count them: say for how many it "
				"is to be (blm_params.capacity)", b->place.display, kind->name);
	return blm_check_boot(kind, b->spec.sealed, &b->place);	/* before the keys are read */
}

/*
 * With a size that stands for the one that is not known yet, so that all else about the parameters
 * is found out now.
 */
static int choose(struct blm_build *b, const struct blm_params *params)
{
	struct blm_params p = *params;
	int r;

	if (!is_sized(&p))
		p.capacity = 1;
	b->secret = blm_hidden_new(BLM_SECRET_BYTES);
	r = b->secret ? blm_spec_choose(&b->spec, &b->choice, &p, b->secret)
		: blm_fail(-ENOMEM, "%s: out of memory", b->place.display);
	if (r < 0)
		return r;
	/* its hash may be another for another size */
	if (b->choice.format && !b->spec.of->build && !is_sized(params))
		return blm_fail(-EINVAL, "%s: say for how many keys a filter for %s is to be "
				"(blm_params.capacity)", b->place.display, params->format);
	b->choice.params.capacity = params->capacity;
	r = blm_hasher_set(&b->hasher, b->seeds, &b->spec.template, b->spec.secret,
			   b->place.display);
	b->hash_id = blm_hash_id_of(&b->spec.template);
	b->spec.sealed = b->options.sealed || b->spec.of->build;
	return r < 0 ? r : check_way(b);
}

static int make_file(struct blm_build *b)
{
	int r = blm_staged_make(&b->staged, &b->place, &b->spec);

	if (r == 0 && b->spec.of->room && !b->gathers) {
		r = blm_staged_lend(&b->growing, &b->staged, &b->place);
		if (r < 0)
			blm_staged_end(&b->staged);
	}
	if (r == 0 && b->spec.split_parts && !b->spec.of->place) {
		set_alone(b->staged.view, false);	/* add_cells() */
		live_of(b->staged.view)->inexact.word = htole64(!b->spec.of->get);
	}
	if (r == 0)
		blm_lanes_begin(&b->lanes, &b->staged.view->whole, b->options.threads,
				b->gathers ? b->sort.sorted.memory_bytes : b->options.memory_bytes,
				b->place.display);
	return r;
}

/* Some of the memory for keys is kept free, for the filter that is made of them there. */
static uint64_t kept_free(uint64_t memory_bytes)
{
	return memory_bytes / 2 < KEPT_FREE ? memory_bytes / 2 : KEPT_FREE;
}

static int gather(struct blm_build *b)
{
	const struct blm_kind *kind = b->spec.of;
	uint64_t all = b->options.memory_bytes ? b->options.memory_bytes : BLM_SORT_MEMORY,
		memory = kind->count_others ? all / 2 : all;
	const struct blm_sort_options options = {
		.values = b->wants_values, .keep_all = kind->counts_keys
		&& kind->counts_keys(b->choice.args), .threads = b->options.threads,
		.memory_bytes = memory - kept_free(memory),
		.progress = { b->options.progress, b->options.context },
	};

	int r;

	b->kept_free = kept_free(memory);
	r = blm_sort_begin(&b->sort, &b->place, &options);
	if (r < 0 || !kind->count_others)
		return r;
	r = blm_sort_begin(&b->excluded, &b->place, &options);
	if (r < 0)
		blm_sort_end(&b->sort);
	b->excludes = r == 0;
	return r;
}

static void free_build(struct blm_build *b)
{
	blm_hidden_free(b->secret);
	blm_allowlist_carry_end(b->carry);
	blm_place_clear(&b->place);
	free(b);
}

BLM_API int blm_build_begin(struct blm_build **ret, struct blm_store *store, const char *name,
			    const struct blm_params *params,
			    const struct blm_build_options *options)
{
	struct blm_build *b;
	struct blm_params p;
	int r = blm_params_take(&p, params);

	if (r < 0)
		return r;
	if (options && options->threads > THREADS_MAX)
		return blm_fail(-EINVAL, "%u threads is more than %d", options->threads,
				THREADS_MAX);
	b = calloc(1, sizeof(*b));
	if (!b)
		return blm_fail(-ENOMEM, "out of memory");
	if (options)
		b->options = *options;
	if (!b->options.threads)
		b->options.threads = 1;
	b->replace = p.replace;
	r = set_place(b, store, name);
	if (r == 0 && b->replace)
		r = blm_allowlist_carry_begin(&b->carry, &b->place);
	if (r == 0)
		r = choose(b, &p);
	if (r == 0)
		r = b->gathers ? gather(b) : make_file(b);
	if (r < 0) {
		free_build(b);
		return r;
	}
	*ret = b;
	return 0;
}

static void take_back(struct blm_build *b)
{
	if (b->growing)
		blm_staged_take_back(&b->staged, b->growing);
	b->growing = NULL;
}

BLM_API struct blm_build *blm_build_cancel(struct blm_build *b)
{
	if (!b)
		return NULL;
	if (b->others.work)
		b->others.free_work(b->others.work);
	if (b->gathers)
		blm_sort_end(&b->sort);
	if (b->excludes)
		blm_sort_end(&b->excluded);
	if (b->staged.view) {
		blm_lanes_end(&b->lanes);
		take_back(b);
		blm_staged_end(&b->staged);
	}
	free_build(b);
	return NULL;
}

/* ---- Adding ---- */

/*
 * What a caller gave: keys, or keys of one length that lie one after the other, or hashes; and
 * values, or none.
 */
struct input {
	const struct blm_key *keys;
	const uint8_t *fixed;
	size_t width;
	const struct blm_hash *hashes;
	const uint64_t *values;
	size_t count;
};

/* Up to BLM_BATCH of them; room for as many keys and hashes is the caller's. */
static struct blm_batch batch_of(const struct blm_build *b, const struct input *in, size_t at,
				 struct blm_key *keys, struct blm_hash *hashes)
{
	const struct blm_hasher *by = &b->hasher;
	bool hashed = in->hashes != NULL;
	struct blm_batch batch = {
		.by = by,
		.keys = in->keys ? in->keys + at : NULL,
		.hashes = in->hashes ? in->hashes + at : NULL,
		.count = in->count - at < BLM_BATCH ? in->count - at : BLM_BATCH,
	};

	if (!hashed && !wants_keys(by)) {
		if (in->fixed)
			blm_hash_all_fixed(by, in->fixed + at * in->width, in->width, batch.count,
					   hashes);
		else
			blm_hash_all(by, batch.keys, batch.count, hashes);
		batch.hashes = hashes;
		hashed = true;
	}
	if (in->fixed && (!hashed || b->spec.of->holds_keys)) {
		for (size_t i = 0; i < batch.count; i++)
			keys[i] = (struct blm_key){ in->fixed + (at + i) * in->width, in->width };
		batch.keys = keys;
	}
	return batch;
}

/* One by one, as others are added to. */
static int add_growing(struct blm_build *b, const struct input *in)
{
	int64_t r;

	if (in->hashes)
		r = blm_add_hashes(b->growing, blm_hash_id(b->growing), in->hashes, in->count,
				   NULL);
	else if (in->fixed)
		r = blm_add_fixed(b->growing, in->fixed, in->width, in->count, NULL);
	else
		r = blm_add_many(b->growing, in->keys, in->count, NULL);
	return r < 0 ? (int)r : 0;
}

/* sort: of the builder's, the one that they go to. */
static int add_to_order(struct blm_build *b, struct blm_sort *sort, const struct input *in)
{
	struct blm_hash hashes[BLM_BATCH];
	struct blm_key keys[BLM_BATCH];
	int r = 0;

	for (size_t at = 0; r == 0 && at < in->count; at += BLM_BATCH) {
		struct blm_batch batch = batch_of(b, in, at, keys, hashes);

		r = blm_check_keys(&batch, b->spec.of);
		if (r == 0)
			r = blm_sort_add(sort, batch.hashes,
					 in->values ? in->values + at : NULL, batch.count);
	}
	return r;
}

/* Of the keys of a batch those that the part owns, moved to the front of `room`. */
static struct blm_batch owned_of(const struct blm_view *view, struct blm_batch batch,
				 struct blm_hash *room)
{
	size_t count = 0;

	for (size_t i = 0; i < batch.count; i++)
		if (blm_view_owns(view, &batch.hashes[i]))
			room[count++] = batch.hashes[i];
	batch.hashes = room;
	batch.count = count;
	return batch;
}

/*
 * Into a part that owns some cells of each key. Threads add at the same time, without lanes, whose
 * buffers are sized for the whole filter.
 */
static int add_cells(struct blm_build *b, const struct input *in)
{
	struct blm_view *view = b->staged.view;
	struct blm_hash hashes[BLM_BATCH];
	struct blm_key keys[BLM_BATCH];
	uint64_t counted = 0;

	for (size_t at = 0; at < in->count; at += BLM_BATCH) {
		struct blm_batch batch = batch_of(b, in, at, keys, hashes);

		for (size_t i = 0; i < batch.count; i++) {
			struct blm_hashed key = { .by = batch.by, .key = batch.keys
				? &batch.keys[i] : NULL };

			if (batch.hashes)
				key.hash = batch.hashes[i];
			counted += (uint64_t)view->whole.kind->add_within(&view->whole, &key,
				view->split.from, view->split.to);
		}
	}
	blm_count_keys(view, counted);
	return 0;
}

static int add_to_file(struct blm_build *b, const struct input *in)
{
	struct blm_lane *lane;
	struct blm_hash hashes[BLM_BATCH], owned[BLM_BATCH];
	struct blm_key keys[BLM_BATCH];
	int r = 0;

	if (b->growing)
		return add_growing(b, in);
	if (b->spec.split_parts && !b->spec.of->place)
		return add_cells(b, in);
	lane = blm_lanes_take(&b->lanes);
	if (!lane)
		return -ENOMEM;
	for (size_t at = 0; r == 0 && at < in->count; at += BLM_BATCH) {
		struct blm_batch batch = batch_of(b, in, at, keys, hashes);

		if (b->spec.split_parts)
			batch = owned_of(b->staged.view, batch, owned);
		r = blm_lane_add(lane, &batch);
	}
	blm_lanes_give_back(&b->lanes, lane);
	return r;
}

static int add(struct blm_build *b, const struct input *in)
{
	char names[256];

	if (b->wants_values && !in->values)
		return blm_fail(-EINVAL, "%s: a %s filter holds a value for each key: give one "
				"with each", b->place.display, b->spec.of->name);
	if (in->values && !b->wants_values)
		return blm_fail(-EOPNOTSUPP, "%s: %s filters are not built with values; these "
				"kinds are: %s", b->place.display, b->spec.of->name,
				blm_kinds_that_can(BLM_CAN_BUILD | BLM_CAN_GET, names,
						   sizeof(names)));
	if (in->values) {
		int r = b->spec.of->check_values(b->choice.args, in->values, in->count);

		if (r < 0)
			return r;
	}
	if (in->hashes || b->hasher.family->ordered)
		blm_allowlist_carry_note_unnamed(b->carry);
	else if (in->keys)
		blm_allowlist_carry_note(b->carry, in->keys, in->count);
	else
		blm_allowlist_carry_note_fixed(b->carry, in->fixed, in->width, in->count);
	return b->gathers ? add_to_order(b, &b->sort, in) : add_to_file(b, in);
}

BLM_API int blm_build_add_many(struct blm_build *b, const struct blm_key *keys, size_t count)
{
	return add(b, &(struct input){ .keys = keys, .count = count });
}

BLM_API int blm_build_add_fixed(struct blm_build *b, const void *keys, size_t width, size_t count)
{
	static const uint8_t nothing[1];

	return add(b, &(struct input){ .fixed = width ? keys : nothing, .width = width,
				       .count = count });
}

BLM_API int blm_build_put_many(struct blm_build *b, const struct blm_key *keys,
			       const uint64_t *values, size_t count)
{
	return add(b, &(struct input){ .keys = keys, .values = values, .count = count });
}

/* They are not noted for the list of what is replaced: that one is of keys that were not added. */
BLM_API int blm_build_exclude_many(struct blm_build *b, const struct blm_key *keys, size_t count)
{
	char names[256];

	if (!b->excludes)
		return blm_fail(-EOPNOTSUPP, "%s: a %s filter is not told which keys it denies; "
				"these kinds are: %s", b->place.display, b->spec.of->name,
				blm_kinds_that_can(BLM_CAN_EXCLUDE, names, sizeof(names)));
	return add_to_order(b, &b->excluded, &(struct input){ .keys = keys, .count = count });
}

BLM_API uint64_t blm_build_hash_id(const struct blm_build *b)
{
	return b->hash_id;
}

BLM_API int blm_build_add_hashes(struct blm_build *b, uint64_t hash_id,
				 const struct blm_hash *hashes, size_t count)
{
	if (wants_keys(&b->hasher))
		return blm_cannot_hash(&b->hasher, b->place.display);
	if (b->spec.of->holds_keys)
		return blm_fail(-EOPNOTSUPP, "%s: an %s holds keys, not hashes of them, so it "
				"takes none", b->place.display, b->spec.of->name);
	if (hash_id != b->hash_id)
		return blm_fail(-EMEDIUMTYPE, "%s: the hashes were made for filters with another "
				"hash, seed or key", b->place.display);
	return add(b, &(struct input){ .hashes = hashes, .count = count });
}

/* ---- Raw data of other filters ---- */

static int check_raw(const struct blm_build *b, uint64_t at, const void *data, size_t bytes)
{
	const struct blm_view *view = b->staged.view;
	const struct blm_part *part;

	if (b->gathers)
		return blm_fail(-EOPNOTSUPP, "%s: raw data go into a filter of a size that is "
				"known: say for how many keys it is to be (blm_params.capacity), "
				"and take a kind whose keys need not be there at once",
				b->place.display);
	if (view->parts > 1 || b->growing || !view->part[0].kind->unite)
		return blm_fail(-EOPNOTSUPP, "%s: a %s filter takes no raw data while it is built",
				b->place.display, b->spec.of->name);
	part = &view->part[0];
	if (at > part->shape.bytes || bytes > part->shape.bytes - at)
		return blm_fail(-EINVAL, "%s: bytes %llu + %zu of its data; there are %llu",
				b->place.display, (unsigned long long)at, bytes,
				(unsigned long long)part->shape.bytes);
	if (view->split.parts && bytes && (at < view->split.from || at + bytes > view->split.to))
		return blm_fail(-EREMOTE, "%s: part %u of %u of a filter takes raw data of its "
				"own range only", b->place.display, view->split.part + 1,
				view->split.parts);
	return blm_raw_check(part, at, data, bytes, b->place.display);
}

BLM_API int blm_build_unite(struct blm_build *b, uint64_t at, const void *data, size_t bytes,
			    uint64_t keys)
{
	int r = check_raw(b, at, data, bytes);

	if (r < 0)
		return r;
	blm_allowlist_carry_note_unnamed(b->carry);
	blm_raw_unite(&b->staged.view->part[0], at, data, bytes);
	if (keys == BLM_KEYS_UNKNOWN)
		live_of(b->staged.view)->inexact.word = htole64(1);
	else
		blm_count_keys(b->staged.view, keys);
	return 0;
}

/* Where raw data came without a count: what the bits say, where that is more than was counted. */
static int count_raw(struct blm_view *view)
{
	uint64_t counted = blm_counted_keys(view), keys = 0;
	int r = live_of(view)->inexact.word ? blm_keys_of_bits(view, &keys) : 0;

	if (r == 0 && keys > counted)
		blm_count_keys(view, keys - counted);
	return r == -EOPNOTSUPP ? 0 : r;
}

/* ---- Finishing: from keys in order to a file ---- */

/* How many the filter is to be for: as many as there are; of numbers, up to the largest. */
static int count_keys(struct blm_build *b)
{
	const struct blm_sorted *keys = &b->sort.sorted;
	struct blm_hash last = { 0 };
	int r = keys->count ? sorted_read(keys, keys->count - 1, &last, NULL, 1) : 0;
	uint64_t least = b->hasher.family->number ? last.lo + 1 : keys->count ? keys->count : 1;

	if (last.lo == UINT64_MAX && b->hasher.family->number)
		least = last.lo;
	if (b->choice.params.capacity < least || !b->spec.of->roomy)
		b->choice.params.capacity = least;
	return r;
}

/*
 * For kinds that take keys one by one, by this thread: in the order of their hashes no key is a
 * miss.
 */
static int fill(struct blm_build *b)
{
	const struct blm_sorted *keys = &b->sort.sorted;
	struct blm_lane *lane = blm_lanes_take(&b->lanes);
	struct blm_hash hashes[BLM_BATCH];
	int r = lane ? 0 : -ENOMEM;

	for (uint64_t at = 0; r == 0 && at < keys->count; at += BLM_BATCH) {
		struct blm_batch batch = { .by = &b->hasher, .hashes = hashes, .count = BLM_BATCH };

		if (keys->count - at < BLM_BATCH)
			batch.count = (size_t)(keys->count - at);
		r = sorted_read(keys, at, hashes, NULL, batch.count);
		if (r == 0)
			r = blm_lane_add(lane, &batch);
		keys->done(keys, batch.count);
	}
	if (lane)
		blm_lanes_give_back(&b->lanes, lane);
	return r;
}

static int build(struct blm_build *b)
{
	struct blm_view *view = b->staged.view;
	int r = view->whole.kind->build(&view->whole, &b->sort.sorted);

	if (r == 0)
		blm_count_keys(view, b->sort.sorted.count);
	return r;
}

static int finish_excluded(struct blm_build *b)
{
	int r = blm_sort_finish(&b->excluded);

	if (r < 0)
		return r;
	b->others.list = &b->excluded.sorted;
	b->sort.sorted.others = &b->others;
	b->spec.of->count_others(b->choice.args, b->excluded.sorted.count);
	return 0;
}

static int make_of_gathered(struct blm_build *b)
{
	int r = blm_sort_finish(&b->sort);

	b->sort.sorted.memory_bytes += b->kept_free;
	if (r == 0 && b->excludes)
		r = finish_excluded(b);
	if (r == 0)
		r = count_keys(b);
	if (r == 0)
		r = blm_spec_size(&b->spec, &b->choice);
	blm_sort_phase(&b->sort, "building");
	if (r == 0)
		r = blm_spec_fit(&b->spec, &b->sort.sorted);
	if (r == 0)
		r = make_file(b);
	if (r == 0)
		r = b->spec.of->build ? build(b) : fill(b);
	return r;
}

/* ---- Finishing: from a file to a filter ---- */

/*
 * In the place of a filter if there is one, else as a new one; and again, where others make and
 * drop in between.
 */
static int put_over(struct blm_build *b)
{
	int r = -EEXIST;

	for (int tries = 0; r == -EEXIST && tries < 100; tries++) {
		r = blm_replace_by(&b->place, &b->staged, b->carry);
		if (r == -ENOENT)
			r = blm_staged_publish(&b->staged, &b->place, NULL);
	}
	return r;
}

BLM_API int blm_build_finish(struct blm_build *b, struct blm_filter **ret)
{
	int r = b->gathers ? make_of_gathered(b) : 0;

	take_back(b);
	if (r == 0) {
		blm_count_keys(b->staged.view, blm_lanes_empty(&b->lanes));
		r = count_raw(b->staged.view);
		if (r == 0 && blm_sigbus_hit(b->staged.view->image.map))
			r = blm_fail(-EIO, "%s: pages of the new file could not be had",
				     b->place.display);
	}
	if (r == 0)
		r = b->replace ? put_over(b) : blm_staged_publish(&b->staged, &b->place, NULL);
	if (r == 0) {
		blm_lanes_end(&b->lanes);
		r = blm_staged_handle(ret, &b->staged, &b->place, NULL);
	}
	blm_build_cancel(b);
	return r;
}
