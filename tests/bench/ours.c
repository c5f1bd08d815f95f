/* ours.c - the library's filters, of every kind that takes keys one by one */
#include "bench.h"
#include "../info.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* ---- Works ---- */

static int64_t hash_many(struct site *s, size_t count)
{
	return blm_hash_many(s->it, s->piece.key, count, s->piece.hash);
}

static int64_t contains(struct site *s, size_t count)
{
	int64_t yes = 0;

	for (size_t i = 0; i < count; i++)
		yes += blm_contains(s->it, s->piece.bytes[i], KEY_BYTES);
	return yes;
}

static int64_t contains_many(struct site *s, size_t count)
{
	return blm_contains_many(s->it, s->piece.key, count, NULL);
}

static int64_t contains_hashes(struct site *s, size_t count)
{
	return blm_contains_hashes(s->it, blm_hash_id(s->it), s->piece.hash, count, NULL);
}

#ifdef HAVE_FIXED
static int64_t contains_fixed(struct site *s, size_t count)
{
	return blm_contains_fixed(s->it, s->piece.bytes, KEY_BYTES, count, NULL);
}

static int64_t add_fixed(struct site *s, size_t count)
{
	return blm_add_fixed(s->it, s->piece.bytes, KEY_BYTES, count, NULL);
}
#endif

static int64_t add(struct site *s, size_t count)
{
	int64_t yes = 0;

	for (size_t i = 0; i < count; i++) {
		int r = blm_add(s->it, s->piece.bytes[i], KEY_BYTES);

		if (r < 0)
			return r;
		yes += r;
	}
	return yes;
}

#ifdef HAVE_HASH
static int64_t contains_hash(struct site *s, size_t count)
{
	uint64_t id = blm_hash_id(s->it);
	int64_t yes = 0;

	for (size_t i = 0; i < count; i++)
		yes += blm_contains_hash(s->it, id, &s->piece.hash[i]);
	return yes;
}

static int64_t add_hash(struct site *s, size_t count)
{
	uint64_t id = blm_hash_id(s->it);
	int64_t yes = 0;

	for (size_t i = 0; i < count; i++) {
		int r = blm_add_hash(s->it, id, &s->piece.hash[i]);

		if (r < 0)
			return r;
		yes += r;
	}
	return yes;
}
#endif

static int64_t add_many(struct site *s, size_t count)
{
	return blm_add_many(s->it, s->piece.key, count, NULL);
}

static int64_t claim(struct site *s, size_t count)
{
	int64_t yes = 0;

	for (size_t i = 0; i < count; i++) {
		int r = blm_claim(s->it, s->piece.bytes[i], KEY_BYTES);

		if (r < 0)
			return r;
		yes += r;
	}
	return yes;
}

static int64_t claim_many(struct site *s, size_t count)
{
	return blm_claim_many(s->it, s->piece.key, count, NULL);
}

/* ---- Taking out ---- */

/* One of many keys may seem to have been taken out before, and is refused. */
static int give_piece(struct site *s)
{
	int64_t r = blm_add_many(s->it, s->piece.key, s->piece.count, NULL);

	return r < 0 && r != -EKEYREVOKED ? (int)r : 0;
}

static int64_t remove_one(struct site *s, size_t count)
{
	int64_t yes = 0;

	for (size_t i = 0; i < count; i++) {
		int r = blm_remove(s->it, s->piece.bytes[i], KEY_BYTES);

		if (r < 0)
			return r;
		yes += r;
	}
	return yes;
}

static int64_t remove_many(struct site *s, size_t count)
{
	return blm_remove_many(s->it, s->piece.key, count, NULL);
}

static struct blm_params params_of(const struct site *s, uint64_t capacity)
{
	return BLM_PARAMS(.kind = s->kind, .options = s->options, .capacity = capacity,
			  .rate = s->rate);
}

/* ---- Adding by the only handle that changes a filter ---- */

/* A file of its own, because the other processes of the benchmark change the site's. */
static struct blm_filter *owned;
static char owned_path[4200];

