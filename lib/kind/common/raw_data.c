/* raw_data.c - raw data of another filter of the same template, checked and united */
#include "kind/common/raw_data.h"
#include "kind/kind_registry.h"

/* Is a bit set that is no cell's? No other writer would make such a file. */
static bool in_padding(const struct blm_part *part, uint64_t at, const uint8_t *data, size_t bytes)
{
	uint64_t from = padding_from(part), left = left_of_word(part);

	for (size_t i = 0; left && i < bytes; i++)
		if (data[i] & (uint8_t)(left >> (at + i) % 8 * 8))
			return true;
	for (uint64_t bit = from > at * 8 ? from : at * 8; bit < (at + bytes) * 8; bit++)
		if (is_padding(part, bit) && data[bit / 8 - at] >> bit % 8 & 1)
			return true;
	return false;
}

int blm_raw_check(const struct blm_part *part, uint64_t at, const void *data, size_t bytes,
		  const char *display)
{
	if (in_padding(part, at, data, bytes))
		return blm_fail(-EINVAL, "%s: a bit is set that belongs to none of its %llu "
				"cells",
				display, (unsigned long long)part->shape.cells);
	if (!kind_only_sets(part->kind) && (at % 8 || bytes % 8))
		return blm_fail(-EINVAL, "%s: the cells of a %s filter are in words of 8 bytes; "
				"%zu bytes at %llu are not complete words", display,
				part->kind->name, bytes, (unsigned long long)at);
	return 0;
}

void blm_raw_unite(struct blm_part *part, uint64_t at, const void *data, size_t bytes)
{
	const uint8_t *from = data;

	while (bytes) {
		_Alignas(64) uint8_t line[64] = { 0 };
		size_t first = at % 64, here = bytes < 64 - first ? bytes : 64 - first;

		if (!first && bytes >= 64 && (uintptr_t)from % 64 == 0) {
			here = bytes - bytes % 64;
			part->kind->unite(part, part->bytes + at, from, here);
		} else {
			memcpy(line + first, from, here);
			part->kind->unite(part, part->bytes + at - first, line, 64);
		}
		at += here;
		from += here;
		bytes -= here;
	}
}
