/*
 * header.h - the header of a filter's file: its checks and checksums, and a new one
 *
 * Knows the bytes of layout.h and nothing of kinds or hashes. Nothing that the checks looked at is
 * read from the map again: another process may write there.
 */
#ifndef BLM_FILE_HEADER_H
#define BLM_FILE_HEADER_H

#include "file/layout.h"

/* The numbers in an image, copied and checked. */
struct blm_contents {
	struct blm_constant constant;
	struct blm_part_entry part[BLM_PARTS_MAX];
	unsigned parts;
};

/*
 * Check a header against itself and the size of its file, and copy it out. Fails as blm_open()
 * does; -ENODATA: the file is shorter than its header says, so it may have grown since its size
 * was taken.
 */
int blm_header_check(const struct blm_header *header, uint64_t file_bytes, const char *path,
		     struct blm_contents *ret);

/*
 * A constant page, copied out: of a file that begins so, with a header as long as that. Fails as
 * blm_open() does.
 */
int blm_constant_check(const struct blm_constant *c, const char *magic, uint32_t header_bytes,
		       const char *path);

/* Checksums of layout.h; and XXH3-64 of any bytes, as a word of the file. */
uint64_t blm_check_bytes(const void *bytes, size_t count, uint64_t seed);
uint64_t blm_check_constant(const struct blm_constant *constant);
uint64_t blm_check_part(const struct blm_part_entry *entry, unsigned index, const uint8_t uuid[16]);
uint64_t blm_check_sync(const struct blm_sync_record *record, const uint8_t uuid[16]);
uint32_t blm_check_block(const struct blm_block_record *record, unsigned part, uint64_t block,
			 const uint8_t uuid[16]);
uint64_t blm_check_record(const struct blm_record *record, const uint8_t uuid[16]);
/* The template id: XXH3-128 of the template's fields up to the last seed in use. */
void blm_template_id(const struct blm_template_fields *fields, uint8_t ret[16]);

/*
 * Sets the fields that the constant pages of all our files share, and a random uuid and the time,
 * which belong to one file.
 */
int blm_constant_begin(struct blm_constant *constant, const char *display);

/*
 * Make a header whole that has its constant page but the checksum, and the entries of its parts but
 * offsets and checksums: the parts are laid out one after the other, each aligned, and the rest is
 * that of a new file.
 */
void blm_header_finish(struct blm_header *header, unsigned parts);

#endif
