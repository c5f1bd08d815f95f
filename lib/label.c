/* label.c - names and labels: in the catalog, and in the file's own record, from which a lost catalog is made again */
#include "bloomery.h"
#include "filter.h"
#include "store.h"

#include <stdio.h>
#include <sys/mman.h>

/* Write the name record of a filter's file; the catalog has it already, and wins where the two disagree. */
static int write_record(struct blm_store *store, const char *name, const struct blm_entry *entry)
{
	struct blm_record record = { .name_bytes = htole32((uint32_t)strlen(name)), .labels_bytes = htole32(entry->labels_bytes) };
	struct blm_filter *f;
	struct blm_view *view;
	int r = blm_open(&f, store, name, true), fd;

	if (r < 0)
		return r;
	view = current_view(f);
	fd = blm_view_fd(f, view);
	r = fd < 0 ? fd : blm_ofd_lock(fd, BLM_LOCK_SYNC, true);
	if (r == 0) {
		memcpy(record.name, name, strlen(name));
		memcpy(record.labels, entry->labels, entry->labels_bytes);
		blm_next_record(view->image.header, view->constant.uuid, &record);
		if (msync(view->image.header->record, BLM_PAGE, MS_SYNC) < 0)
			r = blm_fail(-errno, "%s: writing its name record failed: %s", f->place.shown, strerror(errno));
		blm_ofd_unlock(fd, BLM_LOCK_SYNC);
	}
	blm_close(f);
	return r;
}

int blm_write_record(struct blm_store *store, const char *name)
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	int r = entry ? blm_catalog_get(store->catalog, name, entry) : blm_fail(-ENOMEM, "%s: out of memory", name);

	if (r == 0)
		r = write_record(store, name, entry);
	free(entry);
	return r;
}

BLM_API int blm_store_rename(struct blm_store *store, const char *from, const char *to)
{
	int r = blm_check_name(from);

	if (r == 0)
		r = blm_check_name(to);
	if (r == 0 && !strcmp(from, to))
		r = blm_fail(-EINVAL, "%s: that is its name already", from);
	if (r == 0)
		r = blm_catalog_rename(store->catalog, from, to);
	/* it is renamed; the file's own record only follows, and if its file is unwritable or lost, `verify` will tell */
	if (r == 0)
		blm_write_record(store, to);
	return r;
}

/* ---- Labels: lines of key=value ---- */

struct label {
	const char *name, *key, *value;
};

/* Where the line of this key begins in the labels; NULL: nowhere. */
static char *find(struct blm_entry *entry, const char *key)
{
	size_t len = strlen(key);
	char *end = entry->labels + entry->labels_bytes;

	for (char *line = entry->labels; line < end; ) {
		char *next = memchr(line, '\n', (size_t)(end - line));

		if ((size_t)(end - line) > len && !memcmp(line, key, len) && line[len] == '=')
			return line;
		line = next ? next + 1 : end;
	}
	return NULL;
}

static void take_away(struct blm_entry *entry, char *line)
{
	char *end = entry->labels + entry->labels_bytes, *next = memchr(line, '\n', (size_t)(end - line));

	next = next ? next + 1 : end;
	memmove(line, next, (size_t)(end - next));
	entry->labels_bytes -= (uint32_t)(next - line);
}

static int set_label(struct blm_entry *entry, void *context)
{
	const struct label *l = context;
	char *line = find(entry, l->key);
	size_t bytes;

	if (line)
		take_away(entry, line);
	else if (!l->value)
		return 0;
	if (l->value) {
		bytes = strlen(l->key) + strlen(l->value) + 2;
		if (entry->labels_bytes + bytes >= BLM_FORMAT_LABELS)
			return blm_fail(-E2BIG, "%s: its labels would take more than %d bytes", l->name, BLM_FORMAT_LABELS - 1);
		memcpy(stpcpy(stpcpy(stpcpy(entry->labels + entry->labels_bytes, l->key), "="), l->value), "\n", 1);
		entry->labels_bytes += (uint32_t)bytes;
	}
	memset(entry->labels + entry->labels_bytes, 0, BLM_FORMAT_LABELS - entry->labels_bytes);
	return 1;
}

BLM_API int blm_store_label(struct blm_store *store, const char *name, const char *key, const char *value)
{
	struct label label = { .name = name, .key = key, .value = value };
	int r = blm_check_name(name);

	if (r < 0)
		return r;
	if (!*key || strpbrk(key, "=\n") || (value && strchr(value, '\n')))
		return blm_fail(-EINVAL, "%s: a label is KEY=VALUE on one line, and its key is not empty", key);
	r = blm_catalog_change(store->catalog, name, set_label, &label);
	if (r == -ENOENT)
		return blm_fail(-ENOENT, "%s: no filter of that name in %s; see `bloomery ls`", name, store->dir);
	return r < 0 ? r : blm_write_record(store, name);
}
