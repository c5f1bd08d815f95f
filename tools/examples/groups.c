/*
 * groups.c - an example for each group of bloomery.h, in its order
 *
 * usage: groups FOLDER, an empty one. Each example prints its answers. A manual page of
 * the library shows the example of its group.
 */
#include <bloomery.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A call that fails ends the program with the library's message. */
static int64_t must(int64_t r)
{
	if (r >= 0)
		return r;
	fprintf(stderr, "groups: %s\n", blm_error_message());
	exit(1);
}

static const struct blm_key words[] = { { "apple", 5 }, { "kiwi", 4 }, { "pear", 4 } };
enum { WORDS = sizeof(words) / sizeof(words[0]) };

/* A filter in memory for a thousand keys. */
static struct blm_filter *in_memory(const char *kind, const char *hash)
{
	struct blm_filter *f;

	must(blm_create(&f, NULL, NULL,
			&BLM_PARAMS(.kind = kind, .hash = hash, .capacity = 1000, .rate = 1e-6)));
	return f;
}

/* ---- Errors ---- */
static void errors(void)
{
	struct blm_filter *f;
	int r = blm_open(&f, NULL, "./missing.blm", 0);

	if (r < 0)	/* the file or value, the error, the way out */
		printf("open: %s (%s)\n", blm_error_message(), blm_strerror(r));
}

/* ---- One key at a time ---- */
static void one_key(void)
{
	struct blm_filter *f;

	must(blm_create(&f, NULL, "./seen.blm", &BLM_PARAMS(.capacity = 1000, .rate = 0.001)));
	f = blm_close(f);
	must(blm_open(&f, NULL, "./seen.blm", BLM_OPEN_WRITE));
	must(blm_add(f, "apple", 5));
	if (blm_claim(f, "pear", 4) == 1)	/* 1 in one of all threads and processes */
		printf("pear is new, apple is %s\n", blm_contains(f, "apple", 5) ? "known" : "new");
	blm_close(f);
}

/* ---- Many keys ---- */
static void many_keys(void)
{
	struct blm_filter *f = in_memory(NULL, NULL);
	const uint64_t ids[] = { 7, 8, 7 };
	uint64_t first, found;

	must(blm_claim_many(f, words, WORDS, &first));	/* bit i: the answer for key i */
	must(blm_contains_many(f, words, WORDS, &found));
	printf("claimed %#" PRIx64 ", found %#" PRIx64, first, found);
	printf(", %" PRId64 " new numbers\n", must(blm_add_fixed(f, ids, sizeof(*ids), 3, NULL)));
	blm_close(f);
}

/* ---- Ranges of keys ---- */
static void ranges(void)
{
	struct blm_build *b;
	struct blm_filter *f;

	must(blm_build_begin(&b, NULL, NULL, &BLM_PARAMS(.kind = "range", .hash = "ordered-uint",
							 .rate = 1e-6), NULL));
	must(blm_build_add_many(b, &(struct blm_key){ "1000", 4 }, 1));
	must(blm_build_finish(b, &f));
	printf("a key from 990 to 1010: %" PRId64 ", from 2000 to 2010: %" PRId64 "\n",
	       must(blm_contains_range(f, "990", 3, "1010", 4)),
	       must(blm_contains_range(f, "2000", 4, "2010", 4)));
	blm_close(f);
}

/* ---- When keys were seen ---- */
static void when_seen(void)
{
	const uint64_t hour = UINT64_C(3600000000000), now = 500000 * hour;
	struct blm_filter *f = in_memory("recent", NULL);

	must(blm_claim_again(f, words, 1, &BLM_WHEN(.now = now), NULL));
	printf("seen within two hours: %" PRId64 "\n",
	       must(blm_contains_within(f, words, 1,
					&BLM_WHEN(.within = 2 * hour, .now = now + hour), NULL)));
	printf("due after 30 days: %" PRId64 "\n",
	       must(blm_claim_again(f, words, 1, &BLM_WHEN(.within = 700 * hour,
							   .now = now + 720 * hour), NULL)));
	blm_close(f);
}

/* ---- Keys by their hashes ---- */
static void by_hashes(void)
{
	struct blm_filter *f = in_memory(NULL, NULL), *other;
	struct blm_hash hashes[WORDS];

	must(blm_template(&other, NULL, NULL, f, 0));
	must(blm_hash_many(f, words, WORDS, hashes));	/* once, for both filters */
	must(blm_add_hashes(f, blm_hash_id(f), hashes, 2, NULL));
	must(blm_add_hashes(other, blm_hash_id(f), hashes + 2, 1, NULL));
	printf("by hash: %" PRId64 " of 3 in one, %" PRId64 " in the other\n",
	       must(blm_contains_hashes(f, blm_hash_id(f), hashes, WORDS, NULL)),
	       must(blm_contains_hashes(other, blm_hash_id(f), hashes, WORDS, NULL)));
	blm_close(other);
	blm_close(f);
}

