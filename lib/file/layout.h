/*
 * layout.h - the bytes of a filter's file
 *
 * The structs of format-spec.md; if you change one, change the other. All numbers are
 * little-endian. The first five pages are the header:
 *
 *	page 0	struct blm_constant	written once, under one checksum
 *	page 1	struct blm_live		words that change, each in its own cache line
 *	page 2	struct blm_part_entry[64]	append-only, each under a checksum of its own
 *	page 3	struct blm_record[2]	name and labels, in two alternating slots
 *	page 4	struct blm_stripe[64]	the count of keys, striped
 *
 * The parts follow, each after the records of its blocks. The file never holds a lock or an
 * address: a copy of it made at any moment, from its beginning to its end, is a good filter. For
 * this reason a number that validates some data is at a smaller offset than the data: the number of
 * parts before the part table, a block's record before the block.
 */
#ifndef BLM_FILE_FORMAT_H
#define BLM_FILE_FORMAT_H

#include "base/base.h"

#define BLM_MAGIC "BLOOMERY"
#define BLM_BANK_MAGIC "BLOOMBNK"	/* of many filters: bank/bank.h */

enum {
	BLM_FORMAT_VERSION = 1,
	BLM_PAGE = 4096,
	BLM_HEADER_BYTES = 5 * BLM_PAGE,	/* where the first part may begin */
	BLM_PARTS_MAX = 64,
	BLM_STRIPES = 64,
	BLM_ARGS = 8,
	BLM_OWN = 8,
	BLM_PART_ALIGN = 64,
	BLM_BLOCK = 64 << 10,			/* has a record, see struct blm_block_record */
	BLM_HUGE_PAGE = 2 << 20,		/* parts larger than this are aligned to it */
	BLM_FORMAT_SEEDS = 256,
	BLM_FORMAT_NAME = 256,
	BLM_FORMAT_LABELS = 1536,
	BLM_ORIGIN_BYTES = 1776,
};

/* one epoch a nanosecond for 292 years: a greater number is damage, and could wrap to 0 */
#define BLM_EPOCH_MAX (UINT64_MAX >> 1)

/* Records contain the low half of an epoch, where 0 means no epoch. */
static inline uint64_t blm_epoch_after(uint64_t epoch)
{
	return (uint32_t)(epoch + 1) ? epoch + 1 : epoch + 2;
}

/*
 * may_ignore: none are assigned. must_understand: the file is a part of a filter that is split over
 * several files, so it does not know the keys of the other parts.
 */
enum { BLM_MUST_SPLIT = 1 << 0 };

/* flags: */
enum {
	BLM_FLAG_SPARSE = 1 << 0,
	BLM_FLAG_SEALED = 1 << 1,
	/* a checkpoint image of its only part follows the part, struct blm_checkpoint_layout */
	BLM_FLAG_CHECKPOINT = 1 << 2,
};

/*
 * Two filters combine only if all these fields are equal. The template id is a hash of them (up to
 * the last seed in use).
 */
struct blm_template_fields {
	uint32_t kind;
	uint32_t family;
	/* the rule from hash to cells; 0: the family's own rule, or ours */
	uint32_t index_rule;
	uint32_t bit_order;		/* 0: bit j is bit j % 8 of byte j / 8 */
	uint64_t cells;
	uint32_t probes;
	uint32_t cell_bits;
	uint64_t tweak;
	uint8_t key_id[8];		/* keyed families; otherwise 0 */
	uint64_t args[BLM_ARGS];	/* each kind's own; otherwise 0 */
	uint64_t reserved;
	uint32_t seed_count;
	uint32_t reserved2;
	uint64_t seeds[BLM_FORMAT_SEEDS];
};

