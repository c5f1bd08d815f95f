/* rocksdb_glue.h - RocksDB's filters in C: build one from keys, then ask it */
#ifndef ROCKSDB_GLUE_H
#define ROCKSDB_GLUE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rocks;

struct rocks *rocks_new(bool ribbon, double bits_per_key);
void rocks_add(struct rocks *r, const void *bytes, size_t len);
bool rocks_finish(struct rocks *r, const void **ret_data, size_t *ret_bytes);
/*
 * Instead: one that is ready, with room for `bytes` bytes (a multiple of 64) of bits, which are the
 * caller's to write. NULL: out of memory.
 */
void *rocks_finish_empty(struct rocks *r, size_t bytes);
bool rocks_contains(struct rocks *r, const void *bytes, size_t len);
/* At most 32 at once, as RocksDB's MultiGet asks. */
size_t rocks_contains_many(struct rocks *r, const void *const *bytes, size_t len, size_t count);
void rocks_free(struct rocks *r);

#ifdef __cplusplus
}
#endif
#endif
