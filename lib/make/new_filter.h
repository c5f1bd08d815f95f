/*
 * new_filter.h - a new file of a filter: planned, made, filled before it has a name, then named, or
 * put in the place of another
 */
#ifndef BLM_NEW_FILTER_H
#define BLM_NEW_FILTER_H

#include "handle/handle.h"
#include "make/plan.h"

/*
 * The plan of a new file; then it is filled, and published. The template fields and the shapes of
 * its parts determine everything else.
 */
struct blm_spec {
	struct blm_template_fields template;
	/* the filter's kind and shape; for a kind that is not composite those of its one part */
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
 * The spec of an empty filter with these parameters, checked as in blm_create(); secret:
 * BLM_SECRET_BYTES outside of core dumps.
 */
int blm_spec_from(struct blm_spec *ret, const struct blm_params *params, uint8_t *secret);
/*
 * The same if the number of keys is not known yet: the choices are kept, and the sizes are planned
 * again when choice->params.capacity has the number, and then from the keys themselves. The memory
 * that params point to is not read again.
 */
int blm_spec_choose(struct blm_spec *ret, struct blm_choice *ret_choice,
		    const struct blm_params *params, uint8_t *secret);
int blm_spec_size(struct blm_spec *spec, const struct blm_choice *choice);
int blm_spec_fit(struct blm_spec *spec, const struct blm_sorted *keys);
/* -EOPNOTSUPP, with a message, for a kind whose filters have no parts. */
int blm_check_splits(const struct blm_kind *kind);
/* -EOPNOTSUPP, with a message, for a kind that has no empty filters. */
int blm_check_empty(const struct blm_kind *kind, const char *display);
/* The spec of a filter like this one: with all its parts, for a copy; with those of a new one. */
void blm_spec_like(struct blm_spec *ret, const struct blm_view *view);
void blm_spec_anew(struct blm_spec *ret, const struct blm_view *view);
/*
 * ... and of one with these contents; parts of an unknown kind are refused later, with a message.
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
/* The first step of publish: completes the file, without its sync. */
int blm_staged_finish(struct blm_staged *staged, const struct blm_place *place);
/*
 * Sync and name it. over: the filter in whose place it comes (catalog.h); -ENOENT if the name now
 * leads to another. NULL: of none; -EEXIST if the name is taken. On failure end it.
 */
int blm_staged_publish(struct blm_staged *staged, const struct blm_place *place,
		       const struct blm_handover *over);
void blm_staged_end(struct blm_staged *staged);

/*
 * A handle of the unpublished file, for one function that fills it; take it back before
 * blm_staged_end().
 */
int blm_staged_lend(struct blm_filter **ret, struct blm_staged *staged,
		    const struct blm_place *place);
void blm_staged_take_back(struct blm_staged *staged, struct blm_filter *lent);

/*
 * A handle of the published file; it takes the view and the place from `staged`. ret NULL: no
 * handle.
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

/*
 * May the filter be changed, and its file be replaced, through this handle? Fails with a message.
 */
int blm_may_replace(struct blm_filter *f);
/*
 * Replaces the filter at `place` by the new file that fill() fills, in one step for all processes
 * (replace.h has the protocol). fill() gets the old view; no key can be added to it unnoticed
 * during fill(). secret: of the old filter, if it is keyed; NULL: read it from its place. spec
 * NULL: like the old filter, and its secret then stays. carry: the keys given to the new file
 * (allowlist_carry.h).
 */
int blm_replace(const struct blm_place *place, const uint8_t *secret, const struct blm_spec *spec,
		const struct blm_allowlist_carry *carry,
		int (*fill)(struct blm_view *view, const struct blm_view *old, void *context),
		void *context);
/* ... made like the old one, after change() has modified its spec under the lock. */
int blm_replace_changed(const struct blm_place *place, const uint8_t *secret,
			const struct blm_allowlist_carry *carry,
			int (*change)(struct blm_spec *spec, const struct blm_view *old,
				      void *context),
			int (*fill)(struct blm_view *view, const struct blm_view *old,
				    void *context), void *context);
/* ... by an existing file; on failure end that. */
int blm_replace_by(const struct blm_place *place, struct blm_staged *made,
		   const struct blm_allowlist_carry *carry);

/* For keys that are hashed: does the hash accept all of them? -EINVAL, with a message. */
int blm_check_keys(const struct blm_batch *batch, const struct blm_kind *kind);

#endif
