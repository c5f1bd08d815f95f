/*
 * driver.c - the C library, for test_c.py: make a filter of keys, add to it, ask it, and more; keys
 * are lines of hex on stdin
 */
#include <bloomery.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 100 };

static const char *error_name(int err)
{
	switch (-err) {
	case EBADMSG: return "EBADMSG";
	case EPROTONOSUPPORT: return "EPROTONOSUPPORT";
	case ENODATA: return "ENODATA";
	case ENOKEY: return "ENOKEY";
	default: return "another";
	}
}

static void must(int64_t r)
{
	if (r >= 0)
		return;
	printf("%s %s\n", error_name((int)r), blm_error_message());
	exit(0);
}

static size_t unhex(const char *hex, uint8_t *ret)
{
	size_t len = 0;
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		ret[len++] = (uint8_t)byte;
	return len;
}

/* Up to BATCH keys; returns how many. */
static size_t read_keys(struct blm_key *ret)
{
	static char *line;
	static size_t capacity;
	size_t count;

	for (count = 0; count < BATCH && getline(&line, &capacity, stdin) > 0; count++) {
		uint8_t *bytes = malloc(capacity);

		ret[count].len = unhex(line, bytes);
		ret[count].bytes = bytes;
	}
	return count;
}

static void free_keys(struct blm_key *keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free((void *)keys[i].bytes);
}

/* One line of answers by blm_contains(), which must be those of blm_contains_many(). */
static void ask(const char *path, const uint8_t *secret)
{
	struct blm_key keys[BATCH];
	struct blm_filter *f;
	size_t count;

	must(blm_open_keyed(&f, NULL, path, 0, secret));
	printf("ok ");
	while ((count = read_keys(keys)) > 0) {
		uint64_t bits[(BATCH + 63) / 64];

		blm_contains_many(f, keys, count, bits);
		for (size_t i = 0; i < count; i++) {
			bool found = blm_contains(f, keys[i].bytes, keys[i].len);

			putchar(found == (bits[i / 64] >> i % 64 & 1) ? '0' + found : '?');
		}
		free_keys(keys, count);
	}
	putchar('\n');
	blm_close(f);
}

static void add(struct blm_filter *f)
{
	struct blm_key keys[BATCH];
	size_t count;

	while ((count = read_keys(keys)) > 0) {
		must(blm_add_many(f, keys, count, NULL));
		free_keys(keys, count);
	}
	puts("ok");
	blm_close(f);
}

static void change(const char *path, int (*how)(struct blm_filter *f))
{
	struct blm_filter *f;

	must(blm_open(&f, NULL, path, BLM_OPEN_WRITE));
	must(how(f));
	puts("ok");
	blm_close(f);
}

/*
 * Add keys NAME-0, NAME-1, ... for ever, and sync; print how many there are, each time that more
 * are added.
 */
static void churn(const char *path, const char *name)
{
	struct blm_filter *f;
	char key[64];

	must(blm_open(&f, NULL, path, BLM_OPEN_WRITE));
	for (unsigned i = 0;; i++) {
		must(blm_add(f, key, (size_t)snprintf(key, sizeof(key), "%s-%u", name, i)));
		if (i % 50 == 49)
			must(blm_sync(f));
		if (i % 20 == 19) {
			printf("%u\n", i + 1);
			fflush(stdout);
		}
	}
}

/*
 * Flip `count` bits of a file between two, one after the other, and back; print how many of them
 * verifying finds.
 */
static void flips(const char *path, uint64_t from, uint64_t to, unsigned count)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	unsigned found = 0;

	srand48(3);
	for (unsigned i = 0; i < count; i++) {
		uint64_t bit = from + (uint64_t)(drand48() * (double)(to - from));
		uint8_t byte = 0, flipped;

		if (pread(fd, &byte, 1, (off_t)(bit / 8)) != 1)
			must(-EIO);
		flipped = byte ^ (uint8_t)(1 << bit % 8);
		if (pwrite(fd, &flipped, 1, (off_t)(bit / 8)) != 1)
			must(-EIO);
		found += blm_verify(NULL, path, 0, NULL, NULL) == 1;
		if (pwrite(fd, &byte, 1, (off_t)(bit / 8)) != 1)
			must(-EIO);
	}
	close(fd);
	printf("ok %u\n", found);
}

