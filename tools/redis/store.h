/*
 * store.h - the files of the module's store
 *
 * The module has the store that its argument `store` names, or none; then all filters are in
 * memory. The file of a key is called redis.DATABASE.KEY, so that local programs find it by that
 * name. The server drops what is called so and belongs to no key, so no other server may use the
 * store: a lock of the directory sees to that.
 *
 * A key that is renamed keeps its file, so the name does not tell whose file it is. The label
 * `redis` of the file does.
 */
#ifndef BLOOMERY_REDIS_STORE_H
#define BLOOMERY_REDIS_STORE_H

#include "value.h"

#define STORE_PREFIX "redis."

/* NULL: the module has none */
extern struct blm_store *store;

/* Return: 0, or a negative errno; blm_error_message(), or for -EBUSY another server has it. */
int store_open(const char *dir);

/* True for the names of the server's own files, to which no key can be attached. */
bool store_owns(const char *name);

/* Does a value have the file of that name? */
bool store_uses(const char *name);

typedef int store_maker(struct blm_filter **ret, struct blm_store *store, const char *name,
			const void *context);

/*
 * Makes v->f and sets v->name. While the server loads its data, a file of an earlier run takes the
 * place of a new one if it has the label of the key, the same parameters and every bit of the new
 * one.
 */
int store_make(struct value *v, const struct spot *spot, store_maker *make, const void *context);

/* Gives the value the name of a file that store_make() or a thread makes then. */
int store_reserve(struct value *v, const struct spot *spot);

/* Drops the file of a value that no key had: no save refers to it. */
void store_unmake(struct value *v);

/* The value has the file of that name now, and the file the label of the key. */
int store_take(struct value *v, const char *name, const struct spot *spot);

/*
 * The value is now that of this key: says so in the label of its file. While the server replays
 * what it did, the file that this key had in the end takes the place of the value's.
 */
void store_moved(struct value *v, const struct spot *spot);
/* The databases have changed places. */
void store_swap(int one, int other);

/* The name is free again; an owned file is dropped. name may be NULL. Any thread. */
void store_release(const char *name, bool owned);

/* Forgets the name, so that another value can have it. The file stays. */
void store_forget(const char *name);

/* Drops the owned files of earlier runs that no value has. Return: how many. */
unsigned store_sweep(void);

#endif
