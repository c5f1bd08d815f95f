/* load.c - how a filter is kept in memory: --prefault, --lock, --pages */
#include "load.h"
#include "values.h"

static bool prefault, lock;
static unsigned pages;

static int set_pages(const struct opt *opt, const char *text)
{
	if (strcmp(text, "huge") && strcmp(text, "small"))
		return misuse("--%s %s: must be huge or small", opt->name, text);
	pages = strcmp(text, "huge") ? BLM_SMALL_PAGES : BLM_HUGE_PAGES;
	return DONE;
}

const struct opt load_options[] = {
	{ 0, "prefault", NULL, "read all of F into memory before the first key", set_flag,
	  &prefault },
	{ 0, "lock", NULL, "the same, and keep it there until the end (see ulimit -l)",
	  set_flag, &lock },
	{ 0, "pages", "SIZE", "memory pages: huge is fast, small writes less for few keys",
	  set_pages, NULL },
	{ 0 }
};

bool load_given(void)
{
	return pages || prefault || lock;
}

int load(struct blm_filter *f)
{
	unsigned flags = pages | (prefault ? BLM_PREFAULT : 0) | (lock ? BLM_LOCK : 0);
	int code = DONE, r = flags ? blm_load(f, flags) : 0;

	if (r < 0) {
		code = fail(r);
		blm_close(f);
	}
	return code;
}