static int owned_make(struct site *s)
{
	struct blm_params params = params_of(s, s->keys);
	int r;

	snprintf(owned_path, sizeof(owned_path), "%s-owned", s->path);
	r = blm_create(&owned, NULL, owned_path, &params);
	if (r < 0)
		return r;
	blm_close(owned);
	return blm_open(&owned, NULL, owned_path, BLM_OPEN_WRITE | BLM_OPEN_EXCLUSIVE);
}

static int64_t owned_add(struct site *s, size_t count)
{
	int64_t yes = 0;

	for (size_t i = 0; i < count; i++) {
		int r = blm_add(owned, s->piece.bytes[i], KEY_BYTES);

		if (r < 0)
			return r;
		yes += r;
	}
	return yes;
}

static int64_t owned_is_ready(struct site *s, size_t count)
{
	return 0;
}

/* ---- Building ---- */

/*
 * In memory: the processor's time is that of a file, and no process waits for a disk. Taking the
 * space and all page faults count. A process builds one at a time.
 */
static struct blm_build *builder;
static struct blm_filter *built;

static int64_t build_begin(struct site *s, size_t count)
{
	struct blm_params params = params_of(s, count);

	return blm_build_begin(&builder, NULL, NULL, &params, NULL);
}

static int64_t build_add(struct site *s, size_t count)
{
	return blm_build_add_fixed(builder, s->piece.bytes, KEY_BYTES, count);
}

static int64_t build_finish(struct site *s, size_t count)
{
	return blm_build_finish(builder, &built);
}

/*
 * All keys are counted but those that were false positives when they came; the last ones, still at
 * hand, are in it.
 */
static int check_built(struct site *s, size_t count)
{
	int64_t yes = blm_contains_many(built, s->piece.key, s->piece.count, NULL);
	uint64_t counted, doubtful = (uint64_t)(2 * s->predicted_rate * (double)count) + 10;
	int r = blm_count(built, &counted, NULL);

	built = blm_close(built);
	if (r < 0)
		return r;
	if ((yes == (int64_t)s->piece.count || s->forgets) && counted <= count
	    && counted + doubtful >= count)
		return 0;
	fprintf(stderr,
		"bench: %s %s: build: %lld of the last %zu keys are in it, %llu of %zu counted\n",
		s->name, s->label, (long long)yes, s->piece.count, (unsigned long long)counted,
		count);
	return -EUCLEAN;
}

static int check_owned(struct site *s, size_t count)
{
	built = owned;
	unlink(owned_path);
	return check_built(s, count);
}

/* ---- Building, by threads that make their keys themselves ---- */

struct share {
	uint64_t first, count;
	int r;
};

static void *add_share(void *arg)
{
	struct share *share = arg;
	struct keys piece = { 0 };

	share->r = keys_make(&piece, PIECE);
	for (uint64_t done = 0; done < share->count && share->r == 0; done += PIECE) {
		keys_from(&piece, share->count - done < PIECE ? share->count - done : PIECE,
			  share->first + done);
		share->r = blm_build_add_fixed(builder, piece.bytes, KEY_BYTES, piece.count);
	}
	keys_free(&piece);
	return NULL;
}

static int64_t build_by(struct site *s, size_t count, unsigned threads)
{
	struct blm_params params = params_of(s, count);
	struct share share[2] = { { 0, count / threads, 0 },
				  { count / threads, count - count / threads, 0 } };
	pthread_t second;
	int r = blm_build_begin(&builder, NULL, NULL, &params,
				&(struct blm_build_options){ .threads = threads });

	if (r < 0)
		return r;
	if (threads == 2)
		r = -pthread_create(&second, NULL, add_share, &share[1]);
	add_share(&share[0]);
	if (threads == 2 && r == 0)
		pthread_join(second, NULL);
	r = r < 0 ? r : share[0].r < 0 ? share[0].r : share[1].r;
	if (r == 0)
		return blm_build_finish(builder, &built);
	builder = blm_build_cancel(builder);
	return r;
}

static int64_t build_by_1(struct site *s, size_t count)
{
	return build_by(s, count, 1);
}

static int64_t build_by_2(struct site *s, size_t count)
{
	return build_by(s, count, 2);
}

