/*
 * mapping.h - a filter's file in memory: mapped, and its header checked
 *
 * Knows the bytes of layout.h and nothing of kinds or hashes. Nothing that the checks looked at is
 * read from the map again: another process may write there.
 */
#ifndef BLM_FILE_IMAGE_H
#define BLM_FILE_IMAGE_H

#include "file/layout.h"

#include <sys/types.h>

struct blm_image {
	/* -1 in a forked child: locks on it would be the parent's too */
	int fd;
	bool write;			/* mapped for writing */
	/* it had no link when it was mapped: not published yet, or opened through a descriptor */
	bool nameless;
	/* mapped for reading from an overlay: others may copy it up, and write to the copy */
	bool unsure;
	uint64_t bytes;			/* of the file when it was mapped */
	uint8_t *map;			/* the file; aligned to 2 MiB, as is its offset 0 */
	/* at its beginning; of another program's file: made for it, and only in this process */
	struct blm_header *header;
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
 * blm_image_map() - map the file behind fd, which then belongs to the image; on failure it is
 * closed Fails with -EBADMSG for what is no regular file or does not begin like one of ours,
 * -ENODATA if shorter than a header.
 */
int blm_image_map(struct blm_image *ret, int fd, const char *path, bool write);
void blm_image_unmap(struct blm_image *image);

/*
 * Has an unsure one been copied up, and the copy been changed? The descriptor reads the copy, the
 * map stays what it was.
 */
bool blm_image_is_behind(const struct blm_image *image);

/* As blm_image_map(), for reading a file of another program: any bytes, and at first no header. */
int blm_image_map_foreign(struct blm_image *ret, int fd, const char *path);

/*
 * Check the header against itself and the file's size, and copy it out; a file that grew since it
 * was mapped is mapped again, so nothing may point into the map yet. Fails as blm_open() does.
 */
int blm_image_check(struct blm_image *image, const char *path, struct blm_contents *ret);
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
 * What the constant pages of all our files have in common, and a random uuid and the time, which
 * one file has.
 */
int blm_constant_begin(struct blm_constant *constant, const char *display);

/*
 * Make a header whole that has its constant page but the checksum, and the entries of its parts but
 * offsets and checksums: the parts are laid out one after the other, each aligned, and the rest is
 * that of a new file.
 */
void blm_header_finish(struct blm_header *header, unsigned parts);

/*
 * The valid one of two slots with the later sequence, copied out; false if neither is valid.
 * contradict: both are valid, and neither is the later one, though they differ: of sync records the
 * one that claims less then counts, of name records that of slot 0.
 */
bool blm_last_sync(const struct blm_live *live, const uint8_t uuid[16],
		   struct blm_sync_record *ret);
/*
 * How many of the two are damaged where none is valid; 0: there is a valid one, or none yet. If
 * one is damaged and the other is valid, a crash came in the middle of a sync, and nothing is lost.
 * The only one is damaged where the first sync is writing it, or was when this copy was made;
 * `flushing` says so until it is written, which it is if it no longer does.
 */
int blm_syncs_lost(const struct blm_live *live, const uint8_t uuid[16]);
bool blm_syncs_contradict(const struct blm_live *live, const uint8_t uuid[16]);
bool blm_last_record(const struct blm_header *header, const uint8_t uuid[16],
		     struct blm_record *ret);
bool blm_records_contradict(const struct blm_header *header, const uint8_t uuid[16]);

/* Write the next slot; the caller holds the lock that slots of this sort are written under. */
void blm_next_sync(struct blm_live *live, const uint8_t uuid[16],
		   const struct blm_sync_record *content);
void blm_drop_sync(struct blm_live *live, const uint8_t uuid[16]);	/* the last one */
void blm_next_record(struct blm_header *header, const uint8_t uuid[16],
		     const struct blm_record *content);


#endif
