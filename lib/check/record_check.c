/* record_check.c - the records of the catalog, against the files that they mean */
#include "check/store_check.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The file of a record: 0 and a descriptor; -EUCLEAN: the file is damaged; -ENOENT: there is no
 * such file, or the record is gone.
 */
static int file_of(const struct repair *r, const char *name, struct blm_entry *ret_entry,
		   int *ret_fd)
{
	char file[BLM_FILE_TEXT];
	int err = blm_catalog_get(r->store->catalog, name, ret_entry);

	if (err < 0)
		return err;
	blm_uuid_file(ret_entry->constant.uuid, file);
	*ret_fd = openat(r->filters, file,
			 O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	return *ret_fd < 0 ? -errno : 0;
}

/*
 * The values of its file go into the record of a filter, unless the name now leads to another one.
 */
struct mending {
	const struct blm_entry *by;
	uint8_t uuid[16];
	bool done;
};

static int mend_entry(struct blm_entry *entry, void *context)
{
	struct mending *m = context;

	m->done = !memcmp(entry->constant.uuid, m->uuid, sizeof(m->uuid));
	if (m->done)
		*entry = *m->by;
	return m->done;
}

/*
 * A record that does not match its filter. The file wins over a record with other contents. A
 * record that is damaged, or whose file is absent or belongs to another filter, makes the catalog
 * incomplete, and is handled at the end.
 */
static int mend_record(struct repair *r, const char *name, const char *reason)
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	struct blm_view *view;
	int fd, err = entry ? file_of(r, name, entry, &fd) : -ENOMEM;

	if (err == -EUCLEAN || err == -ENOENT) {
		r->doubt = true;
	} else if (err == 0 && blm_store_is_another(fd, entry->constant.uuid)) {
		r->doubt = true;
		close(fd);
		blm_found(r->to, name, false, "%s", r->repair ? "the file under its name belongs "
			  "to another filter, and its own file is missing: put a copy of its own "
			  "file there, or drop the name" : reason);
	} else if (err == 0 && blm_view_make(&view, fd, name, false) == 0) {
		struct mending m = { .by = entry, .done = !r->repair };

		memcpy(m.uuid, entry->constant.uuid, sizeof(m.uuid));
		blm_entry_of(entry, view->image.header, view->image.bytes);
		if (r->repair)
			err = blm_catalog_change(r->store->catalog, name, mend_entry, &m);
		if (err < 0 || m.done)
			blm_found(r->to, name, r->repair && err == 0, "%s", reason);
		blm_view_free(view);
	}
	free(entry);
	return 0;		/* faults of the file itself are reported when its turn comes */
}

static void tell_taken_out(struct repair *r, const char *name, bool damaged, bool removed)
{
	r->to->lost = !damaged;
	blm_found(r->to, name, removed, "%s", damaged ? "its record in the catalog is damaged"
		  : removed ? "its file is missing: its keys are lost, and its name and labels "
		  "were removed from the catalog"
		  : "its file is missing, with its keys: put a copy of it back before a repair, "
		  "which removes the name from the catalog");
}

int blm_repair_take_out(void *context, const struct blm_info *info, int unused)
{
	/* the uuid of none, so only a record that cannot be read is taken out */
	static const uint8_t damaged[16];
	struct repair *r = context;
	struct blm_entry *entry = malloc(sizeof(*entry));
	int fd = -1, err = entry ? file_of(r, info->name, entry, &fd)
		: blm_fail(-ENOMEM, "%s: out of memory", r->dir), removed = 0;

	if (fd >= 0)
		close(fd);
	if (err == -EUCLEAN || err == -ENOENT) {
		if (r->repair)
			removed = blm_catalog_remove(r->store->catalog, info->name, err == -EUCLEAN
						     ? damaged : entry->constant.uuid);
		if (removed != -ENOENT)
			tell_taken_out(r, info->name, err == -EUCLEAN, r->repair && removed == 0);
		err = removed == -ENOENT ? 0 : removed;
	} else if (err != -ENOMEM) {
		err = 0;
	}
	free(entry);
	return err;
}

/*
 * A state in which a process died has no meaning while the catalog knows the file. It is cleared in
 * case the catalog is lost one day.
 */
