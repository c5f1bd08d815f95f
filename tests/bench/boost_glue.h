/*
 * boost_glue.h - Boost.Bloom's fast_multiblock32<8> in C, with XXH3-64 of keys of 16 bytes; loops
 * over many, so that it is inlined
 */
#ifndef BOOST_GLUE_H
#define BOOST_GLUE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *boost_new(size_t keys, double rate);	/* NULL: out of memory */
void boost_free(void *filter);
size_t boost_bits(void *filter);
size_t boost_contains(void *filter, const void *keys, size_t count);
void boost_insert(void *filter, const void *keys, size_t count);

#ifdef __cplusplus
}
#endif
#endif
