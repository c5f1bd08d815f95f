/* rocksdb_glue.cc - RocksDB's filters, as its tables build and ask them */
#include "rocksdb_glue.h"

#include <rocksdb/filter_policy.h>
#include <rocksdb/slice.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include <cstring>
#include <memory>
#include <new>

#if ROCKSDB_MAJOR != 7 || ROCKSDB_MINOR != 8
#error "the two classes below are those of RocksDB 7.8"
#endif

/*
 * The policies are public; what they make is not in the installed headers since 7.0. Only the order
 * of the virtual functions matters here. bench's own checks (no false negative, the rate) would
 * find a wrong one.
 */
namespace ROCKSDB_NAMESPACE {
class FilterBitsBuilder {
public:
	virtual ~FilterBitsBuilder() {}
	virtual void AddKey(const Slice &key) = 0;
	virtual size_t EstimateEntriesAdded() = 0;
	virtual Slice Finish(std::unique_ptr<const char[]> *buf) = 0;
	virtual Slice Finish(std::unique_ptr<const char[]> *buf, Status *status) = 0;
	virtual Status MaybePostVerify(const Slice &filter_content) = 0;
	virtual size_t ApproximateNumEntries(size_t bytes) = 0;
};

class FilterBitsReader {
public:
	virtual ~FilterBitsReader() {}
	virtual bool MayMatch(const Slice &entry) = 0;
	virtual void MayMatch(int num_keys, Slice **keys, bool *may_match) = 0;
};
}

using namespace ROCKSDB_NAMESPACE;

struct rocks {
	std::unique_ptr<const FilterPolicy> policy;
	std::unique_ptr<FilterBitsBuilder> builder;
	std::unique_ptr<FilterBitsReader> reader;
	std::unique_ptr<const char[]> data;
};

struct rocks *rocks_new(bool ribbon, double bits_per_key)
{
	BlockBasedTableOptions options;
	std::unique_ptr<rocks> r(new rocks());

	options.format_version = 5;
	r->policy.reset(ribbon ? NewRibbonFilterPolicy(bits_per_key, -1)
			       : NewBloomFilterPolicy(bits_per_key));
	r->builder.reset(r->policy->GetBuilderWithContext(FilterBuildingContext(options)));
	return r->builder ? r.release() : nullptr;
}

void rocks_add(struct rocks *r, const void *bytes, size_t len)
{
	r->builder->AddKey(Slice(static_cast<const char *>(bytes), len));
}

bool rocks_finish(struct rocks *r, const void **ret_data, size_t *ret_bytes)
{
	Slice filter = r->builder->Finish(&r->data);

	r->builder.reset();
	r->reader.reset(r->policy->GetFilterBitsReader(filter));
	*ret_data = filter.data();
	*ret_bytes = filter.size();
	return r->reader != nullptr;
}

/*
 * The bits are followed by 5 bytes that say what kind of filter it is and how many probes it has,
 * but not how many keys.
 */
void *rocks_finish_empty(struct rocks *r, size_t bytes)
{
	enum { END = 5 };
	char *data = new(std::nothrow) char[bytes + END];
	Slice small;

	if (!data)
		return nullptr;
	r->builder->AddKey(Slice("one"));
	small = r->builder->Finish(&r->data);
	memcpy(data + bytes, small.data() + small.size() - END, END);
	r->data.reset(data);
	r->builder.reset();
	r->reader.reset(r->policy->GetFilterBitsReader(Slice(data, bytes + END)));
	return data;
}

bool rocks_contains(struct rocks *r, const void *bytes, size_t len)
{
	return r->reader->MayMatch(Slice(static_cast<const char *>(bytes), len));
}

size_t rocks_contains_many(struct rocks *r, const void *const *bytes, size_t len, size_t count)
{
	enum { MOST = 32 };
	Slice keys[MOST], *refs[MOST];
	bool may[MOST];
	size_t yes = 0;

	for (size_t i = 0; i < count; i++) {
		keys[i] = Slice(static_cast<const char *>(bytes[i]), len);
		refs[i] = &keys[i];
	}
	r->reader->MayMatch(static_cast<int>(count), refs, may);
	for (size_t i = 0; i < count; i++)
		yes += may[i];
	return yes;
}

void rocks_free(struct rocks *r)
{
	delete r;
}
