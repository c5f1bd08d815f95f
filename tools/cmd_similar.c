/* cmd_similar.c - bloomery similar: what in a bank is most like a filter, or like one of its own */
#include "bank.h"
#include "place.h"
#include "progress.h"
#include "values.h"

static const char *id, *measure;
static const char *threshold, *alpha, *beta;
static uint64_t top;
static const struct opt own_options[] = {
	{ 0, "id", "ID", "the query is the filter of the bank with this id", set_text, &id },
	{ 0, "top", "N", "print at most the best N (default: 10, or all with --threshold)",
	  set_number, &top, 1, UINT64_C(1) << 40 },
	{ 0, "threshold", "T", "only filters that are at least this similar", set_text,
	  &threshold },
	{ 0, "measure", "NAME", "tanimoto (default), jaccard, containment, tversky", set_text,
	  &measure },
	{ 0, "alpha", "X", "tversky: the weight of a bit that only the query has (default: 1)",
	  set_text, &alpha },
	{ 0, "beta", "X", "tversky: the weight of a bit that only the other has (default: 1)",
	  set_text, &beta },
	{ 0 }
};

/* A number of 0 or more; NULL is `usual`. */
static int number(double *ret, const char *text, double usual, const char *option)
{
	char *end;

	*ret = usual;
	if (!text)
		return DONE;
	*ret = strtod(text, &end);
	return end != text && !*end && *ret >= 0 ? DONE
		: misuse("similar: --%s: \"%s\" is not a number from 0 on", option, text);
}

static int read_query(const struct blm_bank *bank, const char *name, void *ret)
{
	struct blm_filter *f;
	uint64_t row;
	int code, r;

	if (!name) {
		r = blm_bank_find(bank, id, &row);
		r = r < 0 ? r : blm_bank_read(bank, row, ret);
		return r < 0 ? fail(r) : DONE;
	}
	code = open_filter(&f, name, false, BLM_STORE_READ);
	if (code != DONE)
		return code;
	r = blm_bank_read_filter(bank, f, ret);
	blm_close(f);
	return r < 0 ? fail(r) : DONE;
}

static int search(const struct blm_bank *bank, const char *name, const struct blm_likeness *how)
{
	struct blm_bank_hit *hits;
	struct blm_bank_info info;
	uint64_t capacity;
	int64_t found;
	void *query;
	int code;

	blm_bank_info(bank, &info);
	capacity = top ? top : threshold ? info.rows : 10;
	capacity = capacity < info.rows ? capacity : info.rows;
	hits = calloc(capacity, sizeof(*hits));
	query = malloc(info.row_bytes);
	code = hits && query ? read_query(bank, name, query) : broken("similar: out of memory");
	progress_of_calls();
	found = code == DONE ? blm_bank_similar(bank, query, how, hits, capacity) : 0;
	progress_end_of_call(found);
	if (found < 0)
		code = fail(found);
	for (int64_t i = 0; code == DONE && i < found; i++)
		code = print_row(bank, hits[i].row, &hits[i]);
	free(hits);
	free(query);
	return code == DONE && !found ? NO : code;
}

static int run(int count, char **operands)
{
	struct blm_likeness how = { .measure = measure };
	struct blm_bank *bank;
	int code;

	if ((alpha || beta) && (!measure || strcmp(measure, "tversky")))
		return misuse("similar: --%s is a weight of --measure tversky, and %s has none",
			      alpha ? "alpha" : "beta", measure ? measure : "tanimoto");
	if (!id == (count == 1))
		return misuse("similar: give either a filter, or --id ID of a filter in the bank");
	code = number(&how.threshold, threshold, 0, "threshold");
	code = code == DONE ? number(&how.alpha, alpha, 1, "alpha") : code;
	code = code == DONE ? number(&how.beta, beta, 1, "beta") : code;
	code = code == DONE ? open_bank(&bank, operands[0]) : code;
	if (code != DONE)
		return code;
	code = search(bank, count > 1 ? operands[1] : NULL, &how);
	blm_bank_close(bank);
	return code;
}

static const struct opt *const options[] = { own_options, json_option, progress_option,
					     quiet_option, store_option, NULL };

const struct command cmd_similar = {
	.name = "similar",
	.group = ON_SETS,
	.summary = "print the filters of a bank that are most similar to a filter, best first; "
	"exit 1 if there are none",
	.operands = "BANK [FILTER]",
	.least = 1, .most = 2,
	.notes = "A line has the similarity, a tab and the id. The similarity is c / (alpha (a - "
	"c) + beta (b - c) + c), for a bits of\nthe query, b bits of the other and c bits of "
	"both. tanimoto has alpha = beta = 1; for bits it is the same as jaccard.\ncontainment "
	"has alpha = 1 and beta = 0: the share of the bits of the query.",
	.example = "bloomery similar ./drugs.bank --id 2244 --threshold 0.7",
	.options = options,
	.run = run,
};
