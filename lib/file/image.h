/*
 * image.h - a filter's file in memory: mapped, and its header checked
 *
 * Knows the bytes of format.h and nothing of kinds or hashes. Nothing that the checks looked at is read from the map again:
 * another process may write there.
 */
#ifndef BLM_FILE_IMAGE_H
#define BLM_FILE_IMAGE_H

#include "file/format.h"

#include <sys/types.h>

struct blm_image {
	int fd;				/* -1 in a forked child: locks on it would be the parent's too */
	bool write;			/* mapped for writing */
	uint64_t bytes;			/* of the file when it was mapped */
	struct blm_header *header;	/* the map; aligned to 2 MiB, as is the file's offset 0 */
	void *reserved;			/* what munmap() wants */
	size_t reserved_bytes;
	dev_t device;
	ino_t inode;
};

/* What an image says of itself, copied and checked. */
struct blm_contents {
	struct blm_constant constant;
	struct blm_part_entry part[BLM_PARTS_MAX];
	unsigned parts;
};

/*
 * blm_image_map() - map the file behind fd, which then belongs to the image; on failure it is closed
 * Fails with -EBADMSG for what is no regular file or does not begin like one of ours, -ENODATA if shorter than a header.
 */
int blm_image_map(struct blm_image *ret, int fd, const char *path, bool write);
void blm_image_unmap(struct blm_image *image);

/* Check the header against itself and the file's size, and copy it out. Fails as blm_open() does. */
int blm_image_check(const struct blm_image *image, const char *path, struct blm_contents *ret);

/* Checksums of format.h. */
uint64_t blm_check_constant(const struct blm_constant *constant);
uint64_t blm_check_part(const struct blm_part_entry *entry, unsigned index, const uint8_t uuid[16]);
uint64_t blm_check_sync(const struct blm_sync_record *record, const uint8_t uuid[16]);
uint64_t blm_check_record(const struct blm_record *record, const uint8_t uuid[16]);
/* The template id: XXH3-128 of the template's fields up to the last seed in use. */
void blm_template_id(const struct blm_template_fields *fields, uint8_t ret[16]);

/* The valid one of two slots with the greater sequence, copied out; false if neither is valid. */
bool blm_last_sync(const struct blm_live *live, const uint8_t uuid[16], struct blm_sync_record *ret);
bool blm_last_record(const struct blm_header *header, const uint8_t uuid[16], struct blm_record *ret);

/* Write the next slot; the caller holds the lock that slots of this sort are written under. */
void blm_next_sync(struct blm_live *live, const uint8_t uuid[16], const struct blm_sync_record *content);
void blm_next_record(struct blm_header *header, const uint8_t uuid[16], const struct blm_record *content);

double blm_double_of(uint64_t bits);
uint64_t blm_bits_of(double value);

#endif
