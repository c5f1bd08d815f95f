/* boost_glue.cc - Boost.Bloom's filter, inlined into loops */
#include "boost_glue.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <boost/bloom.hpp>

#include <new>

struct key {
	unsigned char bytes[16];
};

struct hasher {
	using is_avalanching = void;
	std::size_t operator()(const key &k) const noexcept
	{
		return XXH3_64bits(k.bytes, sizeof(k.bytes));
	}
};

using filter = boost::bloom::filter<key, 1, boost::bloom::fast_multiblock32<8>, 1, hasher>;

void *boost_new(size_t keys, double rate)
{
	try {
		return new filter(keys, rate);
	} catch (const std::bad_alloc &) {
		return nullptr;
	}
}

void boost_free(void *it)
{
	delete static_cast<filter *>(it);
}

size_t boost_bits(void *it)
{
	return static_cast<filter *>(it)->capacity();
}

size_t boost_contains(void *it, const void *keys, size_t count)
{
	const filter &f = *static_cast<filter *>(it);
	const key *k = static_cast<const key *>(keys);
	size_t yes = 0;

	for (size_t i = 0; i < count; i++)
		yes += f.may_contain(k[i]);
	return yes;
}

void boost_insert(void *it, const void *keys, size_t count)
{
	filter &f = *static_cast<filter *>(it);
	const key *k = static_cast<const key *>(keys);

	for (size_t i = 0; i < count; i++)
		f.insert(k[i]);
}
