/*
 * replace.c - one file in the place of another, in one step for everyone: publishing, clearing,
 * sealing, in-place AND
 *
 * The protocol, in the file that is being replaced (struct blm_live, state):
 *
 *   replacer   takes BLM_LOCK_REPLACE exclusively; looks whether the name still leads here; state
 *              := REPLACING; full fence; copies what it needs; state := YIELDING, and in a store
 *              waits until that is on the disk; puts the new file in place (rename(2), or a commit
 *              of the catalog: the one step); state := REPLACED; deletes the old file (a path's is
 *              gone already); gives the lock back.
 *   adder      sets its bits; full fence; looks at the state. LIVE: the copy, if there is one,
 *              began later and has the bits. Else it waits for the lock, that is for the replacer,
 *              dead or done, and looks the name up: another file, and the keys are added again,
 *              there; the same, and the replacer died before its one step: state := LIVE, they
 *              stand.
 *   claimer    is present in a slot, or holds BLM_LOCK_REPLACE shared, for its batch, so nothing is
 *              replaced under it. Taking the lock exclusively waits for both (presence.h).
 *   reader     loads the state word once a call. Changed: it looks the name up (view.c).
 *
 * Dropping is the same with DROPPED, and nothing put in place (drop.c). A lister of false positives
 * acts as the replacer, and leaves the file in its place (allowlist.c). In a store the commit also
 * notes which file it took out, so that after a kill or a power cut that kept the commit, and not
 * the deletion of that file, `verify` knows it for what it is (orphans.c).
 *
 * A process that dies leaves its lock to the next one. The state that it leaves means nothing once
 * the lock is free, as does that of a copied file. The word's upper bits count every change, so
 * that no state is taken for an earlier one.
 */
#include "handle/allowlist_carry.h"
#include "handle/exclusive.h"
#include "catalog/catalog.h"
#include "make/replace.h"
#include "place/store_dir.h"
#include "file/two_slots.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void unlock(struct blm_view *view)
{
	blm_unlock_exclusive(&view->lock, view->image.fd);
}

/*
 * A rename that was cut short left another name in the file's record, which `verify` believes. This
 * takes the lock under which records are written: a process that renames the file right now writes
 * after us.
 */
static void mend_name(const struct blm_place *place, struct blm_view *view)
{
	const char *name = place->name;
	struct blm_record record;

	if (blm_last_record(view->image.header, view->constant.uuid, &record)
	    && (le32toh(record.name_bytes) != strlen(name)
		|| memcmp(record.name, name, strlen(name)))
	    && blm_place_is(place, view->image.device, view->image.inode, view->constant.uuid)
	    == 1) {
		memset(record.name, 0, sizeof(record.name));
		memcpy(record.name, name, strlen(name));
		record.name_bytes = htole32((uint32_t)strlen(name));
		blm_next_record(view->image.header, view->constant.uuid, &record);
	}
}

/* The name and the state, on the disk. */
static int flush_header(const struct blm_place *place, struct blm_view *view)
{
	struct blm_header *header = view->image.header;
	int r = blm_lock_syncing(view);

	if (r < 0)
		return r;
	mend_name(place, view);
	r = blm_flush(view, &header->live, sizeof(*header) - offsetof(struct blm_header, live));
	blm_unlock_syncing(view);
	return r < 0 ? blm_fail(r, "%s: writing to its file failed: %s", place->display,
				strerror(-r)) : 0;
}

/*
 * YIELDING or DROPPED, and for a catalog also on the disk, with the right name: the file survives
 * its name there until it is deleted.
 */
int blm_announce(const struct blm_place *place, struct blm_view *view, enum blm_state state)
{
	int r;

	set_state(view, state);
	r = place->store ? flush_header(place, view) : 0;
	if (r < 0)
		set_state(view, BLM_LIVE);
	return r;
}

/* The new file has the old one's name and labels. */
static void keep_record(struct blm_view *new, const struct blm_view *old)
{
	struct blm_record record;

	if (blm_last_record(old->image.header, old->constant.uuid, &record))
		blm_next_record(new->image.header, new->constant.uuid, &record);
}

/*
 * The new file in the place of the old one: made while no one adds to the old file, or made before.
 */
struct replacing {
	const uint8_t *secret;			/* of the old one; NULL: read it from its place */
	const struct blm_spec *spec;	/* NULL: like the old one */
	bool seal;				/* and sealed */
	/* the spec of the old filter, but with this */
	int (*change)(struct blm_spec *spec, const struct blm_view *old, void *context);
	bool anew;				/* and not grown */
	int (*fill)(struct blm_view *view, const struct blm_view *old, void *context);
	void *context;
	struct blm_staged *made;
	const struct blm_allowlist_carry *carry;		/* what keys it has been given */
};

