/* filter.c - create, open, close: a file, a kind and a hash become a filter */
#include "file/system.h"
#include "filter.h"

#include <float.h>
#include <math.h>
#include <sodium.h>
#include <unistd.h>

/* ---- All handles of the process, for fork() ---- */

/*
 * A child shares its parent's open file descriptions, and locks belong to those: a lock that the child gave back would be
 * the parent's. So the child closes its copies and opens the files anew when it next needs a lock. The maps stay: adding and
 * asking need nothing else. The threads of the parent are not in the child, so their locks are made new.
 */
static pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct blm_filter *all;

static void before_fork(void)
{
	pthread_mutex_lock(&all_mutex);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&all_mutex);
}

static void after_fork_in_child(void)
{
	pthread_mutex_init(&all_mutex, NULL);
	for (struct blm_filter *f = all; f; f = f->next) {
		pthread_mutex_init(&f->renewing, NULL);
		for (struct blm_view *view = atomic_load(&f->view); view; view = view->older) {
			close(view->image.fd);
			view->image.fd = -1;
			blm_lock_init(&view->lock);
			pthread_mutex_init(&view->syncing, NULL);
		}
	}
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void enlist(struct blm_filter *f)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&all_mutex);
	f->next = all;
	f->previous = NULL;
	if (all)
		all->previous = f;
	all = f;
	pthread_mutex_unlock(&all_mutex);
}

static void delist(struct blm_filter *f)
{
	pthread_mutex_lock(&all_mutex);
	if (f->next)
		f->next->previous = f->previous;
	if (f->previous)
		f->previous->next = f->next;
	else if (all == f)
		all = f->next;
	pthread_mutex_unlock(&all_mutex);
}

/* ---- Opening and closing ---- */

static struct blm_filter *new_handle(struct blm_place *place, bool write)
{
	struct blm_filter *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->place = *place;
	f->write = write;
	pthread_mutex_init(&f->renewing, NULL);
	*place = (struct blm_place){ 0 };
	return f;
}

static void free_handle(struct blm_filter *f)
{
	struct blm_view *view = atomic_load(&f->view), *older;

	for (; view; view = older) {
		older = view->older;
		blm_view_free(view);
	}
	sodium_free(f->secret);
	pthread_mutex_destroy(&f->renewing);
	blm_place_clear(&f->place);
	free(f);
}

static int keep_given_secret(struct blm_filter *f, const uint8_t *secret)
{
	if (!secret)
		return 0;
	if (sodium_init() < 0 || !(f->secret = sodium_malloc(BLM_SECRET_BYTES)))
		return blm_fail(-ENOMEM, "%s: no memory for its secret key", f->place.shown);
	memcpy(f->secret, secret, BLM_SECRET_BYTES);
	return 0;
}

BLM_API int blm_open_keyed(struct blm_filter **ret, struct blm_store *store, const char *name, bool write, const uint8_t *secret)
{
	struct blm_place place;
	struct blm_filter *f;
	struct blm_view *view = NULL;
	int r = blm_place_set(&place, store, name);

	if (r < 0)
		return r;
	f = new_handle(&place, write);
	if (!f) {
		blm_place_clear(&place);
		return blm_fail(-ENOMEM, "%s: out of memory", name);
	}
	r = keep_given_secret(f, secret);
	if (r == 0)
		r = blm_view_open(&view, f);
	if (r < 0) {
		free_handle(f);
		return r;
	}
	atomic_init(&f->view, view);
	enlist(f);
	*ret = f;
	return 0;
}

BLM_API int blm_open(struct blm_filter **ret, struct blm_store *store, const char *name, bool write)
{
	return blm_open_keyed(ret, store, name, write, NULL);
}

BLM_API struct blm_filter *blm_close(struct blm_filter *f)
{
	if (f) {
		delist(f);
		free_handle(f);
	}
	return NULL;
}

BLM_API int blm_status(const struct blm_filter *f)
{
	current_view(f);
	return atomic_load(&((struct blm_filter *)f)->status);
}

/* ---- Parameters ---- */

static int check_params(const struct blm_params *p)
{
	if (!p->capacity && !p->cells)
		return blm_fail(-EINVAL, "a capacity (or a number of bits) is needed");
	if (p->capacity > BLM_CAPACITY_MAX)
		return blm_fail(-EINVAL, "capacity %llu is more than 2^47 keys", (unsigned long long)p->capacity);
	if (p->rate && !(p->rate >= 1e-300 && p->rate < 1))
		return blm_fail(-EINVAL, "rate %g is not between 0 and 1", p->rate);
	if (p->cells > BLM_CELLS_MAX)
		return blm_fail(-EINVAL, "%llu bits is more than 2^47", (unsigned long long)p->cells);
	if (p->probes > BLM_PROBES_MAX)
		return blm_fail(-EINVAL, "%u probes is more than %d", p->probes, BLM_PROBES_MAX);
	if (p->seed_count > BLM_SEEDS_MAX)
		return blm_fail(-EINVAL, "%u seeds is more than %d", p->seed_count, BLM_SEEDS_MAX);
	if (p->mode & ~0777u)
		return blm_fail(-EINVAL, "mode %o has bits other than permissions", p->mode);
	return 0;
}

