/* inject_built.c - inject.c's cases of kinds that are built from all their keys */
#include "inject.h"
#include "../kinds.h"

/* with so many more keys they go through a file where memory is at its least */
enum { MORE = 5000, AT_ONCE = 250 };

/* Finishes if all went well so far; else the error stays. */
static int end_build(struct blm_build *b, int r, struct blm_filter **ret)
{
	if (r == 0)
		return blm_build_finish(b, ret);
	blm_build_cancel(b);
	return r;
}

static int end_update(struct blm_update *u, int r)
{
	if (r == 0)
		return blm_update_finish(u);
	blm_update_cancel(u);
	return r;
}

/* Keys, with values where the builder wants them. */
static int gather(struct blm_build *b, bool values, int from, int to)
{
	char text[AT_ONCE][16];
	struct blm_key keys[AT_ONCE];
	uint64_t value[AT_ONCE];
	int r = 0;

	for (int i = from; r == 0 && i < to; ) {
		size_t n = 0;

		for (; n < AT_ONCE && i < to; i++, n++) {
			key_of(i, text[n]);
			keys[n] = (struct blm_key){ text[n], strlen(text[n]) };
			value[n] = (uint64_t)i % 16;
		}
		r = values ? blm_build_put_many(b, keys, value, n) : blm_build_add_many(b, keys, n);
	}
	return r;
}

static unsigned abilities_of(const char *kind)
{
	struct blm_kind_info info = { 0 };

	for (size_t i = 0; blm_kind_list(i, &info) == 0; i++)
		if (!strcmp(info.name, kind))
			return info.can;
	return 0;
}

/* Keys that the filter is to deny. */
static const struct blm_key *others(void)
{
	static struct blm_key keys[MORE];
	static char text[MORE][16];

	for (unsigned i = 0; i < MORE; i++) {
		snprintf(text[i], sizeof(text[i]), "other %u", i);
		keys[i] = (struct blm_key){ text[i], strlen(text[i]) };
	}
	return keys;
}

/* A filter of this kind with these keys, and as many more that are never asked. */
static int build_kind(struct world *w, const char *name, struct blm_params params, int from, int to,
		      int more, struct blm_filter **ret)
{
	const struct blm_build_options least = { .memory_bytes = 1 };
	unsigned can = abilities_of(params.kind);
	bool values = can & BLM_CAN_BUILD && can & BLM_CAN_GET;
	struct blm_build *b;
	int r;

	params.seed_count = 1;
	params.seeds = small.seeds;
	r = blm_build_begin(&b, w->store, name, &params, &least);
	if (r < 0)
		return r;
	r = gather(b, values, 1000, 1000 + more);
	if (r == 0)
		r = gather(b, values, from, to);
	if (r == 0 && can & BLM_CAN_EXCLUDE)
		r = blm_build_exclude_many(b, others(), MORE);
	return end_build(b, r, ret);
}

/* The kind is the case's. */
static int build_registered(struct world *w)
{
	return build_kind(w, new_name(w), BLM_PARAMS(.kind = w->c->kind.name, .rate = 1e-6), COMMON,
			  300, MORE, &w->made);
}

/* Two lists, so that both levels are made. */
static int build_of_lists(struct world *w, const char *name, int from, int to, bool replace,
			  struct blm_filter **ret)
{
	const struct blm_build_options least = { .memory_bytes = 1 };
	struct blm_build *b;
	int r = blm_build_begin(&b, name ? w->store : NULL, name,
				&BLM_PARAMS(.kind = "exact", .rate = 1e-6, .seed_count = 1,
					    .seeds = small.seeds, .replace = replace),
				&least);

	if (r < 0)
		return r;
	r = gather(b, false, from, to);
	if (r == 0)
		r = blm_build_exclude_many(b, others(), MORE);
	return end_build(b, r, ret);
}

static int give_columns(struct blm_build *b)
{
	struct blm_key key;
	char text[24];
	int r = 0;

	for (unsigned i = 0; r == 0 && i < 4000; i++) {	/* most keys are in one column */
		key = (struct blm_key){ text, (size_t)snprintf(text, sizeof(text), "%u\t%u",
							       i % 4 == 0, i) };
		r = i % 4 == 0 || i % 400 == 1 ? blm_build_add_many(b, &key, 1)
			: blm_build_exclude_many(b, &key, 1);
	}
	return r;
}

