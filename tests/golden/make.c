/* make.c - make the golden files anew, through the public functions only: make FOLDER */
#include <bloomery.h>

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ADDED = 45, FALSE_POSITIVES = 10, ABSENT = 20, ASKED = 200000 };

static const uint8_t secret[BLM_SECRET_BYTES] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

struct golden {
	const char *name;
	struct blm_params params;
	uint64_t seed;
	unsigned more;		/* keys beside the ADDED that the list names */
	bool synced, in_store;
};

static const struct golden goldens[] = {
	{ "classic-xxh3", { .kind = "classic", .hash = "xxh3", .capacity = 100, .rate = 0.01 }, .seed = 0x0123456789abcdef },
	{ "classic-odd", { .kind = "classic", .hash = "xxh3", .cells = 1001, .probes = 7 }, .seed = 0, .synced = true },
	{ "classic-one-bit", { .kind = "classic", .hash = "xxh3", .cells = 1, .probes = 1, .capacity = 1 }, .seed = 1 },
	{ "classic-256-probes", { .kind = "classic", .hash = "xxh3", .cells = 9000, .probes = 256 }, .seed = UINT64_MAX },
	{ "classic-full", { .kind = "classic", .hash = "xxh3", .cells = 65, .probes = 3 }, .seed = 42, .more = 1000 },
	{ "classic-siphash", { .kind = "classic", .hash = "siphash", .capacity = 200, .rate = 0.1, .secret = secret },
	  .more = 300 },
	{ "classic-bip37", { .kind = "classic", .hash = "murmur3-bip37", .cells = 600, .probes = 5, .tweak = 2147483649 } },
	{ "blocked-xxh3", { .kind = "blocked", .hash = "xxh3", .capacity = 500, .rate = 0.02 }, .seed = 7, .more = 500 },
	{ "blocked-20-probes", { .kind = "blocked", .hash = "xxh3", .cells = 3584, .probes = 20, .sparse = true },
	  .seed = 1 << 20, .more = 80 },
	{ "blocked-siphash", { .kind = "blocked", .hash = "siphash", .capacity = 100, .rate = 0.05, .secret = secret },
	  .synced = true },
	{ "blocked-in-a-store", { .kind = "blocked", .hash = "xxh3", .capacity = 60, .rate = 0.1 },
	  .seed = 3, .synced = true, .in_store = true },
};

static void must(int64_t r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "make: %s: %s (%s)\n", what, blm_why(), blm_strerror((int)r));
	exit(2);
}

/* The i-th key: for the first of them bytes of every length class of the hashes, then words as people use. */
static size_t key_at(unsigned i, uint8_t ret[4096])
{
	static const unsigned lengths[] = { 0, 1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 32, 33, 64, 65, 97, 129, 240, 241, 1025 };
	const size_t classes = sizeof(lengths) / sizeof(lengths[0]);

	if (i >= classes)
		return (size_t)snprintf((char *)ret, 4096, "https://example.org/%u", i);
	for (unsigned j = 0; j < lengths[i]; j++)
		ret[j] = (uint8_t)((j * 167 + 13 + i) % 251);
	return lengths[i];
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
	struct blm_info info;

	must(blm_info(f, &info), g->name);
	fprintf(to, "# %s.blm: its fields, and the answers to some keys; made by make.c\n", g->name);
	if (*info.name)
		fprintf(to, "name %s\n", info.name);
	if (info.keyed)
		put_hex(to, "secret", secret, sizeof(secret));
	fprintf(to, "version %u\nkind %u\nfamily %u\n", info.version, id_of_kind(info.kind), id_of_hash(info.hash));
	fprintf(to, "cells %llu\nprobes %u\ncell_bits %u\n", (unsigned long long)info.cells, info.probes, info.cell_bits);
	fprintf(to, "seed_count %u\n", info.seed_count);
	if (info.seed_count)
		fprintf(to, "seed %#llx\n", (unsigned long long)info.seeds[0]);
	fprintf(to, "tweak %llu\ncapacity %llu\n", (unsigned long long)info.tweak, (unsigned long long)info.capacity);
	fprintf(to, "rate %.17g\n", info.rate);
	put_hex(to, "key_id", info.key_id, sizeof(info.key_id));
	put_hex(to, "template_id", info.template_id, sizeof(info.template_id));
	put_hex(to, "uuid", info.uuid, sizeof(info.uuid));
	fprintf(to, "created %llu\nkeys %llu\n", (unsigned long long)info.created, (unsigned long long)info.keys);
	fprintf(to, "keys_given %u\n", ADDED + g->more);
	fprintf(to, "keys_estimated %d\nsparse %d\ndirty %d\n", info.keys_estimated, info.sparse, info.dirty);
	fprintf(to, "synced %llu\ndata_bytes %llu\n", (unsigned long long)info.synced, (unsigned long long)info.data_bytes);
}

static void tell_answers(FILE *to, const struct blm_filter *f)
{
	unsigned positives = 0, absent = 0;
	uint8_t key[4096];

	for (unsigned i = 0; i < ADDED; i++)
		put_hex(to, "added", key, key_at(i, key));
	for (unsigned i = 0; i < ASKED && (positives < FALSE_POSITIVES || absent < ABSENT); i++) {
		size_t len = (size_t)snprintf((char *)key, sizeof(key), "absent %u", i);
		bool found = blm_contains(f, key, len);

		if (found ? positives++ < FALSE_POSITIVES : absent++ < ABSENT)
			put_hex(to, found ? "yes" : "no", key, len);
	}
}

/* The one file of a store. */
static void move_out_of_store(const char *store, const char *path)
{
	char command[4096];
	glob_t found;

	snprintf(command, sizeof(command), "%s/filters/*", store);
	if (glob(command, 0, NULL, &found) || found.gl_pathc != 1 || rename(found.gl_pathv[0], path) < 0)
		must(-ENOENT, command);
	globfree(&found);
	snprintf(command, sizeof(command), "rm -r '%s'", store);
	if (system(command))
		must(-EIO, command);
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
	if (!strcmp(params.hash, "xxh3")) {
		params.seeds = &g->seed;
		params.seed_count = 1;
	}
	unlink(path);
	if (g->in_store)
		must(blm_store_open(&store, dir, BLM_STORE_CREATE), dir);
	must(blm_create(&f, store, store ? "a golden name" : path, &params), g->name);
	for (unsigned i = 0; i < ADDED; i++)
		must(blm_add(f, key, key_at(i, key)), g->name);
	for (unsigned i = 0; i < g->more; i++)
		must(blm_add(f, key, (size_t)snprintf((char *)key, sizeof(key), "more %u", i)), g->name);
	if (store)
		must(blm_store_label(store, "a golden name", "purpose", "test"), g->name);
	if (g->synced)
		must(blm_sync(f), g->name);
	to = fopen(list, "w");
	if (!to)
		must(-errno, list);
	tell_fields(to, f, g);
	tell_answers(to, f);
	fclose(to);
	blm_close(f);
	blm_store_close(store);
	if (store)
		move_out_of_store(dir, path);
	snprintf(list, sizeof(list), "%s.key", path);
	unlink(list);		/* the list has the secret; a keyed golden file has none beside it */
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make FOLDER\n");
		return 64;
	}
	for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++)
		make(&goldens[i], argv[1]);
	return 0;
}
