/*
 * bloomery.h - memory-mapped filters of the Bloom family: the whole public API
 *
 * A filter is a file. Any number of processes map it and ask or add keys at memory speed. A store is a directory of
 * filters with a catalog that remembers what each one is. Filters made from one template have the same parameters, so
 * they combine by bitwise OR and AND.
 *
 *	struct blm_filter *f;
 *
 *	blm_create(&f, NULL, "./seen.blm", &(struct blm_params){ .capacity = 1000000, .rate = 0.001 });
 *	if (blm_claim(f, url, strlen(url)) == 1)
 *		fetch(url);
 *	blm_close(f);
 *
 * Conventions, for every function below:
 *   - 0 or a positive answer is success; a failure is a negative errno value (-ENOENT, ...). blm_strerror() words the
 *     value; blm_why() says what went wrong with which file, field or value. The library never prints and never exits.
 *     Return parameters are written on success only.
 *   - Beside what system calls fail with, the values mean:
 *       -EBADMSG          not a Bloomery file, or its header does not add up
 *       -EPROTONOSUPPORT  made by a newer version, or with a feature that this one does not know
 *       -ENODATA          the file is shorter than its header says
 *       -EINVAL           a parameter out of its range
 *       -EOPNOTSUPP       this kind, or this hash family, cannot do that
 *       -EMEDIUMTYPE      the filters come from different templates
 *       -EXFULL           the filter is full (-ENOSPC is the disk)
 *       -ENOKEY           the secret key of a keyed filter is missing
 *       -ESTALE           the filter was dropped
 *       -EUCLEAN          damaged, or needs rebuilding
 *       -EBUSY            waiting for a lock of the catalog took longer than five seconds
 *       -EBADF            a change through a handle that was opened for reading
 *       -EROFS            a change to a sealed filter, or in a store that was opened for reading
 *     Each of these, and -ENOMEM and what open(2), mmap(2) and fcntl(2) fail with, can come from any function that
 *     opens, makes or changes a filter, so the comments below name only what needs saying.
 *   - Keys are bytes: (pointer, length). A NUL has no special meaning; length 0 is a key, and its pointer may be NULL.
 *   - Sizes are in bytes unless named bits, capacities in keys, rates are probabilities in (0, 1).
 *   - Where a filter lies is (store, name): store NULL takes name as a path, else name is a name in that store.
 *   - Threads: any number may share a handle, in any function but blm_close(). Processes: any number may open the same
 *     file, for reading and for writing. After fork() the child may go on with its parent's handles.
 *   - Handles are the caller's to close. Closing takes NULL, and returns NULL, so `f = blm_close(f)`.
 */
#ifndef BLOOMERY_H
#define BLOOMERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BLM_API __attribute__((visibility("default")))
#define BLM_VERSION "0.1.0"

struct blm_filter;
struct blm_store;

/** struct blm_key - a key: any bytes, the caller's; read during the call only */
struct blm_key {
	const void *bytes;
	size_t len;
};

/** struct blm_hash - a key once hashed by a family of 128 bits; see blm_hash_many() */
struct blm_hash {
	uint64_t lo, hi;
};

/* ---- Errors and versions ---- */

/** blm_why() - what this thread's last failure was about, in one line; valid until its next call into the library */
BLM_API const char *blm_why(void);

/** blm_strerror() - the meaning of a negative (or positive) errno value, in words; static or as strerror(3) */
BLM_API const char *blm_strerror(int err);

/** blm_version() - the version of the library that runs, as in BLM_VERSION; static */
BLM_API const char *blm_version(void);

/* ---- What there is ---- */

/** enum blm_can - what a kind of filter can do; a set of bits */
enum blm_can {
	BLM_CAN_ADD       = 1 << 0,
	BLM_CAN_CLAIM     = 1 << 1,
	BLM_CAN_UNION     = 1 << 2,
	BLM_CAN_INTERSECT = 1 << 3,
	BLM_CAN_ESTIMATE  = 1 << 4,
	BLM_CAN_REMOVE    = 1 << 5,
	BLM_CAN_BUILD     = 1 << 6,
	BLM_CAN_PUT       = 1 << 7,
	BLM_CAN_GET       = 1 << 8,
	BLM_FORGETS       = 1 << 9,	/* may say no to a key that was given */
};

