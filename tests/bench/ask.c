/*
 * ask.c - asks a number of keys in one way and does nothing else, so that tests/bench/instructions
 * counts its cost
 */
#include <bloomery.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 8192 };
static uint64_t keys[BATCH][2];

static int64_t hash_many(struct blm_filter *f, size_t count)
{
	static struct blm_hash hashes[BATCH];

	return blm_hash_fixed(f, keys, sizeof(*keys), count, hashes);
}

static int64_t contains(struct blm_filter *f, size_t count)
{
	int64_t yes = 0;

	for (size_t i = 0; i < count; i++)
		yes += blm_contains(f, keys[i], sizeof(*keys));
	return yes;
}

static int64_t contains_many(struct blm_filter *f, size_t count)
{
	return blm_contains_fixed(f, keys, sizeof(*keys), count, NULL);
}

static int64_t add_many(struct blm_filter *f, size_t count)
{
	return blm_add_fixed(f, keys, sizeof(*keys), count, NULL);
}

static struct blm_build *builder;

/* A filter like this one. */
static int64_t build(struct blm_filter *f, size_t count)
{
	struct blm_info info = BLM_INFO;
	int r = builder ? 0 : blm_info(f, &info);

	if (r == 0 && !builder)
		r = blm_build_begin(&builder, NULL, NULL,
				    &BLM_PARAMS(.kind = info.kind, .hash = info.hash,
						.capacity = info.capacity), NULL);
	return r < 0 ? r : blm_build_add_fixed(builder, keys, sizeof(*keys), count);
}

static const struct {
	const char *name;
	int64_t (*run)(struct blm_filter *f, size_t count);
} ways[] = { { "hash", hash_many },
	     { "contains", contains },
	     { "contains_many", contains_many },
	     { "add_many", add_many },
	     { "build", build } };

/*
 * ask WAY KEYS KIND[/HASH]: the keys are made either way, so that two runs differ by the work
 * alone.
 */
int main(int argc, char **argv)
{
	enum { ALL = 1 << 17 };
	struct blm_filter *f;
	char *hash = argc == 4 ? strchr(argv[3], '/') : NULL;
	size_t count = argc == 4 ? strtoul(argv[2], NULL, 10) : ALL + 1, way = 0;

	while (argc == 4 && way < sizeof(ways) / sizeof(ways[0])
	       && strcmp(ways[way].name, argv[1]) != 0)
		way++;
	if (count > ALL || way == sizeof(ways) / sizeof(ways[0]))
		return 64;
	if (hash)
		*hash++ = '\0';
	if (blm_create(&f, NULL, NULL, &BLM_PARAMS(.kind = argv[3], .hash = hash, .capacity = ALL))
	    < 0) {
		fprintf(stderr, "ask: %s\n", blm_error_message());
		return 2;
	}
	if (ways[way].run(f, 0) < 0) {	/* what it takes to begin is in either run */
		fprintf(stderr, "ask: %s\n", blm_error_message());
		return 2;
	}
	for (size_t at = 0; at < ALL; at += BATCH) {
		for (size_t i = 0; i < BATCH; i++)
			keys[i][0] = (at + i) * 2654435761u;
		if (at < count)
			ways[way].run(f, count - at < BATCH ? count - at : BATCH);
	}
	blm_close(f);
	if (builder && blm_build_finish(builder, &f) == 0)
		blm_close(f);
	return 0;
}
