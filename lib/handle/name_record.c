/*
 * name_record.c - the name and the labels in a filter's own file, from which a lost catalog is made
 * again
 */
#include "handle/name_record.h"
#include "durable/flush.h"
#include "durable/locks.h"
#include "place/store_dir.h"
#include "file/two_slots.h"

/* The file that a name leads to, locked for writing its name record. That takes no secret. */
int blm_name_record_lock(struct blm_store *store, const char *name, struct blm_view **ret)
{
	int fd = blm_store_open_file(store, name, true, NULL), r = fd < 0 ? fd
		: blm_view_make(ret, fd, name, true);

	if (r < 0)
		return r;
	r = blm_lock_syncing(*ret);
	if (r < 0)
		blm_view_free(*ret);
	return r;
}

void blm_name_record_unlock(struct blm_view *view)
{
	blm_unlock_syncing(view);
	blm_view_free(view);
}

int blm_write_record_to(struct blm_view *view, const char *name, const struct blm_entry *entry)
{
	struct blm_record record = { .name_bytes = htole32((uint32_t)strlen(name)),
				     .labels_bytes = htole32(entry->labels_bytes) };
	int r;

	memcpy(record.name, name, strlen(name));
	memcpy(record.labels, entry->labels, entry->labels_bytes);
	blm_next_record(view->image.header, view->constant.uuid, &record);
	r = blm_flush(view, view->image.header->record, BLM_PAGE);
	return r < 0 ? blm_fail(r, "%s: writing its name record failed: %s", name, strerror(-r))
		: 0;
}

/* The name in the catalog, which wins over the file's. 1: the name now belongs to another file. */
static int write_current(struct blm_store *store, const char *name, struct blm_view *view)
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	int r = entry ? blm_catalog_get(store->catalog, name, entry)
		: blm_fail(-ENOMEM, "%s: out of memory", name);

	if (r == 0)
		r = memcmp(entry->constant.uuid, view->constant.uuid, 16) ? 1
			: blm_write_record_to(view, name, entry);
	free(entry);
	return r;
}

int blm_write_record(struct blm_store *store, const char *name)
{
	struct blm_view *view;
	int r;

	do {
		r = blm_name_record_lock(store, name, &view);
		if (r == 0) {
			r = write_current(store, name, view);
			blm_name_record_unlock(view);
		}
	} while (r == 1);
	return r;
}