struct blm_constant {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes;
	uint64_t must_understand;
	uint64_t may_ignore;
	uint8_t uuid[16];
	uint64_t created;		/* nanoseconds since 1970, UTC */
	uint64_t capacity;
	uint64_t rate;			/* bits of an IEEE 754 double */
	uint8_t template_id[16];
	uint64_t flags;
	uint32_t split_part, split_parts;	/* with BLM_MUST_SPLIT: which of how many, from 0 */
	uint8_t reserved[24];
	struct blm_template_fields template;
	/* the format that it was imported from; 0: it was not imported */
	uint32_t origin;
	uint32_t origin_bytes;
	/* the first bytes of the imported file, so that an export can write them again */
	uint8_t origin_head[BLM_ORIGIN_BYTES];
	uint64_t check;			/* XXH3-64 of all before it */
};

static_assert(offsetof(struct blm_constant, uuid) == 32, "format-spec.md, Page 0: constant");
static_assert(offsetof(struct blm_constant, template_id) == 72, "format-spec.md, Page 0: constant");
static_assert(offsetof(struct blm_constant, split_part) == 96, "format-spec.md, Page 0: constant");
static_assert(offsetof(struct blm_constant, template) == 128, "format-spec.md, Page 0: constant");
static_assert(offsetof(struct blm_constant, template.args) == 176,
	      "format-spec.md, Template fields");
static_assert(offsetof(struct blm_constant, template.seeds) == 256,
	      "format-spec.md, Template fields");
static_assert(offsetof(struct blm_constant, origin) == 2304, "format-spec.md, Page 0: constant");
static_assert(offsetof(struct blm_constant, check) == 4088, "format-spec.md, Page 0: constant");
static_assert(sizeof(struct blm_constant) == BLM_PAGE, "format-spec.md, Page 0: constant");

struct blm_part_entry {
	/*
	 * in the file: a multiple of 64, of 2 MiB where bytes is larger than that; its block
	 * records and marks end there
	 */
	uint64_t offset;
	uint64_t bytes;			/* a multiple of 64 */
	uint64_t cells;
	uint32_t probes;
	uint32_t cell_bits;
	/* the kind of this part: the filter's kind, or a component of a composite kind */
	uint32_t kind;
	uint32_t role;			/* composite kinds' own; otherwise 0 */
	uint64_t capacity;
	uint64_t rate;			/* bits of a double */
	/*
	 * XXH3-64 of all before it, seeded with the number of the entry + the uuid's first 8 bytes
	 */
	uint64_t check;
};
static_assert(sizeof(struct blm_part_entry) == 64, "format-spec.md, Page 2: part table");

/*
 * Before each part, ending where the part begins: a record for each block of 64 KiB of the part
 * (the last block may be shorter), then a mark for each block, one byte, then up to 63 bytes of
 * padding to a multiple of 64.
 *
 *   mark     not 0: the block changed since it was recorded. Set, relaxed, by a writer after it
 *            changed the block, if it is not set yet; the process that records the block clears it,
 *            under the sync lock, before it copies the block. A change whose mark is lost (its
 *            writer died, or the two met) leaves a block with more ones than its record says, which
 *            is no damage.
 *   record   describes a copy of the block that was made before a successful write-back. It is
 *            written after the write-back, so the block on the disk has at least these ones.
 *            Written under the sync lock; a reader that finds a half-written record sees a wrong
 *            check.
 */
struct blm_block_record {
	uint32_t hash;			/* low half of XXH3-64 of the block */
	uint32_t ones;			/* bits that are set */
	uint32_t epoch;			/* of the write, low half */
	/*
	 * low half of XXH3-64 of all before it, seeded with the uuid's first 8 bytes + the block's
	 * number + 2^48 times the part's
	 */
	uint32_t check;
};
static_assert(sizeof(struct blm_block_record) == 16, "format-spec.md, Guards");

/*
 * A record of zeros was never written, even if the check of zeros is 0 by chance, as it is for one
 * block in 2^32. A written record is never all zeros: if `ones` is 0 the block is zeros, and the
 * hash of 1 to BLM_BLOCK zeros is never 0.
 */
static inline bool is_written(const struct blm_block_record *r)
{
	return (r->hash | r->ones | r->epoch | r->check) != 0;
}

/*
 * state: which processes may add to this file, and whether it is still the filter's file. See
 * replace.h for the protocol.
 */
