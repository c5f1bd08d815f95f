/*
 * new_filter.h - a new file of a filter: planned, made, filled before it has a name, then named, or
 * put in the place of another
 */
#ifndef BLM_NEW_FILTER_H
#define BLM_NEW_FILTER_H

#include "handle/handle.h"
#include "make/plan.h"

/*
 * What a new file is made from; then it is filled, and published. The template fields and the
 * shapes of its parts decide all else.
 */
struct blm_spec {
	struct blm_template_fields template;
	/*
	 * the filter's kind, and its shape; of a kind that is not composite those of its one part
	 */
	const struct blm_kind *of;
	struct blm_shape root;
	struct blm_shape shape[BLM_PARTS_MAX];
	const struct blm_kind *kind[BLM_PARTS_MAX];	/* of each part */
	uint32_t role[BLM_PARTS_MAX];
	unsigned parts;
	uint64_t capacity;
	double rate;
	bool sparse, sealed, no_checkpoint;
	uint32_t split_part, split_parts;	/* as in struct blm_constant; 0 parts: a whole */
	uint32_t origin, origin_bytes;	/* as in struct blm_constant */
	uint8_t origin_head[BLM_ORIGIN_BYTES];
	unsigned mode;
	const uint8_t *secret;		/* of a keyed family */
};

/*
 * What an empty filter with these parameters is made from, as blm_create() checks them; secret:
 * room for BLM_SECRET_BYTES, not dumped.
 */
int blm_spec_from(struct blm_spec *ret, const struct blm_params *params, uint8_t *secret);
/*
 * The same where the number of keys is not known yet: the choices are kept, sizes come again
 * when choice->params.capacity says how many there are, and then from the keys themselves. What
 * params point to is not looked at again.
 */
int blm_spec_choose(struct blm_spec *ret, struct blm_choice *ret_choice,
		    const struct blm_params *params, uint8_t *secret);
int blm_spec_size(struct blm_spec *spec, const struct blm_choice *choice);
int blm_spec_fit(struct blm_spec *spec, const struct blm_sorted *keys);
/* -EOPNOTSUPP, with words, for a kind whose filters have no parts. */
int blm_check_splits(const struct blm_kind *kind);
/* -EOPNOTSUPP, with words, for a kind that has no empty filters. */
int blm_check_empty(const struct blm_kind *kind, const char *display);
/* The spec of a filter like this one: with all its parts, for a copy; with those of a new one. */
void blm_spec_like(struct blm_spec *ret, const struct blm_view *view);
void blm_spec_anew(struct blm_spec *ret, const struct blm_view *view);
/*
 * ... and of one with these contents; parts of a kind that is not known are refused later, with
 * words.
 */
void blm_spec_of(struct blm_spec *ret, const struct blm_contents *contents);

/*
 * A new file in the folder of `place`, mapped as a view whose parts are `unshared` and zero, not
 * yet visible to anybody. Fill it, then publish or end it.
 */
struct blm_staged {
	struct blm_new_file file;
	struct blm_view *view;
	bool secret_is_kept;	/* it is where the caller wants it: publish does not write it */
};
int blm_staged_make(struct blm_staged *ret, const struct blm_place *place,
		    const struct blm_spec *spec);
/* What publish does first: all of the file is as it will be, but for its sync. */
int blm_staged_finish(struct blm_staged *staged, const struct blm_place *place);
/*
 * Sync and name it. over: the filter in whose place it comes (catalog.h); -ENOENT if the name now
 * leads to another. NULL: of none; -EEXIST if the name is taken. On failure end it.
 */
int blm_staged_publish(struct blm_staged *staged, const struct blm_place *place,
		       const struct blm_handover *over);
void blm_staged_end(struct blm_staged *staged);

/*
 * A handle on what is not published yet, for one function to fill it; take it back before
 * blm_staged_end().
 */
int blm_staged_lend(struct blm_filter **ret, struct blm_staged *staged,
		    const struct blm_place *place);
void blm_staged_take_back(struct blm_staged *staged, struct blm_filter *lent);

/*
 * A handle on what was published; takes the view out of `staged`, and the place. ret NULL: none is
 * wanted.
 */
int blm_staged_handle(struct blm_filter **ret, struct blm_staged *staged, struct blm_place *place,
		      const uint8_t *secret);

/* More words for -EEXIST, of a call that can replace a filter. Return: the error; 0 as it is. */
int blm_say_replaceable(int r);

/*
 * Make a new filter at (store, name): stage, fill(), publish, handle. fill NULL: it stays empty.
 * For a name that is taken: -EEXIST.
 */
int blm_make(struct blm_filter **ret, struct blm_store *store, const char *name,
	     const struct blm_spec *spec,
	     int (*fill)(struct blm_view *view, void *context), void *context);

/* May the filter be changed, and its file be replaced, through this handle? Fails with words. */
int blm_may_replace(struct blm_filter *f);
/*
 * Replace the filter at `place` by what fill() makes of it, in one step for all processes
 * (replace.h has the protocol). fill() gets the old view, to which no key is added unnoticed while
 * it runs. secret: of the old filter, if it is keyed; NULL: look where it is stored. spec NULL:
 * like the old one, and its secret then stays. carry: the keys it was given (allowlist_carry.h).
 */
int blm_replace(const struct blm_place *place, const uint8_t *secret, const struct blm_spec *spec,
		const struct blm_allowlist_carry *carry,
		int (*fill)(struct blm_view *view, const struct blm_view *old, void *context),
		void *context);
/* ... made like the old one, but for what change() does to that under the lock. */
int blm_replace_changed(const struct blm_place *place, const uint8_t *secret,
			const struct blm_allowlist_carry *carry,
			int (*change)(struct blm_spec *spec, const struct blm_view *old,
				      void *context),
			int (*fill)(struct blm_view *view, const struct blm_view *old,
				    void *context), void *context);
/* ... by what was made before; on failure end that. */
int blm_replace_by(const struct blm_place *place, struct blm_staged *made,
		   const struct blm_allowlist_carry *carry);

/*
 * Keys that are hashed: are all of them such that the hash has a place for them? -EINVAL, with
 * words.
 */
int blm_check_keys(const struct blm_batch *batch, const struct blm_kind *kind);

#endif
