/* store.c - a directory of filters: names, files, and the order in which they appear and go */
#include "store/store.h"
#include "bloomery.h"
#include "catalog/lock.h"
#include "file/image.h"
#include "file/lock.h"
#include "file/system.h"
#include "info.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Opening ---- */

static char *inside(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

/* A new folder's name is on the disk before anything is put into it; as far as we may look at the folder above. */
static int make_folder(const char *path, mode_t mode)
{
	char *above;
	int fd, r = 0;

	if (mkdir(path, mode) < 0)
		return errno == EEXIST ? 0 : blm_fail(-errno, "%s: cannot make the folder: %s", path, strerror(errno));
	above = inside(path, "..");
	fd = above ? open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	free(above);
	if (fd >= 0) {
		if (fsync(fd) < 0 && errno != EINVAL)
			r = blm_fail(-errno, "%s: writing the folder that it is in failed: %s", path, strerror(errno));
		close(fd);
	}
	return r;
}

/* The folders above it too. */
static int make_folders(const char *dir)
{
	char *path = strdup(dir);
	int r = path ? 0 : blm_fail(-ENOMEM, "%s: out of memory", dir);

	for (char *slash = path ? strchr(path + 1, '/') : NULL; r == 0 && slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		r = make_folder(path, 0755);
		*slash = '/';
	}
	free(path);
	return r < 0 ? r : make_folder(dir, 0755);
}

static int make_store(const char *dir)
{
	static const struct { const char *name; mode_t mode; } folders[] = { { "catalog", 0755 }, { "filters", 0755 }, { "keys", 0700 } };
	int r = make_folders(dir);

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(folders); i++) {
		char *path = inside(dir, folders[i].name);

		r = path ? make_folder(path, folders[i].mode) : blm_fail(-ENOMEM, "%s: out of memory", dir);
		free(path);
	}
	return r;
}

/*
 * An empty catalog is made only for a store without filters: where there are files and no catalog, it was lost. Under the
 * catalog's lock, since several processes may be making one store.
 */
static int make_catalog(const char *folder, int filters)
{
	struct blm_catalog_lock lock = { .fd = -1, .gate = -1 };
	char *data = inside(folder, "data.mdb");
	struct stat st;
	int r = data ? blm_catalog_lock_open(&lock, folder, true) : blm_fail(-ENOMEM, "%s: out of memory", folder);

	if (r == 0)
		r = blm_catalog_lock(&lock, true);
	if (r == 0) {
		if ((stat(data, &st) < 0 || st.st_size == 0) && blm_folder_is_empty(filters))
			r = blm_catalog_make(folder, NULL, 0);
		blm_catalog_unlock(&lock);
	}
	blm_catalog_lock_close(&lock);
	free(data);
	return r;
}

bool blm_folder_is_empty(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	bool empty = list != NULL;

	errno = 0;
	for (struct dirent *e; empty && (e = readdir(list)); )
		empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	empty = empty && !errno;	/* what cannot be listed is not empty */
	if (list)
		closedir(list);
	else if (fd >= 0)
		close(fd);
	return empty;
}

static int open_folder(const char *dir, const char *name, int *ret)
{
	char *path = inside(dir, name);

	if (!path)
		return blm_fail(-ENOMEM, "%s: out of memory", dir);
	*ret = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(path);
	if (*ret >= 0)
		return 0;
	if (errno == ENOENT || errno == ENOTDIR)
		return blm_fail(-ENOENT, "%s: no store of filters there (there is no %s/%s)", dir, dir, name);
	return blm_fail(-errno, "%s/%s: %s", dir, name, strerror(errno));
}

static int check_mode(int top, const char *dir, const char *name)
{
	struct stat st;

	if (fstatat(top, *name ? name + 1 : ".", &st, 0) == 0 && st.st_mode & S_IWOTH)
		return blm_fail(-EPERM, "%s%s: every user may write there, and put other filters in the place of yours; chmod o-w it, or say that "
				"this is meant (--anyone)", dir, name);
	return 0;
}