/* The keys of the list that are still false positives. */
struct keeping {
	const struct blm_allowlist_carry *carry;
	const struct blm_view *new;
};

static bool keeps(const void *context, const struct blm_key *key)
{
	const struct keeping *k = context;

	return blm_allowlist_carry_keeps(k->carry, k->new, key);
}

/*
 * If the process dies after this, the file may have been replaced or not: the catalog knows
 * (orphans.c).
 */
static int put(struct blm_filter *f, struct blm_view *old, struct blm_staged *staged,
	       const struct blm_allowlist_carry *carry)
{
	const struct keeping keeping = { carry, staged->view };
	int r = f->place.memory ? 0 : blm_new_file_take_rights(&staged->file, old->image.fd,
							       f->place.display);

	if (r == 0)
		r = blm_announce(&f->place, old, BLM_YIELDING);
	if (r < 0)
		return r;
	keep_record(staged->view, old);
	return blm_staged_publish(staged, &f->place,
				  &(struct blm_handover){ old->constant.uuid, keeps, &keeping });
}

static int make_and_put(struct blm_filter *f, struct blm_view *old, const struct replacing *with)
{
	struct blm_spec *spec;
	struct blm_staged staged;
	int r = 0;

	if (!with->spec && kind_takes_keys(old->root.kind)
	    && le64toh(old->constant.flags) & BLM_FLAG_SEALED)
		return blm_fail(-EROFS, "%s: sealed, so it does not change; blm_copy() makes a "
				"copy that is not sealed", f->place.display);
	spec = malloc(sizeof(*spec));
	if (!spec)
		return blm_fail(-ENOMEM, "%s: out of memory", f->place.display);
	if (with->spec) {
		*spec = *with->spec;
	} else {
		(with->anew ? blm_spec_anew : blm_spec_like)(spec, old);
		spec->sealed = with->seal;
		if (with->change)
			r = with->change(spec, old, with->context);
	}
	if (r == 0)
		r = blm_staged_make(&staged, &f->place, spec);
	free(spec);
	if (r < 0)
		return r;
	staged.secret_is_kept = !with->spec;
	r = with->fill(staged.view, old, with->context);
	if (r == 0)
		r = blm_check_sigbus(old, f->place.display);
	if (r == 0)
		r = put(f, old, &staged, with->carry);
	blm_staged_end(&staged);
	return r;
}

/*
 * Deletes its file, and its secret if the new file has another. The secret of a path stays: copies
 * and links of the file need it.
 */
static void forget(const struct blm_place *place, const struct blm_view *old,
		   const struct replacing *with)
{
	const uint8_t *key_id = old->constant.template.key_id;
	const uint8_t *new_id = with->made ? with->made->view->constant.template.key_id : with->spec
		? with->spec->template.key_id : key_id;

	blm_place_forget(place, old->constant.uuid);
	if (place->store && memcmp(key_id, new_id, 8))
		blm_store_lose_secret(place->store, key_id);
}

/*
 * For a path, flushing the folder may fail after the one step: otherwise a process that has just
 * opened the old file would take it for the filter. In a store another filter may have the name
 * now, and this file a new one.
 */
static bool was_replaced(const struct blm_place *place, const struct blm_view *old)
{
	char reason[512];
	int r;

	if (place->store)
		return false;
	snprintf(reason, sizeof(reason), "%s", blm_error_message());
	r = blm_place_is(place, old->image.device, old->image.inode, old->constant.uuid);
	blm_fail(0, "%s", reason);
	return r == 0;
}

static int replace(const struct blm_place *place, const struct replacing *with)
{
	BLM_CRITICAL_SECTION;
	struct blm_place final;
	struct blm_filter *f;
	struct blm_view *old;
	int r = blm_place_follow(&final, place);

	if (r < 0)
		return r;
	r = blm_filter_open(&f, &final, true, with->secret);
	if (r < 0)
		blm_place_clear(&final);
	if (r == -EBADMSG || r == -ENODATA || r == -EUCLEAN || r == -ENOKEY)
		return blm_fail_more(r, "; a file that does not open is not replaced: drop it, or "
				     "remove the file, first");
	if (r < 0)
		return r;
	r = blm_lock_current(f, &old);
	if (r == 0) {
		set_state(old, BLM_REPLACING);
		r = with->made ? put(f, old, with->made, with->carry) : make_and_put(f, old, with);
		set_state(old, r == 0 || was_replaced(&f->place, old) ? BLM_REPLACED : BLM_LIVE);
		if (r == 0)
			forget(place, old, with);
		unlock(old);
	}
	blm_close(f);
	return r;
}

