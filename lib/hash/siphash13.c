/*
 * siphash13.c - SipHash-1-3 of 64 bits, with two keys that are in the file, of the key's length (8
 * bytes) and its bytes
 *
 * Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012; as Rust hashes a slice
 * of bytes. The family of Rust's crate bloomfilter, and of Valkey. A reader of the file has the
 * keys: no protection from an adversary; siphash keeps its key apart.
 */
#include "hash/hasher.h"

static uint64_t rotate(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

static void mix(uint64_t v[4])
{
	v[0] += v[1], v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0], v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1], v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2], v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

static void take_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	mix(v);
	v[0] ^= word;
}

static uint64_t siphash13(const uint64_t key[2], const uint8_t *bytes, size_t len)
{
	uint64_t v[4] = { key[0] ^ UINT64_C(0x736f6d6570736575),
			  key[1] ^ UINT64_C(0x646f72616e646f6d),
			  key[0] ^ UINT64_C(0x6c7967656e657261),
			  key[1] ^ UINT64_C(0x7465646279746573) };
	uint64_t word, last = (uint64_t)(len + 8) << 56;

	take_word(v, len);
	for (; len >= 8; bytes += 8, len -= 8) {
		memcpy(&word, bytes, 8);
		take_word(v, le64toh(word));
	}
	word = 0;
	if (len)
		memcpy(&word, bytes, len);
	take_word(v, last | le64toh(word));
	v[2] ^= 0xff;
	mix(v), mix(v), mix(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	ret->lo = siphash13(by->seeds, key->bytes, key->len);
	ret->hi = siphash13(by->seeds + 2, key->bytes, key->len);
}

const struct blm_family blm_family_siphash13 = {
	.id = 22,
	.name = "siphash13",
	.summary = "SipHash-1-3 twice, with keys that are in the file: Rust's crate bloomfilter, "
	"Valkey",
	.bits = 128,
	.seeds = 4,
	.scheme = 12,
	.hash = hash,
};
