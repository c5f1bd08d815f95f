/* exact.c - which table --exact means, and what sort it is */
#include "exact.h"
#include "values.h"

static struct {
	const char *path, *name;
	bool trusted, values;
} o;

const struct opt exact_options[] = {
	{ 0, "exact", "DB", "the keys themselves: an LMDB folder or file, or a file of lines that "
	  "LC_ALL=C sort has sorted", set_text, &o.path },
	{ 0, "database", "NAME", "which of the named databases of an LMDB environment (default: "
	  "the main one)", set_text, &o.name },
	{ 0, "sorted", NULL, "do not read a sorted file whole, at first, to see that it is sorted",
	  set_flag, &o.trusted },
	{ 0 }
};

/* The last one takes all that is left. */
static const struct exact_sort *const sorts[] = { &exact_lmdb, &exact_sorted };

const char *exact_path(void)
{
	return o.path;
}

const char *exact_name_wanted(void)
{
	return o.name;
}

bool exact_order_trusted(void)
{
	return o.trusted;
}

bool exact_has_values(void)
{
	return o.values;
}

int exact_open(struct exact *ret, bool with_values)
{
	if (!o.path)
		return misuse("--exact DB is needed: the keys themselves, an LMDB folder or file, "
			      "or a sorted file");
	o.values = with_values;
	for (size_t i = 0; i < ARRAY_LEN(sorts); i++) {
		ret->sort = sorts[i];
		if (ret->sort->is(o.path))
			break;
	}
	return ret->sort->open(&ret->table, o.path);
}

void exact_close(struct exact *exact)
{
	if (exact->table)
		exact->sort->close(exact->table);
}
