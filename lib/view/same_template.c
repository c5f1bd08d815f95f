/* same_template.c - do two filters have the same template, and what differs if not? */
#include "hash/scheme.h"
#include "kind/common/options.h"
#include "view/view.h"

#include <stdarg.h>
#include <stdio.h>

static const char *name_of_kind(uint32_t id)
{
	const struct blm_kind *kind = blm_kind_by_id(le32toh(id));

	return kind ? kind->name : "?";
}

static const char *name_of_family(uint32_t id)
{
	const struct blm_family *family = blm_family_by_id(le32toh(id));

	return family ? family->name : "?";
}

static const char *name_of_rule(uint32_t id)
{
	const struct blm_scheme *scheme = blm_scheme_by_id(le32toh(id));

	return scheme ? scheme->name : "?";
}

static const char *name_of_order(uint32_t order)
{
	const char *name = blm_order_name(le32toh(order));

	return name ? name : "?";
}

/* What differs, with both values, as far as there is space. */
enum { TEXT = 96 };

struct differences {
	char text[TEXT + sizeof(", and 99 more")];
	size_t used;
	unsigned left_out;
};

static void note(struct differences *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void note(struct differences *d, const char *format, ...)
{
	const char *comma = d->used ? ", " : "";
	char one[TEXT];
	va_list ap;

	va_start(ap, format);
	vsnprintf(one, sizeof(one), format, ap);
	va_end(ap);
	if (d->used + strlen(comma) + strlen(one) < TEXT)
		d->used += (size_t)snprintf(d->text + d->used, TEXT - d->used, "%s%s", comma, one);
	else
		d->left_out++;
}

static void note_number(struct differences *d, const char *name, uint64_t a, uint64_t b)
{
	if (a != b)
		note(d, "%s: %llu and %llu", name, (unsigned long long)a, (unsigned long long)b);
}

/* As what the option is that it comes from, if it does. */
static void note_argument(struct differences *d, int i, const struct blm_template_fields *a,
			  const struct blm_template_fields *b)
{
	const struct blm_kind *kind = blm_kind_by_id(le32toh(a->kind));
	const struct blm_option *o = kind ? kind->options : NULL;
	char of_a[32], of_b[32];

	for (int j = 0; o && o->name && j < i; j++)
		o++;
	if (o && o->name)
		note(d, "%s: %s and %s", o->name,
		     blm_option_value_text(o, le64toh(a->args[i]), of_a),
		     blm_option_value_text(o, le64toh(b->args[i]), of_b));
	else
		note(d, "argument %d of the kind: %llu and %llu", i,
		     (unsigned long long)le64toh(a->args[i]),
		     (unsigned long long)le64toh(b->args[i]));
}

/* What the kind and the hash decide says nothing more where these differ. */
static void note_scheme(struct differences *d, const struct blm_template_fields *a,
			const struct blm_template_fields *b)
{
	bool same_kind = a->kind == b->kind, same_hash = a->family == b->family;

	if (!same_kind)
		note(d, "kind: %s and %s", name_of_kind(a->kind), name_of_kind(b->kind));
	if (!same_hash)
		note(d, "hash: %s and %s", name_of_family(a->family), name_of_family(b->family));
	if (same_kind && same_hash && a->index_rule != b->index_rule)
		note(d, "index rule: %s and %s", name_of_rule(a->index_rule),
		     name_of_rule(b->index_rule));
	if (same_kind && a->bit_order != b->bit_order)
		note(d, "bit order: %s and %s", name_of_order(a->bit_order),
		     name_of_order(b->bit_order));
}

/*
 * One of several seeds stands for all. The values are long, and say little beside another field, as
 * do those of a key id.
 */
static void note_seeds(struct differences *d, const struct blm_template_fields *a,
		       const struct blm_template_fields *b)
{
	uint32_t i = 0, count = le32toh(a->seed_count);

	while (i < count && a->seeds[i] == b->seeds[i])
		i++;
	if (a->seed_count != b->seed_count || i == count)
		return;
	if (d->used)
		note(d, "seed");
	else
		note_number(d, "seed", le64toh(a->seeds[i]), le64toh(b->seeds[i]));
}

static void find_differences(struct differences *d, const struct blm_template_fields *a,
			     const struct blm_template_fields *b)
{
	*d = (struct differences){ .used = 0 };
	note_scheme(d, a, b);
	note_number(d, "m", le64toh(a->cells), le64toh(b->cells));
	note_number(d, "k", le32toh(a->probes), le32toh(b->probes));
	if (a->kind == b->kind)
		note_number(d, "cell width", le32toh(a->cell_bits), le32toh(b->cell_bits));
	for (int i = 0; a->kind == b->kind && i < BLM_ARGS; i++)
		if (a->args[i] != b->args[i])
			note_argument(d, i, a, b);
	note_number(d, "tweak", le64toh(a->tweak), le64toh(b->tweak));
	if (a->family == b->family)
		note_number(d, "number of seeds", le32toh(a->seed_count), le32toh(b->seed_count));
	note_seeds(d, a, b);
	if (memcmp(a->key_id, b->key_id, 8) && d->used)
		note(d, "key id");
	else if (memcmp(a->key_id, b->key_id, 8))
		note(d, "key id: %016llx and %016llx",
		     (unsigned long long)be64toh(*(const uint64_t *)a->key_id),
		     (unsigned long long)be64toh(*(const uint64_t *)b->key_id));
	if (d->left_out)
		d->used += (size_t)snprintf(d->text + d->used, sizeof(d->text) - d->used,
					    ", and %u more", d->left_out);
}

int blm_check_parameters(const struct blm_view *a, const char *shown_a, const struct blm_view *b,
			 const char *shown_b)
{
	struct differences d;

	find_differences(&d, &a->constant.template, &b->constant.template);
	if (d.used)
		return blm_fail(-EMEDIUMTYPE, "%s and %s differ in %s; %s", shown_a, shown_b,
				d.text, kind_takes_keys(a->root.kind)
				? "blm_template() makes filters that combine"
				: "build filters that are to be merged with one capacity, rate, "
				"options and seed");
	for (unsigned i = 0; i < a->parts && i < b->parts; i++)
		if (a->part[i].shape.cells != b->part[i].shape.cells
		    || a->part[i].shape.probes != b->part[i].shape.probes)
			return blm_fail(-EMEDIUMTYPE, "%s and %s do not combine: their parts %u "
					"differ in size", shown_a,
					shown_b, i);
	return 0;
}

int blm_check_template(const struct blm_view *a, const char *shown_a, const struct blm_view *b,
		       const char *shown_b)
{
	int r = blm_check_parameters(a, shown_a, b, shown_b);

	if (r < 0 || (a->split.parts == b->split.parts && a->split.part == b->split.part))
		return r;
	return blm_fail(-EMEDIUMTYPE, "%s and %s do not combine: they are different parts of a "
			"split filter, or only one is a part; blm_join_begin() joins all parts",
			shown_a, shown_b);
}
