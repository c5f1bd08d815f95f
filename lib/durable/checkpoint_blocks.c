/*
 * checkpoint_blocks.c - the blocks of a checkpoint image and of its journal, and their records
 * (checkpoint.c)
 */
#include "durable/checkpoint_blocks.h"
#include "base/checksum.h"
#include "file/two_slots.h"

struct blm_checkpoint blm_checkpoint_of(const struct blm_view *view)
{
	const struct blm_part *part = &view->part[0];
	struct blm_sync_record last = { 0 };
	struct blm_checkpoint s = { .part = part, .count = blocks_of_part(part->shape.bytes),
				    .uuid = view->constant.uuid };

	for (int i = 0; i < 2; i++) {
		s.records[i] = (struct blm_block_record *)(view->image.map
							   + view->checkpoint.records[i]);
		s.blocks[i] = view->image.map + view->checkpoint.blocks[i];
	}
	blm_last_sync(live_of(view), view->constant.uuid, &last);
	s.epoch = le64toh(last.epoch);
	return s;
}

uint32_t blm_checkpoint_hash(const struct blm_checkpoint *s, const uint8_t *block, uint64_t number)
{
	return (uint32_t)blm_checksum(block, blm_checkpoint_bytes(s, number));
}

/*
 * The seeds of the checks are numbers of parts that no file has. A home is not checked: it changes
 * without the rest, while the journal is needed.
 */
static uint32_t check_of(const struct blm_checkpoint *s, int which, uint64_t block,
			 const struct blm_block_record *r)
{
	struct blm_block_record checked = *r;

	if (which == BLM_JOURNAL)
		checked.ones = 0;
	return blm_check_block(&checked, BLM_PARTS_MAX + (unsigned)which, block, s->uuid);
}

bool blm_checkpoint_record(const struct blm_checkpoint *s, int which, uint64_t block,
			   struct blm_block_record *ret)
{
	memcpy(ret, &s->records[which][block], sizeof(*ret));
	return is_written(ret) && ret->check == check_of(s, which, block, ret);
}

static void write_record(const struct blm_checkpoint *s, int which, uint64_t block, uint32_t hash,
			 uint32_t home, uint64_t epoch)
{
	struct blm_block_record r = { .hash = htole32(hash), .ones = htole32(home),
				      .epoch = htole32((uint32_t)epoch) };

	r.check = check_of(s, which, block, &r);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	s->records[which][block] = r;
}

bool blm_checkpoint_is_none(const struct blm_checkpoint *s, int which, uint64_t block)
{
	return !is_written(&s->records[which][block]);
}

uint32_t blm_checkpoint_home(const struct blm_checkpoint *s, uint64_t block)
{
	struct blm_block_record r;

	if (!s->records[BLM_JOURNAL][block].ones)
		return 0;
	return blm_checkpoint_record(s, BLM_JOURNAL, block, &r) ? le32toh(r.ones) : 0;
}

void blm_checkpoint_empty(const struct blm_checkpoint *s, int which, uint64_t block, uint32_t home)
{
	if (home)
		write_record(s, which, block, 0, home, 0);
	else
		s->records[which][block] = (struct blm_block_record){ 0 };
}

void blm_checkpoint_copy(const struct blm_checkpoint *s, int which, uint64_t block,
			 const uint8_t *from, uint64_t epoch)
{
	uint8_t *to = s->blocks[which] + block * BLM_BLOCK;
	uint32_t home = which == BLM_JOURNAL ? blm_checkpoint_home(s, block) : 0;

	blm_checkpoint_empty(s, which, block, home);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy(to, from, blm_checkpoint_bytes(s, block));
	write_record(s, which, block, blm_checkpoint_hash(s, to, block), home, epoch);
}

bool blm_in_journal(const struct blm_checkpoint *s, uint64_t block)
{
	struct blm_block_record r;

	return s->epoch && blm_checkpoint_record(s, BLM_JOURNAL, block, &r)
		&& le32toh(r.epoch) == (uint32_t)s->epoch
	    && blm_checkpoint_hash(s, s->blocks[BLM_JOURNAL] + block * BLM_BLOCK, block)
	    == le32toh(r.hash);
}

static bool is_zeros(const uint8_t *bytes, size_t count)
{
	return bytes[0] == 0 && !memcmp(bytes, bytes + 1, count - 1);
}

bool blm_was_never_used(const struct blm_checkpoint *s, uint64_t block)
{
	size_t bytes = blm_checkpoint_bytes(s, block);

	return blm_checkpoint_is_none(s, BLM_IMAGE, block)
		&& blm_checkpoint_is_none(s, BLM_JOURNAL, block)
	    && is_zeros(s->part->bytes + block * BLM_BLOCK, bytes)
	    && is_zeros(s->blocks[BLM_IMAGE] + block * BLM_BLOCK, bytes);
}

const uint8_t *blm_synced_block(const struct blm_checkpoint *s, uint64_t b)
{
	const uint8_t *block = s->blocks[BLM_IMAGE] + b * BLM_BLOCK;
	struct blm_block_record image = { 0 }, journal;

	if (blm_in_journal(s, b))
		return s->blocks[BLM_JOURNAL] + b * BLM_BLOCK;
	/* never changed, unless the journal was to have it */
	if (blm_checkpoint_is_none(s, BLM_IMAGE, b)) {
		if (!is_zeros(block, blm_checkpoint_bytes(s, b)))
			return NULL;
	} else if (!blm_checkpoint_record(s, BLM_IMAGE, b, &image)
		   || blm_checkpoint_hash(s, block, b) != le32toh(image.hash)) {
		return NULL;
	}
	if (s->epoch && blm_checkpoint_record(s, BLM_JOURNAL, b, &journal)
	    && le32toh(journal.epoch) == (uint32_t)s->epoch
	    && le32toh(image.epoch) != (uint32_t)s->epoch)
		return NULL;
	return block;
}
