/*
 * inject_forms.c - inject.c's cases of what other calls do too, in other forms: one key, keys of
 * one length, hashes, values; and of telling
 */
#include "inject.h"

enum { WIDTH = 7, SOME = 300 - KEYS };

/* Those of the keys that only "b" has, each as long as the others. */
static const char *second_keys(void)
{
	static char text[SOME * WIDTH + 1];

	for (int i = 0; i < SOME; i++)
		snprintf(text + (size_t)i * WIDTH, WIDTH + 1, "key %d", KEYS + i);
	return text;
}

static int hash_second(const struct blm_filter *f, struct blm_hash ret[SOME])
{
	return blm_hash_fixed(f, second_keys(), WIDTH, SOME, ret);
}

/* ---- One key ---- */

static int add_one(struct world *w)
{
	return blm_add(w->f, "one more", 8);
}

static int claim_one(struct world *w)
{
	int r = blm_claim(w->f, "one more", 8);

	return r == 0 ? -EILSEQ : r;
}

static int remove_one(struct world *w)
{
	return blm_remove(w->f, "not there", 9);
}

/* ---- Keys of one length ---- */

static int add_fixed(struct world *w)
{
	return (int)blm_add_fixed(w->f, second_keys(), WIDTH, SOME, NULL);
}

static int claim_fixed(struct world *w)
{
	return (int)blm_claim_fixed(w->f, second_keys(), WIDTH, SOME, NULL);
}

static int ask_fixed(struct world *w)
{
	return blm_contains_fixed(w->g, second_keys(), WIDTH, SOME, NULL) == SOME ? 0 : -EILSEQ;
}

/* ---- Packed keys ---- */

static const int32_t *offsets_of_second(void)
{
	static int32_t offsets[SOME + 1];

	for (int i = 0; i <= SOME; i++)
		offsets[i] = i * WIDTH;
	return offsets;
}

static int add_packed(struct world *w)
{
	return (int)blm_add_packed(w->f, second_keys(), offsets_of_second(), 4, SOME, NULL);
}

static int claim_packed(struct world *w)
{
	return (int)blm_claim_packed(w->f, second_keys(), offsets_of_second(), 4, SOME, NULL);
}

static int ask_packed(struct world *w)
{
	return blm_contains_packed(w->g, second_keys(), offsets_of_second(), 4, SOME, NULL) == SOME
		     ? 0
		     : -EILSEQ;
}

static int remove_packed(struct world *w)
{
	return (int)blm_remove_packed(w->f, "not there", (int64_t []){ 0, 9 }, 8, 1, NULL);
}

/* ---- Hashes ---- */

static int hash_one(const struct blm_filter *f, struct blm_hash *ret)
{
	return blm_hash_fixed(f, second_keys(), WIDTH, 1, ret);
}

static int add_hashes(struct world *w)
{
	struct blm_hash hashes[SOME];
	int r = hash_second(w->f, hashes);

	return r < 0 ? r : (int)blm_add_hashes(w->f, blm_hash_id(w->f), hashes, SOME, NULL);
}

static int claim_hashes(struct world *w)
{
	struct blm_hash hashes[SOME];
	int r = hash_second(w->f, hashes);

	return r < 0 ? r : (int)blm_claim_hashes(w->f, blm_hash_id(w->f), hashes, SOME, NULL);
}

static int ask_hashes(struct world *w)
{
	struct blm_hash hashes[SOME], same;
	int64_t r = hash_second(w->g, hashes);

	if (r == 0)
		r = blm_hash_many(w->g, &(struct blm_key){ second_keys(), WIDTH }, 1, &same);
	if (r == 0)
		r = same.lo == hashes[0].lo && same.hi == hashes[0].hi ? 0 : -EILSEQ;
	if (r == 0)
		r = blm_contains_hashes(w->g, blm_hash_id(w->g), hashes, SOME, NULL);
	return r < 0 ? (int)r : r == SOME ? 0 : -EILSEQ;
}

