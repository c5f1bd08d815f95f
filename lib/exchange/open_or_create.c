/* open_or_create.c - open a filter or make it, and say which parameters it does not have */
#include "make/new_filter.h"

#include <stdio.h>
#include <sys/stat.h>

/* The filter's value, and the fields of the parameters that differ: two lists for one line. */
struct differences {
	char has[512], fields[512];
	int count;
};

static void append(char *list, size_t capacity, const char *text)
{
	size_t at = strlen(list);

	snprintf(list + at, capacity - at, "%s%s", at ? ", " : "", text);
}

static void differs(struct differences *d, const char *field, const char *noun, const char *value)
{
	char has[300];

	snprintf(has, sizeof(has), "%s %s", noun, value);
	append(d->has, sizeof(d->has), has);
	append(d->fields, sizeof(d->fields), field);
	d->count++;
}

/* asked: `given` in the terms of a */
static void compare_number(struct differences *d, const char *field, const char *noun,
			   uint64_t given, uint64_t asked, uint64_t has)
{
	char value[24];

	snprintf(value, sizeof(value), "%llu", (unsigned long long)has);
	if (given && given != has && asked != has)
		differs(d, field, noun, value);
}

/* In names '-' and '_' are the same. */
static bool is_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
			return false;
	return *a == *b;
}

static void compare_name(struct differences *d, const char *field, const char *noun,
			 const char *given, const char *has)
{
	if (given && !is_name(given, has))
		differs(d, field, noun, has);
}

static void compare_seeds(struct differences *d, const struct blm_params *p,
			  const struct blm_info *i)
{
	char seed[24];

	if (!p->seed_count)
		return;
	if (p->seed_count == i->seed_count
	    && !memcmp(p->seeds, i->seeds, i->seed_count * sizeof(*i->seeds)))
		return;
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)i->seeds[0]);
	differs(d, "blm_params.seeds", i->seed_count == 1 ? "seed" : "other seeds, the first",
		seed);
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
 * The options as the library writes them, planned for a filter of the same kind. Sizes and options
 * that the caller did not give are those of the filter. Nothing is made, so this works for kinds
 * that have no empty filters. Options that no such filter can have stay as the caller gave them.
 */
static void write_options(char ret[BLM_OPTIONS_MAX], const struct blm_params *params,
			  const struct blm_info *has)
{
	char options[2 * BLM_OPTIONS_MAX];
	struct blm_params p = BLM_PARAMS(
		.kind = has->kind, .options = options, .capacity = params->capacity,
		.cells = params->cells, .probes = params->probes,
		.rate = params->rate > 0 ? params->rate : has->rate);
	struct blm_choice choice;
	struct blm_shape shape;

	if (!p.capacity && !p.cells) {
		p.capacity = has->capacity;
		p.cells = has->capacity ? 0 : has->cells;
	}
	snprintf(ret, BLM_OPTIONS_MAX, "%s", params->options);
	/* of an option that is given twice, the last value counts */
	snprintf(options, sizeof(options), "%s%s%s", has->options, *has->options ? "," : "", ret);
	if (blm_choice_make(&choice, &p) == 0 && blm_choice_size(&shape, &choice) == 0)
		blm_options_text(choice.kind, shape.args, ret);
}

static void compare_options(struct differences *d, const struct blm_params *params,
			    const struct blm_info *has)
{
	char asked[BLM_OPTIONS_MAX];

	if (!params->options)
		return;
	write_options(asked, params, has);
	for (const char *at = params->options; *at; at += strcspn(at, ","), at += *at == ',') {
		size_t len = strcspn(at, "=,");
		const char *wanted, *there;
		size_t a = value_of_option(asked, at, len, &wanted);
		size_t b = value_of_option(has->options, at, len, &there);
		char noun[64], value[64];

		if (a == b && !strncmp(wanted, there, a))
			continue;
		snprintf(noun, sizeof(noun), "%.*s", (int)len, at);
		snprintf(value, sizeof(value), "%.*s", b ? (int)b : 4, b ? there : "none");
		differs(d, "blm_params.options", noun, value);
	}
}

