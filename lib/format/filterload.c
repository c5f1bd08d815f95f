/*
 * filterload.c - the common part of BIP 37's and Neo's payloads
 */
#include "format/filterload.h"

const char *const blm_wire_families[] = { "murmur3-bip37", NULL };
const struct blm_layer blm_wire_text[] = { { &blm_stage_base64, 0 }, { 0 } };

static size_t bytes_of(const struct blm_wire_tail *tail)
{
	return tail->probes + 4 + tail->flags;
}

/*
 * Sets cells, offset and bytes of the array. The head is all of the file, and has a tail behind
 * them.
 */
static int read_length(struct blm_array *ret, const uint8_t *head, size_t count, size_t tail_bytes,
		       const char *display)
{
	size_t size = !count || head[0] < 0xfd ? 1 : head[0] == 0xfd ? 3 : head[0] == 0xfe ? 5 : 9;
	uint64_t bytes;

	if (count < size)
		return blm_fail(-ENODATA, "%s: ends after %zu bytes, in its length: it is "
				"truncated",
				display, count);
	bytes = size == 1 ? head[0] : blm_get_little(head + 1, (unsigned)size - 1);
	if (size > 1 && bytes < (size == 3 ? 0xfd : size == 5 ? 0x10000 : UINT64_C(0x100000000)))
		return blm_fail(-EBADMSG, "%s: its length, %llu, is not written in the shortest "
				"form", display, (unsigned long long)bytes);
	if (bytes > BLM_WIRE_BYTES)
		return blm_fail(-EBADMSG, "%s: has %llu bytes of bits by its length, more than "
				"%d",
				display, (unsigned long long)bytes, BLM_WIRE_BYTES);
	if (count < size + bytes + tail_bytes)
		return blm_fail(-ENODATA, "%s: has %zu bytes, but %llu by its length: it is "
				"truncated",
				display, count,
				(unsigned long long)(size + bytes + tail_bytes));
	ret->offset = size;
	ret->bytes = bytes;
	ret->cells = 8 * bytes;
	return 0;
}

static int check(uint64_t cells, uint64_t probes, const char *display)
{
	if (cells % 8 || cells > 8 * BLM_WIRE_BYTES || probes < 1 || probes > BLM_WIRE_PROBES)
		return blm_fail(-EOPNOTSUPP, "%s: m is %llu and k is %llu; the format needs m a "
				"multiple of 8 up to %d, and k from 1 to %d", display,
				(unsigned long long)cells, (unsigned long long)probes,
				8 * BLM_WIRE_BYTES, BLM_WIRE_PROBES);
	return 0;
}

static int set_outline(struct blm_outline *ret, const struct blm_format *format,
		       struct blm_array *a, const char *display)
{
	int r;

	if (!a->cells || !a->probes) {
		if (!ret->asked_everything)
			return blm_fail(-EBADMSG, "%s: has no %s: every key is in it for Bitcoin "
					"Core, none for other programs; blm_exchange.everything "
					"takes it with every key", display,
					a->cells ? "hash functions" : "bits");
		ret->everything = true;
		a->cells = a->cells ? a->cells : 8;
		a->probes = a->probes ? a->probes : 1;
	}
	r = check(a->cells, a->probes, display);
	return r < 0 ? r : blm_outline_set(ret, format, a, display);
}

int blm_wire_parse(struct blm_outline *ret, const struct blm_format *format,
		   const struct blm_wire_tail *tail, const uint8_t *head, size_t count,
		   const char *display)
{
	struct blm_array a = { .family = blm_wire_families[0] };
	const uint8_t *at;
	int r = read_length(&a, head, count, bytes_of(tail), display);

	if (r < 0)
		return r;
	at = head + a.offset + a.bytes;
	a.probes = blm_get_little(at, tail->probes);
	a.tweak = blm_get_little(at + tail->probes, 4);
	if (tail->flags)
		ret->memo[ret->memo_bytes++] = at[tail->probes + 4];
	ret->tail_bytes = bytes_of(tail);
	return set_outline(ret, format, &a, display);
}

static size_t put_length(uint8_t *head, uint64_t bytes)
{
	size_t size = bytes < 0xfd ? 1 : 3;

	head[0] = size == 1 ? (uint8_t)bytes : 0xfd;
	if (size > 1)
		blm_put_little(head + 1, bytes, 2);
	return size;
}

int blm_wire_lay_out(struct blm_outline *o, const struct blm_wire_tail *tail, uint8_t *head,
		     const char *display)
{
	const struct blm_template_fields *t = &o->contents.constant.template;
	uint64_t cells = le64toh(t->cells);
	int r = check(cells, le32toh(t->probes), display);

	if (r < 0)
		return r;
	o->head_bytes = put_length(head, cells / 8);
	blm_put_little(o->tail, le32toh(t->probes), tail->probes);
	blm_put_little(o->tail + tail->probes, le64toh(t->tweak), 4);
	if (tail->flags)
		o->tail[tail->probes + 4] = o->memo_bytes ? o->memo[0] : tail->usual_flags;
	o->tail_bytes = bytes_of(tail);
	blm_outline_place(o, o->head_bytes, cells / 8);
	return 0;
}
