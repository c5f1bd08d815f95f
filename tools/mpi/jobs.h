/* jobs.h - the commands of bloomery-mpi, and what they share */
#ifndef BLOOMERY_MPI_JOBS_H
#define BLOOMERY_MPI_JOBS_H

#include "exchange.h"
#include "reader.h"

extern const struct command cmd_build, cmd_claim, cmd_corpus, cmd_test, cmd_union;

/*
 * The filter that params describe, the same on every rank: without --seed rank 0 chooses the seeds.
 * It is empty, in memory, and takes no space for its data. `info` is what it is.
 */
struct blm_filter *common_template(struct blm_info *info);

/*
 * For a kind that is made from all its keys at once, so that it is never empty: a filter that
 * hashes keys as the one that params describe.
 */
struct blm_filter *hashing_template(void);

/* The hashes of a batch, and the part of the filter that each key belongs to. */
struct hashed {
	struct blm_hash *hashes;
	uint32_t *owners;
	size_t capacity;
};

/* @parts: 0: all keys belong to part 0 */
void hash_batch(struct hashed *ret, const struct blm_filter *by, const struct batch *b,
		uint32_t parts);
void find_owners(const struct blm_filter *by, const struct blm_hash *hashes, size_t count,
		 uint32_t parts, uint32_t *ret);
void hashed_free(struct hashed *h);
/* Does a key of such a filter belong to one part of it? */
bool has_owners(const struct blm_filter *f);

/* A line on stderr now and then: how far the job is, and which rank keeps the others waiting. */
extern const struct opt progress_of_ranks[];
void show_round(const struct side *s, bool at_end);
void show_keys(const struct reader *r, bool at_end);

#endif
