/*
 * seen.h - which blocks were seen, in this run and those before: a filter of their digests, and the
 * digests themselves where it says maybe
 */
#ifndef BLOOMERY_SEEN_H
#define BLOOMERY_SEEN_H

#include "hashes.h"

enum { SEEN_MANY = 1024 };	/* digests that are asked about at once, at most */

struct seen {
	struct hashes hashes;
	struct blm_filter *f;	/* holds at least what hashes has: so its no is certain */
	bool changed;		/* the filter or hashes, since they were settled */
	/* so they are left as they are: the next run recovers what is in them */
	bool failed;
	uint64_t capacity;
	char *filter_path;
	int dir;		/* locked */
	int file;		/* by which f was opened, and is found until it is closed; or -1 */
	struct digest *fresh;	/* of this run, not in hashes yet */
	uint32_t *slots;	/* 1 + where in fresh; 0: free */
	size_t fresh_count;
	/* digests; those that the filter may contain; those of them that were new all the same */
	uint64_t asked, maybe, alarms;
};

/* These give an exit code, with a message. */
int seen_open(struct seen *ret, const char *dir, uint64_t block_bytes);
/* from then on they are seen */
int seen_ask(struct seen *s, const struct digest *digests, size_t count, bool *ret_seen);
int seen_close(struct seen *s);	/* new digests are durable then, unless one of these failed */

#endif
