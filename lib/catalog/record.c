/*
 * record.c - a catalog's record: a head, the used bytes of the filter's constant page, labels, a
 * checksum
 */
#include "catalog/record.h"
#include "base/checksum.h"
#include "file/mapping.h"

struct head {
	uint32_t version;		/* 1 */
	uint32_t bytes;			/* of the whole record */
	uint64_t data_bytes;
	uint64_t file_bytes;
	uint64_t keys;			/* at the last sync */
	uint64_t synced;
	uint32_t keys_estimated;
	uint32_t constant_bytes;
	uint32_t labels_bytes;
	uint32_t reserved;
	uint64_t epoch;
};
static_assert(sizeof(struct head) == 64, "format-spec.md, The catalog");

enum { SEEDS_AT = offsetof(struct blm_constant, template.seeds) };

/* With the name as the seed: a name that was damaged into another has no record that is right. */
static uint64_t check(const char *name, const uint8_t *bytes, size_t count)
{
	return htole64(blm_checksum_seeded(bytes, count, blm_checksum(name, strlen(name))));
}

size_t blm_record_encode(const char *name, const struct blm_entry *entry,
			 uint8_t ret[BLM_RECORD_BYTES_MAX])
{
	uint32_t constant = SEEDS_AT + 8 * le32toh(entry->constant.template.seed_count),
		labels = entry->labels_bytes;
	size_t bytes = sizeof(struct head) + constant + labels;
	struct head head = {
		.version = htole32(1), .bytes = htole32((uint32_t)bytes + 8),
		.data_bytes = htole64(entry->data_bytes), .file_bytes = htole64(entry->file_bytes),
		.keys = htole64(entry->keys), .synced = htole64(entry->synced),
		.keys_estimated = htole32(entry->keys_estimated),
		.epoch = htole64(entry->epoch), .constant_bytes = htole32(constant),
		.labels_bytes = htole32(labels),
	};
	uint64_t sum;

	memcpy(ret, &head, sizeof(head));
	memcpy(ret + sizeof(head), &entry->constant, constant);
	memcpy(ret + sizeof(head) + constant, entry->labels, labels);
	sum = check(name, ret, bytes);
	memcpy(ret + bytes, &sum, 8);
	return bytes + 8;
}

bool blm_record_decode(const char *name, const void *bytes, size_t count, struct blm_entry *ret)
{
	const uint8_t *in = bytes;
	struct head head;
	uint32_t constant, labels;
	uint64_t sum;

	if (count < sizeof(head) + SEEDS_AT + 8 || count > BLM_RECORD_BYTES_MAX)
		return false;
	memcpy(&head, in, sizeof(head));
	memcpy(&sum, in + count - 8, 8);
	constant = le32toh(head.constant_bytes);
	labels = le32toh(head.labels_bytes);
	if (le32toh(head.version) != 1 || le32toh(head.bytes) != count
	    || sum != check(name, in, count - 8)
	    || constant < SEEDS_AT || constant > SEEDS_AT + 8 * BLM_FORMAT_SEEDS
	    || labels >= BLM_FORMAT_LABELS
	    || sizeof(head) + constant + labels + 8 != count)
		return false;
	*ret = (struct blm_entry){
		.data_bytes = le64toh(head.data_bytes), .file_bytes = le64toh(head.file_bytes),
		.keys = le64toh(head.keys), .synced = le64toh(head.synced),
		.keys_estimated = head.keys_estimated != 0,
		.epoch = le64toh(head.epoch), .labels_bytes = labels,
	};
	memcpy(&ret->constant, in + sizeof(head), constant);
	memcpy(ret->labels, in + sizeof(head) + constant, labels);
	if (SEEDS_AT + 8 * (uint64_t)le32toh(ret->constant.template.seed_count) != constant)
		return false;
	ret->constant.check = blm_check_constant(&ret->constant);
	return true;
}