/** struct blm_kind_info - a kind of filter; the strings are static */
struct blm_kind_info {
	const char *name, *summary;
	uint32_t id;		/* in the file */
	unsigned can;		/* of enum blm_can */
};

/** struct blm_hash_info - a hash family; the strings are static */
struct blm_hash_info {
	const char *name, *summary;
	uint32_t id;		/* in the file */
	unsigned bits;		/* 128: serves every kind; fewer: classic only, with m up to 2^bits */
	bool keyed;		/* needs a secret of BLM_SECRET_BYTES */
};

/** blm_kind_list() - the i-th kind of filter, from 0. Return: 0, or -ENOENT past the last */
BLM_API int blm_kind_list(size_t i, struct blm_kind_info *ret);

/** blm_hash_list() - the i-th hash family, from 0. Return: 0, or -ENOENT past the last */
BLM_API int blm_hash_list(size_t i, struct blm_hash_info *ret);

/** blm_simd() - the instruction set in use: "scalar", "avx2", "avx512". $BLOOMERY_SIMD names a lower one; static */
BLM_API const char *blm_simd(void);

/* ---- Parameters and sizes ---- */

enum {
	BLM_SEEDS_MAX = 256,
	BLM_NAME_MAX = 255,
	BLM_PATH_MAX = 4096,
	BLM_LABELS_MAX = 1536,
	BLM_SECRET_BYTES = 16,
	BLM_PROBES_MAX = 256,
};
#define BLM_CELLS_MAX (UINT64_C(1) << 47)
#define BLM_CAPACITY_MAX (UINT64_C(1) << 47)

/**
 * struct blm_params - how to make a filter; zero means default
 *
 * Give capacity and rate, and m and k follow; or give cells (m) or probes (k) or both, and they are taken exactly as they
 * are. With cells but no capacity, the capacity is where half the bits are set.
 */
struct blm_params {
	const char *kind;	/* NULL: "blocked", or "classic" where cells, probes or a hash of fewer than 128 bits ask for it */
	const char *hash;	/* NULL: "xxh3" */
	uint64_t capacity;	/* keys, 1 to BLM_CAPACITY_MAX */
	double rate;		/* false positives at capacity, between 0 and 1; 0: 0.01 */
	uint64_t cells;		/* m: bits for classic and blocked (there a multiple of 512), 1 to BLM_CELLS_MAX */
	uint32_t probes;	/* k: 1 to BLM_PROBES_MAX */
	uint32_t seed_count;	/* of seeds, 0 to BLM_SEEDS_MAX; 0: as many random ones as the family needs */
	const uint64_t *seeds;
	uint64_t tweak;		/* families that take one */
	const uint8_t *secret;	/* BLM_SECRET_BYTES, keyed families; NULL: a new one, kept beside the filter */
	unsigned mode;		/* exactly these permission bits; 0: 0644 less the umask */
	bool replace;		/* put it in the place of a filter that has the name, if there is one, in one step */
	bool sparse;		/* do not allocate the data's space now: a full disk then kills the writer later (SIGBUS) */
};

/** struct blm_plan - what parameters come to */
struct blm_plan {
	const char *kind;	/* static */
	uint64_t cells;		/* m */
	uint32_t probes;	/* k */
	uint64_t data_bytes, file_bytes;
	uint64_t capacity;
	double rate;		/* asked for; where m and k were given without a rate, the predicted one */
	double predicted_rate;	/* at capacity */
	double bits_per_key;
};

