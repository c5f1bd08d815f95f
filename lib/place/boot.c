/* boot.c - the number of this boot, where a place needs it */
#include "place/boot.h"
#include "file/os.h"

int blm_know_boot_at(const struct blm_place *place)
{
	int r = blm_know_boot();

	return r < 0 ? blm_fail(r, "%s: cannot read /proc/sys/kernel/random/boot_id, which shows "
				"whether the power failed: %s", place->display,
				strerror(-r)) : 0;
}

/* Sealed files do not change, and memory has no power cuts but its last. */
int blm_check_boot(const struct blm_kind *kind, bool sealed, const struct blm_place *place)
{
	int r = place->memory ? 0 : blm_know_boot_at(place);

	if (r < 0 || (!kind_has_checkpoint(kind) && !kind_may_be_torn(kind)) || sealed
	    || place->memory
	    || blm_boot_number() != BLM_NO_BOOT)
		return r;
	return blm_fail(-ENOSYS, "%s: a %s filter cannot be changed here, because "
			"/proc/sys/kernel/random/boot_id cannot be read: mount /proc",
			place->display, kind->name);
}
