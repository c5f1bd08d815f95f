/* dirty.c - the words of a file that say what may not be on the disk */
#include "durable/dirty.h"
#include "file/os.h"

void blm_raise_written(struct blm_live *live)
{
	uint64_t epoch = load_acquire(&live->epoch.word),
		old = __atomic_load_n(&live->written.word, __ATOMIC_RELAXED);

	if (le64toh(old) >= epoch)
		return;
	store_release(&live->boot.word, blm_boot_number());
	while (le64toh(old) < epoch
	       && !__atomic_compare_exchange_n(&live->written.word, &old, htole64(epoch), true,
					       __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

bool blm_is_unwritten(const struct blm_live *live, uint64_t synced_epoch)
{
	return load_acquire(&live->failed.word) > synced_epoch
		|| load_acquire(&live->flushing.word) == blm_boot_number();
}

bool blm_is_unannounced(const struct blm_live *live)
{
	return load_acquire(&live->announcing.word) == blm_boot_number()
		|| blm_failed_to_announce(live);
}

uint64_t blm_failed_number(void)
{
	return blm_boot_number() & ~UINT64_C(1);
}

bool blm_failed_to_announce(const struct blm_live *live)
{
	return load_acquire(&live->announcing.word) == blm_failed_number();
}
