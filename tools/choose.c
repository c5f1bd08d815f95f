/*
 * choose.c - the lines whose keys a filter may contain: questions ahead by any thread, answers in
 * turn
 */
#include "choose.h"
#include "answers.h"
#include "load.h"
#include "place.h"
#include "prefixes.h"
#include "ranges.h"
#include "stream.h"

/* Asks for the keys that a key can stand for, or for the keys themselves. */
static int64_t ask_keys(const struct choice *choice, const struct blm_key *keys, size_t count,
			uint64_t *ret_bits)
{
	const struct blm_when when = BLM_WHEN(.within = choice->within);
	int64_t r = choice->within ? blm_contains_within(choice->f, keys, count, &when, ret_bits)
		: blm_contains_many(choice->f, keys, count, ret_bits);

	if (r < 0)
		fail(r);
	return r;
}

static int64_t ask_prefixes(const struct choice *choice, struct batch *batch)
{
	struct prefixes p;
	int64_t r;

	if (!longest_prefixes(&p, batch->keys, batch->count, choice->prefixes_end)) {
		broken("out of memory");
		return -1;
	}
	r = ask_keys(choice, p.keys, p.count, batch->bits);
	prefixes_free(&p);
	return r;
}

/* How many answers are yes, of those before a line that is wrong; negative, after a message. */
static int64_t answers(const struct choice *choice, struct batch *batch)
{
	if (choice->ranges)
		return ask_ranges(choice->f, batch);
	if (choice->prefixes_end)
		return ask_prefixes(choice, batch);
	return ask_keys(choice, batch->keys, batch->count, batch->bits);
}

static int ask(struct batch *batch, void *context)
{
	const struct choice *choice = context;
	int64_t found = answers(choice, batch), spared;
	uint64_t yes = (uint64_t)found;

	if (found < 0)
		return FAILED;
	spared = yes && !choice->ranges && !choice->prefixes_end
		? blm_allowlist_filter(choice->f, batch->keys, batch->count, batch->bits) : 0;
	if (spared < 0)
		return fail(spared);
	yes -= (uint64_t)spared;
	batch->yes = choice->invert ? batch->count - yes : yes;
	if (choice->silent || choice->count_only)
		return DONE;
	return gather_answers(batch, !choice->invert, "present");
}

static int tell(struct batch *batch, void *context)
{
	struct choice *choice = context;

	choice->read += batch->read;
	choice->chosen += batch->yes;
	if (choice->silent)
		return choice->chosen ? ENOUGH : DONE;
	return choice->count_only ? DONE : print_gathered(batch);
}

/* Not inlined, because the struct is larger than two pages, which few questions need. */
static __attribute__((noinline)) int check_hash(const struct blm_filter *f, const char *name)
{
	struct blm_info info = BLM_INFO;
	int r = blm_info(f, &info);

	return r < 0 ? fail(r) : check_columns(&info, name);
}

int choose_from(struct choice *choice, const char *name)
{
	int code = open_filter(&choice->f, name, false, BLM_STORE_READ);

	if (code == DONE && keys_have_columns())
		code = check_hash(choice->f, name);
	return code == DONE ? load(choice->f) : code;
}

int choose_lines(struct choice *choice, char **files, size_t count)
{
	const struct work work = { .ahead = ask, .in_turn = tell, .context = choice,
				   .given = choice->given };

	return each_batch(files, count, &work);
}

int end_choice(struct choice *choice, int code)
{
	blm_close(choice->f);
	return code == DONE && !choice->chosen ? NO : code;
}