enum blm_state {
	BLM_LIVE = 0,
	/*
	 * a process makes a new file from this one, or returns to its checkpoint image; or it died
	 * during that
	 */
	BLM_REPLACING = 1,
	/* the name refers to another file; or the replacer died, or this is a copy */
	BLM_REPLACED = 2,
	BLM_DROPPED = 3,	/* the name is gone; or the dropper died, or this is a copy */
	/* created, and not yet in the catalog; or its creator died before it stored LIVE */
	BLM_UNNAMED = 4,
	/* as REPLACING, but the new file is complete, and may already have the name */
	BLM_YIELDING = 5,
};

/* The state word of a file when it enters the catalog of its store. */
#define BLM_STATE_NAMED (UINT64_C(1) << 8 | BLM_LIVE)

/*
 * One sync. Valid if its check is right. If two are valid, the later is the last: sequences are
 * serial numbers (RFC 1982), so that 1 is later than 2^64 - 1. The next record goes into the other
 * slot.
 */
struct blm_sync_record {
	uint64_t sequence;		/* from 1; after 2^64 - 1 comes 1 */
	uint64_t epoch;			/* all changes of epochs up to this one are on disk */
	uint64_t keys;			/* the count at that time */
	uint64_t time;			/* nanoseconds since 1970, UTC */
	uint64_t reserved[3];
	/* XXH3-64 of all before it, seeded with the uuid's first 8 bytes */
	uint64_t check;
};
static_assert(sizeof(struct blm_sync_record) == 64, "format-spec.md, Sync records");

/* A word with many writers, alone in its cache line. */
struct blm_line {
	uint64_t word;
	uint64_t reserved[7];
};

/*
 * Slots of threads that claim (presence.h). Slot i is word i / BLM_SLOT_LINES of line i %
 * BLM_SLOT_LINES, so the first slots are alone in their cache lines.
 */
enum {
	BLM_SLOT_LINES = 42,
	BLM_SLOTS_PER_LINE = 8,
	BLM_SLOTS = BLM_SLOT_LINES * BLM_SLOTS_PER_LINE,
};

struct blm_slot_line {
	uint64_t word[BLM_SLOTS_PER_LINE];
};

