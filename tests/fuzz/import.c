/*
 * import.c - any bytes can be imported or opened, and an imported filter is exported unchanged
 *
 * The input: one byte of choices, for another program's format two more, then the file or its text.
 * An accepted filter must answer, its export must be imported as the same filter, and that filter's
 * export must have the same bytes.
 */
#include "bloomery.h"
#include "dice.h"
#include "held.h"
#include "kind/common/clock.h"
#include "must.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	/*
	 * 0: by the first bytes; 1: bip158; 2: our own; 3: that of the next byte's number; then a
	 * byte that says m and k, if the file does not
	 */
	FORMAT = 3,
	EVERYTHING = 1 << 5,	/* in that number's byte */
	BASE64 = 1 << 2,
	HASH = 1 << 3,
	KNOWN = 1 << 4,
	ALLOCATE = 1 << 5,
	FRESH = 1 << 6,
	OUT_AS_TEXT = 1 << 7,
	BYTES_MAX = 64 << 10,
};

/* the golden files' */
static const uint8_t secret[BLM_SECRET_BYTES] = { 0, 1, 2,  3,	4,  5,	6,  7,
						  8, 9, 10, 11, 12, 13, 14, 15 };

static const uint64_t seeds[2] = { 1, 2 };		/* of files that have none: bip158 */
static struct held file;

static void ask(const struct blm_filter *f)
{
	const struct blm_key keys[] = { { "key", 3 }, { NULL, 0 }, { "another key", 11 } };
	struct blm_estimate estimate;
	struct blm_info info = BLM_INFO;
	uint64_t bits = 0, count = 0;
	bool estimated;

	must(blm_info(f, &info) == 0);
	must(strnlen(info.labels, sizeof(info.labels)) < sizeof(info.labels));
	/* where keys have a column, these have none, so none of them is denied */
	must(blm_contains_many(f, keys, 3, &bits) >= 0 || !strcmp(info.hash, "xxh3-column"));
	for (int i = 0; i < 3; i++)
		must(blm_contains(f, keys[i].bytes, keys[i].len) == (bits >> i & 1));
	if (blm_estimate(f, true, &estimate) == 0)
		must(estimate.ones <= info.data_bytes * 8);
	blm_count(f, &count, &estimated);
}

static void same_data(const struct blm_filter *f, const struct blm_filter *g, size_t bytes)
{
	uint8_t *a = malloc(bytes), *b = malloc(bytes);

	must(a && b && blm_data_read(f, 0, a, bytes) == 0 && blm_data_read(g, 0, b, bytes) == 0);
	must(!memcmp(a, b, bytes));
	free(a);
	free(b);
}

/*
 * Out, in and out again: the same data and, but for our own files, which have an id each, the same
 * bytes.
 */
static void there_and_back(const struct blm_filter *f, const struct blm_exchange *came,
			   unsigned choices)
{
	struct blm_exchange how = BLM_EXCHANGE(.cells = came->cells, .probes = came->probes,
					       .seeds = came->seeds, .seed_count = came->seed_count,
					       .base64 = choices & OUT_AS_TEXT,
					       .max_bytes = 2 * BYTES_MAX, .fresh = choices & FRESH,
					       .secret = secret);
	void *out = NULL, *again = NULL;
	struct blm_filter *g = NULL;
	struct blm_info info = BLM_INFO;
	size_t bytes = 0, bytes_again = 0;

	must(blm_info(f, &info) == 0);
	how.hash = info.foreign || info.origin ? info.hash : NULL;
	how.format = info.foreign ? info.format : info.origin;
	must(blm_export_bytes(f, &how, &out, &bytes) == 0);
	must(blm_import_bytes(&g, NULL, NULL, &how, out, bytes) == 0);
	must(blm_same_template(f, g) == 0);
	same_data(f, g, info.data_bytes);
	must(blm_export_bytes(g, &how, &again, &bytes_again) == 0);
	if (how.hash)
		must(bytes == bytes_again && !memcmp(out, again, bytes));
	blm_close(g);
	blm_free(out);
	blm_free(again);
}

