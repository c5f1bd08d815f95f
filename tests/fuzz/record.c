/*
 * record.c - whatever the bytes of a catalog's record are, decoding them must not go wrong, nor
 * checking a name
 *
 * The first byte of the input: even, and the record's length and checksum are made right, so that
 * the rest is looked at.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "bloomery.h"
#include "catalog/record.h"
#include "stats/info.h"
#include "must.h"
#include "place/store_dir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void mend(uint8_t *bytes, size_t size)
{
	uint32_t length = htole32((uint32_t)size), version = htole32(1);
	uint64_t sum;

	memcpy(bytes, &version, 4);
	memcpy(bytes + 4, &length, 4);
	sum = htole64(XXH3_64bits_withSeed(bytes, size - 8, XXH3_64bits("name", 4)));
	memcpy(bytes + size - 8, &sum, 8);
}

/* A name that passes is one line of text without a slash. */
static void name(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	must(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	if (blm_check_name(text) == 0) {
		must(*text && strlen(text) <= BLM_NAME_MAX && !strpbrk(text, "/\n\r\033\177"));
		must(strcmp(text, ".") && strcmp(text, ".."));
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[BLM_RECORD_BYTES_MAX], *bytes;
	struct blm_entry entry;
	struct blm_info info = BLM_INFO;

	if (!size)
		return 0;
	name(data + 1, size - 1);
	bytes = malloc(size);	/* exactly as large, so that a byte read past the end is seen */
	must(bytes != NULL);
	memcpy(bytes, data + 1, --size);
	if (!(data[0] & 1) && size >= 16)
		mend(bytes, size);
	if (blm_record_decode("name", bytes, size, &entry)) {
		if (blm_info_of_entry(&info, "name", &entry) == 0)
			must(strnlen(info.labels, sizeof(info.labels)) < sizeof(info.labels)
			     && info.kind && info.hash);
		must(blm_record_encode("name", &entry, again) == size);
	}
	free(bytes);
	return 0;
}
