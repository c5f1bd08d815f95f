/* image.c - map a filter's file, distrust it, copy its header out */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "file/image.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>


/* Map so that the address is aligned like the file's offset: the system can then use pages of 2 MiB. */
static int map_aligned(struct blm_image *image, int protection)
{
	size_t room = image->bytes + BLM_HUGE_PAGE;
	uint8_t *reserved, *at;

	reserved = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (reserved == MAP_FAILED)
		return -errno;
	at = (uint8_t *)round_up((uintptr_t)reserved, BLM_HUGE_PAGE);
	if (mmap(at, image->bytes, protection, MAP_SHARED | MAP_FIXED, image->fd, 0) == MAP_FAILED) {
		int err = -errno;

		munmap(reserved, room);
		return err;
	}
	madvise(at, image->bytes, MADV_HUGEPAGE);	/* a hint; refused where there are none */
	image->header = (struct blm_header *)at;
	image->reserved = reserved;
	image->reserved_bytes = room;
	return 0;
}

static int map(struct blm_image *image, const char *path)
{
	struct stat st;
	char magic[8];
	int r;

	if (fstat(image->fd, &st) < 0)
		return blm_fail(-errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return blm_fail(-EBADMSG, "%s: not a regular file, so not a filter", path);
	if (pread(image->fd, magic, 8, 0) == 8 && memcmp(magic, BLM_MAGIC, 8))
		return blm_fail(-EBADMSG, "%s: not a Bloomery filter (it does not begin with \"" BLM_MAGIC "\")", path);
	if (st.st_size < BLM_HEADER_BYTES)
		return blm_fail(-ENODATA, "%s: %lld bytes, shorter than a filter's header (%d); the file was cut, or is none of ours",
				path, (long long)st.st_size, BLM_HEADER_BYTES);
	if ((uint64_t)st.st_size > SIZE_MAX / 2)
		return blm_fail(-EFBIG, "%s: too large for this machine's address space", path);
	image->bytes = (uint64_t)st.st_size;
	image->device = st.st_dev;
	image->inode = st.st_ino;
	r = map_aligned(image, image->write ? PROT_READ | PROT_WRITE : PROT_READ);
	return r < 0 ? blm_fail(r, "%s: cannot map %llu bytes: %s", path, (unsigned long long)image->bytes, strerror(-r)) : 0;
}

int blm_image_map(struct blm_image *ret, int fd, const char *path, bool write)
{
	struct blm_image image = { .fd = fd, .write = write };
	int r = map(&image, path);

	if (r < 0) {
		close(fd);
		return r;
	}
	*ret = image;
	return 0;
}

void blm_image_unmap(struct blm_image *image)
{
	if (!image->reserved)
		return;
	munmap(image->reserved, image->reserved_bytes);
	if (image->fd >= 0)
		close(image->fd);
	*image = (struct blm_image){ .fd = -1 };
}

/* ---- Checksums ---- */

static uint64_t check(const void *bytes, size_t len, uint64_t seed)
{
	return htole64(XXH3_64bits_withSeed(bytes, len, seed));
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

uint64_t blm_check_record(const struct blm_record *record, const uint8_t uuid[16])
{
	return check(record, offsetof(struct blm_record, check), uuid_seed(uuid));
}

void blm_template_id(const struct blm_template_fields *fields, uint8_t ret[16])
{
	size_t bytes = offsetof(struct blm_template_fields, seeds) + 8 * (size_t)le32toh(fields->seed_count);
	XXH128_hash_t h = XXH3_128bits(fields, bytes);
	uint64_t words[2] = { htole64(h.low64), htole64(h.high64) };

	memcpy(ret, words, 16);
}

/* ---- The header ---- */

static int check_constant(const struct blm_constant *c, const char *path)
{
	uint8_t id[16];
	double rate = blm_double_of(le64toh(c->rate));

	if (memcmp(c->magic, BLM_MAGIC, 8))
		return blm_fail(-EBADMSG, "%s: not a Bloomery filter (it does not begin with \"" BLM_MAGIC "\")", path);
	if (le32toh(c->version) != BLM_FORMAT_VERSION)
		return blm_fail(-EPROTONOSUPPORT, "%s: version %u of the file format; this program reads version %d",
				path, le32toh(c->version), BLM_FORMAT_VERSION);
	if (c->check != blm_check_constant(c))
		return blm_fail(-EBADMSG, "%s: the header is damaged (its checksum is wrong)", path);
	if (c->must_understand)
		return blm_fail(-EPROTONOSUPPORT, "%s: uses features %#llx that this program does not know",
				path, (unsigned long long)le64toh(c->must_understand));
	if (le32toh(c->header_bytes) != BLM_HEADER_BYTES)
		return blm_fail(-EBADMSG, "%s: header_bytes is %u, not %d", path, le32toh(c->header_bytes), BLM_HEADER_BYTES);
	if (le32toh(c->template.seed_count) > BLM_FORMAT_SEEDS)
		return blm_fail(-EBADMSG, "%s: seed_count is %u, more than %d", path, le32toh(c->template.seed_count), BLM_FORMAT_SEEDS);
	if (c->template.index_rule || c->template.bit_order)
		return blm_fail(-EPROTONOSUPPORT, "%s: index rule %u, bit order %u: this program knows only 0", path,
				le32toh(c->template.index_rule), le32toh(c->template.bit_order));
	blm_template_id(&c->template, id);
	if (memcmp(id, c->template_id, 16))
		return blm_fail(-EBADMSG, "%s: template_id is not that of the template", path);
	if (!(rate > 0 && rate <= 1))
		return blm_fail(-EBADMSG, "%s: rate is %g, not between 0 and 1", path, rate);
	if (!c->capacity || le64toh(c->capacity) > UINT64_C(1) << 47)
		return blm_fail(-EBADMSG, "%s: capacity is %llu, not 1 to 2^47", path, (unsigned long long)le64toh(c->capacity));
	return 0;
}

static int check_part(const struct blm_part_entry *e, unsigned i, const struct blm_constant *c, uint64_t file_bytes, const char *path)
{
	uint64_t offset = le64toh(e->offset), bytes = le64toh(e->bytes);

	if (e->check != blm_check_part(e, i, c->uuid))
		return blm_fail(-EBADMSG, "%s: entry %u of the part table is damaged (its checksum is wrong)", path, i);
	if (offset < BLM_HEADER_BYTES || offset % BLM_PART_ALIGN || bytes % BLM_PART_ALIGN || !bytes)
		return blm_fail(-EBADMSG, "%s: part %u: offset %llu, %llu bytes: not aligned, empty, or in the header", path, i,
				(unsigned long long)offset, (unsigned long long)bytes);
	if (offset > file_bytes || bytes > file_bytes - offset)
		return blm_fail(-ENODATA, "%s: part %u ends at %llu + %llu, the file at %llu: it was cut", path, i,
				(unsigned long long)offset, (unsigned long long)bytes, (unsigned long long)file_bytes);
	return 0;
}

static int check_parts(const struct blm_image *image, const char *path, struct blm_contents *to)
{
	uint64_t parts = load_acquire(&image->header->live.parts.word);
	int r;

	if (parts < 1 || parts > BLM_PARTS_MAX)
		return blm_fail(-EBADMSG, "%s: says that it has %llu parts, not 1 to %d", path, (unsigned long long)parts, BLM_PARTS_MAX);
	to->parts = (unsigned)parts;
	memcpy(to->part, image->header->part, sizeof(to->part));
	for (unsigned i = 0; i < to->parts; i++) {
		r = check_part(&to->part[i], i, &to->constant, image->bytes, path);
		if (r < 0)
			return r;
		for (unsigned j = 0; j < i; j++)
			if (le64toh(to->part[i].offset) < le64toh(to->part[j].offset) + le64toh(to->part[j].bytes)
			    && le64toh(to->part[j].offset) < le64toh(to->part[i].offset) + le64toh(to->part[i].bytes))
				return blm_fail(-EBADMSG, "%s: parts %u and %u overlap", path, j, i);
	}
	return 0;
}

int blm_image_check(const struct blm_image *image, const char *path, struct blm_contents *ret)
{
	int r;

	ret->constant = image->header->constant;
	r = check_constant(&ret->constant, path);
	return r < 0 ? r : check_parts(image, path, ret);
}

/* ---- Slots ---- */

bool blm_last_sync(const struct blm_live *live, const uint8_t uuid[16], struct blm_sync_record *ret)
{
	bool found = false;

	for (int i = 0; i < 2; i++) {
		struct blm_sync_record s = live->sync[i];

		if (s.sequence && s.check == blm_check_sync(&s, uuid)
		    && (!found || le64toh(s.sequence) > le64toh(ret->sequence))) {
			*ret = s;
			found = true;
		}
	}
	return found;
}

void blm_next_sync(struct blm_live *live, const uint8_t uuid[16], const struct blm_sync_record *content)
{
	struct blm_sync_record last = { 0 }, next = *content;
	uint64_t sequence = blm_last_sync(live, uuid, &last) ? le64toh(last.sequence) + 1 : 1;

	next.sequence = htole64(sequence);
	next.check = blm_check_sync(&next, uuid);
	live->sync[sequence % 2] = next;
}

bool blm_last_record(const struct blm_header *header, const uint8_t uuid[16], struct blm_record *ret)
{
	bool found = false;

	for (int i = 0; i < 2; i++) {
		struct blm_record r = header->record[i];

		if (r.sequence && r.check == blm_check_record(&r, uuid) && le32toh(r.name_bytes) < BLM_FORMAT_NAME
		    && le32toh(r.labels_bytes) < BLM_FORMAT_LABELS
		    && (!found || le64toh(r.sequence) > le64toh(ret->sequence))) {
			*ret = r;
			found = true;
		}
	}
	return found;
}

void blm_next_record(struct blm_header *header, const uint8_t uuid[16], const struct blm_record *content)
{
	struct blm_record last = { 0 }, next = *content;
	uint64_t sequence = blm_last_record(header, uuid, &last) ? le64toh(last.sequence) + 1 : 1;

	next.sequence = htole64(sequence);
	next.check = blm_check_record(&next, uuid);
	header->record[sequence % 2] = next;
}

double blm_double_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, 8);
	return value;
}

uint64_t blm_bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, 8);
	return bits;
}