/* Two lists that are divided by a column. */
static int build_of_columns(struct world *w)
{
	const struct blm_build_options least = { .memory_bytes = 1 };
	struct blm_params params = BLM_PARAMS(.kind = "exact", .hash = "xxh3-column",
					      .seed_count = 1, .seeds = small.seeds);
	struct blm_filter *f = NULL;
	struct blm_fact fact;
	struct blm_build *b;
	int r = blm_build_begin(&b, NULL, NULL, &params, &least);

	if (r < 0)
		return r;
	r = end_build(b, give_columns(b), &f);
	if (r == 0 && (blm_fact(f, 4, &fact) < 0 || strcmp(fact.name, "parts") != 0
		       || !blm_contains(f, "1\t8", 3) || blm_contains(f, "0\t7", 3)))
		r = -EILSEQ;
	blm_close(f);
	return r;
}

static void as_exact(struct world *w)
{
	FIXTURE(build_of_lists(w, "a", 0, KEYS, true, NULL));
}

/* All that it has then, and all that it denies. */
static int update_exact(struct world *w)
{
	const struct blm_build_options least = { .memory_bytes = 1 };
	struct blm_update *u;
	int r = blm_update_begin(&u, w->store, "a", NULL, &least);

	if (r < 0)
		return r;
	r = blm_update_remove_many(u, others(), MORE);
	for (int i = 0; r == 0 && i < 300; i++) {
		char text[16];
		struct blm_key key;

		key_of(i, text);
		key = (struct blm_key){ text, strlen(text) };
		r = i < COMMON ? blm_update_remove_many(u, &key, 1)
			       : blm_update_add_many(u, &key, 1);
	}
	return end_update(u, r);
}

static struct {
	uint8_t bytes[64 << 10];
	size_t len;
} delta;

/* What that update adds, for "a" as it was. */
static void as_exact_with_delta(struct world *w)
{
	struct blm_filter *f, *old;
	void *bytes;

	as_exact(w);
	FIXTURE(update_exact(w));
	FIXTURE(build_of_lists(w, NULL, 0, KEYS, false, &old));
	FIXTURE(blm_open(&f, w->store, "a", 0));
	FIXTURE(blm_delta_make(f, old, &bytes, &delta.len));
	FIXTURE(delta.len <= sizeof(delta.bytes) ? 0 : -EFBIG);
	memcpy(delta.bytes, bytes, delta.len);
	blm_free(bytes);
	blm_close(f);
	blm_close(old);
	as_exact(w);
}

static int apply_delta(struct world *w)
{
	int r = blm_delta_apply(w->store, "a", NULL, delta.bytes, delta.len);

	return r < 0 ? r : 0;
}

static int make_delta(struct world *w)
{
	struct blm_filter *f;
	size_t len;
	void *bytes;
	int r = blm_open(&f, w->store, "a", 0);

	if (r < 0)
		return r;
	r = blm_delta_make(f, f, &bytes, &len);
	if (r == 0)
		blm_free(bytes);
	blm_close(f);
	return r;
}

/* Of keys that are counted first; what it was goes. */
static int build_counted_over(struct world *w)
{
	return build_kind(w, "a", BLM_PARAMS(.kind = "cuckoo", .rate = 1e-6, .replace = true),
			  COMMON, 300, MORE, NULL);
}

static int build_scalable(struct world *w)
{
	return build_kind(w, new_name(w),
			  BLM_PARAMS(.kind = "scalable", .capacity = 70, .rate = 1e-6), COMMON, 300,
			  0, &w->made);
}

/* It grows while it is built, and each part wants the secret again. */
static int build_scalable_keyed(struct world *w)
{
	struct blm_params params = BLM_PARAMS(.kind = "scalable", .capacity = 70, .rate = 1e-6,
					      .hash = keyed.hash, .secret = keyed.secret);
	struct blm_build *b;
	int r = blm_build_begin(&b, w->store, new_name(w), &params, NULL);

	if (r < 0)
		return r;
	r = gather(b, false, COMMON, 300);
	return end_build(b, r, &w->made);
}