/**
 * blm_plan() - sizes on paper: what blm_create() would make of these parameters
 *
 * Classic is sized by the finite-size bound p <= (1 - e^(-k (n + 1/2) / (m - 1)))^k (Goel and Gupta, SIGMETRICS 2010),
 * blocked by the mixture over its blocks; m is rounded up.
 * Return: 0, or -EINVAL with the parameter and its range, -ENOENT for an unknown kind or hash, -EOPNOTSUPP for a hash
 * that the kind cannot take, -EFBIG where the rate is out of the kind's reach.
 */
BLM_API int blm_plan(struct blm_plan *ret, const struct blm_params *params);

/** blm_rate_asymptotic() - (1 - e^(-k / bits_per_key))^k: Bloom's rate for an infinitely large filter */
BLM_API double blm_rate_asymptotic(double bits_per_key, double probes);

/** blm_rate_bound() - classic's finite-size bound (1 - e^(-k (n + 1/2) / (m - 1)))^k, at most 1 */
BLM_API double blm_rate_bound(uint64_t cells, uint32_t probes, uint64_t keys);

/* ---- Filters ---- */

/**
 * blm_create() - make an empty filter and open it for writing
 *
 * The file appears whole or not at all, and never over another's: it is written without a name, synced, linked, its
 * folder synced, and in a store entered into the catalog last. Of several that race, one makes it, the rest get -EEXIST.
 * A keyed filter's new secret is written to the store's keys/ID, or to NAME.key beside a path, with mode 0600.
 * Return: 0, or -EEXIST, -ENOSPC, -EFBIG, and as blm_plan().
 */
BLM_API int blm_create(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_params *params);

/**
 * blm_open() - map an existing filter
 * @write: false maps read-only: the handle writes no byte, takes no lock, and refuses every change with -EBADF
 *
 * Reads and checks the header, not the data: the cost does not grow with the filter. Where the file is replaced or
 * dropped later, the handle's next call sees that without a system call and goes over to the new file.
 */
BLM_API int blm_open(struct blm_filter **ret, struct blm_store *store, const char *name, bool write);

/** blm_open_keyed() - as blm_open(), with the secret (BLM_SECRET_BYTES) of a keyed filter; -ENOKEY if it is another's */
BLM_API int blm_open_keyed(struct blm_filter **ret, struct blm_store *store, const char *name, bool write, const uint8_t *secret);

/** blm_close() - unmap and forget; no other thread may be in a call with f. Syncs nothing. Returns NULL */
BLM_API struct blm_filter *blm_close(struct blm_filter *f);

/** blm_contains() - may the filter hold this key? false is certain, true is wrong at the filter's rate. Cannot fail */
BLM_API bool blm_contains(const struct blm_filter *f, const void *bytes, size_t len);

/**
 * blm_add() - add a key
 *
 * Lock-free for the kinds that set bits, from any number of processes; a key whose add returned is found by every
 * question that begins afterwards, in any process, and survives the death of any process. Surviving a power cut takes
 * blm_sync(). Beyond its capacity a filter still takes keys, at a growing rate.
 * Return: 1 if the filter changed, 0 if it held the key (or seemed to), or a negative errno. Two processes that race
 * with one new key can both get 1; blm_claim() is for those who must know.
 */
BLM_API int blm_add(struct blm_filter *f, const void *bytes, size_t len);

/**
 * blm_claim() - add a key, and learn whether this caller was the first
 *
 * Of all callers in all processes that race to claim one new key, at most one gets 1, and exactly one does unless the
 * key was a false positive or its claimer died first. Takes no lock on the data, and none that a dead process could hold;
 * it holds off a replacement of the file, at about a microsecond a call: claim many at once with blm_claim_many().
 * Return: 1 (yours), 0 (not new), or a negative errno.
 */
BLM_API int blm_claim(struct blm_filter *f, const void *bytes, size_t len);

/**
 * blm_contains_many(), blm_add_many(), blm_claim_many() - the same for many keys, several times as fast
 * @keys, @count: any number of keys; they are hashed and their memory asked for together
 * @ret_bits:     NULL, or room for (count + 63) / 64 words: bit i % 64 of word i / 64 is key i's answer
 *
 * A key that stands twice in one batch is new at most once. blm_contains_many() cannot fail; where the others fail, some
 * of the keys may have been added.
 * Return: how many answers were yes (contained, changed the filter, claimed), or a negative errno.
 */
