/*
 * blocksum.c - which blocks are damaged?
 *
 * Data that others add to cannot be under a checksum. But bits of the kinds that only set them
 * never go away: a block on the disk with fewer ones than it was known to have has lost some. So
 * each sync looks at the blocks that were changed, writes all back, and then records of each how
 * many ones it had, and a hash of them for the case that nothing was added since. Bits that damage
 * turned on in a block with newer keys cannot be seen; they deny no key.
 */
#include "file/new_file.h"
#include "base/checksum.h"
#include "durable/blocksum.h"
#include "view/scan.h"
#include "base/phase.h"

struct blm_seen_block {
	uint64_t block;
	uint32_t part, hash, ones;
};

enum { SEEN_MOST = 1 << 20 };

static size_t bytes_of_block(const struct blm_part *part, uint64_t block)
{
	uint64_t left = part->shape.bytes - block * BLM_BLOCK;

	return left < BLM_BLOCK ? (size_t)left : BLM_BLOCK;
}

static void look_at_bytes(const struct blm_part *part, const uint8_t *bytes, size_t count,
			  uint32_t *ret_hash, uint32_t *ret_ones)
{
	*ret_hash = (uint32_t)blm_checksum(bytes, count);
	*ret_ones = (uint32_t)part->simd->count_ones(bytes, count);
}

/*
 * The copy is made word by word, because others set bits of the words by atomic operations. Its
 * words are of different moments. Bits are only set, so the copy has no more ones than the data
 * have when the two are compared. A bit that was set in between has left its mark for the next
 * sync. Data are whole words. The hash and the ones are of one copy, so that the two agree.
 */
static void look_at(const struct blm_part *part, uint64_t block, uint8_t *copy, uint32_t *ret_hash,
		    uint32_t *ret_ones)
{
	size_t bytes = bytes_of_block(part, block);

	copy_from_shared(copy, part->bytes + block * BLM_BLOCK, bytes);
	look_at_bytes(part, copy, bytes, ret_hash, ret_ones);
}

static bool take(struct blm_seen *seen, const struct blm_seen_block *block)
{
	if (seen->count == seen->capacity) {
		size_t capacity = seen->capacity ? 2 * seen->capacity : 64;
		struct blm_seen_block *more = realloc(seen->block, capacity * sizeof(*more));

		if (!more)
			return false;
		seen->block = more;
		seen->capacity = capacity;
	}
	seen->block[seen->count++] = *block;
	return true;
}

/*
 * The next marked block from `from` on; the number of blocks if there is none. Most are not marked,
 * so eight are checked at a time. Adders mark at the same time, by relaxed stores of a byte, so the
 * load is relaxed, too: a mark that is missed here stays for the next sync. The marks begin at a
 * multiple of 8.
 */
static uint64_t next_marked(const uint8_t *marks, uint64_t from, uint64_t blocks)
{
	while (from < blocks) {
		if (from % 8 == 0 && blocks - from >= 8
		    && !__atomic_load_n((const uint64_t *)(marks + from), __ATOMIC_RELAXED)) {
			from += 8;
			continue;
		}
		if (__atomic_load_n(&marks[from], __ATOMIC_RELAXED))
			return from;
		from++;
	}
	return blocks;
}

static bool good_record(const struct blm_view *view, unsigned i, uint64_t block,
			struct blm_block_record *ret)
{
	const struct blm_block_record *records = records_of(&view->part[i]);

	copy_from_shared(ret, &records[block], sizeof(*ret));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return is_written(ret)
		&& ret->check == blm_check_block(ret, i, block, view->constant.uuid);
}

/*
 * Has a block lost bits since it was recorded? It has never fewer, and as many only if they are the
 * same.
 */
static bool lost_bits(const struct blm_block_record *r, uint32_t hash, uint32_t ones)
{
	return hash != le32toh(r->hash) && ones <= le32toh(r->ones);
}

