/*
 * cmd_publish.c - bloomery publish: put a copy of a filter into the store, in one step for everyone
 * else
 */
#include "params.h"
#include "progress.h"
#include "values.h"

static bool writable;

static int run(int count, char **operands)
{
	struct blm_store *store;
	struct blm_filter *f;
	int code, r;

	if (is_path(operands[1]))
		return misuse("publish: '%s' has a '/', but what is published gets a name in the "
			      "store; 'bloomery copy' makes files",
			      operands[1]);
	code = open_filter(&f, operands[0], false, 0);
	if (code != DONE)
		return code;
	code = find_store(&store, BLM_STORE_CREATE);
	if (code == DONE) {
		progress_of_calls();
		r = blm_store_publish(store, operands[1], f, params.mode,
				      writable ? BLM_PUBLISH_WRITABLE : 0);
		progress_end_of_call(r);
		if (r < 0)
			code = fail(r);
	}
	blm_close(f);
	return code;
}

static const struct opt own[] = {
	{ 'w', "writable", NULL, "not sealed: keys can go on being added to it", set_flag,
	  &writable },
	{ 0 }
};

static const struct opt *const options[] = { own, mode_option, progress_option, quiet_option,
					     key_option, store_option, NULL };

const struct command cmd_publish = {
	.name = "publish",
	.group = ON_STORES,
	.summary = "put a sealed copy of a filter into the store under a name, in place of the "
	"filter that had it",
	.operands = "F NAME",
	.least = 2, .most = 2,
	.notes = "The copy takes the place of the filter that had the name, in one step. Readers "
	"and writers of NAME go over to the new\nfilter at their next call. It is sealed as by "
	"'bloomery seal', so adding to it is refused. The filter that had the name is deleted, "
	"with its keys. F stays as it is. To keep a way back, copy the old one first: 'bloomery "
	"copy NAME ./old.blm'; then 'bloomery publish ./old.blm NAME' restores it.",
	.example = "bloomery publish ./new.blm seen",
	.options = options,
	.run = run,
};
