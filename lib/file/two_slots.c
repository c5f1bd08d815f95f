/* two_slots.c - records that are written in turns into two slots */
#include "file/two_slots.h"
#include "file/header.h"

/*
 * Each sort of record has two slots, written in turns. is_after() compares sequences, because 1
 * follows 2^64 - 1. Two sequences that are equal, or 2^63 apart, contradict each other: no writer
 * leaves such records.
 */
enum { BOTH = 2 };

static bool is_neither_after(uint64_t a, uint64_t b)
{
	return !is_after(a, b) && !is_after(b, a);
}

static uint64_t sequence_after(uint64_t sequence)
{
	return sequence + 1 ? sequence + 1 : 1;
}

static bool claims_less(const struct blm_sync_record *a, const struct blm_sync_record *b)
{
	uint64_t epochs[] = { le64toh(a->epoch), le64toh(b->epoch) };

	return epochs[0] < epochs[1] || (epochs[0] == epochs[1]
					 && le64toh(a->keys) < le64toh(b->keys));
}

/*
 * Copies both records, because another process may be writing one of them. Returns how many are
 * valid. If one is, *ret_slot is its slot.
 */
static int valid_syncs(const struct blm_live *live, const uint8_t uuid[16],
		       struct blm_sync_record ret[BOTH], int *ret_slot)
{
	int count = 0;

	for (int i = 0; i < BOTH; i++) {
		copy_from_shared(&ret[i], &live->sync[i], sizeof(ret[i]));
		if (ret[i].sequence && ret[i].check == blm_check_sync(&ret[i], uuid)) {
			count++;
			*ret_slot = i;
		}
	}
	return count;
}

/*
 * The slot of the last record; -1: there is none. If two records contradict each other, the one
 * that claims less.
 */
static int last_sync(const struct blm_live *live, const uint8_t uuid[16],
		     struct blm_sync_record *ret)
{
	struct blm_sync_record s[BOTH];
	int slot = -1;

	if (valid_syncs(live, uuid, s, &slot) == BOTH) {
		uint64_t sequence[] = { le64toh(s[0].sequence), le64toh(s[1].sequence) };

		slot = is_neither_after(sequence[0], sequence[1]) ? claims_less(&s[1], &s[0])
			: is_after(sequence[1], sequence[0]);
	}
	if (slot >= 0)
		*ret = s[slot];
	return slot;
}

bool blm_last_sync(const struct blm_live *live, const uint8_t uuid[16], struct blm_sync_record *ret)
{
	return last_sync(live, uuid, ret) >= 0;
}

bool blm_syncs_contradict(const struct blm_live *live, const uint8_t uuid[16])
{
	struct blm_sync_record s[BOTH];
	int slot;

	return valid_syncs(live, uuid, s, &slot) == BOTH && memcmp(&s[0], &s[1], sizeof(s[0]))
	    && is_neither_after(le64toh(s[0].sequence), le64toh(s[1].sequence));
}

int blm_syncs_lost(const struct blm_live *live, const uint8_t uuid[16])
{
	int written = !!load_relaxed(&live->sync[0].sequence)
		+ !!load_relaxed(&live->sync[1].sequence);
	struct blm_sync_record last;
	bool known = blm_last_sync(live, uuid, &last),
		flushing = load_acquire(&live->flushing.word);

	known |= blm_last_sync(live, uuid, &last);
	return known || (written == 1 && flushing) ? 0 : written;
}

/* The last record stays in its slot until the next one is complete. */
void blm_next_sync(struct blm_live *live, const uint8_t uuid[16],
		   const struct blm_sync_record *content)
{
	struct blm_sync_record last = { 0 }, next = *content;
	int slot = last_sync(live, uuid, &last);

	next.sequence = htole64(sequence_after(le64toh(last.sequence)));
	next.check = blm_check_sync(&next, uuid);
	copy_to_shared(&live->sync[slot == 1 ? 0 : 1], &next, sizeof(next));
}

void blm_drop_sync(struct blm_live *live, const uint8_t uuid[16])
{
	const struct blm_sync_record none = { 0 };
	struct blm_sync_record last;
	int slot = last_sync(live, uuid, &last);

	if (slot >= 0)
		copy_to_shared(&live->sync[slot], &none, sizeof(none));
}

/*
 * Records are large, so only the valid one is copied: `ret`, whose slot this returns; -1: none.
 * *ret_contradict: both are valid, although no writer leaves both.
 */
static int last_record(const struct blm_header *header, const uint8_t uuid[16],
		       struct blm_record *ret, bool *ret_contradict)
{
	int slot = -1;

	*ret_contradict = false;
	for (int i = 0; i < BOTH; i++) {
		struct blm_record r = header->record[i];
		uint64_t sequence = le64toh(r.sequence);

		if (!r.sequence || r.check != blm_check_record(&r, uuid)
		    || le32toh(r.name_bytes) >= BLM_FORMAT_NAME
		    || le32toh(r.labels_bytes) >= BLM_FORMAT_LABELS)
			continue;
		*ret_contradict = slot >= 0 && is_neither_after(sequence, le64toh(ret->sequence))
			&& memcmp(&r, ret, sizeof(r));
		if (slot < 0 || is_after(sequence, le64toh(ret->sequence))) {
			*ret = r;
			slot = i;
		}
	}
	return slot;
}

bool blm_last_record(const struct blm_header *header, const uint8_t uuid[16],
		     struct blm_record *ret)
{
	bool contradict;

	return last_record(header, uuid, ret, &contradict) >= 0;
}

bool blm_records_contradict(const struct blm_header *header, const uint8_t uuid[16])
{
	struct blm_record last;
	bool contradict;

	last_record(header, uuid, &last, &contradict);
	return contradict;
}

void blm_next_record(struct blm_header *header, const uint8_t uuid[16],
		     const struct blm_record *content)
{
	struct blm_record last = { 0 }, next = *content;
	bool contradict;
	int slot = last_record(header, uuid, &last, &contradict);

	next.sequence = htole64(sequence_after(le64toh(last.sequence)));
	next.check = blm_check_record(&next, uuid);
	header->record[slot == 1 ? 0 : 1] = next;
}
