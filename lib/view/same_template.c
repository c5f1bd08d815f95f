/* same_template.c - do two filters have the same template, and what differs if not? */
#include "hash/scheme.h"
#include "kind/common/options.h"
#include "view/view.h"

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

/* As what the option is that it comes from, if it does. */
static void name_argument(char *ret, size_t bytes, int i, const struct blm_template_fields *a,
			  const struct blm_template_fields *b)
{
	const struct blm_kind *kind = blm_kind_by_id(le32toh(a->kind));
	const struct blm_option *o = kind ? kind->options : NULL;
	char of_a[32], of_b[32];

	for (int j = 0; o && o->name && j < i; j++)
		o++;
	if (o && o->name)
		snprintf(ret, bytes, "%s: %s and %s", o->name,
			 blm_option_value_text(o, le64toh(a->args[i]), of_a),
			 blm_option_value_text(o, le64toh(b->args[i]), of_b));
	else
		snprintf(ret, bytes, "argument %d of the kind: %llu and %llu", i,
			 (unsigned long long)le64toh(a->args[i]),
			 (unsigned long long)le64toh(b->args[i]));
}

/* The first field that differs, with both values, as a sentence; false if none does. */
static bool difference(const struct blm_template_fields *a, const struct blm_template_fields *b,
		       char *ret, size_t bytes)
{
	const struct { const char *name; uint64_t a, b; bool hex; } numbers[] = {
		{ "m", le64toh(a->cells), le64toh(b->cells), false },
		{ "k", le32toh(a->probes), le32toh(b->probes), false },
		{ "cell width", le32toh(a->cell_bits), le32toh(b->cell_bits), false },
		{ "tweak", le64toh(a->tweak), le64toh(b->tweak), false },
		{ "number of seeds", le32toh(a->seed_count), le32toh(b->seed_count), false },
	};

	if (a->kind != b->kind)
		return snprintf(ret, bytes, "kind: %s and %s", name_of_kind(a->kind),
				name_of_kind(b->kind)), true;
	if (a->family != b->family)
		return snprintf(ret, bytes, "hash: %s and %s", name_of_family(a->family),
				name_of_family(b->family)), true;
	if (a->index_rule != b->index_rule)
		return snprintf(ret, bytes, "index rule: %s and %s", name_of_rule(a->index_rule),
				name_of_rule(b->index_rule)), true;
	if (a->bit_order != b->bit_order)
		return snprintf(ret, bytes, "bit order: %s and %s", name_of_order(a->bit_order),
				name_of_order(b->bit_order)), true;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i].a != numbers[i].b)
			return snprintf(ret, bytes, "%s: %llu and %llu", numbers[i].name,
					(unsigned long long)numbers[i].a,
					(unsigned long long)numbers[i].b), true;
	if (memcmp(a->key_id, b->key_id, 8))
		return snprintf(ret, bytes, "key id: %016llx and %016llx",
				(unsigned long long)be64toh(*(const uint64_t *)a->key_id),
				(unsigned long long)be64toh(*(const uint64_t *)b->key_id)), true;
	for (uint32_t i = 0; i < le32toh(a->seed_count); i++)
		if (a->seeds[i] != b->seeds[i])
			return snprintf(ret, bytes, "seed: %llu and %llu",
					(unsigned long long)le64toh(a->seeds[i]),
					(unsigned long long)le64toh(b->seeds[i])), true;
	for (int i = 0; i < BLM_ARGS; i++)
		if (a->args[i] != b->args[i])
			return name_argument(ret, bytes, i, a, b), true;
	return false;
}

int blm_check_parameters(const struct blm_view *a, const char *shown_a, const struct blm_view *b,
			 const char *shown_b)
{
	char reason[192];

	if (difference(&a->constant.template, &b->constant.template, reason, sizeof(reason)))
		return blm_fail(-EMEDIUMTYPE, "%s and %s do not combine, they differ in %s; %s",
				shown_a,
				shown_b, reason, kind_takes_keys(a->root.kind)
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
	return blm_fail(-EMEDIUMTYPE, "%s and %s do not combine, they are different parts of a "
			"split filter, or one of them is none; blm_join_begin() makes one filter "
			"of all parts", shown_a, shown_b);
}
