/* foreign.c - what a person knows of a file that another program made */
#include "foreign.h"
#include "numbers.h"
#include "values.h"

enum { KNOWN_MAX = 64 };

static struct blm_key known[KNOWN_MAX];
static struct seeds seeds;
struct blm_exchange foreign = BLM_EXCHANGE(.known = known, .seeds = seeds.seed, .strict = true);

static int take(const struct opt *opt, const char *text, const void *bytes, size_t count)
{
	if (foreign.known_count == KNOWN_MAX)
		return misuse("--%s %s: more than %d keys", opt->name, text, KNOWN_MAX);
	known[foreign.known_count++] = (struct blm_key){ bytes, count };
	return DONE;
}

static int set_known(const struct opt *opt, const char *text)
{
	return take(opt, text, text, strlen(text));
}

static int set_known_hex(const struct opt *opt, const char *text)
{
	uint8_t *bytes = malloc(strlen(text) / 2 + 1);	/* until the program ends */

	if (!bytes || !parse_hex(text, strlen(text), bytes))
		return misuse("--%s %s: not a key in hexadecimal digits, two for each byte",
			      opt->name, text);
	return take(opt, text, bytes, strlen(text) / 2);
}

static int set_row_group(const struct opt *opt, const char *text)
{
	int code = set_number(opt, text);

	foreign.row_group++;
	return code;
}

/* A value that was set stays. */
static int keep_seeds(int code)
{
	foreign.seed_count = seeds.count;
	return code;
}

static int set_seeds_of_block(const struct opt *opt, const char *text)
{
	return keep_seeds(set_block_hash(opt, text));
}

static int set_seeds_of_key(const struct opt *opt, const char *text)
{
	return keep_seeds(set_hash_key(opt, text));
}

const struct opt foreign_option[] = {
	{ 0, "format", "FORMAT", "the format of another program's file, if its beginning does "
	  "not show it", set_text, &foreign.format },
	{ 0, "column", "NAME", "the column of a Parquet file, if several columns have a filter",
	  set_text, &foreign.column },
	{ 0, "row-group", "N", "its row group, from 0, if several row groups have a filter",
	  set_row_group,
	  &foreign.row_group, 0, INT32_MAX },
	{ 0 }
};
const struct opt maker_options[] = {
	{ 0, "hash", "HASH", "the hash of another program's file, if the file does not name it",
	  set_text, &foreign.hash },
	{ 0, "probe", "KEY", "a key that is surely in the file, to find out the hash "
	  "(repeatable)",
	  set_known },
	{ 0, "probe-hex", "KEY", "the same, in hexadecimal digits", set_known_hex },
	{ 0, "record", "ID", "the filter to take, if another program's file has several",
	  set_text, &foreign.record },
	{ 'm', "bits", "M", "the number of bits in another program's file, if the file does not "
	  "say",
	  set_number, &foreign.cells, 1, BLM_CELLS_MAX },
	{ 'k', "probes", "K", "the number of probes for each key, if the file does not say",
	  set_number, &foreign.probes,
	  1, BLM_PROBES_MAX },
	{ 0, "block-hash", "HEX", "the hash of the block of a bip158 filter, which its file does "
	  "not have", set_seeds_of_block, &seeds },
	{ 0, "hash-key", "HEX", "the same, as the 16 bytes of the hash key",
	  set_seeds_of_key, &seeds },
	{ 0 }
};

bool foreign_given(void)
{
	return foreign.format || foreign.hash || foreign.record || foreign.known_count
		|| foreign.cells || foreign.probes || foreign.seed_count ||
	       foreign.column || foreign.row_group;
}
