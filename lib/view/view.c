/* view.c - the view of a handle: made from a file, renewed when the file is no longer the filter */
#include "handle/allowlist.h"
#include "file/os.h"
#include "handle/handle.h"
#include "base/secret_memory.h"
#include "durable/checkpoint.h"

#include <unistd.h>

/* ---- Making a view of a file ---- */

static int set_part(struct blm_view *view, unsigned i, const struct blm_part_entry *e, const char *shown)
{
	struct blm_part *part = &view->part[i];
	int err = 0;

	*part = (struct blm_part){
		.kind = blm_view_kind(le32toh(e->kind), shown, &err),
		.simd = blm_simd_best(),
		.bytes = view->image.map + le64toh(e->offset),
		.shape = {
			.cells = le64toh(e->cells), .bytes = le64toh(e->bytes),
			.probes = le32toh(e->probes), .cell_bits = le32toh(e->cell_bits),
			.capacity = le64toh(e->capacity), .rate = blm_double_of(le64toh(e->rate)),
		},
	};
	if (!part->kind || !blm_order_flip(le32toh(view->constant.template.bit_order), part->shape.cells, &part->flip))
		part->flip = 0;
	if (!is_foreign(view) && view->image.write)
		part->marks = marks_of(part);
	if (!is_foreign(view))
		part->own = &live_of(view)->own[0].word;
	for (int a = 0; a < BLM_KIND_ARGS; a++)
		part->shape.args[a] = le64toh(view->constant.template.args[a]);
	if (err)
		return err;
	if (!part->kind->valid(&part->shape))
		return blm_fail(-EBADMSG, "%s: part %u: no %s filter has m=%llu, k=%u, %u-bit cells in %llu bytes", shown, i,
				part->kind->name, (unsigned long long)part->shape.cells, part->shape.probes, part->shape.cell_bits,
				(unsigned long long)part->shape.bytes);
	return 0;
}

static int set_hasher(struct blm_view *view, const char *shown)
{
	return blm_hasher_set(&view->hasher, view->seeds, &view->constant.template, view->secret, shown);
}

static int fill_with(struct blm_view *view, const struct blm_contents *contents, const char *shown)
{
	int r;

	view->constant = contents->constant;
	view->parts = contents->parts;
	view->holes = le64toh(view->constant.flags) & BLM_FLAG_SPARSE;
	r = set_hasher(view, shown);
	for (unsigned i = 0; r == 0 && i < view->parts; i++)
		r = set_part(view, i, &contents->part[i], shown);
	if (r == 0)
		r = blm_view_set_whole(view, contents, shown);
	if (r == 0)
		r = blm_view_check_template(view, shown);
	view->shadow = shadow_layout(le64toh(contents->part[0].offset), le64toh(contents->part[0].bytes));
	view->hash_id = blm_hash_id_of(&view->constant.template);
	return r < 0 ? r : blm_view_load(view, 0, shown);
}

static int fill_view(struct blm_view *view, const char *shown)
{
	struct blm_contents *contents = malloc(sizeof(*contents));
	int r;

	if (!contents)
		return blm_fail(-ENOMEM, "%s: out of memory", shown);
	r = blm_image_check(&view->image, shown, contents);
	if (r == 0)
		r = fill_with(view, contents, shown);
	free(contents);
	return r;
}

int blm_view_set_constant(struct blm_view *view, const struct blm_constant *constant, const char *shown)
{
	struct blm_constant *c = &view->constant;
	int r;

	*c = *constant;
	blm_template_id(&c->template, c->template_id);
	c->check = blm_check_constant(c);
	view->image.header->constant = *c;
	view->holes |= le64toh(c->flags) & BLM_FLAG_SPARSE;
	view->hash_id = blm_hash_id_of(&c->template);
	r = set_hasher(view, shown);
	return r < 0 ? r : blm_view_check_template(view, shown);
}

/* ---- Secrets ---- */