static int check_family(const struct blm_kind *kind, const struct blm_family *family, const struct blm_params *p,
			const struct blm_shape *shape)
{
	if (family->nth && !kind->every_family)
		return blm_fail(-EOPNOTSUPP, "the hash %s gives %u bits for each probe, which the kind %s cannot use; the kind classic can",
				family->name, family->bits, kind->name);
	if (family->bits < 64 && shape->cells > UINT64_C(1) << family->bits)
		return blm_fail(-EINVAL, "the hash %s reaches only 2^%u bits; %llu are asked for", family->name, family->bits,
				(unsigned long long)shape->cells);
	if (p->tweak && !family->tweaked)
		return blm_fail(-EINVAL, "the hash %s takes no tweak", family->name);
	if (family->tweaked && p->tweak > UINT32_MAX)
		return blm_fail(-EINVAL, "tweak %llu is more than 32 bits", (unsigned long long)p->tweak);
	if (p->seed_count && p->seed_count != family->seeds)
		return blm_fail(-EINVAL, "%u seeds given; the hash %s takes %u", p->seed_count, family->name, family->seeds);
	if (p->secret && !family->keyed)
		return blm_fail(-EINVAL, "the hash %s takes no secret key", family->name);
	return 0;
}

static int plan(const struct blm_params *p, const struct blm_kind **ret_kind, const struct blm_family **ret_family, struct blm_shape *ret)
{
	const struct blm_family *family = blm_family_by_name(p->hash ? p->hash : "xxh3");
	bool exact = p->cells || p->probes || (family && family->nth);
	const struct blm_kind *kind = blm_kind_by_name(p->kind ? p->kind : exact ? BLM_EXACT_KIND : BLM_DEFAULT_KIND);
	char names[256];
	int r;

	if (!kind)
		return blm_fail(-ENOENT, "there is no kind \"%s\"; there are: %s", p->kind, blm_kinds_that_can(0, names, sizeof(names)));
	if (!family)
		return blm_fail(-ENOENT, "there is no hash \"%s\"; see `bloomery hashes`", p->hash);
	r = check_params(p);
	if (r == 0)
		r = kind->plan(ret, p);
	if (r == 0)
		r = check_family(kind, family, p, ret);
	*ret_kind = kind;
	*ret_family = family;
	return r;
}

static uint64_t first_part_at(uint64_t bytes)
{
	return round_up(BLM_HEADER_BYTES, bytes > BLM_HUGE_PAGE ? BLM_HUGE_PAGE : BLM_PART_ALIGN);
}

BLM_API int blm_plan(struct blm_plan *ret, const struct blm_params *params)
{
	const struct blm_kind *kind;
	const struct blm_family *family;
	struct blm_shape shape;
	int r = plan(params, &kind, &family, &shape);

	if (r < 0)
		return r;
	*ret = (struct blm_plan){
		.kind = kind->name, .cells = shape.cells, .probes = shape.probes,
		.data_bytes = shape.bytes, .file_bytes = first_part_at(shape.bytes) + shape.bytes,
		.capacity = shape.capacity, .rate = shape.rate,
		.predicted_rate = kind->rate_at(&shape, shape.capacity),
		.bits_per_key = (double)shape.cells * shape.cell_bits / (double)shape.capacity,
	};
	return 0;
}

/* ---- Creating ---- */

static int set_family(struct blm_making *making, const struct blm_family *family, const struct blm_params *p, uint8_t secret[BLM_SECRET_BYTES])
{
	struct blm_template_fields *t = &making->template;

	if (sodium_init() < 0)
		return blm_fail(-EIO, "the system gives no random numbers");
	t->family = htole32(family->id);
	t->tweak = htole64(p->tweak);
	t->seed_count = htole32(family->seeds);
	randombytes_buf(t->seeds, 8 * family->seeds);
	for (uint32_t i = 0; i < p->seed_count; i++)
		t->seeds[i] = htole64(p->seeds[i]);
	if (!family->keyed)
		return 0;
	if (p->secret)
		memcpy(secret, p->secret, BLM_SECRET_BYTES);
	else
		randombytes_buf(secret, BLM_SECRET_BYTES);
	blm_key_id(secret, t->key_id);
	making->secret = secret;
	return 0;
}