static int check_built_by(struct site *s, size_t count)
{
	size_t last = count < PIECE ? count : PIECE;

	keys_from(&s->piece, last, count - last);
	return check_built(s, count);
}

/* ---- The table ---- */

static const struct work works[] = {
	WORK_READ,
	{ .name = "read, into the first cache", .run = read_into_first },
	{ .name = "read, not asked for", .run = read_not_asked_for },
	{ .name = "chained read", .run = chain_lines },
	{ .name = "atomic OR", .every = true, .run = or_lines },
	{ .name = "hash_many", .which = ABSENT, .run = hash_many, .simd = true },
	{ .name = "contains", .limit = "read", .which = ABSENT, .run = contains, .every = true },
	{ .name = "contains", .limit = "read", .which = PRESENT, .run = contains },
	{ .name = "contains_many",
	  .limit = "read",
	  .which = ABSENT,
	  .run = contains_many,
	  .simd = true,
	  .curve = true,
	  .every = true },
	{ .name = "contains_many",
	  .limit = "read",
	  .which = PRESENT,
	  .run = contains_many,
	  .simd = true,
	  .every = true },
	{ .name = "contains_hashes",
	  .limit = "read",
	  .which = ABSENT,
	  .run = contains_hashes,
	  .hashed = true,
	  .simd = true },
	{ .name = "contains_hashes",
	  .limit = "read",
	  .which = PRESENT,
	  .run = contains_hashes,
	  .hashed = true,
	  .simd = true },
#ifdef HAVE_FIXED
	{ .name = "contains_fixed",
	  .limit = "read",
	  .which = ABSENT,
	  .run = contains_fixed,
	  .simd = true },
	{ .name = "contains_fixed",
	  .limit = "read",
	  .which = PRESENT,
	  .run = contains_fixed,
	  .simd = true },
	{ .name = "add_fixed",
	  .limit = "atomic OR",
	  .which = FRESH,
	  .run = add_fixed,
	  .changes = true },
#endif
	{ .name = "add",
	  .limit = "atomic OR",
	  .which = FRESH,
	  .run = add,
	  .changes = true,
	  .every = true },
	{ .name = "add", .limit = "read", .which = PRESENT, .run = add, .changes = true },
#ifdef HAVE_HASH
	{ .name = "contains_hash",
	  .limit = "read",
	  .which = ABSENT,
	  .run = contains_hash,
	  .hashed = true },
	{ .name = "add_hash",
	  .limit = "atomic OR",
	  .which = FRESH,
	  .run = add_hash,
	  .changes = true,
	  .hashed = true },
#endif
	{ .name = "claim",
	  .limit = "atomic OR",
	  .which = FRESH,
	  .run = claim,
	  .changes = true,
	  .can = BLM_CAN_CLAIM },
	{ .name = "claim",
	  .limit = "read",
	  .which = PRESENT,
	  .run = claim,
	  .changes = true,
	  .can = BLM_CAN_CLAIM },
	{ .name = "add_many",
	  .limit = "atomic OR",
	  .which = FRESH,
	  .run = add_many,
	  .changes = true,
	  .simd = true,
	  .every = true },
	{ .name = "remove",
	  .which = ABSENT,
	  .run = remove_one,
	  .give = give_piece,
	  .changes = true,
	  .every = true,
	  .can = BLM_CAN_REMOVE },
	{ .name = "remove_many",
	  .which = ABSENT,
	  .run = remove_many,
	  .give = give_piece,
	  .changes = true,
	  .every = true,
	  .can = BLM_CAN_REMOVE },
	{ .name = "add by the only handle",
	  .run = owned_add,
	  .before = owned_make,
	  .begin = owned_is_ready,
	  .finish = owned_is_ready,
	  .check = check_owned,
	  .kind = "blocked" },
	{ .name = "add_many",
	  .limit = "read",
	  .which = PRESENT,
	  .run = add_many,
	  .changes = true,
	  .simd = true },
	{ .name = "claim_many",
	  .limit = "atomic OR",
	  .which = FRESH,
	  .run = claim_many,
	  .changes = true,
	  .can = BLM_CAN_CLAIM },
	{ .name = "build",
	  .limit = "read",
	  .run = build_add,
	  .begin = build_begin,
	  .finish = build_finish,
	  .check = check_built },
	{ .name = "build by 1 thread, keys made too",
	  .run = build_by_1,
	  .check = check_built_by,
	  .whole = true,
	  .kind = "blocked" },
	{ .name = "build by 2 threads, keys made too",
	  .limit = "build by 1 thread, keys made too",
	  .run = build_by_2,
	  .check = check_built_by,
	  .whole = true,
	  .kind = "blocked" },
	{ .name = "atomic OR, 1 process", .run = or_lines, .processes = 1 },
	{ .name = "atomic OR, 2 processes", .run = or_lines, .processes = 2 },
	{ .name = "add_many, 1 process",
	  .which = FRESH,
	  .run = add_many,
	  .changes = true,
	  .processes = 1 },
	{ .name = "add_many, 2 processes",
	  .which = FRESH,
	  .run = add_many,
	  .changes = true,
	  .processes = 2 },
	{ .name = "claim, 1 process",
	  .which = FRESH,
	  .run = claim,
	  .changes = true,
	  .processes = 1 },
	{ .name = "claim, 2 processes",
	  .which = FRESH,
	  .run = claim,
	  .changes = true,
	  .processes = 2 },
};

