/* dirty.c - the first change of an epoch is marked in the file */
#include "durable/dirty.h"

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
