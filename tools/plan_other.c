/*
 * plan_other.c - what else could tell keys apart, on paper: a hash table, a bitmap, a perfect hash
 * function with fingerprints
 *
 * None of them is a kind of ours; they are what a filter is compared with.
 */
#include "plan.h"

#include <math.h>

/*
 * As many fingerprints again are looked at as keys collide: of a stranger 1.5 in a table half full,
 * with linear probing (Knuth).
 */
static void hash_table(struct plan_other *ret, double rate)
{
	ret->bits_per_key = 2 * 64;
	ret->rate = 1.5 * 0x1p-64;
}

/* One hash function: a share p of the bits may be set, -ln(1 - p) keys a bit. */
static void bitmap(struct plan_other *ret, double rate)
{
	ret->bits_per_key = -1 / log1p(-rate);
	ret->rate = rate;
}

/*
 * log2(e) bits a key at least for the function, though the programs that there are take 2 to 3;
 * then the fingerprint, whole bits.
 */
static void perfect_hash(struct plan_other *ret, double rate)
{
	double bits = fmax(ceil(-log2(rate)), 1);

	ret->bits_per_key = M_LOG2E + bits;
	ret->rate = exp2(-bits);
}

static const struct {
	const char *name, *about;
	void (*size)(struct plan_other *ret, double rate);
} others[] = {
	{ "hash-table", "fingerprints of 8 bytes, half full", hash_table },
	{ "one-hash", "a bitmap, k = 1", bitmap },
	{ "perfect-hash", "a minimal perfect hash function at its lower bound, and fingerprints",
	  perfect_hash },
};

bool plan_other(size_t i, uint64_t keys, double rate, struct plan_other *ret)
{
	if (i >= sizeof(others) / sizeof(others[0]))
		return false;
	*ret = (struct plan_other){ .name = others[i].name, .about = others[i].about };
	others[i].size(ret, rate);
	ret->bytes = ceil((double)keys * ret->bits_per_key / 8);
	return true;
}
