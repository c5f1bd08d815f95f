/* make.c - make the golden files anew, through the public functions only: make FOLDER */
#include <bloomery.h>

#include "../kinds.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ADDED = 45, FALSE_POSITIVES = 10, ABSENT = 20, ASKED = 200000 };

static const uint8_t secret[BLM_SECRET_BYTES] = { 0, 1, 2,  3,	4,  5,	6,  7,
						  8, 9, 10, 11, 12, 13, 14, 15 };

struct golden {
	const char *name;
	struct blm_params params;
	uint64_t seed;
	unsigned more;		/* more keys than the ADDED that the list names */
	bool synced, in_store, sealed;
	bool numbers;		/* its keys are */
	bool networks;		/* its keys are */
	bool columns;		/* its keys have them */
	unsigned removed;	/* of the more, after that; the list denies them */
	unsigned rotations;	/* after that */
	unsigned levels;	/* the more are put into the levels below this, in turn */
	unsigned longest;	/* key that it takes; 0: any */
	/* every second of this many, that the list asks for as absent ones, is denied */
	unsigned excluded;
	/*
	 * the last of the more come with these, one each; with them every fourth of the excluded
	 * ones only is denied
	 */
	unsigned updates;
	/* exported to pybloomfiltermmap's form, and the golden file is what that is imported as */
	bool imported;
};

