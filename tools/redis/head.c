/* head.c - the headers of RedisBloom's chains: numbers, little-endian, packed */
#include "payload.h"

#include <math.h>
#include <string.h>

/* where the numbers of a chain are, and those of one link */
enum { CHAIN_KEYS = 0, CHAIN_LINKS = 8, CHAIN_OPTIONS = 12, CHAIN_GROWTH = 16 };
enum {
	AT_BYTES = 0, AT_BITS = 8, AT_KEYS = 16, AT_ERROR = 24, AT_BITS_EACH = 32, AT_PROBES = 40,
	AT_ENTRIES = 44, AT_N2 = 52,
};
/* of cuckoo filters */
enum {
	CF_KEYS = 0, CF_BUCKETS = 8, CF_DELETES = 16, CF_TABLES = 24, CF_SLOTS = 32,
	CF_ITERATIONS = 34, CF_EXPANSION = 36,
};
enum { NO_ROUND = 1, RAW = 2, FORCE_64 = 4, NO_SCALING = 8, GROWTH_MOST = 32768 };
/* RedisBloom's own figures */
#define BLANK_ERROR 0.01
#define LN_2 0.693147180559945
#define LN_2_SQUARED 0.480453013918201
#define DELETES_MOST (UINT64_C(1) << 48)

double bloom_bits_each(double error)
{
	return -log(error) / LN_2_SQUARED;
}

unsigned bloom_probes(double bits_each)
{
	double k = ceil(LN_2 * bits_each);

	return k >= 1 && k <= BLM_PROBES_MAX ? (unsigned)k : 0;
}

static uint64_t get(const uint8_t *from, unsigned count)
{
	uint64_t value = 0;

	while (count--)
		value = value << 8 | from[count];
	return value;
}

static void put(uint8_t *to, uint64_t value, unsigned count)
{
	for (; count--; value >>= 8)
		*to++ = (uint8_t)value;
}

