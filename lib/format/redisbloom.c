/*
 * redisbloom.c - the Bloom filters of RedisBloom: what BF.SCANDUMP gives and BF.LOADCHUNK takes,
 * one chunk after the other
 *
 *	0	the header, the first chunk: see redisbloom.h
 *		the bits of each link of the chain
 *
 * A chain that may grow is a scalable filter here, whose stages are the links; one that may not
 * (NONSCALING) a classic one. What DUMP gives is read, too (redis_dump.c). For a server the
 * commands that load a filter are written, ready for redis-cli --pipe.
 */
#include "format/redisbloom.h"
#include "kind/scalable.h"
#include "kind/common/sizing.h"

#include <math.h>
#include <stdio.h>

enum {
	NO_ROUND = 1, RAW = 2, FORCE_64 = 4, NO_SCALING = 8,
	GROWTH_USUAL = 2, GROWTH_MOST = 32768,
	CHUNK = 16 << 20,
};

/* The program's own constants, so that our filter finds its keys. */
#define LN_2 0.693147180559945
#define LN_2_SQUARED 0.480453013918201

static const char *const families[] = { "murmur64a", NULL }, *const rules[] = { "double-64", NULL };
static const char *const kinds[] = { "scalable", "classic", NULL };
extern const struct blm_format blm_format_redisbloom;

static double bits_each(double error)
{
	return -log(error) / LN_2_SQUARED;
}

static uint32_t probes_for(double bpe)
{
	double k = ceil(LN_2 * bpe);

	return k >= 1 && k <= BLM_PROBES_MAX ? (uint32_t)k : 0;
}

/* ---- Reading ---- */

static uint64_t get(const uint8_t *bytes, size_t at, unsigned count)
{
	return blm_get_little(bytes + at, count);
}

static double get_double(const uint8_t *bytes, size_t at)
{
	return blm_double_of(get(bytes, at, 8));
}

/* There is no magic; but numbers that explain each other as these do are no accident. */
static bool begins(const uint8_t *bytes, size_t count)
{
	const uint8_t *link = bytes + REDISBLOOM_HEAD;
	double bpe;

	if (blm_redis_dump_begins(bytes, count))
		return true;
	if (count < REDISBLOOM_HEAD + REDISBLOOM_LINK_HASHES + 4)
		return false;
	bpe = get_double(link, REDISBLOOM_LINK_BPE);
	return (get(bytes, REDISBLOOM_OPTIONS, 4) & ~(uint64_t)NO_SCALING) == (NO_ROUND | FORCE_64)
	    && get(bytes, REDISBLOOM_LINKS, 4) - 1 < REDISBLOOM_LINKS_MOST
	    && get(bytes, REDISBLOOM_GROWTH, 4) <= GROWTH_MOST
	    && get(link, REDISBLOOM_LINK_BITS, 8) == 8 * get(link, REDISBLOOM_LINK_BYTES, 8)
	    && fabs(bits_each(get_double(link, REDISBLOOM_LINK_ERROR)) - bpe) < 1e-6
	    && probes_for(bpe) == get(link, REDISBLOOM_LINK_HASHES, 4);
}

static int check_head(const uint8_t *head, size_t count, const char *display)
{
	uint64_t links, options;

	if (count < REDISBLOOM_HEAD)
		return blm_outline_long_enough(count, REDISBLOOM_HEAD, display);
	links = get(head, REDISBLOOM_LINKS, 4);
	options = get(head, REDISBLOOM_OPTIONS, 4);
	if (links < 1 || links > REDISBLOOM_LINKS_MOST)
		return blm_fail(-EBADMSG, "%s: a chain of %llu filters by its header, not 1 to %d",
				display, (unsigned long long)links,
				REDISBLOOM_LINKS_MOST);
	if (options & ~(uint64_t)(NO_ROUND | RAW | FORCE_64 | NO_SCALING))
		return blm_fail(-EPROTONOSUPPORT, "%s: its options are %#llx, which are not all "
				"known", display, (unsigned long long)options);
	if (!(options & FORCE_64))
		return blm_fail(-EPROTONOSUPPORT, "%s: made by an old RedisBloom, with a hash of "
				"32 bits, which is not read", display);
	return blm_outline_long_enough(count, REDISBLOOM_HEAD + links * REDISBLOOM_LINK, display);
}

