/* mapping.c - map a filter's file, distrust it, copy its header out */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "file/mapping.h"
#include "file/sigbus.h"
#include "file/os.h"
#include "file/filesystem.h"
#include "base/random.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A map keeps its open file description alive, and a forked child inherits the map. So the locks of
 * a mapped description outlive their process until its children end, although the children close
 * the descriptor. Therefore the file is opened a second time for a writable map, and the
 * description that takes the locks is never mapped. The second open fails without /proc, without
 * the right to open the file, and without a free descriptor; then image->fd is mapped.
 *
 * Return: the descriptor to map: a new one, which the caller closes, or image->fd.
 */
static int fd_to_map(const struct blm_image *image)
{
	char path[32];
	struct stat a, b;
	int fd;

	if (!image->write)
		return image->fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", image->fd);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return image->fd;
	if (fstat(fd, &a) == 0 && fstat(image->fd, &b) == 0 && a.st_dev == b.st_dev
	    && a.st_ino == b.st_ino)
		return fd;
	close(fd);
	return image->fd;
}

static int map_at(const struct blm_image *image, void *at, int protection)
{
	int fd = fd_to_map(image), r = 0;

	if (mmap(at, image->bytes, protection, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		r = -errno;
	if (fd != image->fd)
		close(fd);
	return r;
}

/*
 * Map so that the address is aligned like the file's offset: the system can then use pages of 2
 * MiB.
 */
static int map_aligned(struct blm_image *image, int protection, const char *path)
{
	size_t room = image->bytes + BLM_HUGE_PAGE;
	uint8_t *reserved, *at;
	int r;

	reserved = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (reserved == MAP_FAILED)
		return -errno;
	at = (uint8_t *)round_up((uintptr_t)reserved, BLM_HUGE_PAGE);
	r = map_at(image, at, protection);
	if (r < 0) {
		munmap(reserved, room);
		return r;
	}
	if (blm_sigbus_note(at, image->bytes, path) < 0) {
		munmap(reserved, room);
		return -ENOMEM;
	}
	/* a miss reads its own page, and not what lies around it */
	madvise(at, image->bytes, MADV_RANDOM);
	image->map = at;
	image->reserved = reserved;
	image->reserved_bytes = room;
	return 0;
}

static int look_at(struct blm_image *image, const char *path)
{
	struct stat st;

	if (fstat(image->fd, &st) < 0)
		return blm_fail(-errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return blm_fail(-EBADMSG, "%s: not a regular file, so not a filter", path);
	image->bytes = (uint64_t)st.st_size;
	image->device = st.st_dev;
	image->inode = st.st_ino;
	image->nameless = st.st_nlink == 0;
	return 0;
}

static int map(struct blm_image *image, const char *path)
{
	int r;

	if (image->bytes > SIZE_MAX / 2)
		return blm_fail(-EFBIG, "%s: too large for this machine's address space", path);
	r = map_aligned(image, image->write ? PROT_READ | PROT_WRITE : PROT_READ, path);
	return r < 0 ? blm_fail(r, "%s: cannot map %llu bytes: %s", path,
				(unsigned long long)image->bytes, strerror(-r)) : 0;
}

int blm_image_map(struct blm_image *ret, int fd, const char *path, bool write)
{
	struct blm_image image = { .fd = fd, .write = write };
	char magic[8];
	int64_t n = 0;
	int r;

	if (!write)
		image.fd = blm_copied_up(fd, &image.unsure);
	r = look_at(&image, path);

	if (r == 0 && (n = blm_read_at(image.fd, magic, 8, 0)) < 0)
		r = blm_fail((int)n, "%s: cannot be read: %s", path, strerror((int)-n));
	else if (r == 0 && n == 8 && !memcmp(magic, BLM_BANK_MAGIC, 8))
		r = blm_fail(-EBADMSG, "%s: a bank of filters, not a filter: read it by "
			     "blm_bank_open()", path);
	else if (r == 0 && n == 8 && memcmp(magic, BLM_MAGIC, 8))
		r = blm_fail(-EBADMSG, "%s: not a Bloomery filter (it does not begin with "
			     "\"" BLM_MAGIC "\"); another program's is read by blm_exchange.format",
			     path);
	else if (r == 0 && image.bytes < BLM_HEADER_BYTES)
		r = blm_fail(-ENODATA, "%s: %llu bytes, shorter than a filter's header (%d); the "
			     "file was cut, or is none of ours: put a copy in its place, or make "
			     "it anew from its keys",
			     path, (unsigned long long)image.bytes, BLM_HEADER_BYTES);
	if (r == 0)
		r = map(&image, path);
	if (r < 0) {
		close(image.fd);
		return r;
	}
	image.header = (struct blm_header *)image.map;
	*ret = image;
	return 0;
}

int blm_image_map_foreign(struct blm_image *ret, int fd, const char *path)
{
	bool unsure;		/* no process of this user writes to it */
	struct blm_image image = { .fd = blm_copied_up(fd, &unsure) };
	int r = look_at(&image, path);

	if (r == 0 && !image.bytes)
		r = blm_fail(-ENODATA, "%s: empty", path);
	if (r == 0)
		r = map(&image, path);
	if (r < 0) {
		close(image.fd);
		return r;
	}
	*ret = image;
	return 0;
}

/* Of serial numbers (RFC 1982): 1 is after 2^64 - 1. */
static bool is_after(uint64_t a, uint64_t b)
{
	return a != b && a - b < UINT64_C(1) << 63;
}

/*
 * Words that only grow, of which each change of a file raises one: a map that shows less than the
 * file did a moment ago is another's.
 */
bool blm_image_is_behind(const struct blm_image *image)
{
	const struct blm_live *mapped = &image->header->live;
	struct blm_live live;
	struct blm_stripe stripe[BLM_STRIPES];

	if (image->fd < 0)
		return true;	/* in a forked child: it must be opened again, to know */
	if (blm_read_at(image->fd, &live, sizeof(live), offsetof(struct blm_header, live))
	    != (int64_t)sizeof(live)
	    || blm_read_at(image->fd, stripe, sizeof(stripe), offsetof(struct blm_header, stripe))
	    != (int64_t)sizeof(stripe))
		return false;
	if (is_after(le64toh(live.state.word), load_acquire(&mapped->state.word))
	    || le64toh(live.epoch.word) > load_acquire(&mapped->epoch.word)
	    || le64toh(live.written.word) > load_acquire(&mapped->written.word)
	    || le64toh(live.parts.word) > load_acquire(&mapped->parts.word))
		return true;
	for (int i = 0; i < BLM_STRIPES; i++)
		if (is_after(le64toh(stripe[i].keys), load_relaxed(&image->header->stripe[i].keys)))
			return true;
	return false;
}

static void unmap(struct blm_image *image)
{
	blm_sigbus_forget(image->map);
	munmap(image->reserved, image->reserved_bytes);
	image->reserved = NULL;
}

void blm_image_unmap(struct blm_image *image)
{
	if (!image->reserved)
		return;
	if ((uint8_t *)image->header != image->map)
		free(image->header);
	unmap(image);
	if (image->fd >= 0)
		close(image->fd);
	*image = (struct blm_image){ .fd = -1 };
}

/* ---- Checksums ---- */

static uint64_t check(const void *bytes, size_t len, uint64_t seed)
{
	return htole64(XXH3_64bits_withSeed(bytes, len, seed));
}

uint64_t blm_check_bytes(const void *bytes, size_t count, uint64_t seed)
{
	return check(bytes, count, seed);
}

static uint64_t uuid_seed(const uint8_t uuid[16])
{
	uint64_t seed;

	memcpy(&seed, uuid, 8);
	return le64toh(seed);
}

uint64_t blm_check_constant(const struct blm_constant *c)
{
	return check(c, offsetof(struct blm_constant, check), 0);
}

uint64_t blm_check_part(const struct blm_part_entry *entry, unsigned index, const uint8_t uuid[16])
{
	return check(entry, offsetof(struct blm_part_entry, check), uuid_seed(uuid) + index);
}

uint64_t blm_check_sync(const struct blm_sync_record *record, const uint8_t uuid[16])
{
	return check(record, offsetof(struct blm_sync_record, check), uuid_seed(uuid));
}

uint32_t blm_check_block(const struct blm_block_record *record, unsigned part, uint64_t block,
			 const uint8_t uuid[16])
{
	return htole32((uint32_t)le64toh(check(record, offsetof(struct blm_block_record, check),
					       uuid_seed(uuid) + block + ((uint64_t)part << 48))));
}

uint64_t blm_check_record(const struct blm_record *record, const uint8_t uuid[16])
{
	return check(record, offsetof(struct blm_record, check), uuid_seed(uuid));
}

void blm_template_id(const struct blm_template_fields *fields, uint8_t ret[16])
{
	size_t bytes = offsetof(struct blm_template_fields, seeds) + 8
		* (size_t)le32toh(fields->seed_count);
	XXH128_hash_t h = XXH3_128bits(fields, bytes);
	uint64_t words[2] = { htole64(h.low64), htole64(h.high64) };

	memcpy(ret, words, 16);
}

/* ---- The header ---- */

int blm_constant_check(const struct blm_constant *c, const char *magic, uint32_t header_bytes,
		       const char *path)
{
	uint8_t id[16];
	double rate = blm_double_of(le64toh(c->rate));

	if (memcmp(c->magic, magic, 8))
		return blm_fail(-EBADMSG, "%s: not a Bloomery %s (it does not begin with \"%s\")",
				path,
				strcmp(magic, BLM_MAGIC) ? "bank, which blm_bank_begin() makes of "
				"filters" : "filter", magic);
	if (le32toh(c->version) != BLM_FORMAT_VERSION)
		return blm_fail(-EPROTONOSUPPORT,
				"%s: version %u of the file format; this program reads version %d",
				path, le32toh(c->version), BLM_FORMAT_VERSION);
	if (c->check != blm_check_constant(c))
		return blm_fail(-EBADMSG, "%s: the header is damaged (its checksum is wrong)",
				path);
	if (c->must_understand)
		return blm_fail(-EPROTONOSUPPORT,
				"%s: uses features %#llx that this program does not know",
				path, (unsigned long long)le64toh(c->must_understand));
	if (le32toh(c->header_bytes) != header_bytes)
		return blm_fail(-EBADMSG, "%s: header_bytes is %u, not %u", path,
				le32toh(c->header_bytes), header_bytes);
	if (le32toh(c->template.seed_count) > BLM_FORMAT_SEEDS)
		return blm_fail(-EBADMSG, "%s: seed_count is %u, more than %d", path,
				le32toh(c->template.seed_count), BLM_FORMAT_SEEDS);
	if (le32toh(c->origin_bytes) > BLM_ORIGIN_BYTES)
		return blm_fail(-EBADMSG, "%s: origin_bytes is %u, more than %d", path,
				le32toh(c->origin_bytes), BLM_ORIGIN_BYTES);
	blm_template_id(&c->template, id);
	if (memcmp(id, c->template_id, 16))
		return blm_fail(-EBADMSG, "%s: template_id is not that of the template", path);
	if (!(rate > 0 && rate <= 1))
		return blm_fail(-EBADMSG, "%s: rate is %g, not between 0 and 1", path, rate);
	if (!c->capacity || le64toh(c->capacity) > UINT64_C(1) << 47)
		return blm_fail(-EBADMSG, "%s: capacity is %llu, not 1 to 2^47", path,
				(unsigned long long)le64toh(c->capacity));
	return 0;
}

static int check_part(const struct blm_part_entry *e, unsigned i, const struct blm_constant *c,
		      uint64_t file_bytes, const char *path)
{
	uint64_t offset = le64toh(e->offset), bytes = le64toh(e->bytes);

	if (e->check != blm_check_part(e, i, c->uuid))
		return blm_fail(-EBADMSG, "%s: entry %u of the part table is damaged (its checksum "
				"is wrong)", path, i);
	if (offset < BLM_HEADER_BYTES || offset % BLM_PART_ALIGN || bytes % BLM_PART_ALIGN || !bytes
	    || bytes > INT64_MAX || offset - BLM_HEADER_BYTES < blocksum_bytes(bytes))
		return blm_fail(-EBADMSG, "%s: part %u: offset %llu, %llu bytes: not aligned, "
				"empty, or in the header", path, i,
				(unsigned long long)offset, (unsigned long long)bytes);
	if (offset > file_bytes || bytes > file_bytes - offset)
		return blm_fail(-ENODATA, "%s: part %u ends at %llu + %llu, the file at %llu: it "
				"was cut: put a copy in its place, or make it anew from its keys",
				path, i,
				(unsigned long long)offset, (unsigned long long)bytes,
				(unsigned long long)file_bytes);
	return 0;
}

/* What its only part has behind it. */
static int check_shadow(const struct blm_contents *c, uint64_t file_bytes, const char *path)
{
	const struct blm_part_entry *e = &c->part[0];
	uint64_t bytes = le64toh(e->bytes);

	if (!(le64toh(c->constant.flags) & BLM_FLAG_CHECKPOINT))
		return 0;
	if (c->parts > 1)
		return blm_fail(-EBADMSG, "%s: %u parts, and a second image, which only a filter "
				"of one part has", path, c->parts);
	/* offset and bytes are each at most that */
	if (bytes > file_bytes || checkpoint_layout(le64toh(e->offset), bytes).end > file_bytes)
		return blm_fail(-ENODATA, "%s: the second image of its data ends behind byte %llu, "
				"the file there: it was cut: put a copy in its place, or make it "
				"anew from its keys", path,
				(unsigned long long)file_bytes);
	return 0;
}

static uint64_t begin_of(const struct blm_part_entry *e)
{
	return le64toh(e->offset) - blocksum_bytes(le64toh(e->bytes));
}

static uint64_t end_of(const struct blm_part_entry *e)
{
	return le64toh(e->offset) + le64toh(e->bytes);
}

static int check_parts(const struct blm_header *header, uint64_t file_bytes, const char *path,
		       struct blm_contents *to)
{
	uint64_t parts = load_acquire(&header->live.parts.word);
	int r;

	if (parts < 1 || parts > BLM_PARTS_MAX)
		return blm_fail(-EBADMSG, "%s: says that it has %llu parts, not 1 to %d", path,
				(unsigned long long)parts, BLM_PARTS_MAX);
	to->parts = (unsigned)parts;
	memcpy(to->part, header->part, sizeof(to->part));
	for (unsigned i = 0; i < to->parts; i++) {
		r = check_part(&to->part[i], i, &to->constant, file_bytes, path);
		if (r < 0)
			return r;
		for (unsigned j = 0; j < i; j++)
			if (begin_of(&to->part[i]) < end_of(&to->part[j])
			    && begin_of(&to->part[j]) < end_of(&to->part[i]))
				return blm_fail(-EBADMSG, "%s: parts %u and %u overlap", path, j,
						i);
	}
	return check_shadow(to, file_bytes, path);
}

int blm_header_check(const struct blm_header *header, uint64_t file_bytes, const char *path,
		     struct blm_contents *ret)
{
	int r;

	ret->constant = header->constant;
	r = blm_constant_check(&ret->constant, BLM_MAGIC, BLM_HEADER_BYTES, path);
	return r < 0 ? r : check_parts(header, file_bytes, path, ret);
}

/*
 * All of a file that has become longer. 1: it is mapped; 0: the file is no longer than the map; or
 * a negative errno, with words, and no map.
 */
static int map_longer(struct blm_image *image, const char *path)
{
	uint64_t bytes = image->bytes;
	int r = look_at(image, path);

	if (r < 0 || image->bytes <= bytes) {
		image->bytes = bytes;
		return r;
	}
	unmap(image);
	r = map(image, path);
	if (r < 0) {
		close(image->fd);
		*image = (struct blm_image){ .fd = -1 };
		return r;
	}
	image->header = (struct blm_header *)image->map;
	return 1;
}

/*
 * A file that grows is made longer before its parts are more: so where they end behind the map they
 * may have become more since.
 */
int blm_image_check(struct blm_image *image, const char *path, struct blm_contents *ret)
{
	int r = blm_header_check(image->header, image->bytes, path, ret);

	while (r == -ENODATA) {
		int longer = map_longer(image, path);

		if (longer < 1)
			return longer < 0 ? longer : r;
		r = blm_header_check(image->header, image->bytes, path, ret);
	}
	return r;
}

int blm_constant_begin(struct blm_constant *c, const char *display)
{
	int r = blm_random(c->uuid, sizeof(c->uuid), display);

	if (r < 0)
		return r;
	memcpy(c->magic, BLM_MAGIC, 8);
	c->version = htole32(BLM_FORMAT_VERSION);
	c->header_bytes = htole32(BLM_HEADER_BYTES);
	c->uuid[6] = (uint8_t)((c->uuid[6] & 0x0f) | 0x40);	/* RFC 4122: random */
	c->uuid[8] = (uint8_t)((c->uuid[8] & 0x3f) | 0x80);
	c->created = htole64(blm_now());
	return 0;
}

void blm_header_finish(struct blm_header *header, unsigned parts)
{
	uint64_t end = BLM_HEADER_BYTES;

	header->constant.check = blm_check_constant(&header->constant);
	for (unsigned i = 0; i < parts; i++) {
		struct blm_part_entry *e = &header->part[i];

		end = blm_part_at(end, le64toh(e->bytes));
		e->offset = htole64(end);
		e->check = blm_check_part(e, i, header->constant.uuid);
		end += le64toh(e->bytes);
	}
	header->live.parts.word = htole64(parts);
	header->live.epoch.word = htole64(1);
}

/* ---- Slots ---- */

/*
 * Each sort of record has two slots, written in turns. is_after() compares sequences, because 1
 * follows 2^64 - 1. Two sequences that are equal, or 2^63 apart, contradict each other: no writer
 * leaves such records.
 */
enum { BOTH = 2 };

static bool is_neither_after(uint64_t a, uint64_t b)
{
	return !is_after(a, b) && !is_after(b, a);
}

static uint64_t sequence_after(uint64_t sequence)
{
	return sequence + 1 ? sequence + 1 : 1;
}

static bool claims_less(const struct blm_sync_record *a, const struct blm_sync_record *b)
{
	uint64_t epochs[] = { le64toh(a->epoch), le64toh(b->epoch) };

	return epochs[0] < epochs[1] || (epochs[0] == epochs[1]
					 && le64toh(a->keys) < le64toh(b->keys));
}

/*
 * Copies both records, because another process may be writing one of them. Returns how many are
 * valid. If one is, *ret_slot is its slot.
 */
static int valid_syncs(const struct blm_live *live, const uint8_t uuid[16],
		       struct blm_sync_record ret[BOTH], int *ret_slot)
{
	int count = 0;

	for (int i = 0; i < BOTH; i++) {
		ret[i] = live->sync[i];
		if (ret[i].sequence && ret[i].check == blm_check_sync(&ret[i], uuid)) {
			count++;
			*ret_slot = i;
		}
	}
	return count;
}

/*
 * The slot of the last one; -1: there is none. If two contradict each other, the one that claims
 * less.
 */
static int last_sync(const struct blm_live *live, const uint8_t uuid[16],
		     struct blm_sync_record *ret)
{
	struct blm_sync_record s[BOTH];
	int slot = -1;

	if (valid_syncs(live, uuid, s, &slot) == BOTH) {
		uint64_t sequence[] = { le64toh(s[0].sequence), le64toh(s[1].sequence) };

		slot = is_neither_after(sequence[0], sequence[1]) ? claims_less(&s[1], &s[0])
			: is_after(sequence[1], sequence[0]);
	}
	if (slot >= 0)
		*ret = s[slot];
	return slot;
}

bool blm_last_sync(const struct blm_live *live, const uint8_t uuid[16], struct blm_sync_record *ret)
{
	return last_sync(live, uuid, ret) >= 0;
}

bool blm_syncs_contradict(const struct blm_live *live, const uint8_t uuid[16])
{
	struct blm_sync_record s[BOTH];
	int slot;

	return valid_syncs(live, uuid, s, &slot) == BOTH && memcmp(&s[0], &s[1], sizeof(s[0]))
	    && is_neither_after(le64toh(s[0].sequence), le64toh(s[1].sequence));
}

int blm_syncs_lost(const struct blm_live *live, const uint8_t uuid[16])
{
	int written = !!live->sync[0].sequence + !!live->sync[1].sequence;
	struct blm_sync_record last;
	bool known = blm_last_sync(live, uuid, &last),
		flushing = load_acquire(&live->flushing.word);

	known |= blm_last_sync(live, uuid, &last);
	return known || (written == 1 && flushing) ? 0 : written;
}

/* The last one stays, wherever it lies, until the next one is whole. */
void blm_next_sync(struct blm_live *live, const uint8_t uuid[16],
		   const struct blm_sync_record *content)
{
	struct blm_sync_record last = { 0 }, next = *content;
	int slot = last_sync(live, uuid, &last);

	next.sequence = htole64(sequence_after(le64toh(last.sequence)));
	next.check = blm_check_sync(&next, uuid);
	live->sync[slot == 1 ? 0 : 1] = next;
}

void blm_drop_sync(struct blm_live *live, const uint8_t uuid[16])
{
	struct blm_sync_record last;
	int slot = last_sync(live, uuid, &last);

	if (slot >= 0)
		live->sync[slot] = (struct blm_sync_record){ 0 };
}

/*
 * Records are large, so only the one that counts is kept: `ret`, whose slot this returns; -1: none.
 * *ret_contradict: both are valid, and no writer leaves both.
 */
static int last_record(const struct blm_header *header, const uint8_t uuid[16],
		       struct blm_record *ret, bool *ret_contradict)
{
	int slot = -1;

	*ret_contradict = false;
	for (int i = 0; i < BOTH; i++) {
		struct blm_record r = header->record[i];
		uint64_t sequence = le64toh(r.sequence);

		if (!r.sequence || r.check != blm_check_record(&r, uuid)
		    || le32toh(r.name_bytes) >= BLM_FORMAT_NAME
		    || le32toh(r.labels_bytes) >= BLM_FORMAT_LABELS)
			continue;
		*ret_contradict = slot >= 0 && is_neither_after(sequence, le64toh(ret->sequence))
			&& memcmp(&r, ret, sizeof(r));
		if (slot < 0 || is_after(sequence, le64toh(ret->sequence))) {
			*ret = r;
			slot = i;
		}
	}
	return slot;
}

bool blm_last_record(const struct blm_header *header, const uint8_t uuid[16],
		     struct blm_record *ret)
{
	bool contradict;

	return last_record(header, uuid, ret, &contradict) >= 0;
}

bool blm_records_contradict(const struct blm_header *header, const uint8_t uuid[16])
{
	struct blm_record last;
	bool contradict;

	last_record(header, uuid, &last, &contradict);
	return contradict;
}

void blm_next_record(struct blm_header *header, const uint8_t uuid[16],
		     const struct blm_record *content)
{
	struct blm_record last = { 0 }, next = *content;
	bool contradict;
	int slot = last_record(header, uuid, &last, &contradict);

	next.sequence = htole64(sequence_after(le64toh(last.sequence)));
	next.check = blm_check_record(&next, uuid);
	header->record[slot == 1 ? 0 : 1] = next;
}
