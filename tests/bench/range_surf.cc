/* range_surf.cc - a peer: SuRF, a trie of the shortest prefixes that tell the keys apart */
#include "range_peers.h"

#include <surf.hpp>

#include <string>
#include <vector>

void *surf_new(const uint64_t *keys, size_t count, unsigned suffix_bits)
{
	std::vector<std::string> strings(count);

	for (size_t i = 0; i < count; i++)
		strings[i] = surf::uint64ToString(keys[i]);
	return new surf::SuRF(strings, suffix_bits ? surf::kReal : surf::kNone, 0, suffix_bits);
}

size_t surf_bytes(void *it)
{
	return static_cast<surf::SuRF *>(it)->serializedSize();
}

void surf_ask(void *it, const uint64_t *first, const uint64_t *last, size_t count, uint64_t *bits)
{
	surf::SuRF &f = *static_cast<surf::SuRF *>(it);

	for (size_t i = 0; i < count; i++) {
		uint64_t yes = f.lookupRange(surf::uint64ToString(first[i]), true,
					     surf::uint64ToString(last[i]), true);

		bits[i / 64] = (bits[i / 64] & ~(UINT64_C(1) << i % 64)) | yes << i % 64;
	}
}

void surf_free(void *it)
{
	surf::SuRF *f = static_cast<surf::SuRF *>(it);

	f->destroy();
	delete f;
}
