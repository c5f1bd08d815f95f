/* commands.c - the list of commands, and what they share */
#include "jobs.h"
#include "numbers.h"
#include "params.h"
#include "place.h"
#include "values.h"

static const struct command *const commands[] = { &cmd_build, &cmd_claim, &cmd_corpus, &cmd_test,
						  &cmd_union };

const struct command *command_at(size_t i)
{
	return i < ARRAY_LEN(commands) ? commands[i] : NULL;
}

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

int command_unknown(const char *name)
{
	return misuse("no command '%s'; there are build, claim, corpus, test and union", name);
}

/* ---- One template on all ranks ---- */

static bool is_keyed(const char *name)
{
	struct blm_hash_info hash;

	for (size_t i = 0; name && blm_hash_list(i, &hash) == 0; i++)
		if (!strcmp(hash.name, name))
			return hash.keyed;
	return false;
}

static struct blm_filter *empty(void)
{
	struct blm_params p = params;
	struct blm_filter *f;

	p.sparse = true;
	p.replace = false;
	must_have(blm_create(&f, NULL, NULL, &p));
	return f;
}

struct blm_filter *common_template(struct blm_info *info)
{
	static struct seeds seeds;
	struct blm_filter *f;

	if (params.format)
		all_give_up(misuse("--format: the ranks make filters of this program; write the "
				   "new one with 'bloomery export'"));
	if (params.split_parts)
		all_give_up(misuse("--partition: the ranks divide the filter themselves; 'bloomery "
				   "build' takes the option"));
	if (is_keyed(params.hash) && !params.secret)
		all_give_up(misuse("--hash %s: all ranks need one secret; give it with --key-file "
				   "FILE", params.hash));
	*info = BLM_INFO;
	if (!rank) {
		f = empty();
		must_have(blm_info(f, info));
		blm_close(f);
		memcpy(seeds.seed, info->seeds, sizeof(seeds.seed));
		seeds.count = info->seed_count;
	}
	from_first(&seeds, sizeof(seeds));
	if (seeds.count) {
		params.seeds = seeds.seed;
		params.seed_count = seeds.count;
	}
	f = empty();
	*info = BLM_INFO;
	must_have(blm_info(f, info));
	return f;
}

/* A classic filter takes every hash, and filters of all kinds hash alike. */
struct blm_filter *hashing_template(void)
{
	struct blm_params wanted = params;
	struct blm_info info;
	struct blm_filter *f;

	params.kind = "classic";
	params.options = NULL;
	params.capacity = 1000;
	params.cells = 0;
	params.probes = 0;
	f = common_template(&info);
	wanted.seeds = params.seeds;
	wanted.seed_count = params.seed_count;
	params = wanted;
	return f;
}

/* ---- Hashes and their owners ---- */

void hash_batch(struct hashed *ret, const struct blm_filter *by, const struct batch *b,
		uint32_t parts)
{
	if (ret->capacity < b->count) {
		hashed_free(ret);
		ret->capacity = b->count;
		ret->hashes = must_alloc(ret->capacity, sizeof(*ret->hashes));
		ret->owners = must_alloc(ret->capacity, sizeof(*ret->owners));
	}
	must_have(blm_hash_many(by, b->keys, b->count, ret->hashes));
	if (parts)
		find_owners(by, ret->hashes, b->count, parts, ret->owners);
	else
		memset(ret->owners, 0, b->count * sizeof(*ret->owners));
}

void find_owners(const struct blm_filter *by, const struct blm_hash *hashes, size_t count,
		 uint32_t parts, uint32_t *ret)
{
	must_have(blm_part_owners(by, blm_hash_id(by), hashes, count, parts, ret));
}

void hashed_free(struct hashed *h)
{
	free(h->hashes);
	free(h->owners);
	*h = (struct hashed){ 0 };
}

bool has_owners(const struct blm_filter *f)
{
	struct blm_hash hash = { 0 };
	uint32_t owner;

	return blm_part_owners(f, blm_hash_id(f), &hash, 1, 1, &owner) == 0;
}

/* ---- Progress ---- */

static bool wanted;
const struct opt progress_of_ranks[] = {
	{ 0, "progress", NULL, "show every few seconds how far the ranks are, and which one is "
	  "slow", set_flag, &wanted },
	{ 0 }
};

enum { EVERY = 2 };	/* seconds */

/* Is a line due? */
static bool is_due(bool at_end)
{
	static double begun, last;
	double now = seconds();

	if (!begun)
		begun = last = now;
	if (!wanted || (!at_end && now - last < EVERY))
		return false;
	last = now;
	return true;
}

/* Each rank says it, where no rank knows of the others. */
void show_keys(const struct reader *r, bool at_end)
{
	if (is_due(at_end))
		say("%s keys read; reading took %.1f s", show_count(r->keys), r->busy);
}

void show_round(const struct side *s, bool at_end)
{
	uint64_t keys = 0;
	int slow = 0, quick = 0;

	if (rank || !is_due(at_end))
		return;
	for (int r = 0; r < ranks; r++) {
		keys += s->got[r].keys;
		if (s->got[r].busy > s->got[slow].busy)
			slow = r;
		if (s->got[r].busy < s->got[quick].busy)
			quick = r;
	}
	say("%s keys read; the slowest is rank %d: %s keys in %.1f s of reading and hashing; the "
	    "quickest is rank %d: %s keys in %.1f s", show_count(keys), slow,
	    show_count(s->got[slow].keys), (double)s->got[slow].busy / 1e6, quick,
	    show_count(s->got[quick].keys), (double)s->got[quick].busy / 1e6);
}
