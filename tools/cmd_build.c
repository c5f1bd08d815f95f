/* cmd_build.c - bloomery build: a filter made from all its keys at once */
#include "command.h"
#include "params.h"
#include "place.h"
#include "progress.h"
#include "ranges.h"
#include "signals.h"
#include "source.h"
#include "stream.h"
#include "terms.h"
#include "values.h"

#include <errno.h>

static uint64_t memory, value_bits, check_bits, width;
static const char *key_type;
static bool seal;
static struct {
	char **files;
	size_t count;
} excluded;

static int set_excluded(const struct opt *opt, const char *text)
{
	char **more = realloc(excluded.files, (excluded.count + 1) * sizeof(*more));

	if (!more)
		return broken("out of memory");
	excluded.files = more;
	more[excluded.count++] = (char *)text;
	return DONE;
}

static const struct opt own_options[] = {
	{ 0, "memory", "SIZE", "bytes for keys while they are sorted (default: 1Gi); more go to a "
	  "temporary file next to F", set_number, &memory,
	  64 << 10, UINT64_C(1) << 46 },
	{ 0, "not", "FILE", "keys that the filter must deny (repeatable): --kind exact",
	  set_excluded, NULL },
	{ 0, "seal", NULL, "make F read-only for good, with checksums; kinds that can only be "
	  "built always are",
	  set_flag, &seal },
	{ 0, "value-bits", "V", "width of the values: --with value-bits=V", set_number, &value_bits,
	  1, 64 },
	{ 0, "check-bits", "C", "a key that was not given has a value once in 2^C, 1 to 64: "
	  "--with check-bits=C (default: the fewest that keep -p)", set_number, &check_bits, 1,
	    64 },
	{ 0, "keys", "TYPE", "what the keys of a range filter are: uint, int, time, ip, cidr, "
	  "string or surt", set_text, &key_type },
	{ 0, "width", "N", "-p holds for ranges of up to N numbers, seconds or addresses: --with "
	  "width=N (default: 1024)", set_number, &width, 1, UINT64_C(1) << 40 },
	{ 0 }
};

struct job {
	struct blm_build *b;
	bool values;		/* each line has a key and a value */
};

/* Some of a batch's keys; values NULL: it has none. */
static int give(struct job *job, const struct batch *batch, const uint64_t *values, size_t at,
		size_t count)
{
	return values ? blm_build_put_many(job->b, batch->keys + at, values + at, count)
		: blm_build_add_many(job->b, batch->keys + at, count);
}

/*
 * One of them is none that the filter can have: which line is it? Those before it change nothing
 * when they come once more.
 */
static int refuse_line(struct job *job, struct batch *batch, const uint64_t *values, size_t count)
{
	char reason[MESSAGE];

	for (size_t i = 0; i < count; i++)
		if (give(job, batch, values, i, 1) < 0) {
			snprintf(reason, sizeof(reason), "is refused: %s",
				 own_terms(blm_error_message()));
			return batch_refuse(batch, i, reason);
		}
	return fail(-EINVAL);
}

static int give_all(struct job *job, struct batch *batch, const uint64_t *values, size_t count)
{
	int r = give(job, batch, values, 0, count);

	return r == -ERANGE || r == -EINVAL ? refuse_line(job, batch, values, count) : r < 0
		? fail(r) : DONE;
}

/* The answers' room has a bit a key, so values want some of their own. */
static int add_values(struct job *job, struct batch *batch)
{
	uint64_t *values = malloc((batch->count + 1) * sizeof(*values));
	const char *reason = NULL;
	char buffer[WHY];
	size_t good = 0;
	int code;

	if (!values)
		return broken("out of memory");
	while (good < batch->count && !(reason = batch_value(&values[good], batch, good, buffer)))
		good++;
	if (reason)
		batch_refuse(batch, good, reason);
	code = give_all(job, batch, values, good);
	free(values);
	return code;
}

static int add(struct batch *batch, void *context)
{
	struct job *job = context;

	return job->values ? add_values(job, batch) : give_all(job, batch, NULL, batch->count);
}

static int exclude(struct batch *batch, void *context)
{
	struct job *job = context;
	int r = blm_build_exclude_many(job->b, batch->keys, batch->count);

	return r < 0 ? fail(r) : DONE;
}

static int count(struct batch *batch, void *context)
{
	return DONE;	/* the stream shows how far it is */
}

static void show(void *context, const char *phase, uint64_t done, uint64_t total)
{
	progress_of(phase, done, total);
}

static bool kind_can(const char *name, unsigned can)
{
	struct blm_kind_info kind;

	for (size_t i = 0; name && blm_kind_list(i, &kind) == 0; i++)
		if (!strcmp(name, kind.name))
			return (kind.can & can) == can;
	return false;
}

/* Before any key is read. */
static int check_excluded(char **files, size_t count)
{
	char standard_input[] = "-", *alone[] = { standard_input };

	if (!excluded.count)
		return DONE;
	if (!params.kind)
		params.kind = "exact";
	if (!kind_can(params.kind, BLM_CAN_EXCLUDE))
		return misuse("build: --not names keys that a filter denies, and the kind %s "
			      "takes none; use --kind exact", params.kind);
	if (!count && !given_keys.count) {
		files = alone;
		count = 1;
	}
	for (size_t i = 0; i < excluded.count; i++) {
		for (size_t j = 0; j < count; j++)
			if (is_same_stream(files[j], excluded.files[i]))
				return misuse("build: the keys and --not %s both read standard "
					      "input, or one pipe; put one list into a file",
					      excluded.files[i]);
		for (size_t j = 0; j < i; j++)
			if (is_same_stream(excluded.files[j], excluded.files[i]))
				return misuse("build: --not %s is given twice, and can be read "
					      "once", excluded.files[i]);
	}
	return DONE;
}

