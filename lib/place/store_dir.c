/*
 * store_dir.c - the filters of a store: names, files, and the order in which they appear and
 * disappear
 */
#include "place/store_dir.h"
#include "bloomery.h"
#include "file/mapping.h"
#include "file/ofd_lock.h"
#include "file/os.h"
#include "file/two_slots.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void blm_store_path(const struct blm_store *s, const uint8_t uuid[16], char ret[BLM_PATH_MAX])
{
	char file[BLM_FILE_TEXT];

	blm_uuid_file(uuid, file);
	snprintf(ret, BLM_PATH_MAX, "%s/filters/%s", s->dir, file);
}

int blm_store_no_such(const struct blm_store *s, const char *name, int r)
{
	return r == -ENOENT ? blm_fail(-ENOENT, "%s: no filter of that name in %s; see "
				       "blm_store_list()", name, s->dir) : r;
}

bool blm_store_constant(int fd, struct blm_constant *ret)
{
	return blm_read_at(fd, ret, sizeof(*ret), 0) == (int64_t)sizeof(*ret)
		&& !memcmp(ret->magic, BLM_MAGIC, 8)
	    && ret->check == blm_check_constant(ret);
}

bool blm_store_is_another(int fd, const uint8_t uuid[16])
{
	struct blm_constant c;

	return blm_store_constant(fd, &c) && memcmp(c.uuid, uuid, 16);
}

/* The file must be the one that the catalog means: page 0 identifies it. */
static int check_file(struct blm_store *s, const char *name, int fd, const struct blm_entry *entry)
{
	char file[BLM_FILE_TEXT], own[BLM_FILE_TEXT];
	struct blm_constant c;

	if (!blm_store_constant(fd, &c))
		return 0;	/* mapping it reports the fault, better than we can */
	if (memcmp(c.uuid, entry->constant.uuid, 16)) {
		blm_uuid_file(entry->constant.uuid, file);
		blm_uuid_file(c.uuid, own);
		return blm_fail(-EUCLEAN, "%s (%s): its file filters/%s belongs to another "
				"filter, %s by its header; repair the store with "
				"blm_store_verify()", name,
				s->dir, file, own);
	}
	if (!memcmp(&c.template, &entry->constant.template, sizeof(c.template)))
		return 0;
	return blm_fail(-EUCLEAN, "%s (%s): the catalog and the filter's file disagree on its "
			"parameters; repair the store with blm_store_verify()", name, s->dir);
}

/*
 * As blm_store_check_modes(): any user could make a world-writable filter deny keys, or claim them.
 */
static int check_file_mode(const struct blm_store *s, const char *name, unsigned mode)
{
	return s->anyone || !(mode & S_IWOTH) ? 0
		: blm_fail(-EPERM, "%s (%s): its file has the mode %03o, so every user may change "
			   "what is in it; chmod o-w it, or allow that (BLM_STORE_ANYONE)",
			   name, s->dir, mode & 0777);
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

	if (r == 0 && blm_catalog_get(s->catalog, name, entry) == 0
	    && blm_store_file_mode(s, entry->constant.uuid, &mode) == 0)
		r = check_file_mode(s, name, mode);
	free(entry);
	return r;
}

int blm_store_open_file(struct blm_store *s, const char *name, bool write,
			struct blm_told *ret_told)
{
	char file[BLM_FILE_TEXT];
	struct blm_entry *entry = malloc(sizeof(*entry));
	struct stat st;
	int r = -ENOENT, fd = -1;

	if (!entry)
		return blm_fail(-ENOMEM, "%s: out of memory", name);
	/*
	 * between look-up and opening the file may be replaced, and the old one deleted: then the
	 * name says the new one
	 */
	for (int tries = 0; tries < 100 && fd < 0; tries++) {
		r = blm_store_no_such(s, name, blm_catalog_get(s->catalog, name, entry));
		if (r < 0)
			break;
		blm_uuid_file(entry->constant.uuid, file);
		fd = openat(s->filters, file, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW
			    | O_NONBLOCK | O_NOCTTY);
		if (fd >= 0) {
			r = fstat(fd, &st) < 0 ? blm_fail(-errno, "%s: %s", name, strerror(errno))
				: check_file_mode(s, name, st.st_mode);
			if (r == 0)
				r = check_file(s, name, fd, entry);
		} else if (errno == ENOENT) {
			r = blm_fail(-EUCLEAN, "%s (%s): its file filters/%s is missing; repair "
				     "the store with blm_store_verify()",
				     name, s->dir, file);
		} else {
			r = blm_fail(-errno, "%s (%s): cannot open filters/%s for %s: %s", name,
				     s->dir, file,
				     write ? "writing" : "reading", strerror(errno));
			break;
		}
	}
	if (r == 0 && ret_told)
		*ret_told = (struct blm_told){ entry->epoch, entry->keys, entry->synced };
	free(entry);
	if (r < 0 && fd >= 0)
		close(fd);
	return r < 0 ? r : fd;
}

