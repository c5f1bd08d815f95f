/*
 * allowlist.c - keys that are known false positives of a filter: a list in the catalog
 *
 * A listed key that is added to the filter later must not be hidden by the list. Adding it changes
 * no bit, because all of its bits are set already. So a writer of a filter with a list takes its
 * keys off the list, and must know that there is one. The protocol uses the state word of
 * replace.c:
 *
 *   lister     takes BLM_LOCK_REPLACE exclusively; looks whether the name still leads here; state
 *              := REPLACING; full fence; puts the keys on the list, one transaction; state := LIVE;
 *              gives the lock back.
 *   adder      loads the state word, then asks the catalog whether there is a list, unless its view
 *              has the answer under the same word. Sets its bits. If there is a list, it takes its
 *              keys off, one transaction. Full fence; looks at the state. If the word is the one
 *              under which it asked, and LIVE: no list has come since, or it will come after. Else
 *              it waits for the lister, dead or done, as for a replacer, and repeats all of it. The
 *              word and the answer are its own: other threads refresh those of the view.
 *   claimer,   and all holders of BLM_LOCK_REPLACE, shared or present (presence.h): no list comes
 *              while they hold it, so they ask, change, take off.
 *   remover    does so too. It looks up which keys are listed, and leaves those: they are not in
 *              the filter, and removing their cells would remove other keys.
 *   reader     asks the filter first, then the list. It finds a key listed only if no call that
 *              added the key had returned before.
 *
 * Opening a filter of a store for changes asks the catalog at once, because it has the catalog
 * open. So changes of a filter without a list never wait for the catalog.
 *
 * If several callers claim one listed key, the caller whose transaction took it off gets "new". The
 * filter has the key already, so a claim alone changes nothing. Where an add does change something,
 * in kinds that count, remove or forget, the key is added too, within the transaction and before it
 * ends. A caller that dies there leaves the key listed and perhaps added, never off the list and
 * missing. The callers that lost add nothing.
 *
 * A list is stored under the uuid of the file. A file that takes its place takes over, in the same
 * transaction, the keys that are still false positives (allowlist_carry.h). So an adder whose file
 * was replaced finds its keys on the new list, and takes them off. Unions, and other changes by
 * keys without names, take all keys off. Keys that come as hashes are refused, because they cannot
 * be compared with the list. A caller that dies before its keys are off the list has not returned.
 * The catalog's lock is the innermost, as everywhere.
 */
#include "handle/allowlist.h"
#include "handle/allowlist_carry.h"
#include "catalog/catalog.h"
#include "place/store_dir.h"

enum { SOME = 256 };	/* keys looked up in one transaction */

/* In a view: the state word under which the catalog was asked last, and its answer. */
enum { ASKED = BLM_ALLOW_ASKED, LISTED = BLM_ALLOW_LISTED };

int blm_allow_look_up(const struct blm_place *place, struct blm_view *view, struct blm_asked *ret)
{
	uint64_t word = atomic_load(&view->asked), state = load_acquire(&live_of(view)->state.word);
	int r;

	*ret = (struct blm_asked){ .state = state };
	if ((word & ~(uint64_t)LISTED) == (state | ASKED) && (state & 0xff) < LISTED) {
		ret->listed = word & LISTED;
		return 0;
	}
	r = blm_catalog_has_list(place->store->catalog, view->constant.uuid);
	if (r < 0)
		return r;
	ret->listed = r;
	if ((state & 0xff) < LISTED)
		atomic_store(&view->asked, state | ASKED | (r ? LISTED : 0));
	return 0;
}

/*
 * Nearly always none is on it: that is found out by a look-up, which others may do at the same
 * time.
 */
int64_t blm_allow_take_off(struct blm_filter *f, struct blm_view *view, const struct blm_key *keys,
			   size_t count, uint64_t *bits)
{
	struct blm_catalog *catalog = f->place.store->catalog;
	int64_t all = 0;

	for (size_t at = 0; at < count; at += SOME) {
		size_t some = count - at < SOME ? count - at : SOME;
		uint64_t off[SOME / 64];
		int64_t r = blm_catalog_find_listed(catalog, view->constant.uuid, keys + at, some,
						    NULL, off);

		if (r > 0)
			r = blm_catalog_take_listed(catalog, view->constant.uuid, keys + at, some,
						    off);
		if (r < 0)
			return r;
		for (size_t i = 0; r && bits && i < (some + 63) / 64; i++) {
			r -= __builtin_popcountll(off[i] & bits[at / 64 + i]);
			bits[at / 64 + i] |= off[i];
		}
		all += r;
	}
	return all;
}

int64_t blm_allow_find(struct blm_filter *f, struct blm_view *view, const struct blm_key *keys,
		       size_t count, uint64_t *ret_bits)
{
	return blm_catalog_find_listed(f->place.store->catalog, view->constant.uuid, keys, count,
				       NULL, ret_bits);
}

int blm_allow_claim(struct blm_filter *f, struct blm_view *view, const struct blm_key *keys,
		    size_t count, const uint64_t *listed, uint64_t *bits,
		    int (*give)(void *context, size_t i), void *context)
{
	uint64_t off[BLM_BATCH_WORDS];
	int64_t r = blm_catalog_take_listed_with(f->place.store->catalog, view->constant.uuid, keys,
						 count, listed, off, give, context);

	for (size_t i = 0; i < (count + 63) / 64; i++)
		bits[i] = (bits[i] & ~listed[i]) | (r < 0 ? 0 : off[i]);
	return r < 0 ? (int)r : 0;
}

int blm_allow_take_off_all(struct blm_filter *f, struct blm_view *view, struct blm_asked *ret)
{
	int r;

	if (f->lent)
		blm_allowlist_carry_note_unnamed(f->carry);
	r = blm_allow_ask(f, view, ret);
	return r == 0 && ret->listed ? blm_catalog_take_list(f->place.store->catalog,
							     view->constant.uuid) : r;
}

