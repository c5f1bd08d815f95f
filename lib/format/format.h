/*
 * format.h - the interface of a file format
 *
 * One file in this folder a format. A format translates the first bytes of another program's file
 * into our own terms, an outline, and an outline into the first bytes of such a file. The bits of
 * the filter are never changed: they are probed in place, with the hash family of the other
 * program. If the other program stores the data of a kind in another form, the format translates
 * the complete file in both directions. A format does not read or write files and does not know
 * handles; import.c, export.c and foreign.c do that.
 */
#ifndef BLM_FORMAT_FORMAT_H
#define BLM_FORMAT_FORMAT_H

#include "file/mapping.h"
#include "kind/kind_registry.h"
#include "stream/stream.h"

enum { BLM_FAMILIES_MAX = 16 };

/* A family that may have made a file, and the program that used it. */
struct blm_candidate {
	const struct blm_family *family;
	const char *who;
	/* another family's name that a caller may give for this candidate; NULL: none */
	const char *also;
};

enum { BLM_MEMO_BYTES = BLM_ORIGIN_BYTES };

/* The description of a filter in a file. */
struct blm_outline {
	/* in the terms of our own header; the offsets of the parts are offsets in that file */
	struct blm_contents contents;
	/* the end of the bits in the file; the file has at least this number of bytes */
	uint64_t end;
	/* lay_out(): the bytes before the first part, if not the format's head_bytes */
	size_t head_bytes;
	/* the end of unused bytes after the bits; 0: there are none */
	uint64_t behind;
	/*
	 * the bytes after the bits; for parse() they are among the first bytes, and only their
	 * number is stored here
	 */
	uint8_t tail[64];
	size_t tail_bytes;
	/*
	 * Metadata of the file that our header has no field for, if the first bytes are not stored
	 * as they are: lay_out() gets the memo back for a filter that came from this format.
	 */
	uint8_t memo[BLM_MEMO_BYTES];
	size_t memo_bytes;
	/* parse(): numbers that the file lacks, from the caller; 0: not given */
	uint64_t asked_cells;
	uint64_t asked_probes;
	/* lay_out(): the caller's readers accept only powers of two */
	bool asked_power_of_two;
	const char *asked_key;		/* write(): the server's key to write to */
	/* does the caller accept a filter without bits, which answers yes to every key? */
	bool asked_everything;
	/* parse(): it is such a filter: all its bits are set here, whatever the file has */
	bool everything;
	/* the file states none, or an impossible one: it is computed from m and k */
	bool capacity_computed, rate_computed;
	bool counted;			/* the file states its number of keys: */
	uint64_t keys;
	bool keys_estimated;
	/* the kind's own words (struct blm_live), in this machine's byte order */
	uint64_t own[BLM_OWN];
	/*
	 * If the file does not name its family: the families that its numbers fit. Then
	 * contents.constant.template.family is open.
	 */
	struct blm_candidate candidate[BLM_FAMILIES_MAX];
	unsigned candidates;
};

/* A file with random access to its bytes. */
struct blm_bytes_at {
	/* Reads `bytes` bytes, fewer only at the end of the file; or returns a negative errno. */
	int64_t (*read)(const struct blm_bytes_at *file, void *buffer, size_t bytes, uint64_t at);
	uint64_t count;
	const uint8_t *memory;		/* private to read(), like fd */
	int fd;
};

struct blm_bytes_at blm_bytes_of_memory(const void *bytes, size_t count);
struct blm_bytes_at blm_bytes_of_fd(int fd, uint64_t count);

/*
 * A piece of the middle of a file: a range of it, or unpacked contents on the heap, which the
 * receiver frees.
 */
struct blm_piece {
	uint64_t at, bytes;		/* the rest; a reader advances them */
	uint8_t *unpacked;		/* NULL: it is a range of the file */
	const struct blm_bytes_at *file;	/* private to the reader */
};

