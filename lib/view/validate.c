/*
 * validate.c - what the parts of a filter are together, and whether that is what the template says
 */
#include "view/view.h"
#include "hash/scheme.h"
#include "kind/common/options.h"

/* A filter of one part is that part. A composite kind says what each part must be. */
static int check_parts(struct blm_view *view, const struct blm_contents *contents,
		       const char *display)
{
	struct blm_part *root = &view->root;
	unsigned first = root->kind->parts(&root->shape);

	if (view->parts < first)
		return blm_fail(-EBADMSG, "%s: %u parts; such a %s filter has %u", display,
				view->parts, root->kind->name, first);
	for (unsigned i = 0; i < view->parts; i++) {
		struct blm_part *part = &view->part[i];
		struct blm_component c;

		if (!root->kind->compose(&root->shape, i, &c) || c.kind != part->kind
		    || c.role != le32toh(contents->part[i].role))
			return blm_fail(-EBADMSG, "%s: part %u: such a %s filter has no part of "
					"this kind and role", display, i, root->kind->name);
		if (i < first && (c.shape.cells != part->shape.cells
				  || c.shape.probes != part->shape.probes
				  || c.shape.cell_bits != part->shape.cell_bits
				  || c.shape.bytes != part->shape.bytes))
			return blm_fail(-EBADMSG, "%s: the part table and the template disagree on "
					"the size of part %u", display, i);
		memcpy(part->shape.args, c.shape.args, sizeof(part->shape.args));
	}
	root->sub = view->part;
	root->subs = view->parts;
	root->bytes = root->marks = NULL;
	return 0;
}

int blm_view_set_whole(struct blm_view *view, const struct blm_contents *contents,
		       const char *display)
{
	const struct blm_template_fields *t = &view->constant.template;
	struct blm_shape *s = &view->root.shape;
	int err = 0;

	view->root = view->part[0];
	view->root.kind = blm_kind_known(le32toh(t->kind), display, &err);
	if (err)
		return err;
	if (!view->root.kind->compose) {
		if (view->parts > 1)
			return blm_fail(-EBADMSG, "%s: %u parts; %s filters have one", display,
					view->parts, view->root.kind->name);
		return 0;
	}
	*s = (struct blm_shape){
		.cells = le64toh(t->cells), .probes = le32toh(t->probes),
		.cell_bits = le32toh(t->cell_bits),
		.capacity = le64toh(view->constant.capacity),
		.rate = blm_double_of(le64toh(view->constant.rate)),
	};
	for (int a = 0; a < BLM_KIND_ARGS; a++)
		s->args[a] = le64toh(t->args[a]);
	for (unsigned i = 0; i < view->parts; i++)
		s->bytes += view->part[i].shape.bytes;
	if (!blm_options_valid(view->root.kind, s->args) || !view->root.kind->valid(s))
		return blm_fail(-EBADMSG, "%s: no %s filter for %llu keys has m=%llu, k=%u, %u-bit "
				"cells and these options", display,
				view->root.kind->name, (unsigned long long)s->capacity,
				(unsigned long long)s->cells, s->probes, s->cell_bits);
	return check_parts(view, contents, display);
}

int blm_view_check_template(const struct blm_view *view, const char *display)
{
	const struct blm_template_fields *t = &view->constant.template;
	const struct blm_part *root = &view->root;
	const struct blm_family *family = view->hasher.family;
	/* known: the hasher was made of it */
	const struct blm_scheme *scheme = blm_scheme_by_id(le32toh(t->index_rule));
	const char *misfit;

	if (view->part[0].kind->id != le32toh(t->kind) && !root->kind->compose)
		return blm_fail(-EBADMSG, "%s: the part table and the template disagree on the "
				"kind", display);
	if (root->shape.cells != le64toh(t->cells) || root->shape.probes != le32toh(t->probes)
	    || root->shape.cell_bits != le32toh(t->cell_bits))
		return blm_fail(-EBADMSG, "%s: the part table and the template disagree on kind, "
				"m, k or cell width", display);
	if (!blm_options_valid(root->kind, root->shape.args))
		return blm_fail(-EBADMSG, "%s: the options of a %s filter are out of their range",
				display, root->kind->name);
	for (unsigned i = 0; i < view->parts; i++)
		if (family->bits < 64 && view->part[i].shape.cells > UINT64_C(1) << family->bits)
			return blm_fail(-EBADMSG, "%s: %s reaches only 2^%u bits, not %llu",
					display, family->name, family->bits,
					(unsigned long long)view->part[i].shape.cells);
	misfit = kind_misfit(root->kind, scheme, le32toh(t->bit_order), family, &root->shape);
	if (misfit)
		return blm_fail(-EBADMSG, "%s: a %s filter, index rule %s, bit order %u, hash %s: "
				"%s", display, root->kind->name, scheme->name,
				le32toh(t->bit_order), family->name, misfit);
	if (!kind_takes(root->kind, family))
		return blm_fail(-EBADMSG, "%s: a %s filter cannot use the hash %s", display,
				root->kind->name, family->name);
	if (view->hasher.seed_count != family_seeds(family, root->shape.probes))
		return blm_fail(-EBADMSG, "%s: %u seeds; %s takes %u", display,
				view->hasher.seed_count, family->name,
				family_seeds(family, root->shape.probes));
	for (uint32_t i = 0; i < view->hasher.seed_count; i++)
		if (view->seeds[i] > family_seed_max(family))
			return blm_fail(-EBADMSG, "%s: seed %llu has more than the %u bits of %s",
					display,
					(unsigned long long)view->seeds[i], family->seed_bits,
					family->name);
	if (view->hasher.tweak > (family->tweaked ? UINT32_MAX : 0))
		return blm_fail(-EBADMSG, "%s: tweak %llu is not valid for the hash %s", display,
				(unsigned long long)view->hasher.tweak, family->name);
	return 0;
}
