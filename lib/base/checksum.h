/*
 * checksum.h - XXH3 of bytes, as the file format has it for checksums and ids
 *
 * The code of XXH3 is long, so it stands once: these are calls, also where xxhash.h would be
 * inlined. The families of lib/hash, which hash short keys, have their own.
 */
#ifndef BLM_BASE_CHECKSUM_H
#define BLM_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* XXH3-64, without a seed and with one */
uint64_t blm_checksum(const void *bytes, size_t count);
uint64_t blm_checksum_seeded(const void *bytes, size_t count, uint64_t seed);

/* XXH3-128: the low word first */
void blm_checksum_128(const void *bytes, size_t count, uint64_t ret[2]);

#endif
