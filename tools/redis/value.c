/* value.c - makes, grows and frees the filters that are values */
#include "cuckoo.h"
#include "discard.h"
#include "filter.h"
#include "payload.h"
#include "store.h"
#include "value.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* of the library's growing filters; others grow by the nearest of these */
enum { GROWTH_LEAST = 2, GROWTH_MOST = 16 };

/* descriptors that the making of a filter takes, with those that it closes again */
enum { WHILE_MAKING = 4 };

struct redis_type *value_types[3];

struct spot spot_of(struct redis_ctx *ctx, const struct redis_string *key)
{
	return (struct spot){ .key = key, .db = redis_GetSelectedDb(ctx), .loading =
		redis_GetContextFlags(ctx) & (REDIS_LOADING | REDIS_ASYNC_LOADING) };
}

struct spot spot_of_io(struct redis_io *io)
{
	int flags = redis_GetContextFlags(redis_GetContextFromIO(io));

	return (struct spot){ .key = redis_GetKeyNameFromIO(io), .db = redis_GetDbIdFromIO(io),
			      .loading = flags & (REDIS_LOADING | REDIS_ASYNC_LOADING) };
}

/* The system gives the lowest free numbers: are the next ones in the lower three quarters? */
bool value_has_space(void)
{
	struct rlimit limit;
	int fd[WHILE_MAKING], count = 0;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return false;
	while (count < WHILE_MAKING) {
		fd[count] = open("/", O_PATH | O_CLOEXEC);
		if (fd[count] < 0)
			break;
		count++;
	}
	for (int i = 0; i < count; i++)
		close(fd[i]);
	return count == WHILE_MAKING
		&& (rlim_t)fd[count - 1] < limit.rlim_cur - limit.rlim_cur / 4;
}

struct value *value_new(enum sort sort)
{
	struct value *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->sort = sort;
	v->owned = true;
	v->holders = 1;
	return v;
}

struct value *value_hold(struct value *v)
{
	__atomic_fetch_add(&v->holders, 1, __ATOMIC_RELAXED);
	return v;
}

struct value *value_free(struct value *v)
{
	if (!v || __atomic_sub_fetch(&v->holders, 1, __ATOMIC_ACQ_REL))
		return NULL;
	cuckoo_free(v);
	/* the open filter keeps the pages of the file, so that the drop does not free them */
	store_release(v->name, v->owned);
	discard(v->f);
	pending_free(v->pending);
	free(v->name);
	free(v);
	return NULL;
}

static int copy_of(struct blm_filter **ret, struct blm_store *to, const char *name,
		   const void *context)
{
	return blm_copy(ret, to, name, context, 0);
}

struct value *value_like(const struct value *from)
{
	struct value *v = value_has_space() ? value_new(from->sort) : NULL;

	if (!v)
		return NULL;
	v->owned = from->owned;
	v->unannounced = from->unannounced;
	v->fixed = from->fixed;
	v->capacity = from->capacity;
	v->expansion = from->expansion;
	v->rate = from->rate;
	v->tightening = from->tightening;
	v->tables = from->tables;
	v->both_ways = from->both_ways;
	v->forks = forks_seen();
	return v;
}

struct value *value_copy(const struct value *from, const struct spot *spot)
{
	struct value *v = value_like(from);
	int r;

	if (!v)
		return NULL;
	if (from->pending)
		v->pending = pending_copy(from->pending);
	else if (!from->owned)
		filter_attach(v, from->name);
	r = from->pending ? (v->pending ? 0 : -ENOMEM)
		: !from->owned ? (v->name ? 0 : -ENOMEM)
		: from->sort == SORT_CUCKOO ? cuckoo_copy(v, from)
		: !from->f ? 0
		: store_make(v, from->both_ways ? &(struct spot){ 0 } : spot, copy_of, from->f);
	return r < 0 ? value_free(v) : v;
}

size_t value_bytes(const struct value *v)
{
	struct blm_info info = BLM_INFO;
	size_t bytes = sizeof(*v) + (v->name ? strlen(v->name) + 1 : 0);

	if (v->pending)
		bytes += pending_bytes(v->pending);
	if (v->chain)
		bytes += cuckoo_bytes(v);
	if (v->f && blm_info(v->f, &info) == 0)
		bytes += info.bytes;
	return bytes;
}

/* ---- Bloom filters ---- */

unsigned bloom_growth(unsigned expansion)
{
	return expansion < GROWTH_LEAST ? GROWTH_LEAST : expansion > GROWTH_MOST ? GROWTH_MOST
		: expansion;
}

static double tightening_of(const struct bloom_wish *wish)
{
	return wish->tightening ? wish->tightening : TIGHTENING;
}

static int make_bloom(struct blm_filter **ret, struct blm_store *to, const char *name,
		      const void *context)
{
	const struct bloom_wish *wish = context;
	double error = wish->fixed ? wish->rate : wish->rate * (1 - tightening_of(wish)),
		bpe = bloom_bits_each(error);
	double bits = fmax(1, floor((double)wish->capacity * bpe));
	char options[64];
	struct blm_params p = BLM_PARAMS(.kind = "classic", .hash = "murmur64a",
		.scheme = "double-64", .capacity = wish->capacity, .rate = wish->rate,
		.probes = bloom_probes(bpe), .sparse = true);

	if (!p.probes || bits > (double)BLM_CELLS_MAX)
		return -EFBIG;
	p.cells = ((uint64_t)bits + 63) / 64 * 64;
	if (wish->seeded) {
		p.hash = "siphash13";
		p.scheme = "rust-bloomfilter";
		p.seeds = wish->seeds;
		p.seed_count = BLOOM_SEEDS;
	}
	snprintf(options, sizeof(options), "growth=%u,tightening=%.17g",
		 bloom_growth(wish->expansion), tightening_of(wish));
	if (!wish->fixed) {
		p.kind = "scalable";
		p.options = options;
	}
	return blm_create(ret, to, name, &p);
}

struct value *bloom_new(const struct bloom_wish *wish, const struct spot *spot)
{
	bool plain = !wish->seeded && (wish->fixed || tightening_of(wish) == TIGHTENING);
	struct value *v = value_new(plain ? SORT_BLOOM : SORT_FILTER);

	if (!v)
		return NULL;
	v->fixed = wish->fixed;
	v->capacity = wish->capacity;
	v->expansion = wish->expansion;
	v->rate = wish->rate;
	v->tightening = tightening_of(wish);
	return store_make(v, spot, make_bloom, wish) < 0 ? value_free(v) : v;
}
