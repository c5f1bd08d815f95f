/* header.c - check a header against itself and its file, and copy it out; make a new one */
#include "file/header.h"
#include "base/checksum.h"
#include "file/os.h"
#include "base/random.h"

/* ---- Checksums ---- */

static uint64_t check(const void *bytes, size_t len, uint64_t seed)
{
	return htole64(blm_checksum_seeded(bytes, len, seed));
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
	uint64_t words[2];

	blm_checksum_128(fields, bytes, words);
	words[0] = htole64(words[0]);
	words[1] = htole64(words[1]);
	memcpy(ret, words, 16);
}

/* ---- The header ---- */

int blm_constant_check(const struct blm_constant *c, const char *magic, uint32_t header_bytes,
		       const char *path)
{
	uint8_t id[16];
	double rate = blm_double_of(le64toh(c->rate));
	uint64_t known = strcmp(magic, BLM_MAGIC) ? 0 : BLM_MUST_SPLIT;

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
	/* no bank has a feature */
	if (le64toh(c->must_understand) & ~known)
		return blm_fail(-EPROTONOSUPPORT,
				"%s: uses features %#llx that this program does not know", path,
				(unsigned long long)(le64toh(c->must_understand) & ~known));
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
				"is truncated: put a copy in its place, or make it again from "
				"its keys",
				path, i,
				(unsigned long long)offset, (unsigned long long)bytes,
				(unsigned long long)file_bytes);
	return 0;
}

/* The image and journal after its only part. */
static int check_checkpoint(const struct blm_contents *c, uint64_t file_bytes, const char *path)
{
	const struct blm_part_entry *e = &c->part[0];
	uint64_t bytes = le64toh(e->bytes);

	if (!(le64toh(c->constant.flags) & BLM_FLAG_CHECKPOINT))
		return 0;
	if (c->parts > 1)
		return blm_fail(-EBADMSG, "%s: %u parts, and a checkpoint image, which only a "
				"filter of one part has", path, c->parts);
	/* offset and bytes are each at most that */
	if (bytes > file_bytes || checkpoint_layout(le64toh(e->offset), bytes).end > file_bytes)
		return blm_fail(-ENODATA, "%s: its checkpoint image ends behind byte %llu, where "
				"the file ends: it is truncated: restore a copy, or make it "
				"again from its keys", path,
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
	return check_checkpoint(to, file_bytes, path);
}

int blm_header_check(const struct blm_header *header, uint64_t file_bytes, const char *path,
		     struct blm_contents *ret)
{
	int r;

	ret->constant = header->constant;
	r = blm_constant_check(&ret->constant, BLM_MAGIC, BLM_HEADER_BYTES, path);
	return r < 0 ? r : check_parts(header, file_bytes, path, ret);
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
