/*
 * allowlist_carry.h - which keys of a filter's list of false positives go over to the file that
 * takes its place (allowlist.h)
 */
#ifndef BLM_ALLOWLIST_CARRY_H
#define BLM_ALLOWLIST_CARRY_H

#include "handle/handle.h"

/*
 * The list follows the name, except for keys that the new file may have been given: the list would
 * hide those. A key that the new file denies was not given to it. If it says yes to a key, the
 * record decides: where all keys of the new file were noted here, from the first one on, a listed
 * key that was not noted is still a false positive and stays. NULL: the keys were not noted, and
 * each listed key to which the new file says yes goes off the list.
 */
struct blm_allowlist_carry;
/* its keys are those of the old file, or some of them: all entries move */
extern const struct blm_allowlist_carry blm_allowlist_carry_all;

/*
 * For the filter at `place`. *ret NULL: there is no list, or no filter. 0 or a negative errno, with
 * a message.
 */
int blm_allowlist_carry_begin(struct blm_allowlist_carry **ret, const struct blm_place *place);
/* takes NULL; returns NULL */
struct blm_allowlist_carry *blm_allowlist_carry_end(struct blm_allowlist_carry *carry);

/*
 * Note keys that are given to the new file. Any thread may call this. note_unnamed() is for keys
 * whose bytes are not known. Keys of an ordered family are of this sort: a network stands for all
 * of its addresses, and a number has several spellings. If the carry is NULL, nothing is noted.
 */
void blm_allowlist_carry_note(struct blm_allowlist_carry *carry, const struct blm_key *keys,
			      size_t count);
void blm_allowlist_carry_note_fixed(struct blm_allowlist_carry *carry, const uint8_t *keys,
				    size_t width, size_t count);
void blm_allowlist_carry_note_unnamed(struct blm_allowlist_carry *carry);

/* Does a key of the list go over to this file, which is complete? */
bool blm_allowlist_carry_keeps(const struct blm_allowlist_carry *carry, const struct blm_view *new,
			       const struct blm_key *key);

#endif