/* What everybody may change is nobody's store. The sticky bit does not help: names are changed by adding to the catalog. */
static int check_modes(const char *dir)
{
	static const char *const parts[] = { "", "/filters", "/keys", "/catalog", "/catalog/data.mdb" };
	int top = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), r = 0;

	for (size_t i = 0; top >= 0 && r == 0 && i < ARRAY_LEN(parts); i++)
		r = check_mode(top, dir, parts[i]);
	if (top >= 0)
		close(top);
	return r;
}

/* Not known where it may not be looked into. */
static bool has_no_keys(const struct blm_store *s)
{
	return s->keys < 0 ? s->keys_errno == ENOENT : blm_folder_is_empty(s->keys);
}

/* Where nothing is in filters/, nor a secret in keys/, no catalog is lost: who was making the store, and failed or was killed, did not come to it. */
static int without_catalog(const struct blm_store *s, const char *dir, int r)
{
	struct stat st;
	int top = r == -EUCLEAN ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	if (top >= 0) {
		if (fstatat(top, "catalog/data.mdb", &st, 0) < 0 && errno == ENOENT && blm_folder_is_empty(s->filters)
		    && has_no_keys(s))
			r = blm_fail(-ENOENT, "%s: no store of filters yet: its making did not come to an end; `bloomery create` goes on with it",
				     dir);
		close(top);
	}
	return r;
}

static int open_store(struct blm_store *s, const char *dir, unsigned flags)
{
	char *catalog = inside(dir, "catalog");
	int r = catalog ? 0 : blm_fail(-ENOMEM, "%s: out of memory", dir);

	s->write = !(flags & BLM_STORE_READ);
	s->anyone = flags & BLM_STORE_ANYONE;
	if (r == 0 && flags & BLM_STORE_CREATE)
		r = make_store(dir);
	if (r == 0)
		r = open_folder(dir, "filters", &s->filters);
	if (r == 0 && !s->anyone)
		r = check_modes(dir);
	if (r == 0)
		s->keys_errno = -open_folder(dir, "keys", &s->keys);	/* its keyed filters cannot be read, the others can */
	if (r == 0 && flags & BLM_STORE_CREATE)
		r = make_catalog(catalog, s->filters);
	if (r == 0)
		r = without_catalog(s, dir, blm_catalog_open(&s->catalog, catalog, s->write));
	free(catalog);
	return r;
}

BLM_API int blm_store_open(struct blm_store **ret, const char *dir, unsigned flags)
{
	struct blm_store *s = calloc(1, sizeof(*s));
	int r;

	if (!s || !(s->dir = strdup(dir))) {
		free(s);
		return blm_fail(-ENOMEM, "%s: out of memory", dir);
	}
	atomic_init(&s->references, 1);
	s->filters = s->keys = -1;
	r = open_store(s, dir, flags);
	if (r < 0)
		blm_store_close(s);
	else
		*ret = s;
	return r;
}

void blm_store_path(const struct blm_store *s, const uint8_t uuid[16], char ret[BLM_PATH_MAX])
{
	char file[BLM_FILE_TEXT];

	blm_uuid_file(uuid, file);
	snprintf(ret, BLM_PATH_MAX, "%s/filters/%s", s->dir, file);
}

struct blm_store *blm_store_hold(struct blm_store *s)
{
	atomic_fetch_add(&s->references, 1);
	return s;
}

BLM_API struct blm_store *blm_store_close(struct blm_store *s)
{
	if (!s || atomic_fetch_sub(&s->references, 1) != 1)
		return NULL;
	blm_catalog_close(s->catalog);
	if (s->filters >= 0)
		close(s->filters);
	if (s->keys >= 0)
		close(s->keys);
	free(s->dir);
	free(s);
	return NULL;
}

BLM_API const char *blm_store_dir(const struct blm_store *store)
{
	return store->dir;
}

/* ---- Places in a store ---- */

static int no_such(const struct blm_store *s, const char *name, int r)
{
	return r == -ENOENT ? blm_fail(-ENOENT, "%s: no filter of that name in %s; see `bloomery ls`", name, s->dir) : r;
}

