/*
 * delta.c - the difference that an update made to a filter, for readers with the older filter
 *
 * The data of an updated exact filter begin with its earlier data (exact.h), so a delta is the rest
 * of the data, and the new numbers of the header. Both states are identified by a hash of their
 * data, so a delta fits every copy of a filter, whatever its uuid.
 */
#include "durable/blocksum.h"
#include "hash/one_hash.h"
#include "kind/common/options.h"
#include "make/new_filter.h"
#include "base/phase.h"

#define MAGIC "BLMDELTA"

enum { VERSION = 1 };

/* In the delta, little-endian; the bytes that are added follow. */
struct delta_head {
	char magic[8];
	uint32_t version, kind;
	uint64_t base_bytes, base_hash[2], new_hash[2];
	uint64_t capacity, rate, keys;
	uint64_t args[2];		/* the kind's; the others are 0 */
	uint64_t added_bytes;
	uint64_t check;			/* lo of XXH3-128 of all before it */
};
static_assert(sizeof(struct delta_head) == 112, "format-spec.md, Deltas");

/*
 * The seed distinguishes filters with other hashes, whose data for no key, or for few keys, can be
 * equal.
 */
static void hash_data(uint64_t ret[2], uint64_t hash_id, const uint8_t *bytes, uint64_t count)
{
	struct blm_hash hash = blm_xxh3_any(bytes, count, hash_id);

	ret[0] = htole64(hash.lo);
	ret[1] = htole64(hash.hi);
}

static uint64_t check_of(const struct delta_head *head)
{
	return htole64(blm_xxh3_any(head, offsetof(struct delta_head, check), 0).lo);
}

static int cannot(const struct blm_view *view, const char *display)
{
	char names[256];

	return blm_fail(-EOPNOTSUPP, "%s: %s filters have no deltas; these kinds have them: %s",
			display, view->root.kind->name,
			blm_kinds_that_can(BLM_CAN_EXCLUDE, names, sizeof(names)));
}

static int damaged(const char *display)
{
	return blm_fail(-EUCLEAN, "%s: damaged: its layers do not end where its data end; build it "
			"again from its keys",
			display);
}

/* ---- Making one ---- */

static int check_pair(const struct blm_view *const *view, const struct blm_filter *const *f)
{
	const struct blm_part *new = &view[0]->root, *old = &view[1]->root;

	BLM_PHASE("comparing", old->shape.bytes + new->shape.bytes);
	for (int i = 0; i < 2; i++) {
		if (!view[i]->root.kind->revise)
			return cannot(view[i], f[i]->place.display);
		if (blm_blocksum_intact(view[i], 0, 0, view[i]->root.shape.bytes,
					f[i]->place.display) < 0)
			return -EUCLEAN;
		if (!view[i]->root.kind->intact(&view[i]->root))
			return damaged(f[i]->place.display);
		blm_phase_at(blm_phase_done() + view[i]->root.shape.bytes);
	}
	if (old->shape.bytes > new->shape.bytes || view[0]->hash_id != view[1]->hash_id
	    || memcmp(old->bytes, new->bytes, old->shape.bytes))
		return blm_fail(-EMEDIUMTYPE, "%s: not an update of %s, so a delta would be no "
				"smaller than the filter", f[0]->place.display,
				f[1]->place.display);
	return 0;
}

static int make_delta(const struct blm_view *new, const struct blm_view *old, void **ret,
		      size_t *ret_len)
{
	const struct blm_shape *s = &new->root.shape;
	uint64_t base = old->root.shape.bytes;
	struct delta_head head = {
		.version = htole32(VERSION), .kind = htole32(new->root.kind->id),
		.base_bytes = htole64(base), .capacity = htole64(s->capacity),
		.rate = htole64(blm_bits_of(s->rate)), .keys = htole64(blm_counted_keys(new)),
		.args = { htole64(s->args[0]), htole64(s->args[1]) },
		.added_bytes = htole64(s->bytes - base),
	};
	uint8_t *bytes = malloc(sizeof(head) + (s->bytes - base));

	if (!bytes)
		return blm_fail(-ENOMEM, "no memory for a delta of %llu bytes",
				(unsigned long long)(s->bytes - base));
	BLM_PHASE("exporting", s->bytes);
	memcpy(head.magic, MAGIC, sizeof(head.magic));
	hash_data(head.base_hash, old->hash_id, old->root.bytes, base);
	hash_data(head.new_hash, new->hash_id, new->root.bytes, s->bytes);
	head.check = check_of(&head);
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), new->root.bytes + base, s->bytes - base);
	blm_phase_at(s->bytes);
	*ret = bytes;
	*ret_len = sizeof(head) + (s->bytes - base);
	return 0;
}

BLM_API int blm_delta_make(const struct blm_filter *f, const struct blm_filter *old, void **ret,
			   size_t *ret_len)
{
	BLM_CRITICAL_SECTION;
	const struct blm_filter *const both[2] = { f, old };
	const struct blm_view *view[2];
	int r = blm_views_at_once(view, both, 2);

	if (r == 0)
		r = check_pair(view, both);
	if (r == 0)
		r = make_delta(view[0], view[1], ret, ret_len);
	for (int i = 0; r == 0 && i < 2; i++) {
		r = blm_check_sigbus(view[i], both[i]->place.display);
		if (r < 0)
			free(*ret);
	}
	return r;
}

