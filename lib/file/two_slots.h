/*
 * two_slots.h - records that are written in turns into two slots, so that a crash leaves the last
 * one: sync records and name records
 */
#ifndef BLM_FILE_TWO_SLOTS_H
#define BLM_FILE_TWO_SLOTS_H

#include "file/layout.h"

/* Compares serial numbers (RFC 1982): 1 is after 2^64 - 1. */
static inline bool is_after(uint64_t a, uint64_t b)
{
	return a != b && a - b < UINT64_C(1) << 63;
}

/*
 * The valid one of two slots with the later sequence, copied out; false if neither is valid.
 * contradict: both are valid, and neither is later, although they differ: of two sync records the
 * one that claims less then counts, of two name records slot 0.
 */
bool blm_last_sync(const struct blm_live *live, const uint8_t uuid[16],
		   struct blm_sync_record *ret);
/*
 * How many of the two are damaged if none is valid; 0: there is a valid one, or none yet. If one is
 * damaged and the other is valid, a crash came in the middle of a sync, and nothing is lost. The
 * only record is damaged while the first sync writes it, or in a copy made at that time; `flushing`
 * is set until it is written, so a cleared `flushing` means damage.
 */
int blm_syncs_lost(const struct blm_live *live, const uint8_t uuid[16]);
bool blm_syncs_contradict(const struct blm_live *live, const uint8_t uuid[16]);
bool blm_last_record(const struct blm_header *header, const uint8_t uuid[16],
		     struct blm_record *ret);
bool blm_records_contradict(const struct blm_header *header, const uint8_t uuid[16]);

/* Write the next slot; the caller holds the lock that slots of this sort are written under. */
void blm_next_sync(struct blm_live *live, const uint8_t uuid[16],
		   const struct blm_sync_record *content);
void blm_drop_sync(struct blm_live *live, const uint8_t uuid[16]);	/* the last one */
void blm_next_record(struct blm_header *header, const uint8_t uuid[16],
		     const struct blm_record *content);

#endif