/* The file must be the one that the catalog means: page 0 says what it is. */
static int check_file(struct blm_store *s, const char *name, int fd, const struct blm_entry *entry)
{
	struct blm_constant c;

	if (blm_read_at(fd, &c, sizeof(c), 0) != (int64_t)sizeof(c) || memcmp(c.magic, BLM_MAGIC, 8) || c.check != blm_check_constant(&c))
		return 0;	/* whoever maps it says what is wrong, better than we can */
	if (!memcmp(c.uuid, entry->constant.uuid, 16) && !memcmp(&c.template, &entry->constant.template, sizeof(c.template)))
		return 0;
	return blm_fail(-EUCLEAN, "%s (%s): the catalog and the filter's file disagree on what it is; `bloomery verify --repair` "
			"makes the catalog follow the file", name, s->dir);
}

/* As check_modes(): a filter that everybody may change may be made to deny keys, or to claim them. */
static int check_file_mode(const struct blm_store *s, const char *name, unsigned mode)
{
	return s->anyone || !(mode & S_IWOTH) ? 0
		: blm_fail(-EPERM, "%s (%s): its file has the mode %03o, so every user may change what is in it; take that away (chmod o-w), or say "
			   "that this is meant (--anyone)", name, s->dir, mode & 0777);
}

int blm_store_file_mode(const struct blm_store *s, const uint8_t uuid[16], unsigned *ret)
{
	char file[BLM_FILE_TEXT];
	struct stat st;

	blm_uuid_file(uuid, file);
	if (fstatat(s->filters, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*ret = st.st_mode;
	return 0;
}

int blm_store_check_mode(struct blm_store *s, const char *name)
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	unsigned mode;
	int r = entry ? 0 : blm_fail(-ENOMEM, "%s: out of memory", name);

	if (r == 0 && blm_catalog_get(s->catalog, name, entry) == 0 && blm_store_file_mode(s, entry->constant.uuid, &mode) == 0)
		r = check_file_mode(s, name, mode);
	free(entry);
	return r;
}

int blm_store_open_file(struct blm_store *s, const char *name, bool write)
{
	char file[BLM_FILE_TEXT];
	struct blm_entry *entry = malloc(sizeof(*entry));
	struct stat st;
	int r = -ENOENT, fd = -1;

	if (!entry)
		return blm_fail(-ENOMEM, "%s: out of memory", name);
	/* between look-up and opening the file may be replaced, and the old one deleted: then the name says the new one */
	for (int tries = 0; tries < 100 && fd < 0; tries++) {
		r = no_such(s, name, blm_catalog_get(s->catalog, name, entry));
		if (r < 0)
			break;
		blm_uuid_file(entry->constant.uuid, file);
		fd = openat(s->filters, file, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
		if (fd >= 0) {
			r = fstat(fd, &st) < 0 ? blm_fail(-errno, "%s: %s", name, strerror(errno)) : check_file_mode(s, name, st.st_mode);
			if (r == 0)
				r = check_file(s, name, fd, entry);
		} else if (errno == ENOENT) {
			r = blm_fail(-EUCLEAN, "%s (%s): its file filters/%s is missing; `bloomery verify --repair` mends the catalog",
				     name, s->dir, file);
		} else {
			r = blm_fail(-errno, "%s (%s): cannot open filters/%s for %s: %s", name, s->dir, file,
				     write ? "writing" : "reading", strerror(errno));
			break;
		}
	}
	free(entry);
	if (r < 0 && fd >= 0)
		close(fd);
	return r < 0 ? r : fd;
}

int blm_store_is(struct blm_store *s, const char *name, const uint8_t uuid[16])
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	int r = entry ? blm_catalog_get(s->catalog, name, entry) : blm_fail(-ENOMEM, "%s: out of memory", name);

	if (r == 0)
		r = !memcmp(entry->constant.uuid, uuid, 16);
	free(entry);
	return r;
}

int blm_store_new(struct blm_store *s, const char *name, unsigned mode, struct blm_new_file *ret)
{
	char shown[512];
	int folder, r = check_file_mode(s, name, mode);

	if (r < 0)
		return r;
	if (!s->write)
		return blm_fail(-EROFS, "%s: the store was opened for reading only", s->dir);
	folder = fcntl(s->filters, F_DUPFD_CLOEXEC, 0);
	if (folder < 0)
		return blm_fail(-errno, "%s: %s", s->dir, strerror(errno));
	snprintf(shown, sizeof(shown), "%.256s (%.200s)", name, s->dir);
	return blm_new_file(ret, folder, shown, mode);
}

void blm_entry_of(struct blm_entry *ret, const struct blm_header *header, uint64_t file_bytes)
{
	struct blm_record record;

	*ret = (struct blm_entry){ .constant = header->constant, .file_bytes = file_bytes,
				   .keys_estimated = load_relaxed(&header->live.inexact.word) != 0 };
	for (uint64_t i = 0; i < load_acquire(&header->live.parts.word) && i < BLM_PARTS_MAX; i++)
		ret->data_bytes += le64toh(header->part[i].bytes);
	for (int i = 0; i < BLM_STRIPES; i++)
		ret->keys += load_relaxed(&header->stripe[i].keys);
	if (blm_last_record(header, header->constant.uuid, &record)) {
		ret->labels_bytes = le32toh(record.labels_bytes);
		memcpy(ret->labels, record.labels, ret->labels_bytes);
	}
}

/*
 * On the disk too, before the maker says that it is made: a file that says UNNAMED is then one that nobody was told of (stray.c). A
 * failure makes it suspect, so that the next sync writes all of it.
 */
static void say_named(struct blm_header *header)
{
	store_release(&header->live.state.word, BLM_STATE_NAMED);
	if (msync(header, 2 * BLM_PAGE, MS_SYNC) < 0)	/* from where the map begins, as pages may be larger than ours */
		store_release(&header->live.failed.word, load_acquire(&header->live.epoch.word));
}

struct naming {
	const char *name, *linked;
	struct blm_new_file *file;
	struct blm_entry *entry;
	const struct blm_yielding *over;
};

/*
 * Who is to end by a signal in between takes the file back first; also where the catalog is locked by others, for which waiting ends then
 * (catalog/lock.c).
 */
static int name_file(struct blm_store *s, const struct naming *n)
{
	sigset_t before;
	int r;

	blm_hold_end(&before);
	r = blm_new_file_name(n->file, n->linked, BLM_NOT_OVER, n->name);
	if (r == 0) {
		r = n->over ? blm_catalog_replace(s->catalog, n->name, n->over, n->entry) : blm_catalog_put(s->catalog, n->name, n->entry, BLM_PUT_NEW);
		if (r < 0)
			blm_new_file_take_back(n->file, n->linked);
		if (r < 0 && blm_end_came())
			blm_new_file_unname(n->file);
	}
	blm_let_end(&before);
	return r;
}

/*
 * The file first, then the catalog: a crash in between leaves a file without a name, marked as such, which holds nothing that
 * anybody was told of, and which `verify --repair` deletes. While it is so, a lock on the file tells a living maker from a
 * dead one. After the commit it is the filter, whatever its mark says, as with every mark that a dead process leaves.
 */
int blm_store_put(struct blm_store *s, const char *name, struct blm_new_file *file, struct blm_header *header, const struct blm_yielding *over)
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	char linked[BLM_FILE_TEXT];
	struct stat st;
	int r = entry ? blm_ofd_lock(file->fd, BLM_LOCK_REPLACE, false) : blm_fail(-ENOMEM, "%s: out of memory", name);

	if (r == 0 && fstat(file->fd, &st) < 0)
		r = blm_fail(-errno, "%s: %s", name, strerror(errno));
	if (r == 0) {
		store_release(&header->live.state.word, BLM_UNNAMED);
		blm_uuid_file(header->constant.uuid, linked);
		blm_entry_of(entry, header, (uint64_t)st.st_size);
		r = blm_new_file_sync(file, name);
	}
	if (r == 0)
		r = name_file(s, &(struct naming){ name, linked, file, entry, over });
	if (r == 0)
		say_named(header);
	blm_ofd_unlock(file->fd, BLM_LOCK_REPLACE);
	free(entry);
	return r;
}