/*
 * The words that change, and their protocols:
 *
 *   parts    how many entries of the part table are in use. Written by the holder of the grow lock,
 *            store-release, after the entry and the part's bytes are complete; readers load-acquire
 *            and never read entries past it.
 *   state    enum blm_state, and a count of its changes; the upper 24 bits: how many exclusive
 *            owners the file had (exclusive.c). Written under the replace lock only; every call
 *            load-acquires it, without a lock. See replace.h.
 *   epoch    the current epoch, from 1. Written by the holder of the sync lock: epoch + 1, before
 *            it writes back. Read by writers.
 *   written  the last epoch in which a writer changed the data. Writers raise it (compare-and-swap,
 *            only if it is less than the epoch) before they change data, and after a full fence
 *            again if the epoch was raised in between. So a change that the write-back of epoch e
 *            missed was made after epoch became e + 1, and its writer stores e + 1 before its call
 *            returns. The filter is dirty if written > the epoch of the last valid sync record.
 *   boot     a number made from the boot id of the machine on which `written` was raised last; not
 *            0. Written before `written` is raised: a process that opens a dirty file with another
 *            boot number knows that the machine crashed or lost power since, and not only a
 *            process. All writers of one boot write the same value.
 *   failed   the last epoch whose write-back is not known to have succeeded; 0: none. Written under
 *            the sync lock, before any write-back: the system reports an error once, so the
 *            report would be lost with a process that is killed before it records the error. While
 *            `failed` is greater than the epoch of the last sync record the pages are suspect: the
 *            system may call pages clean that it failed to write, so the next sync makes every page
 *            dirty again before it writes.
 *   inexact  not 0: the stripes' sum is an estimate, because filters were combined. It changes from
 *            0 to 1, in a new file only or before the first bit of a union in place; BLM_SHARE in a
 *            new part of a split filter.
 *   sync     two slots, written under the sync lock by plain stores. A new record overwrites the
 *            older slot. A reader that finds a half-written slot sees a wrong check and uses the
 *            other slot.
 *   own      words of the filter's kind, which defines their meaning; unused words are 0.
 *   announced  for kinds with a checkpoint image and kinds with BLM_OWN_TORN: the newest epoch that
 *            the disk records as written. Stored under the writers' lock, after the flush of that
 *            record. No change begins in an epoch before the epoch is announced. If the epoch is
 *            raised during a change, the sync that raises it raises `written` too.
 *   flushing  the boot number while the last sync record is in memory and not known to be on the
 *            disk, although the record already outdates `failed`: a process that is killed then may
 *            be the only one that got the report of a failure. Otherwise 0. Written under the sync
 *            lock. The number of another boot has no meaning: all data in memory were read from the
 *            disk since.
 *   announcing  the same for an announcement, stored before its flush; 0 after a successful flush.
 *            After a failed one it is the boot number made even; the next announcement also makes a
 *            dead process's number even. An even number stays, even if later announcements succeed,
 *            until a sync has made every page dirty. Written under the writers' lock.
 *   original  for kinds with a checkpoint image: blm_file_number() of the file that the image
 *            belongs to. Every other file is a copy, and its next sync makes the image again.
 *            BLM_TORN: the image cannot be used. Written under the sync lock.
 *   excluding  not 0: a process holds the replace lock exclusively, or died while it held it, or
 *            this is a copy. presence.h has the protocol of this word and of the slots. The holder
 *            store-releases 1 after it has taken the lock, and 0 before it unlocks. A process that
 *            holds the lock shared may store 0 as well, because the word then belongs to a dead
 *            holder. Claimers load-acquire it after they have announced themselves.
 *   writer   the thread that changes the data of a kind with one writer at a time, or removes or
 *            claims in a kind that serializes removals, without BLM_LOCK_WRITE. writer_word.h has
 *            the protocol. Changed by compare-and-swap only. Readers load-acquire it. The slot
 *            that it names may have no owner: then the thread died, or this is a copy.
 *   slots    words of threads that claim. Only its owner stores a slot, without a
 *            read-modify-write: the thread whose open file description holds a write lock on the
 *            slot's byte. Holders of the replace lock load-acquire it. The word of a slot without
 *            an owner has no meaning, whatever a dead owner or a copy left in it.
 */
struct blm_live {
	struct blm_line parts;
	struct blm_line state;
	struct blm_line epoch;
	struct blm_line written;
	struct blm_line boot;
	struct blm_line inexact;
	struct blm_line failed;
	struct blm_sync_record sync[2];
	struct blm_line own[BLM_OWN];
	struct blm_line announced;
	struct blm_line flushing;
	struct blm_line announcing;
	struct blm_line original;
	uint64_t excluding;		/* in one line with `writer`, which writers load next */
	uint64_t writer;
	uint64_t reserved[6];
	struct blm_slot_line slots[BLM_SLOT_LINES];
};
static_assert(sizeof(struct blm_live) == BLM_PAGE, "format-spec.md, Page 1: live words");
static_assert(offsetof(struct blm_live, sync) == 448, "format-spec.md, Page 1: live words");
static_assert(offsetof(struct blm_live, own) == 576, "format-spec.md, Page 1: live words");
static_assert(offsetof(struct blm_live, flushing) == 1152, "format-spec.md, Page 1: live words");
static_assert(offsetof(struct blm_live, original) == 1280, "format-spec.md, Page 1: live words");
static_assert(offsetof(struct blm_live, excluding) == 1344, "format-spec.md, Page 1: live words");
static_assert(offsetof(struct blm_live, writer) == 1352,
	      "format-spec.md, Page 1: live words");
static_assert(offsetof(struct blm_live, slots) == 1408, "format-spec.md, Page 1: live words");

/*
 * In `inexact`, for a part that was made by splitting a filter: its count is a share of that
 * filter's count, so only the sum over all parts has a meaning.
 */