/* ---- Parts of a filter ---- */
static void parts(void)
{
	static const char *const names[] = { "./part-1.blm", "./part-2.blm" };
	struct blm_filter *f = in_memory(NULL, NULL), *part, *whole;
	struct blm_join *j;

	must(blm_add_many(f, words, WORDS, NULL));
	must(blm_split(f, 2, NULL, names, 0));		/* a file for each of two machines */
	must(blm_join_begin(&j, NULL, "./whole.blm", 0, false));
	for (int i = 0; i < 2; i++) {
		must(blm_open(&part, NULL, names[i], 0));
		must(blm_join_part(j, part));
		blm_close(part);
	}
	must(blm_join_finish(j, &whole));
	printf("joined: %" PRId64 " of 3 found\n",
	       must(blm_contains_many(whole, words, WORDS, NULL)));
	blm_close(whole);
	blm_close(f);
}

/* ---- A whole filter ---- */
static void whole_filter(void)
{
	struct blm_filter *f;

	must(blm_open(&f, NULL, "./seen.blm", BLM_OPEN_WRITE));
	must(blm_sync(f));		/* keys that were added before survive a power cut */
	must(blm_seal(f));		/* read-only from now on, with checksums */
	printf("sealed: %s\n", blm_add(f, "fig", 3) < 0 ? "no more keys" : "takes keys");
	blm_close(f);
}

/* ---- Parameters and sizes ---- */
static void sizes(void)
{
	struct blm_plan plan;

	must(blm_plan(&plan, &BLM_PARAMS(.kind = "classic", .capacity = 1000, .rate = 0.01)));
	printf("classic: %" PRIu64 " bits, %u probes, %.2f bits a key\n", plan.cells, plan.probes,
	       plan.bits_per_key);
}

/* ---- Creating and building ---- */
static void building(void)
{
	struct blm_build *b;
	struct blm_filter *f;

	must(blm_build_begin(&b, NULL, "./list.blm", &BLM_PARAMS(.kind = "ribbon", .rate = 0.001),
			     NULL));
	must(blm_build_add_many(b, words, WORDS));	/* as often as there are keys */
	must(blm_build_finish(b, &f));			/* the file appears, whole */
	printf("built: %" PRId64 " of 3 found\n", must(blm_contains_many(f, words, WORDS, NULL)));
	blm_close(f);
}

/* ---- Templates and algebra ---- */
static void algebra(void)
{
	struct blm_filter *a = in_memory(NULL, NULL), *b, *both;

	must(blm_template(&b, NULL, NULL, a, 0));	/* empty, of the same parameters */
	must(blm_add_many(a, words, 2, NULL));
	must(blm_add_many(b, words + 1, 2, NULL));
	must(blm_combine(&both, NULL, NULL, BLM_UNION,
			 (const struct blm_filter *const[]){ a, b }, 2, 0, NULL));
	printf("union: %" PRId64, must(blm_contains_many(both, words, WORDS, NULL)));
	must(blm_combine_into(a, BLM_INTERSECT, (const struct blm_filter *const[]){ b }, 1, 0,
			      NULL));
	printf(", intersection: %" PRId64 "\n", must(blm_contains_many(a, words, WORDS, NULL)));
	blm_close(both);
	blm_close(b);
	blm_close(a);
}

/* ---- What a filter says of itself ---- */
static void about_itself(void)
{
	struct blm_info info = BLM_INFO;
	struct blm_filter *f;

	must(blm_open(&f, NULL, "./list.blm", 0));
	must(blm_info(f, &info));
	printf("%s, %s, %" PRIu64 " keys, %s\n", info.kind, info.hash, info.keys,
	       info.sealed ? "sealed" : "open");
	blm_close(f);
}

/* ---- Estimates ---- */
static void estimates(void)
{
	struct blm_filter *f = in_memory(NULL, NULL);
	struct blm_estimate e;

	must(blm_add_many(f, words, WORDS, NULL));
	must(blm_estimate(f, true, &e));		/* from the bits alone */
	printf("about %.0f keys\n", e.keys.value);
	blm_close(f);
}