/* A reader of a piece; piece and file must outlive it. */
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
	const char *text_name;		/* the name of its text form */
	/* from the outermost layer to the file; stage NULL at the end */
	const struct blm_layer *text;
	/*
	 * the names of its kinds, NULL at the end; a filter made for this format has the first;
	 * NULL: classic
	 */
	const char *const *kinds;
	/* its limitations, in one line; NULL: none worth mentioning */
	const char *limits;
	/* the names of its families, NULL at the end; NULL: all families, and every scheme */
	const char *const *families;
	/* the names of its schemes; NULL: only our own, or the family's */
	const char *const *rules;
	uint32_t bit_order;
	bool no_seed;			/* seeds of its families are 0 */
	/* how many of the first bytes parse() needs, and lay_out() writes: at most BLM_HEAD_MOST */
	size_t head_bytes;
	/* its bits are stored as ours are, so that its files can be mapped directly */
	bool in_place;
	/* a filter stores only the memo that parse() set, not the first bytes of the file */
	bool memo;
	/* its files state their capacity, and most of them their rate */
	bool states;
	bool exact;			/* no bytes may follow its end */
	bool zeros;			/* only zeros may follow its end */
	bool cut;			/* zeros may be missing at its end */
	bool gzipped;			/* its files are often in gzip */
	/* its files lack the seeds of their hash: the importer gives them */
	bool seeded;
	bool unsized;			/* its files lack m and k: the importer gives them */
	/*
	 * its files, or those that contain it, can have several filters: the reader names one
	 */
	bool records, columns;
	/* the options of struct blm_exchange that its writer supports */
	bool redis_commands, power_of_two;
	/* bytes after the bits belong to the user and are stored, as far as there is space */
	bool rest;
	bool read_only;			/* no program would read such a file: lay_out is NULL */

	/*
	 * Is it this format? From the first bytes of a file; from the first bytes below the
	 * outermost layer of the text form. NULL: these bytes do not show it.
	 */
	bool (*begins)(const uint8_t *bytes, size_t count);
	bool (*text_begins)(const uint8_t *bytes, size_t count);

	/*
	 * For formats whose files are also found inside other files: does a file with these first
	 * bytes contain some? Then locate() finds one in the complete, untrusted file. NULL: they
	 * are never inside others.
	 */
	bool (*within)(const uint8_t *bytes, size_t count);
	/* the same by the end of the file, for callers with random access */
	bool (*within_by_end)(const struct blm_bytes_at *file);
	/*
	 * a file with any beginning and end contains them if how->record names one of its filters
	 */
	bool within_if_named;
	int (*locate)(struct blm_piece *ret, const struct blm_bytes_at *file,
		      const struct blm_exchange *how, const char *display);

	/* ---- Formats whose bits are stored as ours are ---- */
	/*
	 * Parses untrusted bytes; fails with a message that names the field. `count` is less than
	 * head_bytes if the file is shorter. The caller has zeroed ret, except for the asked_*
	 * members.
	 */
	int (*parse)(struct blm_outline *ret, const uint8_t *head, size_t count,
		     const char *display);
	/*
	 * Makes the first bytes of a file for this filter. The outline has our own offsets before
	 * the call, and the offsets and the end of the new file after it. Parts keep their order.
	 * -EOPNOTSUPP, with a message, for a filter that the format cannot hold.
	 */
	int (*lay_out)(struct blm_outline *outline, uint8_t *head, const char *display);
	/* Updates the count of keys in the first bytes; NULL: they have no count. */
	void (*recount)(uint8_t *head, uint64_t keys);
	/*
	 * Plans as the other program does for this capacity and rate: sets hash, scheme and seeds
	 * (which fit into seeds[]), and bits and probes if they are not given. NULL: filters are
	 * not made for this format.
	 */
	int (*plan)(struct blm_params *params, uint64_t seeds[BLM_SEEDS_MAX]);

	/*
	 * ---- Formats that store the data in another form ----
	 *
	 * parse and head_bytes are 0. write() also replaces lay_out() for formats whose files have
	 * more than first bytes and bits.
	 *
	 * outline(): describes the filter in a complete, untrusted file. fill(): translates the
	 * data of the same file into the first part and those after it, which are zeros. write():
	 * writes the complete file.
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
	const char *family, *scheme;	/* family NULL: there are candidates; scheme NULL: own */
	uint64_t seeds[4];
	unsigned seed_count;
	uint64_t tweak;
	uint64_t capacity;		/* as the file states; 0, or out of range: not stated */
	double rate;			/* the same */
	uint64_t offset, bytes;		/* in the file */
};

/*
 * Sets the outline of an array, after checking the untrusted cells and probes, also against the
 * rule.
 */
int blm_outline_set(struct blm_outline *ret, const struct blm_format *format,
		    const struct blm_array *array, const char *display);

/*
 * Sets the entry of the only part, whose bits begin at `offset`: for lay_out(), which has already
 * set the template.
 */
void blm_outline_place(struct blm_outline *o, uint64_t offset, uint64_t bytes);

/*
 * How many of its parts can be stages of a scalable filter with its template, capacity and rate:
 * all of them, unless the file is damaged.
 */
unsigned blm_outline_stages(const struct blm_outline *o);

/* Fails if a file is shorter than its header. */
int blm_outline_long_enough(size_t count, size_t head_bytes, const char *display);

/* m = -n ln p / (ln 2)^2, the first step of most programs. */
double blm_least_bits(uint64_t capacity, double rate);

/* The names of its families, with commas, for messages. */
const char *blm_format_families(const struct blm_format *format, char *buffer, size_t bytes);

/*
 * The outline of a file of this format, with its origin and one of its possible families. head: the
 * first bytes of the file, head_bytes of the format, or fewer if the file is shorter.
 */
int blm_outline_of(struct blm_outline *ret, const struct blm_format *format, const uint8_t *head,
		   size_t count, const char *display);

/* Sets the family of a template, with the seeds of the file or zeros. */
void blm_outline_set_family(struct blm_template_fields *t, const struct blm_family *family);

/* If the family is open: sets one of the possible families for now. */
void blm_outline_open_family(struct blm_outline *o, const struct blm_format *format);

#endif