enum { BLM_SHARE = 2 };

enum { BLM_TORN = 1 };		/* in `original`; no file has this number */

/*
 * The name of the file in its store, so that a lost catalog can be rebuilt. Two slots, as for sync
 * records.
 */
struct blm_record {
	uint64_t sequence;		/* as in a sync record */
	uint32_t name_bytes;		/* 0: in no store */
	uint32_t labels_bytes;
	uint8_t name[BLM_FORMAT_NAME];
	uint8_t labels[BLM_FORMAT_LABELS];
	uint8_t reserved[2048 - 16 - BLM_FORMAT_NAME - BLM_FORMAT_LABELS - 8];
	/* XXH3-64 of all before it, seeded with the uuid's first 8 bytes */
	uint64_t check;
};
static_assert(sizeof(struct blm_record) == 2048, "format-spec.md, Page 3: name records");

/*
 * One of the stripes of the count. Writers add to the stripe that their thread chose (fetch_add,
 * relaxed), after the bits are set; the count is the sum of all stripes. A kill between bits and
 * count leaves the count one batch too low.
 */
struct blm_stripe {
	uint64_t keys;			/* adds that changed the filter */
	uint64_t reserved[7];
};
static_assert(sizeof(struct blm_stripe) == 64, "format-spec.md, Page 4: count of keys");

struct blm_header {
	struct blm_constant constant;
	struct blm_live live;
	struct blm_part_entry part[BLM_PARTS_MAX];
	struct blm_record record[2];
	struct blm_stripe stripe[BLM_STRIPES];
};
static_assert(sizeof(struct blm_header) == BLM_HEADER_BYTES, "format-spec.md, Layout");

static inline uint64_t blocks_of_part(uint64_t bytes)
{
	return bytes / BLM_BLOCK + (bytes % BLM_BLOCK != 0);
}

/* The bytes of the records and marks before a part of `bytes` bytes. */
static inline uint64_t blocksum_bytes(uint64_t bytes)
{
	return round_up(blocks_of_part(bytes) * (sizeof(struct blm_block_record) + 1),
			BLM_PART_ALIGN);
}

/*
 * BLM_FLAG_CHECKPOINT: the image of the part follows the part, and the journal follows the image.
 * Each has a record for each block, then the blocks; all four begin at multiples of a page. These
 * are offsets in the file.
 *
 *   image    the data as of the last sync record, or of the one before. A block that was never
 *            changed is zeros and has no record.
 *   journal  the blocks that changed before the last sync. A block is newer than the image's if its
 *            record has the epoch of the last sync record; other blocks have no meaning and are
 *            mostly holes. `ones` of its records is the last epoch that was copied to the image,
 *            for copies of the file; it changes without the rest, so `check` is computed with 0.
 *
 * The data as of the last sync are those of the image, except for the blocks that the journal has.
 * Written under the sync lock, see checkpoint.c.
 */
enum { BLM_IMAGE, BLM_JOURNAL };

struct blm_checkpoint_layout {
	uint64_t data, data_end, records[2], blocks[2], end;
};

static inline struct blm_checkpoint_layout checkpoint_layout(uint64_t part_offset, uint64_t bytes)
{
	uint64_t records = round_up(blocks_of_part(bytes) * sizeof(struct blm_block_record),
				    BLM_PAGE);
	struct blm_checkpoint_layout at = { .data = part_offset, .data_end = part_offset + bytes,
					    .end = round_up(part_offset + bytes, BLM_PAGE) };

	for (int i = 0; i < 2; i++) {
		at.records[i] = at.end;
		at.blocks[i] = at.records[i] + records;
		at.end = at.blocks[i] + round_up(bytes, BLM_PAGE);
	}
	return at;
}

/* The offset of the next part, after its records, if the data before it end at `end`. */
static inline uint64_t blm_part_at(uint64_t end, uint64_t bytes)
{
	return round_up(end + blocksum_bytes(bytes),
			bytes > BLM_HUGE_PAGE ? BLM_HUGE_PAGE : BLM_PART_ALIGN);
}

#endif