static struct blm_damage damage_of(const struct blm_view *view, unsigned i, uint64_t block,
				   uint32_t ones, const struct blm_block_record *r)
{
	const struct blm_part *part = &view->part[i];
	uint64_t from = (uint64_t)(part->bytes - view->image.map) + block * BLM_BLOCK;

	return (struct blm_damage){ .part = i, .block = block, .from = from,
				    .to = from + bytes_of_block(part, block), .ones = ones,
				    .recorded = le32toh(r->ones) };
}

/*
 * A damaged block that got new keys keeps the record that shows the damage, and its mark, so that
 * each sync reports it until it is repaired.
 */
static void take_damaged(const struct blm_view *view, const struct blm_seen_block *s,
			 const struct blm_block_record *r, struct blm_seen *seen)
{
	if (!seen->damaged++)
		seen->first = damage_of(view, s->part, s->block, s->ones, r);
	mark(&view->part[s->part], view->part[s->part].bytes + s->block * BLM_BLOCK);
}

static int look(const struct blm_view *view, unsigned i, struct blm_seen *seen, uint8_t *copy)
{
	const struct blm_part *part = &view->part[i];
	uint64_t blocks = blocks_of_part(part->shape.bytes), before = blm_phase_done();

	for (uint64_t b = next_marked(part->marks, 0, blocks); b < blocks
	     && seen->count < SEEN_MOST; b = next_marked(part->marks, b + 1, blocks)) {
		struct blm_seen_block s = { .block = b, .part = i };
		struct blm_block_record r;

		__atomic_exchange_n(&part->marks[b], 0, __ATOMIC_SEQ_CST);
		look_at(part, b, copy, &s.hash, &s.ones);
		if (good_record(view, i, b, &r) && lost_bits(&r, s.hash, s.ones))
			take_damaged(view, &s, &r, seen);
		else if (!take(seen, &s))
			return blm_fail(-ENOMEM, "out of memory");
		blm_phase_at(before + b * BLM_BLOCK);
	}
	blm_phase_at(before + part->shape.bytes);
	return 0;
}

int blm_blocksum_look(struct blm_view *view, struct blm_seen *ret)
{
	uint8_t *copy;
	int r = 0;

	*ret = (struct blm_seen){ 0 };
	if (!kind_only_sets(view->root.kind))
		return 0;
	copy = malloc(BLM_BLOCK);
	if (!copy)
		return blm_fail(-ENOMEM, "out of memory");
	BLM_PHASE("checking", blm_scan_bytes(view));
	for (unsigned i = 0; r == 0 && i < view->parts; i++)
		if (view->part[i].marks)
			r = look(view, i, ret, copy);
	free(copy);
	return r;
}

static void write_record(struct blm_view *view, const struct blm_seen_block *s, uint64_t epoch)
{
	struct blm_block_record r = { .hash = htole32(s->hash), .ones = htole32(s->ones),
				      .epoch = htole32((uint32_t)epoch) };

	r.check = blm_check_block(&r, s->part, s->block, view->constant.uuid);
	copy_to_shared(&records_of(&view->part[s->part])[s->block], &r, sizeof(r));
}

bool blm_blocksum_record(struct blm_view *view, const struct blm_seen *seen, uint64_t epoch)
{
	for (size_t i = 0; i < seen->count; i++)
		write_record(view, &seen->block[i], epoch);
	return seen->count > 0;
}

void blm_blocksum_look_again(struct blm_view *view, const struct blm_seen *seen)
{
	for (size_t i = 0; i < seen->count; i++)
		mark(&view->part[seen->block[i].part],
		     view->part[seen->block[i].part].bytes + seen->block[i].block * BLM_BLOCK);
}

void blm_seen_free(struct blm_seen *seen)
{
	free(seen->block);
	*seen = (struct blm_seen){ 0 };
}

int blm_blocksum_put(struct blm_view *new, unsigned i, uint64_t at, const void *bytes, size_t count)
{
	const struct blm_part *part = &new->part[i];
	struct blm_pages pages = { 0 };
	int r = blm_write_pages(new->image.fd, bytes, count, (uint64_t)(part->bytes
		- new->image.map) + at, &pages, "(new file)");

	for (size_t done = 0; r == 0 && kind_only_sets(new->root.kind) && done < count;
	     done += BLM_BLOCK) {
		struct blm_seen_block s = { .block = (at + done) / BLM_BLOCK, .part = i };

		look_at_bytes(part, (const uint8_t *)bytes + done, bytes_of_block(part, s.block),
			      &s.hash, &s.ones);
		write_record(new, &s, 1);
	}
	if (r == 0 && !kind_only_sets(new->root.kind) && count)
		mark_range(part, part->bytes + at, count);
	return r;
}

