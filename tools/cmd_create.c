/* cmd_create.c - bloomery create: a new, empty filter, or many */
#include "command.h"
#include "numbers.h"
#include "params.h"
#include "progress.h"
#include "source.h"
#include "values.h"

static const char *names_from;

static const struct opt own_options[] = {
	{ 0, "names-from", "FILE", "make a filter for each line, which is its name, and all of "
	  "them or none; - for standard input", set_text, &names_from },
	{ 0 }
};

/* ---- One ---- */

static int create(const char *name)
{
	struct blm_filter *f;
	struct place place;
	int code = find_place(&place, name, BLM_STORE_CREATE), r;

	if (code != DONE)
		return code;
	progress_of_calls();
	r = make_filter(&f, &place);
	progress_end_of_call(r);
	if (r < 0)
		return fail(r);
	blm_close(f);
	return DONE;
}

/* ---- Many ---- */

struct names {
	char *text;
	size_t bytes;
	const char **name;
	size_t count;
};

static int out_of_memory(void)
{
	return broken("%s: out of memory", names_from);
}

/* All of the file, with a newline behind its last line. */
static int read_text(struct source *source, struct names *ret)
{
	const size_t most = (size_t)BLM_CREATE_MANY_MAX * (BLM_NAME_MAX + 2);
	size_t capacity = 0;
	ssize_t n;

	do {
		if (ret->bytes + 2 > capacity) {
			char *more = realloc(ret->text, capacity += capacity + 65536);

			if (!more)
				return out_of_memory();
			ret->text = more;
		}
		if (ret->bytes > most)
			return broken("%s: has more than %d names; make several calls",
				      names_from, BLM_CREATE_MANY_MAX);
		n = source_read(source, ret->text + ret->bytes, capacity - ret->bytes - 1);
		ret->bytes += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	if (n == 0 && ret->bytes && ret->text[ret->bytes - 1] != '\n')
		ret->text[ret->bytes++] = '\n';
	return n < 0 ? FAILED : DONE;
}

static int split(struct names *n)
{
	size_t lines = 0;
	char *end;

	for (size_t i = 0; i < n->bytes; i++)
		lines += n->text[i] == '\n';
	n->name = calloc(lines + 1, sizeof(*n->name));
	if (!n->name)
		return out_of_memory();
	for (char *at = n->text; at < n->text + n->bytes; at = end + 1) {
		end = memchr(at, '\n', (size_t)(n->text + n->bytes - at));
		*end = '\0';
		n->name[n->count++] = at;
		if (end == at || strlen(at) != (size_t)(end - at))
			return broken("%s: line %zu %s; each line must be a name", names_from,
				      n->count, end == at ? "is empty" : "has a NUL byte");
	}
	return DONE;
}

/* About the file system; any of the filters says it. */
static void warn_of(struct blm_store *store, const char *name)
{
	struct blm_filter *f;

	if (quiet || blm_open(&f, store, name, 0) < 0)
		return;
	warn_of_place(f, name);
	blm_close(f);
}

static int create_all(void)
{
	struct blm_store *store;
	struct names names = { 0 };
	struct source source;
	int code = source_open(&source, names_from, NULL), r;

	if (code != DONE)
		return code;
	code = read_text(&source, &names);
	source_close(&source);
	if (code == DONE)
		code = split(&names);
	if (code == DONE)
		code = find_store(&store, BLM_STORE_CREATE);
	if (code == DONE) {
		progress_of_calls();
		r = blm_create_many(store, names.name, names.count, &params);
		progress_end_of_call(r);
		code = r < 0 ? fail(r) : DONE;
		if (code == DONE && names.count)
			warn_of(store, names.name[0]);
	}
	free(names.name);
	free(names.text);
	return code;
}

static int run(int count, char **operands)
{
	int code;

	if (!names_from && !count)
		return misuse("create: not enough arguments: bloomery create F, or --names-from "
			      "FILE; see 'bloomery help create'");
	if (names_from && count)
		return misuse("create: %s and --names-from exclude each other", operands[0]);
	if (names_from && params.replace)
		return misuse("create: --force and --names-from exclude each other");
	code = params_check();
	if (code != DONE)
		return code;
	return names_from ? create_all() : create(operands[0]);
}

static const struct opt *const options[] = { own_options, size_options, make_options, file_options,
					     create_options, progress_option, quiet_option,
					     key_option, store_option, NULL };

const struct command cmd_create = {
	.name = "create",
	.group = ON_FILTERS,
	.summary = "make a new, empty filter",
	.operands = "{F | --names-from FILE}",
	.least = 0, .most = 1,
	.notes = "-n and -p give the size. -m and -k are taken exactly, and make a classic filter "
	"unless you name another kind. The secret of a keyed filter is random, or is read from "
	"--key-file; it is not stored in the filter. The filters of --names-from have one "
	"template. If one of the names exists, no filter is made. Without --kind the filter is "
	"blocked. To combine filters later, make the others by 'bloomery template': each new "
	"filter has its own random seed.",
	.example = "bloomery create seen -n 10m -p 0.001",
	.options = options,
	.run = run,
};
