/*
 * repair.c - check a store: the catalog against the files, and the files against the catalog
 *
 * A whole catalog wins: what it does not know is either a file that a dying process left (nobody was told of it) or a filter
 * that a restored, older catalog lost. The two are told apart by what the file holds; filters that hold keys are kept.
 * Of a lost catalog the files' own name records make a new one.
 */
#include "catalog_lock.h"
#include "store.h"
#include "verify.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct repair {
	const char *dir;
	bool repair;
	struct blm_findings *to;
	struct blm_store *store;	/* NULL: the catalog is lost */
	int filters;
	struct blm_new_entry *entries;	/* of the new catalog */
	size_t count;
};

/* ---- Names for files that have none, or one that is taken ---- */

static bool taken(const struct repair *r, const char *name)
{
	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(r->entries[i].name, name))
			return true;
	return r->store && blm_store_is(r->store, name, (const uint8_t[16]){ 0 }) != -ENOENT;
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

static void choose_name(const struct repair *r, const struct blm_view *view, char ret[BLM_FORMAT_NAME])
{
	struct blm_record *record = calloc(1, sizeof(*record));
	char uuid[BLM_UUID_TEXT];

	blm_uuid_text(view->constant.uuid, uuid);
	ret[0] = '\0';
	if (record && blm_last_record(view->image.header, view->constant.uuid, record)) {
		memcpy(ret, record->name, le32toh(record->name_bytes));
		ret[le32toh(record->name_bytes)] = '\0';
	}
	free(record);
	if (blm_check_name(ret) < 0)
		snprintf(ret, BLM_FORMAT_NAME, "recovered-%.8s", uuid);
	else if (taken(r, ret))
		snprintf(cut(ret, BLM_FORMAT_NAME - 24), 24, ".recovered-%.8s", uuid);
}

/* ---- Files that the catalog does not know ---- */

static bool holds_nothing(const struct blm_view *view)
{
	return load_acquire(&live_of(view)->written.word) == 0 && blm_counted_keys(view) == 0;
}

static bool was_replaced(const struct blm_view *view)
{
	enum blm_state state = state_of(load_acquire(&live_of(view)->state.word));

	return state == BLM_REPLACED || state == BLM_DROPPED;
}

/* Its maker died between the file and the catalog, so nobody was ever told of it. */
static bool was_never_named(const struct blm_view *view)
{
	return state_of(load_acquire(&live_of(view)->state.word)) == BLM_UNNAMED;
}

/* Its replacer died between the catalog and the mark: the name leads to a filter that was made after it. */
static bool was_superseded(const struct repair *r, const struct blm_view *view)
{
	struct blm_record *record = calloc(1, sizeof(*record));
	struct blm_entry *entry = malloc(sizeof(*entry));
	bool superseded = false;

	if (record && entry && state_of(load_acquire(&live_of(view)->state.word)) == BLM_REPLACING
	    && blm_last_record(view->image.header, view->constant.uuid, record)) {
		record->name[le32toh(record->name_bytes)] = '\0';
		superseded = blm_catalog_get(r->store->catalog, (const char *)record->name, entry) == 0
			  && le64toh(entry->constant.created) > le64toh(view->constant.created);
	}
	free(record);
	free(entry);
	return superseded;
}

static int keep(struct repair *r, const struct blm_view *view)
{
	struct blm_new_entry *more = realloc(r->entries, (r->count + 1) * sizeof(*more));

	if (!more)
		return blm_fail(-ENOMEM, "%s: out of memory", r->dir);
	r->entries = more;
	choose_name(r, view, more[r->count].name);
	blm_entry_of(&more[r->count].entry, view->image.header, view->image.bytes);
	if (r->store) {
		int err = blm_catalog_put(r->store->catalog, more[r->count].name, &more[r->count].entry, BLM_PUT_NEW);

		return err < 0 ? err : blm_write_record(r->store, more[r->count].name);
	}
	r->count++;
	return 0;
}

static int delete(struct repair *r, const char *file)
{
	/* whoever left it may be alive after all, and quicker */
	return unlinkat(r->filters, file, 0) < 0 && errno != ENOENT ? blm_fail(-errno, "%s/filters/%s: %s", r->dir, file, strerror(errno)) : 0;
}

/* A file in filters/ that no record of a whole catalog means. */
static int stray(struct repair *r, const char *file, const char *path, const struct blm_view *view)
{
	if (was_replaced(view) || was_superseded(r, view) || was_never_named(view) || holds_nothing(view)) {
		int err = r->repair ? delete(r, file) : 0;

		blm_found(r->to, path, r->repair && err == 0, "left behind by a process that died: it was %s",
			  was_never_named(view) || holds_nothing(view) ? "never used" : "replaced or dropped");
		return err;
	}
	if (r->repair) {
		int err = keep(r, view);

		if (err < 0)
			return err;
	}
	blm_found(r->to, path, r->repair, "a filter with %llu keys that the catalog does not know", (unsigned long long)blm_counted_keys(view));
	return 0;
}

