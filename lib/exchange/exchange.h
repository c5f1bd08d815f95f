/* exchange.h - what opening a foreign file, importing and exporting one share */
#ifndef BLM_EXCHANGE_H
#define BLM_EXCHANGE_H

#include "make/new_filter.h"
#include "format/format.h"

/*
 * The format of this name; NULL: that of a file which begins like this, or, of a text form, has
 * this below its base64.
 */
int blm_find_format(const struct blm_format **ret, const char *name, const uint8_t *bytes,
		    size_t count, bool text, const char *display);

/* Is a file that begins like this in gzip? */
bool blm_looks_like_gzip(const uint8_t *bytes, size_t count);

/*
 * Which of the families is it? The view has the bits, and no other thread has the view. -ENOTUNIQ,
 * with a list, if that stays open.
 */
int blm_resolve_family(struct blm_view *view, const struct blm_outline *outline,
		      const struct blm_format *format,
		      const struct blm_exchange *how, const char *display);

/*
 * The caller's struct, as in sized.h; NULL means all defaults. Return: 0; -EINVAL or -E2BIG, with a
 * message.
 */
int blm_exchange_take(struct blm_exchange *ret, const struct blm_exchange *given);

/* Was something given that files of this format say themselves, or have no use for? */
int blm_format_check_given(const struct blm_format *format, const struct blm_exchange *how,
			   const char *display);

/*
 * The bits past the last cell mean nothing to anybody, and are zero here. Is one of them set? Clear
 * them.
 */
bool blm_padding_is_set(const struct blm_part *part);
void blm_clear_padding(const struct blm_part *part);

/*
 * Open the file at the place, which then belongs to the handle, or is cleared. how: the known facts
 * about a file of a foreign format; may be NULL.
 */
int blm_open_any(struct blm_filter **ret, struct blm_place *place, bool write,
		 const uint8_t *secret, const struct blm_exchange *how);

/* A view of the file at the place, if that is of a foreign format; 1: it is not. */
int blm_foreign_view(struct blm_view **ret, const struct blm_place *place, bool write,
		     const struct blm_exchange *how);

#endif
