/*
 * siphash.c - SipHash-2-4 with 128 bits of result, keyed by a secret: for keys that an adversary
 * may choose
 *
 * Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012. Without the secret
 * an adversary cannot tell which keys share cells. The secret is not in the filter's file.
 *
 * The secret is read where the hasher says, in memory that is not dumped. In between it is in
 * registers and in the frames of the functions here that clear their registers; the others wipe
 * those frames after each batch, on each thread (secret_memory.h).
 */
#include "hash/one_hash.h"
#include "base/secret_memory.h"

/* our frames without optimization; for batches a signal's frame, too */
enum { ONE_STACK = 512, MANY_STACK = 4096 };

#define ROTATE(x, by) ((x) << (by) | (x) >> (64 - (by)))

#define ROUND() \
	do { \
		v0 += v1, v2 += v3; \
		v1 = ROTATE(v1, 13) ^ v0, v3 = ROTATE(v3, 16) ^ v2; \
		v0 = ROTATE(v0, 32); \
		v2 += v1, v0 += v3; \
		v1 = ROTATE(v1, 17) ^ v2, v3 = ROTATE(v3, 21) ^ v0; \
		v2 = ROTATE(v2, 32); \
	} while (0)

/* The bytes behind the last whole word, and the length above them. */
static inline uint64_t last_word(const uint8_t *bytes, size_t len)
{
	uint64_t word = (uint64_t)len << 56;

	switch (len & 7) {
	case 7: word |= (uint64_t)bytes[6] << 48; /* fall through */
	case 6: word |= (uint64_t)bytes[5] << 40; /* fall through */
	case 5: word |= (uint64_t)bytes[4] << 32; /* fall through */
	case 4: word |= (uint64_t)bytes[3] << 24; /* fall through */
	case 3: word |= (uint64_t)bytes[2] << 16; /* fall through */
	case 2: word |= (uint64_t)bytes[1] << 8; /* fall through */
	case 1: word |= bytes[0];
	}
	return word;
}

static inline uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, 8);
	return le64toh(word);
}

static BLM_CLEARS_REGISTERS void siphash24(const uint8_t *secret, const uint8_t *bytes, size_t len,
					   struct blm_hash *ret)
{
	uint64_t v0 = word_at(secret) ^ UINT64_C(0x736f6d6570736575);
	uint64_t v1 = word_at(secret + 8) ^ UINT64_C(0x646f72616e646f6d) ^ 0xee;
	uint64_t v2 = word_at(secret) ^ UINT64_C(0x6c7967656e657261);
	uint64_t v3 = word_at(secret + 8) ^ UINT64_C(0x7465646279746573);
	const uint8_t *end = bytes + (len & ~(size_t)7);
	uint64_t word;

	for (; bytes != end; bytes += 8) {
		word = word_at(bytes);
		v3 ^= word;
		ROUND();
		ROUND();
		v0 ^= word;
	}
	word = last_word(bytes, len);
	v3 ^= word;
	ROUND();
	ROUND();
	v0 ^= word;
	v2 ^= 0xee;
	ROUND();
	ROUND();
	ROUND();
	ROUND();
	ret->lo = v0 ^ v1 ^ v2 ^ v3;
	v1 ^= 0xdd;
	ROUND();
	ROUND();
	ROUND();
	ROUND();
	ret->hi = v0 ^ v1 ^ v2 ^ v3;
}

static BLM_CLEARS_ALL_REGISTERS void wipe_after_one(void)
{
	BLM_WIPE(ONE_STACK);
}

static BLM_CLEARS_ALL_REGISTERS void wipe_after_many(void)
{
	BLM_WIPE(MANY_STACK);
}

static void hash_key(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	siphash24(by->secret, key->len ? key->bytes : (const void *)"", key->len, ret);
}

void blm_siphash_any(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	hash_key(by, key, ret);
	wipe_after_one();
}

static void hash_many(const struct blm_hasher *by, const struct blm_key *keys, size_t count,
		      struct blm_hash *ret)
{
	for (size_t i = 0; i < count; i++)
		hash_key(by, &keys[i], &ret[i]);
	wipe_after_many();
}

static void hash_fixed(const struct blm_hasher *by, const uint8_t *bytes, size_t width,
		       size_t count, struct blm_hash *ret)
{
	for (size_t i = 0; i < count; i++)
		siphash24(by->secret, width ? bytes + i * width : (const uint8_t *)"", width,
			  &ret[i]);
	wipe_after_many();
}

const struct blm_family blm_family_siphash = {
	.id = 2,
	.name = "siphash",
	.summary = "SipHash-2-4-128 with a secret key kept apart from the file; for keys from an "
	"adversary",
	.bits = 128,
	.keyed = true,
	.hash = blm_siphash_any,
	.hash_many = hash_many,
	.hash_fixed = hash_fixed,
};