/* Give a keyed view its secret: the one the handle was given, if it is the right one, else what lies at the place. */
int blm_view_unlock(struct blm_view *view, const struct blm_place *place, const uint8_t *given)
{
	const uint8_t *key_id = view->constant.template.key_id;
	uint8_t id[8];
	int r = 0;

	if (!view->hasher.family->keyed)
		return 0;
	view->secret = blm_hidden_new(BLM_SECRET_BYTES);
	if (!view->secret)
		return blm_fail(-ENOMEM, "%s: no memory for its secret key", place->shown);
	if (given)
		blm_secret_copy(view->secret, given);
	else
		r = blm_place_secret(place, key_id, view->secret);
	if (r < 0)
		return r;
	blm_key_id(view->secret, id);
	if (memcmp(id, key_id, 8))
		return blm_fail(-ENOKEY, "%s: keyed with %02x%02x%02x%02x%02x%02x%02x%02x; the secret at hand is another's", place->shown,
				key_id[0], key_id[1], key_id[2], key_id[3], key_id[4], key_id[5], key_id[6], key_id[7]);
	view->hasher.secret = view->secret;
	return 0;
}

void blm_view_free(struct blm_view *view)
{
	if (!view)
		return;
	blm_image_unmap(&view->image);
	blm_hidden_free(view->secret);
	blm_lock_destroy(&view->lock);
	pthread_mutex_destroy(&view->syncing);
	pthread_mutex_destroy(&view->writing);
	pthread_mutex_destroy(&view->growing);
	free(view);
}

static void set_seen(struct blm_view *view, uint64_t state)
{
	view->last_seen = state;
	atomic_store(&view->seen_state, view->image.unsure ? BLM_NEVER : state);
}

int blm_view_make(struct blm_view **ret, int fd, const char *shown, bool write)
{
	struct blm_view *view = calloc(1, sizeof(*view));
	int r;

	if (!view) {
		close(fd);
		return blm_fail(-ENOMEM, "%s: out of memory", shown);
	}
	blm_lock_init(&view->lock);
	pthread_mutex_init(&view->syncing, NULL);
	pthread_mutex_init(&view->writing, NULL);
	pthread_mutex_init(&view->growing, NULL);
	r = blm_image_map(&view->image, fd, shown, write);
	if (r == 0)
		r = fill_view(view, shown);
	if (r == 0 && write && view->constant.may_ignore)
		r = blm_fail(-EPROTONOSUPPORT, "%s: has features %#llx that this program does not know: it can be read, not changed",
			     shown, (unsigned long long)le64toh(view->constant.may_ignore));
	if (r < 0) {
		blm_view_free(view);
		return r;
	}
	atomic_init(&view->seen_state, 0);
	set_seen(view, load_acquire(&live_of(view)->state.word));
	*ret = view;
	return 0;
}

int blm_view_make_foreign(struct blm_view **ret, struct blm_image *image, const struct blm_contents *contents, const char *shown)
{
	struct blm_view *view = calloc(1, sizeof(*view));
	struct blm_header *header = calloc(1, sizeof(*header));
	int r;

	if (!view || !header) {
		free(view);
		free(header);
		blm_image_unmap(image);
		return blm_fail(-ENOMEM, "%s: out of memory", shown);
	}
	header->constant = contents->constant;
	memcpy(header->part, contents->part, sizeof(header->part));
	header->live.parts.word = htole64(contents->parts);
	header->live.epoch.word = htole64(1);
	header->live.inexact.word = htole64(1);
	image->header = header;
	view->image = *image;
	blm_lock_init(&view->lock);
	pthread_mutex_init(&view->syncing, NULL);
	pthread_mutex_init(&view->writing, NULL);
	pthread_mutex_init(&view->growing, NULL);
	r = fill_with(view, contents, shown);
	if (r < 0) {
		blm_view_free(view);
		return r;
	}
	view->holes = true;
	atomic_init(&view->seen_state, load_acquire(&live_of(view)->state.word));
	*ret = view;
	return 0;
}

/* ---- Is it still the filter? ---- */

static int same_file(const struct blm_filter *f, const struct blm_view *view)
{
	return blm_place_is(&f->place, view->image.device, view->image.inode, view->constant.uuid);
}

/*
 * A writer sets a state right that nobody alive stands behind. Returns whether the name still leads to this file. While somebody
 * is replacing it nothing is set and nobody is waited for: one who replaces again and again would else win every race.
 */
