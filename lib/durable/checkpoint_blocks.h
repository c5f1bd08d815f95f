/*
 * checkpoint_blocks.h - a checkpoint image from the inside: what checkpoint.c, recovery.c and
 * copies.c share
 */
#ifndef BLM_CHECKPOINT_BLOCKS_H
#define BLM_CHECKPOINT_BLOCKS_H

#include "durable/checkpoint.h"

/*
 * The image and the journal of a view: which = BLM_IMAGE, BLM_JOURNAL. Good for as long as the
 * view, and until the next sync record.
 */
struct blm_checkpoint {
	const struct blm_part *part;
	struct blm_block_record *records[2];
	uint8_t *blocks[2];
	/*
	 * of blocks; of the last sync record, or where that is damaged the latest epoch in the
	 * records of blocks
	 */
	uint64_t count, epoch;
	const uint8_t *uuid;
};

struct blm_checkpoint blm_checkpoint_of(const struct blm_view *view);

static inline size_t blm_checkpoint_bytes(const struct blm_checkpoint *s, uint64_t block)
{
	uint64_t left = s->part->shape.bytes - block * BLM_BLOCK;

	return left < BLM_BLOCK ? (size_t)left : BLM_BLOCK;
}

/* is epoch a later than b? Records have the low half of an epoch */
static inline bool is_later(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/* ---- checkpoint_blocks.c ---- */

/* The contents of a record for the block with this number, wherever the block is stored. */
uint32_t blm_checkpoint_hash(const struct blm_checkpoint *s, const uint8_t *block, uint64_t number);

/* The record of a block; false if its own check is wrong. */
bool blm_checkpoint_record(const struct blm_checkpoint *s, int which, uint64_t block,
			   struct blm_block_record *ret);

/* It is zeros: nothing was ever written there. */
bool blm_checkpoint_is_none(const struct blm_checkpoint *s, int which, uint64_t block);

/* The last epoch whose sync began to bring the block to the image; 0: none is known. */
uint32_t blm_checkpoint_home(const struct blm_checkpoint *s, uint64_t block);

/* It has no data of the block any more; home: the value that stays known. */
void blm_checkpoint_empty(const struct blm_checkpoint *s, int which, uint64_t block, uint32_t home);

/*
 * Copies the block and its record in three steps. A reader that compares sees at least one of them.
 */
void blm_checkpoint_copy(const struct blm_checkpoint *s, int which, uint64_t block,
			 const uint8_t *from, uint64_t epoch);

/*
 * Does the journal have this block as of the last sync? One that was in the image already can be
 * gone in part.
 */
bool blm_in_journal(const struct blm_checkpoint *s, uint64_t block);

/* Zeros, in the data and in the image, and no record. */
bool blm_was_never_used(const struct blm_checkpoint *s, uint64_t block);

/* The block as of the last sync; NULL: damaged. */
const uint8_t *blm_synced_block(const struct blm_checkpoint *s, uint64_t block);

/* ---- copies.c ---- */

/* Is the image another file's, or is it not known whose? */
bool blm_is_copy(const struct blm_view *view);

/*
 * Is the sync record of a copy clean, although its data differ from its image? Then the header was
 * copied before a change, and the data after it: all keys that were added before the copy began are
 * in the image.
 */
bool blm_copy_was_changed(const struct blm_view *view);

/*
 * Is the image's block of before its home, and the journal's gone? Then the file is a copy, or a
 * sync is at it at this moment.
 */
bool blm_is_stale(const struct blm_checkpoint *s, uint64_t block);

/*
 * Is this a copy whose image and journal are of several moments? Otherwise they are as of s->epoch,
 * which this function corrects if the sync record is damaged, apart from other damage.
 */
bool blm_look_for_copy(const struct blm_view *view, struct blm_checkpoint *s);

/* The same for an original; a copy has its epoch already. */
void blm_look_at_epochs(const struct blm_view *view, struct blm_checkpoint *s);

/*
 * Such a copy continues with the copied data: no image is used before a sync has made one, and no
 * key is removed.
 */
void blm_say_torn(struct blm_view *view);

#endif