/*
 * Without a catalog every file is a filter, but those marked REPLACED, which is set after the one step. DROPPED is set before
 * it: whoever died in between had dropped nothing.
 */
static int orphan(struct repair *r, const char *file, const char *path, const struct blm_view *view)
{
	bool gone = state_of(load_acquire(&live_of(view)->state.word)) == BLM_REPLACED || (was_replaced(view) && holds_nothing(view));

	if (gone && !blm_ofd_busy(view->image.fd, BLM_LOCK_REPLACE)) {
		int err = r->repair ? delete(r, file) : 0;

		blm_found(r->to, path, r->repair && err == 0, "left behind by a process that died: it was replaced or dropped");
		return err;
	}
	return r->repair ? keep(r, view) : 0;
}

/* ---- Files ---- */

struct look_up {
	const uint8_t *uuid;
	const char *name;
	bool found;
};

static int compare_uuid(void *context, const struct blm_info *info, int err)
{
	struct look_up *l = context;

	if (err == 0 && !memcmp(info->uuid, l->uuid, 16))
		l->found = true;
	return l->found;
}

/*
 * Asked of files that nobody is making, replacing or dropping at this moment, and after that was looked at: a maker enters
 * the file into the catalog before it gives its lock back.
 *
 * The name record is a short cut; a rename cut short leaves another name in it.
 */
static bool known(struct repair *r, const struct blm_view *view)
{
	struct blm_record *record = calloc(1, sizeof(*record));
	struct look_up l = { .uuid = view->constant.uuid };
	char name[BLM_FORMAT_NAME] = "";

	if (record && blm_last_record(view->image.header, view->constant.uuid, record))
		memcpy(name, record->name, le32toh(record->name_bytes));
	free(record);
	if (blm_check_name(name) == 0 && blm_store_is(r->store, name, view->constant.uuid) == 1)
		return true;
	blm_store_list(r->store, NULL, compare_uuid, &l);
	return l.found;
}

static int check_temporary(struct repair *r, const char *file, const char *path)
{
	struct stat st;
	int err;

	if (fstatat(r->filters, file, &st, AT_SYMLINK_NOFOLLOW) < 0 || time(NULL) - st.st_ctime < 3600)
		return 0;	/* somebody may still be at it */
	err = r->repair ? delete(r, file) : 0;
	blm_found(r->to, path, r->repair && err == 0, "a temporary file, left behind by a process that died");
	return err;
}