static int settle_state(struct blm_filter *f, struct blm_view *view)
{
	int r = 0;

	if (!f->write || blm_ofd_held(view->image.fd, BLM_LOCK_REPLACE))
		return same_file(f, view);
	r = blm_lock_exclusive(&view->lock, view->image.fd);
	if (r < 0)
		return r;
	r = same_file(f, view);
	if (r == 1) {
		set_state(view, BLM_LIVE);
		atomic_store(&view->seen_state, load_acquire(&live_of(view)->state.word));
	}
	blm_unlock_exclusive(&view->lock, view->image.fd);
	return r;
}

/*
 * The file's last sync record is never behind the catalog, which is told of a sync last, and was looked up first: so if it is, the file is an
 * older copy. While others sync, a look at the two records can miss the later one; the next looks see it.
 */
static void compare_told(struct blm_view *view, const struct blm_told *told)
{
	const struct blm_live *live = live_of(view);
	bool older = told->epoch != 0;

	for (int looks = 0; older && looks < 3; looks++) {
		struct blm_sync_record last = { 0 };

		blm_last_sync(live, view->constant.uuid, &last);
		older = le64toh(last.epoch) < told->epoch && !blm_syncs_lost(live, view->constant.uuid);
	}
	if (older)
		view->told = *told;
}

/*
 * Open what lies at the handle's place, as a view that is the filter at this moment.
 *
 * A state other than LIVE in a file that was just found by its name is a replacement under way (then the name may lead elsewhere by
 * now: look again; if it does not, the view is good, and its first call looks again), or was left by a process that died or by
 * a copy, and means nothing.
 */
static int open_live(struct blm_view **ret, struct blm_filter *f)
{
	for (int tries = 0; tries < 1000; tries++) {
		struct blm_view *view;
		struct blm_told told;
		uint64_t state;
		int fd = blm_place_open(&f->place, f->write, &told), r;

		if (fd < 0)
			return fd;
		r = blm_view_make(&view, fd, f->place.shown, f->write);
		if (r < 0)
			return r;
		view->holes |= f->place.memory != NULL;
		compare_told(view, &told);
		state = view->last_seen;
		if (state_of(state) != BLM_LIVE) {
			set_seen(view, BLM_NEVER);	/* look again at the first call */
			r = settle_state(f, view);
		} else {
			r = 1;
		}
		if (r == 1) {
			*ret = view;
			return 0;
		}
		blm_view_free(view);
		if (r < 0)
			return r;
	}
	return blm_fail(-EBUSY, "%s: replaced again and again while it was opened", f->place.shown);
}

/*
 * A copy made while its original was synced can have the sync record of an epoch that its copied `epoch` has not reached;
 * then changes would not show as unsynced. Where no copying was in the way, epoch is above both.
 */
static int mend_epoch(struct blm_view *view, const char *shown)
{
	struct blm_live *live = live_of(view);
	struct blm_sync_record last = { 0 };
	uint64_t least;
	int r;

	blm_last_sync(live, view->constant.uuid, &last);
	if (load_acquire(&live->epoch.word) > BLM_EPOCH_MAX || load_acquire(&live->written.word) > BLM_EPOCH_MAX
	    || le64toh(last.epoch) > BLM_EPOCH_MAX)
		return blm_fail(-EUCLEAN, "%s: damaged: it says that it was synced 2^63 times; it can be read, not changed", shown);
	if (load_acquire(&live->epoch.word) > le64toh(last.epoch) && load_acquire(&live->written.word) <= load_acquire(&live->epoch.word))
		return 0;
	r = blm_lock_syncing(view);
	if (r < 0)
		return r;
	blm_last_sync(live, view->constant.uuid, &last);
	least = load_acquire(&live->written.word);
	if (least <= le64toh(last.epoch))
		least = blm_epoch_after(le64toh(last.epoch));
	if (load_acquire(&live->epoch.word) < least)
		store_release(&live->epoch.word, least);
	blm_unlock_syncing(view);
	return 0;
}

