/* cmd_plan.c - bloomery plan: sizes and rates on paper */
#include "plan.h"
#include "values.h"

static struct range mn = { 2, 32 }, table_k = { 1, 24 };
static bool table, bound;
static struct range k;
static uint64_t ranks;
static struct list with;
static struct blm_params p = BLM_PARAMS();
static struct plan_more more;
static const struct opt own_options[] = {
	{ 'n', "capacity", "KEYS", "how many keys", set_number, &p.capacity, 1, BLM_CAPACITY_MAX },
	{ 'p', "rate", "P", "false positives at capacity, like 0.001 or 0.1% (default: 0.01)",
	  set_rate, &p.rate },
	{ 'm', "bits", "M", "the number of bits: then the rate is calculated", set_number,
	  &p.cells, 1, BLM_CELLS_MAX },
	{ 'k', "probes", "K", "how many probes for each key", set_range, &k, 1, BLM_PROBES_MAX },
	{ 0, "kind", "KIND", "this kind only", set_text, &p.kind },
	{ 0, "with", "NAME=VALUE", "with --kind: an option of it, or several with commas", set_list,
	  &with },
	{ 0, "bound", NULL, "with -m: the bound for a filter of finite size as well", set_flag,
	  &bound },
	{ 0, "compare", NULL, "with -n and -p: a hash table, a bitmap and a perfect hash function "
	  "as well", set_flag, &more.compare },
	{ 0, "plot", NULL, "with -n and -p: bits a key as bars", set_flag, &more.plot },
	{ 0, "svg", "FILE", "the same as dots on a logarithmic axis, as SVG, into a new file",
	  set_text, &more.svg },
	{ 0, "ranks", "N", "with -n: bytes sent, memory and time of N ranks of bloomery-mpi",
	  set_number, &ranks, 1, 1 << 20 },
	{ 0, "table", NULL, "the table of rates by bits per key and k", set_flag, &table },
	{ 0, "mn", "RANGE", "the rows of the table, bits per key (default: 2..32)", set_range, &mn,
	  1, 1024 },
	{ 0, "k", "RANGE", "the columns of the table (default: 1..24)", set_range, &k, 1,
	  BLM_PROBES_MAX },
	{ 0 }
};

static int run(int count, char **operands)
{
	if (table && (p.capacity || p.rate > 0 || p.cells || p.kind || bound || more.compare
		      || more.plot || more.svg || ranks))
		return misuse("plan: --table takes only --mn and --k");
	if (table)
		return plan_table(&mn, k.first ? &k : &table_k);
	if (k.first != k.last)
		return misuse("plan: a range of probes is for --table; give one number, like -k 7");
	p.probes = (uint32_t)k.first;
	if (with.text[0] && !p.kind)
		return misuse("plan: --with gives options of a kind: name it with --kind");
	p.options = with.text[0] ? with.text : NULL;
	/* the bits of a kind give the number of keys */
	if (!p.capacity && !(p.cells && p.kind))
		return misuse("plan: give -n KEYS, and -p RATE or -m BITS; or --table");
	if (p.cells && p.rate > 0)
		return misuse("plan: -m and -p exclude each other: bits give a rate, and a rate "
			      "gives bits");
	if (bound && !p.cells)
		return misuse("plan: --bound needs -m");
	if ((more.compare || more.plot || more.svg) && (p.cells || p.kind))
		return misuse("plan: --compare, --plot and --svg compare all kinds; give only -n "
			      "and -p");
	if (more.plot && json)
		return misuse("plan: --plot and --json exclude each other; --svg works with both");
	if (ranks && (!p.capacity || p.cells || bound || more.compare || more.plot || more.svg))
		return misuse("plan: --ranks works only with -n, -p and --kind");
	if (ranks)
		return plan_ranks(&p, (uint32_t)ranks);
	if (p.cells && !p.kind)
		return plan_rate(&p, bound);
	return plan_sizes(&p, &more);
}

static const struct opt *const options[] = { own_options, json_option, NULL };

const struct command cmd_plan = {
	.name = "plan",
	.group = ON_PAPER,
	.summary = "calculate sizes and rates of filters",
	.operands = "",
	.notes = "With -n and -p: the size of each kind. The table leaves out bitmap, which "
	"takes numbers only and is never wrong, and\n"
	"iblt, which is as large as a difference; --kind prints their sizes. With -n and -m (and "
	"-k): the rate of Bloom's\n"
	"filter, or of --kind. With --kind and -m: how many keys the size is for. With --table: "
	"the rates of the literature, a\n"
	"row for each number of bits per key, with the best k first, up to one probe more than "
	"that. With --compare: also three\n"
	"structures that are not filters.",
	.example = "bloomery plan -n 10m -p 0.001",
	.options = options,
	.run = run,
};
