/* cmd_label.c - bloomery label: notes that a filter of the store carries */
#include "describe.h"
#include "json.h"
#include "place.h"
#include "values.h"

static const char *unwanted;
static const struct opt own_options[] = {
	{ 'd', "delete", "KEY", "take this label away", set_text, &unwanted },
	{ 0 }
};

static int show(struct blm_store *store, const char *name)
{
	struct blm_info info = BLM_INFO;
	int r = blm_store_find(store, name, &info);

	if (r < 0)
		return fail(r);
	if (json) {
		json_begin();
		json_text("name", name);
		json_labels(info.labels);
		json_end();
	} else {
		fputs(info.labels, stdout);
	}
	return DONE;
}

static int set(struct blm_store *store, const char *name, char *label)
{
	char *value = strchr(label, '=');
	int r;

	*value = 0;
	r = blm_store_label(store, name, label, value + 1);
	return r < 0 ? fail(r) : DONE;
}

static int run(int count, char **operands)
{
	struct blm_store *store;
	int code, r;

	if (is_path(operands[0]))
		return misuse("label: '%s' has a '/', but only names in the store carry labels",
			      operands[0]);
	for (int i = 1; i < count; i++)
		if (!strchr(operands[i], '=') || *operands[i] == '=')
			return misuse("label: '%s' is no label; write it KEY=VALUE", operands[i]);
	code = find_store(&store, count > 1 || unwanted ? 0 : BLM_STORE_READ);
	if (code == DONE && unwanted && (r = blm_store_label(store, operands[0], unwanted, NULL))
	    < 0)
		code = fail(r);
	for (int i = 1; i < count && code == DONE; i++)
		code = set(store, operands[0], operands[i]);
	return code == DONE && count == 1 && !unwanted ? show(store, operands[0]) : code;
}

static const struct opt *const options[] = { own_options, json_option, store_option, NULL };

const struct command cmd_label = {
	.name = "label",
	.group = ON_STORES,
	.summary = "set labels of a filter of the store, or print its labels",
	.operands = "NAME [KEY=VALUE...]",
	.least = 1, .most = -1,
	.example = "bloomery label seen source=crawl owner=ops",
	.options = options,
	.run = run,
};
