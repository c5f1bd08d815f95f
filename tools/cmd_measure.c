/* cmd_measure.c - bloomery measure: how often a filter is wrong, by experiment */
#include "fit.h"
#include "foreign.h"
#include "json.h"
#include "keys.h"
#include "measure_plot.h"
#include "numbers.h"
#include "params.h"
#include "progress.h"
#include "svg.h"
#include "values.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <unistd.h>

enum { AT_ONCE = 4096, HALF = 8, KEY = 2 * HALF };

static uint64_t questions = 100000000, enough = 10000;
static const char *svg;
static const struct opt own_options[] = {
	{ 0, "questions", "N", "ask no more than N absent keys (default: 100m)", set_number,
	  &questions, 1, UINT64_C(1) << 50 },
	{ 0, "enough", "N", "stop after N false positives (default: 10k)", set_number, &enough, 1,
	  UINT64_C(1) << 50 },
	{ 0, "svg", "FILE", "also draw the rates, as SVG, into a new file", set_text, &svg },
	{ 0 }
};

/*
 * Keys of 16 bytes: some bytes that only this run has, and a number. For a kind that answers for
 * ranges the first 8 are a place, and two places are STEP apart, so that ranges of the width have
 * no key.
 */
#define STEP (UINT64_C(1) << 30)
struct keys {
	uint8_t bytes[AT_ONCE][KEY];
	uint64_t next;
	uint64_t width;		/* of ranges; 0: keys are asked for */
	uint64_t start;		/* ... below STEP / 2, where the places begin */
};

static int begin_keys(struct keys *keys)
{
	uint8_t own[HALF];

	if (getentropy(own, sizeof(own)) < 0)
		return broken("the system gives no random numbers");
	for (size_t i = 0; i < AT_ONCE; i++)
		memcpy(keys->bytes[i], own, HALF);
	keys->next = 0;
	return DONE;
}

static void next_keys(struct keys *keys, size_t count)
{
	for (size_t i = 0; i < count; i++, keys->next++) {
		uint64_t place = htobe64(keys->start + keys->next * STEP);

		memcpy(keys->bytes[i] + HALF, &keys->next, HALF);
		if (keys->width)
			memcpy(keys->bytes[i], &place, HALF);
	}
}

/* The width from the text of the kind's options; a caller that gives none has the usual one. */
static uint64_t width_in(const char *options)
{
	const char *at = options ? strstr(options, "width=") : NULL;

	return at ? strtoull(at + strlen("width="), NULL, 10) : 1024;
}

/* How to ask a kind that answers for ranges. Return: DONE, or an exit code with a message. */
static int set_width(struct keys *keys, unsigned can, const char *options, const char *hash)
{
	if (!(can & BLM_CAN_RANGE))
		return DONE;
	if (hash && strcmp(hash, "ordered-string"))
		return broken("measure: places are made for the hash ordered-string, not for %s; "
			      "'bloomery info' prints the rates of such a filter", hash);
	keys->width = width_in(options);
	if (keys->width > STEP / 2)
		return broken("measure: a width of %llu is too large to measure; the most is 2^29",
			      (unsigned long long)keys->width);
	memcpy(&keys->start, keys->bytes[0], HALF);
	keys->start %= STEP / 2;
	if (questions > UINT64_C(1) << 33)
		questions = UINT64_C(1) << 33;
	return DONE;
}

/* Any value does, but one of 1 and 0 may be none of the kind's. */
static int64_t put(struct blm_filter *f, const struct keys *keys, size_t count)
{
	static uint64_t values[AT_ONCE];
	struct blm_key each[AT_ONCE];
	int64_t r = -ERANGE;

	for (size_t i = 0; i < count; i++)
		each[i] = (struct blm_key){ keys->bytes[i], KEY };
	for (uint64_t value = 1; r == -ERANGE && value <= 1; value--) {
		for (size_t i = 0; i < count; i++)
			values[i] = value;
		r = blm_put_many(f, each, values, count, NULL);
	}
	return r;
}

static int never_wrong(const struct blm_info *i)
{
	return broken("a %s filter is never wrong, so there is nothing to measure", i->kind);
}