/* ---- Sites ---- */

int noise_into(struct blm_filter *f, uint64_t bytes, unsigned seed)
{
	enum { WORDS = 1 << 15 };
	uint64_t *words = malloc(WORDS * sizeof(*words));
	int r = words ? 0 : -ENOMEM;

	for (uint64_t at = 0; at < bytes && r == 0; at += WORDS * sizeof(*words)) {
		uint64_t part = bytes - at < WORDS * sizeof(*words) ? bytes - at
								    : WORDS * sizeof(*words);

		for (size_t i = 0; i < WORDS; i++)
			words[i] = noise_word(seed, at / sizeof(*words) + i);
		r = blm_data_unite(f, at, words, part);
	}
	free(words);
	return r;
}

static int tell(struct site *s)
{
	struct blm_info *info = info_buffer();
	int r = info ? blm_info(s->it, info) : -ENOMEM;

	if (r == 0) {
		s->bytes = info->bytes;
		s->data_bytes = info->data_bytes;
		s->bits_per_key = (double)info->data_bytes * 8 / (double)s->keys;
		s->predicted_rate = info->rate_at_capacity;
		s->probes = info->probes;
		s->counts = info->can & BLM_CAN_REMOVE;
		s->forgets = info->can & BLM_FORGETS;
		s->line_count = info->data_bytes / LINE_BYTES;
		s->lines = mapping_find(s->path, info->bytes - info->data_bytes, info->bytes);
		if (!s->lines) {
			fprintf(stderr, "bench: the map of %s is not where its data should be\n",
				s->path);
			r = -EIO;
		}
	}
	free(info);
	return r;
}

static int make(struct site *s)
{
	struct blm_filter *f;
	struct blm_params params = params_of(s, s->keys);
	int r = blm_create(&f, NULL, s->path, &params);

	if (r < 0)
		return r;
	s->it = f;
	return tell(s);
}

static int fill(struct site *s)
{
	int64_t r = blm_add_many(s->it, s->piece.key, s->piece.count, NULL);

	return r < 0 ? (int)r : 0;
}

static int noise(struct site *s)
{
	/* not all bits of the last line need be cells */
	return noise_into(s->it, s->data_bytes - LINE_BYTES, 0);
}

static int open_it(struct site *s)
{
	struct blm_filter *f;
	int r = blm_open(&f, NULL, s->path, BLM_OPEN_WRITE);

	if (r < 0)
		return r;
	s->it = f;
	return tell(s);
}

static void close_it(struct site *s)
{
	s->it = blm_close(s->it);
}

const struct engine ours = {
	.name = "bloomery",
	.make = make, .fill = fill, .copies = true, .noise = noise,
	.open = open_it, .close = close_it,
	.works = works, .work_count = ARRAY_LEN(works),
};