static const struct golden goldens[] = {
	{ "classic-xxh3",
	  BLM_PARAMS(.kind = "classic", .hash = "xxh3", .capacity = 100, .rate = 0.01),
	  .seed = 0x0123456789abcdef },
	{ "classic-odd", BLM_PARAMS(.kind = "classic", .hash = "xxh3", .cells = 1001, .probes = 7),
	  .seed = 0, .synced = true },
	{ "classic-one-bit",
	  BLM_PARAMS(.kind = "classic", .hash = "xxh3", .cells = 1, .probes = 1, .capacity = 1),
	  .seed = 1 },
	{ "classic-256-probes",
	  BLM_PARAMS(.kind = "classic", .hash = "xxh3", .cells = 9000, .probes = 256),
	  .seed = UINT64_MAX },
	{ "classic-full", BLM_PARAMS(.kind = "classic", .hash = "xxh3", .cells = 65, .probes = 3),
	  .seed = 42, .more = 1000 },
	{ "classic-siphash",
	  BLM_PARAMS(.kind = "classic", .hash = "siphash", .capacity = 200, .rate = 0.1,
		     .secret = secret),
	  .more = 300 },
	{ "classic-bip37", BLM_PARAMS(.kind = "classic", .hash = "murmur3-bip37", .cells = 600,
				      .probes = 5, .tweak = 2147483649) },
	{ "classic-mm3-64",
	  BLM_PARAMS(.kind = "classic", .hash = "mm3_64", .cells = 480, .seed_count = 3,
		     .seeds = (const uint64_t[]){ 1, 0, UINT32_MAX }) },
	{ "blocked-xxh3",
	  BLM_PARAMS(.kind = "blocked", .hash = "xxh3", .capacity = 500, .rate = 0.02), .seed = 7,
	  .more = 500 },
	{ "blocked-part", BLM_PARAMS(.kind = "blocked", .hash = "xxh3", .capacity = 300,
				     .rate = 0.01, .probes = 8, .split_part = 1, .split_parts = 3),
	  .seed = 9 },
	{ "blocked-20-probes",
	  BLM_PARAMS(.kind = "blocked", .hash = "xxh3", .cells = 3584, .probes = 20,
		     .sparse = true),
	  .seed = 1 << 20, .more = 80 },
	{ "blocked-xxh3-64",
	  BLM_PARAMS(.kind = "blocked", .hash = "xxh3-64", .capacity = 400, .rate = 0.001,
		     .probes = 11),
	  .seed = 8, .more = 200 },
	{ "blocked-siphash",
	  BLM_PARAMS(.kind = "blocked", .hash = "siphash", .capacity = 100, .rate = 0.05,
		     .secret = secret),
	  .synced = true },
	{ "blocked-in-a-store",
	  BLM_PARAMS(.kind = "blocked", .hash = "xxh3", .capacity = 60, .rate = 0.1), .seed = 3,
	  .synced = true, .in_store = true },
	{ "classic-sealed",
	  BLM_PARAMS(.kind = "classic", .hash = "xxh3", .capacity = 100, .rate = 0.001), .seed = 11,
	  .sealed = true },
	{ "counting-xxh3",
	  BLM_PARAMS(.kind = "counting", .hash = "xxh3", .capacity = 100, .rate = 0.01), .seed = 13,
	  .synced = true },
	{ "counting-3-bits",
	  BLM_PARAMS(.kind = "counting", .hash = "xxh3", .options = "bits=3", .cells = 1001,
		     .probes = 5),
	  .seed = 14, .more = 700 },
	{ "counting-mm3-64",
	  BLM_PARAMS(.kind = "counting", .hash = "mm3_64", .cells = 640, .seed_count = 3,
		     .seeds = (const uint64_t[]){ 9, 8, 7 }),
	  .sealed = true },
	{ "approximator-xxh3",
	  BLM_PARAMS(.kind = "approximator", .hash = "xxh3", .capacity = 100, .rate = 0.01),
	  .seed = 15, .synced = true },
	{ "approximator-min-21-bits",
	  BLM_PARAMS(.kind = "approximator", .hash = "xxh3", .options = "bits=21,lattice=min",
		     .cells = 400, .probes = 3),
	  .seed = 16, .more = 20 },
	{ "approximator-or-40-bits",
	  BLM_PARAMS(.kind = "approximator", .hash = "siphash", .options = "bits=40,lattice=or",
		     .cells = 300, .probes = 4, .secret = secret),
	  .sealed = true },
	{ "cuckoo-xxh3",
	  BLM_PARAMS(.kind = "cuckoo", .hash = "xxh3", .cells = 200, .capacity = 150,
		     .rate = 0.002, .options = "layout=buckets"),
	  .seed = 17, .more = 90, .synced = true },
	{ "cuckoo-sealed",
	  BLM_PARAMS(.kind = "cuckoo", .hash = "siphash", .capacity = 100, .rate = 0.03,
		     .secret = secret, .options = "layout=buckets"),
	  .more = 40, .sealed = true },
	{ "cuckoo-windows",
	  BLM_PARAMS(.kind = "cuckoo", .hash = "xxh3", .cells = 173, .capacity = 140,
		     .rate = 0.002),
	  .seed = 17, .more = 80, .synced = true },
	{ "redis-cuckoo",
	  BLM_PARAMS(.kind = "redis-cuckoo", .hash = "murmur64a-64", .cells = 128, .capacity = 100),
	  .more = 50, .synced = true },
	{ "redis-cuckoo-sealed",
	  BLM_PARAMS(.kind = "redis-cuckoo", .hash = "siphash", .capacity = 100, .rate = 0.03,
		     .secret = secret, .options = "bucket-size=3,expansion=4,iterations=500"),
	  .more = 40, .sealed = true },
	{ "d-left-xxh3",
	  BLM_PARAMS(.kind = "d-left", .hash = "xxh3", .capacity = 100, .rate = 0.05,
		     .options = "spare=1"),
	  .seed = 18, .more = 40 },
	{ "d-left-sealed",
	  BLM_PARAMS(.kind = "d-left", .hash = "xxh3", .capacity = 200, .rate = 1e-7), .seed = 19,
	  .more = 1, .sealed = true },
	{ "stable-xxh3", BLM_PARAMS(.kind = "stable", .hash = "xxh3", .cells = 9000, .rate = 0.01),
	  .seed = 20, .more = 1 },
	{ "stable-2-bits",
	  BLM_PARAMS(.kind = "stable", .hash = "xxh3", .cells = 4000, .probes = 4, .rate = 0.1,
		     .options = "bits=2"),
	  .seed = 21, .more = 9 },
	{ "classic-imported",
	  BLM_PARAMS(.kind = "classic", .hash = "mm3_64", .cells = 500, .seed_count = 4,
		     .seeds = (const uint64_t[]){ 5, 6, 7, 8 }),
	  .imported = true },
	{ "split-block-xxh64",
	  BLM_PARAMS(.kind = "split-block", .hash = "xxh64", .cells = 1280, .capacity = 50),
	  .synced = true },
	{ "bitmap", BLM_PARAMS(.kind = "bitmap", .hash = "integer", .cells = 2000),
	  .numbers = true },
	{ "hash-compact-12-bits",
	  BLM_PARAMS(.kind = "hash-compact", .hash = "xxh3", .capacity = 50,
		     .options = "signature-bits=12"),
	  .seed = 13 },
	{ "scalable",
	  BLM_PARAMS(.kind = "scalable", .hash = "xxh3", .capacity = 20, .rate = 0.05,
		     .options = "growth=2,tightening=0.9"),
	  .seed = 4, .more = 200 },
	{ "scalable-blocked",
	  BLM_PARAMS(.kind = "scalable", .hash = "xxh3", .capacity = 40, .rate = 0.05,
		     .options = "blocked=1"),
	  .seed = 4, .more = 200 },
	{ "removable",
	  BLM_PARAMS(.kind = "removable", .hash = "xxh3", .capacity = 100, .rate = 0.05), .seed = 5,
	  .more = 60, .removed = 40 },
	{ "window",
	  BLM_PARAMS(.kind = "window", .hash = "xxh3", .capacity = 400, .rate = 0.05, .probes = 8,
		     .options = "slots=4"),
	  .seed = 6, .more = 200, .rotations = 1 },
	{ "golomb-xxh3", BLM_PARAMS(.kind = "golomb", .hash = "xxh3", .rate = 0.05), .seed = 22,
	  .more = 200 },
	{ "golomb-of-few",
	  BLM_PARAMS(.kind = "golomb", .hash = "siphash", .rate = 0.4, .secret = secret),
	  .more = 1 },
	{ "golomb-siphash64",
	  BLM_PARAMS(.kind = "golomb", .hash = "siphash64", .options = "modulus=784931",
		     .seed_count = 2, .seeds = (const uint64_t[]){ 1, UINT64_MAX }),
	  .more = 100 },
	{ "ribbon-xxh3", BLM_PARAMS(.kind = "ribbon", .hash = "xxh3", .rate = 0.01), .seed = 22,
	  .more = 18000 },
	{ "ribbon-of-quints", BLM_PARAMS(.kind = "ribbon", .hash = "xxh3", .rate = 0.18),
	  .seed = 23, .more = 18000 },
	{ "ribbon-siphash",
	  BLM_PARAMS(.kind = "ribbon", .hash = "siphash", .rate = 0.125, .secret = secret),
	  .more = 955 },
	{ "fuse-xxh3", BLM_PARAMS(.kind = "fuse", .hash = "xxh3", .rate = 0.01), .seed = 73,
	  .more = 700 },
	{ "fuse-4-cells",
	  BLM_PARAMS(.kind = "fuse", .hash = "xxh3", .probes = 4, .options = "fingerprint-bits=16"),
	  .seed = 24, .more = 355 },
	{ "fuse-siphash",
	  BLM_PARAMS(.kind = "fuse", .hash = "siphash", .rate = 0.05, .secret = secret),
	  .more = 40 },
	{ "bloomier-xxh3", BLM_PARAMS(.kind = "bloomier", .hash = "xxh3"), .seed = 25,
	  .more = 300 },
	{ "bloomier-wide",
	  BLM_PARAMS(.kind = "bloomier", .hash = "xxh3", .probes = 4,
		     .options = "check-bits=5,value-bits=64"),
	  .seed = 41, .more = 1 },
	{ "iblt-xxh3",
	  BLM_PARAMS(.kind = "iblt", .hash = "xxh3", .cells = 120, .options = "key-bytes=33",
		     .no_checkpoint = true),
	  .seed = 26, .longest = 33, .synced = true },
	{ "iblt-siphash",
	  BLM_PARAMS(.kind = "iblt", .hash = "siphash", .capacity = 20, .secret = secret,
		     .options = "key-bytes=65"),
	  .longest = 65, .more = 1, .sealed = true },
	{ "exact-xxh3", BLM_PARAMS(.kind = "exact", .hash = "xxh3"), .seed = 42, .more = 4000,
	  .excluded = 40000 },
	{ "exact-one-level", BLM_PARAMS(.kind = "exact", .hash = "siphash", .secret = secret),
	  .more = 100, .excluded = 200 },
	{ "exact-updated", BLM_PARAMS(.kind = "exact", .hash = "xxh3", .rate = 0.1), .seed = 44,
	  .more = 900, .excluded = 9000, .updates = 2 },
	{ "exact-column",
	  BLM_PARAMS(.kind = "exact", .hash = "xxh3-column", .seed_count = 1,
		     .seeds = (const uint64_t[]){ 45 }),
	  .columns = true, .more = 5000, .excluded = 40000 },
	{ "exact-no-others", BLM_PARAMS(.kind = "exact", .hash = "xxh3", .rate = 0.2), .seed = 43,
	  .more = 1 },
	{ "attenuated",
	  BLM_PARAMS(.kind = "attenuated", .hash = "siphash", .capacity = 100, .rate = 0.1,
		     .secret = secret, .options = "depth=4"),
	  .more = 90, .levels = 4 },
	{ "range-string",
	  BLM_PARAMS(.kind = "range", .hash = "ordered-string", .rate = 0.4, .options = "width=16",
		     .seed_count = 1, .seeds = (const uint64_t[]){ 27 }),
	  .more = 300 },
	{ "range-ip",
	  BLM_PARAMS(.kind = "range", .hash = "ordered-ip", .rate = 0.2,
		     .options = "width=32,nest=0",
		     .seed_count = 1, .seeds = (const uint64_t[]){ (UINT64_C(1) << 57) - 1 }),
	  .networks = true, .more = 200 },
	{ "range-nested",
	  BLM_PARAMS(.kind = "range", .hash = "ordered-ip", .rate = 0.2,
		     .options = "width=32,nest=6",
		     .seed_count = 1, .seeds = (const uint64_t[]){ 28 }),
	  .networks = true, .more = 200 },
	{ "recent",
	  BLM_PARAMS(.kind = "recent", .hash = "xxh3", .cells = 208, .capacity = 150, .rate = 0.01,
		     .options = "span=3e9"),
	  .seed = 27, .more = 130, .synced = true },
	{ "recent-sealed",
	  BLM_PARAMS(.kind = "recent", .hash = "siphash", .capacity = 100, .rate = 0.001,
		     .secret = secret, .options = "span=3e9,tick=2e6,spare=1"),
	  .more = 40, .removed = 30, .sealed = true },
};

