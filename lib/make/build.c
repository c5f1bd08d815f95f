/*
 * build.c - a filter made from all its keys at once: it appears when it is complete
 *
 * The file has no name, so that a builder that dies leaves nothing. There are two ways. If the
 * filter's size is known and its kind takes keys one by one, they are added to the new file at once
 * (partition_pool.h). Otherwise they are gathered and sorted (sort.h), and the size follows from
 * the complete keys: then the kind is built from them, or they are added one after the other.
 */
#include "make/build.h"
#include "file/sigbus.h"
#include "place/boot.h"
#include "base/secret_memory.h"

enum { THREADS_MAX = 1024, KEPT_FREE = 64 << 20 };

/* ---- Beginning and ending ---- */

/*
 * In the folder of a link's target, if the filter is to replace one; otherwise in the folder of the
 * name.
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
		return blm_say_replaceable(blm_place_is_taken(&b->place));
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
	int r;

	b->gathers = kind->build || !is_sized(&b->choice.params);
	b->wants_values = kind->build && kind->get;
	if (!kind->add && !kind->build)
		return blm_fail(-EOPNOTSUPP, "%s: %s filters cannot be built: their keys come one "
				"by one, with values", b->place.display, kind->name);
	r = blm_build_check_part(b);
	if (r < 0)
		return r;
	if (b->gathers && kind->holds_keys)
		return blm_fail(-EOPNOTSUPP, "%s: an %s is sized by the difference: give the "
				"number of keys that differ (blm_params.capacity)",
				b->place.display, kind->name);
	if (b->gathers && wants_keys(&b->hasher))
		return blm_fail(-EOPNOTSUPP, "%s: the hash %s is computed for each probe, so keys "
				"cannot be counted first: give blm_params.capacity",
				b->place.display, b->hasher.family->name);
	if (b->gathers && kind->forgets && !kind->remove)
		return blm_fail(-EOPNOTSUPP, "%s: a %s filter forgets old keys, so its keys cannot "
				"be sorted and counted first: give blm_params.capacity",
				b->place.display, kind->name);
	return blm_check_boot(kind, b->spec.sealed, &b->place);	/* before the keys are read */
}

/*
 * With a size that stands for the unknown one, so that all other errors in the parameters are found
 * now.
 */
static int choose(struct blm_build *b, const struct blm_params *params)
{
	struct blm_params p = *params;
	int r;

	if (!is_sized(&p)) {
		p.hash = blm_hash_for_unknown(&p);
		p.capacity = 1;
	}
	b->secret = blm_hidden_new(BLM_SECRET_BYTES);
	r = b->secret ? blm_spec_choose(&b->spec, &b->choice, &p, b->secret)
		: blm_fail(-ENOMEM, "%s: out of memory", b->place.display);
	if (r < 0)
		return r;
	/* its hash may be another for another size */
	if (b->choice.format && !b->spec.of->build && !is_sized(params))
		return blm_fail(-EINVAL, "%s: a filter for %s needs its number of keys: give "
				"blm_params.capacity", b->place.display, params->format);
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

	if (r == 0 && b->spec.of->space && !b->gathers) {
		r = blm_staged_lend(&b->growing, &b->staged, &b->place);
		if (r < 0)
			blm_staged_end(&b->staged);
	}
	if (r == 0)
		blm_build_begin_part(b);
	if (r == 0)
		blm_buffer_pool_begin(&b->pool, &b->staged.view->root, b->options.threads,
				      b->gathers ? b->sort.sorted.memory_bytes
						 : b->options.memory_bytes,
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
		blm_buffer_pool_end(&b->pool);
		take_back(b);
		blm_staged_end(&b->staged);
	}
	free_build(b);
	return NULL;
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
	struct blm_buffers *buffers = blm_buffer_pool_take(&b->pool);
	struct blm_hash hashes[BLM_BATCH];
	int r = buffers ? 0 : -ENOMEM;

	for (uint64_t at = 0; r == 0 && at < keys->count; at += BLM_BATCH) {
		struct blm_batch batch = { .by = &b->hasher, .hashes = hashes, .count = BLM_BATCH };

		if (keys->count - at < BLM_BATCH)
			batch.count = (size_t)(keys->count - at);
		r = sorted_read(keys, at, hashes, NULL, batch.count);
		if (r == 0)
			r = blm_buffers_add(buffers, &batch);
		keys->done(keys, batch.count);
	}
	if (buffers)
		blm_buffer_pool_give_back(&b->pool, buffers);
	return blm_build_word(b, r);
}

static int build(struct blm_build *b)
{
	struct blm_view *view = b->staged.view;
	int r;

	if (b->spec.split_parts)
		return blm_build_part(b);
	r = view->root.kind->build(&view->root, &b->sort.sorted);
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
	b->others.by_column = b->hasher.family->column;
	b->others.any_rate = !b->choice.params.rate;
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
 * Replaces the filter if there is one, otherwise as a new one; and tries again if others make and
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
		blm_count_keys(b->staged.view, blm_buffer_pool_empty(&b->pool));
		r = blm_build_count_raw(b);
		if (r == 0 && blm_sigbus_hit(b->staged.view->image.map))
			r = blm_fail(-EIO, "%s: the new file was truncated, cannot be read, or the "
				     "disk is full",
				     b->place.display);
	}
	if (r == 0)
		r = b->replace ? put_over(b)
			: blm_say_replaceable(blm_staged_publish(&b->staged, &b->place, NULL));
	if (r == 0) {
		blm_buffer_pool_end(&b->pool);
		r = blm_staged_handle(ret, &b->staged, &b->place, NULL);
	}
	blm_build_cancel(b);
	return r;
}