static int check_link(const uint8_t *link, unsigned i, const char *display)
{
	uint64_t bits = get(link, REDISBLOOM_LINK_BITS, 8),
		bytes = get(link, REDISBLOOM_LINK_BYTES, 8);
	uint64_t n2 = get(link, REDISBLOOM_LINK_N2, 1);
	double error = get_double(link, REDISBLOOM_LINK_ERROR);

	if (bytes < 1 || bytes > BLM_CELLS_MAX / 8 || bits != 8 * bytes)
		return blm_fail(-EBADMSG, "%s: filter %u of its chain has %llu bits in %llu bytes",
				display, i, (unsigned long long)bits,
				(unsigned long long)bytes);
	if (n2 && (n2 > 63 || bits != UINT64_C(1) << n2))
		return blm_fail(-EPROTONOSUPPORT, "%s: filter %u of its chain uses 2^%llu of its "
				"%llu bits, which is not read", display, i,
				(unsigned long long)n2, (unsigned long long)bits);
	if (!(error > 0 && error < 1))
		return blm_fail(-EBADMSG, "%s: filter %u of its chain has the error %g, not one "
				"between 0 and 1", display, i, error);
	if (probes_for(get_double(link, REDISBLOOM_LINK_BPE))
	    != get(link, REDISBLOOM_LINK_HASHES, 4))
		return blm_fail(-EBADMSG, "%s: filter %u of its chain has %llu hash functions for "
				"%g bits an entry", display, i,
				(unsigned long long)get(link, REDISBLOOM_LINK_HASHES, 4),
				get_double(link, REDISBLOOM_LINK_BPE));
	return 0;
}

/*
 * As stages of a scalable filter. Its growth is for later stages, and is limited to the range of
 * the kind.
 */
static void make_scalable(struct blm_outline *o, unsigned links, uint64_t growth)
{
	struct blm_template_fields *t = &o->contents.constant.template;
	double rate = 2 * blm_double_of(le64toh(o->contents.constant.rate));

	growth = growth < SCALABLE_GROWTH_LEAST ? SCALABLE_GROWTH_LEAST
		: growth > SCALABLE_GROWTH_MOST ? SCALABLE_GROWTH_MOST : growth;
	t->kind = htole32(blm_kind_scalable.id);
	t->args[SCALABLE_GROWTH] = htole64(growth);
	t->args[SCALABLE_TIGHTENING] = htole64(blm_bits_of(0.5));
	o->contents.constant.rate = htole64(blm_bits_of(fmin(rate, 1)));
	for (unsigned i = 0; i < links; i++)
		o->contents.part[i].role = htole32(SCALABLE_ROLE);
	o->contents.parts = links;
}

/* If a chain may grow, its first filter gives the sizes and the rates of the others. */
static int check_chain(const struct blm_outline *o, const uint8_t *head, unsigned links,
		       const char *display)
{
	unsigned stages = blm_outline_stages(o);

	return stages == links ? 0
	     : blm_fail(-EBADMSG, "%s: damaged header: filter 0 of its chain is for %llu entries "
			"with the error %g, so that there can be no filter %u, with a growth of "
			"%llu", display, (unsigned long long)get(head + REDISBLOOM_HEAD,
				REDISBLOOM_LINK_ENTRIES, 8),
			get_double(head + REDISBLOOM_HEAD, REDISBLOOM_LINK_ERROR), stages,
			(unsigned long long)get(head, REDISBLOOM_GROWTH, 4));
}