static void must(int64_t r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "make: %s: %s (%s)\n", what, blm_error_message(), blm_strerror((int)r));
	exit(2);
}

/*
 * The i-th key: for the first of them bytes of every length class of the hashes, then words as
 * people use.
 */
static size_t key_at(const struct golden *g, unsigned i, uint8_t ret[4096])
{
	static const unsigned lengths[] = { 0,	1,  2,	3,  4,	5,  8,	 9,   15,  16,
					    17, 32, 33, 64, 65, 97, 129, 240, 241, 1025 };
	const size_t classes = sizeof(lengths) / sizeof(lengths[0]);

	if (g->numbers)
		return (size_t)snprintf((char *)ret, 4096, "%0*u", (int)(i % 3 * 2), i * 37);
	if (g->networks)
		return (size_t)(i % 4 == 3 ? snprintf((char *)ret, 4096, "2001:db8:%x::%x/%u", i, i,
						      40 + i)
					   : snprintf((char *)ret, 4096, "%u.%u.3.4/%u", 10 + i % 5,
						      3 * i, 16 + i % 17));
	if (g->columns)
		return (size_t)snprintf((char *)ret, 4096, "%.*s\t%u", (int)(i % 3), "org", i);
	if (i >= classes || (g->longest && lengths[i] > g->longest))
		return (size_t)snprintf((char *)ret, 4096, "https://example.org/%u", i);
	for (unsigned j = 0; j < lengths[i]; j++)
		ret[j] = (uint8_t)((j * 167 + 13 + i) % 251);
	return lengths[i];
}

