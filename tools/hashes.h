/*
 * hashes.h - an exact set of digests as a file: a table with linear probing, in the order of the
 * digests
 */
#ifndef BLOOMERY_HASHES_H
#define BLOOMERY_HASHES_H

#include "command.h"

struct digest {
	uint8_t bytes[32];	/* all zeros: a free slot */
};

struct hashes_header {		/* numbers are little-endian */
	char magic[8];
	uint64_t block_bytes, pages, count, state, filter_sum;
	uint64_t sum;		/* of what is before it */
};

struct hashes_page;

struct hashes {
	int dir, fd;
	const char *path;		/* of the directory, for messages */
	struct hashes_header header;	/* the file has it as it was written last */
	struct hashes_page *pages;	/* mapped */
	uint64_t page_count, slot_count;
};

/*
 * The file `hashes` of a directory, for which the caller holds a lock; made if there is none.
 * @block_bytes: what the digests are of; 0: as the file says
 * Return: an exit code, with a message.
 */
int hashes_open(struct hashes *ret, int dir, const char *path, uint64_t block_bytes);
void hashes_close(struct hashes *h);

uint64_t hashes_block_bytes(const struct hashes *h);
uint64_t hashes_count(const struct hashes *h);
/* Return: an exit code, with a message */
int hashes_find(struct hashes *h, const struct digest *digest, bool *ret_found);

/*
 * All of them: give(context, digests, count) is called for some at a time, until it fails. Return:
 * an exit code, with a message, or give's.
 */
int hashes_each(struct hashes *h, int (*give)(void *context, const struct digest *digests,
					      size_t count), void *context);

/*
 * Put digests that are not there, best in their order (memcmp). They stay from hashes_settle() on.
 * Return: an exit code, with a message.
 */
int hashes_put(struct hashes *h, const struct digest *digests, size_t count);

/*
 * Make all of it durable, and note what its filter's checksum is, which has all of the digests.
 * Return: an exit code, with a message.
 */
int hashes_settle(struct hashes *h, uint64_t filter_sum);

/*
 * Is the filter with this checksum the one that has all of the digests? None is after a run that
 * was killed.
 */
bool hashes_filter_is(const struct hashes *h, uint64_t filter_sum);

#endif
