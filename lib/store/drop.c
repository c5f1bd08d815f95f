/*
 * drop.c - a name and its file go, and open handles notice it: the protocol is that of replace.c
 */
#include "file/os.h"
#include "make/replace.h"
#include "place/store_dir.h"

#include <fcntl.h>
#include <unistd.h>

/*
 * Mark, commit, delete: a handle that sees the mark looks the name up, and it is gone; or it is
 * not, and the mark means nothing.
 */
static int drop(const struct blm_place *place, struct blm_view *view)
{
	int r = blm_announce(place, view, BLM_DROPPED);

	if (r == 0) {
		r = blm_catalog_drop(place->store->catalog, place->name, view->constant.uuid);
		if (r == 0) {
			blm_store_forget(place->store, view->constant.uuid);
			blm_store_lose_secret(place->store, view->constant.template.key_id);
		} else {
			set_state(view, BLM_LIVE);
		}
	}
	return r;
}

static int drop_opened(struct blm_filter *f)
{
	BLM_CRITICAL_SECTION;
	struct blm_view *view;
	int r = blm_lock_current(f, &view);

	if (r < 0)
		return r;
	r = drop(&f->place, view);
	blm_unlock_exclusive(&view->lock, view->image.fd);
	return r;
}

/*
 * Tells the handles that have it open that it is dropped, which takes no secret. Return: 1: it was
 * replaced in the meantime.
 */
static int drop_locked_up(const struct blm_place *place)
{
	struct blm_view *view;
	int fd = blm_place_open(place, true, NULL), r = fd < 0 ? fd
		: blm_view_make(&view, fd, place->display, true);

	if (r < 0)
		return r;
	r = blm_lock_out(view, view->image.fd);
	if (r == 0) {
		r = blm_place_is(place, view->image.device, view->image.inode, view->constant.uuid);
		if (r >= 0)
			r = r ? drop(place, view) : 1;
		else if (r == -ENOENT)
			r = blm_fail(r, "%s: no such filter any more", place->display);
		blm_unlock_exclusive(&view->lock, view->image.fd);
	}
	blm_view_free(view);
	return r;
}

static int drop_without_secret(struct blm_store *store, const char *name)
{
	struct blm_place place;
	int r = blm_place_set(&place, store, name);

	if (r < 0)
		return r;
	do
		r = drop_locked_up(&place);
	while (r == 1);
	blm_place_clear(&place);
	return r;
}

/*
 * A handle that was opened before the file was damaged, or made by a newer program, notices it all
 * the same: the place of the state in a file of this version is known, whatever the damage.
 */
struct unopened {
	/* -1: there is none, or it is no filter of this version, or another one */
	int fd;
	/*
	 * Threads that are present (presence.h) are not excluded, as nothing is mapped: their
	 * claims came before the drop. The next ones see the state.
	 */
	struct blm_lock lock;
};

static void set_unopened(const struct unopened *u, enum blm_state state)
{
	const uint64_t at = offsetof(struct blm_header, live) + offsetof(struct blm_live, state);
	uint64_t word = 0;

	if (u->fd < 0 || blm_read_at(u->fd, &word, sizeof(word), at) != (int64_t)sizeof(word))
		return;
	word = htole64(((le64toh(word) >> 8) + 1) << 8 | state);
	if (blm_write_at(u->fd, &word, sizeof(word), at) < 0)
		return;		/* then it goes as a file that is lost does */
}

static void begin_unopened(struct unopened *u, const struct blm_store *store,
			   const uint8_t uuid[16])
{
	char file[BLM_FILE_TEXT];
	struct blm_constant c;

	blm_uuid_file(uuid, file);
	blm_lock_init(&u->lock);
	u->fd = openat(store->filters, file,
		       O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (u->fd >= 0 && (pread(u->fd, &c, sizeof(c), 0) != sizeof(c)
			   || memcmp(c.magic, BLM_MAGIC, sizeof(c.magic))
			   || le32toh(c.version) != BLM_FORMAT_VERSION
			   || blm_store_is_another(u->fd, uuid)
			   || blm_lock_exclusive(&u->lock, u->fd) < 0)) {
		close(u->fd);
		u->fd = -1;
	}
}

static void end_unopened(struct unopened *u)
{
	if (u->fd >= 0) {
		blm_unlock_exclusive(&u->lock, u->fd);
		close(u->fd);
	}
	blm_lock_destroy(&u->lock);
}

static int drop_damaged(struct blm_store *store, const char *name, const uint8_t uuid[16])
{
	struct unopened file;
	int r;

	begin_unopened(&file, store, uuid);
	set_unopened(&file, BLM_DROPPED);
	r = blm_catalog_drop(store->catalog, name, uuid);
	if (r == 0)
		blm_store_forget(store, uuid);
	else
		set_unopened(&file, BLM_LIVE);
	end_unopened(&file);
	return r;
}

/*
 * A filter whose file is lost, or damaged so that it does not open, can be dropped all the same.
 * One whose record is damaged cannot: it is not known which file goes with it, and the next repair
 * would bring the name back from there.
 */
static int drop_unopened(struct blm_store *store, const char *name)
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	int r = entry ? blm_catalog_get(store->catalog, name, entry)
		: blm_fail(-ENOMEM, "%s: out of memory", name);

	if (r == 0) {
		r = drop_damaged(store, name, entry->constant.uuid);
		if (r == 0)
			blm_store_lose_secret(store, entry->constant.template.key_id);
	}
	free(entry);
	return blm_store_no_such(store, name, r);
}

BLM_API int blm_store_drop(struct blm_store *store, const char *name)
{
	struct blm_filter *f;
	int r = blm_filter_open_at(&f, store, name, true, NULL);

	if (r == 0) {
		r = drop_opened(f);
		blm_close(f);
		return r;
	}
	/* where it does not open for other changes this one needs neither secret nor boot */
	if (r == -ENOKEY || r == -ENOSYS)
		r = drop_without_secret(store, name);
	if (r == -EBADMSG || r == -ENODATA || r == -EUCLEAN || r == -EPROTONOSUPPORT)
		return drop_unopened(store, name);
	return r;
}
