/* goals.c - what is wanted of the figures: which row, against what, at least which ratio */
#include "bench.h"

#include <assert.h>
#include <string.h>

enum {
	PER_PROBE = -1,		/* as a factor: one over the filter's number of probes */
	LIVE_SLOTS = 9,		/* that a window asks: 8 by default, and the newest */
};

/* Why some are not reached. What goes with a figure is a row of its own, to compare with. */
static const char hashing[] = "while a core hashes it asks for no lines: see against both";
static const char instructions[] = "hashing and looking are more instructions than a core does in "
				   "a line's time (tests/bench/instructions): see against both";
static const char passes[] =
	"a key is hashed, sorted through memory and its bits are put together: three times the "
	"instructions of a question (tests/bench/instructions)";
static const char two_lines[] =
	"an absent key has two cells looked at, in two lines: see against those";
static const char in_cache[] =
	"in the cache nothing waits, and looking takes more instructions than reading a line";
static const char slow_lines[] = "theirs was measured where a line took 12 ns, and hashing no more "
				 "than here: see against the slower line";
static const char ahead[] = "a core looks some 300 instructions ahead of a miss, which is two "
			    "questions: see against a line that waits for the last";
static const char handing[] = "lines go from the cache of the core that reads to that of the one "
			      "that claims, which may be far: see `claim -j 1`";
static const char near[] =
	"so many keys lie in the last cache, where theirs wait little, too: see ten times as many";
static const char shared[] =
	"others may write to it, so each of its words takes an atomic OR: see against those";
static const char inlined[] = "a call through a pointer, and the length of the key looked at; "
			      "theirs are inlined into the loop, for keys of 16 bytes";
static const char products[] = "a key takes two products of 128 bits, each of them four of AVX-512";
static const char atomics[] = "six atomic ORs and one addition for the count, 2 to 5 ns each, "
			      "one after the other";
static const char alone[] = "the bits of all probes are gathered into eight words, and the "
			    "state of the map is checked before and after";
static const char three_counts[] =
	"the bits of both and of their OR are counted, block by block where keys lie in blocks";

/*
 * In names of rows: @ the main size, # a tenth of it, ~ a hundredth, % a thousandth, $ the best
 * instruction set, & the size of the site that the name begins with. The limit is factor * (a + b +
 * c) * times / per; the ratio is that over the row's value.
 */