static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	struct blm_array a = { .family = families[0], .scheme = rules[0] };
	uint64_t keys = 0, end;
	unsigned links;
	int r = check_head(head, count, display);

	if (r < 0)
		return r;
	links = (unsigned)get(head, REDISBLOOM_LINKS, 4);
	end = REDISBLOOM_HEAD + links * REDISBLOOM_LINK;
	for (unsigned i = 0; r == 0 && i < links; i++) {
		r = check_link(head + REDISBLOOM_HEAD + i * REDISBLOOM_LINK, i, display);
		keys += get(head + REDISBLOOM_HEAD + i * REDISBLOOM_LINK, REDISBLOOM_LINK_SIZE, 8);
		end += get(head + REDISBLOOM_HEAD + i * REDISBLOOM_LINK, REDISBLOOM_LINK_BYTES, 8);
	}
	if (r == 0 && keys != get(head, REDISBLOOM_SIZE, 8))
		r = blm_fail(-EBADMSG, "%s: has %llu keys by its header, and its chain %llu",
			     display, (unsigned long long)get(head, REDISBLOOM_SIZE, 8),
			     (unsigned long long)keys);
	ret->keys = keys;
	ret->counted = keys <= BLM_CAPACITY_MAX;
	a.offset = end;
	/* the first one last: the template is its */
	for (unsigned i = links; r == 0 && i-- > 0; ) {
		const uint8_t *link = head + REDISBLOOM_HEAD + i * REDISBLOOM_LINK;

		a.cells = get(link, REDISBLOOM_LINK_BITS, 8);
		a.probes = get(link, REDISBLOOM_LINK_HASHES, 4);
		a.capacity = get(link, REDISBLOOM_LINK_ENTRIES, 8);
		a.rate = get_double(link, REDISBLOOM_LINK_ERROR);
		a.offset -= a.bytes = a.cells / 8;
		r = blm_outline_set(ret, &blm_format_redisbloom, &a, display);
		ret->contents.part[i] = ret->contents.part[0];
	}
	if (r < 0)
		return r;
	if (links > 1 || !(get(head, REDISBLOOM_OPTIONS, 4) & NO_SCALING)) {
		make_scalable(ret, links, get(head, REDISBLOOM_GROWTH, 4));
		r = check_chain(ret, head, links, display);
	}
	if (r < 0)
		return r;
	ret->end = end;
	ret->memo_bytes = REDISBLOOM_HEAD + links * REDISBLOOM_LINK;
	if (ret->memo_bytes > BLM_MEMO_BYTES)		/* as many as fit */
		ret->memo_bytes = REDISBLOOM_HEAD + (BLM_MEMO_BYTES - REDISBLOOM_HEAD)
		/ REDISBLOOM_LINK * REDISBLOOM_LINK;
	memcpy(ret->memo, head, ret->memo_bytes);
	return 0;
}

/* ---- Writing ---- */

struct chain {
	const struct blm_part *part;
	unsigned links;
	uint8_t head[REDISBLOOM_HEAD + REDISBLOOM_LINKS_MOST * REDISBLOOM_LINK];
	size_t bytes;
};

static uint8_t *link_at(struct chain *c, unsigned i)
{
	return c->head + REDISBLOOM_HEAD + i * REDISBLOOM_LINK;
}

/*
 * The program takes an error and bits an entry that explain the number of hash functions, so those
 * may have to give way.
 */
static void put_link(uint8_t *to, const struct blm_shape *s)
{
	double error = s->rate, bpe = bits_each(error);

	if (!(error > 0 && error < 1) || probes_for(bpe) != s->probes) {
		bpe = (s->probes - 0.5) / LN_2;
		error = exp(-bpe * LN_2_SQUARED);
	}
	blm_put_little(to + REDISBLOOM_LINK_BYTES, s->cells / 8, 8);
	blm_put_little(to + REDISBLOOM_LINK_BITS, s->cells, 8);
	blm_put_little(to + REDISBLOOM_LINK_ERROR, blm_bits_of(error), 8);
	blm_put_little(to + REDISBLOOM_LINK_BPE, blm_bits_of(bpe), 8);
	blm_put_little(to + REDISBLOOM_LINK_HASHES, s->probes, 4);
	blm_put_little(to + REDISBLOOM_LINK_ENTRIES, s->capacity, 8);
}

/* All but the last are full. */
static void share_out(struct chain *c, uint64_t keys)
{
	for (unsigned i = 0; i < c->links; i++) {
		uint64_t entries = get(link_at(c, i), REDISBLOOM_LINK_ENTRIES, 8),
			here = i + 1 < c->links && entries < keys ? entries : keys;

		blm_put_little(link_at(c, i) + REDISBLOOM_LINK_SIZE, here, 8);
		keys -= here;
	}
}

/* The imported header has fields that are nothing to us: those that are still true stay. */
static void make_head(struct chain *c, const struct blm_outline *o)
{
	unsigned came = o->memo_bytes >= REDISBLOOM_HEAD
		? (unsigned)((o->memo_bytes - REDISBLOOM_HEAD) / REDISBLOOM_LINK) : 0, kept = 0;
	bool scalable = le32toh(o->contents.constant.template.kind) == blm_kind_scalable.id;

	memset(c->head, 0, sizeof(c->head));
	blm_put_little(c->head + REDISBLOOM_OPTIONS,
		       NO_ROUND | FORCE_64 | (scalable ? 0 : NO_SCALING), 4);
	blm_put_little(c->head + REDISBLOOM_GROWTH,
		       scalable ? le64toh(o->contents.constant.template.args[SCALABLE_GROWTH])
		       : GROWTH_USUAL, 4);
	if (came)
		memcpy(c->head, o->memo, REDISBLOOM_HEAD);
	for (unsigned i = 0; i < c->links; i++) {
		const struct blm_shape *s = &c->part[i].shape;
		const uint8_t *link = o->memo + REDISBLOOM_HEAD + i * REDISBLOOM_LINK;

		if (i < came && get(link, REDISBLOOM_LINK_BITS, 8) == s->cells
		    && get(link, REDISBLOOM_LINK_HASHES, 4) == s->probes) {
			memcpy(link_at(c, i), link, REDISBLOOM_LINK);
			kept++;
		} else {
			put_link(link_at(c, i), s);
		}
	}
	if (kept < c->links || get(c->head, REDISBLOOM_LINKS, 4) != c->links
	    || get(c->head, REDISBLOOM_SIZE, 8) != o->keys)
		share_out(c, o->keys);
	blm_put_little(c->head + REDISBLOOM_SIZE, o->keys, 8);
	blm_put_little(c->head + REDISBLOOM_LINKS, c->links, 4);
	c->bytes = REDISBLOOM_HEAD + c->links * REDISBLOOM_LINK;
}

