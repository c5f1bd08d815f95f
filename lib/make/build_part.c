/*
 * build_part.c - one part of a split filter, built from the keys of all parts
 *
 * In a kind whose keys belong to one part, the other parts drop the key. In a kind whose keys have
 * cells in several parts, each part keeps the cells that it owns. A kind that is made from all its
 * keys at once gets all keys in order, and writes only the bytes of the part.
 */
#include "make/build.h"
#include "base/checksum.h"

int blm_build_check_part(const struct blm_build *b)
{
	const struct blm_kind *kind = b->spec.of;

	if (!b->spec.split_parts)
		return 0;
	if (!kind->place && !kind->add_within && !kind->build_within)
		return blm_fail(-EOPNOTSUPP, "%s: a %s filter is not built in parts, because the "
				"place of a key depends on the keys before it: build it, then "
				"split it (blm_split())", b->place.display, kind->name);
	if (b->gathers && !kind->build_within)
		return blm_fail(-EOPNOTSUPP, "%s: all parts of a filter have one size: give the "
				"number of keys of the whole filter (blm_params.capacity)",
				b->place.display);
	return 0;
}

/* A number of all keys and their values, which blm_join_part() compares. Never 0. */
static int number_of_keys(const struct blm_sorted *keys, uint64_t *ret)
{
	struct blm_hash hashes[BLM_BATCH];
	uint64_t values[BLM_BATCH], sum = 0;
	size_t words = keys->has_values ? 3 : 2, some;
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < keys->count; at += some) {
		some = keys->count - at < BLM_BATCH ? (size_t)(keys->count - at) : BLM_BATCH;
		r = sorted_read(keys, at, hashes, keys->has_values ? values : NULL, some);
		for (size_t i = 0; r == 0 && i < some; i++) {
			const uint64_t key[3] = { htole64(hashes[i].lo), htole64(hashes[i].hi),
						  keys->has_values ? htole64(values[i]) : 0 };

			sum += blm_checksum(key, words * sizeof(*key));
		}
	}
	*ret = sum | 1;
	return r;
}

/* The counts of all parts are shares of the total count, as those of blm_split() are. */
int blm_build_part(struct blm_build *b)
{
	struct blm_view *view = b->staged.view;
	const struct blm_split *range = &view->split;
	uint64_t number;
	int r = view->root.kind->build_within(&view->root, &b->sort.sorted, range->from, range->to);

	if (r == 0)
		r = number_of_keys(&b->sort.sorted, &number);
	if (r < 0)
		return r;
	live_of(view)->own[BLM_OWN_KEYS].word = htole64(number);
	blm_count_keys(view, blm_split_share(b->sort.sorted.count, range->part, range->parts));
	live_of(view)->inexact.word = htole64(BLM_SHARE);
	return 0;
}

void blm_build_begin_part(struct blm_build *b)
{
	if (!builds_cells(b))
		return;
	/* blm_build_add_cells() */
	set_unshared(b->staged.view, false);
	live_of(b->staged.view)->inexact.word = htole64(!b->spec.of->get);
}

struct blm_batch blm_build_owned(const struct blm_build *b, struct blm_batch batch,
				 struct blm_hash *buffer)
{
	const struct blm_view *view = b->staged.view;
	uint64_t places[BLM_BATCH];
	size_t count = 0;

	view->root.kind->place(&view->root, batch.hashes, batch.count, places);
	/* a caller that asked for the owners gives only keys of this part, which need no copy */
	while (count < batch.count && split_owns(&view->split, places[count]))
		count++;
	if (count == batch.count)
		return batch;
	memcpy(buffer, batch.hashes, count * sizeof(*buffer));
	for (size_t i = count + 1; i < batch.count; i++)
		if (split_owns(&view->split, places[i]))
			buffer[count++] = batch.hashes[i];
	batch.hashes = buffer;
	batch.count = count;
	return batch;
}

/* Threads add at the same time, without buffers, because those are sized for the whole filter. */
int blm_build_add_cells(struct blm_build *b, const struct blm_build_input *in)
{
	struct blm_view *view = b->staged.view;
	struct blm_hash hashes[BLM_BATCH];
	struct blm_key keys[BLM_BATCH];
	uint64_t counted = 0;

	for (size_t at = 0; at < in->count; at += BLM_BATCH) {
		struct blm_batch batch = blm_build_batch(b, in, at, keys, hashes);

		for (size_t i = 0; i < batch.count; i++) {
			struct blm_hashed key = { .by = batch.by, .key = batch.keys
				? &batch.keys[i] : NULL };

			if (batch.hashes)
				key.hash = batch.hashes[i];
			counted += (uint64_t)view->root.kind->add_within(&view->root, &key,
				view->split.from, view->split.to);
		}
	}
	blm_count_keys(view, counted);
	return 0;
}