/* Up to its capacity, or until it is full. *ret: how many were given to it, if that is known. */
static int fill(struct blm_filter *f, struct keys *keys, uint64_t *ret)
{
	struct blm_info info = BLM_INFO;
	int64_t r = blm_info(f, &info);

	if (r >= 0 && info.can & BLM_EXACT)
		return never_wrong(&info);
	for (uint64_t done = 0; r >= 0 && done < info.capacity; done += AT_ONCE) {
		size_t count = info.capacity - done < AT_ONCE ? (size_t)(info.capacity - done)
			: AT_ONCE;

		next_keys(keys, count);
		r = info.can & BLM_CAN_PUT && !(info.can & BLM_CAN_ADD) ? put(f, keys, count)
			: blm_add_fixed(f, keys->bytes, KEY, count, NULL);
		progress_of("filling", done, info.capacity);
	}
	*ret = r < 0 ? 0 : keys->next;
	return r < 0 && r != -EXFULL ? fail(r) : DONE;
}

static unsigned can_of(const char *name)
{
	struct blm_kind_info kind;

	for (size_t i = 0; name && blm_kind_list(i, &kind) == 0; i++)
		if (!strcmp(name, kind.name))
			return kind.can;
	return BLM_CAN_ADD;
}

/* A kind that is made of all its keys at once. */
static int build(struct blm_filter **ret, struct keys *keys, uint64_t *ret_given)
{
	struct blm_build *b;
	int r = blm_build_begin(&b, NULL, NULL, &params, NULL);

	if (r < 0)
		return fail(r);
	for (uint64_t done = 0; r >= 0 && done < params.capacity; done += AT_ONCE) {
		static uint64_t values[AT_ONCE];
		struct blm_key each[AT_ONCE];
		size_t count = params.capacity - done < AT_ONCE ? (size_t)(params.capacity - done)
			: AT_ONCE;

		next_keys(keys, count);
		for (size_t i = 0; i < count; i++)
			each[i] = (struct blm_key){ keys->bytes[i], KEY };
		r = blm_build_add_many(b, each, count);
		if (r == -EINVAL)
			r = blm_build_put_many(b, each, values, count);
		progress_of("reading", done, params.capacity);
	}
	if (r < 0) {
		blm_build_cancel(b);
		return fail(r);
	}
	r = blm_build_finish(b, ret);
	*ret_given = params.capacity;
	return r < 0 ? fail(r) : DONE;
}

/* Ranges of the width that begin at these keys. */
static int64_t ask_ranges(const struct blm_filter *f, const struct keys *keys, size_t count)
{
	static struct blm_key first[AT_ONCE], last[AT_ONCE];
	static uint64_t ends[AT_ONCE];

	for (size_t i = 0; i < count; i++) {
		memcpy(&ends[i], keys->bytes[i], HALF);
		ends[i] = htobe64(be64toh(ends[i]) + keys->width - 1);
		first[i] = (struct blm_key){ keys->bytes[i], HALF };
		last[i] = (struct blm_key){ &ends[i], HALF };
	}
	return blm_contains_ranges(f, first, last, count, NULL);
}

/* It ends with the questions, or with enough false positives. */
static void show(const struct measured *m)
{
	double all = m->found ? (double)m->asked * ((double)enough / (double)m->found)
		: (double)questions;

	progress_of("asking", m->asked, (uint64_t)fmin(all, (double)questions));
}

static int ask(const struct blm_filter *f, struct keys *keys, struct measured *ret)
{
	struct measured m = { 0 };

	while (m.asked < questions && m.found < enough) {
		size_t count = questions - m.asked < AT_ONCE ? (size_t)(questions - m.asked)
			: AT_ONCE;
		int64_t found;

		next_keys(keys, count);
		found = keys->width ? ask_ranges(f, keys, count)
			: blm_contains_fixed(f, keys->bytes, KEY, count, NULL);
		if (found < 0)
			return fail(found);
		m.found += (uint64_t)found;
		m.asked += count;
		show(&m);
	}
	m.rate = (double)m.found / (double)m.asked;
	m.error = m.found ? sqrt(m.rate * (1 - m.rate) / (double)m.asked) : 3 / (double)m.asked;
	*ret = m;
	return DONE;
}

static void print_json(const struct blm_info *i, const struct measured *m, double formula,
		       const struct blm_estimate *e)
{
	json_begin();
	json_text("kind", i->kind);
	json_text("hash", i->hash);
	json_text("scheme", i->scheme);
	json_count("m", i->cells);
	json_count("k", i->probes);
	json_text("options", *i->options ? i->options : NULL);
	json_count("capacity", i->capacity);
	json_count("keys", i->keys);
	json_count("asked", m->asked);
	json_count("found", m->found);
	json_real("rate", m->rate);
	json_real("rate_error", m->error);
	json_real("formula", formula);
	json_real("predicted_rate", e ? e->rate.value : (double)NAN);
	json_end();
}

