/* difference.c - what two filters of one template differ by: how many keys, and which */
#include "handle/handle.h"
#include "stats/tally.h"
#include "base/phase.h"
#include "durable/blocksum.h"

#include <math.h>
#include <stdlib.h>

/* ---- How many ---- */

static int count_piece(const struct blm_scan *scan, struct blm_worker *worker, uint64_t at,
		       size_t bytes)
{
	const struct blm_part *a = &scan->views[0]->part[scan->part],
		*b = &scan->views[1]->part[scan->part];

	a->kind->differ(a, b, at, bytes, &worker->tally[0]);
	return 0;
}

static int count_difference(const struct blm_view *const view[2], struct blm_value *ret)
{
	const struct blm_part *part = &view[0]->part[0];
	struct blm_tally *tally = calloc(1, sizeof(*tally));
	int r;

	if (!tally)
		return blm_fail(-ENOMEM, "out of memory");
	BLM_PHASE("comparing", blm_scan_bytes(view[0]));
	r = blm_scan(&(struct blm_scan){ .views = view, .count = 2, .tallies = 1,
					 .most = BLM_PIECE, .piece = count_piece }, tally);
	if (r == 0)
		ret->value = part->kind->difference_of(&part->shape, tally, &ret->error);
	free(tally);
	return r;
}

BLM_API int blm_difference_estimate(const struct blm_filter *a, const struct blm_filter *b,
				    struct blm_value *ret)
{
	BLM_CRITICAL_SECTION;
	const struct blm_filter *const f[2] = { a, b };
	const struct blm_view *view[2];
	struct blm_comparison c;
	int r = blm_views_at_once(view, f, 2);

	if (r < 0)
		return r;
	if (view[0]->part[0].kind->differ) {
		r = blm_check_template(view[0], a->place.display, view[1], b->place.display);
		return r < 0 ? r : count_difference(view, ret);
	}
	r = blm_compare(a, b, &c);
	if (r == 0)
		*ret = c.difference;
	return r;
}

/* ---- Which ---- */

struct key {
	size_t len;
	bool in_b;
	uint8_t bytes[];
};

struct keys {
	struct key **key;
	size_t count, capacity;
};

static int keep(void *context, const struct blm_key *key, bool in_b)
{
	struct keys *k = context;
	struct key *copy = malloc(sizeof(*copy) + key->len);

	if (copy && k->count == k->capacity) {
		size_t capacity = k->capacity ? 2 * k->capacity : 64;
		struct key **more = realloc(k->key, capacity * sizeof(*more));

		if (more) {
			k->key = more;
			k->capacity = capacity;
		}
	}
	if (!copy || k->count == k->capacity) {
		free(copy);
		return -ENOMEM;
	}
	copy->len = key->len;
	copy->in_b = in_b;
	memcpy(copy->bytes, key->bytes, key->len);
	k->key[k->count++] = copy;
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct key *x = *(struct key *const *)a, *y = *(struct key *const *)b;
	int by = memcmp(x->bytes, y->bytes, x->len < y->len ? x->len : y->len);

	return by ? by : x->len != y->len ? (x->len < y->len ? -1 : 1) : x->in_b - y->in_b;
}

static void forget(struct keys *k)
{
	for (size_t i = 0; i < k->count; i++)
		free(k->key[i]);
	free(k->key);
}

/*
 * Both filters at one moment. Several locks are always taken in one order; one file is locked once.
 */
static int hold(struct blm_quiesced quiesced[2], bool held[2], const struct blm_filter *const f[2],
		const struct blm_view *const view[2])
{
	const struct blm_image *x = &view[0]->image, *y = &view[1]->image;
	int first = x->device != y->device ? x->device > y->device : x->inode > y->inode, r;

	held[0] = held[1] = false;
	r = blm_quiesce_begin(&quiesced[first], f[first], (struct blm_view *)view[first]);
	held[first] = r == 0;
	if (r == 0 && (x->device != y->device || x->inode != y->inode)) {
		r = blm_quiesce_begin(&quiesced[!first], f[!first],
				      (struct blm_view *)view[!first]);
		held[!first] = r == 0;
	}
	return r;
}

/*
 * Or damaged: a sealed file shows that. Damaged bytes are never taken for keys, so it is early
 * enough to check now.
 */
static int too_many(const struct blm_filter *const f[2], const struct blm_view *const view[2])
{
	const struct blm_shape *shape = &view[0]->part[0].shape;
	struct blm_value keys;
	int r = 0;

	for (int i = 0; r == 0 && i < 2; i++)
		r = blm_blocksum_intact(view[i], 0, 0, shape->bytes, f[i]->place.display);
	if (r == 0)
		r = count_difference(view, &keys);

	return r < 0 ? r : blm_fail(-EXFULL, "%s and %s: about %.0f keys differ, ± %.0f, more "
				    "than %llu cells can list; make them for %.0f keys, unless a "
				    "key was added twice to one", f[0]->place.display,
				    f[1]->place.display, keys.value, keys.error,
				    (unsigned long long)shape->cells, ceil(fmax(keys.value + 3
					    * keys.error, 1.25 * (double)shape->capacity)));
}

static int find(struct keys *ret, const struct blm_filter *const f[2],
		const struct blm_view *const view[2])
{
	struct blm_quiesced quiesced[2];
	bool held[2];
	int r = hold(quiesced, held, f, view);

	if (r == 0)
		r = view[0]->part[0].kind->differences(&view[0]->part[0], &view[1]->part[0],
						       &view[0]->hasher, keep, ret);
	if (r == -EXFULL)
		r = too_many(f, view);
	if (r == -ENOMEM)
		r = blm_fail(r, "%s: out of memory", f[0]->place.display);
	for (int i = 0; i < 2; i++)
		if (held[i])
			blm_quiesce_end(&quiesced[i]);
	for (int i = 0; r == 0 && i < 2; i++)
		r = blm_check_sigbus(view[i], f[i]->place.display);
	return r;
}

BLM_API int blm_difference_list(const struct blm_filter *a, const struct blm_filter *b,
			    int (*each)(void *context, const void *key, size_t len, bool in_b),
			    void *context)
{
	BLM_CRITICAL_SECTION;
	const struct blm_filter *const f[2] = { a, b };
	const struct blm_view *view[2];
	struct keys keys = { 0 };
	int r = blm_must_have(each, "each");

	if (r == 0)
		r = blm_views_at_once(view, f, 2);
	if (r == 0)
		r = blm_check_template(view[0], a->place.display, view[1], b->place.display);
	if (r == 0 && !view[0]->part[0].kind->differences)
		r = blm_cannot(view[0], a, "list the keys that differ", BLM_CAN_LIST);
	if (r == 0)
		r = find(&keys, f, view);
	if (r == 0 && keys.count)
		qsort(keys.key, keys.count, sizeof(*keys.key), by_bytes);
	for (size_t i = 0; r == 0 && i < keys.count; i++)
		r = each(context, keys.key[i]->bytes, keys.key[i]->len, keys.key[i]->in_b);
	forget(&keys);
	return r;
}
