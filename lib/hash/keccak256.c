/*
 * keccak256.c - Keccak-256 as it was before it became SHA-3, which pads another way: Ethereum's
 *
 * Bertoni, Daemen, Peeters and Van Assche, "The Keccak reference", 2011. Own code, since libraries
 * have the padding of SHA-3 only.
 */
#include "hash/hasher.h"

enum { RATE = 136, ROUNDS = 24, DIGEST = 32 };

static uint64_t rotate(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

/* The constants of the rounds come from a shift register of 8 bits. */
static uint64_t next_constant(uint8_t *lfsr)
{
	uint64_t constant = 0;

	for (unsigned i = 0; i < 7; i++) {
		constant ^= (uint64_t)(*lfsr & 1) << ((1u << i) - 1);
		*lfsr = (uint8_t)(*lfsr << 1 ^ (*lfsr >> 7 ? 0x71 : 0));
	}
	return constant;
}

static void permute(uint64_t a[25])
{
	uint8_t lfsr = 1;

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t c[5], last;

		for (unsigned x = 0; x < 5; x++)	/* theta */
			c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
		for (unsigned i = 0; i < 25; i++)
			a[i] ^= c[(i + 4) % 5] ^ rotate(c[(i + 1) % 5], 1);
		last = a[1];				/* rho and pi */
		for (unsigned t = 0, x = 1, y = 0; t < 24; t++) {
			unsigned to = (2 * x + 3 * y) % 5;
			uint64_t moved = rotate(last, (t + 1) * (t + 2) / 2 % 64);

			x = y;
			y = to;
			last = a[x + 5 * y];
			a[x + 5 * y] = moved;
		}
		for (unsigned y = 0; y < 25; y += 5) {	/* chi */
			memcpy(c, a + y, sizeof(c));
			for (unsigned x = 0; x < 5; x++)
				a[y + x] = c[x] ^ (~c[(x + 1) % 5] & c[(x + 2) % 5]);
		}
		a[0] ^= next_constant(&lfsr);		/* iota */
	}
}

static void take_byte(uint64_t a[25], size_t at, uint8_t byte)
{
	a[at / 8] ^= (uint64_t)byte << 8 * (at % 8);
}

static void digest(const struct blm_hasher *by, const struct blm_key *pieces, unsigned count,
		   uint8_t *ret)
{
	uint64_t a[25] = { 0 };
	size_t at = 0;

	for (unsigned i = 0; i < count; i++)
		for (size_t j = 0; j < pieces[i].len; j++) {
			take_byte(a, at++, ((const uint8_t *)pieces[i].bytes)[j]);
			if (at == RATE) {
				permute(a);
				at = 0;
			}
		}
	take_byte(a, at, 0x01);
	take_byte(a, RATE - 1, 0x80);
	permute(a);
	for (unsigned i = 0; i < DIGEST; i++)
		ret[i] = (uint8_t)(a[i / 8] >> 8 * (i % 8));
}

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	uint64_t words[DIGEST / 8];

	digest(by, key, 1, (uint8_t *)words);
	ret->lo = le64toh(words[0]);
	ret->hi = le64toh(words[1]);
}

const struct blm_family blm_family_keccak256 = {
	.id = 28,
	.name = "keccak256",
	.summary = "Keccak-256, all 256 bits: Ethereum",
	.bits = 128,
	.hash = hash,
	.digest_bytes = DIGEST, .digest = digest,
};
