/* exchange.h - what opening a foreign file, importing and exporting one share */
#ifndef BLM_EXCHANGE_H
#define BLM_EXCHANGE_H

#include "handle/handle.h"
#include "format/format.h"

/* The format of this name; NULL: that of a file which begins like this, or, of a text form, has this below its base64. */
int blm_find_format(const struct blm_format **ret, const char *name, const uint8_t *bytes, size_t count, bool text, const char *shown);

/* Does a file that begins like this lie in gzip? */
bool blm_looks_like_gzip(const uint8_t *bytes, size_t count);

/*
 * What a file of this format says of itself, with its origin noted, and a family that it may have. head: its first bytes,
 * head_bytes of the format, or less if it is shorter.
 */
int blm_outline_of(struct blm_outline *ret, const struct blm_format *format, const uint8_t *head, size_t count, const char *shown);

/* Where its family is open: one of those that it may have, for the time being. */
void blm_outline_open_family(struct blm_outline *o, const struct blm_format *format);

/* Which of the families is it? The view has the bits, and nobody else has the view. -ENOTUNIQ, with a list, if that stays open. */
int blm_settle_family(struct blm_view *view, const struct blm_outline *outline, const struct blm_format *format,
		      const struct blm_exchange *how, const char *shown);

/* Was something given that files of this format say themselves, or have no use for? */
int blm_format_check_given(const struct blm_format *format, const struct blm_exchange *how, const char *shown);

/* The bits past the last cell mean nothing to anybody, and are zero here. Is one of them set? Clear them. */
bool blm_padding_is_set(const struct blm_part *part);
void blm_clear_padding(const struct blm_part *part);

/* A view of what lies at the place, if that is a foreign format's file; 1: it is not. */
int blm_foreign_view(struct blm_view **ret, const struct blm_place *place, bool write, const struct blm_exchange *how);

#endif
