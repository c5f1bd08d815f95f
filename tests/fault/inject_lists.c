/* inject_lists.c - inject.c's cases of lists of false positives */
#include "inject.h"

/* The first of the keys that "a" has: those that only it has. */
static size_t first_keys(char text[COMMON][16], struct blm_key keys[COMMON])
{
	for (int i = 0; i < COMMON; i++) {
		key_of(i, text[i]);
		keys[i] = (struct blm_key){ text[i], strlen(text[i]) };
	}
	return COMMON;
}

static int allow(struct world *w)
{
	char text[COMMON][16];
	struct blm_key keys[COMMON];

	return (int)blm_allowlist_add(w->f, keys, first_keys(text, keys));
}

static void allow_before(struct world *w)
{
	FIXTURE(allow(w));
}

static int disallow(struct world *w)
{
	char text[COMMON][16];
	struct blm_key keys[COMMON];

	return (int)blm_allowlist_remove(w->f, keys, first_keys(text, keys));
}

static int claim_listed(struct world *w)
{
	char text[COMMON][16];
	struct blm_key keys[COMMON];
	int64_t new = blm_claim_many(w->f, keys, first_keys(text, keys), NULL);

	return new >= 0 && new != COMMON ? -EILSEQ : new < 0 ? (int)new : 0;
}

static int count_key(void *context, const struct blm_key *key)
{
	++*(int *)context;
	return 0;
}

static int spare_and_list(struct world *w)
{
	uint64_t bits[(COMMON + 63) / 64];
	char text[COMMON][16];
	struct blm_key keys[COMMON];
	size_t count = first_keys(text, keys);
	int64_t r = blm_contains_many(w->f, keys, count, bits);
	int n = 0;

	if (r >= 0)
		r = blm_allowlist_filter(w->f, keys, count, bits);
	if (r >= 0 && r != COMMON)
		return -EILSEQ;
	if (r >= 0)
		r = blm_allowlist_list(w->f, count_key, &n);
	return r < 0 ? (int)r : n == COMMON ? 0 : -EILSEQ;
}

/* More keys than are looked up at once; and "a" has all of them. */
static size_t all_keys(char text[300][16], struct blm_key keys[300])
{
	for (int i = 0; i < 300; i++) {
		key_of(i, text[i]);
		keys[i] = (struct blm_key){ text[i], strlen(text[i]) };
	}
	return 300;
}

static int allow_many(struct world *w)
{
	char text[300][16];
	struct blm_key keys[300];

	return (int)blm_allowlist_add(w->f, keys, all_keys(text, keys));
}

static void add_second_before(struct world *w)
{
	FIXTURE(add_second(w));
}

static void allow_many_before(struct world *w)
{
	add_second_before(w);
	FIXTURE(allow_many(w));
}

static int add_many(struct world *w)
{
	return add_keys(w->f, 0, 300);
}

const struct one_case lists_cases[] = {
	{ "allow", IN_STORE | OPEN_F, allow, NULL, 0, 0 },
	{ "allow-listed", IN_STORE | OPEN_F, spare_and_list, allow_before, 0, 0 },
	{ "disallow", IN_STORE | OPEN_F, disallow, allow_before, 0, 0 },
	{ "add-to-listed", IN_STORE | OPEN_F, add, allow_before, 0, 0 },
	{ "allow-many", IN_STORE | OPEN_F, allow_many, add_second_before, BOTH, 0 },
	{ "add-many-to-listed", IN_STORE | OPEN_F, add_many, allow_many_before, BOTH, 0 },
	{ "rebuild-listed", IN_STORE | OPEN_F, rebuild, allow_before, SECOND, 0 },
	{ "claim-in-listed", IN_STORE | OPEN_F, claim_listed, allow_before, 0, 0 },
	{ "union-into-listed", IN_STORE | OPEN_F | OPEN_G, unite_into, allow_before, BOTH, 0 },
	{ "clear-listed", IN_STORE | OPEN_F, clear, allow_before, EMPTY, 0 },
	{ "drop-listed", IN_STORE | OPEN_F, drop, allow_before, GONE, 0 },
	{ "store-verify-listed", IN_STORE | OPEN_F, verify_store, allow_before, 0, 0 },
	{ "store-repair-listed", IN_STORE | OPEN_F | TWO_STEPS | REPAIRS, repair_store,
	  allow_before, 0, 0 },
	{ .name = NULL },
};