uint64_t blm_blocksum_owned(const struct blm_view *view, uint64_t *ret_first)
{
	const struct blm_split *split = &view->split;
	uint64_t blocks = blocks_of_part(view->part[0].shape.bytes);

	*ret_first = split->parts ? split->from / BLM_BLOCK : 0;
	if (!split->parts)
		return blocks;
	return split->from < split->to ? (split->to + BLM_BLOCK - 1) / BLM_BLOCK - *ret_first : 0;
}

static int record_piece(const struct blm_scan *scan, struct blm_worker *worker, uint64_t at,
			size_t bytes)
{
	struct blm_view *view = scan->context;
	const struct blm_part *part = &view->part[scan->part];
	bool sealed = le64toh(view->constant.flags) & BLM_FLAG_SEALED;
	uint64_t first, owned = blm_blocksum_owned(view, &first);

	for (uint64_t b = at / BLM_BLOCK; b * BLM_BLOCK < at + bytes; b++) {
		struct blm_seen_block s = { .block = b, .part = scan->part };

		if ((view->split.parts && b - first >= owned) || (!sealed && !part->marks[b]))
			continue;
		part->marks[b] = 0;
		look_at(part, b, worker->buffer, &s.hash, &s.ones);
		write_record(view, &s, 1);
	}
	return 0;
}

int blm_blocksum_new(struct blm_view *view)
{
	bool sealed = le64toh(view->constant.flags) & BLM_FLAG_SEALED, holes = view->holes;
	int r = 0;

	if (!sealed && !kind_only_sets(view->root.kind))
		return 0;
	BLM_PHASE("adding checksums", blm_scan_bytes(view));
	view->holes &= !sealed;		/* the holes of a sealed file are recorded too */
	for (unsigned i = 0; r == 0 && i < view->parts; i++)
		r = blm_scan(&(struct blm_scan){ .views = (const struct blm_view *const *)&view,
						 .count = 1, .part = i, .most = BLM_PIECE,
						 .piece = record_piece, .context = view }, NULL);
	view->holes = holes;
	return r;
}

/* ---- Comparing ---- */

static int check_part(const struct blm_view *view, unsigned i, uint8_t *copy, int64_t *known,
		      int (*tell)(void *context, const struct blm_damage *damage), void *context)
{
	const struct blm_part *part = &view->part[i];
	uint64_t before = blm_phase_done();
	bool sealed = le64toh(view->constant.flags) & BLM_FLAG_SEALED;

	for (uint64_t b = 0; b < blocks_of_part(part->shape.bytes); b++) {
		struct blm_block_record r;
		struct blm_damage found;
		uint32_t hash, ones;
		int answer = 0;

		blm_phase_at(before + b * BLM_BLOCK);
		if (!good_record(view, i, b, &r))
			continue;
		++*known;
		look_at(part, b, copy, &hash, &ones);
		if (sealed ? hash == le32toh(r.hash) : !lost_bits(&r, hash, ones))
			continue;
		found = damage_of(view, i, b, ones, &r);
		answer = tell(context, &found);
		if (answer < 0)
			return answer;
	}
	return 0;
}

int64_t blm_blocksum_check(const struct blm_view *view, int (*tell)(void *context,
	const struct blm_damage *damage), void *context)
{
	uint8_t *copy;
	int64_t known = 0;
	int r = 0;

	if (is_foreign(view))
		return 0;
	copy = malloc(BLM_BLOCK);
	if (!copy)
		return blm_fail(-ENOMEM, "out of memory");
	for (unsigned i = 0; r == 0 && i < view->parts; i++)
		r = check_part(view, i, copy, &known, tell, context);
	free(copy);
	return r < 0 ? r : known;
}

