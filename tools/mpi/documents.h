/*
 * documents.h - the documents of a rank's files: to hashes that are asked, and from the answers to
 * journals and output
 *
 * A file is finished when its output has its name, as with `bloomery corpus dedup`. Its journal
 * (../corpus/record.h) has an answer for each unit whose question was answered. It is next to the
 * output, and stays until the caller says that the keys of the file are on the disk.
 */
#ifndef BLOOMERY_MPI_DOCUMENTS_H
#define BLOOMERY_MPI_DOCUMENTS_H

#include "../corpus/result.h"
#include "../corpus/run.h"
#include "exchange.h"
#include "folder.h"
#include "source.h"

/* What became of a file. */
struct done_file {
	uint64_t finished_before;
	struct tally tally;
};

struct documents {
	struct run *run;		/* its first filter hashes; its tally is of this rank */
	const struct folder *in;
	struct file *files;
	struct done_file *done;		/* of each file; zeros: of another rank */
	int32_t *ranks;			/* that do them */
	size_t count, batch_keys;
	uint64_t restored;		/* files whose journal was found */
	/* the file */
	size_t next;			/* to look at */
	bool restoring, open;
	struct source source;
	struct result result;
	struct tally tally;
	uint64_t unit;			/* how many of it were looked at */
	/* the batch */
	bool in_hand;
	struct block block;
	struct batch_of_documents batch;
	uint32_t *owners;		/* of its keys: parts */
	size_t owner_capacity;
	size_t at;			/* unit of the batch to look at next */
	uint32_t *asked;		/* units of it that are asked in this round */
	uint32_t *seen;			/* their answers */
	size_t asked_count;
	/* journals of finished files */
	char **left;
	size_t left_count, left_capacity;
	uint64_t left_units;
};

/* All ranks call this. @batch_keys: that a rank asks for in a round, at most */
void documents_begin(struct documents *ret, struct run *run, const struct folder *in, char **names,
		     size_t count, size_t batch_keys);
void documents_end(struct documents *d);

/*
 * documents_fill() - the hashes of a round: those of the next units
 *
 * While `restoring` is set these are the keys of units that the journals know as kept. Else they
 * are the keys of units without an answer, and documents whose answers are all known are written.
 *
 * Return: has it got some? Then documents_answer() must follow.
 */
bool documents_fill(struct documents *d, const struct exchange *x, struct side *s);
/* @seen: a bit for each hash; NULL while restoring. @rate: of wrong answers */
void documents_answer(struct documents *d, const uint64_t *seen, double rate);
/* Begins with the first file again, without `restoring`. */
void documents_restored(struct documents *d);
/* Deletes the journals of finished files. The keys of these must be on the disk. */
void documents_delete_left(struct documents *d);

#endif