static void in_place(const uint8_t *data, size_t size, const struct blm_exchange *how,
		     unsigned choices)
{
	struct blm_filter *f = NULL, *copy = NULL;
	struct blm_info info = BLM_INFO;
	int r;

	size = size < BYTES_MAX ? size : BYTES_MAX;
	must(resize(&file, size));
	if (size)
		memcpy(file.bytes, data, size);
	if (blm_open_foreign(&f, file.path, how) == 0) {
		ask(f);
		must(blm_info(f, &info) == 0);
		must(blm_add(f, "key", 3) == -EBADF);
		if (info.foreign)
			there_and_back(f, how, choices);
		r = info.keyed ? 0 : blm_copy(&copy, NULL, NULL, f, 0);
		/* which our own files tell by their checksums and records */
		must(r == 0 || (!info.foreign && r == -EUCLEAN));
		blm_close(copy);
		blm_close(f);
	} else {
		must(*blm_error_message() != '\0');
	}
}

/* The clock stands still, so that the same question has the same answer. */
static uint64_t noon(void)
{
	return UINT64_C(1700000000000000000);
}

/*
 * A key takes no more than in proportion to what is there already (add()), which is at most some
 * thousand times that: there is room for that.
 */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const struct rlimit files = { 256 << 20, 256 << 20 };

	must(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && setrlimit(RLIMIT_FSIZE, &files) == 0);
	must(hold(&file, BYTES_MAX));
	blm_clock = noon;
	throw_dice(1);
	return 0;
}

/*
 * One that is sealed, full, for numbers, or has the key as removed, may refuse it; a set of bits
 * may not.
 */
static void add(struct blm_filter *f)
{
	int r = blm_add(f, "added", 5);
	struct blm_info info = BLM_INFO;

	must(blm_info(f, &info) == 0);
	if (r < 0)
		must(r != -EFBIG
		     && (info.sealed
			 || (strcmp(info.kind, "classic") && strcmp(info.kind, "blocked"))));
	else
		must(blm_contains(f, "added", 5) || info.can & BLM_FORGETS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct blm_key known = { "key", 3 };
	struct blm_exchange how = BLM_EXCHANGE(.max_bytes = BYTES_MAX, .secret = secret);
	struct blm_format_info format;
	struct blm_filter *f = NULL;
	unsigned choices, bits;

	if (!size)
		return 0;
	throw_dice(2);
	choices = *data++;
	size--;
	if ((choices & FORMAT) == 1)
		how.format = "bip158";
	if ((choices & FORMAT) == 2)
		how.format = "bloomery";
	if ((choices & FORMAT) == 3 && size >= 2) {
		how.format = blm_format_list(data[0] % 32, &format) == 0 ? format.name : NULL;
		how.everything = data[0] & EVERYTHING;
		bits = data[1] % 32 % 23;
		/* at most 8 KiB, or too many: these are soon asked, and refused */
		how.cells = UINT64_C(1) << (bits > 16 && bits < 20 ? bits - 4 : bits);
		how.probes = data[1] / 32;
		data += 2;
		size -= 2;
	}
	if (size >= 4 && !memcmp(data, "PAR1", 4)) {	/* by the same bits: any, or this one */
		how.column = how.cells > 1 << 11 ? "url" : NULL;
		how.row_group = how.probes;
	}
	/* of a filter block or a table, or none of them */
	if (how.format && !strcmp(how.format, "leveldb") && how.probes)
		how.record = how.probes & 1 ? "1" : "@8192";
	how.seeds = seeds;
	how.seed_count = how.format && !strcmp(how.format, "bip158") ? 2 : 0;
	how.base64 = choices & BASE64;
	how.hash = choices & HASH ? how.format && !strncmp(how.format, "pybloom-live", 12)
					  ? "md5-digest"
					  : "mm3_64"
				  : NULL;
	how.known = choices & KNOWN ? &known : NULL;
	how.known_count = choices & KNOWN ? 1 : 0;
	how.allocate = choices & ALLOCATE;
	if (blm_import_bytes(&f, NULL, NULL, &how, data, size) == 0) {
		ask(f);
		there_and_back(f, &how, choices);
		add(f);
		blm_close(f);
	} else {
		must(*blm_error_message() != '\0');
	}
	if (!how.base64)
		in_place(data, size, &how, choices);
	return 0;
}
