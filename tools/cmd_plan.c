/* cmd_plan.c - bloomery plan: sizes and rates on paper */
#include "plan.h"
#include "values.h"

static struct range mn = { 2, 32 }, table_k = { 1, 24 };
static bool table, bound;
static struct range k;
static struct blm_params p;
static const struct opt own_options[] = {
	{ 'n', "capacity", "KEYS", "how many keys", set_number, &p.capacity, 1, BLM_CAPACITY_MAX },
	{ 'p', "rate", "P", "false positives at capacity (default: 0.01)", set_rate, &p.rate },
	{ 'm', "bits", "M", "how many bits: then the rate is what is looked for", set_number, &p.cells, 1, BLM_CELLS_MAX },
	{ 'k', "probes", "K", "how many probes for each key", set_range, &k, 1, BLM_PROBES_MAX },
	{ 0, "kind", "KIND", "this kind only", set_text, &p.kind },
	{ 0, "bound", NULL, "with -m: the bound for a filter of finite size as well", set_flag, &bound },
	{ 0, "table", NULL, "the table of rates by bits per key and k", set_flag, &table },
	{ 0, "mn", "RANGE", "the rows of the table, bits per key (default: 2..32)", set_range, &mn, 1, 1024 },
	{ 0, "k", "RANGE", "the columns of the table (default: 1..24)", set_range, &k, 1, BLM_PROBES_MAX },
	{ 0 }
};

static int run(int count, char **operands)
{
	if (table && (p.capacity || p.rate > 0 || p.cells || p.kind || bound))
		return misuse("plan: --table takes --mn and --k alone");
	if (table)
		return plan_table(&mn, k.first ? &k : &table_k);
	if (k.first != k.last)
		return misuse("plan: a range of probes is for --table");
	p.probes = (uint32_t)k.first;
	if (!p.capacity)
		return misuse("plan: how many keys? Give -n KEYS, and -p RATE or -m BITS; or --table");
	if (p.cells && p.rate > 0)
		return misuse("plan: -m and -p exclude each other: bits give a rate, and a rate gives bits");
	if (bound && !p.cells)
		return misuse("plan: --bound goes with -m");
	if (p.cells && !p.kind)
		return plan_rate(&p, bound);
	return plan_sizes(&p);
}

static const struct opt *const options[] = { own_options, json_option, NULL };

const struct command cmd_plan = {
	.name = "plan",
	.group = ON_PAPER,
	.summary = "work out sizes and rates on paper",
	.operands = "",
	.notes = "With -n and -p: what each kind takes. With -n and -m (and -k): the rate of Bloom's filter. With --table: the\n"
		 "rates of the literature, a row for each number of bits per key, the best k in front, as far as one more than it.",
	.example = "bloomery plan -n 10m -p 0.001",
	.options = options,
	.run = run,
};
