/* peers.c - which other libraries were found when this was built */
#include "bench.h"

static const struct engine *const all[] = {
#ifdef HAVE_LIBBLOOM
	&libbloom,
#endif
#ifdef HAVE_ROCKSDB
	&rocksdb_bloom, &rocksdb_ribbon,
#endif
#ifdef HAVE_BOOST_BLOOM
	&boost_bloom,
#endif
#ifdef HAVE_QUICKBLOOM
	&quickbloom,
#endif
	NULL,
};

const struct engine *const *peers(size_t *ret_count)
{
	*ret_count = ARRAY_LEN(all) - 1;
	return all;
}

const char *peers_missing(void)
{
	return ""
#ifndef HAVE_LIBBLOOM
	       "libbloom was not there when this was built (Debian: libbloom-dev)\n"
#endif
#ifndef HAVE_ROCKSDB
	       "RocksDB 7.8 was not there when this was built (Debian 12: librocksdb-dev, g++)\n"
#endif
#ifndef HAVE_BOOST_BLOOM
	       "Boost.Bloom was not there when this was built (tests/bench/run --peers)\n"
#endif
#ifndef HAVE_QUICKBLOOM
	       "quickbloom was not there when this was built (tests/bench/run --peers)\n"
#endif
		;
}