/*
 * Does a block match its record, or is it newer? A block that others may change is copied first, as
 * above. With more ones than in the record the hash need not be checked.
 */
static int is_intact(const struct blm_view *view, unsigned i, uint64_t block,
		     const struct blm_block_record *r)
{
	const struct blm_part *part = &view->part[i];
	const uint8_t *bytes = part->bytes + block * BLM_BLOCK;
	size_t count = bytes_of_block(part, block);
	bool sealed = le64toh(view->constant.flags) & BLM_FLAG_SEALED;
	uint32_t hash, ones;
	uint8_t *copy;

	if (sealed)
		return (uint32_t)blm_checksum(bytes, count) == le32toh(r->hash);
	if (part->simd->count_ones(bytes, count) > le32toh(r->ones))
		return 1;
	copy = malloc(BLM_BLOCK);	/* others may add to it at the same time */
	if (!copy)
		return blm_fail(-ENOMEM, "out of memory");
	look_at(part, block, copy, &hash, &ones);
	free(copy);
	return !lost_bits(r, hash, ones);
}

static int check_blocks(const struct blm_view *view, unsigned i, uint64_t from, uint64_t to,
			const char *display)
{
	struct blm_block_record record;
	int r = 1;

	for (uint64_t b = from; r > 0 && b < to; b++) {
		if (good_record(view, i, b, &record))
			r = is_intact(view, i, b, &record);
		if (r == 0)
			return blm_fail(-EUCLEAN, "%s: part %u, block %llu is damaged, so a filter "
					"made from it would deny keys; %s", display, i,
					(unsigned long long)b, kind_only_sets(view->root.kind)
					? "repair it with "
					"blm_verify(), which sets all its bits" : "make it again "
					"from its keys");
	}
	return r < 0 ? r : 0;
}

int blm_blocksum_intact(const struct blm_view *view, unsigned i, uint64_t at, size_t bytes,
			const char *display)
{
	return is_foreign(view) ? 0 : check_blocks(view, i, at / BLM_BLOCK, (at + bytes + BLM_BLOCK
		- 1) / BLM_BLOCK, display);
}

int blm_blocksum_intact_holes(const struct blm_view *view, unsigned i, const char *display)
{
	uint64_t end = view->part[i].shape.bytes, first = 0, blocks, from, to;
	int r = 0;

	if (view->split.parts) {
		blocks = blm_blocksum_owned(view, &first);
		end = (first + blocks) * BLM_BLOCK < end ? (first + blocks) * BLM_BLOCK : end;
	}
	for (uint64_t at = first * BLM_BLOCK; r == 0 && view->holes && !is_foreign(view)
	     && at < end; at = to) {
		if (!blm_next_data(view, i, at, &from, &to) || from > end)
			from = to = end;
		r = check_blocks(view, i, at / BLM_BLOCK, from / BLM_BLOCK, display);
	}
	return r;
}

void blm_blocksum_fill(struct blm_view *view, const struct blm_damage *damage)
{
	struct blm_part *part = &view->part[damage->part];
	uint64_t *words = (uint64_t *)(part->bytes + damage->block * BLM_BLOCK),
		first = damage->block * BLM_BLOCK * 8;
	uint64_t end = padding_from(part);
	struct blm_seen_block s = { .block = damage->block, .part = damage->part };
	uint8_t *copy = malloc(BLM_BLOCK);

	for (size_t i = 0; i < (damage->to - damage->from) / 8; i++) {
		uint64_t bit = first + 64 * i, mask = bit + 64 <= end ? UINT64_MAX : 0;

		if (view->split.parts && !split_owns(&view->split, bit / 8))
			continue;
		for (uint64_t j = 0; bit + 64 > end && j < 64; j++)
			mask |= (uint64_t)!is_padding(part, bit + j) << j;
		if (mask)
			__atomic_fetch_or(&words[i], htole64(mask), __ATOMIC_ACQ_REL);
	}
	if (copy && le64toh(view->constant.flags) & BLM_FLAG_SEALED) {
		look_at(part, damage->block, copy, &s.hash, &s.ones);
		write_record(view, &s, 0);
	} else {
		mark(part, words);
	}
	free(copy);
}