/* The state of its file, apart from the data. */
static void compare_file(struct differences *d, const struct blm_params *p,
			 const struct blm_info *i)
{
	struct stat st;
	char value[24];

	if (p->sparse && !i->sparse)
		differs(d, "blm_params.sparse", "space", "allocated");
	snprintf(value, sizeof(value), "%llu bytes", (unsigned long long)i->checkpoint_bytes);
	if (p->no_checkpoint && i->checkpoint_bytes)
		differs(d, "blm_params.no_checkpoint", "a checkpoint image of", value);
	if (!p->mode || stat(i->path, &st) < 0 || (st.st_mode & 07777) == p->mode)
		return;
	snprintf(value, sizeof(value), "%04o", (unsigned)(st.st_mode & 07777));
	differs(d, "blm_params.mode", "mode", value);
}

static void compare(struct differences *d, const struct blm_params *p, const struct blm_info *i)
{
	struct blm_plan plan;
	char rate[24], part[64];

	if (blm_plan(&plan, p) < 0)
		plan = (struct blm_plan){ 0 };
	compare_number(d, "blm_params.capacity", "capacity", p->capacity, plan.capacity,
		       i->capacity);
	snprintf(rate, sizeof(rate), "%.3g", i->rate);
	if (p->rate > 0 && !(i->can & BLM_EXACT) && p->rate != i->rate && plan.rate != i->rate)
		differs(d, "blm_params.rate", "rate", rate);
	compare_number(d, "blm_params.cells", "m", p->cells, plan.cells, i->cells);
	compare_number(d, "blm_params.probes", "k", p->probes, plan.probes, i->probes);
	compare_name(d, "blm_params.kind", "kind", p->kind, i->kind);
	compare_options(d, p, i);
	compare_name(d, "blm_params.hash", "hash", p->hash, i->hash);
	compare_name(d, "blm_params.scheme", "scheme", p->scheme, i->scheme);
	compare_seeds(d, p, i);
	compare_number(d, "blm_params.tweak", "tweak", p->tweak, p->tweak, i->tweak);
	compare_file(d, p, i);
	snprintf(part, sizeof(part), "%llu of %llu", (unsigned long long)i->split_part + 1,
		 (unsigned long long)i->split_parts);
	if (p->split_parts && (p->split_parts != i->split_parts || p->split_part != i->split_part))
		differs(d, "blm_params.split_part", "part", i->split_parts ? part : "none");
}

/* Return: BLM_OPENED, or BLM_DIFFERS with a message. */
static int compare_with(const struct blm_filter *f, const char *name,
			const struct blm_params *params)
{
	struct differences d = { 0 };
	struct blm_info info = BLM_INFO;
	int r = blm_info(f, &info);

	if (r < 0)
		return r;
	compare(&d, params, &info);
	if (!d.count)
		return BLM_OPENED;
	blm_fail(-EEXIST, "%s: exists with %s; %s %s not used", name, d.has, d.fields,
		 d.count == 1 ? "was" : "were");
	return BLM_DIFFERS;
}

static int open_for_writing(struct blm_filter **ret, struct blm_store *store, const char *name,
			    const struct blm_params *params)
{
	return params->secret
		? blm_open_keyed(ret, store, name, BLM_OPEN_WRITE, params->secret)
		: blm_open(ret, store, name, BLM_OPEN_WRITE);
}

/*
 * If several callers find no filter, one makes it and the others open it. Another process may drop
 * it in between, so the call tries again.
 */
BLM_API int blm_open_or_create(struct blm_filter **ret, struct blm_store *store, const char *name,
			       const struct blm_params *params)
{
	struct blm_params p, new;
	struct blm_plan plan;
	int r = blm_params_take(&p, params);

	if (r == 0 && (p.capacity || p.cells))
		r = blm_plan(&plan, &p);
	if (r < 0)
		return r;
	new = p;
	new.replace = false;
	r = -EEXIST;
	for (int tries = 0; r == -EEXIST && tries < 10; tries++) {
		r = name ? open_for_writing(ret, store, name, &p) : -ENOENT;
		if (r == 0) {
			r = compare_with(*ret, name, &p);
			if (r < 0)
				*ret = blm_close(*ret);
			return r;
		}
		if (r == -ENOENT)
			r = blm_create(ret, store, name, &new) ?: BLM_CREATED;
	}
	return r == -EEXIST ? blm_fail(r, "%s: exists, but is no filter that can be opened, like a "
				       "symbolic link to no file; remove it", name) : r;
}