static int add_hash(struct world *w)
{
	struct blm_hash hash;
	int r = hash_one(w->f, &hash);

	return r < 0 ? r : blm_add_hash(w->f, blm_hash_id(w->f), &hash);
}

static int claim_hash(struct world *w)
{
	struct blm_hash hash;
	int r = hash_one(w->f, &hash);

	return r < 0 ? r : blm_claim_hash(w->f, blm_hash_id(w->f), &hash);
}

static int ask_hash(struct world *w)
{
	struct blm_hash hash;
	int r = hash_one(w->g, &hash);

	if (r == 0)
		r = blm_contains_hash(w->g, blm_hash_id(w->g), &hash);
	return r < 0 ? r : r == 1 ? 0 : -EILSEQ;
}

/* Keys of one length, and hashes that "a" made. */
static int build_of_all_forms(struct world *w)
{
	struct blm_hash hashes[COMMON];
	char text[COMMON][16];
	struct blm_key keys[COMMON];
	struct blm_build *b;
	int r = blm_build_begin(&b, w->store, new_name(w), &small, NULL);

	if (r < 0)
		return r;
	for (int i = 0; i < COMMON; i++) {
		key_of(COMMON + i, text[i]);
		keys[i] = (struct blm_key){ text[i], strlen(text[i]) };
	}
	r = blm_hash_many(w->f, keys, COMMON, hashes);
	if (r == 0)
		r = blm_build_add_hashes(b, blm_build_hash_id(b), hashes, COMMON);
	if (r == 0)
		r = blm_build_add_fixed(b, second_keys(), WIDTH, SOME);
	if (r == 0)
		return blm_build_finish(b, &w->made);
	blm_build_cancel(b);
	return r;
}

/* ---- Values ---- */

static void with_values(struct world *w)
{
	become(w, BLM_PARAMS(.kind = "attenuated", .capacity = 600, .rate = 1e-6,
			     .options = "depth=3"));
}

static int put_second(struct world *w)
{
	struct blm_key keys[SOME];
	uint64_t values[SOME];
	const char *text = second_keys();

	for (int i = 0; i < SOME; i++) {
		keys[i] = (struct blm_key){ text + (size_t)i * WIDTH, WIDTH };
		values[i] = (uint64_t)i % 3;
	}
	return (int)blm_put_many(w->f, keys, values, SOME, NULL);
}

static int put_one(struct world *w)
{
	return blm_put(w->f, "one more", 8, 2);
}

static int get(struct world *w)
{
	uint64_t one, same;
	int64_t r = blm_get(w->f, "key 150", 7, &one);

	if (r == 1)
		r = blm_get_many(w->f, &(struct blm_key){ "key 150", 7 }, 1, &same, NULL);
	return r < 0 ? (int)r : r == 1 && one == same ? 0 : -EILSEQ;
}

/* ---- Telling ---- */

/* All of them, to the last. */
static int facts(struct world *w)
{
	struct blm_fact fact;
	size_t i = 0;
	int r;

	while ((r = blm_fact(w->f, i, &fact)) == 0)
		i++;
	return r == -ENOENT && i > 0 ? 0 : r;
}

static int plan(struct world *w)
{
	const struct blm_params params = BLM_PARAMS(.kind = "scalable", .capacity = 600,
						    .rate = 0.01, .options = "growth=2");
	struct blm_plan sizes;
	struct blm_fact fact;
	int r = blm_plan(&sizes, &params);

	for (size_t i = 0; r == 0; i++)
		r = blm_plan_fact(&params, i, &fact);
	return r == -ENOENT ? 0 : r;
}

static int status(struct world *w)
{
	return blm_status(w->f);
}

static int survive(struct world *w)
{
	return blm_survive_truncation();
}

