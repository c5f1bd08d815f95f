/*
 * extend.c - a filter is made ready for more keys: another part at the end of its file, or the next
 * slot of its ring
 *
 * A writer that extends holds BLM_LOCK_GROW, so it is the only one, and prepares a part that other
 * processes do not look at yet. Then it takes BLM_LOCK_REPLACE exclusively for a short time, in
 * which there are no claims, replacements or drops. One store makes the part valid:
 *
 *   growing  the space of the part, zeros; its entry in the part table; the file flushed with its
 *            length, which msync() does not promise, and without which the file does not open;
 *            then `parts` + 1, under BLM_LOCK_SYNC as well, so that no sync records the new part as
 *            written back before it has seen it.
 *   turning  the slot that will be the newest, cleared; flushed; then the kind's own word.
 *
 * A death at any point before the store leaves a good filter, because the prepared space belongs to
 * no part; the next writer prepares it again from the beginning. After the store it is done. If two
 * writers want to extend, the second finds it done: it counts keys, and looks at the number of
 * parts, again under the lock. Meanwhile others continue in the last part or the newest slot.
 */
#include "keys/extend.h"
#include "base/phase.h"
#include "file/mapping.h"

#include "file/os.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Growing ---- */

/* Bytes that a dead writer, or another program, left there would be keys that were never added. */
static int clear_rest(int fd, uint64_t from, const char *display)
{
	struct stat st;
	int r = fstat(fd, &st) < 0 ? -errno : 0;
	uint64_t to = r < 0 ? 0 : (uint64_t)st.st_size;

	if (r == 0 && to > from && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					     (off_t)from, (off_t)(to - from)) < 0)
		for (; r == 0 && from < to; from += BLM_ZEROS)
			r = blm_write_at(fd, blm_zeros, to - from < BLM_ZEROS ? (size_t)(to - from)
					 : BLM_ZEROS, from);
	return r < 0 ? blm_fail(r, "%s: cannot clear the space for its next part: %s", display,
				strerror(-r)) : 0;
}

/* Sparse files, and those in memory, get a hole; the others their space, or nothing. */
static int take_space(const struct blm_view *view, uint64_t from, uint64_t to, const char *display)
{
	struct stat st;
	int fd = view->image.fd, r = clear_rest(fd, from, display);

	if (r < 0)
		return r;
	if (view->holes)
		return blm_extend(fd, to, display);
	if (fstat(fd, &st) < 0)
		return blm_fail(-errno, "%s: %s", display, strerror(errno));
	r = blm_allocate(fd, from, to - from, display);
	/* otherwise it stays longer than necessary, which does no harm */
	return r < 0 && ftruncate(fd, st.st_size) < 0 ? -ENOSPC : r;
}

static int plan_next(struct blm_component *ret, const struct blm_view *view, const char *display)
{
	const struct blm_part *root = &view->root;
	const struct blm_family *family = view->hasher.family;
	const struct blm_scheme *scheme = view->hasher.scheme;
	uint64_t cells;

	if (view->parts == BLM_PARTS_MAX || !root->kind->next(root, ret)
	    || (family->bits < 64 && ret->shape.cells > UINT64_C(1) << family->bits))
		return blm_fail(-EXFULL, "%s: cannot grow beyond its %u stages; make a larger "
				"filter from its keys", display,
				view->parts);
	cells = scheme ? blm_scheme_cells(scheme, ret->shape.cells, ret->shape.probes)
		: ret->shape.cells;
	return cells == ret->shape.cells ? 0
	     : ret->kind->plan(&ret->shape, &(struct blm_params){ .capacity = ret->shape.capacity,
		     .rate = ret->shape.rate, .cells = cells,
								    .probes = ret->shape.probes });
}

/* Into the table, where readers look only after `parts` says so. */
static uint64_t write_entry(struct blm_view *view, const struct blm_component *next)
{
	struct blm_part_entry e;
	uint64_t bytes = next->shape.bytes, at;

	blm_entry_of_part(&e, next->kind, next->role, &next->shape);
	at = blm_part_at(blm_view_end(view), bytes);
	e.offset = htole64(at);
	e.check = blm_check_part(&e, view->parts, view->constant.uuid);
	view->image.header->part[view->parts] = e;
	return at + bytes;
}

/* Under BLM_LOCK_SYNC, of this handle's threads and of all processes. */
static int flush(struct blm_view *view, void *from, uint64_t bytes, const char *display)
{
	int r = blm_lock_syncing(view);

	if (r < 0)
		return r;
	r = blm_flush(view, from, bytes);
	blm_unlock_syncing(view);
	return r < 0 ? blm_fail(r, "%s: writing to its file failed: %s", display, strerror(-r)) : 0;
}

static int prepare_part(const struct blm_filter *f, struct blm_view *view)
{
	const char *display = f->place.display;
	struct blm_component next;
	uint64_t end;
	int r = plan_next(&next, view, display);

	if (r < 0)
		return r;
	end = write_entry(view, &next);
	r = take_space(view, blm_view_end(view), end, display);
	return r < 0 || f->lent ? r : flush(view, NULL, 0, display);
}

static int show_part(struct blm_view *view)
{
	int r = blm_lock_syncing(view);

	if (r < 0)
		return r;
	store_release(&live_of(view)->parts.word, view->parts + 1);
	blm_unlock_syncing(view);
	return 0;
}

/* ---- Either ---- */

