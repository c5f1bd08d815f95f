/* exists.c - options for a new filter, compared with a filter that exists and differs */
#include "exists.h"
#include "numbers.h"
#include "params.h"

#include <sys/stat.h>

/* What it has, and which options say otherwise: two lists for one line. */
struct differences {
	char has[512], options[256];
	int count;
};

static void append(char *list, size_t room, const char *text)
{
	size_t at = strlen(list);

	snprintf(list + at, room - at, "%s%s", at ? ", " : "", text);
}

static void differs(struct differences *d, const char *option, const char *noun, const char *value)
{
	char has[300];

	snprintf(has, sizeof(has), "%s %s", noun, value);
	append(d->has, sizeof(d->has), has);
	append(d->options, sizeof(d->options), option);
	d->count++;
}

/* asked: what `given` comes to in a new filter. */
static void compare_number(struct differences *d, const char *option, const char *noun,
			   uint64_t given, uint64_t asked, uint64_t has)
{
	if (given && given != has && asked != has)
		differs(d, option, noun, show_count(has));
}

/* In names '-' and '_' are the same, as they are to the library. */
static bool is_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
			return false;
	return *a == *b;
}

static void compare_name(struct differences *d, const char *option, const char *noun,
			 const char *given, const char *has)
{
	if (given && !is_name(given, has))
		differs(d, option, noun, has);
}

static void compare_seeds(struct differences *d, const struct blm_info *i)
{
	char seed[24];

	if (!params.seed_count)
		return;
	if (params.seed_count == i->seed_count
	    && !memcmp(params.seeds, i->seeds, i->seed_count * sizeof(*i->seeds)))
		return;
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)i->seeds[0]);
	differs(d, "--seed", i->seed_count == 1 ? "seed" : "other seeds, the first", seed);
}

/* An option's value in "name=value,name=value". Return: its length; 0: there is none. */
static size_t value_of_option(const char *options, const char *name, size_t len, const char **ret)
{
	for (const char *at = options; *at; at += strcspn(at, ","), at += *at == ',')
		if (!strncmp(at, name, len) && at[len] == '=') {
			*ret = at + len + 1;
			return strcspn(*ret, ",");
		}
	*ret = "";
	return 0;
}

/*
 * Both sides as the library writes them. A filter in memory shows what these options come to. It
 * takes no memory while it is empty.
 */
static void compare_options(struct differences *d, const struct blm_info *has)
{
	struct blm_params p = params;
	struct blm_filter *f;
	struct blm_info asked = BLM_INFO;
	int r;

	if (!params.options)
		return;
	p.sparse = true;
	p.replace = false;
	if (blm_create(&f, NULL, NULL, &p) < 0)
		return;
	r = blm_info(f, &asked);
	blm_close(f);
	for (const char *at = params.options; r == 0 && *at;
	     at += strcspn(at, ","), at += *at == ',') {
		size_t len = strcspn(at, "=,");
		const char *wanted, *there;
		size_t a = value_of_option(asked.options, at, len, &wanted);
		size_t b = value_of_option(has->options, at, len, &there);
		char noun[64], value[64];

		if (a == b && !strncmp(wanted, there, a))
			continue;
		snprintf(noun, sizeof(noun), "%.*s", (int)len, at);
		snprintf(value, sizeof(value), "%.*s", b ? (int)b : 4, b ? there : "none");
		differs(d, "--with", noun, value);
	}
}

/* Options of the file, as opposed to those of the filter in it. */
static void compare_file(struct differences *d, const struct blm_info *i)
{
	struct stat st;
	char mode[8];

	if (params.sparse && !i->sparse)
		differs(d, "--sparse", "space", "allocated");
	if (params.no_checkpoint && i->shadow_bytes)
		differs(d, "--no-shadow", "a second image of", show_bytes(i->shadow_bytes));
	if (!params.mode || stat(i->path, &st) < 0 || (st.st_mode & 07777) == params.mode)
		return;
	snprintf(mode, sizeof(mode), "%04o", (unsigned)(st.st_mode & 07777));
	differs(d, "--mode", "mode", mode);
}

static void compare(struct differences *d, const struct blm_info *i)
{
	struct blm_plan plan = { 0 };

	if (blm_plan(&plan, &params) < 0)
		plan = (struct blm_plan){ 0 };
	compare_number(d, "-n", "capacity", params.capacity, plan.capacity, i->capacity);
	if (params.rate > 0 && !(i->can & BLM_EXACT) && params.rate != i->rate
	    && plan.rate != i->rate)
		differs(d, "-p", "rate", show_rate(i->rate));
	compare_number(d, "-m", "m", params.cells, plan.cells, i->cells);
	compare_number(d, "-k", "k", params.probes, plan.probes, i->probes);
	compare_name(d, "--kind", "kind", params.kind, i->kind);
	compare_options(d, i);
	compare_name(d, params_untrusted() ? "--untrusted" : "--hash", "hash",
		     params.hash, i->hash);
	compare_name(d, "--scheme", "scheme", params.scheme, i->scheme);
	compare_seeds(d, i);
	if (params.tweak && params.tweak != i->tweak)
		differs(d, "--tweak", "tweak", show_count(i->tweak));
	compare_file(d, i);
}

int compare_with_params(const struct blm_filter *f, const char *name, bool same)
{
	struct differences d = { 0 };
	struct blm_info info = BLM_INFO;
	int r = blm_info(f, &info);

	if (r < 0)
		return fail(r);
	compare(&d, &info);
	if (d.count && same)
		return broken("%s: exists with %s; --create-same refuses that: %s %s otherwise",
			      name, d.has, d.options, d.count == 1 ? "says" : "say");
	if (d.count && !quiet)
		say("warning: %s: exists with %s; %s %s not used", name, d.has, d.options,
		    d.count == 1 ? "was" : "were");
	return DONE;
}