/* Dropped or replaced since it was opened, and with it went its secret? */
static bool is_gone(const struct blm_filter *f, const struct blm_view *view)
{
	int r = f->place.store ? same_file(f, view) : 1;

	return r == 0 || r == -ENOENT;
}

/* Changed since its last sync, and the last who changed it did so before the machine went down. */
static bool was_cut(const struct blm_view *view)
{
	const struct blm_live *live = live_of(view);
	struct blm_sync_record last = { 0 };

	blm_last_sync(live, view->constant.uuid, &last);
	return load_acquire(&live->written.word) > le64toh(last.epoch) && load_acquire(&live->boot.word) != blm_boot_number();
}

/* Of kinds to which that matters, note it for good, on the disk, before the first change of this boot hides it; or for this view. */
static int note_cut(struct blm_view *view, const char *shown, bool write)
{
	uint64_t *cut = &live_of(view)->own[BLM_OWN_CUT].word;
	int r;

	if (!view->whole.kind->minds_cuts || is_foreign(view) || load_acquire(cut) || !was_cut(view))
		return 0;
	view->part[0].cut = view->whole.cut = !write;
	if (!write)
		return 0;
	r = blm_lock_syncing(view);
	if (r < 0)
		return r;
	if (!load_acquire(cut) && was_cut(view)) {
		store_release(cut, 1);
		r = blm_flush(view, live_of(view), BLM_PAGE);
	}
	blm_unlock_syncing(view);
	return r < 0 ? blm_fail(r, "%s: writing to its file failed: %s", shown, strerror(-r)) : 0;
}

/*
 * After a power cut; with all locks. The state sends those who read the image to look whether that is still needed, from before the data
 * is good until whoever restores it is done, or dead: so that they see what others will change from then on.
 */
static int restore(struct blm_filter *f, struct blm_view *view)
{
	int fd = view->image.fd, r = blm_lock_exclusive(&view->lock, fd);

	if (r < 0)
		return r;
	r = blm_lock_syncing(view);
	if (r == 0) {
		r = blm_ofd_lock(fd, BLM_LOCK_WRITE, true);
		if (r == 0 && blm_shadow_is_needed(view)) {
			enum blm_state state = state_of(load_acquire(&live_of(view)->state.word));

			set_state(view, BLM_REPLACING);
			r = blm_shadow_restore(view, f->place.shown);
			set_state(view, state);
		}
		set_seen(view, view->last_seen == BLM_NEVER ? BLM_NEVER : load_acquire(&live_of(view)->state.word));
		blm_ofd_unlock(fd, BLM_LOCK_WRITE);
		blm_unlock_syncing(view);
	}
	blm_unlock_exclusive(&view->lock, fd);
	return r;
}

bool blm_says_name(const struct blm_view *view, const char *name)
{
	struct blm_record record;

	return blm_last_record(view->image.header, view->constant.uuid, &record) && le32toh(record.name_bytes) == strlen(name)
	    && !memcmp(record.name, name, strlen(name));
}

/* A rename that was cut short is ended by the next process that opens the file for changes. One that is under way holds the lock. */
static void finish_rename(const struct blm_filter *f, const struct blm_view *view)
{
	const char *name = blm_place_name(&f->place);

	if (name && !blm_says_name(view, name) && !blm_ofd_busy(view->image.fd, BLM_LOCK_SYNC))
		blm_place_mend_record(&f->place);
}

int blm_view_open(struct blm_view **ret, struct blm_filter *f)
{
	struct blm_view *view = NULL;
	int r;

	if (f->lent)
		return blm_unborn_again(ret, f);

	r = blm_know_boot_at(&f->place);	/* while there is a descriptor for it: the file may take the last one */
	if (r < 0)
		return r;
	do {
		blm_view_free(view);
		r = open_live(&view, f);
		if (r < 0)
			return r;
		r = blm_view_unlock(view, &f->place, f->secret);
	} while (r == -ENOKEY && is_gone(f, view));
	if (r == 0 && f->write)
		r = blm_check_boot(view->whole.kind, le64toh(view->constant.flags) & BLM_FLAG_SEALED, &f->place);
	if (r == 0 && f->write)
		r = mend_epoch(view, f->place.shown);
	if (r == 0)
		r = note_cut(view, f->place.shown, f->write);
	if (r == 0 && blm_shadow_is_needed(view))
		r = f->write ? restore(f, view) : blm_shadow_show(view, f->place.shown);
	if (!f->write && (r == -EAGAIN || (r == -EUCLEAN && !blm_shadow_is_needed(view)))) {	/* a writer does, or did, and syncs change the image again */
		blm_view_free(view);
		return blm_view_open(ret, f);
	}
	if (r == 0 && f->write) {
		blm_allow_learn(&f->place, view);
		finish_rename(f, view);
	}
	if (r < 0)
		blm_view_free(view);
	else
		*ret = view;
	return r;
}

