/*
 * fruit.c - the tutorial of pybloomfiltermmap, in C: make, add, ask, unite, send as text, and read
 * a text of 2010
 *
 *	cc fruit.c $(pkg-config --cflags --libs bloomery) -o fruit && ./fruit "$(mktemp -d)"
 *
 * The filters have pybloomfiltermmap3's hash, so that it can read what is exported. The lines above
 * each step are the step in Python.
 */
#include <bloomery.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT_OF(a) (sizeof(a) / sizeof(*(a)))

static const char *const fruits[] = { "apple", "banana", "orange", "pear" };

/* A filter with MIKE in it, as BloomFilter.to_base64() gave it in 2010, on a machine of 32 bits. */
static const char mike[] =
	"eJwFwcuWgiAAANC9v+JCx7By0QKt0GHEbKSknflAQ9QmTyRfP/fW5E9XTRSXqcLlqGNXphAqcfVH\n"
	"RoNv0n4JlTpIvAP0e1+RyXX6I637ggA+VPZnTYR1A4Um5s9geYaZZLiT208JIiG3iwhf3Fwlzb3Y\n"
	"5NRL4uNQS6/d9OvTDJbnZMnRzcrplOX5kmsVIkQziM+vw4hCDQ3OkN9m3WVfPWzGfaTeRftMCLws\n"
	"PnzEzsgjAW60xZTBbj/bOAgYbK50PqjdzvgHZ6FHZw==\n";

/*
 * Every call that can fail says so by a negative number; its meaning, and what it was about, are
 * there in words.
 */
static int must(int r)
{
	if (r < 0) {
		fprintf(stderr, "fruit: %s: %s\n", blm_strerror(r), blm_error_message());
		exit(1);
	}
	return r;
}

/* To ask cannot fail. Here the answer is known beforehand. */
static void ask(const struct blm_filter *f, const char *name, const char *key, bool expected)
{
	bool found = blm_contains(f, key, strlen(key));

	printf("%s in %s: %s\n", key, name, found ? "yes" : "no");
	if (found != expected) {
		fprintf(stderr, "fruit: that is not so\n");
		exit(1);
	}
}

static void add(struct blm_filter *f, const char *name, const char *key)
{
	printf("%s into %s: %s\n", key, name,
	       must(blm_add(f, key, strlen(key))) ? "new" : "was there");
}

static void count(const struct blm_filter *f, const char *name, uint64_t expected)
{
	uint64_t keys;
	bool estimated;

	must(blm_count(f, &keys, &estimated));
	printf("keys in %s: %s%llu\n", name, estimated ? "about " : "", (unsigned long long)keys);
	if (keys != expected) {
		fprintf(stderr, "fruit: that is not so\n");
		exit(1);
	}
}

/*
 * fruit = BloomFilter(100, 0.1, 'fruit.blm', hash_seeds=[1, 2, 3]); fruit.update(['apple', ...]);
 * fruit.add('apple')
 */
static struct blm_filter *make_fruit(void)
{
	/* left out, they are random, and how many follows from the rate */
	static const uint64_t seeds[] = { 1, 2, 3 };
	struct blm_filter *fruit;
	struct blm_info info = BLM_INFO;

	must(blm_create(&fruit, NULL, "fruit.blm", &BLM_PARAMS(
		.hash = "mm3_64", .capacity = 100, .rate = 0.1, .seeds = seeds,
		.seed_count = COUNT_OF(seeds))));
	must(blm_info(fruit, &info));
	printf("fruit: %s, %llu keys at %g: %llu bits, %u hashes\n", info.kind,
	       (unsigned long long)info.capacity, info.rate,
	       (unsigned long long)info.cells, info.probes);
	for (size_t i = 0; i < COUNT_OF(fruits); i++)
		add(fruit, "fruit", fruits[i]);
	add(fruit, "fruit", "apple");
	count(fruit, "fruit", COUNT_OF(fruits));
	ask(fruit, "fruit", "apple", true);
	ask(fruit, "fruit", "mike", false);
	return fruit;
}

/* people = fruit.copy_template('people.blm'); people.add('mike'); people |= fruit */
static void unite(const struct blm_filter *fruit)
{
	struct blm_filter *people;

	must(blm_template(&people, NULL, "people.blm", fruit, 0));
	add(people, "people", "mike");
	ask(people, "people", "apple", false);
	must(blm_combine_into(people, BLM_UNION, (const struct blm_filter *[]){ people, fruit }, 2,
			      0, NULL));
	puts("people |= fruit");
	count(people, "people", COUNT_OF(fruits) + 1);
	ask(people, "people", "mike", true);
	ask(people, "people", "apple", true);
	/* from here on, a power cut takes nothing away */
	must(blm_sync(people));
	blm_close(people);
}

/* text = fruit.to_base64(); copy = BloomFilter.from_base64('copy.blm', text) */
static void send_as_text(const struct blm_filter *fruit)
{
	/*
	 * What the file of pybloomfiltermmap does not say must be said when it is read: which of
	 * its hashes was in use.
	 */
	struct blm_exchange how = BLM_EXCHANGE(.format = "pybloomfiltermmap", .base64 = true,
				    .hash = "mm3_64");
	struct blm_filter *copy;
	size_t len;
	void *text;

	must(blm_export_bytes(fruit, &how, &text, &len));
	must(blm_import_bytes(&copy, NULL, "copy.blm", &how, text, len));
	blm_free(text);
	puts("copy = fruit, through base64");
	for (size_t i = 0; i < COUNT_OF(fruits); i++)
		ask(copy, "copy", fruits[i], true);
	must(blm_same_template(copy, fruit));
	blm_close(copy);
}

/*
 * old = BloomFilter.from_base64('old.bloom', mike), here without a file; its numbers tell that its
 * hash was djb
 */
static void read_old_text(void)
{
	struct blm_filter *old;
	struct blm_info info = BLM_INFO;

	must(blm_import_bytes(&old, NULL, NULL, &BLM_EXCHANGE(.base64 = true), mike,
			      strlen(mike)));
	must(blm_info(old, &info));
	printf("old: from %s, hash %s, %llu bits, %u hashes\n", info.origin, info.hash,
	       (unsigned long long)info.cells, info.probes);
	ask(old, "old", "MIKE", true);
	ask(old, "old", "mike", false);
	blm_close(old);
}

int main(int argc, char **argv)
{
	struct blm_filter *fruit;

	if (argc != 2 || chdir(argv[1]) < 0) {
		fprintf(stderr, "usage: fruit EMPTY-FOLDER\n");
		return 1;
	}
	fruit = make_fruit();
	unite(fruit);
	send_as_text(fruit);
	blm_close(fruit);
	read_old_text();
	return 0;
}
