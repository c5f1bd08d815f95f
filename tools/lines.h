/* lines.h - a block of input with the lines in it and their keys */
#ifndef BLOOMERY_LINES_H
#define BLOOMERY_LINES_H

#include "keys.h"
#include "source.h"

/*
 * Lines that were read at once. They and their keys are in the batch's own memory until it is read
 * into again.
 */
struct batch {
	struct blm_key *lines;	/* without their ends, but each end stands behind its line */
	struct blm_key *keys;	/* the same array, where the key is the whole line */
	uint64_t *bits;		/* room for an answer to each */
	/* of the keys, where the command asked for room and made them */
	struct blm_hash *hashes;
	/* how many of them are left; how many were there before batch_drop() */
	size_t count, read;
	char *answer;		/* what was gathered: bytes of `text`, or `objects` */
	char *objects;		/* of gather_answers(); NULL: none */
	size_t answer_bytes;
	uint64_t yes;		/* for the command: how many answers were yes */
	uint64_t hash_id;	/* ... and for which filters the hashes are good, if `hashed` */
	bool hashed;

	/* About the stream. */
	const char *source;	/* its name */
	/* its lines are these keys of the command line; NULL: it was read */
	const struct given *given;
	/* bytes of all input up to the end of this batch, packed as they are */
	uint64_t taken;
	bool first, last;	/* of its source; of all */
	bool alone;		/* no other thread is at work, so that work ahead saves no time */
	uint64_t line;		/* how many lines of the source come before it; in turn */
	/*
	 * the fault of the line after the last good one, or NULL; static, in `message`, or the
	 * reader's
	 */
	const char *wrong;
	/*
	 * lines that were left out since they have no key: how many, the number of the first in
	 * the batch, and what is wrong with that one
	 */
	size_t skipped, first_skipped;
	char why_skipped[WHY];
	int code;		/* of reading and working ahead; where it is not DONE: */
	char message[MESSAGE];	/* what they had to say */

	/* [0, used): whole lines; [used, end): the beginning of the next batch's first line */
	char *text;
	struct blm_key *own_keys;
	struct json_reader *reader;	/* for key_of() */
	/* as large as text: the key of a line, where it needs room, is at the same place */
	uint8_t *key_buffer;
	size_t used, end, capacity, most;	/* bytes, bytes, bytes; lines that fit */
	size_t hash_capacity;
};

void batch_free(struct batch *batch);

/* Room for a hash of each key. Return: false, and as before, where there is none. */
bool batch_hash_buffer(struct batch *batch);

/* Leave out the lines whose bit is set. */
void batch_drop(struct batch *batch);

/* Some of the lines, with the room for their answers. */
struct batch batch_part(const struct batch *batch, size_t from, size_t count);

/*
 * Read what is there, up to a block of it, and on to the end of a line; never waits for more than
 * one whole line.
 * @before: the batch read before this one from the same source, whatever became of its lines; NULL:
 * none
 *
 * Return: 1, 0 at the end and when asked to stop, -1 after a message.
 */
int batch_read(struct batch *batch, const struct batch *before, struct source *source);

/*
 * Work ahead: only the first `good` of its lines are good, and why. It is reported in turn, with
 * the line's number. Return: DONE.
 */
int batch_refuse(struct batch *batch, size_t good, const char *reason);

/*
 * The keys of the command line, each with the end of a line behind it, as if it had been read.
 * Return: false: no memory.
 */
bool batch_give(struct batch *batch, const struct given *given);

/* Where its i-th line stands, for a message; in turn. */
enum { WHERE = 512 };
const char *batch_where(char buffer[WHERE], const struct batch *batch, size_t i);

/* The value of its i-th line. Return: as value_of(). */
const char *batch_value(uint64_t *ret, const struct batch *batch, size_t i, char buffer[WHY]);

/*
 * Find lines and keys in what was read. Return: NULL, or what is wrong with the line after the last
 * good one.
 */
const char *batch_split(struct batch *batch);

#endif
