/*
 * filterload.h - the common part of BIP 37's and Neo's payloads: a CompactSize, that many bytes of
 * bits, a tail; and their limits
 */
#ifndef BLM_FORMAT_WIRE_H
#define BLM_FORMAT_WIRE_H

#include "format/format.h"

enum {
	BLM_WIRE_BYTES = 36000,		/* of bits */
	BLM_WIRE_PROBES = 50,
	BLM_WIRE_TAIL = 9,		/* at most */
	/* of the complete file, plus one to see that it continues */
	BLM_WIRE_HEAD = 3 + BLM_WIRE_BYTES + BLM_WIRE_TAIL + 1,
};

/* What follows the bits: k; the tweak, 4 bytes; flags. */
struct blm_wire_tail {
	unsigned probes;		/* how many bytes k has */
	/* is there a byte of flags? They are nothing to us, and kept */
	bool flags;
	uint8_t usual_flags;		/* of filters that are made here */
};

/*
 * parse() and lay_out() of a format whose files end so. Both programs accept these m and k. A
 * filter without bits, or without functions, denies no key in Bitcoin Core; others invert that or
 * refuse the filter. It is accepted if the caller requests that, as a filter of the same size (or
 * one byte) and functions (or one), with all bits set.
 */
int blm_wire_parse(struct blm_outline *ret, const struct blm_format *format,
		   const struct blm_wire_tail *tail, const uint8_t *head, size_t count,
		   const char *display);
int blm_wire_lay_out(struct blm_outline *o, const struct blm_wire_tail *tail, uint8_t *head,
		     const char *display);

extern const char *const blm_wire_families[];
extern const struct blm_layer blm_wire_text[];

#endif