/* What asks nothing of the system, so nothing of it can fail. */
static int tell_what_there_is(struct world *w)
{
	struct blm_option_info option;
	struct blm_scheme_info scheme;
	struct blm_format_info format;
	struct blm_kind_info kind;
	struct blm_hash_info hash;

	for (size_t i = 0; blm_kind_list(i, &kind) == 0; i++)
		for (size_t j = 0; blm_option_list(kind.name, j, &option) == 0; j++)
			;
	for (size_t i = 0; blm_hash_list(i, &hash) == 0; i++)
		;
	for (size_t i = 0; blm_scheme_list(i, &scheme) == 0; i++)
		;
	for (size_t i = 0; blm_format_list(i, &format) == 0; i++)
		;
	blm_use_threads(1);
	blm_use_progress(NULL, NULL);
	blm_stop_waiting_if(NULL);
	if (blm_rate_asymptotic(10, 7) >= 1 || blm_rate_bound(1000, 7, 100) >= 1 || blm_truncated()
	    || strcmp(blm_store_dir(w->store), "s"))
		return -EILSEQ;
	return *blm_simd() && *blm_version() && *blm_strerror(-ESTALE)
		     ? blm_same_template(w->f, w->g)
		     : -EILSEQ;
}

/* A thread's first call makes it known. */
static void be_known(struct world *w)
{
	holds(w->f, 0, 1);
}

const struct one_case forms_cases[] = {
	{ "add-one", EVERYWHERE | OPEN_F, add_one, NULL, 0, 0 },
	{ "claim-one", EVERYWHERE | OPEN_F, claim_one, NULL, 0, 0 },
	{ "remove-one", IN_PATH | IN_STORE | OPEN_F, remove_one, as_counting, 0, 0 },
	{ "add-fixed", EVERYWHERE | OPEN_F, add_fixed, NULL, BOTH, 0 },
	{ "claim-fixed", EVERYWHERE | OPEN_F, claim_fixed, NULL, BOTH, 0 },
	{ "contains-fixed", EVERYWHERE | OPEN_F | OPEN_G, ask_fixed, NULL, 0, 0 },
	{ "add-packed", EVERYWHERE | OPEN_F, add_packed, NULL, BOTH, 0 },
	{ "claim-packed", EVERYWHERE | OPEN_F, claim_packed, NULL, BOTH, 0 },
	{ "contains-packed", EVERYWHERE | OPEN_F | OPEN_G, ask_packed, NULL, 0, 0 },
	{ "remove-packed", IN_PATH | IN_STORE | OPEN_F, remove_packed, as_counting, 0, 0 },
	{ "add-hashes", EVERYWHERE | OPEN_F, add_hashes, NULL, BOTH, 0 },
	{ "claim-hashes", EVERYWHERE | OPEN_F, claim_hashes, NULL, BOTH, 0 },
	{ "contains-hashes", EVERYWHERE | OPEN_F | OPEN_G, ask_hashes, NULL, 0, 0 },
	{ "add-hash", EVERYWHERE | OPEN_F, add_hash, NULL, 0, 0 },
	{ "claim-hash", EVERYWHERE | OPEN_F, claim_hash, NULL, 0, 0 },
	{ "contains-hash", EVERYWHERE | OPEN_F | OPEN_G, ask_hash, NULL, 0, 0 },
	{ "build-of-all-forms", EVERYWHERE | OPEN_F, build_of_all_forms, NULL, 0, SECOND },
	{ "put", IN_PATH | IN_STORE | OPEN_F, put_second, with_values, BOTH, 0 },
	{ "put-one", IN_PATH | IN_STORE | OPEN_F, put_one, with_values, 0, 0 },
	{ "get", IN_PATH | IN_STORE | OPEN_F | READ_F, get, as_counting, 0, 0 },
	{ "facts", IN_PATH | OPEN_F | READ_F, facts, with_values, 0, 0 },
	{ "plan", IN_MEMORY, plan, NULL, 0, 0 },
	{ "status-of-replaced", IN_PATH | IN_STORE | OPEN_F, status, make_replacement, 0, 0 },
	{ "survive-truncation", IN_MEMORY, survive, NULL, 0, 0 },
	{ "what-there-is", IN_STORE | OPEN_F | OPEN_G | NO_CALLS, tell_what_there_is, be_known, 0,
	  0 },
	{ .name = NULL },
};
