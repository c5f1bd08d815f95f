/*
 * orphans.c - check the files of a store: those without a record in the catalog are kept under a
 * name, or deleted
 *
 * The rule: a file is deleted only if it is certain that no user misses it.
 *
 *   - The catalog says that it took it out: a replacement or a drop notes that in the
 *     transaction that is the one step (catalog/tombstones.c). Or its state is REPLACED, which is
 *     set after that step.
 *   - Its state is UNNAMED, or it holds nothing at all, and the catalog is whole. A maker that
 *     reported success had put another state on the disk before (blm_store_put()), and so had a
 *     process that synced the filter since. So this maker died before it reported success.
 *
 * No other state says anything. REPLACING, YIELDING and DROPPED are set before the one step: a
 * process that died there may have replaced or dropped nothing. And a catalog proves nothing by not
 * knowing a file if it is lost, if a record is damaged, or if one means a file that is not there,
 * as in an older catalog that was put back; then the first two signs alone count, and everything
 * else is kept. It gets the name that it says itself, or if another has that, the same with
 * ".recovered-" and the beginning of its uuid.
 */
#include "catalog/flock.h"
#include "file/os.h"
#include "file/two_slots.h"
#include "view/scan.h"
#include "check/store_check.h"
#include "handle/name_record.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int out_of_memory(const struct repair *r)
{
	return blm_fail(-ENOMEM, "%s: out of memory", r->dir);
}

/*
 * Wait a little until no process holds a lock of a file. A live holder that does not wait for us is
 * done by then.
 */
