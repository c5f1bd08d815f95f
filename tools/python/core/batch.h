/* batch.h - one call with many keys: what it holds, and the parts of batch.c, lists.c, arrays.c */
#ifndef BLOOMERY_PYTHON_BATCH_H
#define BLOOMERY_PYTHON_BATCH_H

#include "core.h"

/*
 * Keys that are taken from an iterator at a time, and that are used before the batch looks for a
 * signal or for close(). A multiple of 64, because each chunk's answers begin with a whole word.
 */
enum { CHUNK = 1 << 16 };

/* One of keys, fixed and packed is set, while a batch runs. */
struct batch {
	struct target target;
	enum op op;
	const struct blm_key *keys;
	const char *fixed;
	size_t width;
	const char *packed;
	const char *offsets;		/* a copy: the caller may change its own at any time */
	size_t offset_bytes;
	const uint64_t *values;		/* PUT */
	uint64_t *ret_values;		/* GET, AGES */
	struct blm_when when;		/* WITHIN, AGAIN, ADD_AT, AGES */
	const struct blm_key *last;	/* of ranges, whose first ones are keys; else NULL */

	uint64_t *bits;
	size_t count;			/* keys that were used */
	int64_t yes;
};

/*
 * A new batch, with the times of WITHIN, AGAIN, ADD_AT and AGES. Return: 0, or -1 with an
 * exception.
 */
int begin(struct batch *b, struct target target, enum op op, PyObject *more);

/* Room for what a batch has beside the keys, before the first key is used. Return: as begin(). */
int values_from(struct batch *b, PyObject *more, size_t count);

/*
 * The next `count` keys. The answers of a batch that fails are those up to its failure. Return: 0,
 * or a negative errno, with an exception or with the library's message.
 */
int64_t run(struct batch *b, size_t count);

/* The answers as an object, or NULL with an exception. r: of run(). Frees what the batch holds. */
PyObject *done(struct batch *b, int64_t r, PyObject *more);

/* Offset number `at` of packed keys. */
int64_t offset_at(const struct batch *b, size_t at);

/* ---- lists.c ---- */

/* The keys of a tuple. Keys that are neither bytes nor str have a struct key. */
struct held {
	struct blm_key *keys;
	struct key **kept;
	size_t kept_count, capacity;
};

/* Return: 0, or -1 with an exception. Needs let_go() in both cases. */
int hold_all(struct held *h, PyObject *tuple, size_t count);
void let_go(struct held *h);

/* All of a tuple, whose items live as long as it does. Return: as run(). */
int64_t run_tuple(struct batch *b, PyObject *tuple, PyObject *more);
/* All that an iterable gives. Return: as run(). */
int64_t run_iterable(struct batch *b, PyObject *keys);

/* ---- arrays.c ---- */

/* 1: it was a buffer; 0: it is to be iterated; or -1 with an exception. */
int fixed_from(PyObject *keys, Py_buffer *view, size_t *width, size_t *count);
int64_t run_fixed(struct batch *b, Py_buffer *view, size_t count, PyObject *more);
/* TypeError: this object is one key. Return: -1. */
int one_key(PyObject *keys);

#endif