/* The keys of the filter, then those that it denies. */
static int read_all(struct job *job, char **files, size_t count_of_files)
{
	struct work adding = { .ahead = add, .in_turn = count, .context = job },
		excluding = { .ahead = exclude, .in_turn = count, .context = job,
			      .given = &no_keys };
	int code = each_batch(files, count_of_files, &adding);

	if (code == DONE && excluded.count && !stopping())
		code = each_batch(excluded.files, excluded.count, &excluding);
	return code;
}

/* The type of the keys is the filter's hash, which keeps them in order. */
static int take_key_type(void)
{
	const char *hash = hash_of_keys(key_type);

	if (!hash)
		return misuse("--keys %s: there is no such type; write --keys uint, int, time, ip, "
			      "cidr, string or surt", key_type);
	if (params.hash)
		return misuse("--keys %s and --hash %s exclude each other: the type of the keys is "
			      "the hash %s", key_type, params.hash, hash);
	params.hash = hash;
	return DONE;
}

/* Keys that have a column have a hash of their own, too. */
static int take_columns(void)
{
	if (params.hash && strcmp(params.hash, HASH_OF_COLUMNS))
		return misuse("--partition-field and --hash %s exclude each other: keys with a "
			      "column have the hash " HASH_OF_COLUMNS, params.hash);
	params.hash = HASH_OF_COLUMNS;
	if (!params.kind)
		params.kind = "exact";
	return DONE;
}

static int begin(struct job *job, const char *name)
{
	const struct blm_build_options options = {
		.threads = (unsigned)jobs_wanted(), .memory_bytes = memory, .sealed = seal,
		.progress = show,
	};
	struct place place;
	int code = DONE, r;

	if (value_bits)
		code = params_with("value-bits", value_bits);
	if (code == DONE && check_bits)
		code = params_with("check-bits", check_bits);
	if (code == DONE && width)
		code = params_with("width", width);
	if (code == DONE && key_type)
		code = take_key_type();
	if (code == DONE && keys_have_columns())
		code = take_columns();
	if (width && !params.kind && !params.hash && !params.format)
		params.kind = "range";
	if (code == DONE)
		code = params_finish();
	if (code == DONE)
		code = find_place(&place, name, BLM_STORE_CREATE);
	if (code != DONE)
		return code;
	r = blm_build_begin(&job->b, place.store, place.name, &params, &options);
	return r < 0 ? fail(r) : DONE;
}

static int run(int operands_count, char **operands)
{
	struct job job = { .values = kind_can(params.kind, BLM_CAN_BUILD | BLM_CAN_GET) };
	struct blm_filter *made = NULL;
	struct blm_info info = BLM_INFO;
	int code = check_excluded(operands + 1, (size_t)operands_count - 1), r;

	if (code == DONE)
		code = job.values ? given_with_values("build") : given_without_values("build");
	if (code == DONE)
		code = begin(&job, operands[0]);
	if (code != DONE)
		return code;
	if (job.values)
		keys_in_first_column();
	code = read_all(&job, operands + 1, (size_t)operands_count - 1);
	/* it can take long, and the filter appears only at its end */
	let_signals_kill();
	if (code != DONE || stopping()) {
		blm_build_cancel(job.b);
		return code;
	}
	progress_begin(0);
	progress_of_calls_too();
	r = blm_build_finish(job.b, &made);
	if (r == 0 && blm_info(made, &info) == 0)
		progress_made(info.bytes);
	progress_end_of_call(r);
	if (r < 0)
		return fail(r);
	warn_beyond(made, operands[0]);
	blm_close(made);
	return DONE;
}

static const struct opt *const options[] = { own_options, size_options, make_options, file_options,
					     create_options, hash_key_options,
					     key_options, partition_option, value_options,
					     jobs_option,
					     threads_option, progress_option, quiet_option,
					     key_option, store_option, NULL };

const struct command cmd_build = {
	.name = "build",
	.group = ON_FILTERS,
	.summary = "make a filter from all its keys at once",
	.operands = "F [FILE...]",
	.least = 1, .most = -1,
	.notes = "The smallest kinds can only be built, and do not change afterwards: --kind "
	"ribbon is the smallest of all. Without --kind the filter is blocked, and keys can be "
	"added later. The filter is for as many keys as there are, each counted once. So -n is "
	"needed only for the kinds stable, window and iblt, for --format other than bip158 and "
	"bloomery, and for hashes that are made once per probe. The filter appears when it is "
	"whole; the old F serves until then. Kinds that hold values take them from the second "
	"column (--value-field); the key is the first. The same keys and --seed give the same "
	"data, in any order and with any -j and --memory. --not makes an exact filter, which "
	"gives no wrong answer about keys of the two lists; a key on both is in the filter. "
	"Without -p it is as small as possible, and info shows its rate for all other keys. "
	"--partition I/N reads all keys and keeps those of one part, in 1/N of the memory: give "
	"each of the N jobs the same keys, -n, -p and --seed.",
	.example = "bloomery build ./blocked -p 0.0001 --kind golomb blacklist.txt.gz",
	.options = options,
	.run = run,
};
