/*
 * folder.h - the folder of a filter in parts
 *
 * Its files are those that `bloomery split G --into N -o F/keys` makes: keys.part-I-of-N for I from
 * 1 to N. Rank (I - 1) % ranks maps part I, so any number of ranks can continue the work. The
 * folder gets its name when all parts are in it.
 *
 * Maps of one file on two machines do not show each other's bits, so a part has one writer. The
 * file `lock` is empty. The ranks of a job that claims lock bytes of it (fcntl(2), F_OFD_SETLK),
 * which other machines also see on NFS:
 *
 *	byte 0		rank 0, so that two jobs that start at once do not share the parts
 *	byte I		the rank that maps part I, before it opens the part
 *
 * A lock ends with its process. So a rank that outlives its job, also rank 0, keeps other jobs from
 * its parts.
 */
#ifndef BLOOMERY_MPI_FOLDER_H
#define BLOOMERY_MPI_FOLDER_H

#include "ranks.h"

struct folder {
	const char *path;
	uint32_t count;			/* of parts */
	struct blm_filter **part;	/* those of this rank; else NULL */
	struct blm_filter *any;		/* the first part, which hashes */
	struct blm_info info;
	uint64_t hash_id;
	bool writes;
	int lock;			/* the file, open; if it writes */
	uint32_t *owners;		/* of folder_ask() */
	size_t owner_capacity;
};

bool is_folder(const char *name);
/*
 * All ranks open the folder together, and each maps its parts.
 *
 * @create, @parts: if there is none, make it by the options for the size and kind; 0 parts: one for
 *                  each rank
 */
int folder_claim(struct folder *ret, const char *path, bool create, uint64_t parts);
int folder_test(struct folder *ret, const char *path);

/* FOLDER_TEST: is it in the filter? FOLDER_CLAIM: add it; was it new? FOLDER_ADD: add it. */
enum folder_how { FOLDER_TEST, FOLDER_CLAIM, FOLDER_ADD };
/*
 * For hashes whose parts are of this rank, in their order.
 * @ret: a bit for each; NULL with FOLDER_ADD
 */
void folder_ask(struct folder *in, enum folder_how how, const struct blm_hash *hashes, size_t count,
		uint64_t *ret);
/* The rate at which the parts of this rank answer wrongly; the sum of their rates. */
double folder_rates(const struct folder *in);
/* What this rank added is on the disk. */
void folder_sync(const struct folder *in);
/* ... and is closed. Also for a folder that was not opened. */
void folder_close(struct folder *in);

#endif
