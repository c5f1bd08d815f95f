/*
 * info.c - blm_info(): the description of a filter
 */
#include "base/sized.h"
#include "stats/info.h"
#include "handle/handle.h"
#include "stats/tally.h"
#include "file/filesystem.h"
#include "file/two_slots.h"
#include "format/format.h"
#include "kind/common/options.h"
#include "place/store_dir.h"

#include <limits.h>

/*
 * The operations that an unchangeable filter still has; and the properties of the keys that were
 * added before.
 */
enum {
	AS_A_SOURCE = BLM_CAN_UNION | BLM_CAN_INTERSECT | BLM_CAN_ESTIMATE | BLM_CAN_GET
		| BLM_CAN_FOLD | BLM_CAN_MERGE | BLM_CAN_EXCLUDE | BLM_CAN_LIST | BLM_CAN_RANGE
		| BLM_CAN_SPLIT
		| BLM_EXACT | BLM_FORGETS | BLM_GROWS | BLM_ONLY_SETS | BLM_KEY_IN_PART,
	/* of a part of a split filter, to which some keys belong */
	AS_A_PART = BLM_CAN_ADD | BLM_CAN_CLAIM | BLM_CAN_UNION | BLM_CAN_INTERSECT
		| BLM_CAN_ESTIMATE | BLM_CAN_GET | BLM_EXACT | BLM_ONLY_SETS
		| BLM_KEY_IN_PART,
};

/*
 * Does it come from a file that states its capacity? A stored beginning is parsed again: its
 * statement may be nonsense.
 */
static void look_at_origin(struct blm_info *to, const struct blm_constant *c,
			   const struct blm_format *format)
{
	struct blm_outline *o;

	if (!format)
		return;
	to->capacity_computed = to->rate_computed = !format->states;
	if (!format->states || !format->parse || format->memo
	    || le32toh(c->origin_bytes) < format->head_bytes)
		return;
	o = calloc(1, sizeof(*o));
	if (o && blm_outline_of(o, format, c->origin_head, format->head_bytes, to->name) == 0) {
		to->capacity_computed = o->capacity_computed;
		to->rate_computed = o->rate_computed;
	}
	free(o);
}

int blm_info_begin(struct blm_info **ret, const struct blm_info *callers)
{
	int r = blm_sized_check(callers, sizeof(*callers),
				BLM_FIRST_SIZE(struct blm_info, labels), "blm_info");

	*ret = r < 0 ? NULL : calloc(1, sizeof(**ret));
	return r == 0 && !*ret ? blm_fail(-ENOMEM, "out of memory") : r;
}

int blm_info_end(struct blm_info *ours, struct blm_info *callers, int r)
{
	if (r == 0)
		blm_sized_give(callers, ours, sizeof(*ours));
	free(ours);
	return r;
}

/* Where keys belong to parts, each of N parts has its keys in 1/N of the data. */
static void set_rates(struct blm_info *ret, const struct blm_kind *kind,
		      const struct blm_shape *shape)
{
	uint64_t keys = ret->split_parts && kind->place ? ret->keys * ret->split_parts : ret->keys;
	bool valid = kind->valid(shape);

	ret->rate_at_capacity = valid ? kind->rate_at(shape, ret->capacity) : 1;
	ret->rate_at_keys = valid ? kind->rate_at(shape, keys) : 1;
}