/*
 * The state word is not the one that the name was last looked up under. Look it up again: the same file (a replacement
 * under way or left undone) goes on serving; another one takes its place. While a living process is replacing or dropping,
 * every call must look again, since the name can lead elsewhere before the state says so, or nowhere; where none is, what the
 * look-up says holds until the state word changes, which seen_state then notes. So whether one lives is asked before the
 * look-up: after it, one that died in between would have been missed. behind: it is known that the file is not what the view shows.
 */
static int look_again(struct blm_filter *f, struct blm_view *view, bool behind, bool *ret_changed)
{
	uint64_t state = load_acquire(&live_of(view)->state.word), seen = view->image.unsure ? view->last_seen : atomic_load(&view->seen_state);
	bool under_way = state_of(state) != BLM_LIVE
		&& (view->image.fd < 0 || blm_ofd_held(view->image.fd, BLM_LOCK_REPLACE));
	int r = state == seen && !behind ? 1 : same_file(f, view);

	if (r == 1 && !behind && !(view->shows_image && !blm_shadow_is_needed(view)) && load_acquire(&live_of(view)->parts.word) == view->parts) {
		if (!under_way)
			set_seen(view, state);
		*ret_changed = false;
		return 0;
	}
	if (r == -ENOENT || (r == 0 && state_of(state) == BLM_DROPPED)) {
		set_seen(view, state);		/* for good: no need to look again at every call */
		return blm_fail(-ESTALE, "%s: the filter was dropped", f->place.shown);
	}
	*ret_changed = true;
	return r < 0 ? r : 0;
}

/* Of the views that were replaced before, those that nobody can be using any more. */
static void free_older(struct blm_view *view)
{
	uint64_t oldest = view->older ? blm_oldest_moment() : 0;

	while (view->older) {
		struct blm_view *older = view->older;

		if (older->replaced < oldest) {
			view->older = older->older;
			blm_view_free(older);
		} else {
			view = older;
		}
	}
}

static void replace_view(struct blm_filter *f, struct blm_view *old, struct blm_view *new)
{
	new->older = old;
	atomic_store(&f->view, new);
	old->replaced = blm_pass_moment();
	if (!f->lent)
		free_older(old);
}

/* The writer's and the reader's reaction to a changed state or part count. Returns the view to go on with, maybe the old one. */
struct blm_view *blm_view_renew(const struct blm_filter *reader, struct blm_view *view)
{
	struct blm_filter *f = (struct blm_filter *)reader;
	struct blm_view *now, *fresh = NULL;
	bool changed = false, behind;
	int r = 0;

	pthread_mutex_lock(&f->renewing);
	now = atomic_load(&f->view);
	if (now == view || !is_current(now)) {
		behind = now->image.unsure && blm_image_is_behind(&now->image);
		r = look_again(f, now, behind, &changed);
		if (r == 0 && changed)
			r = blm_view_open(&fresh, f);
		if (fresh && behind && now->image.fd >= 0) {	/* what is copied up, or made there, stays there */
			fresh->image.unsure = false;
			set_seen(fresh, fresh->last_seen);
		}
		if (fresh) {
			replace_view(f, now, fresh);	/* the other threads go on while it is loaded, as far as that can be done */
			if (f->load)
				blm_view_load(now, 0, f->place.shown);
			if (f->load)
				blm_view_load(fresh, f->load, f->place.shown);
			now = fresh;
		}
		atomic_store(&f->status, r);
	}
	pthread_mutex_unlock(&f->renewing);
	return now;
}