/* ---- Stores ---- */
static int print_name(void *context, const struct blm_info *info, int err)
{
	printf("store has %s: %s\n", info->name, err < 0 ? "damaged" : info->kind);
	return 0;
}

static void stores(void)
{
	struct blm_store *store;
	struct blm_filter *f;

	must(blm_store_open(&store, "./store", BLM_STORE_CREATE));
	must(blm_create(&f, store, "crawl", &BLM_PARAMS(.capacity = 1000, .rate = 0.001)));
	blm_close(f);
	must(blm_store_label(store, "crawl", "owner", "search"));
	must(blm_store_rename(store, "crawl", "seen"));
	must(blm_store_list(store, NULL, print_name, NULL));
	blm_store_close(store);
}

/* ---- Lists of false positives ---- */
static void allowlist(void)
{
	const struct blm_key fig = { "fig", 3 };
	struct blm_store *store;
	struct blm_filter *f;
	uint64_t found = 1;

	must(blm_store_open(&store, "./store", 0));
	must(blm_create(&f, store, "full", &BLM_PARAMS(.cells = 512, .probes = 1)));
	for (uint32_t i = 0; i < 10000; i++)	/* far too many: the answer is always yes */
		must(blm_add(f, &i, sizeof(i)));
	must(blm_allowlist_add(f, &fig, 1));
	must(blm_allowlist_filter(f, &fig, 1, &found));	/* takes listed keys out of the answers */
	printf("fig: the filter says %d, with its list %" PRIu64 "\n",
	       blm_contains(f, "fig", 3), found);
	blm_close(f);
	blm_store_close(store);
}

/* ---- Exchange ---- */
static void exchange(void)
{
	struct blm_exchange how = BLM_EXCHANGE(.base64 = true);
	struct blm_filter *f = in_memory(NULL, NULL), *copy;
	void *text;
	size_t length;

	must(blm_add_many(f, words, WORDS, NULL));
	must(blm_export_bytes(f, &how, &text, &length));
	must(blm_import_bytes(&copy, NULL, NULL, &how, text, length));
	printf("through base64: %" PRId64 " of 3 found\n",
	       must(blm_contains_many(copy, words, WORDS, NULL)));
	blm_free(text);
	blm_close(copy);
	blm_close(f);
}

/* ---- Checking ---- */
static void print_finding(void *context, const struct blm_finding *found)
{
	printf("%s: %s\n", found->file, found->what);
}

static void checking(void)
{
	printf("list.blm: %" PRId64 " findings\n",
	       must(blm_verify(NULL, "./list.blm", 0, print_finding, NULL)));
}

/* ---- Banks ---- */
static void banks(void)
{
	struct blm_filter *a = in_memory(NULL, NULL), *b;
	struct blm_bank_build *build;
	struct blm_bank *bank;
	uint64_t rows = 0;

	must(blm_template(&b, NULL, NULL, a, 0));
	must(blm_add_many(b, words, WORDS, NULL));
	must(blm_bank_begin(&build, "./files.bank", false, 0));
	must(blm_bank_add(build, a, "a.txt"));
	must(blm_bank_add(build, b, "b.txt"));
	must(blm_bank_finish(build));
	must(blm_bank_open(&bank, "./files.bank"));
	must(blm_bank_which(bank, "kiwi", 4, &rows));	/* bit i: row i may have the key */
	printf("kiwi may be in rows %#" PRIx64 "\n", rows);
	blm_bank_close(bank);
	blm_close(b);
	blm_close(a);
}

/* ---- What there is ---- */
static void what_there_is(void)
{
	struct blm_kind_info kind;
	size_t count = 0;

	for (size_t i = 0; blm_kind_list(i, &kind) == 0; i++)
		count += (kind.can & BLM_CAN_REMOVE) != 0;
	printf("kinds that remove keys: %s\n", count ? "some" : "none");
}

/* ---- The process ---- */
static void process(void)
{
	blm_use_threads(2);			/* at most, for scans, builds and unions */
	must(blm_survive_truncation());		/* a file that is cut gives errors, no signal */
	printf("files cut so far: %s\n", blm_truncated() ? blm_truncated() : "none");
}

int main(int argc, char **argv)
{
	if (argc != 2 || chdir(argv[1]) < 0) {
		fprintf(stderr, "usage: groups FOLDER\n");
		return 64;
	}
	errors();
	one_key();
	many_keys();
	ranges();
	when_seen();
	by_hashes();
	parts();
	whole_filter();
	sizes();
	building();
	algebra();
	about_itself();
	estimates();
	stores();
	allowlist();
	exchange();
	checking();
	banks();
	what_there_is();
	process();
	return 0;
}