static int check_file(struct repair *r, const char *file)
{
	struct blm_view *view;
	char *path;
	int fd, err = 0;

	if (asprintf(&path, "%s/filters/%s", r->dir, file) < 0)
		return blm_fail(-ENOMEM, "%s: out of memory", r->dir);
	if (!strncmp(file, ".bloomery-", 10)) {
		err = check_temporary(r, file, path);
		free(path);
		return err;
	}
	fd = openat(r->filters, file, (r->repair ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ENOENT) {
		;	/* dropped or replaced since the folder was listed */
	} else if (fd < 0) {
		blm_found(r->to, path, false, "cannot be opened: %s", strerror(errno));
	} else if (blm_view_make(&view, fd, path, r->repair) < 0) {
		blm_found(r->to, path, false, "%s", blm_why());
	} else {
		char own[BLM_FILE_TEXT];

		blm_uuid_file(view->constant.uuid, own);
		if (strcmp(own, file))
			blm_found(r->to, path, false, "its header says that it is %s", own);
		else if (!r->store)
			err = orphan(r, file, path, view);
		else if (!blm_ofd_busy(view->image.fd, BLM_LOCK_REPLACE) && !known(r, view))
			err = stray(r, file, path, view);
		blm_verify_view(view, path, r->to);
		blm_view_free(view);
	}
	free(path);
	return err;
}

static int check_files(struct repair *r)
{
	int fd = openat(r->filters, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list)
		return blm_fail(-errno, "%s/filters: %s", r->dir, strerror(errno));
	for (struct dirent *e; err == 0 && (e = readdir(list)); )
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			err = check_file(r, e->d_name);
	closedir(list);
	return err;
}

/* ---- Records ---- */

/* The file wins over a record that disagrees; a record without a file goes. */
static int mend_record(struct repair *r, const char *name, int why)
{
	struct blm_new_entry *entry = malloc(sizeof(*entry));
	char file[BLM_FILE_TEXT];
	struct blm_view *view;
	int err = entry ? blm_catalog_get(r->store->catalog, name, &entry->entry) : -ENOMEM, fd = -1;

	if (err == 0) {
		blm_uuid_file(entry->entry.constant.uuid, file);
		fd = openat(r->filters, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (err == -EUCLEAN || (err == 0 && fd < 0 && errno == ENOENT)) {
		err = blm_catalog_remove(r->store->catalog, name, NULL);
	} else if (fd >= 0 && (err = blm_view_make(&view, fd, name, false)) == 0) {
		blm_entry_of(&entry->entry, view->image.header, view->image.bytes);
		err = blm_catalog_put(r->store->catalog, name, &entry->entry, BLM_PUT_OVER);
		blm_view_free(view);
	} else if (err == 0) {
		err = why;
	}
	free(entry);
	return err;
}

static int check_record(void *context, const struct blm_info *info, int err)
{
	struct repair *r = context;
	struct blm_record *record;
	struct blm_filter *f;

	if (err == 0)
		err = blm_open(&f, r->store, info->name, false);
	if (err == -ENOENT)
		return 0;	/* dropped in the meantime */
	if (err == -ENOKEY) {
		blm_found(r->to, info->name, false, "%s", blm_why());
		return 0;
	}
	if (err < 0) {
		char why[1024];

		snprintf(why, sizeof(why), "%s", blm_why());
		/* what is wrong with the file itself is told when its turn comes */
		if (err == -EUCLEAN)
			blm_found(r->to, info->name, r->repair && mend_record(r, info->name, err) == 0, "%s", why);
		return 0;
	}
	record = calloc(1, sizeof(*record));
	if (record && (!blm_last_record(current_view(f)->image.header, info->uuid, record)
		       || le32toh(record->name_bytes) != strlen(info->name)
		       || memcmp(record->name, info->name, strlen(info->name))))
		blm_found(r->to, f->place.shown, r->repair && blm_write_record(r->store, info->name) == 0,
			  "its file does not say its name, %s, so that a lost catalog could not be made from it", info->name);
	free(record);
	blm_close(f);
	return 0;
}

/* ---- The whole ---- */

static int with_catalog(struct repair *r, bool *ret_lost)
{
	int err;

	r->filters = r->store->filters;
	err = blm_store_list(r->store, NULL, check_record, r);
	*ret_lost = err == -EUCLEAN;	/* not one record, which check_record() is told of, but the table itself */
	return err < 0 ? err : check_files(r);
}

/* Everybody else waits, or gives up, while the catalog is made anew. */
static int without_catalog(struct repair *r, const char *why)
{
	struct blm_catalog_lock lock = { .fd = -1 };
	char *catalog = NULL, *filters = NULL;
	int err = asprintf(&catalog, "%s/catalog", r->dir) < 0 || asprintf(&filters, "%s/filters", r->dir) < 0 ? -ENOMEM : 0;

	r->filters = err ? -1 : open(filters, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->filters < 0)
		err = blm_fail(-errno, "%s: no store of filters there: %s", r->dir, strerror(errno));
	if (err == 0 && r->repair) {
		if (mkdir(catalog, 0755) < 0 && errno != EEXIST)
			err = blm_fail(-errno, "%s: %s", catalog, strerror(errno));
		if (err == 0)
			err = blm_catalog_lock_open(&lock, catalog, true);
		if (err == 0)
			err = blm_catalog_lock(&lock, true);
	}
	if (err == 0)
		err = check_files(r);
	if (err == 0 && r->repair)
		err = blm_catalog_make(catalog, r->entries, r->count);
	if (err == 0)
		blm_found(r->to, catalog, r->repair, "%s%s", why, r->repair ? " - made anew from the filters' files" : "");
	if (lock.fd >= 0)
		blm_catalog_unlock(&lock);
	blm_catalog_lock_close(&lock);
	if (r->filters >= 0)
		close(r->filters);
	free(catalog);
	free(filters);
	return err;
}

BLM_API int blm_store_verify(const char *dir, bool repair,
			     void (*finding)(void *context, const struct blm_finding *found), void *context)
{
	struct blm_findings findings = { .tell = finding, .context = context };
	struct repair r = { .dir = dir, .repair = repair, .to = &findings, .filters = -1 };
	int err = blm_store_open(&r.store, dir, repair ? 0 : BLM_STORE_READ);
	bool lost = err == -EUCLEAN || (err == -ENOENT && repair);

	if (err == 0) {
		err = with_catalog(&r, &lost);
		blm_store_close(r.store);
	}
	if (lost) {
		char why[1024];

		snprintf(why, sizeof(why), "%s", blm_why());
		r.store = NULL;
		err = without_catalog(&r, why);
	}
	free(r.entries);
	return err < 0 ? err : findings.found - findings.repaired;
}