/* ---- Applying one ---- */

struct applying {
	struct blm_place place;
	struct delta_head head;
	const uint8_t *added;
	bool had;			/* it was applied before */
};

static int no_delta(const char *what)
{
	return blm_fail(-EBADMSG, "the delta %s; get it again", what);
}

static int take_head(struct applying *a, const void *bytes, size_t len)
{
	const struct delta_head *h = &a->head;

	if (len < sizeof(*h) || memcmp(bytes, MAGIC, 8))
		return blm_fail(-EBADMSG, "these bytes are not a delta");
	memcpy(&a->head, bytes, sizeof(a->head));
	if (h->check != check_of(h))
		return no_delta("is damaged");
	if (le32toh(h->version) != VERSION)
		return blm_fail(-EPROTONOSUPPORT, "the delta has version %u, which this program "
				"does not know; a later version may", le32toh(h->version));
	if (le64toh(h->added_bytes) != len - sizeof(*h))
		return no_delta("is shorter or longer than it says");
	a->added = (const uint8_t *)bytes + sizeof(*h);
	return 0;
}

static bool is_state(const struct blm_view *view, const uint64_t hash[2])
{
	uint64_t is[2];

	hash_data(is, view->hash_id, view->root.bytes, view->root.shape.bytes);
	return !memcmp(is, hash, sizeof(is));
}

static void new_shape(const struct applying *a, struct blm_shape *shape)
{
	const struct delta_head *h = &a->head;

	shape->bytes = le64toh(h->base_bytes) + le64toh(h->added_bytes);
	shape->cells = shape->bytes * 8;
	shape->capacity = le64toh(h->capacity);
	shape->rate = blm_double_of(le64toh(h->rate));
	shape->args[0] = le64toh(h->args[0]);
	shape->args[1] = le64toh(h->args[1]);
}

/* An update that changed no answer left the data as they were, but changed the numbers. */
static bool has_numbers(const struct applying *a, const struct blm_view *view)
{
	const struct blm_shape *s = &view->root.shape;
	struct blm_shape new = *s;

	new_shape(a, &new);
	return new.capacity == s->capacity && new.rate == s->rate
		&& !memcmp(new.args, s->args, sizeof(new.args))
		&& blm_counted_keys(view) == le64toh(a->head.keys);
}

static int change(struct blm_spec *spec, const struct blm_view *old, void *context)
{
	struct applying *a = context;
	const struct blm_part *from = &old->root;
	int r;

	if (!from->kind->revise || le32toh(a->head.kind) != from->kind->id)
		return cannot(old, a->place.display);
	BLM_PHASE("checking", from->shape.bytes);
	r = blm_blocksum_intact(old, 0, 0, from->shape.bytes, a->place.display);
	if (r < 0)
		return r;
	if (!from->kind->intact(from))
		return damaged(a->place.display);
	a->had = is_state(old, a->head.new_hash)
		&& (a->head.added_bytes || has_numbers(a, old));
	blm_phase_at(from->shape.bytes);
	if (a->had)
		return -EALREADY;
	if (from->shape.bytes != le64toh(a->head.base_bytes) || !is_state(old, a->head.base_hash))
		return blm_fail(-ESTALE, "%s: the delta is for another state of the filter: apply "
				"the deltas in their order, or get the filter anew",
				a->place.display);
	new_shape(a, &spec->root);
	if (!(spec->root.rate > 0 && spec->root.rate < 1)
	    || !spec->of->valid(&spec->root) || !blm_options_valid(spec->of, spec->root.args))
		return no_delta("has numbers that no filter has");
	spec->shape[0] = spec->root;
	spec->capacity = spec->root.capacity;
	spec->rate = spec->root.rate;
	return 0;
}

static int fill(struct blm_view *new, const struct blm_view *old, void *context)
{
	const struct applying *a = context;
	uint64_t base = old->root.shape.bytes;

	BLM_PHASE("copying", new->root.shape.bytes);
	memcpy(new->root.bytes, old->root.bytes, base);
	blm_phase_at(base);
	memcpy(new->root.bytes + base, a->added, le64toh(a->head.added_bytes));
	mark_range(&new->root, new->root.bytes, new->root.shape.bytes);
	blm_phase_at(new->root.shape.bytes);
	if (!is_state(new, a->head.new_hash) || !new->root.kind->intact(&new->root))
		return no_delta("is damaged");
	blm_count_keys(new, le64toh(a->head.keys));
	return 0;
}

BLM_API int blm_delta_apply(struct blm_store *store, const char *name, const uint8_t *secret,
			    const void *bytes, size_t len)
{
	struct applying a = { .added = NULL };
	struct blm_place named;
	int r = take_head(&a, bytes, len);

	if (r == 0)
		r = blm_place_set(&named, store, name);
	if (r < 0)
		return r;
	r = blm_place_follow(&a.place, &named);
	blm_place_clear(&named);
	if (r < 0)
		return r;
	/*
	 * a delta does not name its keys: keys that the new data answer with yes leave the
	 * allowlist
	 */
	r = blm_replace_changed(&a.place, secret, NULL, change, fill, &a);
	blm_place_clear(&a.place);
	return a.had ? 0 : r < 0 ? r : 1;
}