BLM_API int64_t blm_contains_many(const struct blm_filter *f, const struct blm_key *keys, size_t count, uint64_t *ret_bits);
BLM_API int64_t blm_add_many(struct blm_filter *f, const struct blm_key *keys, size_t count, uint64_t *ret_bits);
BLM_API int64_t blm_claim_many(struct blm_filter *f, const struct blm_key *keys, size_t count, uint64_t *ret_bits);

/**
 * blm_hash_many() - hash keys once, to use the hashes with every filter that has the same blm_hash_id()
 * @ret:  room for count hashes
 * Return: 0, or -EOPNOTSUPP where the filter's family hashes a key k times.
 */
BLM_API int blm_hash_many(const struct blm_filter *f, const struct blm_key *keys, size_t count, struct blm_hash *ret);

/** blm_hash_id() - what hashes depend on (family, seeds, key id, tweak), as a number; equal for filters of one template */
BLM_API uint64_t blm_hash_id(const struct blm_filter *f);

/**
 * blm_contains_hashes(), blm_add_hashes(), blm_claim_hashes() - as the _many forms, for keys hashed already
 * @hash_id: blm_hash_id() of the filter that hashed them
 * Return: as the _many forms, or -EMEDIUMTYPE where hash_id is not this filter's (it may have been replaced by one with
 * another seed since), -EOPNOTSUPP where the filter's family hashes a key k times.
 */
BLM_API int64_t blm_contains_hashes(const struct blm_filter *f, uint64_t hash_id, const struct blm_hash *hashes, size_t count, uint64_t *ret_bits);
BLM_API int64_t blm_add_hashes(struct blm_filter *f, uint64_t hash_id, const struct blm_hash *hashes, size_t count, uint64_t *ret_bits);
BLM_API int64_t blm_claim_hashes(struct blm_filter *f, uint64_t hash_id, const struct blm_hash *hashes, size_t count, uint64_t *ret_bits);

/**
 * blm_sync() - make all keys added before this call durable
 *
 * Writes the data back, then a sync record in the header, then in a store the catalog, each flushed before the next.
 * Return: 0, or as msync(2) fails: then some of the keys added since the last good sync may not survive a power cut.
 */
BLM_API int blm_sync(struct blm_filter *f);

/** blm_status() - 0, or why the handle goes on with an old file: -ESTALE dropped, else what opening the new one said */
BLM_API int blm_status(const struct blm_filter *f);

/** struct blm_info - what a filter is; strings are static or inside */
struct blm_info {
	char name[BLM_NAME_MAX + 1];	/* in the store; empty for a path */
	char path[BLM_PATH_MAX];	/* of its file, as far as it fits; it changes when the filter is replaced */
	const char *kind, *hash;
	uint64_t cells;			/* m */
	uint32_t probes;		/* k */
	uint32_t cell_bits;
	uint32_t parts;
	uint32_t version;		/* of the file format */
	uint32_t seed_count;
	uint64_t seeds[BLM_SEEDS_MAX];
	uint64_t tweak;
	bool keyed;
	uint8_t key_id[8];		/* keyed families */
	uint64_t capacity;
	double rate;			/* promised at capacity */
	double rate_at_capacity;	/* predicted from m and k */
	uint64_t keys;			/* adds and claims that changed the filter; from the catalog: at the last sync */
	bool keys_estimated;		/* the filter is a union or an intersection, so keys is an estimate */
	uint8_t template_id[16], uuid[16];
	uint64_t created;		/* nanoseconds since 1970, UTC */
	uint64_t bytes, data_bytes;	/* of the file; of the parts in it */
	bool sparse, sealed;
	bool dirty;			/* changed since the last sync; from the catalog: false */
	uint64_t synced;		/* time of the last sync, nanoseconds since 1970; 0: never */
	unsigned can;			/* of enum blm_can */
	char labels[BLM_LABELS_MAX];	/* key=value lines, each with its newline */
};