static const struct blm_params counted_golomb = BLM_PARAMS(.kind = "golomb", .capacity = 600,
							   .rate = 1e-6, .options = "counted=1",
							   .replace = true);

static void as_golomb(struct world *w)
{
	FIXTURE(build_kind(w, "a", counted_golomb, 0, KEYS, 0, NULL));
}

static void both_as_golomb(struct world *w)
{
	as_golomb(w);
	FIXTURE(build_kind(w, "b", counted_golomb, COMMON, 300, 0, NULL));
}

static void both_as_golomb_in_memory(struct world *w)
{
	struct blm_params params = counted_golomb;

	params.replace = false;
	w->f = blm_close(w->f);
	w->g = blm_close(w->g);
	FIXTURE(build_kind(w, NULL, params, 0, KEYS, 0, &w->f));
	FIXTURE(build_kind(w, NULL, params, COMMON, 300, 0, &w->g));
}

static void as_keyed_golomb(struct world *w)
{
	struct blm_params params = counted_golomb;
	struct blm_build *b;

	params.hash = keyed.hash;
	params.secret = keyed.secret;
	FIXTURE(blm_build_begin(&b, w->store, "a", &params, NULL));
	FIXTURE(gather(b, false, 0, KEYS));
	FIXTURE(blm_build_finish(b, NULL));
}

static int merge(struct world *w)
{
	return blm_merge(&w->made, w->store, new_name(w),
			 (const struct blm_filter *const[]){ w->f, w->g }, 2, 0600);
}

/* One part owns all keys, so it can be asked for them. */
static int split(struct world *w)
{
	const char *names[] = { new_name(w) };
	int r = blm_split(w->f, 1, w->store, names, 0600);

	return r < 0 ? r : blm_open(&w->made, w->store, names[0], 0);
}

static int ask_for_owners(struct world *w)
{
	const struct blm_key key = { "key", 3 };
	struct blm_hash hash;
	uint64_t at, bytes;
	uint32_t owner;
	int r = blm_hash_many(w->f, &key, 1, &hash);

	if (r == 0)
		r = blm_part_owners(w->f, blm_hash_id(w->f), &hash, 1, 4, &owner);
	return r < 0 ? r : blm_part_range(w->f, owner, 4, &at, &bytes);
}

/* A thread's first call makes it known. */
static void known_before(struct world *w)
{
	holds(w->f, 0, 1);
}

static int build_part(struct world *w)
{
	static const uint64_t seed[] = { 1 };
	const struct blm_params params = BLM_PARAMS(.kind = "blocked", .capacity = 600,
						    .rate = 1e-6, .seeds = seed, .seed_count = 1,
						    .split_parts = 1);
	struct blm_build *b;
	int r = blm_build_begin(&b, w->store, new_name(w), &params, NULL);

	if (r < 0)
		return r;
	r = gather(b, false, 0, KEYS);
	if (r == 0)
		return blm_build_finish(b, &w->made);
	blm_build_cancel(b);
	return r;
}

/* The only shard, or block, reaches into both parts. A part denies no key. */
static int build_half(struct world *w, const char *kind)
{
	static const uint64_t seed[] = { 1 };
	const struct blm_params params = BLM_PARAMS(.kind = kind, .rate = 0.01, .seeds = seed,
						    .seed_count = 1, .split_parts = 2,
						    .split_part = 1);
	struct blm_build *b;
	int r = blm_build_begin(&b, w->store, new_name(w), &params, NULL);

	if (r < 0)
		return r;
	r = gather(b, false, 0, KEYS);
	if (r == 0)
		return blm_build_finish(b, &w->made);
	blm_build_cancel(b);
	return r;
}

static int build_fuse_half(struct world *w)
{
	return build_half(w, "fuse");
}

static int build_golomb_half(struct world *w)
{
	return build_half(w, "golomb");
}

/* Of a union, whose number of keys is an estimate: so the keys are counted again at the end. */
static void with_a_part(struct world *w)
{
	const char *names[] = { "part" };
	struct blm_filter *f, *same;

	FIXTURE(blm_open(&f, w->store, "a", 0));
	FIXTURE(blm_combine(&same, NULL, NULL, BLM_UNION, (const struct blm_filter *[]){ f, f }, 2,
			    0, NULL));
	FIXTURE(blm_split(same, 1, w->store, names, 0600));
	blm_close(same);
	blm_close(f);
}

