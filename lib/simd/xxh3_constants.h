/* xxh3_constants.h - the numbers of XXH3 for keys of 4 to 16 bytes */
#ifndef BLM_SIMD_XXH3_CONSTANTS_H
#define BLM_SIMD_XXH3_CONSTANTS_H

/*
 * Constants of xxHash: its primes, and the words of its default secret from byte 16, 24, 32, ...
 * on, in pairs as they are used.
 */
#define PRIME32_2 UINT64_C(0x85EBCA77)
#define PRIME64_1 UINT64_C(0x9E3779B185EBCA87)
#define PRIME64_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define PRIME_MX1 UINT64_C(0x165667919E3779F9)
#define PRIME_MX2 UINT64_C(0x9FB21C651E98DF25)
#define SECRET_16_24 UINT64_C(0xC4F023344DC994AC)
#define SECRET_32_40 UINT64_C(0x59973F0033362349)
#define SECRET_48_56 UINT64_C(0xC202797692D63D58)

#endif
