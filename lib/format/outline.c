/* outline.c - what formats share whose files are one array of bits */
#include "format/format.h"
#include "kind/scalable.h"
#include "kind/common/sizing.h"

#include <float.h>
#include <math.h>

static int check(const struct blm_array *a, const struct blm_format *format,
		 const struct blm_scheme *scheme, const char *display)
{
	const struct blm_family *family = a->family ? blm_family_by_name(a->family) : NULL;
	uint64_t order_xor;
	const char *reason;

	if (a->cells < 1 || a->cells > BLM_CELLS_MAX)
		return blm_fail(-EBADMSG, "%s: has %llu bits by its header, not 1 to 2^47", display,
				(unsigned long long)a->cells);
	if (a->probes < 1 || a->probes > BLM_PROBES_MAX)
		return blm_fail(-EBADMSG, "%s: has %llu hash functions by its header, not 1 to %d",
				display, (unsigned long long)a->probes,
				BLM_PROBES_MAX);
	if (!blm_order_xor(format->bit_order, a->cells, &order_xor))
		return blm_fail(-EBADMSG, "%s: has %llu bits by its header, which is no power of 2",
				display, (unsigned long long)a->cells);
	reason = family ? blm_scheme_misfit(scheme, family, a->cells, (uint32_t)a->probes) : NULL;
	if (!reason)
		return 0;
	return blm_fail(-EBADMSG, "%s: %llu bits and %llu hash functions do not go with %s: %s",
			display, (unsigned long long)a->cells, (unsigned long long)a->probes,
			family->name, reason);
}

int blm_outline_set(struct blm_outline *ret, const struct blm_format *format,
		    const struct blm_array *a, const char *display)
{
	const struct blm_scheme *scheme = blm_scheme_by_name(a->scheme ? a->scheme
							     : blm_scheme_own.name);
	struct blm_constant *c = &ret->contents.constant;
	struct blm_template_fields *t = &c->template;
	uint64_t capacity = a->capacity;
	double rate = a->rate;
	int r = check(a, format, scheme, display);

	if (r < 0)
		return r;
	ret->capacity_computed = capacity < 1 || capacity > BLM_CAPACITY_MAX;
	ret->rate_computed = !(rate > 0 && rate <= 1);
	if (ret->capacity_computed)
		capacity = blm_half_full((double)a->cells, (uint32_t)a->probes);
	if (ret->rate_computed)
		rate = fmax(blm_rate_bound(a->cells, (uint32_t)a->probes, capacity), DBL_MIN);
	c->capacity = htole64(capacity);
	c->rate = htole64(blm_bits_of(rate));
	t->kind = htole32(blm_kind_by_name(a->kind ? a->kind : BLM_EXACT_KIND)->id);
	t->family = htole32(a->family ? blm_family_by_name(a->family)->id : 0);
	t->index_rule = htole32(scheme->id);
	t->bit_order = htole32(format->bit_order);
	t->cells = htole64(a->cells);
	t->probes = htole32((uint32_t)a->probes);
	t->cell_bits = htole32(1);
	t->tweak = htole64(a->tweak);
	t->seed_count = htole32(a->seed_count);
	for (unsigned i = 0; i < a->seed_count; i++)
		t->seeds[i] = htole64(a->seeds[i]);
	ret->contents.parts = 1;
	blm_outline_place(ret, a->offset, a->bytes);
	return 0;
}

void blm_outline_place(struct blm_outline *o, uint64_t offset, uint64_t bytes)
{
	const struct blm_constant *c = &o->contents.constant;

	o->contents.part[0] = (struct blm_part_entry){
		.offset = htole64(offset), .bytes =
		htole64(round_up(le64toh(c->template.cells), 512) / 8),
		.cells = c->template.cells, .probes = c->template.probes,
		.cell_bits = c->template.cell_bits,
		.kind = c->template.kind, .capacity = c->capacity, .rate = c->rate,
	};
	o->end = offset + bytes;
}

int blm_outline_long_enough(size_t count, size_t head_bytes, const char *display)
{
	return count >= head_bytes ? 0 : blm_fail(-ENODATA,
						  "%s: ends after %zu bytes, in its header of "
						  "%zu: it is truncated", display, count,
						    head_bytes);
}

unsigned blm_outline_stages(const struct blm_outline *o)
{
	const struct blm_constant *c = &o->contents.constant;
	struct blm_shape s = { .cells = le64toh(c->template.cells),
			       .probes = le32toh(c->template.probes), .cell_bits = 1,
			       .capacity = le64toh(c->capacity),
			       .rate = blm_double_of(le64toh(c->rate)) };
	struct blm_component stage;
	unsigned stages = 0;

	for (int i = 0; i < BLM_KIND_ARGS; i++)
		s.args[i] = le64toh(c->template.args[i]);
	while (stages < o->contents.parts && blm_kind_scalable.compose(&s, stages, &stage))
		stages++;
	return stages;
}

double blm_least_bits(uint64_t capacity, double rate)
{
	return -(double)capacity * log(rate) / (log(2) * log(2));
}

/*
 * One that stands for any other of the format until it is settled which it is: it reaches every
 * cell that one of them does.
 */
static const struct blm_family *widest_family(const struct blm_format *format)
{
	const struct blm_family *widest = NULL;

	for (size_t i = 0; format->families[i]; i++) {
		const struct blm_family *family = blm_family_by_name(format->families[i]);

		if (!widest || family->bits > widest->bits)
			widest = family;
	}
	return widest;
}

/* The seeds of the file, or zeros if families of one format need different numbers of seeds. */
void blm_outline_set_family(struct blm_template_fields *t, const struct blm_family *family)
{
	t->family = htole32(family->id);
	t->seed_count = htole32(family_seeds(family, le32toh(t->probes)));
}

void blm_outline_open_family(struct blm_outline *o, const struct blm_format *format)
{
	if (o->candidates)
		blm_outline_set_family(&o->contents.constant.template, widest_family(format));
}

/* The template's own kind too: that of a composite filter is no part's. */
static int check_kinds(const struct blm_contents *contents, const char *display)
{
	int r = 0;

	blm_kind_known(le32toh(contents->constant.template.kind), display, &r);
	for (unsigned i = 0; r == 0 && i < contents->parts; i++)
		blm_kind_known(le32toh(contents->part[i].kind), display, &r);
	return r;
}

int blm_outline_of(struct blm_outline *ret, const struct blm_format *format, const uint8_t *head,
		   size_t count, const char *display)
{
	struct blm_constant *c = &ret->contents.constant;
	int r;

	*ret = (struct blm_outline){ .asked_cells = ret->asked_cells, .asked_probes =
				     ret->asked_probes, .asked_everything = ret->asked_everything };
	r = format->parse(ret, head, count, display);
	r = r < 0 ? r : check_kinds(&ret->contents, display);
	if (r < 0)
		return r;
	blm_outline_open_family(ret, format);
	if (format->memo) {
		c->origin = htole32(format->id);
		c->origin_bytes = htole32((uint32_t)ret->memo_bytes);
		memcpy(c->origin_head, ret->memo, ret->memo_bytes);
	} else if (format->head_bytes <= sizeof(c->origin_head)) {
		c->origin = htole32(format->id);
		c->origin_bytes = htole32((uint32_t)format->head_bytes);
		memcpy(c->origin_head, head, format->head_bytes);
	}
	return 0;
}