static const struct {
	const char *what, *against, *row, *a, *b, *c, *times, *per, *reason;
	double factor, wanted;
	bool single;
} table[] = {
#define QUESTIONS(set, word, least, text) \
	{ "batched contains, blocked, " word, \
	  "random line", \
	  "blocked @ contains_many absent " set, \
	  "blocked @ read", \
	  .wanted = least, \
	  .reason = text }, \
		{ "batched contains, blocked, " word, "random line into the first cache", \
		  "blocked @ contains_many absent " set, "blocked @ read, into the first cache" }, \
	{ \
		"batched contains, blocked, " word, "hash + random line", \
			"blocked @ contains_many absent " set, "blocked @ hash_many " set, \
			"blocked @ read" \
	}
	QUESTIONS("avx512", "AVX-512", 0.90, hashing),
	QUESTIONS("avx2", "AVX2", 0.70, instructions),
	QUESTIONS("scalar", "scalar", 0.60, instructions),
	{ "batched contains of hashes, blocked", "random line",
	  "blocked @ contains_hashes absent $", "blocked @ read" },
	{ "batched contains, blocked, in cache", "hash + cached line",
	  "blocked ~ contains_many absent $", "blocked ~ hash_many $", "blocked ~ read",
	  .wanted = 0.9, .reason = in_cache },
	{ "batched contains, classic, absent", "random line", "classic @ contains_many absent $",
	  "classic @ read", .wanted = 0.40, .reason = two_lines },
	{ "batched contains, classic, absent", "hash + 2 random lines",
	  "classic @ contains_many absent $", "classic @ hash_many $", "classic @ read",
	  "classic @ read" },
	{ "batched contains, classic, present", "k random lines",
	  "classic @ contains_many present $", "classic @ read", .factor = PER_PROBE, .wanted = 0.9,
	  .reason = "its key is hashed too, and each cell takes a multiplication" },
	{ "batched add, blocked, new", "atomic OR, random line", "blocked @ add_many new $",
	  "blocked @ atomic OR", .wanted = 0.5 },
	{ "batched add, blocked, present", "batched contains", "blocked @ add_many present $",
	  "blocked @ contains_many present $", .wanted = 0.85 },
	{ "exclusive build, blocked, one thread", "random line", "blocked @ build",
	  "blocked @ read", .wanted = 0.9, .reason = passes },
	{ "exclusive build, blocked, one thread", "random line into the first cache",
	  "blocked @ build", "blocked @ read, into the first cache" },
	{ "exclusive build, blocked, one thread", "hash + random line", "blocked @ build",
	  "blocked @ hash_many $", "blocked @ read" },
	{ "exclusive build, blocked, one thread", "batched add, new", "blocked @ build",
	  "blocked @ add_many new $" },
	{ "exclusive build, blocked, two threads", "one thread, keys made too",
	  "blocked @ build by 2 threads, keys made too",
	  "blocked @ build by 1 thread, keys made too" },
	{ "two processes adding, against one", "the same for bare atomic OR",
	  "blocked @ add_many, 2 processes", "blocked @ add_many, 1 process",
	  .times = "blocked @ atomic OR, 2 processes", .per = "blocked @ atomic OR, 1 process",
	  .wanted = 0.9 },
	{ "two processes claiming single keys, against one", "the same for bare atomic OR",
	  "blocked ~ claim, 2 processes", "blocked ~ claim, 1 process",
	  .times = "blocked ~ atomic OR, 2 processes", .per = "blocked ~ atomic OR, 1 process",
	  .wanted = 0.9, .single = true },
	{ "single claim, blocked, new, in cache", "single add", "blocked ~ claim new",
	  "blocked ~ add new", .wanted = 0.67, .single = true },
	{ "single claim, blocked, new, in cache", "4 single questions", "blocked ~ claim new",
	  "blocked ~ contains absent", .factor = 4, .single = true },
	{ "single claim, blocked, present, in cache", "1.5 single questions",
	  "blocked ~ claim present", "blocked ~ contains present", .factor = 1.5, .wanted = 1,
	  .single = true },
	{ "single add, cuckoo, in cache", "2 batched adds", "cuckoo windows ~ add new",
	  "cuckoo windows ~ add_many new $", .factor = 2, .wanted = 1, .single = true },
	{ "single add, d-left, in cache", "2 batched adds", "d-left ~ add new",
	  "d-left ~ add_many new $", .factor = 2, .wanted = 1, .single = true },
	{ "batched contains, blocked", "RocksDB's, each of its own limit",
	  "blocked @ contains_many absent $", "rocksdb-bloom @ contains_many absent",
	  .times = "blocked @ read", .per = "rocksdb-bloom @ read", .wanted = 1 },
	{ "batched contains, blocked", "Lang et al., published: 0.74 of random line",
	  "blocked @ contains_many absent $", "blocked @ read", .factor = 1 / 0.74, .wanted = 1,
	  .reason = slow_lines },
	{ "batched contains, blocked", "... of random line into the first cache",
	  "blocked @ contains_many absent $", "blocked @ read, into the first cache",
	  .factor = 1 / 0.74 },
	{ "batched contains, blocked", "libfilter, published: 0.24 of random line",
	  "blocked @ contains_many absent $", "blocked @ read", .factor = 1 / 0.24, .wanted = 1 },
	{ "batched contains, window, in cache", "2 lines for each of its 9 live slots",
	  "window ~ contains_many absent $", "window ~ read", .factor = 2 * LIVE_SLOTS,
	  .wanted = 1, .reason = in_cache },
	{ "batched contains, window, a tenth", "2 lines for each of its 9 live slots",
	  "window # contains_many absent $", "window # read", .factor = 2 * LIVE_SLOTS },
	{ "union of two into a third", "vector OR over memory",
	  "union & union into a third, mapped", "union & loop: OR of two into a third",
	  .wanted = 0.85, .reason = shared },
	{ "union of two into a third", "atomic OR over memory",
	  "union & union into a third, mapped", "union & loop: atomic OR of two into a third" },
	{ "union of two into a third, by threads", "vector OR over memory, by one",
	  "union & union into a third, by threads", "union & loop: OR of two into a third" },
	{ "union of two into a third that has it", "vector OR over memory",
	  "union & union again, nothing new", "union & loop: OR of two into a third" },
	{ "union of two into a new file", "vector OR, written and synced",
	  "union & union, new file, synced", "union & loop: OR of two into a new file, synced" },
	{ "union of two, new in memory", "vector OR, into new memory",
	  "union & union, new in memory", "union & loop: OR of two into new memory",
	  .wanted = 0.85 },
	{ "intersection of two, new in memory", "vector OR, into new memory",
	  "union & intersection, new in memory", "union & loop: OR of two into new memory",
	  .wanted = 0.85 },
	{ "estimate from all bits", "reading memory", "union & estimate, all bits",
	  "union & loop: read", .wanted = 0.85 },
	{ "comparison of two", "reading memory of both", "union & compare",
	  "union & loop: read of two", .wanted = 0.85, .reason = three_counts },
	{ "batched contains, a tenth", "libbloom", "blocked # contains_many absent $",
	  "libbloom # contains absent", .wanted = 10, .reason = near },
	{ "batched contains", "libbloom", "blocked @ contains_many absent $",
	  "libbloom @ contains absent", .wanted = 10 },
	{ "single contains, a tenth", "libbloom", "blocked # contains absent",
	  "libbloom # contains absent", .wanted = 3, .reason = ahead },
	{ "single contains", "libbloom", "blocked @ contains absent", "libbloom @ contains absent",
	  .wanted = 3, .reason = ahead },
	{ "single contains", "a line that waits for the last", "blocked @ contains absent",
	  "blocked @ chained read" },
	{ "single contains, absent, in cache", "Boost.Bloom", "blocked ~ contains absent",
	  "boost-bloom ~ contains absent", .wanted = 1 / 1.5, .reason = inlined, .single = true },
	{ "single contains, present, in cache", "Boost.Bloom", "blocked ~ contains present",
	  "boost-bloom ~ contains present", .wanted = 1 / 1.5, .reason = inlined, .single = true },
	{ "single contains, absent, in cache", "RocksDB", "blocked ~ contains absent",
	  "rocksdb-bloom ~ contains absent", .wanted = 2, .single = true },
	{ "single contains, present, in cache", "RocksDB", "blocked ~ contains present",
	  "rocksdb-bloom ~ contains present", .wanted = 2, .single = true },
	{ "single contains, a tenth", "Boost.Bloom", "blocked # contains absent",
	  "boost-bloom # contains absent", .wanted = 1 / 1.3, .single = true },
	{ "single contains", "Boost.Bloom", "blocked @ contains absent",
	  "boost-bloom @ contains absent", .wanted = 1 / 1.3, .single = true },
	{ "single add, new, shared, in cache", "Boost.Bloom, which is for one writer",
	  "blocked ~ add new", "boost-bloom ~ insert new", .wanted = 0.25, .reason = atomics,
	  .single = true },
	{ "single add, new, shared, in cache", "libbloom, which is for one writer",
	  "blocked ~ add new", "libbloom ~ add new", .wanted = 2, .reason = atomics,
	  .single = true },
	{ "single add, new, by the only handle, in cache", "Boost.Bloom",
	  "blocked ~ add by the only handle", "boost-bloom ~ insert new", .wanted = 1 / 1.5,
	  .reason = alone, .single = true },
	{ "single remove, counting, in cache", "2 batched removes", "counting ~ remove",
	  "counting ~ remove_many", .factor = 2, .wanted = 1, .single = true },
	{ "single remove, cuckoo, in cache", "2 batched removes", "cuckoo windows ~ remove",
	  "cuckoo windows ~ remove_many", .factor = 2, .wanted = 1, .single = true },
	{ "single remove, d-left, in cache", "2 batched removes", "d-left ~ remove",
	  "d-left ~ remove_many", .factor = 2, .wanted = 1, .single = true },
	{ "batched add, blocked, without vector instructions", "1.5 times AVX2's",
	  "blocked @ add_many new scalar", "blocked @ add_many new avx2", .factor = 1.5,
	  .wanted = 1, .single = true },
	{ "keys of one width, absent, in the second cache", "quickbloom",
	  "blocked % contains_fixed absent $", "quickbloom % contains_bulk absent",
	  .wanted = 1 / 1.3, .reason = products, .single = true },
	{ "keys of one width, absent, in cache", "quickbloom", "blocked ~ contains_fixed absent $",
	  "quickbloom ~ contains_bulk absent", .wanted = 1 / 1.3, .reason = products,
	  .single = true },
	{ "batched add, shared, a tenth", "libbloom", "blocked # add_many new $",
	  "libbloom # add new", .wanted = 4, .reason = near },
	{ "batched add, shared", "libbloom", "blocked @ add_many new $", "libbloom @ add new",
	  .wanted = 4 },
	{ "exclusive build, a tenth", "libbloom", "blocked # build", "libbloom # add new",
	  .wanted = 10, .reason = near },
	{ "exclusive build", "libbloom", "blocked @ build", "libbloom @ add new", .wanted = 10 },
	{ "open, one question, close", "DCSO bloom check",
	  "one question & bloomery test, one question",
	  "one question & DCSO bloom check, one question", .wanted = 50 },
	{ "open, one question, close", "a program that does nothing",
	  "one question & bloomery test, one question", "one question & nothing" },
	{ "a program that does nothing, with zlib, zstd, libmd", "without them",
	  "one question & nothing, with zlib, zstd, libmd", "one question & nothing" },
	{ "private memory of one question", "2 MiB", "one question & bloomery test, private memory",
	  .factor = 2, .wanted = 1 },
	{ "claim, whole process", "read, split, hash", "text & bloomery claim",
	  "text & read, split, hash alone", .wanted = 0.6, .reason = handing },
	{ "claim -j 1, whole process", "read, split, hash", "text & bloomery claim -j 1",
	  "text & read, split, hash alone" },
	{ "test, whole process", "read, split, hash", "text & bloomery test",
	  "text & read, split, hash alone", .wanted = 0.6 },
	{ "claim, whole process", "sort -u", "text & bloomery claim", "text & sort -u",
	  .wanted = 10, .reason = handing },
	{ "memory of claim", "memory of sort -u", "text & bloomery claim, memory",
	  "text & sort -u, memory", .wanted = 20 },
	{ "claim, whole process", "DCSO bloom create, insert", "text & bloomery claim",
	  "text & DCSO bloom create, insert", .wanted = 4 },
	{ "test, whole process", "DCSO bloom check", "text & bloomery test",
	  "text & DCSO bloom check", .wanted = 4 },
};

