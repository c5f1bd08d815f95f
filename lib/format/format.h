/*
 * format.h - what a file format is
 *
 * One file in this folder a format. A format turns how a file of another program begins into our
 * own terms, an outline, and an outline into how such a file begins. The bits between are never
 * touched: a filter is probed where it lies, by the family of its maker. Where the data of a kind
 * have a form of their own, a format makes them of a whole file, and a file of them. A format reads
 * and writes no file and knows nothing of handles; import.c, export.c and foreign.c do that.
 */
#ifndef BLM_FORMAT_FORMAT_H
#define BLM_FORMAT_FORMAT_H

#include "file/mapping.h"
#include "kind/kind_registry.h"
#include "stream/stream.h"

enum { BLM_FAMILIES_MAX = 16 };

/* A family that could have made a file, and who used it. */
struct blm_candidate {
	const struct blm_family *family;
	const char *who;
	/* the name of one that it stands for, too, where a caller names that; NULL: none */
	const char *also;
};

enum { BLM_MEMO_BYTES = BLM_ORIGIN_BYTES };

/* What a file says of itself. */
struct blm_outline {
	/* as our own header would say it; the offsets of its parts are those in that file */
	struct blm_contents contents;
	/* of its bits, in the file; the file has at least this number of bytes */
	uint64_t end;
	/* lay_out(): before the first part, if that is not the format's head_bytes */
	size_t head_bytes;
	/* where the unused bytes behind its bits end; 0: there are none */
	uint64_t behind;
	/*
	 * the bytes behind the bits; for parse() they are among the first bytes, and only their
	 * number is here
	 */
	uint8_t tail[64];
	size_t tail_bytes;
	/*
	 * What a file says that is nothing to us, where its first bytes are not kept as they are:
	 * lay_out() gets it back for a filter that came from this format.
	 */
	uint8_t memo[BLM_MEMO_BYTES];
	size_t memo_bytes;
	/* parse(): what the caller says that the file does not; 0: nothing */
	uint64_t asked_cells;
	uint64_t asked_probes;
	/* lay_out(): the readers that it is for take nothing else */
	bool asked_power_of_two;
	const char *asked_key;		/* write(): the key of a server that it is for */
	/* may it be a filter that holds every key because it has no bits to deny one? */
	bool asked_everything;
	/* parse(): it is such a filter: all its bits are set here, whatever the file has */
	bool everything;
	/* what it states of them cannot be, or it states nothing: they follow from m and k */
	bool capacity_computed, rate_computed;
	bool counted;			/* it tells how many keys it holds: */
	uint64_t keys;
	bool keys_estimated;
	/* the kind's own words (struct blm_live), in this machine's order */
	uint64_t own[BLM_OWN];
	/*
	 * Where the file does not name its family: those that its numbers fit, and
	 * contents.constant.template.family is open.
	 */
	struct blm_candidate candidate[BLM_FAMILIES_MAX];
	unsigned candidates;
};

/* A file with all of its bytes at hand. */
struct blm_bytes_at {
	/* As many bytes as are asked for, fewer only where the file ends; or a negative errno. */
	int64_t (*read)(const struct blm_bytes_at *file, void *buffer, size_t bytes, uint64_t at);
	uint64_t count;
	const uint8_t *memory;		/* of read's own, as below */
	int fd;
};

struct blm_bytes_at blm_bytes_of_memory(const void *bytes, size_t count);
struct blm_bytes_at blm_bytes_of_fd(int fd, uint64_t count);

/*
 * A piece of the middle of a file: a range of it, or its contents, on the heap and the receiver's
 * to free.
 */
struct blm_piece {
	uint64_t at, bytes;		/* a reader moves them past what it gave */
	uint8_t *unpacked;		/* NULL: it is a range of the file */
	const struct blm_bytes_at *file;	/* of the reader's own */
};

/* A reader of that; piece and file must stay. */
int blm_reader_piece(struct blm_reader **ret, struct blm_piece *piece,
		     const struct blm_bytes_at *file, const char *display);

/* A layer of a text form. */
struct blm_layer {
	const struct blm_stage *stage;
	int level;			/* for writing */
};

