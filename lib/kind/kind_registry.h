/*
 * kind_registry.h - the kinds that there are, and what callers ask of a kind
 *
 * For the code that uses kinds. A kind itself includes kind.h. Kinds are constant, so all of this
 * may be called by any thread at any time.
 */
#ifndef BLM_KIND_REGISTRY_H
#define BLM_KIND_REGISTRY_H

#include "kind/kind.h"

/* ---- The kinds ---- */

const struct blm_kind *blm_kind_by_name(const char *name);
const struct blm_kind *blm_kind_by_id(uint32_t id);
/* The same, for a file: if the kind is not known *ret_err is -EPROTONOSUPPORT, with a message. */
const struct blm_kind *blm_kind_known(uint32_t id, const char *display, int *ret_err);
const struct blm_kind *blm_kind_at(size_t i);	/* NULL past the last */
unsigned blm_kind_can(const struct blm_kind *kind);

/*
 * The names of the kinds that can do all of `can`, or can use keys that are hashed so, with commas,
 * for messages.
 */
const char *blm_kinds_that_can(unsigned can, char *buffer, size_t bytes);
const char *blm_kinds_that_take(const struct blm_family *family, char *buffer, size_t bytes);

/* ---- Properties of a kind ---- */

/* Are its data bits that only go from 0 to 1? */
static inline bool kind_only_sets(const struct blm_kind *kind)
{
	return kind->protocol == BLM_SETS_BITS;
}

static inline bool kind_serializes_removals(const struct blm_kind *kind)
{
	return kind->protocol == BLM_SERIAL_REMOVALS;
}

/* Are pages of different times worse than keys lost, without a checkpoint to go back to? */
static inline bool kind_may_be_torn(const struct blm_kind *kind)
{
	return kind->protocol == BLM_SERIAL_REMOVALS;
}

static inline bool kind_has_single_writer(const struct blm_kind *kind)
{
	return kind->protocol == BLM_SINGLE_WRITER
		|| kind->protocol == BLM_SINGLE_WRITER_CHECKPOINT;
}

/* Does adding a key twice equal adding it once, at any time? */
static inline bool kind_may_add_again(const struct blm_kind *kind)
{
	return kind->protocol == BLM_SETS_BITS || kind->protocol == BLM_IDEMPOTENT_ADDS;
}

static inline bool kind_has_checkpoint(const struct blm_kind *kind)
{
	return kind->protocol == BLM_SINGLE_WRITER_CHECKPOINT;
}

/* Can the kind use keys that are hashed so? */
static inline bool kind_takes(const struct blm_kind *kind, const struct blm_family *family)
{
	if (family->number || kind->exact)
		return family->number && kind->exact;
	if (family->column)	/* its use is to divide two lists */
		return kind->count_others;
	if (family->ordered || kind->contains_ranges)
		return family->ordered && kind->contains_ranges;
	/* they are too short, or too weak, to make cells of but by a rule */
	if (family->scheme && family->bits < 128)
		return kind->every_scheme;
	return kind->every_family || (!family->nth
				      && family->bits >= (kind->hash_bits ? kind->hash_bits : 128));
}

/* Why a filter of the kind cannot have this scheme, as a text; NULL: it can. */
static inline const char *kind_misfit(const struct blm_kind *kind, const struct blm_scheme *scheme,
				      uint32_t order, const struct blm_family *family,
				      const struct blm_shape *s)
{
	if (kind->every_scheme)
		return blm_scheme_misfit(scheme, family, s->cells, s->probes);
	if (!scheme->id && !order)
		return NULL;
	if (!kind->takes_schemes || !kind->takes_schemes(s) || order)
		return "the kind has only its own rule and order of bits";
	if ((scheme->by_key && !scheme->stages) || scheme->ranges)
		return "the rule depends on the size, and its parts differ in size";
	return blm_scheme_misfit(scheme, family, s->cells, s->probes);
}

/* Can a filter of it be empty at first, or is it made from all its keys? */
static inline bool kind_takes_keys(const struct blm_kind *kind)
{
	return kind->add || kind->put;
}

/* ---- Batches ---- */

static inline size_t kind_batch(const struct blm_kind *kind)
{
	return kind->batch ? kind->batch : BLM_BATCH;
}

/* A batch by the kind's own loop, or one by one (kind/common/batch.h). */
static inline void blm_part_contains(const struct blm_part *part, const struct blm_batch *batch,
				     uint64_t *ret_bits)
{
	(part->kind->contains_many ? part->kind->contains_many
	 : blm_part_contains_each)(part, batch, ret_bits);
}

static inline int blm_part_add(struct blm_part *part, const struct blm_batch *batch,
			       uint64_t *ret_bits)
{
	return part->kind->add_many ? part->kind->add_many(part, batch, ret_bits)
		: blm_part_change_each(part, batch, ret_bits, part->kind->add);
}

static inline int blm_part_claim(struct blm_part *part, const struct blm_batch *batch,
				 uint64_t *ret_bits)
{
	return part->kind->claim_many ? part->kind->claim_many(part, batch, ret_bits)
		: blm_part_change_each(part, batch, ret_bits, part->kind->claim);
}

static inline int blm_part_remove(struct blm_part *part, const struct blm_batch *batch,
				  uint64_t *ret_bits)
{
	return blm_part_change_each(part, batch, ret_bits, part->kind->remove);
}

#endif
