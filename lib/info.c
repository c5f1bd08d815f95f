/* info.c - what a filter is */
#include "info.h"
#include "filter.h"
#include "store.h"

int blm_info_of_entry(struct blm_info *ret, const char *name, const struct blm_entry *entry)
{
	const struct blm_constant *c = &entry->constant;
	const struct blm_template_fields *t = &c->template;
	const struct blm_kind *kind = blm_kind_by_id(le32toh(t->kind));
	const struct blm_family *family = blm_family_by_id(le32toh(t->family));
	struct blm_shape shape = {
		.cells = le64toh(t->cells), .probes = le32toh(t->probes), .cell_bits = le32toh(t->cell_bits),
		.bytes = entry->data_bytes, .capacity = le64toh(c->capacity), .rate = blm_double_of(le64toh(c->rate)),
	};

	if (!kind || !family)
		return blm_fail(-EPROTONOSUPPORT, "%s: kind %u, hash family %u: this program does not know both", name,
				le32toh(t->kind), le32toh(t->family));
	for (int i = 0; i < BLM_KIND_ARGS; i++)
		shape.args[i] = le64toh(t->args[i]);
	*ret = (struct blm_info){
		.kind = kind->name, .hash = family->name,
		.cells = shape.cells, .probes = shape.probes, .cell_bits = shape.cell_bits, .parts = 1,
		.version = le32toh(c->version), .seed_count = le32toh(t->seed_count), .tweak = le64toh(t->tweak), .keyed = family->keyed,
		.capacity = shape.capacity, .rate = shape.rate,
		.keys = entry->keys, .keys_estimated = entry->keys_estimated,
		.created = le64toh(c->created), .synced = entry->synced,
		.bytes = entry->file_bytes, .data_bytes = entry->data_bytes,
		.sparse = le64toh(c->flags) & BLM_FLAG_SPARSE, .sealed = le64toh(c->flags) & BLM_FLAG_SEALED,
		.can = blm_kind_can(kind),
	};
	for (uint32_t i = 0; i < ret->seed_count && i < BLM_SEEDS_MAX; i++)
		ret->seeds[i] = le64toh(t->seeds[i]);
	memcpy(ret->key_id, t->key_id, 8);
	memcpy(ret->template_id, c->template_id, 16);
	memcpy(ret->uuid, c->uuid, 16);
	memcpy(ret->labels, entry->labels, entry->labels_bytes);
	strncpy(ret->name, name, BLM_NAME_MAX);
	ret->rate_at_capacity = kind->valid(&shape) ? kind->rate_at(&shape, ret->capacity) : 1;
	return 0;
}

BLM_API int blm_info(const struct blm_filter *f, struct blm_info *ret)
{
	const struct blm_view *view = current_view(f);
	const struct blm_live *live = live_of(view);
	const char *name = blm_place_name(&f->place);
	struct blm_entry *entry = malloc(sizeof(*entry));
	struct blm_sync_record sync = { 0 };
	uint64_t synced_epoch = 0;
	int r;

	if (!entry)
		return blm_fail(-ENOMEM, "%s: out of memory", f->place.shown);
	blm_entry_of(entry, view->image.header, view->image.bytes);
	entry->constant = view->constant;
	if (blm_last_sync(live, view->constant.uuid, &sync)) {
		synced_epoch = le64toh(sync.epoch);
		entry->synced = le64toh(sync.time);
	}
	r = blm_info_of_entry(ret, name ? name : "", entry);
	if (r == 0) {
		if (f->place.store)
			blm_store_path(f->place.store, ret->uuid, ret->path);
		else
			strncpy(ret->path, f->place.name, BLM_PATH_MAX - 1);
		ret->parts = view->parts;
		ret->dirty = load_acquire(&live->written.word) > synced_epoch;
	}
	free(entry);
	return r;
}
