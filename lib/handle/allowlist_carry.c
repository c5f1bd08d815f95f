/*
 * allowlist_carry.c - which keys of an allowlist move to the file that replaces a filter
 *
 * The list may change while the new file is filled, so one look at it is not enough. At the
 * beginning its keys are stored here as a table of hashes, each with a note whether that key was
 * given to the new file. The list itself moves in the transaction that publishes the new file
 * (catalog/catalog_allowlist.c). For a key that was listed in between, only the new file's answer
 * is known. Two keys of one hash share a note: then a key leaves the list that could have stayed,
 * which costs at most one false positive.
 */
#include "handle/allowlist_carry.h"
#include "base/checksum.h"
#include "catalog/catalog.h"
#include "base/random.h"
#include "place/store_dir.h"

struct blm_allowlist_carry {
	bool all;
	_Atomic bool unnamed;
	/* of the hash; slots - 1, which is above twice the number of keys */
	uint64_t seed, mask;
	struct slot {
		uint64_t hash;		/* 0: free */
		_Atomic bool given;
	} *slot;
};

const struct blm_allowlist_carry blm_allowlist_carry_all = { .all = true };

static uint64_t hash_of(const struct blm_allowlist_carry *carry, const void *key, size_t len)
{
	uint64_t hash = blm_checksum_seeded(key, len, carry->seed);

	return hash + !hash;
}

/* Its place in the table, or the place for it. */
static struct slot *find(const struct blm_allowlist_carry *carry, uint64_t hash)
{
	uint64_t i = hash & carry->mask;

	while (carry->slot[i].hash && carry->slot[i].hash != hash)
		i = (i + 1) & carry->mask;
	return &carry->slot[i];
}

/* ---- The list, as it is when the filling begins ---- */

static int read_list(struct blm_allowlist_carry *carry, struct blm_catalog *catalog,
		     const uint8_t uuid[16], uint64_t most)
{
	uint8_t after[32] = { 0 }, *bytes = malloc(BLM_ALLOW_KEY_MAX);
	uint64_t count = 0;
	size_t len;
	int r = bytes ? 1 : blm_fail(-ENOMEM, "out of memory");

	/* a key beyond those counted is treated like one that came later */
	while (r > 0 && count < most && (r = blm_catalog_next_listed(catalog, uuid, after, bytes,
		&len)) > 0)
		if (r == 1) {
			uint64_t hash = hash_of(carry, bytes, len);

			find(carry, hash)->hash = hash;
			count++;
		}
	free(bytes);
	return r < 0 ? r : 0;
}

static int make(struct blm_allowlist_carry **ret, struct blm_catalog *catalog,
		const uint8_t uuid[16])
{
	int64_t count = blm_catalog_count_listed(catalog, uuid);
	struct blm_allowlist_carry *carry;
	uint64_t slots = 16;
	int r;

	if (count <= 0)
		return (int)count;
	while (slots <= 2 * (uint64_t)count)
		slots *= 2;
	carry = calloc(1, sizeof(*carry));
	if (!carry || !(carry->slot = calloc(slots, sizeof(*carry->slot)))) {
		blm_allowlist_carry_end(carry);
		return blm_fail(-ENOMEM, "out of memory for a list of %lld keys", (long long)count);
	}
	carry->mask = slots - 1;
	r = blm_random(&carry->seed, sizeof(carry->seed), "a list of false positives");
	if (r == 0)
		r = read_list(carry, catalog, uuid, (uint64_t)count);
	if (r < 0)
		blm_allowlist_carry_end(carry);
	else
		*ret = carry;
	return r;
}

int blm_allowlist_carry_begin(struct blm_allowlist_carry **ret, const struct blm_place *place)
{
	struct blm_entry *entry;
	int r;

	*ret = NULL;
	if (!place->store)
		return 0;
	entry = malloc(sizeof(*entry));
	r = entry ? blm_catalog_get(place->store->catalog, place->name, entry)
		: blm_fail(-ENOMEM, "%s: out of memory", place->display);
	if (r == 0)
		r = make(ret, place->store->catalog, entry->constant.uuid);
	free(entry);
	return r == -ENOENT || r == -EUCLEAN ? 0 : r;	/* the replacing process reports it */
}

struct blm_allowlist_carry *blm_allowlist_carry_end(struct blm_allowlist_carry *carry)
{
	if (carry)
		free(carry->slot);
	free(carry);
	return NULL;
}

/* ---- Keys go by ---- */

static void note(struct blm_allowlist_carry *carry, const void *key, size_t len)
{
	struct slot *slot = find(carry, hash_of(carry, key, len));

	if (slot->hash)
		atomic_store_explicit(&slot->given, true, memory_order_relaxed);
}

void blm_allowlist_carry_note(struct blm_allowlist_carry *carry, const struct blm_key *keys,
			      size_t count)
{
	for (size_t i = 0; carry && i < count; i++)
		note(carry, keys[i].bytes, keys[i].len);
}

void blm_allowlist_carry_note_fixed(struct blm_allowlist_carry *carry, const uint8_t *keys,
				    size_t width, size_t count)
{
	for (size_t i = 0; carry && i < count; i++)
		note(carry, keys + i * width, width);
}

void blm_allowlist_carry_note_unnamed(struct blm_allowlist_carry *carry)
{
	if (carry)
		atomic_store(&carry->unnamed, true);
}

/* ---- The new file is complete ---- */

static bool contains(const struct blm_view *view, const struct blm_key *key)
{
	struct blm_hashed hashed = { .key = key, .by = &view->hasher };

	if (!wants_keys(&view->hasher))
		view->hasher.family->hash(&view->hasher, key, &hashed.hash);
	return view->root.kind->contains(&view->root, &hashed);
}

bool blm_allowlist_carry_keeps(const struct blm_allowlist_carry *carry, const struct blm_view *new,
			       const struct blm_key *key)
{
	const struct slot *slot = NULL;

	if (carry && carry->all)
		return true;
	if (carry && !carry->unnamed)
		slot = find(carry, hash_of(carry, key->bytes, key->len));
	return slot && slot->hash ? !slot->given : !contains(new, key);
}