int blm_info_of_entry(struct blm_info *ret, const char *name, const struct blm_entry *entry)
{
	const struct blm_constant *c = &entry->constant;
	const struct blm_template_fields *t = &c->template;
	const struct blm_kind *kind = blm_kind_by_id(le32toh(t->kind));
	const struct blm_family *family = blm_family_by_id(le32toh(t->family));
	const struct blm_scheme *scheme = blm_scheme_by_id(le32toh(t->index_rule));
	const struct blm_format *origin = blm_format_by_id(le32toh(c->origin));
	struct blm_shape shape = {
		.cells = le64toh(t->cells), .probes = le32toh(t->probes),
		.cell_bits = le32toh(t->cell_bits),
		.bytes = entry->data_bytes, .capacity = le64toh(c->capacity),
		.rate = blm_double_of(le64toh(c->rate)),
	};

	if (!scheme || !blm_order_name(le32toh(t->bit_order)))
		return blm_fail(-EPROTONOSUPPORT, "%s: this program does not know index rule %u or "
				"bit order %u; a later version may", name,
				le32toh(t->index_rule), le32toh(t->bit_order));
	if (!kind || !family)
		return blm_fail(-EPROTONOSUPPORT, "%s: this program does not know kind %u or hash "
				"family %u; a later version may", name,
				le32toh(t->kind), le32toh(t->family));
	for (int i = 0; i < BLM_KIND_ARGS; i++)
		shape.args[i] = le64toh(t->args[i]);
	*ret = (struct blm_info){
		.size = sizeof(*ret),
		.format = blm_format_at(0)->name, .origin = origin ? origin->name : NULL,
		.kind = kind->name, .caveat = kind->caveat, .hash = family->name,
		.scheme = scheme->name, .bit_order = blm_order_name(le32toh(t->bit_order)),
		.cells = shape.cells, .probes = shape.probes, .cell_bits = shape.cell_bits,
		.parts = 1,
		.version = le32toh(c->version), .seed_count = le32toh(t->seed_count),
		.tweak = le64toh(t->tweak), .keyed = family->keyed,
		.capacity = shape.capacity, .rate = kind->exact ? 0 : shape.rate,
		.keys = entry->keys, .keys_estimated = entry->keys_estimated,
		.created = le64toh(c->created), .synced = entry->synced,
		.bytes = entry->file_bytes, .data_bytes = entry->data_bytes,
		.checkpoint_bytes = le64toh(c->flags) & BLM_FLAG_CHECKPOINT ? entry->data_bytes : 0,
		.sparse = le64toh(c->flags) & BLM_FLAG_SPARSE,
		.sealed = le64toh(c->flags) & BLM_FLAG_SEALED,
		.split_part = le32toh(c->split_part), .split_parts = le32toh(c->split_parts),
		.unchecked = !kind_only_sets(kind) && !(le64toh(c->flags) & BLM_FLAG_SEALED),
		.can = blm_kind_can(kind),
	};
	blm_options_text(kind, shape.args, ret->options);
	for (uint32_t i = 0; i < ret->seed_count && i < BLM_SEEDS_MAX; i++)
		ret->seeds[i] = le64toh(t->seeds[i]);
	memcpy(ret->key_id, t->key_id, 8);
	memcpy(ret->template_id, c->template_id, 16);
	memcpy(ret->uuid, c->uuid, 16);
	memcpy(ret->labels, entry->labels, entry->labels_bytes);
	strncpy(ret->name, name, BLM_NAME_MAX);
	look_at_origin(ret, c, origin);
	if (ret->sealed)
		ret->can &= AS_A_SOURCE;
	if (ret->split_parts)
		ret->can &= kind->place ? AS_A_PART : 0;
	set_rates(ret, kind, &shape);
	return 0;
}

BLM_API int blm_count(const struct blm_filter *f, uint64_t *ret, bool *ret_estimated)
{
	BLM_CRITICAL_SECTION;
	const struct blm_view *view = current_view(f);
	bool estimated = load_acquire(&live_of(view)->inexact.word) != 0;
	int r = 0;

	if (!estimated || (ret_estimated && !view->root.kind->exact
			   && load_acquire(&live_of(view)->inexact.word) == BLM_SHARE))
		*ret = blm_counted_keys(view);
	else if (!ret_estimated && !view->root.kind->exact)
		return blm_fail(-EDOM, "%s: has keys that were not counted one by one, so their "
				"number is only an estimate", f->place.display);
	else
		r = blm_keys_of_bits(view, ret);
	if (r == 0 && ret_estimated)
		*ret_estimated = estimated && !view->root.kind->exact;
	return r;
}

/*
 * Is it locked by others than the threads of this handle? A forked child does not have its parent's
 * file open; if it cannot open the file, the answer is unknown.
 */
static bool is_held(const struct blm_filter *f, struct blm_view *view, enum blm_lock_of what)
{
	int fd = blm_view_fd((struct blm_filter *)f, view);

	return fd >= 0 && blm_ofd_held(fd, what);
}

static bool is_suspect(const struct blm_filter *f, struct blm_view *view, uint64_t synced_epoch)
{
	const struct blm_live *live = live_of(view);

	return (blm_is_unwritten(view, synced_epoch) && !atomic_load(&view->syncs)
		&& !is_held(f, view, BLM_LOCK_SYNC))
	    || blm_failed_to_announce(live)
	    || (blm_is_unannounced(live) && !atomic_load(&view->writes)
		&& !is_held(f, view, BLM_LOCK_WRITE));
}

