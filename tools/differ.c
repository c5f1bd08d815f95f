/*
 * differ.c - what two filters of one template differ by: the keys of each side, or about how many
 * there are
 */
#include "differ.h"
#include "fit.h"
#include "answers.h"
#include "describe.h"
#include "json.h"
#include "keys.h"
#include "numbers.h"
#include "progress.h"
#include "stream.h"

#include <math.h>

/* ---- Which ---- */

struct printing {
	const struct sides *sides;
	uint64_t alone[2];
};

static int print_key(void *context, const void *key, size_t len, bool in_b)
{
	struct printing *p = context;

	progress_hide();
	p->alone[in_b]++;
	if (p->sides->count_only)
		return 0;
	if (json) {
		answer_begin(stdout, &(struct blm_key){ key, len }, NULL);
		fprintf(stdout, ",\"only_in\":\"%s\"", in_b ? "second" : "first");
		answer_end(stdout);
		return ferror(stdout) ? 1 : 0;
	}
	fputs(in_b ? "> " : "< ", stdout);
	for (size_t i = 0; i < len && keys_are_hex(); i++)
		printf("%02x", ((const uint8_t *)key)[i]);
	if (!keys_are_hex())
		fwrite(key, 1, len, stdout);
	putchar(line_end());
	return ferror(stdout) ? 1 : 0;
}

int print_sides(const struct blm_filter *a, const struct blm_filter *b, const struct sides *sides)
{
	struct printing p = { .sides = sides };
	uint64_t all;
	int r;

	progress_of_calls();
	r = blm_difference_list(a, b, print_key, &p);
	progress_end_of_call(r);
	all = p.alone[0] + p.alone[1];
	if (r < 0)
		return fail(r);
	if (sides->count_only)
		print_count(all);
	if (sides->stats)
		say("%llu keys differ: %llu are only in the first, %llu only in the second",
		    (unsigned long long)all, (unsigned long long)p.alone[0],
		    (unsigned long long)p.alone[1]);
	return all ? DONE : NO;
}

static int add(struct batch *batch, void *context)
{
	int64_t r = blm_add_many(context, batch->keys, batch->count, NULL);

	return r < 0 ? fail(r) : DONE;
}

int print_sides_with_keys(const struct blm_filter *a, char **files, size_t count,
			  const struct sides *sides)
{
	struct blm_filter *own;
	int r = blm_template(&own, NULL, NULL, a, 0), code;

	if (r < 0)
		return fail(r);
	code = each_batch(files, count, &(struct work){ .in_turn = add, .context = own });
	if (code == DONE)
		code = print_sides(a, own, sides);
	blm_close(own);
	return code;
}

/* ---- How many ---- */

int print_difference(const struct blm_filter *a, const struct blm_filter *b)
{
	struct blm_value keys;
	struct blm_plan plan;
	struct blm_params params = BLM_PARAMS(.kind = "iblt");
	int r;

	progress_of_calls();
	r = blm_difference_estimate(a, b, &keys);
	progress_end_of_call(r);
	if (r == 0) {
		params.capacity = (uint64_t)fmin(0x1p63,
						 fmax(1, ceil(keys.value + 3 * keys.error)));
		r = blm_plan(&plan, &params);
	}
	if (r < 0)
		return fail(r);
	if (json) {
		json_begin();
		json_value("difference", &keys);
		json_count("capacity", plan.capacity);
		json_count("bytes", plan.data_bytes);
		json_end();
		return DONE;
	}
	fit_output(2);
	print_value("keys that differ ", &keys, "");
	printf("an iblt for them -n %llu, with keys of up to 32 bytes %s\n",
	       (unsigned long long)plan.capacity, show_bytes(plan.data_bytes));
	return DONE;
}