/* For kinds that hold values; any number that fits the narrowest. */
static uint64_t value_of(const uint8_t *key, size_t len)
{
	uint64_t sum = 7;

	for (size_t i = 0; i < len; i++)
		sum = sum * 31 + key[i];
	return 1 + sum % 250;
}

static unsigned abilities(const struct golden *g)
{
	struct blm_kind_info kind;

	for (size_t i = 0; blm_kind_list(i, &kind) == 0; i++)
		if (!strcmp(kind.name, g->params.kind))
			return kind.can;
	return 0;
}

static bool holds_values(const struct golden *g)
{
	return abilities(g) & (BLM_CAN_PUT | BLM_CAN_GET) && !(abilities(g) & BLM_CAN_ADD);
}

static void give(struct blm_filter *f, const struct golden *g, const uint8_t *key, size_t len)
{
	int r = holds_values(g) ? blm_put(f, key, len, value_of(key, len)) : blm_add(f, key, len);

	/* a part does not take the keys of the other parts */
	must(r == -EREMOTE && g->params.split_parts ? 0 : r, g->name);
}

static size_t more_at(const struct golden *g, unsigned i, uint8_t ret[4096])
{
	if (g->networks)
		return (size_t)snprintf((char *)ret, 4096, "%u.16.%u.9", 172 + i % 3, i);
	if (g->columns)	/* most of them are in a column without others */
		return (size_t)snprintf((char *)ret, 4096, "%u\tmore\t%u", i % 4 ? 1 : i % 8, i);
	return (size_t)snprintf((char *)ret, 4096, "more %u", i);
}

