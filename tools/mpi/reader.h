/* reader.h - the lines of a rank's share, a batch at a time */
#ifndef BLOOMERY_MPI_READER_H
#define BLOOMERY_MPI_READER_H

#include "lines.h"
#include "share.h"

struct reader {
	const struct share *share;
	char **names;
	size_t next;			/* piece to look at */
	struct source source;
	bool open;
	struct batch batch[2];		/* the one read last, and the one before it */
	unsigned last;
	uint64_t lines;			/* of this source, before the batch read last */
	uint64_t keys;			/* read so far */
	uint64_t skipped;		/* lines without a key */
	double busy;			/* seconds in reading and unpacking */
};

void reader_begin(struct reader *ret, const struct share *share, char **names);
/*
 * The next batch with keys; NULL: there are no more. It stays as it is until the call after the
 * next one. An error ends the job.
 */
struct batch *reader_next(struct reader *r);
void reader_end(struct reader *r);
/* All ranks together: how many lines had no key, if some had none. */
void tell_skipped(const struct reader *r);

#endif