struct words {
	struct blm_sync_record last;	/* zeros: none */
	bool lost, suspect;		/* no record is good; pages may not be on the disk */
};

/*
 * A process that had a lock when the words were read may have ended well before the lock was looked
 * at: then the words differ the next time.
 */
static struct words words_of(const struct blm_filter *f, struct blm_view *view)
{
	const struct blm_live *live = live_of(view);
	struct words w = { 0 };

	for (int looks = 0; looks == 0 || (w.suspect && looks < 3); looks++) {
		blm_last_sync(live, view->constant.uuid, &w.last);
		w.suspect = is_suspect(f, view, le64toh(w.last.epoch));
	}
	w.lost = blm_syncs_lost(live, view->constant.uuid);
	return w;
}

/* The catalog does not have what these rates depend on. */
static void look_at_rates(struct blm_info *to, const struct blm_part *root)
{
	if (!root->kind->rate_in)
		return;
	to->rate_at_capacity = root->kind->rate_in(root, to->capacity);
	to->rate_at_keys = root->kind->rate_in(root, to->keys);
}

static int fill(const struct blm_filter *f, struct blm_info *ret)
{
	struct blm_view *view = current_view(f);
	const struct blm_live *live = live_of(view);
	const char *name = blm_place_name(&f->place);
	struct blm_entry *entry = malloc(sizeof(*entry));
	struct words words;
	int r, fd;

	if (!entry)
		return blm_fail(-ENOMEM, "%s: out of memory", f->place.display);
	blm_entry_of(entry, view->image.header, view->image.bytes);
	entry->constant = view->constant;
	if (view->shows_image)
		entry->keys = view->synced_keys;
	words = words_of(f, view);
	/* another thread of a forked child may be opening it */
	fd = __atomic_load_n(&view->image.fd, __ATOMIC_ACQUIRE);
	entry->synced = le64toh(words.last.time);
	r = blm_info_of_entry(ret, name ? name : "", entry);
	if (r == 0) {
		blm_place_path(&f->place, ret->uuid, ret->path, sizeof(ret->path));
		look_at_rates(ret, &view->root);
		ret->parts = view->parts;
		ret->foreign = is_foreign(view) || view->read_in;
		ret->caution = fd >= 0 ? blm_caution_about(fd) : NULL;
		if (kind_has_checkpoint(view->root.kind) && part_is_torn(&view->root)) {
			ret->can &= ~(unsigned)BLM_CAN_REMOVE;
			ret->caution = "a copy that was made byte by byte during changes: it may "
				"lack keys that moved at that moment, and removes none; "
				"blm_rebuild() makes it anew from its keys";
		}
		if (ret->foreign) {
			ret->format = ret->origin;
			ret->origin = NULL;
			ret->can &= AS_A_SOURCE;
			ret->unchecked = true;
		}
		ret->older = __atomic_load_n(&view->told.epoch, __ATOMIC_ACQUIRE) != 0;
		ret->catalog_keys = ret->older ? view->told.keys : 0;
		ret->catalog_synced = ret->older ? view->told.synced : 0;
		ret->lost_blocks = atomic_load(&((struct blm_filter *)f)->lost_blocks);
		ret->epoch = load_acquire(&live->epoch.word);
		ret->synced_epoch = le64toh(words.last.epoch);
		ret->dirty = load_acquire(&live->written.word) > ret->synced_epoch;
		/* if its records are lost, the state of the disk is not known */
		ret->suspect = words.suspect || words.lost;
		if (words.suspect && !words.lost)
			ret->suspect_epoch = load_acquire(&live->failed.word) > ret->synced_epoch
				? load_acquire(&live->failed.word) : ret->epoch;
	}
	free(entry);
	return r;
}

BLM_API int blm_info(const struct blm_filter *f, struct blm_info *ret)
{
	BLM_CRITICAL_SECTION;
	struct blm_info *info;
	int r = blm_info_begin(&info, ret);

	return r < 0 ? r : blm_info_end(info, ret, fill(f, info));
}

BLM_API int blm_fact(const struct blm_filter *f, size_t i, struct blm_fact *ret)
{
	BLM_CRITICAL_SECTION;
	const struct blm_view *view = current_view(f);

	*ret = (struct blm_fact){ 0 };
	if (!view->root.kind->describe || i > UINT_MAX
	    || !view->root.kind->describe(&view->root, (unsigned)i, ret))
		return blm_fail(-ENOENT, "%s: there are no more facts about a %s filter",
				f->place.display, view->root.kind->name);
	return 0;
}