struct blm_format {
	uint32_t id;			/* in our files, as their origin; never reused */
	const char *name, *summary;
	const char *text_name;		/* of its text form */
	/* from the outermost layer to the file; stage NULL at the end */
	const struct blm_layer *text;
	/*
	 * of its filters, where families are named, NULL at the end; the first is made for it;
	 * NULL: classic
	 */
	const char *const *kinds;
	/* what it cannot hold, in one line; NULL: nothing worth saying */
	const char *limits;
	/*
	 * the names of those that its files can have, NULL at the end; NULL: all, and every scheme
	 */
	const char *const *families;
	/* the same for their schemes; NULL: only our own, or the family's */
	const char *const *rules;
	uint32_t bit_order;
	bool no_seed;			/* seeds of its families are 0 */
	/* how many of the first bytes parse() needs, and lay_out() writes: at most BLM_HEAD_MOST */
	size_t head_bytes;
	/* its bits lie as ours do, so that a file can be mapped as it is */
	bool in_place;
	/* of the first bytes nothing is kept with a filter but what parse() sets as the memo */
	bool memo;
	/* its files say for how many keys they were made, and most at which rate */
	bool states;
	bool exact;			/* nothing may follow its end */
	bool zeros;			/* nothing but zeros may */
	bool cut;			/* zeros may be missing at its end */
	bool gzipped;			/* it is common to have its files in gzip */
	/* its files lack the seeds of their hash: the importer gives them */
	bool seeded;
	bool unsized;			/* its files lack m and k: the importer gives them */
	/*
	 * its files, or those that contain it, can have several filters: the reader names one
	 */
	bool records, columns;
	/* what may be asked of a file that is written: struct blm_exchange */
	bool redis_commands, power_of_two;
	/* what follows the bits is the user's, and kept, as far as there is room */
	bool rest;
	bool read_only;			/* no program would read such a file: lay_out is NULL */

	/*
	 * Is it this format? By the first bytes of a file; by those below the outermost layer of
	 * the text form. NULL: they do not tell.
	 */
	bool (*begins)(const uint8_t *bytes, size_t count);
	bool (*text_begins)(const uint8_t *bytes, size_t count);

	/*
	 * Formats whose files are also found inside others: does such another file begin like
	 * this? Then where in it, with all of its bytes, untrusted, at hand: one of this format.
	 * NULL: they do not.
	 */
	bool (*within)(const uint8_t *bytes, size_t count);
	/* does it end like this? Asked where all of it is at hand */
	bool (*within_by_end)(const struct blm_bytes_at *file);
	/*
	 * however it begins and ends, it is such a file where how->record names one of its filters
	 */
	bool within_if_named;
	int (*locate)(struct blm_piece *ret, const struct blm_bytes_at *file,
		      const struct blm_exchange *how, const char *display);

	/* ---- Formats whose bits lie as ours do ---- */
	/*
	 * Untrusted bytes: fails with words that name the field. `count` is less than head_bytes
	 * where the file is shorter. All of ret is zero before, but what is asked.
	 */
	int (*parse)(struct blm_outline *ret, const uint8_t *head, size_t count,
		     const char *display);
	/*
	 * The first bytes of a file for this filter; its contents come in native terms, and leave
	 * with the offsets and the end of the file that is to be written. Parts keep their order.
	 * -EOPNOTSUPP, with words, for a filter that the format cannot hold.
	 */
	int (*lay_out)(struct blm_outline *outline, uint8_t *head, const char *display);
	/* Brings the count of keys that the first bytes tell up to date; NULL: they tell none. */
	void (*recount)(uint8_t *head, uint64_t keys);
	/*
	 * What its program would take for a filter of this capacity and rate: sets hash, scheme and
	 * seeds (for which there is room), and bits and probes where they are not given. NULL:
	 * filters are not made for it.
	 */
	int (*plan)(struct blm_params *params, uint64_t seeds[BLM_SEEDS_MAX]);