static int leave_empty(struct blm_view *view, const struct blm_view *old, void *context)
{
	return 0;
}

/* Where there is one, its replacement; where there is none, a new one; and again, where others make and drop in between. */
static int make_or_replace(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_making *making)
{
	struct blm_place place;
	int r = blm_place_set(&place, store, name);

	if (r < 0)
		return r;
	do {
		r = blm_replace(&place, making, leave_empty, NULL);
		if (r == 0 && ret)
			r = blm_open(ret, store, name, true);
		else if (r == -ENOENT)
			r = blm_make(ret, store, name, making, NULL, NULL);
	} while (r == -EEXIST);
	blm_place_clear(&place);
	return r;
}

BLM_API int blm_create(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_params *params)
{
	uint8_t secret[BLM_SECRET_BYTES];
	struct blm_making making = { .parts = 1, .mode = params->mode, .sparse = params->sparse };
	const struct blm_family *family;
	int r = plan(params, &making.kind[0], &family, &making.shape[0]);

	if (r == 0)
		r = set_family(&making, family, params, secret);
	if (r < 0)
		return r;
	making.capacity = making.shape[0].capacity;
	making.rate = making.shape[0].rate = fmax(making.shape[0].rate, DBL_MIN);	/* predicted, it can be too small for a double */
	r = params->replace ? make_or_replace(ret, store, name, &making) : blm_make(ret, store, name, &making, NULL, NULL);
	sodium_memzero(secret, sizeof(secret));
	return r;
}

/* ---- From a made file to a handle ---- */

int blm_unborn_handle(struct blm_filter **ret, struct blm_unborn *unborn, struct blm_place *place, const uint8_t *secret)
{
	struct blm_view *view = unborn->view;
	struct blm_filter *f;
	int r;

	unborn->view = NULL;
	blm_unborn_end(unborn);
	for (unsigned i = 0; i < view->parts; i++)
		view->part[i].alone = false;
	f = ret ? new_handle(place, true) : NULL;
	if (!f) {
		blm_view_free(view);
		return ret ? blm_fail(-ENOMEM, "%s: out of memory", place->shown) : 0;
	}
	atomic_init(&f->view, view);
	r = keep_given_secret(f, secret);
	if (r < 0) {
		free_handle(f);
		return r;
	}
	enlist(f);
	*ret = f;
	return 0;
}

int blm_make(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_making *making,
	     int (*fill)(struct blm_view *view, void *context), void *context)
{
	struct blm_unborn unborn;
	struct blm_place place;
	int r = blm_place_set(&place, store, name);

	if (r < 0)
		return r;
	r = blm_place_is_taken(&place);	/* before any space is taken; the naming itself looks again */
	if (r == 0)
		r = blm_unborn_make(&unborn, &place, making);
	if (r == 0) {
		if (fill)
			r = fill(unborn.view, context);
		if (r == 0)
			r = blm_unborn_publish(&unborn, &place, false);
		if (r == 0)
			r = blm_unborn_handle(ret, &unborn, &place, NULL);
		else
			blm_unborn_end(&unborn);
	}
	blm_place_clear(&place);
	return r;
}

/* ---- Changing ---- */