static_assert(ARRAY_LEN(table) <= GOALS_MAX, "room for all");

static const char *label_of(const struct plan *plan, const char *pattern)
{
	for (size_t i = 0; i < plan->row_count; i++) {
		const struct row *row = &plan->rows[i];
		size_t before = strcspn(pattern, "&");

		if (!strncmp(row->name, pattern, before) && strlen(row->site->label) > 0 &&
		    !strncmp(row->name + before, row->site->label, strlen(row->site->label)))
			return row->site->label;
	}
	return "";
}

static const struct row *find(const struct plan *plan, const char *pattern)
{
	char name[96] = "", label[24];
	size_t len = 0;

	for (const char *p = pattern; p && *p && len < sizeof(name) - 25; p++) {
		uint64_t part = *p == '@' ? 1 : *p == '#' ? 10 : *p == '~' ? 100
			      : *p == '%' ? 1000 : 0;
		const char *word = *p == '$' ? plan->sets[0]
				 : *p == '&' ? label_of(plan, pattern)
					     : NULL;

		if (part) {
			size_label(label, plan->options.keys / part < 1000
						  ? 1000
						  : plan->options.keys / part);
			word = label;
		}
		len += (size_t)(word ? snprintf(name + len, sizeof(name) - len, "%s", word)
				     : snprintf(name + len, sizeof(name) - len, "%c", *p));
	}
	return pattern ? plan_find(plan, "%s", name) : NULL;
}

size_t goals_list(const struct plan *plan, struct goal *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct goal *g = &ret[i];
		const struct row *row = find(plan, table[i].row);
		double factor = table[i].factor == 0 ? 1 : table[i].factor;

		if (row && factor == PER_PROBE)
			factor = row->site->probes;
		*g = (struct goal){
			.row = row,
			.wanted = table[i].wanted,
			.single = table[i].single,
			.limit = { find(plan, table[i].a), find(plan, table[i].b),
				   find(plan, table[i].c), find(plan, table[i].times),
				   find(plan, table[i].per), factor },
			.reason = table[i].reason,
		};
		snprintf(g->what, sizeof(g->what), "%s", table[i].what);
		snprintf(g->against, sizeof(g->against), "%s", table[i].against);
		if ((table[i].a && !g->limit.a) || (table[i].b && !g->limit.b)
		    || (table[i].c && !g->limit.c) || (table[i].times && !g->limit.times)
		    || (table[i].per && !g->limit.per))
			g->row = NULL;
	}
	return ARRAY_LEN(table);
}