int blm_redis_chunk(struct blm_writer *to, const char *command, const char *key, uint64_t iter,
		    const uint8_t *bytes, size_t count)
{
	char words[128], number[24];
	int len, r = 0;

	if (key) {
		len = snprintf(words, sizeof(words), "*4\r\n$%zu\r\n%s\r\n$%zu\r\n",
			       strlen(command), command, strlen(key));
		r = to->write(to, words, (size_t)len);
		if (r == 0)
			r = to->write(to, key, strlen(key));
		len = snprintf(number, sizeof(number), "%llu", (unsigned long long)iter);
		len = snprintf(words, sizeof(words), "\r\n$%d\r\n%s\r\n$%zu\r\n", len, number,
			       count);
		if (r == 0)
			r = to->write(to, words, (size_t)len);
	}
	if (r == 0)
		r = to->write(to, bytes, count);
	return r == 0 && key ? to->write(to, "\r\n", 2) : r;
}

static int write_file(const struct blm_outline *o, const struct blm_part *root,
		      struct blm_writer *to, const char *display)
{
	struct chain *c = malloc(sizeof(*c));
	uint64_t iter = 1;
	int r = 0;

	if (!c)
		return blm_fail(-ENOMEM, "%s: out of memory", display);
	c->part = root->subs ? root->sub : root;
	c->links = root->subs ? root->subs : 1;
	for (unsigned i = 0; r == 0 && i < c->links; i++)
		if (c->part[i].shape.cells % 8)
			r = blm_fail(-EOPNOTSUPP, "%s: m is %llu; in RedisBloom it is a multiple "
				     "of 8", display,
				     (unsigned long long)c->part[i].shape.cells);
	if (r == 0) {
		make_head(c, o);
		r = blm_redis_chunk(to, "BF.LOADCHUNK", o->asked_key, iter, c->head, c->bytes);
	}
	for (unsigned i = 0; r == 0 && i < c->links; i++) {
		const struct blm_part *part = &c->part[i];
		uint64_t bytes = part->shape.cells / 8;

		for (uint64_t at = 0; r == 0 && at < bytes; at += CHUNK) {
			size_t count = bytes - at < CHUNK ? (size_t)(bytes - at) : CHUNK;

			r = blm_redis_chunk(to, "BF.LOADCHUNK", o->asked_key, iter += count,
					    part->bytes + at, count);
		}
	}
	free(c);
	return r;
}

/* As BF.RESERVE makes the first filter of a chain. */
static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	double bpe = bits_each(p->rate * 0.5);

	p->hash = families[0];
	p->scheme = rules[0];
	if (!p->cells)
		p->cells = round_up((uint64_t)fmax(1, floor((double)p->capacity * bpe)), 64);
	if (!p->probes)
		p->probes = probes_for(bpe);
	return 0;
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_redisbloom = {
	.id = 18,
	.name = "redisbloom",
	.summary = "RedisBloom's BF.SCANDUMP, chunk after chunk; read also from DUMP; written also "
	"as the commands that load it into a key",
	.limits = "up to 64 filters in a chain; m a multiple of 8; what DUMP gave is not read from "
	"a pipe",
	.text_name = "base64(file)", .text = text,
	.kinds = kinds, .families = families, .rules = rules,
	.head_bytes = REDISBLOOM_HEAD + REDISBLOOM_LINKS_MOST * REDISBLOOM_LINK, .memo = true,
	.exact = true, .redis_commands = true,
	.begins = begins, .within = blm_redis_dump_begins,
	.parse = parse, .locate = blm_redis_dump_unpack, .write = write_file, .plan = plan,
};
