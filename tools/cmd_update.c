/* cmd_update.c - bloomery update: some keys into a filter that was built, and some out of it */
#include "command.h"
#include "place.h"
#include "progress.h"
#include "signals.h"
#include "source.h"
#include "stream.h"
#include "terms.h"
#include "values.h"

#include <errno.h>

static char *coming, *going, *denied;
static struct given keys_in = { .option = "--add-key" }, keys_out = { .option = "--remove-key" };
static uint64_t memory;

static int refuse_key(const struct opt *opt, const char *text)
{
	return misuse("update: --%s %s: write --add-key or --remove-key, to add or to remove the "
		      "key",
		      opt->name, text);
}

static const struct opt own_options[] = {
	{ 0, "add", "FILE", "keys that come in; - is stdin", set_text, &coming },
	{ 0, "remove", "FILE", "keys that go", set_text, &going },
	{ 0, "not", "FILE", "all keys that an exact filter denies; --add then has all of its "
	  "keys", set_text, &denied },
	{ 0, "add-key", "KEY", "a key that comes in (repeatable)", set_given, &keys_in },
	{ 0, "remove-key", "KEY", "a key that goes (repeatable)", set_given, &keys_out },
	{ 0, "key", "KEY", NULL, refuse_key, NULL },
	{ 0, "memory", "SIZE", "bytes for keys while they are sorted (default: 1Gi)", set_number,
	  &memory, 64 << 10, UINT64_C(1) << 46 },
	{ 0 }
};

/*
 * One of them is none that the filter can have: which line is it? The update ends with it, so those
 * before it may come once more.
 */
static int give(struct blm_update *u, struct batch *batch,
		int (*to)(struct blm_update *u, const struct blm_key *keys, size_t count))
{
	int r = to(u, batch->keys, batch->count);
	char reason[MESSAGE];

	for (size_t i = 0; r == -EINVAL && i < batch->count; i++)
		if (to(u, &batch->keys[i], 1) < 0) {
			snprintf(reason, sizeof(reason), "is refused: %s",
				 own_terms(blm_error_message()));
			return batch_refuse(batch, i, reason);
		}
	return r < 0 ? fail(r) : DONE;
}

static int add(struct batch *batch, void *context)
{
	return give(context, batch, blm_update_add_many);
}

static int take_out(struct batch *batch, void *context)
{
	return give(context, batch, blm_update_remove_many);
}

static int count(struct batch *batch, void *context)
{
	return DONE;	/* the stream shows how far it is */
}

static void show(void *context, const char *phase, uint64_t done, uint64_t total)
{
	progress_count_in("keys");
	progress_of(phase, done, total);
}

/* Which keys must be named follows from the kind. */
static int check_lists(const struct place *place, const char *name, const uint8_t *secret)
{
	struct blm_info info = BLM_INFO;
	struct blm_filter *f;
	int r = open_place(&f, place, false, secret);

	if (r < 0)
		return fail(r);
	r = blm_info(f, &info);
	blm_close(f);
	if (r < 0)
		return fail(r);
	if (info.can & BLM_CAN_EXCLUDE && !denied)
		return misuse("update: %s is an %s filter: name all keys that it has with --add, "
			      "and all that it denies with --not", name, info.kind);
	if (denied && !(info.can & BLM_CAN_EXCLUDE))
		return misuse("update: --not names all keys that an exact filter denies, and %s is "
			      "a %s filter", name, info.kind);
	return check_columns(&info, name);
}

static int begin(struct blm_update **ret, struct place *place, const char *name)
{
	const struct blm_build_options options = { .threads = (unsigned)jobs_wanted(),
						   .memory_bytes = memory, .progress = show };
	const uint8_t *secret;
	int code = find_secret(&secret), r;

	if (code == DONE)
		code = find_place(place, name, 0);
	if (code == DONE)
		code = check_lists(place, name, secret);
	if (code != DONE)
		return code;
	r = blm_update_begin(ret, place->store, place->name, secret, &options);
	return r < 0 ? fail(r) : DONE;
}

static int finish(struct blm_update *u, const struct place *place, const char *name)
{
	struct blm_filter *f;
	int r;

	progress_of_calls();
	r = blm_update_finish(u);
	progress_end_of_call(r);
	if (r < 0)
		return fail(r);
	if (open_place(&f, place, false, NULL) == 0) {
		warn_beyond(f, name);
		blm_close(f);
	}
	return DONE;
}

static int check_streams(void)
{
	const struct { const char *option, *file; } all[] = {
		{ "--add", coming }, { "--remove", going }, { "--not", denied } };

	for (size_t i = 1; i < 3; i++)
		for (size_t j = 0; j < i; j++)
			if (all[i].file && all[j].file
			    && is_same_stream(all[i].file, all[j].file))
				return misuse("update: %s %s and %s %s both read standard input, "
					      "or one pipe; put the keys of one into a file",
					      all[j].option, all[j].file, all[i].option,
					      all[i].file);
	return DONE;
}

static int run(int operands_count, char **operands)
{
	struct work adding = { .ahead = add, .in_turn = count, .given = &keys_in };
	struct work removing = { .ahead = take_out, .in_turn = count, .given = &keys_out };
	struct blm_update *u;
	struct place place;
	int code;

	if (!coming && !keys_in.count && !going && !keys_out.count && !denied)
		return misuse("update: give keys: --add FILE or --remove FILE, or --add-key KEY or "
			      "--remove-key KEY");
	code = check_streams();
	if (code == DONE)
		code = begin(&u, &place, operands[0]);
	if (code != DONE)
		return code;
	adding.context = removing.context = u;
	if (coming || keys_in.count)
		code = each_batch(&coming, coming ? 1 : 0, &adding);
	if ((going || keys_out.count) && code == DONE && !stopping())
		code = each_batch(&going, going ? 1 : 0, &removing);
	removing.given = &no_keys;
	if (denied && code == DONE && !stopping())
		code = each_batch(&denied, 1, &removing);
	let_signals_kill();	/* as in build */
	if (code != DONE || stopping()) {
		blm_update_cancel(u);
		return code;
	}
	return finish(u, &place, operands[0]);
}

static const struct opt *const options[] = { own_options, line_options, partition_option,
					     jobs_option,
					     progress_option, quiet_option, key_option,
					     store_option, NULL };

const struct command cmd_update = {
	.name = "update",
	.group = ON_FILTERS,
	.summary = "add keys to a filter that was built, and remove keys from it",
	.operands = "F [--add FILE] [--remove FILE] [--not FILE]",
	.least = 1, .most = 1,
	.notes = "For golomb and range filters it needs only the keys that change. A new file "
	"takes the place of the old one in one step. Keys can\n"
	"be removed only from a golomb filter that counts them ('build --with counted=1'); it "
	"has a key as often as the key was\n"
	"given. Remove only keys that were given: the removal of a false positive takes another "
	"key with it. An exact\n"
	"filter takes both lists as they are now, --add and --not, and becomes larger by the "
	"answers that change. For other built\n"
	"kinds 'build --force' makes a new filter from all keys.",
	.example = "bloomery update ./blocked --add new.txt",
	.options = options,
	.run = run,
};