static int join(struct world *w)
{
	struct blm_filter *part = NULL;
	struct blm_join *j;
	int r = blm_join_begin(&j, w->store, new_name(w), 0600, false);

	if (r < 0)
		return r;
	r = blm_open(&part, w->store, "part", 0);
	if (r == 0)
		r = blm_join_part(j, part);
	blm_close(part);
	if (r == 0)
		return blm_join_finish(j, &w->made);
	blm_join_cancel(j);
	return r;
}

/* What only "a" has goes, and what only "b" has comes. */
static int update(struct world *w)
{
	const struct blm_build_options least = { .memory_bytes = 1 };
	struct blm_update *u;
	int r = blm_update_begin(&u, w->store, "a", NULL, &least);

	if (r < 0)
		return r;
	for (int i = 0; r == 0 && i < COMMON; i++) {
		char go[16], come[16];

		key_of(i, go);
		key_of(KEYS + i, come);
		r = blm_update_remove_many(u, &(struct blm_key){ go, strlen(go) }, 1);
		if (r == 0)
			r = blm_update_add_many(u, &(struct blm_key){ come, strlen(come) }, 1);
	}
	return end_update(u, r);
}

/* As many more come and go as memory has no room for. */
static int update_much(struct world *w)
{
	const struct blm_build_options least = { .memory_bytes = 1 };
	struct blm_update *u;
	char key[16];
	int r = blm_update_begin(&u, w->store, "a", NULL, &least);

	if (r < 0)
		return r;
	for (int i = KEYS; r == 0 && i < KEYS + MORE; i++) {
		key_of(i, key);
		r = blm_update_add_many(u, &(struct blm_key){ key, strlen(key) }, 1);
		key_of(i + 100000, key);
		if (r == 0)
			r = blm_update_remove_many(u, &(struct blm_key){ key, strlen(key) }, 1);
	}
	return end_update(u, r);
}

static void as_large_golomb(struct world *w)
{
	FIXTURE(build_kind(w, "a", counted_golomb, 0, KEYS, MORE, NULL));
}

static void as_listed_golomb(struct world *w)
{
	struct blm_filter *f;

	as_golomb(w);
	FIXTURE(blm_open(&f, w->store, "a", BLM_OPEN_WRITE));
	FIXTURE(blm_allowlist_add(f, &(struct blm_key){ "key 1", 5 }, 1));
	blm_close(f);
}

static const struct blm_params ranges = BLM_PARAMS(.kind = "range", .capacity = 600, .rate = 1e-6,
						   .replace = true);

static void both_as_range(struct world *w)
{
	FIXTURE(build_kind(w, "a", ranges, 0, KEYS, 0, NULL));
	FIXTURE(build_kind(w, "b", ranges, COMMON, 300, 0, NULL));
}

/* What only "b" has comes, and more than memory has room for. */
static int add_to_range(struct world *w)
{
	const struct blm_build_options least = { .memory_bytes = 1 };
	struct blm_update *u;
	char key[16];
	int r = blm_update_begin(&u, w->store, "a", NULL, &least);

	if (r < 0)
		return r;
	for (int i = KEYS; r == 0 && i < KEYS + MORE; i++) {
		key_of(i, key);
		r = blm_update_add_many(u, &(struct blm_key){ key, strlen(key) }, 1);
	}
	return end_update(u, r);
}

static int ask_ranges(struct world *w)
{
	const struct blm_key from = { "key 1", 5 }, to = { "key 1999", 8 };
	uint64_t bit;
	int64_t r = blm_contains_ranges(w->f, &from, &to, 1, &bit);

	return r < 0								   ? (int)r
	     : r == 1 && bit == 1 && blm_contains_range(w->f, "l", 1, "l", 1) == 0 ? 0
										   : -EPROTO;
}