/* Raise `written` to the current epoch (format.h has the protocol). */
static void mark_written(struct blm_live *live)
{
	uint64_t epoch = load_acquire(&live->epoch.word), old = __atomic_load_n(&live->written.word, __ATOMIC_RELAXED);

	if (le64toh(old) >= epoch)
		return;
	while (le64toh(old) < epoch
	       && !__atomic_compare_exchange_n(&live->written.word, &old, htole64(epoch), true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	store_release(&live->boot.word, blm_boot_number());
}

static int may_change(struct blm_filter *f)
{
	int status;

	if (!f->write)
		return blm_fail(-EBADF, "%s: opened for reading only", f->place.shown);
	status = atomic_load(&f->status);
	if (status == -ESTALE)
		return blm_fail(status, "%s: the filter was dropped", f->place.shown);
	return status < 0 ? blm_fail(status, "%s: was replaced, and what replaced it does not open: %s", f->place.shown,
				     blm_strerror(status)) : 0;
}

int blm_change_begin(struct blm_filter *f, struct blm_view **ret)
{
	struct blm_view *view = current_view(f);
	int r = may_change(f);

	if (r < 0)
		return r;
	if (le64toh(view->constant.flags) & BLM_FLAG_SEALED)
		return blm_fail(-EROFS, "%s: sealed, so it does not change", f->place.shown);
	mark_written(live_of(view));
	*ret = view;
	return 0;
}

/*
 * The state is looked at after the last bit is set, with a full fence in between; who replaces sets the state, with a full
 * fence, before it copies. So either the copy has the bits, or the writer sees the state. Then it waits for the replacer,
 * who holds the lock until all is done or it is dead, and looks the name up: another file, and the keys go into that; the
 * same one, and the replacer died, so the state is set right and the keys stand.
 */
static int settle(struct blm_filter *f, struct blm_view *view)
{
	int fd = blm_view_fd(f, view), r;

	if (fd < 0)
		return fd;
	r = blm_lock_exclusive(&view->lock, fd);
	if (r < 0)
		return r;
	r = blm_place_is(&f->place, view->image.device, view->image.inode, view->constant.uuid);
	if (r == 1 && state_of(load_acquire(&live_of(view)->state.word)) != BLM_LIVE)
		set_state(view, BLM_LIVE);
	if (r == 1)
		atomic_store(&view->seen_state, load_acquire(&live_of(view)->state.word));
	blm_unlock_exclusive(&view->lock, fd);
	if (r == 1)
		return 0;
	return -EAGAIN;		/* begin() renews the view, and says if there is nothing to go on to */
}

int blm_change_end(struct blm_filter *f, struct blm_view *view)
{
	uint64_t state;

	full_fence();
	mark_written(live_of(view));
	state = load_acquire(&live_of(view)->state.word);
	if (state == atomic_load_explicit(&view->seen_state, memory_order_relaxed) && state_of(state) == BLM_LIVE)
		return 0;
	return settle(f, view);
}

int blm_change_begin_held(struct blm_filter *f, struct blm_view **ret)
{
	for (;;) {
		struct blm_view *view;
		int r = blm_change_begin(f, &view), fd;

		if (r < 0)
			return r;
		fd = blm_view_fd(f, view);
		if (fd < 0)
			return fd;
		r = blm_lock_shared(&view->lock, fd);
		if (r < 0)
			return r;
		/* nobody is replacing now, so what the name says is true until end() */
		if (is_current(view)) {
			*ret = view;
			return 0;
		}
		r = blm_place_is(&f->place, view->image.device, view->image.inode, view->constant.uuid);
		if (r == 1) {
			atomic_store(&view->seen_state, load_acquire(&live_of(view)->state.word));
			*ret = view;
			return 0;
		}
		blm_unlock_shared(&view->lock, fd);
		if (r < 0 && r != -ENOENT)
			return r;
	}
}

void blm_change_end_held(struct blm_filter *f, struct blm_view *view)
{
	full_fence();
	mark_written(live_of(view));
	blm_unlock_shared(&view->lock, view->image.fd);
	(void)f;
}

int blm_view_fd(struct blm_filter *f, struct blm_view *view)
{
	int r = 0;

	pthread_mutex_lock(&f->renewing);
	if (view->image.fd < 0) {
		struct blm_view *again;
		int fd = blm_place_open(&f->place, f->write);

		r = fd;
		if (fd >= 0)
			r = blm_view_make(&again, fd, f->place.shown, f->write);
		if (fd >= 0 && r == 0) {
			if (again->image.device == view->image.device && again->image.inode == view->image.inode) {
				view->image.fd = again->image.fd;
				again->image.fd = -1;
			} else {
				r = blm_fail(-ESTALE, "%s: was replaced before a forked process could open it", f->place.shown);
			}
			blm_view_free(again);
		}
	}
	pthread_mutex_unlock(&f->renewing);
	return r < 0 ? r : view->image.fd;
}

/* ---- Counting ---- */

static unsigned my_stripe(void)
{
	static _Thread_local unsigned stripe;	/* number + 1 */

	if (!stripe) {
		unsigned random = 0;

		randombytes_buf(&random, sizeof(random));
		stripe = random % BLM_STRIPES + 1;
	}
	return stripe - 1;
}

void blm_count_keys(struct blm_view *view, uint64_t n)
{
	if (n)
		add_relaxed(&view->image.header->stripe[my_stripe()].keys, n);
}

uint64_t blm_counted_keys(const struct blm_view *view)
{
	uint64_t sum = 0;

	for (int i = 0; i < BLM_STRIPES; i++)
		sum += load_relaxed(&view->image.header->stripe[i].keys);
	return sum;
}

int blm_cannot(const struct blm_view *view, const struct blm_filter *f, const char *what, unsigned can)
{
	char names[256];

	return blm_fail(-EOPNOTSUPP, "%s: a %s filter cannot %s; these kinds can: %s", f->place.shown, view->part[0].kind->name, what,
			blm_kinds_that_can(can, names, sizeof(names)));
}