int blm_store_is(struct blm_store *s, const char *name, const uint8_t uuid[16])
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	int r = entry ? blm_catalog_get(s->catalog, name, entry)
		: blm_fail(-ENOMEM, "%s: out of memory", name);

	if (r == 0)
		r = !memcmp(entry->constant.uuid, uuid, 16);
	free(entry);
	return r;
}

/* A store whose path stayed relative is found by its folder, whatever that is called now. */
int blm_store_stat(const struct blm_store *s, const uint8_t uuid[16], struct stat *ret)
{
	char file[BLM_FILE_TEXT], path[BLM_PATH_MAX];

	blm_uuid_file(uuid, file);
	if (*s->path != '/')
		return fstatat(s->filters, file, ret, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
	if ((size_t)snprintf(path, sizeof(path), "%s/filters/%s", s->path, file) >= sizeof(path))
		return -ENAMETOOLONG;
	return lstat(path, ret) < 0 ? -errno : 0;
}

int blm_store_new(struct blm_store *s, const char *name, unsigned mode, struct blm_new_file *ret)
{
	char display[512];
	int folder, r = check_file_mode(s, name, mode);

	if (r < 0)
		return r;
	if (!s->write)
		return blm_fail(-EROFS, "%s: the store was opened for reading only", s->dir);
	folder = fcntl(s->filters, F_DUPFD_CLOEXEC, 0);
	if (folder < 0)
		return blm_fail(-errno, "%s: %s", s->dir, strerror(errno));
	snprintf(display, sizeof(display), "%.256s (%.200s)", name, s->dir);
	return blm_new_file(ret, folder, display, mode);
}

void blm_entry_of(struct blm_entry *ret, const struct blm_header *header, uint64_t file_bytes)
{
	struct blm_sync_record last = { 0 };
	struct blm_record record;

	blm_last_sync(&header->live, header->constant.uuid, &last);
	*ret = (struct blm_entry){ .constant = header->constant, .file_bytes = file_bytes,
				   .keys_estimated = load_relaxed(&header->live.inexact.word) != 0,
				   .epoch = le64toh(last.epoch), .synced = le64toh(last.time) };
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
 * On the disk too, before the maker says that it is made: a file that says UNNAMED is then one
 * whose maker never reported success (orphans.c). A failure makes it suspect, so that the next sync
 * writes all of it.
 */
static void say_named(struct blm_header *header)
{
	store_release(&header->live.state.word, BLM_STATE_NAMED);
	/* from the beginning of the map, because pages may be larger than ours */
	if (msync(header, 2 * BLM_PAGE, MS_SYNC) < 0)
		store_release(&header->live.failed.word, load_acquire(&header->live.epoch.word));
}

/* A label that came while the new file was made is in the catalog, and its own record follows. */
static void follow_labels(struct blm_header *header, const char *name,
			  const struct blm_entry *entry)
{
	struct blm_record record;

	if (blm_last_record(header, header->constant.uuid, &record)
	    && le32toh(record.labels_bytes) == entry->labels_bytes
	    && !memcmp(record.labels, entry->labels, entry->labels_bytes))
		return;
	memset(&record, 0, sizeof(record));
	record.name_bytes = htole32((uint32_t)strlen(name));
	record.labels_bytes = htole32(entry->labels_bytes);
	memcpy(record.name, name, strlen(name));
	memcpy(record.labels, entry->labels, entry->labels_bytes);
	blm_next_record(header, header->constant.uuid, &record);
	/* if that fails, a power cut may leave the state that `verify` reports */
	msync(header, sizeof(*header), MS_SYNC);
}

struct naming {
	const char *name, *linked;
	struct blm_new_file *file;
	struct blm_entry *entry;
	const struct blm_handover *over;
};

/*
 * A process that a signal ends in between takes the file back first; also while it waits for the
 * catalog's lock, because the wait ends then (catalog/flock.c).
 */
static int name_file(struct blm_store *s, const struct naming *n)
{
	sigset_t before;
	int r;

	blm_hold_end(&before);
	r = blm_new_file_name(n->file, n->linked, BLM_NOT_OVER, n->name);
	if (r == 0) {
		r = n->over ? blm_catalog_replace(s->catalog, n->name, n->over, n->entry)
			: blm_catalog_put(s->catalog, n->name, n->entry, BLM_PUT_NEW);
		if (r < 0)
			blm_new_file_take_back(n->file, n->linked);
		if (r < 0 && blm_end_came())
			blm_new_file_unname(n->file);
	}
	blm_let_end(&before);
	return r;
}

/*
 * The file first, then the catalog: a crash in between leaves a file without a name, marked as
 * such. No key in it was acknowledged, and `verify --repair` deletes it. In that state a lock on
 * the file distinguishes a living maker from a dead one. After the commit the file is the filter,
 * whatever its mark says, as with every mark that a dead process leaves.
 */
int blm_store_put(struct blm_store *s, const char *name, struct blm_new_file *file,
		  struct blm_header *header, const struct blm_handover *over)
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	char linked[BLM_FILE_TEXT];
	struct stat st;
	int r = over ? 0 : blm_check_new_name(name);

	if (r < 0) {
		free(entry);
		return r;
	}
	r = entry ? blm_ofd_lock(file->fd, BLM_LOCK_REPLACE, false)
		: blm_fail(-ENOMEM, "%s: out of memory", name);
	if (r == 0 && fstat(file->fd, &st) < 0)
		r = blm_fail(-errno, "%s: %s", name, strerror(errno));
	if (r == 0) {
		store_release(&header->live.state.word, BLM_UNNAMED);
		blm_uuid_file(header->constant.uuid, linked);
		blm_entry_of(entry, header, (uint64_t)st.st_size);
		r = blm_new_file_sync(file, name);
	}
	if (r == 0)
		r = blm_ofd_lock(file->fd, BLM_LOCK_SYNC, true);	/* not shared yet */
	if (r == 0)
		r = name_file(s, &(struct naming){ name, linked, file, entry, over });
	if (r == 0)
		follow_labels(header, name, entry);
	if (r == 0)
		say_named(header);
	blm_ofd_unlock(file->fd, BLM_LOCK_SYNC);
	blm_ofd_unlock(file->fd, BLM_LOCK_REPLACE);
	free(entry);
	return r;
}

/* Is it deleted for good? The process that deleted it may have died before it synced the folder. */
static bool is_there(void *store, const uint8_t uuid[16])
{
	const struct blm_store *s = store;
	char file[BLM_FILE_TEXT];

	blm_uuid_file(uuid, file);
	return faccessat(s->filters, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT
		|| fsync(s->filters) < 0;
}

int blm_store_forget_gone(struct blm_store *s)
{
	return blm_catalog_forget_gone(s->catalog, is_there, s);
}

void blm_store_forget(struct blm_store *s, const uint8_t uuid[16])
{
	enum { AT_ONCE = 64 };		/* notes of the catalog that go, in one transaction */
	char file[BLM_FILE_TEXT], claims[BLM_FILE_TEXT + 10];
	bool another;
	int gone, fd;

	blm_uuid_file(uuid, file);
	fd = openat(s->filters, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	another = fd >= 0 && blm_store_is_another(fd, uuid);
	if (fd >= 0)
		close(fd);
	if (another || unlinkat(s->filters, file, 0) < 0 || fsync(s->filters) < 0)
		return;		/* `verify` finds the file */
	snprintf(claims, sizeof(claims), "../claims/%s", file);
	unlinkat(s->filters, claims, 0);	/* if that fails, `verify` finds it */
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
	entry->epoch = s->epoch;
	entry->file_bytes = s->file_bytes;
	entry->data_bytes = s->data_bytes;
	return 1;
}

int blm_store_synced(struct blm_store *s, const char *name, const struct blm_synced *what)
{
	int r = blm_catalog_change(s->catalog, name, set_synced, (void *)what);

	return r == -ENOENT ? 0 : r;	/* renamed or dropped in the meantime: no message */
}