static void let_finish(int fd, enum blm_lock_of what, int most_ms)
{
	for (int ms = 0; ms < most_ms && blm_ofd_busy(fd, what); ms++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* ---- Names for files that have none, or one that is in use ---- */

/* A record that is damaged has the name too, until it is taken out. */
static int taken(const struct repair *r, const char *name)
{
	int err = -ENOENT;

	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(r->entries[i].name, name))
			return 1;
	if (r->store)
		err = blm_store_is(r->store, name, (const uint8_t[16]){ 0 });
	if (err == -EUCLEAN && r->repair)
		err = blm_catalog_remove(r->store->catalog, name, (const uint8_t[16]){ 0 }) < 0 ? 1
			: -ENOENT;
	return err == -ENOENT ? 0 : err >= 0 || err == -EUCLEAN ? 1 : err;
}

/* Cut the name to at most `most` bytes, not in the middle of a character. */
static char *cut(char *name, size_t most)
{
	size_t end = strnlen(name, most);

	if (name[end])
		while (end && ((unsigned char)name[end] & 0xc0) == 0x80)
			end--;
	name[end] = '\0';
	return name + end;
}

static int choose_name(const struct repair *r, const struct blm_view *view,
		       char ret[BLM_FORMAT_NAME])
{
	struct blm_record *record = calloc(1, sizeof(*record));
	char uuid[BLM_UUID_TEXT];
	int err = 0;

	if (!record)
		return out_of_memory(r);
	blm_uuid_text(view->constant.uuid, uuid);
	ret[0] = '\0';
	/*
	 * a process that renamed it in the old catalog is about to write its name; one that waits
	 * for the new catalog waits for us
	 */
	if (!r->store)
		let_finish(view->image.fd, BLM_LOCK_SYNC, 20);
	if (blm_last_record(view->image.header, view->constant.uuid, record)) {
		memcpy(ret, record->name, le32toh(record->name_bytes));
		ret[le32toh(record->name_bytes)] = '\0';
	}
	free(record);
	if (blm_check_name(ret) < 0)
		snprintf(ret, BLM_FORMAT_NAME, "recovered-%.8s", uuid);
	else if ((err = taken(r, ret)) > 0)
		snprintf(cut(ret, BLM_FORMAT_NAME - 24), 24, ".recovered-%.8s", uuid);
	return err < 0 ? err : 0;
}

/* ---- Files that the catalog does not know ---- */

static enum blm_state state_now(const struct blm_view *view)
{
	return state_of(load_acquire(&live_of(view)->state.word));
}

static bool is_empty(const struct blm_part *part, uint64_t from, uint64_t to)
{
	const uint64_t *words = (const uint64_t *)part->bytes;

	for (uint64_t i = from / 8; i < to / 8; i++)
		if (load_relaxed(&words[i]))
			return false;
	return true;
}

/*
 * The count is quickly looked at; bits that did not come as keys are seen in the data alone.
 */
static bool holds_nothing(const struct blm_view *view)
{
	bool nothing = load_acquire(&live_of(view)->written.word) == 0
		&& blm_counted_keys(view) == 0;
	uint64_t from, to;

	for (unsigned i = 0; nothing && i < view->parts; i++)
		for (uint64_t at = 0; nothing && blm_next_data(view, i, at, &from, &to); at = to)
			nothing = is_empty(&view->part[i], from, to);
	return nothing;
}

static int was_taken_out(const struct repair *r, const struct blm_view *view)
{
	return state_now(view) == BLM_REPLACED ? 1 : r->store
		? blm_catalog_is_gone(r->store->catalog, view->constant.uuid) : 0;
}

static bool was_never_told_of(const struct repair *r, const struct blm_view *view)
{
	return r->store && !r->doubt && (state_now(view) == BLM_UNNAMED || holds_nothing(view));
}

/* Without a catalog: a name other than the one in the file, as the rebuilt catalog will have it. */
static int say_name(struct blm_view *view, const struct blm_new_entry *new)
{
	int err;

	/* a process that waits for the new catalog with that lock writes it after us */
	if (blm_says_name(view, new->name) || blm_ofd_busy(view->image.fd, BLM_LOCK_SYNC))
		return 0;
	err = blm_lock_syncing(view);
	if (err == 0) {
		err = blm_write_record_to(view, new->name, &new->entry);
		blm_unlock_syncing(view);
	}
	return err;
}

static int keep(struct repair *r, struct blm_view *view)
{
	struct blm_new_entry *more = realloc(r->entries, (r->count + 1) * sizeof(*more));
	int err;

	if (!more)
		return out_of_memory(r);
	r->entries = more;
	err = choose_name(r, view, more[r->count].name);
	if (err < 0)
		return err;
	blm_entry_of(&more[r->count].entry, view->image.header, view->image.bytes);
	if (r->store) {
		err = blm_catalog_put(r->store->catalog, more[r->count].name, &more[r->count].entry,
				      BLM_PUT_NEW);
		return err < 0 ? err : blm_write_record(r->store, more[r->count].name);
	}
	return say_name(view, &more[r->count++]);
}

static int delete(struct repair *r, int folder, const char *path)
{
	/* the process that left the file may be alive, and may have deleted it already */
	return unlinkat(folder, strrchr(path, '/') + 1, 0) < 0
		&& errno != ENOENT ? blm_fail(-errno, "%s: %s", path, strerror(errno)) : 0;
}

enum { DISCARDED = 1 };

static int discard(struct repair *r, const char *path, const char *reason)
{
	int err = r->repair ? delete(r, r->filters, path) : 0;

	blm_found(r->to, path, r->repair && err == 0,
		  "left behind by a process that died: it was %s", reason);
	return err < 0 ? err : DISCARDED;
}

static bool is_deleted(const struct blm_view *view)
{
	struct stat st;

	return fstat(view->image.fd, &st) == 0 && st.st_nlink == 0;
}

/*
 * A file in filters/ that no record means. DISCARDED: it need not be checked any more.
 */
static int stray(struct repair *r, const char *path, struct blm_view *view)
{
	int err;

	if (is_deleted(view))
		return DISCARDED;
	err = was_taken_out(r, view);
	if (err)
		return err < 0 ? err : discard(r, path, "replaced or dropped");
	if (was_never_told_of(r, view))
		return discard(r, path, "never used");
	if (r->repair)
		err = keep(r, view);
	if (err == 0 && r->store)
		blm_found(r->to, path, r->repair,
			  "a filter with %llu keys that the catalog does not know",
			  (unsigned long long)blm_counted_keys(view));
	return err;
}

/*
 * Without a catalog, and no process can change one at this moment. A process that made, replaced or
 * dropped a filter in the old catalog may be about to record that in the file. A process that waits
 * for its turn uses the new catalog, where a new file's name must be free, and an old file's name
 * must exist.
 */
static int orphan(struct repair *r, const char *path, struct blm_view *view)
{
	if (state_now(view) != BLM_LIVE)
		let_finish(view->image.fd, BLM_LOCK_REPLACE, 100);
	if ((state_now(view) == BLM_UNNAMED || state_now(view) == BLM_REPLACED)
	    && blm_ofd_busy(view->image.fd, BLM_LOCK_REPLACE))
		return 0;
	return stray(r, path, view);
}

/* ---- Files ---- */

/*
 * For files that are not being made, replaced or dropped at this moment, which was checked: a maker
 * enters the file into the catalog before it releases its lock. The name record is a short cut; an
 * interrupted rename leaves another name in it. If the catalog cannot be read the answer is
 * unknown, and the file must stay as it is.
 */
static int known(struct repair *r, const struct blm_view *view)
{
	struct blm_record *record = calloc(1, sizeof(*record));
	char name[BLM_FORMAT_NAME] = "";

	if (!record)
		return out_of_memory(r);
	if (blm_last_record(view->image.header, view->constant.uuid, record))
		memcpy(name, record->name, le32toh(record->name_bytes));
	free(record);
	if (blm_check_name(name) == 0 && blm_store_is(r->store, name, view->constant.uuid) == 1)
		return 1;
	return blm_catalog_knows(r->store->catalog, view->constant.uuid);
}

static int check_temporary(struct repair *r, int folder, const char *path)
{
	const char *file = strrchr(path, '/') + 1;
	int err;

	if (blm_temporary_is_made(folder, file))
		return 0;
	err = r->repair ? delete(r, folder, path) : 0;
	blm_found(r->to, path, r->repair && err == 0,
		  "a temporary file, left behind by a process that died");
	return err;
}

/* The view belongs to it. */
static int check_view(struct repair *r, const char *path, struct blm_view *view)
{
	char own[BLM_FILE_TEXT], name[BLM_FORMAT_NAME + 1];
	int err = 0;

	blm_uuid_file(view->constant.uuid, own);
	if (strcmp(own, strrchr(path, '/') + 1))
		blm_found(r->to, path, false, "its header says that it is %s%s", own,
			  faccessat(r->filters, own, F_OK, AT_SYMLINK_NOFOLLOW) == 0
			  ? ", and there is another file of that name: move the one that is not "
			  "that filter out of filters/" : "");
	else if (!r->store)
		err = orphan(r, path, view);
	else if (!blm_ofd_busy(view->image.fd, BLM_LOCK_REPLACE) && (err = known(r, view)) >= 0)
		err = err ? 0 : stray(r, path, view);
	if (err == 0) {
		struct blm_record record;

		if (r->store && blm_last_record(view->image.header, view->constant.uuid, &record)) {
			snprintf(name, sizeof(name), "%.*s", (int)le32toh(record.name_bytes),
				 record.name);
			r->to->name = name;
		}
		err = r->shallow ? 0 : blm_verify_view(view, path, r->repair, r->to);
		r->to->name = NULL;
	}
	blm_view_free(view);
	return err < 0 ? err : 0;
}

/* By the catalog, if it is whole. */
static const char *name_of(const struct repair *r, const char *file)
{
	char own[BLM_FILE_TEXT];

	for (size_t i = 0; i < r->broken_count; i++) {
		blm_uuid_file(r->broken[i].uuid, own);
		if (!strcmp(own, file))
			return r->broken[i].name;
	}
	return NULL;
}

static int check_file(struct repair *r, int folder, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	struct blm_view *view;
	int fd, err;

	if (blm_is_temporary(name) || blm_is_replacement(name))
		return check_temporary(r, folder, path);
	if (folder != r->filters)
		return 0;
	fd = openat(folder, name, (r->repair ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW
		    | O_NONBLOCK | O_NOCTTY);
	err = fd < 0 ? errno : 0;
	if (fd >= 0 && blm_view_make(&view, fd, path, r->repair) == 0)
		return check_view(r, path, view);
	r->to->name = name_of(r, name);
	if (fd >= 0)
		blm_found_broken(r->to, path);
	else if (err != ENOENT)		/* dropped or replaced since the folder was listed */
		blm_found(r->to, path, false, "cannot be opened: %s", strerror(err));
	r->to->name = NULL;
	return 0;
}

static int check_folder(struct repair *r, int folder, const char *name)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	char *path;

	if (!list) {
		err = blm_fail(-errno, "%s/%s: %s", r->dir, name, strerror(errno));
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (err == 0) {
		struct dirent *e;

		errno = 0;
		e = readdir(list);
		if (!e && errno)
			err = blm_fail(-errno, "%s/%s: %s", r->dir, name, strerror(errno));
		if (!e)
			break;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (asprintf(&path, "%s/%s/%s", r->dir, name, e->d_name) < 0) {
			err = out_of_memory(r);
		} else {
			err = check_file(r, folder, path);
			free(path);
		}
	}
	closedir(list);
	return err;
}

int blm_repair_files(struct repair *r)
{
	int err = check_folder(r, r->filters, "filters");

	if (err == 0 && r->store && r->store->keys >= 0)
		err = check_folder(r, r->store->keys, "keys");
	return err == 0 ? blm_repair_claims(r) : err;
}