/* Deleted for good? Whoever deleted it may not have got as far as writing that to the disk. */
static bool is_there(void *store, const uint8_t uuid[16])
{
	const struct blm_store *s = store;
	char file[BLM_FILE_TEXT];

	blm_uuid_file(uuid, file);
	return faccessat(s->filters, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT || fsync(s->filters) < 0;
}

int blm_store_forget_gone(struct blm_store *s)
{
	return blm_catalog_forget_gone(s->catalog, is_there, s);
}

void blm_store_forget(struct blm_store *s, const uint8_t uuid[16])
{
	enum { AT_ONCE = 64 };		/* notes of the catalog that go, in one transaction */
	char file[BLM_FILE_TEXT];
	int gone;

	blm_uuid_file(uuid, file);
	if (unlinkat(s->filters, file, 0) < 0 || fsync(s->filters) < 0)
		return;		/* `verify` finds the file */
	gone = blm_catalog_count_gone(s->catalog);
	if (gone > 0 && gone % AT_ONCE == 0)
		blm_store_forget_gone(s);
}

static int set_synced(struct blm_entry *entry, void *context)
{
	const struct blm_synced *s = context;

	if (memcmp(entry->constant.uuid, s->uuid, 16))
		return 0;	/* replaced in the meantime */
	entry->keys = s->keys;
	entry->keys_estimated = s->estimated;
	entry->synced = s->time;
	entry->file_bytes = s->file_bytes;
	entry->data_bytes = s->data_bytes;
	return 1;
}

int blm_store_synced(struct blm_store *s, const char *name, const struct blm_synced *what)
{
	int r = blm_catalog_change(s->catalog, name, set_synced, (void *)what);

	return r == -ENOENT ? 0 : r;	/* renamed or dropped in the meantime: nothing to tell */
}

/* ---- Finding and listing ---- */

BLM_API int blm_store_find(struct blm_store *s, const char *name, struct blm_info *ret)
{
	struct blm_entry *entry;
	int r = blm_check_name(name);

	if (r < 0)
		return r;
	entry = malloc(sizeof(*entry));
	r = entry ? no_such(s, name, blm_catalog_get(s->catalog, name, entry)) : blm_fail(-ENOMEM, "%s: out of memory", name);
	if (r == 0)
		r = blm_info_of_entry(ret, name, entry);
	if (r == 0)
		blm_store_path(s, ret->uuid, ret->path);
	free(entry);
	return r;
}

BLM_API int blm_store_list(struct blm_store *s, const char *pattern,
			   int (*each)(void *context, const struct blm_info *info, int err), void *context)
{
	struct { char name[BLM_FORMAT_NAME]; struct blm_entry entry; struct blm_info info; } *at = calloc(1, sizeof(*at));
	int r = at ? 0 : blm_fail(-ENOMEM, "%s: out of memory", s->dir), err;

	if (r == 0)
		r = blm_catalog_verify(s->catalog);	/* all of it is gone through: at opening a large one was not */
	while (r == 0) {
		err = blm_catalog_next(s->catalog, at->name, at->name, &at->entry);
		if (err == -ENOENT)
			break;
		if (err < 0) {
			r = err;
			break;
		}
		err = err == 1 ? -EUCLEAN : 0;
		if (pattern && fnmatch(pattern, at->name, 0))
			continue;
		memset(&at->info, 0, sizeof(at->info));
		if (err == 0)
			err = blm_info_of_entry(&at->info, at->name, &at->entry);
		strcpy(at->info.name, at->name);
		if (err == 0)
			blm_store_path(s, at->info.uuid, at->info.path);
		r = each(context, &at->info, err);
	}
	free(at);
	return r;
}