static void print(const struct blm_info *i, const struct measured *m, double formula,
		  const struct blm_estimate *e)
{
	fit_output(11);
	printf("kind       %s, m %llu, k %u%s%s\n", i->kind, (unsigned long long)i->cells,
	       i->probes, *i->options ? "; " : "", i->options);
	if (strcmp(i->scheme, "own"))
		printf("scheme     %s\n", i->scheme);
	printf("keys       %llu of %llu\n", (unsigned long long)i->keys,
	       (unsigned long long)i->capacity);
	printf("asked      %llu absent %s, %llu found\n", (unsigned long long)m->asked,
	       i->can & BLM_CAN_RANGE ? "ranges" : "keys", (unsigned long long)m->found);
	if (m->found)
		printf("measured   %.4g ± %.2g\n", m->rate, m->error);
	else
		printf("measured   0, at most %.2g (19 times of 20)\n", m->error);
	printf("formula    %.4g\n", formula);
	if (e)
		printf("from bits  %.4g\n", e->rate.value);
}

/* given: how many keys were added, where each that was taken for there already was not counted. */
static int measure(const struct blm_filter *f, struct keys *keys, uint64_t given)
{
	struct blm_estimate estimate;
	struct measured m;
	struct blm_info info = BLM_INFO;
	int r = blm_info(f, &info), estimated;
	double formula;

	if (r < 0)
		return fail(r);
	if (info.can & BLM_EXACT)
		return never_wrong(&info);
	if (!strcmp(info.hash, HASH_OF_COLUMNS))
		return broken("measure: the keys of this filter have a column, and each column has "
			      "its own rate; 'bloomery info' prints the largest");
	r = set_width(keys, info.can, info.options, info.hash);
	if (r != DONE)
		return r;
	r = ask(f, keys, &m);
	progress_end();
	if (r != DONE)
		return r;
	estimated = blm_estimate(f, true, &estimate);
	formula = given && given == info.capacity ? info.rate_at_capacity : info.rate_at_keys;
	(json ? print_json : print)(&info, &m, formula, estimated < 0 ? NULL : &estimate);
	return svg ? plot_measured(svg, &info, &m, formula,
				   estimated < 0 ? (double)NAN : estimate.rate.value) : DONE;
}

static int make(struct blm_filter **ret, struct keys *keys, uint64_t *ret_given)
{
	int code = params_check(), r;

	if (code != DONE)
		return code;
	code = set_width(keys, can_of(params.kind), params.options, params.hash);
	if (code != DONE)
		return code;
	if (!(can_of(params.kind) & (BLM_CAN_ADD | BLM_CAN_PUT)))
		return build(ret, keys, ret_given);
	r = blm_create(ret, NULL, NULL, &params);
	if (r < 0)
		return fail(r);
	code = fill(*ret, keys, ret_given);
	if (code != DONE)
		blm_close(*ret);
	return code;
}

static int run(int count, char **operands)
{
	static struct keys keys;
	struct blm_filter *f;
	uint64_t given = 0;
	int code = begin_keys(&keys);

	if (count)
		params_of_file(&foreign);
	if (count && params_given())
		return misuse("measure: a filter has its own kind and size: give either F, or -n "
			      "and other options");
	if (code == DONE && svg)
		code = svg_check(svg);
	progress_begin(0);
	if (code == DONE)
		code = count ? open_filter(&f, operands[0], false, BLM_STORE_READ)
			: make(&f, &keys, &given);
	if (code != DONE) {
		progress_end();
		return code;
	}
	code = measure(f, &keys, given);
	blm_close(f);
	return code;
}

static const struct opt *const options[] = { own_options, size_options, make_options, file_options,
					     json_option, progress_option, quiet_option,
					     foreign_option, maker_options, key_option,
					     store_option, NULL };

const struct command cmd_measure = {
	.name = "measure",
	.group = ON_PAPER,
	.summary = "measure how often a filter is wrong, and compare that with its formula",
	.operands = "[F]",
	.least = 0, .most = 1,
	.notes = "Without F, it measures a new filter in memory, made by -n, -p, --kind and the "
	"other options of create, and filled to its\n"
	"capacity. It asks for keys that are surely absent; the error is the standard error of "
	"that sample. 'formula' is the rate\n"
	"by m, k and the number of keys, 'from bits' the rate by the fill. A range filter is "
	"asked for ranges of its\n"
	"width. With F, -m, -k and --hash are for another program's file that does not have "
	"them.",
	.example = "bloomery measure -n 1m -p 0.001 --kind counting",
	.options = options,
	.run = run,
};
