/*
 * remember.c - the formulas that go through loads or codes one by one, asked through a table of
 * their last answers
 *
 * They take longer than most inputs, and inputs that came from one another ask for the same
 * numbers; the linker puts these functions in place of the library's own (--wrap).
 */
#include "kind/golomb_layout.h"
#include "kind/common/sizing.h"

enum { ANSWERS = 1 << 12 };

struct question {
	uint64_t what, number, keys;
	double rate;
};

static struct answer {
	struct question asked;
	uint64_t blocks;
	double rate;		/* or blocks, where they are an expectation */
	uint32_t probes;
} answers[ANSWERS];

double __real_blm_blocked_rate(uint64_t blocks, unsigned probes, uint64_t keys);
double __wrap_blm_blocked_rate(uint64_t blocks, unsigned probes, uint64_t keys);
uint64_t __real_blm_blocks_for(uint64_t keys, double rate, uint32_t *probes);
uint64_t __wrap_blm_blocks_for(uint64_t keys, double rate, uint32_t *probes);
double __real_blm_split_rate(uint64_t blocks, uint64_t keys);
double __wrap_blm_split_rate(uint64_t blocks, uint64_t keys);
uint64_t __real_blm_split_blocks_for(uint64_t keys, double rate);
uint64_t __wrap_blm_split_blocks_for(uint64_t keys, double rate);
double __real_blm_golomb_blocks(uint64_t range, uint64_t count);
double __wrap_blm_golomb_blocks(uint64_t range, uint64_t count);

/* Where the answer is, or comes; true if it is there. */
static bool answered(struct answer **ret, struct question q)
{
	uint64_t words[4], mixed = 0;

	memcpy(words, &q, sizeof(words));
	for (int i = 0; i < 4; i++)
		mixed = (mixed ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ mixed >> 29;
	*ret = &answers[mixed >> 32 & (ANSWERS - 1)];
	if (!memcmp(&(*ret)->asked, &q, sizeof(q)))
		return true;
	(*ret)->asked = q;
	return false;
}

static uint64_t form(unsigned which, unsigned probes)
{
	return (uint64_t)which << 32 | probes;
}

double __wrap_blm_blocked_rate(uint64_t blocks, unsigned probes, uint64_t keys)
{
	struct answer *a;

	if (!answered(&a, (struct question){ form(1, probes), blocks, keys, 0 }))
		a->rate = __real_blm_blocked_rate(blocks, probes, keys);
	return a->rate;
}

uint64_t __wrap_blm_blocks_for(uint64_t keys, double rate, uint32_t *probes)
{
	struct answer *a;

	if (!answered(&a, (struct question){ form(2, *probes), 0, keys, rate })) {
		a->probes = *probes;
		a->blocks = __real_blm_blocks_for(keys, rate, &a->probes);
	}
	*probes = a->probes;
	return a->blocks;
}

double __wrap_blm_split_rate(uint64_t blocks, uint64_t keys)
{
	struct answer *a;

	if (!answered(&a, (struct question){ form(3, 0), blocks, keys, 0 }))
		a->rate = __real_blm_split_rate(blocks, keys);
	return a->rate;
}

uint64_t __wrap_blm_split_blocks_for(uint64_t keys, double rate)
{
	struct answer *a;

	if (!answered(&a, (struct question){ form(4, 0), 0, keys, rate }))
		a->blocks = __real_blm_split_blocks_for(keys, rate);
	return a->blocks;
}

double __wrap_blm_golomb_blocks(uint64_t range, uint64_t count)
{
	struct answer *a;

	if (!answered(&a, (struct question){ form(5, 0), range, count, 0 }))
		a->rate = __real_blm_golomb_blocks(range, count);
	return a->rate;
}
