/*
 * label.c - names and labels: in the catalog, and in the file's own record, from which a lost
 * catalog is made again
 */
#include "bloomery.h"
#include "handle/name_record.h"
#include "place/store_dir.h"

#include <stdio.h>

/*
 * The file's own record follows, and if its file is unwritable or lost, `verify` reports it. The
 * record is locked from before the one step until it is written, and the catalog is not used in
 * between: a repair that rebuilds a lost catalog reads the records, and waits for a process that
 * writes one (orphans.c), but not for long. So if a file's record differs from the catalog's, and
 * the file is not locked, a process died in between.
 */
static int rename_locked(struct blm_store *store, const char *from, const char *to,
			 struct blm_view *view)
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	int r = entry ? blm_catalog_get(store->catalog, from, entry)
		: blm_fail(-ENOMEM, "%s: out of memory", from);

	if (r == 0 && memcmp(entry->constant.uuid, view->constant.uuid, 16))
		r = -EAGAIN;
	if (r == 0)
		r = blm_catalog_rename_this(store->catalog, from, to, view->constant.uuid);
	if (r == 0)
		blm_write_record_to(view, to, entry);
	free(entry);
	return r;
}

static int rename_filter(struct blm_store *store, const char *from, const char *to)
{
	struct blm_view *view;
	int r;

	do {	/* replaced in between, it has another file */
		r = blm_name_record_lock(store, from, &view);
		if (r < 0)
			return blm_catalog_rename(store->catalog, from, to);
		r = rename_locked(store, from, to, view);
		blm_name_record_unlock(view);
	} while (r == -EAGAIN);
	return r;
}

BLM_API int blm_store_rename(struct blm_store *store, const char *from, const char *to)
{
	int r = blm_check_name(from);

	if (r == 0)
		r = blm_check_new_name(to);
	if (r == 0 && !strcmp(from, to))
		r = blm_fail(-EINVAL, "%s: that is its name already", from);
	if (r == 0)
		r = blm_store_check_mode(store, from);
	return r < 0 ? r : rename_filter(store, from, to);
}

/* ---- Labels: lines of key=value ---- */

struct label {
	const char *name, *key, *value;
	const uint8_t *uuid;		/* of the file whose record is locked; NULL: none is */
	struct blm_entry set;		/* the catalog's labels afterwards */
};

/* The beginning of this key's line in the labels; NULL: there is none. */
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
	char *end = entry->labels + entry->labels_bytes,
		*next = memchr(line, '\n', (size_t)(end - line));

	next = next ? next + 1 : end;
	memmove(line, next, (size_t)(end - next));
	entry->labels_bytes -= (uint32_t)(next - line);
}

static int set_label(struct blm_entry *entry, void *context)
{
	struct label *l = context;
	char *line = find(entry, l->key);
	size_t bytes;

	if (l->uuid && memcmp(entry->constant.uuid, l->uuid, 16))
		return -EAGAIN;
	if (line)
		take_away(entry, line);
	if (l->value) {
		bytes = strlen(l->key) + strlen(l->value) + 2;
		if (entry->labels_bytes + bytes >= BLM_FORMAT_LABELS)
			return blm_fail(-E2BIG, "%s: its labels would take more than %d bytes",
					l->name, BLM_FORMAT_LABELS - 1);
		memcpy(stpcpy(stpcpy(stpcpy(entry->labels + entry->labels_bytes, l->key), "="),
			      l->value), "\n", 1);
		entry->labels_bytes += (uint32_t)bytes;
	}
	memset(entry->labels + entry->labels_bytes, 0, BLM_FORMAT_LABELS - entry->labels_bytes);
	l->set = *entry;
	return line || l->value;
}

/*
 * The record is locked from before the one step, as in rename_locked(). If it cannot be locked, the
 * catalog has the label, and `verify` reports it.
 */
static int label_filter(struct blm_store *store, struct label *l)
{
	struct blm_view *view;
	int r, locked;

	do {
		locked = blm_name_record_lock(store, l->name, &view);
		if (locked == -EBUSY || locked == -EINTR)
			return locked;
		l->uuid = locked == 0 ? view->constant.uuid : NULL;
		r = blm_catalog_change(store->catalog, l->name, set_label, l);
		if (r == 0 && locked == 0)
			r = blm_write_record_to(view, l->name, &l->set);
		if (locked == 0)
			blm_name_record_unlock(view);
	} while (r == -EAGAIN);
	if (r == -ENOENT)
		return blm_store_no_such(store, l->name, r);
	return r < 0 || locked == 0 ? r : blm_write_record(store, l->name);
}

BLM_API int blm_store_label(struct blm_store *store, const char *name, const char *key,
			    const char *value)
{
	struct label *label;
	int r = blm_check_name(name);

	if (r == 0)
		r = blm_must_have(key, "key");
	if (r < 0)
		return r;
	if (!*key || strpbrk(key, "=\n") || (value && strchr(value, '\n')))
		return blm_fail(-EINVAL, "%s: a label is KEY=VALUE on one line, and its key is not "
				"empty", key);
	label = calloc(1, sizeof(*label));
	if (!label)
		return blm_fail(-ENOMEM, "%s: out of memory", name);
	label->name = name, label->key = key, label->value = value;
	r = label_filter(store, label);
	free(label);
	return r;
}
