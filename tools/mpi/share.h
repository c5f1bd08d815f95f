/* share.h - which bytes of which files a rank reads */
#ifndef BLOOMERY_MPI_SHARE_H
#define BLOOMERY_MPI_SHARE_H

#include "ranks.h"

/*
 * The lines of a file of `whole` bytes that begin at bytes [from, to); to 0: all of a file that may
 * be packed.
 */
struct piece {
	uint64_t from, to, whole;
	uint32_t file;		/* its number among the names */
	int32_t rank;		/* that reads it */
};

struct share {
	struct piece *pieces;	/* of all ranks; those of one rank are in order */
	size_t count;
	uint64_t bytes;		/* of all files */
};

/*
 * Divide the files among the ranks so that each reads about as many bytes, where it can: plain
 * files are cut at lines, a packed file goes to one rank as a whole. Names with %r are files that
 * each rank has of its own. All ranks call this, and rank 0 looks at the files. An error ends the
 * job.
 */
void share_files(struct share *ret, char **names, size_t count);
/*
 * For files that no two ranks can share: the rank of each. Rank 0 looks at the files, and gives
 * each to the rank with the least so far. All ranks call this.
 * @done: of rank 0: those that need no reading
 */
void share_whole(int32_t *ret, char **names, const bool *done, size_t count);
uint64_t share_of(const struct share *share, int of);	/* bytes, packed as they are */
void share_free(struct share *share);

#endif