/* A new filter of the data of another one, as they are. */
static int build_of_raw(struct world *w)
{
	uint8_t raw[64];
	struct blm_info info = BLM_INFO;
	struct blm_build *b;
	int r = blm_info(w->f, &info);

	if (r == 0)
		r = blm_build_begin(&b, w->store, new_name(w),
				    &BLM_PARAMS(.kind = info.kind, .hash = info.hash,
						.cells = info.cells,
						.probes = info.probes, .capacity = info.capacity,
						.seeds = info.seeds, .seed_count = info.seed_count),
				    NULL);
	for (uint64_t at = 0; r == 0 && at < info.data_bytes; at += sizeof(raw)) {
		r = blm_data_read(w->f, at, raw, sizeof(raw));
		if (r == 0)
			r = blm_build_unite(b, at, raw, sizeof(raw), BLM_KEYS_UNKNOWN);
		if (r < 0)
			blm_build_cancel(b);
	}
	return r < 0 ? r : blm_build_finish(b, &w->made);
}

const struct one_case built_cases[] = {
	{ "build-of-raw-data", EVERYWHERE | OPEN_F, build_of_raw, NULL, 0, FIRST },
	{ "scalable-build", IN_PATH | IN_STORE, build_scalable, NULL, 0, SECOND },
	{ "scalable-build-keyed", IN_PATH, build_scalable_keyed, NULL, 0, SECOND },
	{ "cuckoo-build-over", IN_PATH | IN_STORE, build_counted_over, NULL, SECOND, 0 },
	{ "golomb-open-read", IN_PATH | IN_STORE, open_to_read, as_golomb, 0, 0 },
	{ "owners", EVERYWHERE | OPEN_F | NO_CALLS, ask_for_owners, known_before, 0,
	  0 },
	{ "split", IN_PATH | IN_STORE | OPEN_F | GIVES_FILE, split, NULL, 0, FIRST },
	{ "build-part", EVERYWHERE, build_part, NULL, 0, FIRST },
	{ "build-part-fuse", IN_PATH, build_fuse_half, NULL, 0, BOTH },
	{ "build-part-golomb", IN_PATH, build_golomb_half, NULL, 0, BOTH },
	{ "join", IN_PATH | IN_STORE, join, with_a_part, 0, FIRST },
	{ "golomb-merge", IN_PATH | IN_STORE | OPEN_F | OPEN_G, merge, both_as_golomb, 0, BOTH },
	{ "golomb-merge-in-memory", IN_MEMORY | OPEN_F | OPEN_G, merge, both_as_golomb_in_memory, 0,
	  BOTH },
	{ "golomb-update", IN_PATH | IN_STORE, update, as_golomb, SECOND, 0 },
	{ "exact-of-columns", IN_PATH, build_of_columns, NULL, 0, 0 },
	{ "exact-update", IN_PATH | IN_STORE, update_exact, as_exact, SECOND, 0 },
	{ "exact-delta", IN_PATH | IN_STORE, make_delta, as_exact, 0, 0 },
	{ "exact-delta-apply", IN_PATH | IN_STORE, apply_delta, as_exact_with_delta, SECOND, 0 },
	{ "golomb-update-keyed", IN_PATH | IN_STORE, update, as_keyed_golomb, SECOND, 0 },
	{ "golomb-update-much", IN_PATH, update_much, as_large_golomb, BOTH, 0 },
	{ "golomb-update-listed", IN_STORE, update, as_listed_golomb, SECOND, 0 },
	{ "range-merge", IN_PATH | OPEN_F | OPEN_G, merge, both_as_range, 0, BOTH },
	{ "range-update", IN_PATH | IN_STORE, add_to_range, both_as_range, BOTH, 0 },
	{ "range-ask", IN_PATH | OPEN_F, ask_ranges, both_as_range, 0, 0 },
	{ .name = NULL },
};

/* ---- Kinds of the registry ---- */

enum { BUILT_MOST = 32 };

const struct one_case *built_kinds_cases(void)
{
	static struct one_case cases[BUILT_MOST + 1];
	static char names[BUILT_MOST][64];
	struct blm_kind_info built[BUILT_MOST];
	unsigned count = other_kinds(BLM_CAN_BUILD, 0, NULL, built, BUILT_MOST);

	for (unsigned i = 0; i < count; i++) {
		snprintf(names[i], sizeof(names[i]), "%s-build", built[i].name);
		/* the builder enters the file into a store in the same way for each kind */
		cases[i] = (struct one_case){
			names[i], built[i].can & BLM_CAN_MERGE ? EVERYWHERE : IN_PATH | IN_MEMORY,
			build_registered, NULL, 0, SECOND, built[i],
		};
	}
	return cases;
}