/* How many parts of a split filter a key belongs to: "none" where the kind is not split. */
static void owners(const char *path, const uint8_t *secret)
{
	const struct blm_hash hash = { 1, 2 };
	struct blm_filter *f;
	uint64_t at, bytes;
	uint32_t owner;
	int ranges, r;

	must(blm_open_keyed(&f, NULL, path, 0, secret));
	ranges = blm_part_range(f, 0, 2, &at, &bytes);
	r = blm_part_owners(f, blm_hash_id(f), &hash, 1, 2, &owner);
	must(ranges == -EOPNOTSUPP ? 0 : ranges);
	must(r == -EOPNOTSUPP ? 0 : r);
	printf("ok %s\n", ranges < 0 ? "none" : r < 0 ? "several" : "one");
	blm_close(f);
}

/* Numbers with commas between them, or "-". */
static uint32_t read_seeds(char *list, uint64_t ret[BLM_SEEDS_MAX])
{
	uint32_t count = 0;

	for (char *one = strtok(list, ",-"); one && count < BLM_SEEDS_MAX; one = strtok(NULL, ","))
		ret[count++] = strtoull(one, NULL, 10);
	return count;
}

int main(int argc, char **argv)
{
	uint8_t secret[64] = { 0 };
	struct blm_filter *f;
	uint64_t seeds[BLM_SEEDS_MAX];

	if (argc == 4 && !strcmp(argv[1], "ask")) {
		ask(argv[2], unhex(argv[3], secret) == BLM_SECRET_BYTES ? secret : NULL);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "owners")) {
		owners(argv[2], unhex(argv[3], secret) == BLM_SECRET_BYTES ? secret : NULL);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "add")) {
		must(blm_open_keyed(&f, NULL, argv[2], BLM_OPEN_WRITE,
				    unhex(argv[3], secret) == BLM_SECRET_BYTES ? secret : NULL));
		add(f);
		return 0;
	}
	if (argc == 4 && (!strcmp(argv[1], "sync") || !strcmp(argv[1], "seal"))) {
		change(argv[2], strcmp(argv[1], "sync") ? blm_seal : blm_sync);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "churn")) {
		churn(argv[2], argv[3]);
		return 0;
	}
	if (argc == 6 && !strcmp(argv[1], "flips")) {
		flips(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10),
		      (unsigned)strtoul(argv[5], NULL, 10));
		return 0;
	}
	if (argc == 11 && !strcmp(argv[1], "make")) {
		struct blm_params params =
			BLM_PARAMS(.kind = argv[3], .hash = argv[4],
				   .cells = strtoull(argv[5], NULL, 10),
				   .probes = (uint32_t)strtoul(argv[6], NULL, 10),
				   .tweak = strtoull(argv[8], NULL, 10), .seeds = seeds,
				   .seed_count = read_seeds(argv[7], seeds),
				   .scheme = strcmp(argv[10], "-") ? argv[10] : NULL, );

		params.secret = unhex(argv[9], secret) == BLM_SECRET_BYTES ? secret : NULL;
		must(blm_create(&f, NULL, argv[2], &params));
		add(f);
		return 0;
	}
	fprintf(stderr, "usage: driver ask|add|owners FILE SECRET|- | driver make FILE KIND HASH "
			"CELLS PROBES SEED,...|- TWEAK SECRET|- SCHEME|-"
			" | driver sync|seal FILE - | driver churn FILE NAME | driver flips FILE "
			"FROM TO COUNT\n");
	return 64;
}