static int add_more(struct blm_filter *f, const struct golden *g, unsigned i)
{
	uint8_t key[4096];
	size_t len = more_at(g, i, key);

	if (!g->levels)
		give(f, g, key, len);
	return g->levels ? blm_put(f, key, len, i % g->levels) : 0;
}

static size_t question_at(const struct golden *g, unsigned i, uint8_t ret[4096])
{
	if (g->numbers)
		return (size_t)snprintf((char *)ret, 4096, i % 7 == 3 ? "%u " : "%u", i * 259 + 1);
	if (g->networks)
		return (size_t)snprintf((char *)ret, 4096,
					i % 7 == 3   ? "2001:db8:%x::"
					: i % 7 == 5 ? "11.%u"
						     : "11.%u.3.4",
					i % 7 == 3 ? i : i % 256);
	if (g->columns)
		return (size_t)snprintf((char *)ret, 4096, "%u\tabsent %u", i % 8, i);
	return (size_t)snprintf((char *)ret, 4096, "absent %u", i);
}

static void build_from(struct blm_build *b, const struct golden *g, const uint8_t *key, size_t len)
{
	const struct blm_key one = { key, len };
	uint64_t value = value_of(key, len);

	must(holds_values(g) ? blm_build_put_many(b, &one, &value, 1)
			     : blm_build_add_many(b, &one, 1),
	     g->name);
}

