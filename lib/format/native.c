/*
 * native.c - our own files, to be sent elsewhere: the same bytes, without the name and the history
 * of one file
 */
#include "format/format.h"

static bool begins(const uint8_t *bytes, size_t count)
{
	return count >= 8 && !memcmp(bytes, BLM_MAGIC, 8);
}

static bool text_begins(const uint8_t *bytes, size_t count)	/* RFC 8878, 3.1.1 */
{
	return count >= 4 && !memcmp(bytes, "\x28\xb5\x2f\xfd", 4);
}

/* The parts are read in their order, in one pass. */
static int check_order(const struct blm_contents *c, const char *display)
{
	for (unsigned i = 1; i < c->parts; i++)
		if (le64toh(c->part[i].offset) < le64toh(c->part[i - 1].offset))
			return blm_fail(-EBADMSG, "%s: part %u is before part %u", display, i,
					i - 1);
	return 0;
}

/* What opening the file would refuse: making a new one of it would hide that. */
static int check_template(const struct blm_contents *c, const char *display)
{
	const struct blm_template_fields *t = &c->constant.template;
	const struct blm_part_entry *first = &c->part[0];

	if (first->kind != t->kind)	/* a composite filter, or one that does not open */
		return 0;
	if (first->cells != t->cells || first->probes != t->probes
	    || first->cell_bits != t->cell_bits)
		return blm_fail(-EBADMSG, "%s: the part table and the template disagree on kind, "
				"m, k or cell width", display);
	return 0;
}

static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	const struct blm_header *header = (const struct blm_header *)head;
	struct blm_contents *c = &ret->contents;
	int r;

	if (count < BLM_HEADER_BYTES)
		return blm_fail(-ENODATA, "%s: %zu bytes, shorter than a filter's header (%d): "
				"it is truncated", display, count, BLM_HEADER_BYTES);
	r = blm_header_check(header, INT64_MAX, display, c);
	if (r == 0 && c->constant.must_understand)
		r = blm_fail(-EREMOTE, "%s: part %u of %u of a filter: it is read as a file (cp), "
			     "and joined with the other parts (blm_join_begin())", display,
			     le32toh(c->constant.split_part) + 1, le32toh(c->constant.split_parts));
	if (r == 0)
		r = check_template(c, display);
	if (r == 0)
		r = check_order(c, display);
	if (r < 0)
		return r;
	ret->end = le64toh(c->part[c->parts - 1].offset) + le64toh(c->part[c->parts - 1].bytes);
	if (le64toh(c->constant.flags) & BLM_FLAG_CHECKPOINT)	/* it has one part */
		ret->behind = checkpoint_layout(le64toh(c->part[0].offset),
						le64toh(c->part[0].bytes)).end;
	ret->counted = true;
	ret->keys_estimated = header->live.inexact.word != 0;
	for (int i = 0; i < BLM_OWN; i++)
		ret->own[i] = le64toh(header->live.own[i].word);
	for (int i = 0; i < BLM_STRIPES; i++)
		ret->keys += le64toh(header->stripe[i].keys);
	return 0;
}

static int lay_out(struct blm_outline *o, uint8_t *head, const char *display)
{
	struct blm_header *header = (struct blm_header *)head;
	struct blm_contents *c = &o->contents;
	int r = 0;

	header->constant = c->constant;
	/* another program's file, opened as it is: this makes it one of ours */
	if (!le32toh(c->constant.version))
		r = blm_constant_begin(&header->constant, display);
	if (r < 0)
		return r;
	/* the records of its blocks stay behind, and the checkpoint image */
	header->constant.flags &= ~htole64(BLM_FLAG_SEALED | BLM_FLAG_CHECKPOINT);
	blm_template_id(&header->constant.template, header->constant.template_id);
	memcpy(header->part, c->part, c->parts * sizeof(*c->part));
	blm_header_finish(header, c->parts);
	header->stripe[0].keys = htole64(o->keys);
	header->live.inexact.word = htole64(o->keys_estimated);
	for (int i = 0; i < BLM_OWN; i++)
		header->live.own[i].word = htole64(o->own[i]);
	memcpy(c->part, header->part, sizeof(c->part));
	o->end = le64toh(c->part[c->parts - 1].offset) + le64toh(c->part[c->parts - 1].bytes);
	return 0;
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { &blm_stage_zstd, 9 }, { 0 } };

const struct blm_format blm_format_native = {
	.id = 1,
	.name = "bloomery",
	.summary = "our own: every kind and hash, mapped as it is",
	.text_name = "base64(zstd(file))",
	.text = text,
	.states = true, .head_bytes = BLM_HEADER_BYTES, .zeros = true,
	.begins = begins, .text_begins = text_begins,
	.parse = parse, .lay_out = lay_out,
};
