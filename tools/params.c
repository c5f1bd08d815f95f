/* params.c - the options that say what a new filter is to be */
#include "params.h"
#include "numbers.h"
#include "terms.h"
#include "values.h"

#include <errno.h>

struct blm_params params = BLM_PARAMS();

static struct seeds seeds;
static uint64_t probes;
static bool untrusted;
static struct list with;

static int set_power_of_two(const struct opt *opt, const char *text)
{
	return set_list(opt, "power-of-two=1");
}

/* An option of the kind that has a name of its own. */
static int set_own(const struct opt *opt, const char *text)
{
	char pair[64];

	if ((size_t)snprintf(pair, sizeof(pair), "%s=%s", opt->name, text) >= sizeof(pair))
		return misuse("--%s %.40s...: is too long for a span of time; write it like 90d",
			      opt->name, text);
	return set_list(&(struct opt){ .name = "with", .target = opt->target }, pair);
}

static int set_partition(const struct opt *opt, const char *text)
{
	const char *slash = strchr(text, '/');
	char first[24] = "";
	uint64_t part, parts;

	if (slash && (size_t)(slash - text) < sizeof(first))
		memcpy(first, text, (size_t)(slash - text));
	if (!*first || parse_number(first, &part) < 0 || parse_number(slash + 1, &parts) < 0)
		return misuse("--%s %s: not a part; write it like 3/16, which is the third of 16",
			      opt->name, text);
	if (!part || part > parts || parts > BLM_SPLIT_MAX)
		return misuse("--%s %s: parts are numbered from 1 to N, and N is at most %d",
			      opt->name, text, BLM_SPLIT_MAX);
	params.split_part = (uint32_t)part - 1;
	params.split_parts = (uint32_t)parts;
	return DONE;
}

const struct opt size_options[] = {
	{ 'n', "capacity", "KEYS", "the number of keys to make room for", set_number,
	  &params.capacity, 1,
	  BLM_CAPACITY_MAX },
	{ 'p', "rate", "P", "false positives at capacity, like 0.001 or 0.1% (default: 0.01)",
	  set_rate, &params.rate },
	{ 'm', "bits", "M", "take exactly M bits, or M cells of several bits", set_number,
	  &params.cells, 1, BLM_CELLS_MAX },
	{ 'k', "probes", "K", "take exactly K probes for each key", set_number, &probes, 1,
	  BLM_PROBES_MAX },
	{ 0, "kind", "KIND", "the kind of filter, see 'bloomery kinds'", set_text, &params.kind },
	{ 0, "scheme", "SCHEME", "the rule from the hash to the bits, see 'bloomery schemes' "
	  "(the kinds classic and scalable)", set_text, &params.scheme },
	{ 0, "with", "NAME=VALUE", "an option of the kind, or several with commas", set_list,
	  &with },
	{ 0, "span", "SPAN", "how long keys are remembered, like 90d: --with span=SPAN (the kinds "
	  "recent and window)", set_own, &with },
	{ 0, "tick", "SPAN", "how exact the times are: --with tick=SPAN (the kind recent)",
	  set_own, &with },
	{ 0 }
};
const struct opt make_options[] = {
	{ 0, "hash", "HASH", "the hash family, see 'bloomery hashes'", set_text, &params.hash },
	{ 0, "untrusted", NULL, "keys may come from an adversary: use a keyed hash, --hash "
	  "siphash",
	  set_flag, &untrusted },
	{ 0, "seed", "N", "a seed instead of a random one; repeat it if the hash takes several",
	  set_seed, &seeds },
	{ 0, "tweak", "N", "the tweak, for hashes that take one", set_word, &params.tweak },
	{ 0 }
};
const struct opt file_options[] = {
	{ 0, "mode", "BITS", "permission bits of the file, octal (default: those of the file "
	  "that it replaces, else 0644 less the umask)", set_mode, &params.mode },
	{ 0, "sparse", NULL, "do not allocate the space now: adding fails on a full disk", set_flag,
	  &params.sparse },
	{ 0, "no-checkpoint", NULL, "no checkpoint image: a third of the space, but unusable after "
	  "some power cuts", set_flag, &params.no_checkpoint },
	{ 0 }
};
const struct opt create_options[] = {
	{ 0, "power-of-two", NULL, "for split-block: --with power-of-two=1", set_power_of_two,
	  &with },
	{ 0, "format", "FORMAT", "make it as another program would, for an export to it, see "
	  "'bloomery formats'", set_text, &params.format },
	{ 0, "partition", "I/N", "only part I, from 1, of the N parts of the filter; 'bloomery "
	  "join' makes the filter from all parts", set_partition, &params },
	{ 0, "force", NULL, "replace the filter that has this name", set_flag,
	  &params.replace },
	{ 0 }
};
const struct opt mode_option[] = {
	{ 0, "mode", "BITS", "permission bits of the file, octal (default: those of the file "
	  "that it replaces, else 0644 less the umask)", set_mode, &params.mode },
	{ 0 }
};

