/*
 * cuckoo.h - cuckoo filters: a chain of tables, each of them a filter of the library in memory
 *
 * A key goes into the newest table that has room. When all are full, another table begins.
 */
#ifndef BLOOMERY_REDIS_CUCKOO_H
#define BLOOMERY_REDIS_CUCKOO_H

#include "payload.h"

/* An empty one. NULL: out of memory, or a number is out of its range. */
struct value *cuckoo_new(const struct cuckoo_tables *tables);
struct value *cuckoo_import(const struct head *h, const struct piece *pieces, unsigned count);
void cuckoo_free(struct value *v);
int cuckoo_copy(struct value *to, const struct value *from);

/* Return: 1, or a negative errno: -EXFULL if all tables are full. */
int cuckoo_add(struct redis_ctx *ctx, struct value *v, const void *bytes, size_t len);
int cuckoo_grow(struct value *v);
/* Return: 1 or 0, or a negative errno. */
int cuckoo_remove(struct redis_ctx *ctx, struct value *v, const void *bytes, size_t len);
bool cuckoo_contains(const struct value *v, const void *bytes, size_t len);
/* How often the key is there; how many keys there are; bytes of memory. */
uint64_t cuckoo_count(const struct value *v, const void *bytes, size_t len);
uint64_t cuckoo_keys(const struct value *v);
uint64_t cuckoo_bytes(const struct value *v);

int cuckoo_stream(const struct value *v, struct stream *s);

/* Counts the forks of the server; called once. */
int cuckoo_watch_forks(void);
unsigned forks_seen(void);

#endif
