/* cmd_bank.c - bloomery bank: put many filters or fingerprints of one template into one file */
#include "bank.h"
#include "json.h"
#include "place.h"
#include "progress.h"
#include "source.h"
#include "terms.h"
#include "values.h"

#include <errno.h>

static const char *fps;
static bool replace, to_fps, list;
static unsigned mode;
static const struct opt own_options[] = {
	{ 0, "fps", "FILE", "the fingerprints of a file of chemfp's FPS, each as a bitmap; - is "
	  "stdin", set_text, &fps },
	{ 0, "to-fps", NULL, "print the bank that is there as such a file", set_flag, &to_fps },
	{ 0, "list", NULL, "print the ids of what is in the bank that is there", set_flag, &list },
	{ 0, "force", NULL, "replace the bank that has this name now", set_flag, &replace },
	{ 0, "mode", "BITS", "permission bits of the file, octal (default: those of the file "
	  "that it replaces, else 0644 less the umask)", set_mode, &mode },
	{ 0 }
};

static int read_all(const char *name, char **ret, size_t *ret_count)
{
	struct source source;
	size_t used = 0, capacity = 1 << 16;
	char *all = malloc(capacity), *more;
	ssize_t n = 1;
	int code = source_open(&source, name, NULL);

	if (code != DONE) {
		free(all);
		return code;
	}
	while (all && (n = source_read(&source, all + used, capacity - used)) > 0) {
		used += (size_t)n;
		progress_of("reading", used, 0);
		if (used == capacity) {
			more = realloc(all, capacity *= 2);
			if (!more)
				free(all);
			all = more;
		}
	}
	source_close(&source);
	if (!all)
		return broken("%s: out of memory", name);
	if (n < 0) {
		free(all);
		return FAILED;
	}
	*ret = all;
	*ret_count = used;
	return DONE;
}

static int add_fps(struct blm_bank_build *build)
{
	char *all = NULL;
	size_t count = 0;
	int code = read_all(fps, &all, &count);
	int64_t r;

	if (code != DONE)
		return code;
	r = blm_bank_add_fps(build, all, count, fps);
	free(all);
	return r < 0 ? fail(r) : DONE;
}

static int add_filters(struct blm_bank_build *build, char **names, int count)
{
	int code = DONE;

	for (int i = 0; code == DONE && i < count; i++) {
		struct blm_filter *f;
		int r;

		code = open_filter(&f, names[i], false, BLM_STORE_READ);
		if (code != DONE)
			break;
		r = blm_bank_add(build, f, names[i]);
		code = r < 0 ? fail(r) : DONE;
		blm_close(f);
	}
	return code;
}

static int print(void *context, const void *bytes, size_t count)
{
	(void)context;
	return fwrite(bytes, 1, count, stdout) == count ? 0 : -EIO;
}

static int print_fps(const char *path)
{
	struct blm_bank *bank;
	int code = open_bank(&bank, path), r;

	if (code != DONE)
		return code;
	r = blm_bank_export_fps(bank, print, NULL);
	blm_bank_close(bank);
	if (r == -EIO && ferror(stdout))
		return broken("bank: cannot write to standard output");
	return r < 0 ? fail(r) : DONE;
}

static int print_ids(const char *path)
{
	struct blm_bank_info info;
	struct blm_bank *bank;
	int code = open_bank(&bank, path);

	if (code != DONE)
		return code;
	blm_bank_info(bank, &info);
	for (uint64_t row = 0; code == DONE && row < info.rows; row++)
		code = print_row(bank, row, NULL);
	blm_bank_close(bank);
	return code;
}

/* The bank that was made. */
static int print_json(const char *path)
{
	struct blm_bank_info info;
	struct blm_bank *bank;
	int code = open_bank(&bank, path);

	if (code != DONE)
		return code;
	blm_bank_info(bank, &info);
	json_begin();
	json_text("path", path);
	json_count("rows", info.rows);
	json_text("kind", info.kind);
	json_text("hash", info.family);
	json_count("m", info.cells);
	json_count("k", info.probes);
	json_count("row_bytes", info.row_bytes);
	json_count("bytes", info.file_bytes);
	json_end();
	blm_bank_close(bank);
	return DONE;
}

static int run(int count, char **operands)
{
	struct blm_bank_build *build;
	int code, r;

	if ((to_fps || list) && (fps || count > 1 || (to_fps && list)))
		return misuse("bank: --%s takes a bank and nothing else",
			      to_fps ? "to-fps" : "list");
	if (to_fps)
		return print_fps(operands[0]);
	if (list)
		return print_ids(operands[0]);
	if (!fps == (count == 1))
		return misuse("bank: give filters, or --fps and a file, or --to-fps, or --list");
	r = blm_bank_begin(&build, operands[0], replace, mode);
	if (r == -EEXIST && !replace)
		return broken("%s; --force replaces a bank", own_terms(blm_error_message()));
	if (r < 0)
		return fail(r);
	progress_of_calls();
	code = fps ? add_fps(build) : add_filters(build, operands + 1, count - 1);
	if (code != DONE) {
		progress_end_of_call(-1);
		blm_bank_cancel(build);
		return code;
	}
	r = blm_bank_finish(build);
	progress_end_of_call(r);
	if (r < 0)
		return fail(r);
	return json ? print_json(operands[0]) : DONE;
}

static const struct opt *const options[] = { own_options, json_option, progress_option,
					     quiet_option, store_option, NULL };

const struct command cmd_bank = {
	.name = "bank",
	.group = ON_SETS,
	.summary = "put many filters, or fingerprints, of one template into one file, for which "
	"and similar",
	.operands = "BANK [FILTER...]",
	.least = 1, .most = -1,
	.notes = "BANK is the path of the file. The id of a filter is its name as it is given "
	"here. The id of a fingerprint is in its line. A bank takes range filters, and filters of "
	"kinds with one array of bits, like blocked, without a secret key. A bank never changes, "
	"even if its filters do. With --json it says what was made; with --list it prints objects "
	"with the ids.",
	.example = "bloomery bank ./week.bank mon tue wed thu fri",
	.options = options,
	.run = run,
};
