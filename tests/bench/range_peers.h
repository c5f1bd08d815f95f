/*
 * range_peers.h - other libraries' range filters in C: built once from numbers that ascend, each
 * once, then asked. bits: one for each question, of words of 64.
 */
#ifndef RANGE_PEERS_H
#define RANGE_PEERS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* suffix_bits: of each key, behind the prefix that tells it from the others; 0 to 64. */
void *surf_new(const uint64_t *keys, size_t count, unsigned suffix_bits);
size_t surf_bytes(void *it);
void surf_ask(void *it, const uint64_t *first, const uint64_t *last, size_t count, uint64_t *bits);
void surf_free(void *it);

/* NULL: with this number of bits the keys themselves could be stored. */
void *grafite_new(const uint64_t *keys, size_t count, double bits_per_key);
size_t grafite_bytes(void *it);
void grafite_ask(void *it, const uint64_t *first, const uint64_t *last, size_t count,
		 uint64_t *bits);
void grafite_free(void *it);

#ifdef __cplusplus
}
#endif
#endif
