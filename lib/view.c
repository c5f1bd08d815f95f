/* view.c - the view of a handle: made from a file, renewed when the file is no longer the filter */
#include "filter.h"

#include <sodium.h>
#include <unistd.h>

/* ---- Making a view of a file ---- */

static const struct blm_kind *known_kind(uint32_t id, const char *shown, int *err)
{
	const struct blm_kind *kind = blm_kind_by_id(id);

	if (!kind)
		*err = blm_fail(-EPROTONOSUPPORT, "%s: a filter of kind %u, which this program does not know", shown, id);
	return kind;
}

static int set_part(struct blm_view *view, unsigned i, const struct blm_part_entry *e, const char *shown)
{
	struct blm_part *part = &view->part[i];
	int err = 0;

	*part = (struct blm_part){
		.kind = known_kind(le32toh(e->kind), shown, &err),
		.simd = blm_simd_best(),
		.bytes = (uint8_t *)view->image.header + le64toh(e->offset),
		.shape = {
			.cells = le64toh(e->cells), .bytes = le64toh(e->bytes),
			.probes = le32toh(e->probes), .cell_bits = le32toh(e->cell_bits),
			.capacity = le64toh(e->capacity), .rate = blm_double_of(le64toh(e->rate)),
		},
	};
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

/* What the template says, the first part must be. */
static int check_template(const struct blm_view *view, const char *shown)
{
	const struct blm_template_fields *t = &view->constant.template;
	const struct blm_part *first = &view->part[0];
	const struct blm_family *family = view->hasher.family;

	if (first->kind->id != le32toh(t->kind) || first->shape.cells != le64toh(t->cells)
	    || first->shape.probes != le32toh(t->probes) || first->shape.cell_bits != le32toh(t->cell_bits))
		return blm_fail(-EBADMSG, "%s: the part table and the template disagree on kind, m, k or cell width", shown);
	if (view->parts > 1 && !first->kind->made_of)
		return blm_fail(-EBADMSG, "%s: %u parts; a %s filter has one", shown, view->parts, first->kind->name);
	if (family->bits < 64 && first->shape.cells > UINT64_C(1) << family->bits)
		return blm_fail(-EBADMSG, "%s: %s reaches only 2^%u bits, not %llu", shown, family->name, family->bits,
				(unsigned long long)first->shape.cells);
	if (family->nth && !first->kind->every_family)
		return blm_fail(-EBADMSG, "%s: a %s filter cannot use the hash %s", shown, first->kind->name, family->name);
	if (view->hasher.seed_count != family->seeds)
		return blm_fail(-EBADMSG, "%s: %u seeds; %s takes %u", shown, view->hasher.seed_count, family->name, family->seeds);
	if (view->hasher.tweak > (family->tweaked ? UINT32_MAX : 0))
		return blm_fail(-EBADMSG, "%s: tweak %llu is none of the hash %s", shown, (unsigned long long)view->hasher.tweak, family->name);
	return 0;
}

static int set_hasher(struct blm_view *view, const char *shown)
{
	const struct blm_template_fields *t = &view->constant.template;
	const struct blm_family *family = blm_family_by_id(le32toh(t->family));

	if (!family)
		return blm_fail(-EPROTONOSUPPORT, "%s: hash family %u, which this program does not know", shown, le32toh(t->family));
	view->hasher = (struct blm_hasher){
		.family = family, .seeds = view->seeds, .seed_count = le32toh(t->seed_count), .tweak = le64toh(t->tweak),
	};
	for (uint32_t i = 0; i < view->hasher.seed_count; i++)
		view->seeds[i] = le64toh(t->seeds[i]);
	return 0;
}

/* What hashes depend on, as a number: the template with what only cells depend on taken out. */
static uint64_t hash_id_of(const struct blm_template_fields *template)
{
	struct blm_template_fields t = { .family = template->family, .tweak = template->tweak, .seed_count = template->seed_count };
	uint8_t id[16];
	uint64_t word;

	memcpy(t.key_id, template->key_id, sizeof(t.key_id));
	memcpy(t.seeds, template->seeds, sizeof(t.seeds));
	blm_template_id(&t, id);
	memcpy(&word, id, 8);
	return le64toh(word);
}

static int fill_view(struct blm_view *view, const char *shown)
{
	struct blm_contents *contents = malloc(sizeof(*contents));
	int r;

	if (!contents)
		return blm_fail(-ENOMEM, "%s: out of memory", shown);
	r = blm_image_check(&view->image, shown, contents);
	if (r == 0) {
		view->constant = contents->constant;
		view->parts = contents->parts;
		r = set_hasher(view, shown);
	}
	for (unsigned i = 0; r == 0 && i < view->parts; i++)
		r = set_part(view, i, &contents->part[i], shown);
	if (r == 0)
		r = check_template(view, shown);
	view->hash_id = hash_id_of(&view->constant.template);
	free(contents);
	return r;
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
	if (sodium_init() < 0 || !(view->secret = sodium_malloc(BLM_SECRET_BYTES)))
		return blm_fail(-ENOMEM, "%s: no memory for its secret key", place->shown);
	if (given)
		memcpy(view->secret, given, BLM_SECRET_BYTES);
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
	sodium_free(view->secret);
	blm_lock_destroy(&view->lock);
	pthread_mutex_destroy(&view->syncing);
	free(view);
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
 * Open what lies at the handle's place, as a view that is the filter at this moment.
 *
 * A state other than LIVE in a file that was just found by its name is either a replacement under way (then the name may
 * lead elsewhere by now: look again) or was left by a process that died or by a copy, and means nothing: a writer sets it
 * right, under the lock that a living replacer would hold.
 */
static int open_live(struct blm_view **ret, struct blm_filter *f)
{
	for (int tries = 0; tries < 100; tries++) {
		struct blm_view *view;
		uint64_t state;
		int fd = blm_place_open(&f->place, f->write), r;

		if (fd < 0)
			return fd;
		r = blm_view_make(&view, fd, f->place.shown, f->write);
		if (r < 0)
			return r;
		state = atomic_load(&view->seen_state);
		if (state_of(state) == BLM_LIVE) {
			*ret = view;
			return 0;
		}
		if (state_of(state) == BLM_REPLACING)
			atomic_store(&view->seen_state, UINT64_MAX);	/* look again at the first call */
		if (f->write) {
			r = blm_lock_exclusive(&view->lock, view->image.fd);
			if (r == 0) {
				r = same_file(f, view);
				if (r == 1) {
					set_state(view, BLM_LIVE);
					atomic_store(&view->seen_state, load_acquire(&live_of(view)->state.word));
				}
				blm_unlock_exclusive(&view->lock, view->image.fd);
			}
		} else {
			r = same_file(f, view);
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
static int mend_epoch(struct blm_view *view)
{
	struct blm_live *live = live_of(view);
	struct blm_sync_record last = { 0 };
	uint64_t least;
	int r;

	blm_last_sync(live, view->constant.uuid, &last);
	if (load_acquire(&live->epoch.word) > le64toh(last.epoch) && load_acquire(&live->written.word) <= load_acquire(&live->epoch.word))
		return 0;
	r = blm_ofd_lock(view->image.fd, BLM_LOCK_SYNC, true);
	if (r < 0)
		return r;
	blm_last_sync(live, view->constant.uuid, &last);
	least = load_acquire(&live->written.word);
	if (least <= le64toh(last.epoch))
		least = le64toh(last.epoch) + 1;
	if (load_acquire(&live->epoch.word) < least)
		store_release(&live->epoch.word, least);
	blm_ofd_unlock(view->image.fd, BLM_LOCK_SYNC);
	return 0;
}

int blm_view_open(struct blm_view **ret, struct blm_filter *f)
{
	struct blm_view *view = NULL;
	int r = open_live(&view, f);

	if (r < 0)
		return r;
	r = blm_view_unlock(view, &f->place, f->secret);
	if (r == 0 && f->write)
		r = mend_epoch(view);
	if (r < 0)
		blm_view_free(view);
	else
		*ret = view;
	return r;
}

/*
 * The state word is not the one that the name was last looked up under. Look it up again: the same file (a replacement
 * under way or left undone) goes on serving; another one takes its place. While a living process is replacing, every
 * call must look again, since the name can lead elsewhere before the state says so; where none is, what the look-up says
 * holds until the state word changes, which seen_state then notes.
 */
static int look_again(struct blm_filter *f, struct blm_view *view, bool *ret_changed)
{
	uint64_t state = load_acquire(&live_of(view)->state.word);
	bool replacing = state_of(state) == BLM_REPLACING
		&& (view->image.fd < 0 || blm_ofd_held(view->image.fd, BLM_LOCK_REPLACE));
	int r = state == atomic_load(&view->seen_state) ? 1 : same_file(f, view);

	if (r == 1 && load_acquire(&live_of(view)->parts.word) == view->parts) {
		if (!replacing)
			atomic_store(&view->seen_state, state);
		*ret_changed = false;
		return 0;
	}
	if (r == -ENOENT || (r == 0 && state_of(state) == BLM_DROPPED)) {
		atomic_store(&view->seen_state, state);		/* for good: no need to look again at every call */
		return blm_fail(-ESTALE, "%s: the filter was dropped", f->place.shown);
	}
	*ret_changed = true;
	return r < 0 ? r : 0;
}

/* The writer's and the reader's reaction to a changed state or part count. Returns the view to go on with, maybe the old one. */
struct blm_view *blm_view_renew(const struct blm_filter *reader, struct blm_view *view)
{
	struct blm_filter *f = (struct blm_filter *)reader;
	struct blm_view *now, *fresh = NULL;
	bool changed = false;
	int r = 0;

	pthread_mutex_lock(&f->renewing);
	now = atomic_load(&f->view);
	if (now == view || !is_current(now)) {
		r = look_again(f, now, &changed);
		if (r == 0 && changed)
			r = blm_view_open(&fresh, f);
		if (fresh) {
			fresh->older = now;
			atomic_store(&f->view, fresh);
			now = fresh;
		}
		atomic_store(&f->status, r);
	}
	pthread_mutex_unlock(&f->renewing);
	return now;
}