/* For a kind that is made from all its keys at once. */
static struct blm_filter *build(const struct golden *g, const struct blm_params *params,
				const char *path)
{
	struct blm_filter *f;
	struct blm_build *b;
	uint8_t key[4096];

	must(blm_build_begin(&b, NULL, path, params, NULL), g->name);
	for (unsigned i = 0; i < ADDED; i++)
		build_from(b, g, key, key_at(g, i, key));
	for (unsigned i = 0; i < g->more - g->updates; i++)
		build_from(b, g, key, more_at(g, i, key));
	for (unsigned i = 0; i < g->excluded; i += g->updates ? 4 : 2)
		must(blm_build_exclude_many(b, &(struct blm_key){ key, question_at(g, i, key) }, 1),
		     g->name);
	must(blm_build_finish(b, &f), g->name);
	return f;
}

/* All keys, and all that are denied, for the n-th time. */
static void update(const struct golden *g, const char *path, unsigned n)
{
	struct blm_update *u;
	uint8_t key[4096];

	must(blm_update_begin(&u, NULL, path, NULL, NULL), g->name);
	for (unsigned i = 0; i < ADDED; i++)
		must(blm_update_add_many(u, &(struct blm_key){ key, key_at(g, i, key) }, 1),
		     g->name);
	for (unsigned i = 0; i < g->more - g->updates + n; i++)
		must(blm_update_add_many(u, &(struct blm_key){ key, more_at(g, i, key) }, 1),
		     g->name);
	for (unsigned i = 0; i < g->excluded; i += 2)
		must(blm_update_remove_many(u, &(struct blm_key){ key, question_at(g, i, key) }, 1),
		     g->name);
	must(blm_update_finish(u), g->name);
}

static void put_hex(FILE *to, const char *word, const uint8_t *bytes, size_t len)
{
	fprintf(to, "%s ", word);
	if (!len)
		fputc('-', to);
	for (size_t i = 0; i < len; i++)
		fprintf(to, "%02x", bytes[i]);
	fputc('\n', to);
}

static uint32_t id_of_kind(const char *name)
{
	struct blm_kind_info kind;

	for (size_t i = 0; blm_kind_list(i, &kind) == 0; i++)
		if (!strcmp(kind.name, name))
			return kind.id;
	return 0;
}

static uint32_t id_of_hash(const char *name)
{
	struct blm_hash_info hash;

	for (size_t i = 0; blm_hash_list(i, &hash) == 0; i++)
		if (!strcmp(hash.name, name))
			return hash.id;
	return 0;
}

static void tell_fields(FILE *to, const struct blm_filter *f, const struct golden *g)
{
	struct blm_info info = BLM_INFO;

	must(blm_info(f, &info), g->name);
	fprintf(to, "# %s.blm: its fields, and the answers to some keys; made by make.c\n",
		g->name);
	if (*info.name)
		fprintf(to, "name %s\n", info.name);
	if (info.keyed)
		put_hex(to, "secret", secret, sizeof(secret));
	fprintf(to, "version %u\nkind %u\nfamily %u\n", info.version, id_of_kind(info.kind),
		id_of_hash(info.hash));
	fprintf(to, "cells %llu\nprobes %u\ncell_bits %u\n", (unsigned long long)info.cells,
		info.probes, info.cell_bits);
	fprintf(to, "seed_count %u\n", info.seed_count);
	for (uint32_t i = 0; i < info.seed_count; i++)
		fprintf(to, "%s%#llx%s", i ? " " : "seed ", (unsigned long long)info.seeds[i],
			i + 1 < info.seed_count ? "" : "\n");
	fprintf(to, "tweak %llu\ncapacity %llu\n", (unsigned long long)info.tweak,
		(unsigned long long)info.capacity);
	fprintf(to, "rate %.17g\n", info.rate);
	put_hex(to, "key_id", info.key_id, sizeof(info.key_id));
	put_hex(to, "template_id", info.template_id, sizeof(info.template_id));
	put_hex(to, "uuid", info.uuid, sizeof(info.uuid));
	fprintf(to, "created %llu\nkeys %llu\n", (unsigned long long)info.created,
		(unsigned long long)info.keys);
	fprintf(to, "keys_given %u\n", ADDED + g->more);
	fprintf(to, "keys_estimated %d\nsparse %d\nsealed %d\ndirty %d\n", info.keys_estimated,
		info.sparse, info.sealed, info.dirty);
	if (info.split_parts)
		fprintf(to, "split_part %u\nsplit_parts %u\n", (unsigned)info.split_part,
			(unsigned)info.split_parts);
	if (info.origin)
		fprintf(to, "origin %s\n", info.origin);
	fprintf(to, "synced %llu\ndata_bytes %llu\n", (unsigned long long)info.synced,
		(unsigned long long)info.data_bytes);
}

