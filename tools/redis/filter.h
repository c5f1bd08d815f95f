/*
 * filter.h - filters of any kind: how BLM.CREATE and BLM.ATTACH bring them, and how the server
 * saves and loads them
 *
 * An owned one is saved with its data. If its bits are only set, then it does not matter if a
 * change is in the data and comes again. An owned one whose cells change both ways is in memory,
 * and a save has its data as they were when the save began. An attached one is saved by its name
 * only. A filter that BF.INSERT made with a seed or a tightening has its parameters beside them.
 */
#ifndef BLOOMERY_REDIS_FILTER_H
#define BLOOMERY_REDIS_FILTER_H

#include "value.h"

enum { FILTER_ENCODING = 1 };

/*
 * Sets the name and opens the filter. v->name is NULL if there is no memory; v->f is NULL where the
 * store has no such filter.
 */
int filter_attach(struct value *v, const char *name);

/* Opens an attached one that the store did not have when its key came. Return: as of blm_open() */
int filter_open(struct value *v);

/* An owned one. NULL: blm_error_message() */
struct value *filter_new(const struct blm_params *params, const struct spot *spot);

/* An owned one without keys that combines with `from`. NULL: blm_error_message() */
struct value *filter_like(const struct value *from, const struct spot *spot);

/* An owned one of the bytes of a format. NULL: they are none, or the kind is a wrong one. */
struct value *filter_import(const char *format, const void *bytes, size_t count,
			    const struct spot *spot);

/* The parameters of a filter that BF.INSERT or BF.LOAD made, as struct value has them. */
struct filter_made {
	bool fixed;
	uint64_t capacity;
	unsigned expansion;
	double rate, tightening;
};
bool filter_made_is_good(const struct filter_made *m);
void filter_set_made(struct value *v, const struct filter_made *made);

/* True for kinds whose bits are only set. */
bool filter_sets_bits(const char *kind);
/* True for the other kinds that take keys one by one and forget none. */
bool filter_is_both_ways(const char *kind);

/*
 * Called before each change. The mapping of a filter is shared with a child of the server that
 * saves the data, so a filter whose cells change both ways is changed as a copy while there is a
 * child. Return: 0, or a negative errno
 */
int filter_before_change(struct redis_ctx *ctx, struct value *v);

void *filter_load(struct redis_io *io, int version);
void filter_save(struct redis_io *io, void *value);
void filter_rewrite(struct redis_io *io, struct redis_string *key, void *value);
void filter_digest(struct redis_digest *d, void *value);

#endif