/** blm_info() - what a filter is; reads the header only. Return: 0 */
BLM_API int blm_info(const struct blm_filter *f, struct blm_info *ret);

/* ---- Templates and algebra ---- */

/**
 * blm_template() - make an empty filter that combines with `from`: same kind, m, k, hash, seeds or key, tweak
 * @mode:  as in struct blm_params
 * @ret:   NULL, or the new filter, open for writing
 */
BLM_API int blm_template(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_filter *from, unsigned mode);

/** blm_copy() - a full copy under a new uuid; keys added to `from` while it runs may or may not be in it */
BLM_API int blm_copy(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_filter *from, unsigned mode);

/** blm_same_template() - may these combine? Return: 0, or -EMEDIUMTYPE; blm_why() names the first field and both values */
BLM_API int blm_same_template(const struct blm_filter *a, const struct blm_filter *b);

enum blm_op { BLM_UNION, BLM_INTERSECT };

/**
 * blm_combine() - the OR or the AND of filters of one template, as a new filter
 * @from, @count: at least one
 * @max_rate:     refuse with -ERANGE a result whose predicted rate is above it; 0: any
 * @ret_rate:     NULL, or the result's predicted rate, written also with -ERANGE
 *
 * The data of an OR equals, byte for byte, that of a filter of the same template that was given all the keys. An AND
 * holds every key that all of them hold; its rate is at most that of each, and at least that of a filter made from the
 * common keys. The result's `keys` is an estimate.
 */
BLM_API int blm_combine(struct blm_filter **ret, struct blm_store *store, const char *name, enum blm_op op,
			const struct blm_filter *const *from, size_t count, double max_rate, double *ret_rate);

/**
 * blm_combine_into() - the same into `into`, which is the first of the filters combined
 *
 * An OR goes into the mapped data by atomic OR, beside any number of writers, which lose nothing. An AND cannot: it makes
 * a new file that replaces the old one, whole; what others add in the meantime is carried over.
 */
BLM_API int blm_combine_into(struct blm_filter *into, enum blm_op op, const struct blm_filter *const *from, size_t count,
			     double max_rate, double *ret_rate);

/* ---- Estimates ---- */

/** struct blm_value - a value with its standard error */
struct blm_value {
	double value, error;
};

/**
 * struct blm_estimate - what the bits of a filter say
 *
 * `keys` by Swamidass and Baldi, J. Chem. Inf. Model. 47(3), 2007: -(m/k) ln(1 - X/m) for X of m bits set; a full
 * filter has no estimate and says saturated.
 */
struct blm_estimate {
	struct blm_value fill;	/* share of the cells that are set */
	struct blm_value rate;	/* false positives, from the bits as they are */
	struct blm_value keys;	/* distinct keys; meaningless if saturated */
	bool saturated;
	uint64_t sampled_bytes;	/* of data_bytes */
};

/**
 * blm_estimate() - how full, how wrong, how many
 * @exact: false reads a sample of at most 16 MiB, spread evenly, and the errors say so; true reads all
 * Return: 0, or -EOPNOTSUPP.
 */
BLM_API int blm_estimate(const struct blm_filter *f, bool exact, struct blm_estimate *ret);

/** struct blm_comparison - two filters of one template; values are estimates of numbers of keys, or shares of them */
struct blm_comparison {
	struct blm_value a, b, both, common;	/* keys in A, in B, in their union, in their intersection */
	struct blm_value jaccard;		/* common / both */
	struct blm_value tanimoto;		/* of the bits: |A AND B| / |A OR B|; counted, not estimated */
	bool saturated;				/* one of them, or the OR, is full: the values are lower bounds */
};

/**
 * blm_compare() - sizes and overlap; reads all of both
 *
 * The intersection comes from the three counts |A|, |B|, |A or B|, never from the bits of the AND, which say too many.
 */
BLM_API int blm_compare(const struct blm_filter *a, const struct blm_filter *b, struct blm_comparison *ret);

/* ---- Stores ---- */