/*
 * Is it still the filter? A replacing or dropping process stores that in the state. While the state
 * is LIVE, another program may have given the file another name or none, and handles that have it
 * open keep using it, as with filters that need no space. (Waiting for a state that never comes
 * would never end.)
 */
static int is_the_filter(const struct blm_filter *f, const struct blm_view *view)
{
	if (f->lent || state_of(load_acquire(&live_of(view)->state.word)) == BLM_LIVE)
		return 1;
	return blm_place_is(&f->place, view->image.device, view->image.inode, view->constant.uuid);
}

/*
 * From here on all processes see the prepared part. 1: done. 0: this file is not the filter any
 * more, or another process is replacing it.
 */
static int make_it_so(struct blm_filter *f, struct blm_view *view)
{
	const struct blm_kind *kind = view->root.kind;
	int fd = view->image.fd, r = blm_lock_exclusive(&view->lock, fd);

	if (r < 0)
		return r;
	r = is_the_filter(f, view);
	if (r == 1 && kind->turn) {
		if (blm_counted_keys(view))
			/* keys are forgotten, and were counted */
			store_release(&live_of(view)->inexact.word, 1);
		kind->turn(&view->root, blm_counted_keys(view));
	} else if (r == 1) {
		r = show_part(view);
		r = r < 0 ? r : 1;
	}
	blm_unlock_exclusive(&view->lock, fd);
	return r == -ENOENT ? 0 : r;
}

/*
 * The slot that comes next is cleared when it has become free, and looked at again before it is
 * used: mostly there is nothing to clear.
 */
static int turn(struct blm_filter *f, struct blm_view *view)
{
	const struct blm_part *slot = &view->part[view->root.kind->begin_slot(&view->root)];
	int r;

	{
		BLM_PHASE(blm_writing, slot->shape.bytes);
		r = flush(view, slot->bytes, slot->shape.bytes, f->place.display);
	}
	if (r == 0)
		r = make_it_so(f, view);
	if (r == 1)
		view->root.kind->begin_slot(&view->root);
	return r;
}

static int grow(struct blm_filter *f, struct blm_view *view)
{
	int r = prepare_part(f, view);

	if (r == 0)
		r = make_it_so(f, view);
	return r;
}

/* more than this many times its keys, plus this many: more than a crowd of writers can add */
enum { TIMES_FAR = 4, KEYS_FAR = 1 << 16 };

/*
 * The filter grows by the count, which can be any number in a damaged file: then it would grow
 * until the disk is full. So if the count is far beyond the capacity of all parts, and the last
 * part is nearly empty, the count is set to the estimate from the bits. True: that was done. The
 * capacity of the parts is a number in the file, too: cells that cannot hold that many keys
 * contradict it.
 */
static bool mend_count(struct blm_view *view)
{
	const struct blm_part *last = &view->part[view->parts - 1];
	uint64_t counted = blm_counted_keys(view), before = 0, keys, most;
	struct blm_tally tally = { 0 };
	double fill, error;

	for (unsigned i = 0; i < view->parts - 1; i++)
		before += view->root.kind->fits(&view->root, i);
	keys = before + view->root.kind->fits(&view->root, view->parts - 1);
	if (counted / TIMES_FAR <= keys || counted - keys <= KEYS_FAR)
		return false;
	last->kind->tally(last, last->bytes, last->shape.bytes, &tally);
	fill = (double)tally.ones / (double)last->shape.cells;
	if (fill > 0.1)		/* a full one has about 0.5 */
		return false;
	most = before + (uint64_t)last->kind->keys_of(&last->shape, fill, &error);
	if (most >= counted)
		return false;
	store_release(&live_of(view)->inexact.word, 1);
	blm_count_keys(view, most - counted);
	return true;
}

/*
 * With BLM_LOCK_GROW held: is there still something to do? The count of parts is this file's,
 * whatever the view says.
 */
static int extend(struct blm_filter *f, struct blm_view *view, enum blm_extend_when what)
{
	const struct blm_kind *kind = view->root.kind;

	if (!has_all_parts(view))
		return 0;
	if (what == BLM_EXTEND_IF_FULL && (kind->space(&view->root, blm_counted_keys(view))
					 || (!kind->turn && mend_count(view))))
		return 0;
	return kind->turn ? turn(f, view) : grow(f, view);
}

int blm_filter_extend(struct blm_filter *f, struct blm_view *view, enum blm_extend_when what)
{
	int fd = blm_view_fd(f, view), r;

	if (fd < 0)
		return fd == -ESTALE ? 0 : fd;
	pthread_mutex_lock(&view->growing);
	r = blm_ofd_lock(fd, BLM_LOCK_GROW, true);
	if (r == 0) {
		r = extend(f, view, what);
		blm_ofd_unlock(fd, BLM_LOCK_GROW);
	}
	pthread_mutex_unlock(&view->growing);
	return r;
}

BLM_API int blm_rotate(struct blm_filter *f)
{
	BLM_CRITICAL_SECTION;
	struct blm_view *view;
	int r;

	do {
		r = blm_change_begin(f, &view);
		if (r < 0)
			return r;
		r = blm_change_end(f, view);
		if (r == 0 && !view->root.kind->turn)
			return blm_cannot(view, f, "begin another slot", BLM_CAN_ROTATE);
		if (r == 0)
			r = blm_filter_extend(f, view, BLM_EXTEND_ALWAYS);
	} while (r == 0 || r == -EAGAIN);
	return r < 0 ? r : 0;
}