const struct opt hash_key_options[] = {
	{ 0, "block-hash", "HEX", "the seeds of --hash siphash64, from the hash of a block of "
	  "Bitcoin", set_block_hash, &seeds },
	{ 0, "hash-key", "HEX", "the same, as the 16 bytes of the key", set_hash_key, &seeds },
	{ 0 }
};

bool params_given(void)
{
	return params.capacity || params.rate > 0 || params.cells || probes || params.kind
		|| params.scheme || with.text[0] || params.hash || untrusted ||
	       seeds.count || params.tweak || params.mode || params.sparse || params.no_checkpoint;
}

void params_of_file(struct blm_exchange *ret)
{
	ret->cells = params.cells;
	ret->probes = probes;
	ret->hash = params.hash;
	params.cells = probes = 0;
	params.hash = NULL;
}

int params_with(const char *name, uint64_t value)
{
	char text[64];

	snprintf(text, sizeof(text), "%s=%llu", name, (unsigned long long)value);
	return set_list(&(struct opt){ .name = "with", .target = &with }, text);
}

/* The first keyed family, or the one of that name if it is keyed; else NULL. */
static const char *keyed_family(const char *name)
{
	struct blm_hash_info hash;

	for (size_t i = 0; blm_hash_list(i, &hash) == 0; i++)
		if (hash.keyed && (!name || !strcmp(name, hash.name)))
			return hash.name;
	return NULL;
}

int params_finish(void)
{
	const uint8_t *secret;
	int code;

	if (untrusted && !keyed_family(params.hash))
		return misuse("--untrusted and --hash %s exclude each other: it takes a keyed "
			      "family, like %s", params.hash,
			      keyed_family(NULL));
	if (untrusted)
		params.hash = keyed_family(params.hash);
	params.probes = (uint32_t)probes;
	params.options = with.text[0] ? with.text : NULL;
	params.seeds = seeds.seed;
	params.seed_count = seeds.count;
	code = find_secret(&secret);
	params.secret = secret;
	return code;
}

int params_check(void)
{
	struct blm_plan plan;
	int code;

	if (!params.capacity && !params.cells)
		return misuse("a new filter needs its capacity, -n KEYS (with -p RATE), or its "
			      "bits, -m M");
	code = params_finish();
	if (code == DONE && blm_plan(&plan, &params) < 0)
		return misuse("%s", own_terms(blm_error_message()));
	if (code == DONE && !quiet && params.format && params.rate
	    && plan.predicted_rate > 1.1 * params.rate)
		say("warning: %s sizes its filters in another way: with %llu keys in %llu bits "
		    "the rate is %s, not %g as asked", params.format,
		    (unsigned long long)plan.capacity, (unsigned long long)plan.cells,
		    show_rate(plan.predicted_rate), params.rate);
	return code;
}

int make_filter(struct blm_filter **ret, const struct place *place)
{
	int r = blm_create(ret, place->store, place->name, &params);

	if (r >= 0)
		warn_of_place(*ret, place->name);
	return r;
}

static int tell_of_differences(const char *message, bool same)
{
	if (same)
		return broken("%s, which --create-same refuses", message);
	if (!quiet)
		say("warning: %s", message);
	return DONE;
}

int open_or_make(struct blm_filter **ret, const char *name, bool same)
{
	const bool sized = params.capacity || params.cells;
	struct place place;
	int code = sized ? params_check() : params_finish(), r;

	if (code == DONE && !sized && !is_path(name) && is_store_missing())
		return params_check();		/* says what is missing */
	if (code == DONE)
		code = find_place(&place, name, sized ? BLM_STORE_CREATE : 0);
	if (code != DONE)
		return code;
	r = blm_open_or_create(ret, place.store, place.name, &params);
	if (r == -EINVAL && !sized)
		return params_check();
	if (r < 0)
		return fail(r);
	if (r == BLM_CREATED)
		warn_of_place(*ret, name);
	code = r == BLM_DIFFERS ? tell_of_differences(own_terms(blm_error_message()), same) : DONE;
	if (code != DONE)
		blm_close(*ret);
	return code;
}
