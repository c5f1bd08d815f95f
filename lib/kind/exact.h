/*
 * exact.h - the layout of a filter that is right about two lists (format-spec.md, "Kind 21:
 * exact"), for questions and for building
 *
 * The data are layers, one for the lists that the filter was built from and one for each later
 * update. A layer is a head and two ribbons (ribbon.h). The first ribbon is a filter of the layer's
 * keys. The second one has one bit for each key, and one for each of the others that the first one
 * lets through: it accepts the keys, and rejects these others. Either ribbon can be left out. If
 * keys have a column, the first ribbon can be several, each for some columns (exact_parts.h). The
 * keys of an update are those that the earlier layers answer wrongly: their answer is inverted.
 */
#ifndef BLM_KIND_EXACT_H
#define BLM_KIND_EXACT_H

#include "kind/ribbon.h"

/* The options: how many others there are; and the layers behind the first one. */
enum { EXACT_OTHERS, EXACT_UPDATES };

enum { EXACT_UPDATES_MAX = 31 };

/* In the file, little-endian. */
struct exact_head {
	uint64_t keys;			/* distinct */
	uint64_t both;			/* of the others, that are keys too */
	uint64_t passed;		/* of the rest, that the first level lets through */
	uint64_t bytes[2];		/* of the levels; 0: left out */
	uint64_t rate;			/* a double: of keys that are on neither list */
	uint32_t parts, columns;	/* of the first level (exact_parts.h); 0: it has none */
	uint64_t saved;			/* bytes that the parts save, about */
};
static_assert(sizeof(struct exact_head) == 64, "format-spec.md, exact");

/* A layer as it was found, by numbers that were copied from the map and checked. */
struct exact_layer {
	struct blm_part level[2];
	bool has[2];
	struct exact_head head;		/* in the order of this machine */
};

/*
 * The hash that the second level works from. With the same one, the levels of a filter without
 * others that pass would be alike, and what passes one would pass both. The order by hi stays.
 */
static inline struct blm_hash exact_second(struct blm_hash hash)
{
	return (struct blm_hash){ .lo = __builtin_bswap64(hash.lo), .hi = hash.hi };
}

/* A level on paper: its bytes follow from the keys. */
static inline struct blm_shape exact_level(uint64_t keys, double rate)
{
	return (struct blm_shape){ .probes = RIBBON_WIDTH, .cell_bits = 1, .capacity = keys,
				   .rate = rate };
}

/* ---- exact.c ---- */

/* The rate of the first level; 1: it is left out. */
double blm_exact_first_rate(const struct blm_shape *shape);
/* The rate that results: with few keys a ribbon has one code, which is at a lower rate. */
double blm_exact_resulting_first(const struct blm_shape *shape);
/* How many of the others pass the first level, on average. */
uint64_t blm_exact_passing(const struct blm_shape *shape);
/* The bytes of both levels. */
void blm_exact_level_bytes(const struct blm_shape *shape, uint64_t ret[2]);
/* The rate of a layer of that shape, for keys on neither list. */
double blm_exact_layer_rate(const struct blm_shape *shape);
/* The rate for which such a layer is smallest. */
double blm_exact_best_rate(const struct blm_shape *shape);
/* As rate_at() and rate_in() of kind.h. */
double blm_exact_rate_at(const struct blm_shape *shape, uint64_t keys);
double blm_exact_rate_in(const struct blm_part *part, uint64_t keys);
/* The layer at *at; moves *at to its end. Return: false: it is damaged. */
bool blm_exact_open_layer(const struct blm_part *part, uint64_t *at, struct exact_layer *ret);

/* ---- exact_facts.c: as describe() and foretell() of kind.h ---- */

bool blm_exact_describe(const struct blm_part *part, unsigned i, struct blm_fact *ret);
bool blm_exact_foretell(const struct blm_shape *shape, unsigned i, struct blm_fact *ret);

/* ---- exact_build.c ---- */

int blm_exact_fit(struct blm_shape *shape, const struct blm_sorted *keys);
int blm_exact_build(struct blm_part *part, const struct blm_sorted *keys);

/* ---- exact_update.c ---- */

int blm_exact_revised(struct blm_shape *shape, const struct blm_part *from, uint64_t had,
		      const struct blm_sorted *keys);
int blm_exact_revise(struct blm_part *part, const struct blm_part *from,
		     const struct blm_sorted *keys);

#endif