/* What it was put with, and what it has. */
static void tell_value(FILE *to, const struct blm_filter *f, const struct golden *g,
		       const uint8_t *key, size_t len)
{
	uint64_t value;
	char word[40];

	snprintf(word, sizeof(word), "value %llu", (unsigned long long)value_of(key, len));
	put_hex(to, word, key, len);
	must(blm_get(f, key, len, &value), g->name);
	snprintf(word, sizeof(word), "got %llu", (unsigned long long)value);
	put_hex(to, word, key, len);
}

/* Does the key belong to another part of the filter, which this is a part of? */
static bool is_remote(const struct blm_filter *f, const uint8_t *key, size_t len)
{
	return blm_contains_many(f, &(struct blm_key){ key, len }, 1, NULL) == -EREMOTE;
}

static void tell_answers(FILE *to, const struct blm_filter *f, const struct golden *g)
{
	unsigned positives = 0, absent = 0;
	uint8_t key[4096];

	for (unsigned i = 0; i < ADDED; i++) {
		size_t len = key_at(g, i, key);

		put_hex(to, is_remote(f, key, len) ? "remote" : "added", key, len);
		if (holds_values(g))
			tell_value(to, f, g, key, len);
	}
	for (unsigned i = 0; i < g->removed; i++)
		put_hex(to, "no", key, more_at(g, i, key));
	for (unsigned i = 0; i < ASKED && (positives < FALSE_POSITIVES || absent < ABSENT); i++) {
		size_t len = question_at(g, i, key);
		bool found = blm_contains(f, key, len);

		if (is_remote(f, key, len))
			continue;
		if (found ? positives++ < FALSE_POSITIVES : absent++ < ABSENT)
			put_hex(to, found ? "yes" : "no", key, len);
	}
}

/* Ranges near what is not there, of a key alone, and from key to key; a word, and the two ends. */
static void tell_ranges(FILE *to, const struct blm_filter *f, const struct golden *g)
{
	uint8_t first[4096], last[4096];

	for (unsigned i = 0; i < 3 * ADDED; i++) {
		size_t len = i % 3 ? key_at(g, i / 3, first) : question_at(g, i, first), end;
		int r;

		memcpy(last, first, end = len);
		if (i % 3 == 2)
			end = key_at(g, i * 7 % ADDED, last);
		else if (i % 3 == 0)	/* close to its beginning */
			last[(end = g->networks || len < 8 ? len : 8) - 1] = '9';
		r = blm_contains_range(f, first, len, last, end);
		if (r < 0)
			continue;
		put_hex(to, r ? "range-yes" : "range-no", first, len);
		fseek(to, -1, SEEK_CUR);
		put_hex(to, "", last, end);
	}
}

/* The one file of a store. */
static void move_out_of_store(const char *store, const char *path)
{
	char command[4096];
	glob_t found;

	snprintf(command, sizeof(command), "%s/filters/*", store);
	if (glob(command, 0, NULL, &found) || found.gl_pathc != 1
	    || rename(found.gl_pathv[0], path) < 0)
		must(-ENOENT, command);
	globfree(&found);
	snprintf(command, sizeof(command), "rm -r '%s'", store);
	if (system(command))
		must(-EIO, command);
}

