/* boot.h - may an unsealed filter of this kind be here, where a power cut must be noticed? */
#ifndef BLM_BOOT_H
#define BLM_BOOT_H

#include "kind/kind_registry.h"
#include "place/place.h"

/*
 * -ENOSYS, with a message, if an unsealed file of a kind that must notice power cuts is to be here,
 * but the system has no boot id.
 */
int blm_check_boot(const struct blm_kind *kind, bool sealed, const struct blm_place *place);
int blm_know_boot_at(const struct blm_place *place);	/* as blm_know_boot(), with a message */

#endif