	/*
	 * ---- The others; parse() and head_bytes are 0, but write() is in the place of lay_out()
	 * also where a file is more than a head and bits ---- A whole file, untrusted, and what the
	 * caller knows of it: the outline of a filter; then its data, of the same file, into its
	 * first part and those behind that, which are zeros. The other way round, all of the file.
	 */
	int (*outline)(struct blm_outline *ret, const uint8_t *bytes, size_t count,
		       const struct blm_exchange *how, const char *display);
	int (*fill)(struct blm_part *part, const uint8_t *bytes, size_t count,
		    const struct blm_exchange *how, const char *display);
	int (*write)(const struct blm_outline *outline, const struct blm_part *part,
		     struct blm_writer *to, const char *display);
};

enum { BLM_HEAD_MOST = 256 << 10 };

const struct blm_format *blm_format_at(size_t i);	/* NULL past the last */
const struct blm_format *blm_format_by_name(const char *name);
const struct blm_format *blm_format_by_id(uint32_t id);

/* Does a file of this format know the family? The kind? The rule? */
bool blm_format_takes(const struct blm_format *format, const struct blm_family *family);
bool blm_format_takes_kind(const struct blm_format *format, const struct blm_kind *kind);
bool blm_format_takes_scheme(const struct blm_format *format, const struct blm_scheme *scheme);

/* ---- For formats whose files are one array of bits ---- */

/* Numbers as they are stored in foreign files. */
static inline uint64_t blm_get_little(const uint8_t *bytes, unsigned count)
{
	uint64_t x = 0;

	for (unsigned i = count; i-- > 0; )
		x = x << 8 | bytes[i];
	return x;
}

static inline uint64_t blm_get_big(const uint8_t *bytes, unsigned count)
{
	uint64_t x = 0;

	for (unsigned i = 0; i < count; i++)
		x = x << 8 | bytes[i];
	return x;
}

static inline void blm_put_little(uint8_t *to, uint64_t x, unsigned count)
{
	for (unsigned i = 0; i < count; i++, x >>= 8)
		to[i] = (uint8_t)x;
}

static inline void blm_put_big(uint8_t *to, uint64_t x, unsigned count)
{
	for (unsigned i = count; i-- > 0; x >>= 8)
		to[i] = (uint8_t)x;
}

struct blm_array {
	const char *kind;		/* NULL: classic */
	uint64_t cells;
	uint64_t probes;
	const char *family, *scheme;	/* family NULL: there are candidates; rule NULL: own */
	uint64_t seeds[4];
	unsigned seed_count;
	uint64_t tweak;
	uint64_t capacity;		/* as claimed; 0, or out of range: none is */
	double rate;			/* the same */
	uint64_t offset, bytes;		/* in the file */
};

/*
 * Sets an outline of it, after checking what is untrusted: cells, probes, and that they go with the
 * rule.
 */
int blm_outline_set(struct blm_outline *ret, const struct blm_format *format,
		    const struct blm_array *array, const char *display);

/*
 * The entry of the one part whose bits begin there: for lay_out(), which has set the template
 * already.
 */
void blm_outline_place(struct blm_outline *o, uint64_t offset, uint64_t bytes);

/*
 * How many of its parts there can be, as stages of a scalable filter, by the template, capacity and
 * rate that it has: all, if nothing is damaged.
 */
unsigned blm_outline_stages(const struct blm_outline *o);

/* Fails where a file is shorter than its header. */
int blm_outline_long_enough(size_t count, size_t head_bytes, const char *display);

/* m = -n ln p / (ln 2)^2, as most programs begin. */
double blm_least_bits(uint64_t capacity, double rate);

/* The names of its families, with commas, for messages. */
const char *blm_format_families(const struct blm_format *format, char *buffer, size_t bytes);

/*
 * What a file of this format says of itself, with its origin noted, and a family that it may have.
 * head: its first bytes, head_bytes of the format, or less if it is shorter.
 */
int blm_outline_of(struct blm_outline *ret, const struct blm_format *format, const uint8_t *head,
		   size_t count, const char *display);

/* The template is of this family, whose seeds are those of the file, or zeros. */
void blm_outline_set_family(struct blm_template_fields *t, const struct blm_family *family);

/* Where its family is open: one of those that it may have, for the time being. */
void blm_outline_open_family(struct blm_outline *o, const struct blm_format *format);

#endif
