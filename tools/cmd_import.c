/* cmd_import.c - bloomery import: a filter from another program's file, or from text */
#include "foreign.h"
#include "params.h"
#include "place.h"
#include "progress.h"
#include "values.h"

#include <errno.h>
#include <unistd.h>

static const struct opt own_options[] = {
	{ 0, "base64", NULL, "the input is the format's text form", set_flag, &foreign.base64 },
	{ 0, "max-size", "BYTES", "refuse a larger filter (default: the size of a plain file, "
	  "else 1 GiB)",
	  set_number, &foreign.max_bytes, 1, INT64_MAX },
	{ 0, "force", NULL, "accept a file without bits or hash functions, as a filter of every "
	  "key (bip37, neo)", set_flag, &foreign.everything },
	{ 0, "allocate", NULL, "allocate all space now, even for a filter that is mostly empty",
	  set_flag, &foreign.allocate },
	{ 0 }
};

static int64_t read_stdin(void *context, void *buffer, size_t bytes)
{
	ssize_t n;

	do
		n = read(STDIN_FILENO, buffer, bytes);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int run(int count, char **operands)
{
	struct blm_filter *made;
	struct place place;
	int code = find_secret(&foreign.secret), r;

	if (code == DONE)
		code = find_place(&place, operands[1], BLM_STORE_CREATE);
	if (code != DONE)
		return code;
	foreign.mode = params.mode;
	progress_of_calls();
	if (!strcmp(operands[0], "-"))
		r = blm_import(&made, place.store, place.name, &foreign, read_stdin, NULL);
	else
		r = blm_import_file(&made, place.store, place.name, &foreign, operands[0]);
	progress_end_of_call(r);
	if (r < 0)
		return fail(r);
	blm_close(made);
	return DONE;
}

static const struct opt *const options[] = { foreign_option, maker_options, own_options,
					     mode_option, progress_option, quiet_option, key_option,
					     store_option, NULL };

const struct command cmd_import = {
	.name = "import",
	.group = ON_FILTERS,
	.summary = "make a filter F from another program's file, or from a text form",
	.operands = "FILE F",
	.least = 2, .most = 2,
	.notes = "FILE - is standard input. The bits stay as they are: F answers as its maker "
	"would, and exports to the same bytes\nagain. A filter that is mostly empty becomes a "
	"sparse file, and adding to it fails on a full disk; --allocate takes\nthe space now.",
	.example = "bloomery import old.bloom seen --format pybloomfiltermmap --probe "
	"https://example.org/",
	.options = options,
	.run = run,
};
