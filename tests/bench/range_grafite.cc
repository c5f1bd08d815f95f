/* range_grafite.cc - a peer: Grafite of its authors, with the coder of sux */
#include "range_peers.h"

#define SUCCINCT_LIB_SUX
#include <grafite/grafite.hpp>

#include <stdexcept>
#include <vector>

using filter = grafite::filter<>;

void *grafite_new(const uint64_t *keys, size_t count, double bits_per_key)
{
	std::vector<uint64_t> all(keys, keys + count);

	try {
		return new filter(all.begin(), all.end(), bits_per_key);
	} catch (const std::runtime_error &) {
		return nullptr;
	}
}

size_t grafite_bytes(void *it)
{
	return static_cast<filter *>(it)->size();
}

void grafite_ask(void *it, const uint64_t *first, const uint64_t *last, size_t count,
		 uint64_t *bits)
{
	const filter &f = *static_cast<filter *>(it);

	for (size_t i = 0; i < count; i++) {
		uint64_t yes = f.query(first[i], last[i]);

		bits[i / 64] = (bits[i / 64] & ~(UINT64_C(1) << i % 64)) | yes << i % 64;
	}
}

void grafite_free(void *it)
{
	delete static_cast<filter *>(it);
}