int blm_may_replace(struct blm_filter *f)
{
	struct blm_view *view;
	int r = blm_change_begin(f, &view), end;

	if (r == 0) {
		r = blm_ask_replacement(f, view);
		end = blm_change_end(f, view);
		if (r == 0)
			r = end;
	}
	return r == -EAGAIN ? 0 : r;
}

int blm_replace(const struct blm_place *place, const uint8_t *secret, const struct blm_spec *spec,
		const struct blm_allowlist_carry *carry,
		int (*fill)(struct blm_view *view, const struct blm_view *old, void *context),
		void *context)
{
	return replace(place, &(struct replacing){ .secret = secret, .spec = spec, .carry = carry,
						   .fill = fill, .context = context });
}

int blm_replace_changed(const struct blm_place *place, const uint8_t *secret,
			const struct blm_allowlist_carry *carry,
			int (*change)(struct blm_spec *spec, const struct blm_view *old,
				      void *context),
			int (*fill)(struct blm_view *view, const struct blm_view *old,
				    void *context), void *context)
{
	return replace(place, &(struct replacing){ .secret = secret, .carry = carry, .change =
						   change, .fill = fill, .context = context });
}

int blm_replace_by(const struct blm_place *place, struct blm_staged *made,
		   const struct blm_allowlist_carry *carry)
{
	return replace(place, &(struct replacing){ .made = made, .carry = carry });
}

/* ---- Publishing ---- */

/*
 * Publishing takes effect at one moment at which the name is locked, so the source is resolved
 * under that lock. A file of the source that was replaced while the lock was waited for lacks keys
 * that were added since.
 */
static int fill_over(struct blm_view *new, const struct blm_view *old, void *context)
{
	struct blm_source *from = context;
	int r = blm_view_stays(from->f, from->view);

	from->moved = r == -EAGAIN;
	return r < 0 ? r : blm_fill_with_copy(new, from);
}

/* Replaces the filter of the name, or publishes a new one. */
static int publish_once(const struct blm_place *place, struct blm_source *source, unsigned mode,
			bool sealed)
{
	struct blm_spec *spec = malloc(sizeof(*spec));
	int r;

	if (!spec)
		return blm_fail(-ENOMEM, "%s: out of memory", place->display);
	source->view = current_view(source->f);
	source->moved = false;
	blm_spec_like(spec, source->view);
	spec->mode = mode;
	spec->sealed = sealed;
	r = blm_replace(place, NULL, spec, NULL, fill_over, source);
	if (r == -ENOENT)
		r = blm_make(NULL, place->store, place->store ? place->name : place->display, spec,
			     blm_fill_with_copy, source);
	free(spec);
	return r;
}

BLM_API int blm_store_publish(struct blm_store *store, const char *name,
			      const struct blm_filter *from, unsigned mode, unsigned flags)
{
	BLM_CRITICAL_SECTION;
	struct blm_source source = { .f = from };
	struct blm_place place;
	int r = blm_place_set(&place, store, name);

	if (r < 0)
		return r;
	r = -EEXIST;
	/* another process may drop or make the name in between */
	for (int tries = 0; r == -EEXIST && tries < 100; tries++) {
		r = publish_once(&place, &source, mode, !(flags & BLM_PUBLISH_WRITABLE));
		if (source.moved)
			r = tries + 1 < 100 ? -EEXIST : blm_keep_moving(from);
	}
	blm_place_clear(&place);
	return r;
}

/* ---- Clearing, sealing ---- */

static int leave_empty(struct blm_view *new, const struct blm_view *old, void *context)
{
	return 0;
}

static int fill_over_old(struct blm_view *new, const struct blm_view *old, void *context)
{
	return blm_copy_into(new, old, context);
}

BLM_API int blm_clear(struct blm_filter *f)
{
	BLM_CRITICAL_SECTION;
	int r = blm_may_replace(f);

	if (r < 0)
		return r;
	return replace(&f->place, &(struct replacing){ .secret = f->secret,
						       .carry = &blm_allowlist_carry_all,
						       .fill = leave_empty, .anew = true });
}

BLM_API int blm_seal(struct blm_filter *f)
{
	BLM_CRITICAL_SECTION;
	int r = blm_may_replace(f);

	if (r < 0)
		return r;
	return replace(&f->place, &(struct replacing){ .secret = f->secret,
						       .carry = &blm_allowlist_carry_all,
						       .fill = fill_over_old,
						      .context = f->place.display, .seal = true });
}