static void settle_state(struct repair *r, const char *name)
{
	struct blm_view *view;
	int fd = blm_store_open_file(r->store, name, true, NULL);

	if (fd < 0 || blm_view_make(&view, fd, name, true) < 0)
		return;
	if (!blm_ofd_busy(view->image.fd, BLM_LOCK_REPLACE)
	    && blm_lock_exclusive(&view->lock, view->image.fd) == 0) {
		if (state_of(load_acquire(&live_of(view)->state.word)) != BLM_LIVE
		    && blm_store_is(r->store, name, view->constant.uuid) == 1) {
			set_state(view, BLM_LIVE);
			if (blm_lock_syncing(view) == 0) {
				blm_flush(view, live_of(view), BLM_PAGE);
				blm_unlock_syncing(view);
			}
		}
		blm_unlock_exclusive(&view->lock, view->image.fd);
	}
	blm_view_free(view);
}

/* The file's contents, if the catalog has more. The labels stay. */
static int follow_file(struct blm_entry *entry, void *context)
{
	const struct blm_entry *by = context;

	if (memcmp(entry->constant.uuid, by->constant.uuid, 16) || entry->epoch <= by->epoch)
		return 0;
	entry->keys = by->keys;
	entry->keys_estimated = by->keys_estimated;
	entry->synced = by->synced;
	entry->epoch = by->epoch;
	entry->file_bytes = by->file_bytes;
	entry->data_bytes = by->data_bytes;
	return 1;
}

/* An older copy of the file was put back. */
static int check_age(struct repair *r, const struct blm_filter *f, const char *name)
{
	const struct blm_view *view = current_view(f);
	struct blm_entry *by = view->told.epoch && r->repair ? malloc(sizeof(*by)) : NULL;
	int err = 0;

	if (by) {
		blm_entry_of(by, view->image.header, view->image.bytes);
		err = blm_catalog_change(r->store->catalog, name, follow_file, by);
	}
	blm_verify_age(view, f->place.display, by && err == 0, r->to);
	free(by);
	return err == -ENOENT ? 0 : err;
}

/* Only its owner knows whether it is needed, so no repair deletes it. */
static void check_mode(const struct repair *r, const struct blm_info *info)
{
	unsigned mode;

	if (!r->anyone && blm_store_file_mode(r->store, info->uuid, &mode) == 0 && mode & S_IWOTH)
		blm_found(r->to, info->name, false, "its file %s has the mode %03o, so every user "
			  "may change what is in it; chmod o-w it, or allow that "
			  "(BLM_VERIFY_ANYONE)", info->path, mode & 0777);
}

/*
 * Its file has its turn later, and says its name only if it opens. Without memory the name is not
 * reported.
 */
static void keep_name(struct repair *r, const struct blm_info *info)
{
	struct blm_named *more = realloc(r->broken, (r->broken_count + 1) * sizeof(*more));

	if (!more)
		return;
	memcpy(more[r->broken_count].uuid, info->uuid, sizeof(more->uuid));
	snprintf(more[r->broken_count].name, sizeof(more->name), "%s", info->name);
	r->broken = more;
	r->broken_count++;
}

int blm_repair_record(void *context, const struct blm_info *info, int err)
{
	struct repair *r = context;
	struct blm_filter *f;

	if (err == 0)
		check_mode(r, info);
	if (err == 0)
		err = blm_filter_open_at(&f, r->store, info->name, false, NULL);
	if (err == -ENOENT)
		return 0;	/* dropped in the meantime */
	if (err < 0) {
		char reason[1024];

		snprintf(reason, sizeof(reason), "%s", blm_error_message());
		if (blm_is_damage(err))
			keep_name(r, info);
		if (err == -ENOKEY && blm_store_may_look(r->store, info->key_id))
			blm_found(r->to, info->name, false, "%s", reason);
		return err == -EUCLEAN ? mend_record(r, info->name, reason) : 0;
	}
	if (r->repair && state_of(load_acquire(&live_of(current_view(f))->state.word)) != BLM_LIVE)
		settle_state(r, info->name);
	err = check_age(r, f, info->name);
	if (err == 0)
		err = blm_repair_name(r, f, info);
	blm_close(f);
	return err;
}