/** enum blm_store_flags */
enum blm_store_flags {
	BLM_STORE_CREATE = 1 << 0,	/* make the directory and an empty catalog where there is none */
	BLM_STORE_READ   = 1 << 1,	/* change nothing; works on a read-only mount and as another user */
};

/**
 * blm_store_open() - open a directory of filters with its catalog
 *
 * Names are 1 to BLM_NAME_MAX bytes of UTF-8 without control characters and without '/', and not "." or "..". They are
 * keys in the catalog and never become paths. One directory is opened once in a process, however often this is called.
 * Return: 0, or -ENOENT where there is no store, -EUCLEAN where the catalog is damaged (blm_store_repair() mends it).
 */
BLM_API int blm_store_open(struct blm_store **ret, const char *dir, unsigned flags);

/** blm_store_close() - its filters may stay open. Returns NULL */
BLM_API struct blm_store *blm_store_close(struct blm_store *store);

/** blm_store_dir() - the directory, as it was given; valid until the store is closed */
BLM_API const char *blm_store_dir(const struct blm_store *store);

/** blm_store_find() - what the catalog knows of a name, without opening its file. Return: 0, -ENOENT, -EUCLEAN */
BLM_API int blm_store_find(struct blm_store *store, const char *name, struct blm_info *ret);

/**
 * blm_store_list() - every filter of which the catalog knows, in the order of their names' bytes
 * @pattern: NULL, or as for fnmatch(3)
 * @each:    called with what the catalog knows, no lock held, no file opened; a value other than 0 ends the listing.
 *           A damaged record comes with err (-EUCLEAN) and only its name.
 * Return: 0, what each() ended it with, or a negative errno.
 */
BLM_API int blm_store_list(struct blm_store *store, const char *pattern,
			   int (*each)(void *context, const struct blm_info *info, int err), void *context);

/**
 * blm_store_rename() - one step; -EEXIST if the new name is taken, -ENOENT if the old one is not
 *
 * Handles that are open stay with the filter, whatever its name. When it is replaced or dropped later under its new name, a
 * handle opened under the old one answers -ESTALE: open it again.
 */
BLM_API int blm_store_rename(struct blm_store *store, const char *from, const char *to);

/** blm_store_drop() - take the filter out of the catalog and delete its file. Handles of it answer -ESTALE to changes */
BLM_API int blm_store_drop(struct blm_store *store, const char *name);

/**
 * blm_store_publish() - put a copy of a filter into the store under a name, in one step for everyone else
 *
 * Replaces what had the name before: readers go over to the new file at their next call, and so do writers, whose calls
 * under way are done again on it.
 */
BLM_API int blm_store_publish(struct blm_store *store, const char *name, const struct blm_filter *from, unsigned mode);

/** blm_store_label() - set a label of a filter; value NULL takes it away. Keys without '=', both without newlines */
BLM_API int blm_store_label(struct blm_store *store, const char *name, const char *key, const char *value);

/* ---- Checking ---- */

/** struct blm_finding - one thing that is wrong; the strings are valid during the call only */
struct blm_finding {
	const char *file;	/* path */
	const char *what;	/* in words */
	bool repaired;
};

/**
 * blm_verify() - check all of one filter: header, parts, records, and that no bit lies where none can
 * @finding: called for each thing that is wrong
 * Return: how many things are wrong, or a negative errno.
 */
BLM_API int blm_verify(struct blm_store *store, const char *name,
		       void (*finding)(void *context, const struct blm_finding *found), void *context);

/**
 * blm_store_verify() - check a whole store: the catalog, every file, and each against the other
 * @repair: build the catalog anew from the files, names included, where it is damaged or lost or disagrees; delete
 *          what a dead process left behind. Filters that hold keys are never deleted.
 * Return: how many things are wrong and not repaired, or a negative errno.
 */
BLM_API int blm_store_verify(const char *dir, bool repair,
			     void (*finding)(void *context, const struct blm_finding *found), void *context);

#ifdef __cplusplus
}
#endif
#endif