static double get_double(const uint8_t *from)
{
	uint64_t bits = get(from, 8);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

void link_get(struct link *ret, const struct head *h, unsigned i)
{
	const uint8_t *at = h->bytes + BLOOM_HEAD + i * BLOOM_LINK;

	*ret = (struct link){
		.bytes = get(at + AT_BYTES, 8), .bits = get(at + AT_BITS, 8),
		.keys = get(at + AT_KEYS, 8), .entries = get(at + AT_ENTRIES, 8),
		.error = get_double(at + AT_ERROR), .bits_each = get_double(at + AT_BITS_EACH),
		.probes = (unsigned)get(at + AT_PROBES, 4), .n2 = (unsigned)get(at + AT_N2, 1),
	};
}

void link_put(struct head *h, unsigned i, const struct link *link)
{
	uint8_t *at = h->bytes + BLOOM_HEAD + i * BLOOM_LINK;
	uint64_t error, bits_each;

	memcpy(&error, &link->error, sizeof(error));
	memcpy(&bits_each, &link->bits_each, sizeof(bits_each));
	put(at + AT_BYTES, link->bytes, 8);
	put(at + AT_BITS, link->bits, 8);
	put(at + AT_KEYS, link->keys, 8);
	put(at + AT_ERROR, error, 8);
	put(at + AT_BITS_EACH, bits_each, 8);
	put(at + AT_PROBES, link->probes, 4);
	put(at + AT_ENTRIES, link->entries, 8);
	put(at + AT_N2, link->n2, 1);
}

void chain_put(struct head *h)
{
	put(h->bytes + CHAIN_KEYS, h->keys, 8);
	put(h->bytes + CHAIN_LINKS, h->links, 4);
	put(h->bytes + CHAIN_OPTIONS, h->options, 4);
	put(h->bytes + CHAIN_GROWTH, h->growth, 4);
	h->count = BLOOM_HEAD + h->links * BLOOM_LINK;
}

void tables_put(struct head *h)
{
	const struct cuckoo_tables *t = &h->tables;

	put(h->bytes + CF_KEYS, h->keys, 8);
	put(h->bytes + CF_BUCKETS, t->buckets, 8);
	put(h->bytes + CF_DELETES, t->deletes, 8);
	put(h->bytes + CF_TABLES, t->count, 8);
	put(h->bytes + CF_SLOTS, t->slots, 2);
	put(h->bytes + CF_ITERATIONS, t->iterations, 2);
	put(h->bytes + CF_EXPANSION, t->expansion, 2);
	h->count = CUCKOO_HEAD;
}

static bool link_is_good(const struct link *l)
{
	return l->bytes >= 1 && l->bytes <= BLM_CELLS_MAX / 8 && l->bits == 8 * l->bytes
		&& l->error > 0 && l->error < 1 && l->n2 <= 63 && l->probes
		&& (!l->n2 || l->bits == UINT64_C(1) << l->n2)
		&& bloom_probes(l->bits_each) == l->probes && l->entries >= 1
		&& l->entries <= BLM_CAPACITY_MAX && l->keys <= BLM_CAPACITY_MAX;
}

static bool read_chain(struct head *h)
{
	uint64_t keys = 0;

	h->keys = get(h->bytes + CHAIN_KEYS, 8);
	h->links = (unsigned)get(h->bytes + CHAIN_LINKS, 4);
	h->options = (unsigned)get(h->bytes + CHAIN_OPTIONS, 4);
	h->growth = (unsigned)get(h->bytes + CHAIN_GROWTH, 4);
	if (h->links < 1 || h->links > LINKS_MOST || h->growth > GROWTH_MOST
	    || h->options & ~(unsigned)(NO_ROUND | RAW | FORCE_64 | NO_SCALING)
	    || !(h->options & FORCE_64) || h->count != BLOOM_HEAD + h->links * BLOOM_LINK)
		return false;
	for (unsigned i = 0; i < h->links; i++) {
		struct link link;

		link_get(&link, h, i);
		if (!link_is_good(&link))
			return false;
		keys += link.keys;
		h->data += link.bytes;
	}
	return keys == h->keys;
}

static bool read_tables(struct head *h)
{
	uint64_t tables = get(h->bytes + CF_TABLES, 8);
	struct cuckoo_tables *t = &h->tables;

	h->keys = get(h->bytes + CF_KEYS, 8);
	*t = (struct cuckoo_tables){
		.buckets = get(h->bytes + CF_BUCKETS, 8), .deletes = get(h->bytes + CF_DELETES, 8),
		.slots = (unsigned)get(h->bytes + CF_SLOTS, 2),
		.iterations = (unsigned)get(h->bytes + CF_ITERATIONS, 2),
		.expansion = (unsigned)get(h->bytes + CF_EXPANSION, 2),
		.count = tables > TABLES_MOST ? 0 : (unsigned)tables,
	};
	h->data = cuckoo_cells(t);
	return h->data && h->keys <= h->data && t->deletes <= DELETES_MOST;
}

bool head_read(struct head *ret, enum sort sort, const void *bytes, size_t count)
{
	size_t least = sort == SORT_BLOOM ? BLOOM_HEAD + BLOOM_LINK : CUCKOO_HEAD,
		most = sort == SORT_BLOOM ? HEAD_MOST : CUCKOO_HEAD;

	if (count < least || count > most)
		return false;
	*ret = (struct head){ .count = count };
	memcpy(ret->bytes, bytes, count);
	if (sort == SORT_BLOOM ? read_chain(ret) : read_tables(ret))
		return true;
	ret->count = 0;
	return false;
}

void head_blank(struct head *ret, const struct value *v)
{
	double bits_each = bloom_bits_each(BLANK_ERROR);
	struct link link = {
		.bytes = 8, .bits = 64, .entries = v->capacity ? v->capacity : 1,
		.error = BLANK_ERROR, .bits_each = bits_each, .probes = bloom_probes(bits_each),
	};

	if (v->sort == SORT_CUCKOO) {
		*ret = (struct head){ .tables = v->tables, .keys = 1 };
		tables_put(ret);
		return;
	}
	*ret = (struct head){
		.links = 1, .options = NO_ROUND | FORCE_64,
		.growth = v->expansion < GROWTH_MOST ? v->expansion : GROWTH_MOST,
	};
	link_put(ret, 0, &link);
	chain_put(ret);
}

bool head_is_fixed(const struct head *h)
{
	return h->options & NO_SCALING && h->links == 1;
}

uint64_t head_piece(const struct head *h, enum sort sort, unsigned i)
{
	struct link link;

	if (sort == SORT_BLOOM) {
		link_get(&link, h, i);
		return link.bytes;
	}
	link.bytes = h->tables.buckets * h->tables.slots;
	while (i--)
		link.bytes *= h->tables.expansion;
	return link.bytes;
}

unsigned head_pieces(const struct head *h, enum sort sort)
{
	return sort == SORT_BLOOM ? h->links : h->tables.count;
}
