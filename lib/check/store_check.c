/*
 * store_check.c - check a store: the catalog against the files, and the files against the catalog
 *
 * A whole catalog wins, and of a lost one the files' own name records make a new one. orphans.c
 * says which files stay that no record means. Records that are damaged, or mean a file that is not
 * there, are taken out last: a repair that is killed before leaves the next one the same doubt. One
 * repair at a time: looking for a file's record and making one is not one step.
 */
#include "catalog/flock.h"
#include "check/store_check.h"
#include "handle/name_record.h"
#include "file/two_slots.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- One at a time ---- */

enum { WAIT_SECONDS = 5 };

/*
 * Held on the folder of the filters, for as long as *ret_fd is open; -1: none is needed, or there
 * is no such folder.
 */
static int lock_repairs(const char *dir, int *ret_fd)
{
	char *folder;
	int fd;

	*ret_fd = -1;
	if (asprintf(&folder, "%s/filters", dir) < 0)
		return blm_fail(-ENOMEM, "%s: out of memory", dir);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	for (int tries = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	     tries++) {
		if (tries == WAIT_SECONDS * 100) {
			close(fd);
			return blm_fail(-EBUSY, "%s: another process has been repairing it for "
					"more than %d seconds; try again when it is done", dir,
					WAIT_SECONDS);
		}
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	*ret_fd = fd;
	return 0;
}

/* ---- Records ---- */

/*
 * What a record means: 0 and a descriptor of its file; -EUCLEAN: it is damaged; -ENOENT: there is
 * no such file, or no record any more.
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
 * A record that does not lead to its filter. The file wins over one that says something else. One
 * that is damaged, or whose file is not there, or is another filter's, makes the catalog one that
 * is not whole, and waits for its end.
 */
static int mend_record(struct repair *r, const char *name, const char *why)
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	struct blm_view *view;
	int fd, err = entry ? file_of(r, name, entry, &fd) : -ENOMEM;

	if (err == -EUCLEAN || err == -ENOENT) {
		r->doubt = true;
	} else if (err == 0 && blm_store_is_another(fd, entry->constant.uuid)) {
		r->doubt = true;
		close(fd);
		blm_found(r->to, name, false, "%s", r->repair ? "the file of its name is another "
			  "filter's, and its own is not in filters/: put a copy of that there, or "
			  "drop the name" : why);
	} else if (err == 0 && blm_view_make(&view, fd, name, false) == 0) {
		struct mending m = { .by = entry, .done = !r->repair };

		memcpy(m.uuid, entry->constant.uuid, sizeof(m.uuid));
		blm_entry_of(entry, view->image.header, view->image.bytes);
		if (r->repair)
			err = blm_catalog_change(r->store->catalog, name, mend_entry, &m);
		if (err < 0 || m.done)
			blm_found(r->to, name, r->repair && err == 0, "%s", why);
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

/* The last look at the records of a catalog that is not whole. */
static int take_out(void *context, const struct blm_info *info, int unused)
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
 * A state in which a process died means nothing while the catalog knows the file. It is cleared in
 * case that the catalog is lost one day.
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

/* What the file has, if that is less than what the catalog has still. The labels stay. */
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

/*
 * The file's name record against the catalog. A writer of both holds BLM_LOCK_SYNC from before the
 * one until after the other, so where the two differ, in this order:
 *
 *   read the record; look the name up; is the lock free? read the record again
 *
 *   the lock is taken           a change is under way, and nothing is said of it
 *   the two records differ      a change ended meanwhile: look again
 *   else                        a process died between the two
 */
enum naming { AS_IT_SHOULD, UNDER_WAY, LEFT_BEHIND };

struct naming_look {
	struct blm_record before, after;
	struct blm_entry entry;
};

static void read_record(const struct blm_view *view, struct blm_record *ret)
{
	if (!blm_last_record(view->image.header, view->constant.uuid, ret))
		memset(ret, 0, sizeof(*ret));
}

static bool has_labels(const struct blm_record *record, const void *labels, size_t bytes)
{
	return le32toh(record->labels_bytes) == bytes && !memcmp(record->labels, labels, bytes);
}

static bool is_in_line(const struct blm_view *view, const char *name)
{
	return blm_says_name(view, name)
		&& !blm_records_contradict(view->image.header, view->constant.uuid);
}

static int look_at_name(struct repair *r, const struct blm_view *view, const struct blm_info *info,
			struct naming_look *look)
{
	enum { LOOKS = 100 };
	const char *name = info->name;

	for (int i = 0; i < LOOKS; i++) {
		int err;

		read_record(view, &look->before);
		if (is_in_line(view, name) && has_labels(&look->before, info->labels,
							 strlen(info->labels)))
			return AS_IT_SHOULD;
		err = blm_catalog_get(r->store->catalog, name, &look->entry);
		if (err == -ENOENT || (err == 0 && memcmp(look->entry.constant.uuid,
							  view->constant.uuid, 16)))
			return AS_IT_SHOULD;	/* renamed, replaced or dropped in the meantime */
		if (err < 0)
			return err;
		if (is_in_line(view, name) && has_labels(&look->before, look->entry.labels,
							 look->entry.labels_bytes))
			return AS_IT_SHOULD;
		if (!blm_ofd_busy(view->image.fd, BLM_LOCK_SYNC)) {
			read_record(view, &look->after);
			if (!memcmp(&look->before, &look->after, sizeof(look->before)))
				return LEFT_BEHIND;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return UNDER_WAY;
}

static void tell_name(struct repair *r, const struct blm_filter *f, const char *name,
		      const char *own)
{
	const struct blm_view *view = current_view(f);
	bool labels = is_in_line(view, name);
	bool mended = r->repair && blm_write_record(r->store, name) == 0 && is_in_line(view, name);

	if (labels)
		blm_found(r->to, f->place.display, mended, "a change of its labels was cut short "
			  "before its file said so: the next change of its labels, or a repair "
			  "with blm_store_verify(), ends it");
	else if (!strcmp(own, name))
		blm_found(r->to, f->place.display, mended,
			  "its two name records contradict each other");
	else if (*own)
		blm_found(r->to, f->place.display, mended, "a rename from %s was cut short before "
			  "the file said so: the next opening for changes, or a repair with "
			  "blm_store_verify(), ends it", own);
	else
		blm_found(r->to, f->place.display, mended, "its file does not say its name, %s, so "
			  "that a lost catalog could not be made from it", name);
}

/*
 * A file that says another name: another record that means the same file has that name, or a rename
 * was cut short.
 */
static int check_left_behind(struct repair *r, const struct blm_filter *f,
			     const struct blm_info *info, const char *own)
{
	int err = 0;

	if (strcmp(own, info->name) && blm_check_name(own) == 0
	    && blm_store_is(r->store, own, info->uuid) == 1) {
		/* unless it has just been renamed */
		if (blm_store_is(r->store, info->name, info->uuid) != 1)
			return 0;
		if (r->repair)
			err = blm_catalog_remove(r->store->catalog, info->name, info->uuid);
		blm_found(r->to, info->name, r->repair && err == 0,
			  "is one file with %s: the catalog has it twice", own);
		return err == -ENOENT ? 0 : err;
	}
	tell_name(r, f, info->name, own);
	return 0;
}

/* The name and labels in the file's own record, from which a lost catalog would be made. */
static int check_name(struct repair *r, const struct blm_filter *f, const struct blm_info *info)
{
	struct naming_look *look = calloc(1, sizeof(*look));
	char own[BLM_FORMAT_NAME] = "";
	int err = look ? look_at_name(r, current_view(f), info, look)
		: blm_fail(-ENOMEM, "%s: out of memory", r->dir);

	if (err == LEFT_BEHIND) {
		memcpy(own, look->before.name, le32toh(look->before.name_bytes));
		err = check_left_behind(r, f, info, own);
	}
	free(look);
	return err < 0 ? err : 0;
}

/* Whose it is, and who needs it, only its owner knows: so no repair takes it away. */
static void check_mode(const struct repair *r, const struct blm_info *info)
{
	unsigned mode;

	if (!r->anyone && blm_store_file_mode(r->store, info->uuid, &mode) == 0 && mode & S_IWOTH)
		blm_found(r->to, info->name, false, "its file %s has the mode %03o, so every user "
			  "may change what is in it; take that away (chmod o-w), or say that this "
			  "is meant (BLM_VERIFY_ANYONE)", info->path, mode & 0777);
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

static int check_record(void *context, const struct blm_info *info, int err)
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
		char why[1024];

		snprintf(why, sizeof(why), "%s", blm_error_message());
		if (blm_is_damage(err))
			keep_name(r, info);
		if (err == -ENOKEY && blm_store_may_look(r->store, info->key_id))
			blm_found(r->to, info->name, false, "%s", why);
		return err == -EUCLEAN ? mend_record(r, info->name, why) : 0;
	}
	if (r->repair && state_of(load_acquire(&live_of(current_view(f))->state.word)) != BLM_LIVE)
		settle_state(r, info->name);
	err = check_age(r, f, info->name);
	if (err == 0)
		err = check_name(r, f, info);
	blm_close(f);
	return err;
}

/* ---- The whole ---- */

/* Damaged entries of a list are not honoured, so they cause nothing but false positives. */
static int check_lists(struct repair *r)
{
	int damaged = blm_catalog_check_lists(r->store->catalog, r->repair);

	if (damaged > 0)
		blm_found(r->to, r->dir, r->repair, "%d %s damaged on its lists of false positives",
			  damaged, damaged == 1 ? "key is" : "keys are");
	return damaged < 0 ? damaged : 0;
}

static int with_catalog(struct repair *r, bool *ret_lost)
{
	int err;

	r->filters = r->store->filters;
	err = blm_catalog_verify(r->store->catalog);
	if (err == 0)
		err = blm_repair_places(r);
	if (err == 0)
		err = blm_store_list(r->store, NULL, check_record, r);
	/* not one record, which check_record() gets, but the table itself */
	*ret_lost = err == -EUCLEAN;
	if (err == 0)
		err = blm_repair_files(r);
	if (err == 0 && r->doubt)
		err = blm_store_list(r->store, NULL, take_out, r);
	if (err == 0)
		err = check_lists(r);
	if (err == 0 && r->repair)
		err = blm_store_forget_gone(r->store);
	return err;
}

/* Made by another user, root say, it must be theirs who had the old one, or whose folder it is. */
static void give_to(int folder, const char *file, const struct stat *owner, unsigned mode)
{
	int fd = openat(folder, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && fchown(fd, owner->st_uid, owner->st_gid) == 0)
		fchmod(fd, mode);
	if (fd >= 0)
		close(fd);
}

static int make_anew(const char *catalog, const struct repair *r)
{
	int folder = open(catalog, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;
	struct stat above = { 0 }, old = { 0 };
	bool was_there;

	if (folder < 0 || fstat(folder, &above) < 0)
		err = blm_fail(-errno, "%s: %s", catalog, strerror(errno));
	else
		err = 0;
	was_there = err == 0 && fstatat(folder, "data.mdb", &old, AT_SYMLINK_NOFOLLOW) == 0
		&& S_ISREG(old.st_mode);
	if (err == 0)
		err = blm_catalog_make(catalog, r->entries, r->count);
	if (err == 0) {
		give_to(folder, "data.mdb", was_there ? &old : &above,
			was_there ? old.st_mode & 0777 : 0644 | (above.st_mode & 0020));
		give_to(folder, "lock", was_there ? &old : &above, 0644);
	}
	if (folder >= 0)
		close(folder);
	return err;
}

/* Everybody else waits, or gives up, while the catalog is made anew. */
static int without_catalog(struct repair *r, const char *why)
{
	struct blm_catalog_lock lock = { .fd = -1, .queue = -1 };
	char *catalog = NULL, *filters = NULL;
	int err = asprintf(&catalog, "%s/catalog", r->dir) < 0
		|| asprintf(&filters, "%s/filters", r->dir) < 0 ? -ENOMEM : 0;

	r->filters = err ? -1 : open(filters, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->filters < 0)
		err = blm_fail(-errno, "%s: no store of filters there: %s", r->dir,
			       strerror(errno));
	if (err == 0 && r->repair) {
		if (mkdir(catalog, 0755) < 0 && errno != EEXIST)
			err = blm_fail(-errno, "%s: %s", catalog, strerror(errno));
		if (err == 0)
			err = blm_catalog_lock_open(&lock, catalog, true);
		if (err == 0)
			err = blm_catalog_lock(&lock, true);
	}
	if (err == 0)
		err = blm_repair_places(r);
	if (err == 0)
		err = blm_repair_files(r);
	if (err == 0 && r->repair)
		err = make_anew(catalog, r);
	if (err == 0)
		blm_found(r->to, catalog, r->repair, "%s%s", why, r->repair
			  ? " - made anew from the filters' files, without lists of false "
			  "positives (blm_allowlist_add()), which only it had" : "");
	if (lock.fd >= 0)
		blm_catalog_unlock(&lock);
	blm_catalog_lock_close(&lock);
	if (r->filters >= 0)
		close(r->filters);
	free(catalog);
	free(filters);
	return err;
}

/* Once over all of it. shallow: not the filters' data. */
static int look_over(const char *dir, unsigned flags, bool shallow, struct blm_findings *to)
{
	bool repair = flags & BLM_VERIFY_REPAIR;
	struct repair r = { .dir = dir, .repair = repair, .shallow = shallow,
			    .anyone = flags & BLM_VERIFY_ANYONE, .to = to, .filters = -1 };
	int err = flags & BLM_VERIFY_DISTRUST
		? blm_fail(-EUCLEAN, "%s/catalog: damaged in such a way that reading it crashed",
			   dir)
		: blm_store_open(&r.store, dir, (repair ? 0 : BLM_STORE_READ) | BLM_STORE_ANYONE);
	bool lost = err == -EUCLEAN || (err == -ENOENT && repair);

	if (err == 0) {
		err = with_catalog(&r, &lost);
		blm_store_close(r.store);
	}
	if (lost) {
		char why[1024];

		snprintf(why, sizeof(why), "%s", blm_error_message());
		r.store = NULL;
		err = without_catalog(&r, why);
	}
	free(r.entries);
	free(r.broken);
	return err;
}

/* What a repair says is repaired must be: it looks again, and what it finds then is left. */
static int repair_all(const char *dir, unsigned flags, struct blm_findings *to)
{
	int lock, err = lock_repairs(dir, &lock);

	if (err == 0)
		err = look_over(dir, flags, false, to);
	if (err == 0 && to->found && to->found == to->repaired)
		err = look_over(dir, flags & BLM_VERIFY_ANYONE, true, to);
	if (lock >= 0)
		close(lock);
	return err;
}

BLM_API int blm_store_verify(const char *dir, unsigned flags,
			     void (*finding)(void *context, const struct blm_finding *found),
			     void *context)
{
	BLM_INSIDE;
	struct blm_findings findings = { .tell = finding, .context = context };
	int err = blm_must_have(dir, "dir");

	if (err < 0)
		return err;
	err = flags & BLM_VERIFY_ANYONE ? 0 : blm_store_check_modes(dir);
	if (err < 0 && flags & BLM_VERIFY_REPAIR)
		return err;
	if (err < 0)
		blm_found_broken(&findings, dir);
	err = flags & BLM_VERIFY_REPAIR ? repair_all(dir, flags, &findings)
		: look_over(dir, flags, false, &findings);
	return err < 0 ? err : findings.found - findings.repaired;
}