/* The filter f leaves, and comes back from its form of another program. */
static void send_round(struct blm_filter **f, const char *path, const struct golden *g)
{
	struct blm_exchange form = BLM_EXCHANGE(.format = "pybloomfiltermmap",
						.hash = g->params.hash, .allocate = true);
	void *bytes;
	size_t len;

	must(blm_export_bytes(*f, &form, &bytes, &len), g->name);
	blm_close(*f);
	unlink(path);
	must(blm_import_bytes(f, NULL, path, &form, bytes, len), g->name);
	blm_free(bytes);
}

static void make(const struct golden *g, const char *folder)
{
	char path[1024], list[1100], dir[1100];
	struct blm_params params = g->params;
	struct blm_store *store = NULL;
	struct blm_filter *f;
	uint8_t key[4096];
	FILE *to;

	snprintf(path, sizeof(path), "%s/%s.blm", folder, g->name);
	snprintf(list, sizeof(list), "%s/%s.txt", folder, g->name);
	snprintf(dir, sizeof(dir), "%s/%s.store", folder, g->name);
	if (!strcmp(params.hash, "xxh3") || !strcmp(params.hash, "xxh3-64")) {
		params.seeds = &g->seed;
		params.seed_count = 1;
	}
	unlink(path);
	if (g->in_store)
		must(blm_store_open(&store, dir, BLM_STORE_CREATE), dir);
	if (abilities(g) & BLM_CAN_BUILD) {
		f = build(g, &params, path);
	} else {
		must(blm_create(&f, store, store ? "a golden name" : path, &params), g->name);
		for (unsigned i = 0; i < ADDED; i++)
			give(f, g, key, key_at(g, i, key));
		for (unsigned i = 0; i < g->more; i++)
			must(add_more(f, g, i), g->name);
	}
	for (unsigned i = 1; i <= g->updates; i++)
		update(g, path, i);
	for (unsigned i = 0; i < g->removed; i++)
		must(blm_remove(f, key, more_at(g, i, key)), g->name);
	for (unsigned i = 0; i < g->rotations; i++)
		must(blm_rotate(f), g->name);
	if (store)
		must(blm_store_label(store, "a golden name", "purpose", "test"), g->name);
	if (g->synced)
		must(blm_sync(f), g->name);
	if (g->sealed)
		must(blm_seal(f), g->name);
	if (g->imported)
		send_round(&f, path, g);
	to = fopen(list, "w");
	if (!to)
		must(-errno, list);
	tell_fields(to, f, g);
	tell_answers(to, f, g);
	if (abilities(g) & BLM_CAN_RANGE)
		tell_ranges(to, f, g);
	fclose(to);
	blm_close(f);
	blm_store_close(store);
	if (store)
		move_out_of_store(dir, path);
	snprintf(list, sizeof(list), "%s.key", path);
	/* the list has the secret; a keyed golden file has none with it */
	unlink(list);
}

static bool is_in_list(const char *name)
{
	for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++)
		if (!strcmp(name, goldens[i].params.kind))
			return true;
	return false;
}

/* One of each kind that is not named above, which has the kind's name. */
static void make_others(const char *folder)
{
	struct blm_kind_info others[8];
	unsigned count = other_kinds(~0U, 0, is_in_list, others, 8);

	for (unsigned i = 0; i < count; i++) {
		const struct golden other = {
			.name = others[i].name, .params = usual_params(&others[i], 100, 0.01),
			.seed = 7, .numbers = others[i].can & BLM_EXACT, .synced = true
		};

		make(&other, folder);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make FOLDER\n");
		return 64;
	}
	for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++)
		make(&goldens[i], argv[1]);
	make_others(argv[1]);
	return 0;
}
