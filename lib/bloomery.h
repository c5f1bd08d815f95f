/*
 * bloomery.h - memory-mapped filters of the Bloom family: the whole public API
 *
 * A filter is a file. Any number of processes map it and ask or add keys at memory speed. A store
 * is a directory of filters with a catalog that remembers what each one is. Filters made from one
 * template have the same parameters, so they combine by bitwise OR and AND.
 *
 *	struct blm_params params = BLM_PARAMS(.capacity = 1000000, .rate = 0.001);
 *	struct blm_filter *f;
 *
 *	blm_create(&f, NULL, "./seen.blm", &params);
 *	if (blm_claim(f, url, strlen(url)) == 1)
 *		fetch(url);
 *	blm_close(f);
 *
 * The groups, in this order: one key at a time; many keys; keys by their hashes; parts of a filter;
 * a whole filter; parameters and sizes; creating and building; templates and algebra; what a filter
 * says of itself; estimates; stores; lists of false positives; exchange; checking; banks; what
 * there is; the process. A program that adds and asks needs the first one, and blm_create().
 *
 * Conventions, for every function below:
 *   - 0 or a positive answer is success; a failure is a negative errno value (-ENOENT, ...).
 *     blm_strerror() puts the value into words. blm_error_message() says what went wrong with which
 *     file, field or value. The library never prints and never exits. Return parameters are written
 *     on success only.
 *   - These values have meanings of their own here:
 *       -EBADMSG          the file is not a Bloomery file, or its header contradicts itself
 *       -EPROTONOSUPPORT  a newer version made the file, or it has a feature that this one does not
 *                         know
 *       -ENODATA          the file is shorter than its header says
 *       -EINVAL           a parameter is out of its range
 *       -EOPNOTSUPP       this kind, or this hash family, cannot do that
 *       -EMEDIUMTYPE      the filters come from different templates
 *       -EXFULL           the filter is full (-ENOSPC is the disk)
 *       -EKEYREVOKED      the key was removed, and this kind of filter takes it only once
 *       -ENOKEY           the secret key of a keyed filter is missing
 *       -ESTALE           the filter was dropped, its file was deleted, or another file took its
 *                         place
 *       -EUCLEAN          the filter or the catalog is damaged, or the filter needs rebuilding
 *       -EBUSY            a change waited for the catalog's lock, and nothing moved for five
 *                         seconds
 *       -EBADF            the handle was opened for reading, and the call changes the filter
 *       -ENOTUNIQ         the file does not say which hash made it: name the hash, or give a key
 *                         that is in the filter; or a key is built with two values
 *       -EDOM             the exact number of keys is not known
 *       -EREMOTE          the file is one part of a split filter, and the key belongs to another
 *                         part, or the call needs the whole filter
 *       -EROFS            the filter is sealed, or its store was opened for reading
 *       -ENOSYS           the system does not tell which boot this is: mount /proc, because
 *                         /proc/sys/kernel/random/boot_id is missing. Kinds that must notice power
 *                         cuts need it to be made or opened for changes, and to be read if they
 *                         have no checkpoint image and were changed since the last sync. Or the
 *                         system gives no random numbers (getrandom(2), /dev/urandom) for a new
 *                         file
 *       -ELIBACC          zlib, zstd or libmd, which are loaded on first use, cannot be loaded
 *     Any function that opens, makes or changes a filter can return these values, -ENOMEM, and the
 *     errors of open(2), mmap(2) and fcntl(2). The other comments name only what is special.
 *   - Keys are bytes: (pointer, length). A NUL has no special meaning. A key may have length 0;
 *     then its pointer may be NULL.
 *   - Sizes are in bytes unless named bits, capacities in keys, rates are probabilities in (0, 1).
 *   - struct blm_params, struct blm_info and struct blm_exchange begin with their size, so that
 *     later versions can add fields at their end: BLM_PARAMS(), BLM_INFO and BLM_EXCHANGE() set it.
 *     If the size is not set, calls fail with -EINVAL. If a newer program sets a field that this
 *     library does not know, they fail with -E2BIG.
 *   - A filter is named by (store, name). With store NULL, name is a path; else it is a name in
 *     that store. A relative path belongs to the working directory at the time of the call. A
 *     function that makes a filter makes it in memory if both are NULL. Such a filter can do
 *     everything, and is gone when its last handle is closed. Forked children share it until parent
 *     or child clears it or intersects it in place; that process then has a filter of its own.
 *   - Handles, arrays of handles and of keys, and buffers for answers must not be NULL, unless a
 *     comment says that they may. A path, a name, parameters or a function that is NULL where one
 *     is needed gives -EINVAL.
 *   - Threads: any number may share a handle, in any function but blm_close(). Processes: any
 *     number may open the same file, for reading and for writing. After fork() the child may use
 *     its parent's handles. A signal handler must not change a filter, because it could wait for
 *     the call that it interrupted.
 *   - A replaced filter has a new file with the owner and the group of the old one. This holds for
 *     clearing, sealing, rebuilding, intersecting in place, growing, publishing, and blm_create()
 *     with replace. Only root may set another owner; else the new file belongs to the caller. If
 *     the caller is not in the old group, group and others get only the rights that both had.
 *   - The caller closes its handles. Closing takes NULL, and returns NULL, so write `f =
 *     blm_close(f)`.
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

/* The first member of a struct that says its own size: in C++ `= {}` sets it. */
#ifdef __cplusplus
#define BLM_SIZE(type) = sizeof(type)
#else
#define BLM_SIZE(type)
#endif

struct blm_build;
struct blm_exchange;
struct blm_fact;
struct blm_filter;
struct blm_finding;
struct blm_info;
struct blm_params;
struct blm_store;
struct blm_update;

/** struct blm_key - a key: any bytes, the caller's; read during the call only */
struct blm_key {
	const void *bytes;
	size_t len;
};

/** struct blm_hash - a key once hashed by a family of 128 bits; see blm_hash_many() */
struct blm_hash {
	uint64_t lo, hi;
};

/* ---- Errors ---- */

/**
 * blm_error_message() - what this thread's last failure was about, in one line; valid until its
 * next call into the library
 *
 * A remedy is named as in this header: a function, or a field like blm_params.capacity. Programs
 * can replace these names by their own terms.
 */
BLM_API const char *blm_error_message(void);

/**
 * blm_strerror() - the meaning of a negative (or positive) errno value, in words; static or as
 * strerror(3)
 */
BLM_API const char *blm_strerror(int err);

/** blm_version() - the version of the library that runs, as in BLM_VERSION; static */
BLM_API const char *blm_version(void);

/* ---- One key at a time ---- */

/** enum blm_open_flags */
enum blm_open_flags {
	BLM_OPEN_WRITE = 1 << 0,
	/*
	 * For writing, as the only handle that changes the filter, which makes changes faster.
	 * Others may read at the same time
	 */
	BLM_OPEN_EXCLUSIVE = 1 << 1,
};

/**
 * blm_open() - map an existing filter
 * @flags: BLM_OPEN_WRITE: to change it too; 0: for reading: the handle writes no byte, takes no
 *         lock, and refuses every change with -EBADF; BLM_OPEN_EXCLUSIVE: to be the only handle
 *         that changes the filter
 *
 * The cost does not grow with the filter, because only its header is read and checked. If the file
 * is replaced or dropped later, the next call through the handle notices it without a system call,
 * and uses the new file; see bloomery-durability(7). If an older copy of a file was put back into a
 * store, it still opens, and blm_info() says so.
 * Threads: with an exclusive handle, only one thread at a time may change or sync the filter; any
 * number may ask.
 * Processes: all others fail with -EBUSY when they change or sync a filter that is open
 * exclusively, or open it for writing; see bloomery-durability(7).
 */
BLM_API int blm_open(struct blm_filter **ret, struct blm_store *store, const char *name,
		     unsigned flags);

/**
 * blm_close() - unmap and forget; no other thread may be in a call with f. Syncs nothing. Returns
 * NULL
 */
BLM_API struct blm_filter *blm_close(struct blm_filter *f);

/**
 * blm_contains() - may the filter hold this key?
 *
 * false is certain, true is wrong at the filter's rate. It cannot fail, so it returns true for a
 * key that it cannot deny: a key of another part, in a part of a split filter, and a key without a
 * column, in a filter whose keys have one (the hash xxh3-column). blm_contains_many() fails for
 * both.
 */
BLM_API bool blm_contains(const struct blm_filter *f, const void *bytes, size_t len);

/**
 * blm_add() - add a key
 *
 * Every question that begins after the add returned finds the key, in any process. The key survives
 * the death of any process; to survive a power cut it needs blm_sync(). Beyond its capacity a
 * filter still takes keys, at a growing rate, or grows (BLM_GROWS). Kinds with slots
 * (BLM_CAN_ROTATE) keep a key for their window from the beginning of the last call that added it.
 * Processes: kinds that set bits need no lock for an add. Two processes that race with one new key
 * can both get 1; use blm_claim() if only one may.
 * Return: 1 if the filter changed or the key was renewed, 0 if the filter held the key (or seemed
 * to), or a negative errno. Kinds that count how often a key was added (counting, cuckoo,
 * redis-cuckoo, d-left) change with each add, as far as they can count. -EKEYREVOKED for a key that
 * was removed from a filter that takes it only once (of many keys the others are added, with their
 * answers); -ENOSPC and others where it cannot grow (of many keys some may have been added);
 * -EXFULL from the kinds that can be full; -EINVAL or -ERANGE from a bitmap, for a key that is no
 * number or not below m.
 */
BLM_API int blm_add(struct blm_filter *f, const void *bytes, size_t len);

/**
 * blm_claim() - add a key, and learn whether this caller was the first
 *
 * If several callers, in any processes, race to claim one new key, at most one gets 1. Exactly one
 * does, unless the key was a false positive (keys that others add at that moment can make it one),
 * or its claimer died first. Takes no lock on the data, and none that a dead process could hold. No
 * replacement of the file happens during the call: see bloomery-performance(7). blm_claim_many() is
 * faster. In kinds with slots (BLM_CAN_ROTATE) a claim counts for each window, and renews nothing.
 * A key that was removed for good is not new.
 * Return: 1 (yours), 0 (not new), or a negative errno.
 */
BLM_API int blm_claim(struct blm_filter *f, const void *bytes, size_t len);

/**
 * blm_remove() - remove a key, for kinds that can (BLM_CAN_REMOVE)
 *
 * If the filter denies the key, or the key is on its list of false positives, nothing changes. A
 * false positive cannot be told from a key that was added, and removing it can hide other keys. So
 * remove only keys that were added. In a recent filter two keys with one
 * fingerprint share a cell, so to remove one of them removes both. Other limits of a kind are its
 * caveat (struct blm_kind_info). If several callers race to remove a key that was added once, one
 * of them gets 1.
 * Return: 1 (taken out), 0 (it was not there, or it cannot be removed: all its counters are full),
 * or a negative errno: -EUCLEAN if a power cut, a copy during changes, or an interrupted union left
 * the filter in a state in which it can answer and add keys, but remove none.
 */
BLM_API int blm_remove(struct blm_filter *f, const void *bytes, size_t len);

/**
 * blm_put() - give a key a value, for kinds that hold values (BLM_CAN_PUT); the kind decides which
 * values there are, and whether an earlier one stays
 * Return: 1 if the filter changed, 0 if not, or a negative errno: -ERANGE for a number that is no
 * value of this filter
 */
BLM_API int blm_put(struct blm_filter *f, const void *bytes, size_t len, uint64_t value);

/**
 * blm_get() - the value of a key
 * @ret: written where the answer is 1
 * Return: 1, 0 where the filter says that the key has none, or a negative errno.
 */
BLM_API int blm_get(const struct blm_filter *f, const void *bytes, size_t len, uint64_t *ret);

/* ---- Many keys ---- */

/**
 * blm_contains_many(), blm_add_many(), blm_claim_many() - the same for many keys, several times as
 * fast
 * @keys, @count: any number of keys; they are hashed and their memory is prefetched together
 * @ret_bits:     NULL, or room for (count + 63) / 64 words: bit i % 64 of word i / 64 is key i's
 * answer
 *
 * A key that is twice in one batch is new at most once. blm_contains_many() fails only for a key of
 * another part of a split filter (-EREMOTE), or without the column that the hash xxh3-column needs
 * (-EINVAL). Then ret_bits says yes to all keys, because f cannot deny such a key. If another call
 * fails, some keys may have been added. ret_bits then says which keys changed the filter or were
 * claimed before the failure, and no other caller can claim those. This holds for all forms below.
 * Return: how many answers were yes (contained, changed the filter, claimed), or a negative errno.
 */
BLM_API int64_t blm_contains_many(const struct blm_filter *f, const struct blm_key *keys,
				  size_t count, uint64_t *ret_bits);
BLM_API int64_t blm_add_many(struct blm_filter *f, const struct blm_key *keys, size_t count,
			     uint64_t *ret_bits);
BLM_API int64_t blm_claim_many(struct blm_filter *f, const struct blm_key *keys, size_t count,
			       uint64_t *ret_bits);

/**
 * blm_remove_many(), blm_put_many(), blm_get_many() - as the _many forms, of blm_remove(),
 * blm_put() and blm_get()
 * @values, @ret_values: one for each key; where the answer for a key is no, ret_values has what it
 * had before
 */
BLM_API int64_t blm_remove_many(struct blm_filter *f, const struct blm_key *keys, size_t count,
				uint64_t *ret_bits);
BLM_API int64_t blm_put_many(struct blm_filter *f, const struct blm_key *keys,
			     const uint64_t *values, size_t count, uint64_t *ret_bits);
BLM_API int64_t blm_get_many(const struct blm_filter *f, const struct blm_key *keys, size_t count,
			     uint64_t *ret_values, uint64_t *ret_bits);

/**
 * blm_contains_fixed(), blm_add_fixed(), blm_claim_fixed() - as the _many forms, for keys of one
 * length
 * @keys:  count keys of `width` bytes each, one after the other, at any address; of width 0 it may
 * be NULL
 *
 * The answers are those of the same bytes as (pointer, length) keys. Faster than the _many forms,
 * above all for widths of 4, 8, 16 and 32 bytes. A number is a key by its bytes, so use one byte
 * order wherever the filter is used.
 */
BLM_API int64_t blm_contains_fixed(const struct blm_filter *f, const void *keys, size_t width,
				   size_t count, uint64_t *ret_bits);
BLM_API int64_t blm_add_fixed(struct blm_filter *f, const void *keys, size_t width, size_t count,
			      uint64_t *ret_bits);
BLM_API int64_t blm_claim_fixed(struct blm_filter *f, const void *keys, size_t width, size_t count,
				uint64_t *ret_bits);

/**
 * blm_contains_packed(), blm_add_packed(), blm_claim_packed(), blm_remove_packed() - as the _many
 * forms, for keys in one buffer, in the layout of Arrow's arrays of strings
 * @data:         the bytes of all keys; NULL if all offsets are 0
 * @offsets:      count + 1 signed numbers, at any address, in the machine's byte order: key i is
 *                the bytes of data from offset i up to offset i + 1. The first may be above 0, as
 *                in a slice of an array.
 * @offset_bytes: of each offset: 4 (Arrow's String and Binary) or 8 (LargeString, LargeBinary)
 *
 * No array of pointers is needed, so bindings pass the buffers of their language as they are. The
 * answers are those of the same bytes as (pointer, length) keys. All offsets are checked before the
 * first key is used. The caller must ensure that data has the number of bytes that the last offset
 * says. offsets and data must not change during the call: another thread that changes an offset
 * after it was checked makes the call read outside data.
 * Return: as the _many forms, or -EINVAL where an offset is negative or less than the one before
 * it, where offset_bytes is neither 4 nor 8, or where data is NULL and a key has bytes or the first
 * offset is above 0: then no key was used and ret_bits is not written.
 */
BLM_API int64_t blm_contains_packed(const struct blm_filter *f, const void *data,
				    const void *offsets, size_t offset_bytes, size_t count,
				    uint64_t *ret_bits);
BLM_API int64_t blm_add_packed(struct blm_filter *f, const void *data, const void *offsets,
			       size_t offset_bytes, size_t count, uint64_t *ret_bits);
BLM_API int64_t blm_claim_packed(struct blm_filter *f, const void *data, const void *offsets,
				 size_t offset_bytes, size_t count, uint64_t *ret_bits);
BLM_API int64_t blm_remove_packed(struct blm_filter *f, const void *data, const void *offsets,
				  size_t offset_bytes, size_t count, uint64_t *ret_bits);

/* ---- Ranges of keys ---- */

/**
 * blm_contains_range() - may the filter hold any key from first to last, those two included?
 * (BLM_CAN_RANGE)
 * @first, @last: keys as the filter's hash takes them (struct blm_hash_info), for example decimal
 *                digits for ordered-uint. ordered-string takes any bytes, and compares the
 *                first 8.
 *
 * 0 is certain. 1 is wrong at the filter's rate for ranges of up to `width` places (the option of
 * that name), wherever the range is, also right beside a key; for wider ranges in proportion. A key
 * that stands for several places, as a network does, is an interval: as `first` it begins the
 * range, as `last` it ends it. blm_contains() with such a key asks for all of its places. The entry
 * range of bloomery-kinds(7) has the limits.
 * Return: 1, 0, or a negative errno: -EINVAL for a key that is none of the filter's hash, or a
 * range that ends before it begins; -EOPNOTSUPP from kinds that cannot answer for ranges.
 */
BLM_API int blm_contains_range(const struct blm_filter *f, const void *first, size_t first_len,
			       const void *last, size_t last_len);

/**
 * blm_contains_ranges() - the same for many ranges, several times as fast
 * @first, @last: count keys each: range i is from first[i] to last[i]
 * @ret_bits:     as for blm_contains_many()
 *
 * Return: how many answers were yes, or a negative errno as above: then some answers may be
 * missing.
 */
BLM_API int64_t blm_contains_ranges(const struct blm_filter *f, const struct blm_key *first,
				    const struct blm_key *last, size_t count, uint64_t *ret_bits);

/* ---- When keys were seen ---- */

/**
 * struct blm_when - times for filters that keep when each key was last seen (BLM_CAN_AGE); zero
 * means default
 *
 * Times are nanoseconds. A filter tells times apart by its option "tick" only. A key may count as
 * younger than it is by less than two ticks, and never counts as older: a key that was seen within
 * `within` is always found.
 */
struct blm_when {
	size_t size BLM_SIZE(struct blm_when);	/* sizeof(struct blm_when) */
	uint64_t within;	/* the age asked for; 0: the filter's span */
	/*
	 * of blm_add_at(): when the keys were seen, since 1970; 0: now. A time to come counts as
	 * now
	 */
	uint64_t at;
	/*
	 * the present time, since 1970; 0: CLOCK_REALTIME. What is earlier than the filter's last
	 * change counts as the time of that change, so a change at a time to come holds the time
	 * still until then
	 */
	uint64_t now;
};

#ifdef __cplusplus
#define BLM_WHEN() {}
#else
#define BLM_WHEN(...) (struct blm_when){ .size = sizeof(struct blm_when), __VA_ARGS__ }
#endif

/**
 * blm_contains_within() - as blm_contains_many(): was each key seen within when->within?
 * blm_claim_again() - as blm_claim_many(): claims the keys that were not seen within when->within,
 *                     and notes that they are seen now
 * blm_add_at() - as blm_add_many(): notes that keys were seen, at when->at
 * blm_ages() - how long ago each key was last seen, for keys seen within when->within
 * @when:     NULL: as all zeros
 * @ret_ages: room for `count` ages, in nanoseconds. Each differs from the true age by less than a
 *            tick. The age of a key whose answer is no is not written.
 *
 * blm_add_at() never makes a key older: the later of two times counts. A time before the filter's
 * span is not kept. blm_contains_many(), blm_claim_many() and blm_add_many() do the same
 * with a `when` of zeros, blm_get_many() gives the age in seconds.
 * Processes: of all that claim a key at the same time, one gets it. A claim takes the writers' lock
 * once a batch, and only for a batch that has a key to give.
 * Return: as the forms for many keys; -EOPNOTSUPP for other kinds; -EINVAL for a `within` longer
 * than the filter's span, or a struct without its size.
 */
BLM_API int64_t blm_contains_within(const struct blm_filter *f, const struct blm_key *keys,
				    size_t count, const struct blm_when *when, uint64_t *ret_bits);
BLM_API int64_t blm_claim_again(struct blm_filter *f, const struct blm_key *keys, size_t count,
				const struct blm_when *when, uint64_t *ret_bits);
BLM_API int64_t blm_add_at(struct blm_filter *f, const struct blm_key *keys, size_t count,
			   const struct blm_when *when, uint64_t *ret_bits);
BLM_API int64_t blm_ages(const struct blm_filter *f, const struct blm_key *keys, size_t count,
			 const struct blm_when *when, uint64_t *ret_ages, uint64_t *ret_bits);

/* ---- Keys by their hashes ---- */

/**
 * blm_hash_many() - hash keys once, to use the hashes with every filter that has the same
 * blm_hash_id()
 * @ret:  room for count hashes
 * Return: 0, or -EOPNOTSUPP where the filter's family hashes a key k times.
 */
BLM_API int blm_hash_many(const struct blm_filter *f, const struct blm_key *keys, size_t count,
			  struct blm_hash *ret);

/** blm_hash_fixed() - the same for keys of `width` bytes each, one after the other */
BLM_API int blm_hash_fixed(const struct blm_filter *f, const void *keys, size_t width, size_t count,
			   struct blm_hash *ret);

/**
 * blm_hash_id() - what hashes depend on (family, seeds, key id, tweak), as a number; equal for
 * filters of one template
 */
BLM_API uint64_t blm_hash_id(const struct blm_filter *f);

/**
 * blm_contains_hashes(), blm_add_hashes(), blm_claim_hashes() - as the _many forms, for keys hashed
 * already
 * @hash_id: blm_hash_id() of the filter that hashed them
 * Return: as the _many forms, or -EMEDIUMTYPE where hash_id is not this filter's (it may have been
 * replaced by one with another seed since), -EOPNOTSUPP where the filter's family hashes a key k
 * times.
 */
BLM_API int64_t blm_contains_hashes(const struct blm_filter *f, uint64_t hash_id,
				    const struct blm_hash *hashes, size_t count,
				    uint64_t *ret_bits);
BLM_API int64_t blm_add_hashes(struct blm_filter *f, uint64_t hash_id,
			       const struct blm_hash *hashes, size_t count, uint64_t *ret_bits);
BLM_API int64_t blm_claim_hashes(struct blm_filter *f, uint64_t hash_id,
				 const struct blm_hash *hashes, size_t count, uint64_t *ret_bits);

/**
 * blm_contains_hash(), blm_add_hash(), blm_claim_hash() - as blm_contains(), blm_add() and
 * blm_claim(), for one key hashed already
 * @hash_id: as above
 * Return: 1 or 0 as the forms for keys, or a negative errno as above. A question fails with these
 * two errors, -EREMOTE, and -EINVAL for a key without the column that it needs.
 */
BLM_API int blm_contains_hash(const struct blm_filter *f, uint64_t hash_id,
			      const struct blm_hash *hash);
BLM_API int blm_add_hash(struct blm_filter *f, uint64_t hash_id, const struct blm_hash *hash);
BLM_API int blm_claim_hash(struct blm_filter *f, uint64_t hash_id, const struct blm_hash *hash);

/* ---- Parts of a filter: for many machines ---- */

enum { BLM_SPLIT_MAX = 65536 };		/* parts of a filter */

struct blm_join;

/**
 * blm_part_owners() - which part of a split filter does each key belong to?
 * @f:          the filter, or any of its parts
 * @hash_id:    blm_hash_id() of the filter that hashed the keys
 * @parts:      how many parts there are, 1 to BLM_SPLIT_MAX
 * @ret_owners: room for count numbers: the part of each key, from 0 to parts - 1
 *
 * A split filter of N parts is N files of the same parameters and size. Each file has one range of
 * the data (blm_part_range()), and holes elsewhere. blm_params.split_parts makes one part, and
 * blm_split() makes all parts of a filter.
 *
 *	the cells of a key are    as in     a key belongs to   blm_create()   blm_build_begin()
 *	in one line of 64 bytes   blocked   one part           yes            yes
 *	anywhere in the data      classic   several parts      no             yes, of all keys
 *	moved by later keys       cuckoo    several parts      no             no
 *
 * bloomery-kinds(7) has a table of all kinds with BLM_CAN_SPLIT. A part to which a key belongs adds
 * and claims the key, and answers for it. Other parts fail with -EREMOTE. If keys belong to several
 * parts, the parts can only be joined: they take no keys and answer no question.
 * Return: 0, or a negative errno: -EMEDIUMTYPE as blm_contains_hashes(); -EOPNOTSUPP for kinds
 * where a key belongs to several parts.
 */
BLM_API int blm_part_owners(const struct blm_filter *f, uint64_t hash_id,
			    const struct blm_hash *hashes, size_t count, uint32_t parts,
			    uint32_t *ret_owners);

/**
 * blm_part_range() - the range of the data that a part of a filter owns
 * @f:         the filter, or any of its parts
 * @part:      the number of the part, from 0 to parts - 1
 * @parts:     how many parts there are, 1 to BLM_SPLIT_MAX
 * @ret_at:    the first byte of the range, as for blm_data_read()
 * @ret_bytes: the bytes of the range, 0 if it is empty
 *
 * Each range begins where the one before it ends. It begins at a multiple of 64 bytes, or of 64 KiB
 * if the data have at least 1 MiB for each part.
 * Return: 0, or a negative errno: -EOPNOTSUPP for kinds that are not split (BLM_CAN_SPLIT).
 */
BLM_API int blm_part_range(const struct blm_filter *f, uint32_t part, uint32_t parts,
			   uint64_t *ret_at, uint64_t *ret_bytes);

/**
 * blm_split() - make all parts of a filter
 * @parts: how many parts to make, 1 to BLM_SPLIT_MAX
 * @names: the name of each part in `store`; a path of each part if `store` is NULL
 * @mode:  the permission bits of each part, as in struct blm_params
 *
 * The filter stays as it is. Keys that others add meanwhile may be in the parts or not. Each part
 * appears when it is complete. If a part cannot be made, the parts before it stay. Each part gets a
 * share of the filter's count of keys. The share is an estimate, but the shares of all parts add up
 * to the filter's count.
 * Return: 0, or a negative errno: -EEXIST if a name is taken before the call, and then no part is
 * made, or if a name is given twice, and then the parts before it stay; -EOPNOTSUPP for kinds that
 * are not split; -EREMOTE if the filter is a part itself; -EUCLEAN if data that a part would get
 * are damaged.
 */
BLM_API int blm_split(const struct blm_filter *from, uint32_t parts, struct blm_store *store,
		      const char *const *names, unsigned mode);

/**
 * blm_join_begin() - begin to make one filter of all parts of a split filter
 * blm_join_part() - copy a part into the filter
 * blm_join_finish() - show the complete filter under its name, on the disk, in one step; free the
 *                     join, also on failure
 * blm_join_cancel() - free the join and make nothing; takes NULL, returns NULL
 * @mode, @sparse: as in struct blm_params
 * @ret:           of blm_join_finish(): NULL, or room for a handle of the filter, open for writing
 *
 * Give each part once, in any order. A part may be closed after its call. The data equal those of a
 * filter that was not split, byte for byte. The count of keys is the sum of the parts' counts. The
 * sum is as exact as in one filter, except that classic parts from blm_build_begin() give an
 * estimate. There is no file before blm_join_finish(). Only kinds that are always sealed
 * (BLM_CAN_BUILD) give a sealed filter.
 * Threads: one at a time.
 * Return: 0, or a negative errno: -EMEDIUMTYPE for a part of another filter or of another number of
 * parts, and for a golomb, fuse, ribbon or bloomier part that blm_build_begin() made from other
 * keys; -EINVAL for a whole filter; -EEXIST for a part that was joined before, or a name that is
 * taken; -EUCLEAN for a damaged part, or a part with data outside its range; -ENODATA from
 * blm_join_finish() if a part is missing.
 */
BLM_API int blm_join_begin(struct blm_join **ret, struct blm_store *store, const char *name,
			   unsigned mode, bool sparse);
BLM_API int blm_join_part(struct blm_join *j, const struct blm_filter *part);
BLM_API int blm_join_finish(struct blm_join *j, struct blm_filter **ret);
BLM_API struct blm_join *blm_join_cancel(struct blm_join *j);

/* ---- A whole filter: durable, cleared, sealed, grown ---- */

/**
 * blm_sync() - make all keys added before this call durable
 *
 * Writes back the data, then a sync record in the header, then the catalog if the filter is in a
 * store. Each of them is on the disk before the next one is written.
 * Return: 0, or
 *   -EUCLEAN  Blocks that changed have lost bits since they were last synced. The data are durable,
 *             but keys may be denied. blm_error_message() names the first block, and
 *             blm_info.lost_blocks is the number of blocks. Each sync fails so until blm_verify()
 *             has repaired the blocks, or until more keys have set as many bits as a block lost. If
 *             lost_blocks is 0, the store's catalog is damaged.
 *   -ESTALE   The filter was dropped, or its file is lost (see blm_status(), also for a child after
 *             fork()). The data were written before.
 *   -EIO      or another error of msync(2). Keys added since the last good sync may be lost, also
 *             from memory, because the system may drop pages that it could not write. Add them
 *             again and sync again: that sync writes all of the file. On ext4 it can fail again,
 *             because the file system does not keep some pages. Then use a copy (blm_copy()).
 */
BLM_API int blm_sync(struct blm_filter *f);

/**
 * blm_sync_every() - let this handle's adds and claims sync by themselves
 * @keys:    sync after this number of keys that changed the filter; 0: no sync by number
 * @seconds: sync this time after the last sync, less than 10^9; 0: no sync by time. Only calls that
 *           add or claim look at the clock. So call blm_sync() after the last keys before a pause,
 *           and before closing.
 *
 * The call that causes a sync returns when the sync is done. If the sync fails, or finds blocks
 * that have lost bits (-EUCLEAN), the call returns the error of the sync. The keys of the call are
 * added all the same, and ret_bits has the answer for each.
 */
BLM_API int blm_sync_every(struct blm_filter *f, uint64_t keys, double seconds);

/**
 * blm_status() - does the handle work on the file that its name leads to?
 *
 * Adding keys and asking for them take no system call, so neither can notice that other programs
 * deleted or moved the file. blm_status() and blm_sync() look for the file at its path. In a store
 * they look for filters/UUID.blm at the path that the store was opened by.
 *
 *	what happened to the file                               blm_status()   blm_sync()
 *	nothing, or the library replaced it                     0              0
 *	it was deleted: keys are lost with the last handle      -ESTALE        -ESTALE
 *	another file is at its path, even a copy of the file    -ESTALE        -ESTALE
 *	the filter was dropped                                  -ESTALE        -ESTALE
 *	it, or a folder above it, was moved: it is not lost     -ENOENT        0
 *	the caller lacks the rights to look at the path         0              0
 *
 * bloomery-durability(7) says what both find for links, on NFS, and in a child process.
 * Return: 0, or an error of the table, or -EIO if the file was truncated. If a new file took the
 * place of the file and could not be opened, the error of that opening; then the handle goes on
 * with the old file.
 */
BLM_API int blm_status(const struct blm_filter *f);

/**
 * blm_clear() - remove all keys, in one step for all processes
 *
 * A new, empty file of the same parameters takes the place of the old file. Other handles use the
 * new file from their next call on. A key that another caller adds at the same time may be lost or
 * not.
 */
BLM_API int blm_clear(struct blm_filter *f);

/**
 * blm_seal() - make a filter read-only for good, with a checksum for each 64 KiB, in one step for
 * all processes
 *
 * A sealed copy takes the place of the file. Later changes fail with -EROFS, and blm_verify() finds
 * every bit that changed since. If another caller adds a key at the same time, the key is in the
 * sealed filter, or that caller gets -EROFS. blm_copy() makes a copy that can be changed.
 */
BLM_API int blm_seal(struct blm_filter *f);

/**
 * blm_rotate() - begin the next slot now, and forget the oldest, for kinds that have slots
 * (BLM_CAN_ROTATE)
 *
 * A slot also begins by itself: when a key is added, and the time of the newest slot is over or the
 * slot has as many keys as it was made for. From then on, keys of all processes go into the new
 * slot. A key that is added at the same time goes into the old slot or the new one. The call first
 * writes the empty slot to the disk, which takes longer for larger slots.
 */
BLM_API int blm_rotate(struct blm_filter *f);

/** enum blm_grow_flags - how to grow; a set of bits */
enum blm_grow_flags {
	/* grow even if the rate at capacity goes up; blm_info.rate is then the predicted rate */
	BLM_GROW_FORCE = 1 << 0,
};

/**
 * blm_grow() - make a filter twice as large from its contents, without its keys, in one step for
 * all processes, for kinds with BLM_CAN_GROW
 * @flags: of enum blm_grow_flags
 *
 * A larger file takes the place of the old file. Calls that add or remove keys meanwhile wait for
 * the new file. Each doubling takes one bit from every fingerprint. The option "spare" of
 * blm_params.options is the number of doublings that keep the rate; each further doubling doubles
 * the rate at capacity.
 * Return: 0, or a negative errno: -ERANGE if the rate would go above the filter's rate and flags
 * lacks BLM_GROW_FORCE; -EFBIG if the fingerprints have no more bits to give.
 */
BLM_API int blm_grow(struct blm_filter *f, unsigned flags);

/** enum blm_load_flags - how the file of a filter is mapped; a set of bits */
enum blm_load_flags {
	/* read and map the whole file now, so that no later call waits for the disk */
	BLM_PREFAULT    = 1 << 0,
	/* the same, and keep the file in memory until the handle is closed: mlock(2) */
	BLM_LOCK        = 1 << 1,
	BLM_HUGE_PAGES  = 1 << 2,	/* let the system use pages of 2 MiB */
	BLM_SMALL_PAGES = 1 << 3,	/* let the system use pages of 4 KiB only */
};

/**
 * blm_load() - choose how the filter's file is mapped; best before the first question or key
 * @flags: of enum blm_load_flags; they replace the flags of an earlier call. A new handle has the
 *         flags 0: each page is read when it is first needed. Pages are then of 2 MiB, but of 4 KiB
 *         if the filter is sparse, is larger than the machine's memory, or does not stay in memory.
 *
 * The flags hold for this handle, also after another file took the place of the filter's file. If
 * the new file cannot be locked, the handle goes on without the lock. A child process after fork()
 * has no locks. The system chooses the size of pages when the file comes into memory, for all
 * processes: bloomery-performance(7) says which pages suit which use.
 * Return: 0, or a negative errno: -EINVAL for flags that exclude each other; -EIO if the file was
 * truncated or cannot be read; with BLM_LOCK -ENOMEM, -EPERM or -EAGAIN if the process may not lock
 * that many bytes (RLIMIT_MEMLOCK; blm_error_message() has both numbers). After a failure the
 * filter is as usable as before.
 */
BLM_API int blm_load(struct blm_filter *f, unsigned flags);

/* ---- Parameters and sizes ---- */

enum {
	BLM_SEEDS_MAX = 256,		/* seeds of a filter */
	BLM_NAME_MAX = 255,		/* bytes of a name in a store, without its NUL */
	BLM_PATH_MAX = 4096,		/* bytes of a path, with its NUL */
	BLM_LABELS_MAX = 1536,		/* bytes of all labels of a filter, with their NUL */
	BLM_OPTIONS_MAX = 512,		/* bytes of blm_info.options, with their NUL */
	BLM_SECRET_BYTES = 16,		/* bytes of the secret of a keyed filter */
	BLM_PROBES_MAX = 256,		/* the largest k */
};
#define BLM_CELLS_MAX (UINT64_C(1) << 47)	/* the largest m */
#define BLM_CAPACITY_MAX (UINT64_C(1) << 47)	/* keys */

/**
 * struct blm_params - how to make a filter; zero means default
 *
 * Give capacity and rate: the library chooses m and k. Or give cells (m), probes (k) or both: the
 * library takes them exactly as they are. With cells but no capacity, the capacity is the number of
 * keys that set half of the bits.
 *
 * A hash with blm_hash_info.seeds_by_probe takes a seed for each probe. If only seeds are given, k
 * is their number, and m follows from capacity, rate and k. If both are given and differ in number,
 * the parameters are refused.
 */
struct blm_params {
	size_t size BLM_SIZE(struct blm_params);	/* sizeof(struct blm_params) */
	/*
	 * The name of a kind (blm_kind_list()). NULL: "classic" if cells, probes or a scheme are
	 * given, else "blocked"; if that kind cannot use the hash, the first kind that can.
	 */
	const char *kind;
	/*
	 * Options of the kind, as "name=value,name=value". A time is in seconds, or as 90s, 15m,
	 * 24h or 7d. An option that is not named, or NULL: its usual value.
	 */
	const char *options;
	/*
	 * The name of a hash (blm_hash_list()); '-' and '_' are the same in it. NULL: the usual
	 * hash of the kind. It is "xxh3-64" for a blocked filter that is sized by capacity and
	 * rate, if capacity / 2^64 is at most rate / 100, and "xxh3" for most others.
	 */
	const char *hash;
	/*
	 * Classic filters: how the hash of a key gives its cells (blm_scheme_list()). "own": in
	 * this library's way, or in the way of a hash that has its own. NULL: the scheme that goes
	 * with the hash, which is "own" for most.
	 */
	const char *scheme;
	/*
	 * NULL, or the format that the filter will be exported to. The format sets kind, hash,
	 * scheme and seeds, and m and k if they are not given, as its program would. So kind, hash
	 * and scheme must be NULL, and for bip158 options too. A format whose hash has no seed also
	 * refuses seeds. The format "bloomery" sets nothing.
	 */
	const char *format;
	uint64_t capacity;	/* keys, 1 to BLM_CAPACITY_MAX */
	double rate;		/* false positives at capacity, between 0 and 1; 0: 0.01 */
	/*
	 * m, 1 to BLM_CELLS_MAX: bits for classic, blocked (a multiple of 512), split-block (a
	 * multiple of 256) and bitmap; signatures for hash-compact.
	 */
	uint64_t cells;
	/* k, 1 to BLM_PROBES_MAX; for fuse and bloomier the cells of a key, 3 or 4 */
	uint32_t probes;
	/* the number of seeds, 0 to BLM_SEEDS_MAX; 0: as many random seeds as the hash needs */
	uint32_t seed_count;
	/* any words; some hashes take only smaller ones (format-spec.md, "Hash families") */
	const uint64_t *seeds;
	uint64_t tweak;		/* for hashes that take a tweak, less than 2^32 */
	/*
	 * BLM_SECRET_BYTES bytes, for keyed hashes. NULL: a new random secret. Both are kept in the
	 * store, or in NAME.key.
	 */
	const uint8_t *secret;
	/*
	 * Exactly these permission bits. 0: the bits of the file that it replaces, or 0644 without
	 * the bits of the umask.
	 */
	unsigned mode;
	/* if a filter has the name, take its place, in one step */
	bool replace;
	/*
	 * Do not allocate the space of the data now. If the disk is full later, the writer is
	 * killed (SIGBUS), or after blm_survive_truncation() its adds fail with -EIO.
	 */
	bool sparse;
	/*
	 * For kinds with a checkpoint image: leave the image out. The file has a third of the size.
	 * After a power cut, opening a filter with changes that were not synced fails (-EUCLEAN).
	 */
	bool no_checkpoint;
	/*
	 * Make only one part of the filter that params describes (blm_part_owners()): the part
	 * split_part, from 0 to split_parts - 1, of split_parts parts, at most BLM_SPLIT_MAX.
	 * split_parts 0: the whole filter. A part needs the seeds or the secret that its hash
	 * takes. It is always sparse.
	 */
	uint32_t split_part;
	uint32_t split_parts;
};

/*
 * Parameters with their size set: in C BLM_PARAMS(.capacity = 1000000, .rate = 0.001), in C++
 * BLM_PARAMS() and then each member.
 */
#ifdef __cplusplus
#define BLM_PARAMS() {}
#else
#define BLM_PARAMS(...) (struct blm_params){ .size = sizeof(struct blm_params), __VA_ARGS__ }
#endif

/** struct blm_plan - the kind and the sizes that parameters give */
struct blm_plan {
	const char *kind;	/* static */
	uint64_t cells;		/* m */
	uint32_t probes;	/* k */
	uint64_t data_bytes, file_bytes;
	uint64_t capacity;	/* keys */
	/* that of the parameters, or 0.01; the predicted rate if they have m and no rate */
	double rate;
	double predicted_rate;	/* at capacity */
	double bits_per_key;	/* at capacity */
};

/**
 * blm_plan() - the sizes of the filter that blm_create() would make; makes nothing
 *
 * A classic filter is sized by the finite-size bound p <= (1 - e^(-k (n + 1/2) / (m - 1)))^k (Goel
 * and Gupta, SIGMETRICS 2010). A blocked filter is sized by the mean rate of its blocks, which get
 * different numbers of keys. m is rounded up.
 * Return: 0, or a negative errno: -EINVAL for a parameter that is out of its range; -ENOENT for an
 * unknown kind or hash; -EOPNOTSUPP for a hash that the kind cannot use; -EFBIG if the kind cannot
 * reach the rate.
 */
BLM_API int blm_plan(struct blm_plan *ret, const struct blm_params *params);

/**
 * blm_plan_fact() - a fact about such a filter when it is filled to its capacity, as only its kind
 * has it (struct blm_fact)
 * @i: the number of the fact, from 0
 *
 * Return: 0, or a negative errno: -ENOENT past the last fact, and as blm_plan().
 */
BLM_API int blm_plan_fact(const struct blm_params *params, size_t i, struct blm_fact *ret);

/**
 * blm_rate_asymptotic() - the false-positive rate of an infinitely large Bloom filter,
 * (1 - e^(-probes / bits_per_key))^probes
 */
BLM_API double blm_rate_asymptotic(double bits_per_key, double probes);

/**
 * blm_rate_bound() - the upper bound of the rate of a classic filter,
 * (1 - e^(-k (n + 1/2) / (m - 1)))^k for m cells, k probes and n keys; at most 1
 */
BLM_API double blm_rate_bound(uint64_t cells, uint32_t probes, uint64_t keys);

/* ---- Creating and building ---- */

/**
 * blm_create() - make an empty filter and open it for writing
 *
 * The file appears whole or not at all. It replaces a file only with blm_params.replace. If several
 * callers race, one makes the file, and the others get -EEXIST. The file, its folder, and the
 * catalog of the store are on the disk when the call returns. The secret of a keyed filter is kept
 * in the file keys/ID of the store, or for a path in NAME.key. bloomery(5) describes these files,
 * and bloomery-durability(7) says how a program keeps its secrets out of core dumps.
 * Return: 0, or a negative errno: -EEXIST, -ENOSPC, -EFBIG, and as blm_plan(); -EKEYREJECTED if
 * other users own or may read the file of the secret.
 */
BLM_API int blm_create(struct blm_filter **ret, struct blm_store *store, const char *name,
		       const struct blm_params *params);

/* how many filters one call of blm_create_many() makes at most */
#define BLM_CREATE_MANY_MAX 32768

/**
 * blm_create_many() - make many empty filters in a store, with one commit of its catalog
 * @names:  `count` names. The store must have none of them.
 * @count:  0 to BLM_CREATE_MANY_MAX, because each new file is mapped until all have their names
 * @params: as for blm_create(); without `replace`
 *
 * All filters appear together or none does, even if the process is killed or the power fails. They
 * have one template, and so the same seeds and the same secret: they combine. The call opens no
 * filter. It syncs all files together, which also writes back what others wrote to that file
 * system. If the process is killed, its files stay without a name until blm_store_verify() with
 * BLM_VERIFY_REPAIR deletes them.
 * Processes: a SIGHUP, SIGINT, SIGQUIT or SIGTERM that would end the program ends this call early.
 * The call first deletes all that it made; then the signal ends the program.
 * Return: 0, or a negative errno: -EEXIST before anything is made; -EINVAL for a name that is given
 * twice, or for `replace`; -E2BIG for too many filters; and as blm_create().
 */
BLM_API int blm_create_many(struct blm_store *store, const char *const *names, size_t count,
			    const struct blm_params *params);

/**
 * blm_open_keyed() - open a keyed filter with its secret; otherwise as blm_open()
 * @secret: BLM_SECRET_BYTES bytes
 *
 * Return: 0, or a negative errno: -ENOKEY if it is the secret of another filter, and as blm_open().
 */
BLM_API int blm_open_keyed(struct blm_filter **ret, struct blm_store *store, const char *name,
			   unsigned flags, const uint8_t *secret);

/** enum blm_opened - what blm_open_or_create() found */
enum blm_opened {
	BLM_OPENED  = 0,	/* a filter with these parameters; it was opened */
	BLM_CREATED = 1,	/* no filter; one was made */
	BLM_DIFFERS = 2,	/* a filter with other parameters; it was opened */
};

/**
 * blm_open_or_create() - open a filter for writing, or make it if there is none
 * @params: as for blm_create(); `replace` is ignored. If capacity and cells are 0, the call opens a
 *          filter that exists, and makes none.
 *
 * A filter that exists keeps its own parameters. If fields of params are not zero and differ from
 * them, the answer is BLM_DIFFERS. Then blm_error_message() says what the filter has and which
 * fields were not used: show that to your user as a warning. A number that would be rounded to the
 * filter's number does not differ.
 * Processes: if several processes race, one makes the filter and the others open it.
 * Return: one of enum blm_opened; or a negative errno, as blm_open() and blm_create().
 */
BLM_API int blm_open_or_create(struct blm_filter **ret, struct blm_store *store, const char *name,
			       const struct blm_params *params);

/** struct blm_build_options - how to build; zero means default */
struct blm_build_options {
	/*
	 * The number of threads that can add at the same time, 1 to 1024; 0: 1. If more threads
	 * add, some of them wait. If keys are gathered (blm_build_begin()): the number of threads
	 * that sort the keys and build the filter.
	 */
	unsigned threads;
	/*
	 * The memory of all threads together for keys that are not in the file yet, in bytes. 0:
	 * for each thread twice the bytes of the data, at most 256 MiB; if keys are gathered,
	 * 1 GiB in all.
	 */
	uint64_t memory_bytes;
	/* make the filter read-only for good, as blm_seal() does; BLM_CAN_BUILD: always so */
	bool sealed;
	/*
	 * If keys are gathered: called when some of them were sorted, merged or built, by any
	 * thread, but never by two at the same time. `phase` is a static string. NULL: no progress
	 * is reported.
	 */
	void (*progress)(void *context, const char *phase, uint64_t done, uint64_t total);
	void *context;
};

/**
 * blm_build_begin() - begin a filter that appears when all its keys are in it
 * @ret:     the builder; give it to blm_build_finish() or blm_build_cancel()
 * @params:  as for blm_create(), with all that is said there
 * @options: NULL: as all zeros
 *
 * For many keys at once: the keys are sorted by their place, so memory is written in order. Until
 * blm_build_finish() there is no file and the name is free. A builder that dies or is cancelled
 * leaves nothing. Keys are gathered for kinds with BLM_CAN_BUILD, and for others if params have
 * neither capacity nor cells: the filter is sized for the distinct keys that it really gets.
 * bloomery-performance(7) says what memory and disk a build takes, and which data are the same for
 * the same keys.
 * Processes: after fork() the child must not touch the builder.
 * Return: 0, or as blm_create(); -EOPNOTSUPP for a kind that takes no keys; -EOPNOTSUPP without
 * capacity and cells for a hash that is computed for each probe, and for window, stable and iblt.
 */
BLM_API int blm_build_begin(struct blm_build **ret, struct blm_store *store, const char *name,
			    const struct blm_params *params,
			    const struct blm_build_options *options);

/**
 * blm_build_add_many() - add keys: best thousands in a call
 * blm_build_add_fixed() - add keys of `width` bytes each, one after the other
 * blm_build_add_hashes() - add keys that a filter of the same blm_hash_id() hashed
 *
 * Any number of threads may call these at the same time; as many as the builder was begun for work
 * at once.
 * Return: 0, or a negative errno, after which some of the keys may be in it: -ENOMEM; -EXFULL where
 * a size was given and not all keys fit; as blm_add_many() for what is no key of such a filter; for
 * hashes as blm_add_hashes().
 */
BLM_API int blm_build_add_many(struct blm_build *b, const struct blm_key *keys, size_t count);
BLM_API int blm_build_add_fixed(struct blm_build *b, const void *keys, size_t width, size_t count);
BLM_API int blm_build_add_hashes(struct blm_build *b, uint64_t hash_id,
				 const struct blm_hash *hashes, size_t count);

/**
 * blm_build_put_many() - add keys with a value for each, to kinds with BLM_CAN_BUILD and
 * BLM_CAN_GET, which take no others
 *
 * The same key may come again with the same value; with another blm_build_finish() fails with
 * -ENOTUNIQ, or one of these calls does.
 * Return: as above, or -ERANGE: one is no value of such a filter (blm_error_message() says which),
 * and none of these is in it.
 */
BLM_API int blm_build_put_many(struct blm_build *b, const struct blm_key *keys,
			       const uint64_t *values, size_t count);

/**
 * blm_build_exclude_many() - name keys that the filter is to deny, for kinds with BLM_CAN_EXCLUDE
 *
 * The filter is right about every key that was added and about every key that was excluded, without
 * an exception. A key that was both added and excluded is in the filter. The fact "others" says how
 * many keys were both (blm_fact()). An excluded key takes 16 bytes of the builder's memory; added
 * and excluded keys have half of it each.
 * Threads: as blm_build_add_many(), together with it.
 * Return: 0, or a negative errno: as blm_build_add_many(), or -EOPNOTSUPP with the kinds that can.
 */
BLM_API int blm_build_exclude_many(struct blm_build *b, const struct blm_key *keys, size_t count);

/* of blm_build_unite(): the count of keys is an estimate then */
#define BLM_KEYS_UNKNOWN UINT64_MAX

/**
 * blm_build_unite() - unite the filter that is being built with raw data of filters of the same
 * template
 * @at, @data, @bytes: as blm_data_read() gives them; every range may come in pieces, and more than
 *                     once
 * @keys: how many keys come with these data and are not counted yet; BLM_KEYS_UNKNOWN: the number
 *        is not known, so the count of the filter is estimated from its bits
 *
 * For a filter whose ranges were built by several programs or machines: it appears whole, and its
 * count is exact if no two of them held one key. The caller must ensure that the data are of the
 * same template.
 * Threads: no other call with b may be under way.
 * Return: 0, or -EINVAL past the end or with a bit that is no cell's, -EOPNOTSUPP for kinds that
 * make no unions, that have several parts, or whose keys are gathered, -EREMOTE past the range of
 * a part that is built.
 */
BLM_API int blm_build_unite(struct blm_build *b, uint64_t at, const void *data, size_t bytes,
			    uint64_t keys);

/** blm_build_hash_id() - blm_hash_id() of the filter that is being built */
BLM_API uint64_t blm_build_hash_id(const struct blm_build *b);

/**
 * blm_build_finish() - the filter appears, whole, on the disk, in one step; the builder is gone,
 * also on failure
 * @ret: NULL, or the filter, open for writing
 *
 * No other call with b may be under way. The count of keys (blm_count()) is of those that changed
 * the filter, as if they had been added one by one: exactly so with one thread; with more, a key
 * that two threads add at about the same time can count twice. Kinds with BLM_CAN_BUILD count the
 * distinct keys, or where they count keys (golomb: counted=1) all that were given.
 * Return: 0, or a negative errno, and then there is no filter: -EEXIST if the name was taken
 * meanwhile, and not params->replace.
 */
BLM_API int blm_build_finish(struct blm_build *b, struct blm_filter **ret);

/** blm_build_cancel() - forget it all; takes NULL, returns NULL */
BLM_API struct blm_build *blm_build_cancel(struct blm_build *b);

/**
 * blm_rebuild() - make a filter anew from its keys, and put it in the place of the old one in one
 * step
 * @params: as for blm_create(), zeros of kind, hash, capacity, rate and mode meaning those of the
 *          old one; also sparse and no_checkpoint stay. Options that are not named keep their
 *          values, but those that follow from the rate are found anew where that or other options
 *          change. With a format of another program kind, hash and options are what that says
 * @fill:   adds or puts the keys to `fresh`, which only it sees, from one thread or many; what it
 *          returns below 0 ends the rebuild, and the old filter stays as it is. It must not close
 *          `fresh`.
 *
 * Other processes ask the old filter and add to it until the new one is complete, and use the new
 * one from their next call on. Keys that they add before that are in the new one only if fill()
 * adds them. Name and labels stay.
 * Return: 0, or -ENOENT where there is none, -EBADMSG and others where the old one does not open
 * (it must be dropped or removed first, and another created), what fill() returned, or as
 * blm_create().
 */
BLM_API int blm_rebuild(struct blm_store *store, const char *name, const struct blm_params *params,
			int (*fill)(struct blm_filter *fresh, void *context), void *context);

/* ---- Templates and algebra ---- */

/**
 * blm_template() - make an empty filter that combines with `from`: same kind, m, k, hash, seeds or
 * key, tweak
 * @mode:  as in struct blm_params
 * @ret:   NULL, or the new filter, open for writing
 */
BLM_API int blm_template(struct blm_filter **ret, struct blm_store *store, const char *name,
			 const struct blm_filter *from, unsigned mode);

/**
 * blm_copy() - a full copy under a new uuid; keys added to `from` while it runs may or may not be
 * in it
 *
 * Claims, removals and adds that look at more cells than they change wait for the copy. A counting
 * filter takes keys meanwhile. If a copy or a union got only some counters of a key, it says so
 * and removes no key (blm_remove()). A filter with a block that lost bits since its last sync gives
 * -EUCLEAN, because the copy would deny keys without any sign of damage: blm_error_message() names
 * the block, and blm_verify() repairs it. This also holds for blm_combine(), blm_combine_into(),
 * blm_seal() and blm_store_publish().
 */
BLM_API int blm_copy(struct blm_filter **ret, struct blm_store *store, const char *name,
		     const struct blm_filter *from, unsigned mode);

/**
 * blm_same_template() - may these combine? Return: 0, or -EMEDIUMTYPE; blm_error_message() names
 * the fields that differ, with both values while there is space
 */
BLM_API int blm_same_template(const struct blm_filter *a, const struct blm_filter *b);

enum blm_op { BLM_UNION, BLM_INTERSECT };

/**
 * blm_combine() - the OR or the AND of filters of one template, as a new filter
 * @from, @count: at least one
 * @max_rate:     refuse with -ERANGE a result whose predicted rate is above it; 0: any
 * @ret_rate:     NULL, or the result's predicted rate, written also with -ERANGE
 *
 * The data of an OR equals, byte for byte, that of a filter of the same template that was given all
 * the keys (counting: each of them as often as all filters together; counters that are full stay
 * so). An AND holds every key that all of them hold; its rate is at most that of each, and at least
 * that of a filter made from the common keys. The result's `keys` is an estimate.
 */
BLM_API int blm_combine(struct blm_filter **ret, struct blm_store *store, const char *name,
			enum blm_op op,
			const struct blm_filter *const *from, size_t count, double max_rate,
			double *ret_rate);

/**
 * blm_combine_into() - the same into `into`, which is the first of the filters combined
 *
 * Any number of writers may add keys meanwhile. The call takes effect at one moment, even if other
 * processes replace or clear the filters: bloomery-durability(7) says which keys are in
 * `into` then. An OR that ends in -EUCLEAN (see blm_copy()) leaves the bits that it has set so far.
 * An OR into a counting filter keeps removals, claims, copies and syncs waiting; if its process
 * dies in the middle, the filter removes no key any more (blm_remove()). An AND makes a new file,
 * which replaces the old one in one step.
 * Return: as blm_combine(); -EBUSY where the filters are replaced again and again; an error where
 * what replaced one of `from` does not open.
 */
BLM_API int blm_combine_into(struct blm_filter *into, enum blm_op op,
			     const struct blm_filter *const *from, size_t count,
			     double max_rate, double *ret_rate);

/**
 * blm_convert() - make a filter of another kind from this one, without its keys
 * @kind: NULL: the one that it can become (struct blm_kind_info, becomes)
 * @mode: as in struct blm_params
 *
 * What becomes what: counting and approximator become classic, with the same m, k, hash and seeds:
 * the very filter that the keys which are in it now would have made (counting: where no counter is
 * full). Keys added to `from` while it runs may or may not be in it.
 * Return: 0, or -EOPNOTSUPP where that takes the keys: blm_error_message() says what becomes what.
 * -EEXIST if the name is taken.
 */
BLM_API int blm_convert(struct blm_filter **ret, struct blm_store *store, const char *name,
			const struct blm_filter *from, const char *kind,
			unsigned mode);

/**
 * blm_fold() - make a filter with 1/by of the cells from a larger one, without its keys
 * @by:   divides the number of its blocks: of cells / 256 in a split-block filter, of cells / 512
 * in a blocked one
 * @mode: as in struct blm_params
 *
 * The data are, bit for bit, those of a filter of the smaller size that was given the same keys; so
 * a filter that was made too large, because the number of keys was not known, can be folded to what
 * they need. Its capacity is 1/by of the larger one's. Keys added to `from` while it runs may or
 * may not be in it.
 * Return: 0, or -EINVAL where `by` does not divide the blocks, -EOPNOTSUPP for a kind that does not
 * fold, -EEXIST.
 */
BLM_API int blm_fold(struct blm_filter **ret, struct blm_store *store, const char *name,
		     const struct blm_filter *from, uint64_t by, unsigned mode);

/**
 * blm_advance() - put level i of each of `from` into level i + 1 of `into`, for kinds with levels
 * (BLM_CAN_ADVANCE)
 *
 * `into` keeps its keys; the last level of the others is dropped. Other processes may add to all of
 * them meanwhile. Its count of keys becomes an estimate. All must be of one template.
 * Return: 0, or -EMEDIUMTYPE and others as blm_combine_into().
 */
BLM_API int blm_advance(struct blm_filter *into, const struct blm_filter *const *from,
			size_t count);

/**
 * blm_merge() - make one filter of several that were built, without their keys (BLM_CAN_MERGE)
 * @from, @count: at least one, of one template: a golomb filter's range is in it, so build them
 * with the same capacity, rate and seed
 * @mode: as in struct blm_params
 *
 * It answers as one that was built from all their keys together. (Keys of two filters that come to
 * one number count once; in those that count keys each counts.) Its capacity is the first one's;
 * with more keys than that it is wrong more often, as blm_info() says.
 * Return: 0, or as blm_create(); -EMEDIUMTYPE for others' templates, -EOPNOTSUPP for a kind that
 * takes its keys, -EUCLEAN where one of them is damaged.
 */
BLM_API int blm_merge(struct blm_filter **ret, struct blm_store *store, const char *name,
		      const struct blm_filter *const *from, size_t count,
		      unsigned mode);

/**
 * blm_update_begin() - put keys into a filter that was built, and take some out, without its other
 * keys (BLM_CAN_MERGE), or by both its lists as they are now (BLM_CAN_EXCLUDE)
 * @ret:     give it to blm_update_finish() or blm_update_cancel()
 * @secret:  of a keyed filter (BLM_SECRET_BYTES), as for blm_open_keyed(); NULL: it is read from
 * the store, or from NAME.key
 * @options: NULL: as all zeros; threads, memory_bytes and progress are looked at
 *
 * Keys are gathered as by blm_build_begin(); when all are there, a new file takes the place of the
 * old one, in one step. A key goes only from a filter that was built to count them (golomb:
 * counted=1): it has a key as often as it was given. Kinds with BLM_CAN_EXCLUDE take all keys that
 * the filter is to have, by blm_update_add_many(), and all that it is to deny, by
 * blm_update_remove_many(); see bloomery-update(1).
 * Threads: any number may give keys at the same time.
 * Processes: after fork() the child must not touch the update.
 * Return: 0, or as blm_open(); -EOPNOTSUPP for a kind that takes all its keys.
 */
BLM_API int blm_update_begin(struct blm_update **ret, struct blm_store *store, const char *name,
			     const uint8_t *secret,
			     const struct blm_build_options *options);

/** blm_update_add_many(), blm_update_remove_many() - keys to put in, keys to take out */
BLM_API int blm_update_add_many(struct blm_update *u, const struct blm_key *keys, size_t count);
BLM_API int blm_update_remove_many(struct blm_update *u, const struct blm_key *keys, size_t count);

/**
 * blm_update_finish() - put the new file in the place of the old one; no other call with u may be
 * under way. u is gone, also on failure
 *
 * Return: 0, or a negative errno, and then the filter is as it was: -EOPNOTSUPP where keys are to
 * go from one that does not count them, -EUCLEAN where it is damaged, -ESTALE where another filter
 * with another hash or other options has taken the name. Kinds with BLM_CAN_EXCLUDE: -EINVAL where
 * fewer of the named keys are in the filter than it has, -EMLINK after too many updates. False
 * positives count too, so a key that was not named can go unseen; its answer may then be wrong.
 */
BLM_API int blm_update_finish(struct blm_update *u);

/** blm_update_cancel() - the filter stays as it is; takes NULL, returns NULL */
BLM_API struct blm_update *blm_update_cancel(struct blm_update *u);

/**
 * blm_delta_make() - what updates added to a filter, for those who have it as it was
 * (BLM_CAN_EXCLUDE)
 * @f:   the filter now
 * @old: the filter before one or more updates by blm_update_begin(), or a copy of it
 * @ret: the delta; give it to blm_free()
 *
 * A delta has 112 bytes and the bytes that the updates added. It is known by the data of both
 * states and by blm_hash_id(), not by uuids, so it fits every copy of @old.
 * Return: 0, -EOPNOTSUPP for other kinds, -EMEDIUMTYPE if f is no update of old, -EUCLEAN if one is
 * damaged, -ENOMEM.
 */
BLM_API int blm_delta_make(const struct blm_filter *f, const struct blm_filter *old, void **ret,
			   size_t *ret_len);

/**
 * blm_delta_apply() - bring a filter up to date by a delta, in one step
 * @secret: of a keyed filter, as for blm_open_keyed(); NULL: it is read from the store, or from
 * NAME.key
 *
 * The file has then the data that blm_delta_make() got as @f, which is checked by a hash. A delta
 * does not name its keys: what the new data say yes to goes off the filter's list of false
 * positives (blm_allowlist_add()).
 * Return: 1, or 0 if the filter has these data already; or a negative errno, and then the filter is
 * as it was: -EBADMSG for bytes that are no whole delta, -ESTALE if it was made for another state
 * of the filter, -EOPNOTSUPP for other kinds, -EUCLEAN if the filter is damaged, and as blm_open().
 */
BLM_API int blm_delta_apply(struct blm_store *store, const char *name, const uint8_t *secret,
			    const void *bytes, size_t len);

/* ---- What a filter says of itself ---- */

/** struct blm_info - what a filter is; strings are static or inside */
struct blm_info {
	/* sizeof(struct blm_info); set by the caller, and left as it is */
	size_t size BLM_SIZE(struct blm_info);
	/* of the file: "bloomery", or that of a foreign file opened as it is */
	const char *format;
	/* the format of the file that it was imported from; NULL: it was made here */
	const char *origin;
	char name[BLM_NAME_MAX + 1];	/* in the store; empty for a path */
	/* of its file, as far as it fits; it changes when the filter is replaced */
	char path[BLM_PATH_MAX];
	const char *kind, *hash;
	/*
	 * as in struct blm_params, "own" if it is ours; the order of bits in their bytes, in words
	 */
	const char *scheme, *bit_order;
	/* all options of the kind, as in struct blm_params; spans of time in seconds */
	char options[BLM_OPTIONS_MAX];
	const char *caveat;		/* of the kind, as in struct blm_kind_info */
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
	double rate_at_keys;		/* the same with as many keys as are in it */
	/*
	 * held: adds and claims that changed the filter, less removals; from the catalog: at the
	 * last sync
	 */
	uint64_t keys;
	/* the filter is a union or an intersection, so keys is an estimate */
	bool keys_estimated;
	uint8_t template_id[16], uuid[16];
	uint64_t created;		/* nanoseconds since 1970, UTC */
	uint64_t bytes, data_bytes;	/* of the file; of the parts in it */
	/*
	 * of a checkpoint image of the data, for power cuts; 0: this kind needs none, or it does
	 * without
	 */
	uint64_t checkpoint_bytes;
	/*
	 * what to know of this file, or of its file system; NULL: nothing; static
	 */
	const char *caution;
	bool sparse, sealed;
	/* another program's file, opened as it is: its keys were not counted */
	bool foreign;
	bool dirty;			/* changed since the last sync; from the catalog: false */
	/*
	 * the catalog of its store knows of a later sync than its file: an older copy of that was
	 * put back; until the next sync
	 */
	bool older;
	/* then: what the catalog has in the place of `keys` and `synced`; else 0 */
	uint64_t catalog_keys, catalog_synced;
	/*
	 * a write-back since the last sync failed, and no sync is under way: keys added since
	 * `synced` may not be on the disk
	 */
	bool suspect;
	/*
	 * of another program's file that states none, or none that can be: half of the bits are set
	 * then
	 */
	bool capacity_computed;
	bool rate_computed;		/* as above: the predicted rate at capacity */
	/*
	 * its kind changes cells both ways and it is not sealed: blm_verify() cannot see damage in
	 * its data
	 */
	bool unchecked;
	/*
	 * time of the last sync, nanoseconds since 1970; 0: none since it was made, when it was
	 * written durably
	 */
	uint64_t synced;
	/*
	 * that of changes made now, from 1; each sync begins one. From the catalog: 0, as the next
	 * two
	 */
	uint64_t epoch;
	uint64_t synced_epoch;		/* all changes up to the end of this one are on the disk */
	/*
	 * suspect: those after synced_epoch, up to the end of this one, may not be; 0: its sync
	 * records are damaged, so any; else 0
	 */
	uint64_t suspect_epoch;
	unsigned can;			/* of enum blm_can */
	/*
	 * how many blocks the last blm_sync() of this handle found that have lost bits; from the
	 * catalog: 0
	 */
	unsigned lost_blocks;
	/* the file was not read: keys, bytes and data_bytes are those of the last sync */
	bool from_catalog;
	char labels[BLM_LABELS_MAX];	/* key=value lines, each with its newline */
	/* which part, from 0, of how many it is, see blm_part_owners(); 0 parts: a whole filter */
	uint64_t split_part, split_parts;
};

/* An empty one with its size set */
#ifdef __cplusplus
#define BLM_INFO {}
#else
#define BLM_INFO (struct blm_info){ .size = sizeof(struct blm_info) }
#endif

/**
 * blm_info() - what a filter is; reads the header only
 *
 * In a forked child it may open the file, to know whether another process syncs it; where it
 * cannot, a filter that is synced right now is `suspect`.
 * Return: 0, or -ENOMEM
 */
BLM_API int blm_info(const struct blm_filter *f, struct blm_info *ret);

/**
 * struct blm_fact - something to know of a filter that only its kind can tell: a stage, a slot, how
 * many cells are full
 */
struct blm_fact {
	const char *name;	/* static */
	double value;
	char text[160];		/* the value in words */
};

/** blm_fact() - the i-th of them, from 0; may read all data. Return: 0, or -ENOENT past the last */
BLM_API int blm_fact(const struct blm_filter *f, size_t i, struct blm_fact *ret);

/**
 * blm_count() - how many keys the filter holds: adds that changed it, however long ago and by whom
 * @ret_estimated: set to false if the keys were counted. Set to true if they were not (after a
 *                 union, an intersection, or an import of a file without a count). Then all bits
 *                 are read, and the number is estimated from them, as in blm_estimate(). NULL:
 *                 fail with -EDOM instead of an estimate.
 *
 * Two adds of one key that race can both count. A process that is killed can leave its last batch
 * uncounted. A power cut can keep keys that were added after the last sync without their count, or
 * keep their count without the keys, which count again when they are added again. The count is
 * never below that of the last sync.
 */
BLM_API int blm_count(const struct blm_filter *f, uint64_t *ret, bool *ret_estimated);

/**
 * blm_data_read() - copy raw data out: `bytes` bytes from offset `at` on
 *
 * The data of all parts, one after the other, as format-spec.md says for the kind; of classic
 * filters bit j of m is bit j % 8 of byte j / 8. Its size is data_bytes of struct blm_info. The
 * bits past m are 0. A key that another caller adds at the same time may or may not be in it.
 * Return: 0, or -EINVAL past its end.
 */
BLM_API int blm_data_read(const struct blm_filter *f, uint64_t at, void *ret, size_t bytes);

/**
 * blm_data_map() - the raw data where they are mapped, to be read without a copy
 * @ret, @ret_bytes: what blm_data_read() copies out, as long as you do not give it back
 *
 * Keys that are added later appear in it. If another file takes the place of the filter's file, as
 * by blm_clear() or a rebuild, the old data stay here as they were. Write nothing into it. Give it
 * back by blm_data_unmap() before you close the filter; closing ends it.
 * Return: 0, or -EOPNOTSUPP for a filter of several parts, whose data are not in one piece.
 */
BLM_API int blm_data_map(struct blm_filter *f, const void **ret, size_t *ret_bytes);

/**
 * blm_data_unmap() - give back what blm_data_map() returned, once for each call
 * @data: its *ret; anything else is ignored
 */
BLM_API void blm_data_unmap(struct blm_filter *f, const void *data);

/**
 * blm_data_unite() - unite with raw data of a filter of the same template, by atomic operations,
 * while any number of writers add keys
 *
 * The count of keys becomes an estimate, brought up to date with the piece that has the last cell.
 * Where cells are more than bits the pieces are whole words of 8 bytes; that all pieces come, each
 * once, is the caller's care.
 * Return: 0, or -EINVAL past the end or with a bit that is no cell's, -EOPNOTSUPP for kinds that
 * make no unions.
 */
BLM_API int blm_data_unite(struct blm_filter *f, uint64_t at, const void *data, size_t bytes);

/* ---- Estimates ---- */

/** struct blm_value - a value with its standard error */
struct blm_value {
	double value, error;
};

/**
 * struct blm_estimate - what the bits of a filter say
 *
 * `keys` by Swamidass and Baldi, J. Chem. Inf. Model. 47(3), 2007: -(m/k) ln(1 - X/m) for X of m
 * bits set; a full filter has no estimate and says saturated. Where a sample has not a single bit
 * set (ones is 0), the errors are upper bounds of the values, exceeded with a probability of 5 %.
 */
struct blm_estimate {
	struct blm_value fill;	/* share of the cells that are set */
	struct blm_value rate;	/* false positives, from the bits as they are */
	struct blm_value keys;	/* distinct keys; meaningless if saturated */
	bool saturated;
	uint64_t sampled_bytes;	/* of data_bytes */
	uint64_t ones;		/* cells that are set, in what was sampled */
};

/**
 * blm_estimate() - how full, how wrong, how many
 * @exact: false reads a sample of at most 16 MiB, spread evenly, and the errors say so; true reads
 * all
 * Return: 0, or -EOPNOTSUPP.
 */
BLM_API int blm_estimate(const struct blm_filter *f, bool exact, struct blm_estimate *ret);

/**
 * struct blm_comparison - two filters of one template; values are estimates of numbers of keys, or
 * shares of them
 */
struct blm_comparison {
	/* keys in A, in B, in their union, in their intersection */
	struct blm_value a, b, both, common;
	struct blm_value jaccard;		/* common / both */
	/* of the bits: |A AND B| / |A OR B|; counted, not estimated */
	struct blm_value tanimoto;
	/*
	 * keys in one of them alone: both - common; of kinds with counters by those, which tell
	 * better
	 */
	struct blm_value difference;
	/* one of them, or the OR, is full: the values are lower bounds */
	bool saturated;
};

/**
 * blm_compare() - sizes and overlap; reads all of both
 *
 * The intersection comes from the three counts |A|, |B|, |A or B|, never from the bits of the AND,
 * which say too many. So does the difference, but where cells are counters (counting;
 * blm_difference_estimate() has iblt, too): from the sum of the squares of what they differ by,
 * with a standard error of difference * sqrt(2 / cells). That is of keys as they were added: one
 * that was added twice to A and once to B differs once.
 */
BLM_API int blm_compare(const struct blm_filter *a, const struct blm_filter *b,
			struct blm_comparison *ret);

/**
 * blm_difference_estimate() - about how many keys are in one of two filters alone; reads all of
 * both
 *
 * As by blm_compare(), and for two iblt by their counts, with a standard error of difference *
 * sqrt(2 / cells). This works also if far more keys differ than they can list, so a small iblt
 * shows how large another one has to be.
 * Return: 0, or -EMEDIUMTYPE, -EOPNOTSUPP.
 */
BLM_API int blm_difference_estimate(const struct blm_filter *a, const struct blm_filter *b,
				    struct blm_value *ret);

/**
 * blm_difference_list() - the keys that are in one of two filters of one template alone, of kinds
 * that hold keys (BLM_CAN_LIST)
 * @each: called with every such key, once, in the order of their bytes, after all were found; key
 *        is valid for this call only. in_b: it is in b, else in a. A value other than 0 ends the
 *        listing.
 *
 * Lists exactly the keys that are in one filter only, if each key was added once. The chance of a
 * wrong key is 2^-64 per cell. Takes memory for the cells of one of them and for the keys that
 * differ. Writers of either wait until both are read.
 * Return: 0, what each() ended it with, or a negative errno: -EXFULL where more keys differ than
 * such a table is for, with about how many those are in blm_error_message(), and then none is
 * listed; -EUCLEAN where that comes of damage to a sealed one; -EMEDIUMTYPE where the templates
 * differ; -EOPNOTSUPP.
 */
BLM_API int blm_difference_list(const struct blm_filter *a, const struct blm_filter *b,
			    int (*each)(void *context, const void *key, size_t len, bool in_b),
			    void *context);

/* ---- Stores ---- */

/** enum blm_store_flags */
enum blm_store_flags {
	/* make the directory and an empty catalog where there is none */
	BLM_STORE_CREATE = 1 << 0,
	/* change nothing; works on a read-only mount and as another user */
	BLM_STORE_READ   = 1 << 1,
	/*
	 * open it also where every user of the machine may change it, its catalog, its keys or a
	 * filter in it
	 */
	BLM_STORE_ANYONE = 1 << 2,
};

/**
 * blm_store_open() - open a directory of filters with its catalog
 *
 * A process opens one directory only once, however often this is called. bloomery(5) says which
 * names a store takes: they are keys in the catalog and never become paths. A store that every user
 * may write to, where anyone can put another's filter in the place of yours, is refused with -EPERM
 * unless flags say BLM_STORE_ANYONE. So is, when it is opened or made, a filter in it whose file
 * every user may write to.
 * Return: 0, or -ENOENT where there is no store, -EUCLEAN where the catalog is damaged
 * (blm_store_verify() mends it), -EACCES or -ENOLCK where this user cannot open the catalog's lock
 * (readers hold it too), and the mount is not read-only.
 */
BLM_API int blm_store_open(struct blm_store **ret, const char *dir, unsigned flags);

/** blm_store_close() - its filters may stay open. Returns NULL */
BLM_API struct blm_store *blm_store_close(struct blm_store *store);

/** blm_store_dir() - the directory, as it was given; valid until the store is closed */
BLM_API const char *blm_store_dir(const struct blm_store *store);

/**
 * blm_store_find() - what the catalog knows of a name, without opening its file. Return: 0,
 * -ENOENT, -EUCLEAN
 */
BLM_API int blm_store_find(struct blm_store *store, const char *name, struct blm_info *ret);

/**
 * blm_store_refresh() - bring what the catalog knows up to date: as of now, not of the last sync
 * @info: of blm_store_find() or blm_store_list()
 *
 * Reads the header of the filter's file, 20 KiB, and nothing else. It maps nothing and takes no
 * lock, so a listing may call it for thousands of filters. It writes keys, keys_estimated,
 * rate_at_keys, bytes, data_bytes, synced, dirty, epoch, synced_epoch and from_catalog.
 * Return: 0, or a negative errno and info as it was: -ENOENT where the file is gone or was
 * replaced, -EBADMSG, -ENODATA, -EACCES.
 */
BLM_API int blm_store_refresh(struct blm_store *store, struct blm_info *info);

/**
 * blm_store_list() - every filter in the catalog, in the order of the bytes of their names
 * @pattern: NULL, or as for fnmatch(3)
 * @each:    called with what the catalog knows, no lock held, no file opened; a value other than 0
 *           ends the listing. A damaged record comes with err (-EUCLEAN) and only its name. The
 *           struct is the library's: only info->size bytes of it are there.
 * Return: 0, what each() ended it with, or a negative errno.
 */
BLM_API int blm_store_list(struct blm_store *store, const char *pattern,
			   int (*each)(void *context, const struct blm_info *info, int err),
			   void *context);

/**
 * blm_store_rename() - one step; -EEXIST if the new name is taken, -ENOENT if the old one is not,
 * -EPERM where every user may write to its file and the store was opened without BLM_STORE_ANYONE
 *
 * Handles that are open stay with the filter, whatever its name. When it is replaced or dropped
 * later under its new name, a handle opened under the old one answers -ESTALE: open it again. If
 * another filter has the old name by then, the handle uses that filter, because a handle follows
 * the name that it was opened by.
 */
BLM_API int blm_store_rename(struct blm_store *store, const char *from, const char *to);

/**
 * blm_store_drop() - take the filter out of the catalog and delete its file. Handles of it answer
 * -ESTALE to changes
 *
 * A keyed filter's secret, keys/ID, goes with the last filter of the store that has it (also where
 * one with another secret takes its place). If you exported the filter, or copied its file past the
 * library, you need a copy of the secret. A drop that is killed can leave it. One whose file is
 * lost or damaged is dropped, too.
 * Return: 0, or a negative errno: -EUCLEAN where the record, or the catalog, is damaged, so that
 * the file that belongs to it is not known; repair the store first.
 */
BLM_API int blm_store_drop(struct blm_store *store, const char *name);

/**
 * blm_store_publish() - put a sealed copy of a filter into the store under a name, in one step for
 * everyone else
 * @mode:  as in struct blm_params
 * @flags: BLM_PUBLISH_WRITABLE: not sealed, so that keys can go on being added to it
 *
 * The copy is of `from` as it was at one moment while the name was locked, even if `from` is
 * replaced during the call. Replaces what had the name before: readers go over to the new file at
 * their next call, and so do writers, whose calls under way are done again on it; once it is sealed
 * these fail with -EROFS, as for blm_seal().
 */
BLM_API int blm_store_publish(struct blm_store *store, const char *name,
			      const struct blm_filter *from, unsigned mode, unsigned flags);
enum { BLM_PUBLISH_WRITABLE = 1 };

/**
 * blm_store_label() - set a label of a filter; value NULL takes it away. Keys without '=', both
 * without newlines
 */
BLM_API int blm_store_label(struct blm_store *store, const char *name, const char *key,
			    const char *value);

/* ---- Lists of false positives ---- */

/* The longest key that a list of false positives takes, in bytes. */
enum { BLM_ALLOW_KEY_MAX = 64 << 10 };

/**
 * blm_allowlist_add(), blm_allowlist_remove() - put known false positives of a filter on a list, or
 * take them off
 *
 * The list is kept in the catalog of the filter's store, as exact keys. Only keys that the filter
 * may contain are put on it. A caller that lists a key asserts that the key was never added, which
 * the filter cannot check. A listed key that is added or claimed later leaves the list before that
 * call returns, and counts as new. While there is a list, adding and claiming by hashes fail with
 * -EMEDIUMTYPE. bloomery-allow(1) says what takes keys off, and which lists a new file gets.
 * Return: how many were put on or taken off, or
 *   -EOPNOTSUPP   the filter belongs to no store
 *   -EBADF        opened for reading only
 *   -E2BIG        a key is longer than BLM_ALLOW_KEY_MAX
 *   -ENOENT, -EBUSY, -EUCLEAN, ...  as looking up a name; some keys may be on, or off
 * Threads, processes: any number. Putting keys on the list waits for claims that are under way, and
 * holds off claims and replacements.
 */
BLM_API int64_t blm_allowlist_add(struct blm_filter *f, const struct blm_key *keys, size_t count);
BLM_API int64_t blm_allowlist_remove(struct blm_filter *f, const struct blm_key *keys,
				     size_t count);

/**
 * blm_allowlist_filter() - after blm_contains_many(): clear the bits of keys that are on the
 * filter's list
 *
 * Ask the filter first. A filter of no store has no list. A damaged entry is ignored.
 * Return: how many bits were cleared, or a negative errno, as looking up a name; some may be
 * cleared then.
 */
BLM_API int64_t blm_allowlist_filter(const struct blm_filter *f, const struct blm_key *keys,
				     size_t count, uint64_t *bits);

/**
 * blm_allowlist_list() - give every key on the filter's list to a function, in no particular order
 * @each: called for each key, which is valid until each() returns. A negative value that it returns
 *        ends the call. It must not close the filter or its store.
 *
 * The call looks up one key after the other. So keys that others put on the list or take off it
 * meanwhile may be given to each() or not.
 * Return: the number of keys; or the negative value that each() returned; or a negative errno:
 * -EOPNOTSUPP if the filter belongs to no store.
 */
BLM_API int64_t blm_allowlist_list(const struct blm_filter *f, int (*each)(void *context,
	const struct blm_key *key), void *context);

/* ---- Exchange: other programs' files, and filters as text ---- */

/** struct blm_format_info - a file format; the strings are static, but for `hashes` */
struct blm_format_info {
	const char *name, *summary;
	/*
	 * The names of the hashes that its files can have, with commas; NULL: all. Valid until this
	 * thread's next call of blm_format_list().
	 */
	const char *hashes;
	const char *text;	/* its text form, like "base64(zstd(file))" */
	/* blm_open() for reading maps its files as they are; else it reads them into memory */
	bool in_place;
	bool read_only;		/* no export, because no program would read such a file */
	bool planned;		/* blm_params.format makes filters for it */
	const char *limits;	/* what it cannot hold, in one line; NULL: nothing to mention */
	/*
	 * Its files state for how many keys they were made. For other formats blm_info.capacity and
	 * blm_info.rate are those at which half of the bits are set.
	 */
	bool states;
	/* a filter that is made for it needs blm_build_begin(), not blm_create() */
	bool built;
};

/**
 * blm_format_list() - describe a format of files
 * @i: the number of the format, from 0; the native format is the first
 *
 * Return: 0, or -ENOENT past the last format.
 */
BLM_API int blm_format_list(size_t i, struct blm_format_info *ret);

/** struct blm_exchange - how to read or write another form of a filter; zero means default */
struct blm_exchange {
	size_t size BLM_SIZE(struct blm_exchange);	/* sizeof(struct blm_exchange) */
	/*
	 * The name of a format (blm_format_list()). NULL: an import finds the format by the file's
	 * first bytes; an export takes the format that the filter was imported from, else
	 * "bloomery".
	 */
	const char *format;
	bool base64;		/* the text form of the format, blm_format_info.text */

	/* Reading: */
	/*
	 * Refuse (-EINVAL) cells, probes and record if the format has no use for them. Refuse a
	 * hash if the file names another hash, or if the file's numbers rule it out and no known
	 * keys are given. Without strict, such cells, probes and records are ignored. A hash that
	 * the file names is taken; if it names none, the hash that is given here.
	 */
	bool strict;
	/*
	 * The name of the hash, if files of the format do not name it. NULL: the hash that the
	 * file's numbers fit, if there is only one.
	 */
	const char *hash;
	/* keys that are surely in the filter; a hash with which one is not found is ruled out */
	const struct blm_key *known;
	size_t known_count;
	/*
	 * The seeds of the hash, if files of the format do not have them. For bip158: the first 16
	 * bytes of the block's hash as two little-endian words, in the order of the file, not as
	 * printed.
	 */
	const uint64_t *seeds;
	uint32_t seed_count;
	uint64_t cells;		/* m, if files of the format do not have it; 0: not given */
	uint64_t probes;	/* k, if files of the format do not have it; 0: not given */
	/*
	 * Which filter of a file that can have several. fps: an id. leveldb: the number of the
	 * filter, or @ and the first byte of a data block. NULL: the only filter.
	 */
	const char *record;
	/*
	 * Refuse a file that unpacked has more bytes (-EFBIG). 0: a plain file may have any size;
	 * base64, gzip and an input of unknown size at most 1 GiB.
	 */
	uint64_t max_bytes;
	/*
	 * The permission bits of the new filter, as in struct blm_params, or of the file that
	 * blm_export_file() makes.
	 */
	unsigned mode;
	bool allocate;		/* allocate all space now, even if most of the filter is empty */
	/*
	 * Accept filters of bip37 and neo that have no bits or no hash functions. Such a filter
	 * holds every key. Without this member, such a file is refused.
	 */
	bool everything;
	/*
	 * The secret of a keyed filter, BLM_SECRET_BYTES bytes. NULL: it is read from the file in
	 * which blm_create() would keep the secret of the new filter.
	 */
	const uint8_t *secret;
	/*
	 * A column of a Parquet file: the parts of its name, joined by dots. NULL: the only column
	 * with a Bloom filter.
	 */
	const char *column;
	/*
	 * A row group of a Parquet file: its number, which begins at 0, plus 1. 0: the only row
	 * group with a Bloom filter.
	 */
	uint64_t row_group;

	/* Writing: */
	/* write a new header; else an imported filter gets the header that it was imported with */
	bool fresh;
	/* blm_export_file() may overwrite a Bloomery filter; else only files of other types */
	bool replace;
	/* parquet: refuse a number of blocks that is no power of two; some readers need one */
	bool power_of_two;
	/*
	 * redisbloom, redisbloom-cf: write the commands that load the filter into this key of a
	 * server (redis-cli --pipe), instead of the file.
	 */
	const char *redis_key;
};

/*
 * Exchange options with their size set: in C BLM_EXCHANGE(.format = "guava"), in C++
 * BLM_EXCHANGE() and then each member.
 */
#ifdef __cplusplus
#define BLM_EXCHANGE() {}
#else
#define BLM_EXCHANGE(...) (struct blm_exchange){ .size = sizeof(struct blm_exchange), __VA_ARGS__ }
#endif

/**
 * blm_import() - make a new filter from the bytes of a file of some format
 * @ret:  the filter, open for writing
 * @how:  NULL: as all zeros
 * @read: reads at most `bytes` bytes into buffer. Returns their number, 0 at the end, or a negative
 *        errno, which becomes the answer of the call.
 *
 * The bits stay as they are. So the filter answers as in its own program, also for false positives.
 * It combines with filters of the same parameters, and exports to the same bytes. If the format
 * stores bits as this library does, the input is a stream and takes a few MiB of memory; else it is
 * read into memory first. Unless how->allocate is set, a filter that is mostly empty is made sparse
 * (blm_params.sparse). The filter appears whole or not at all.
 * Return: 0, or a negative errno: -EBADMSG if a field or a layer is wrong; -ENODATA if the input
 * ends too early; -EFBIG above max_bytes; -ENOTUNIQ if several hashes fit, or if the input has
 * several filters (blm_error_message() lists them); -ENOENT if it lacks the named filter; -ESPIPE
 * if the format is read from its end (use blm_import_file()); -EEXIST.
 */
BLM_API int blm_import(struct blm_filter **ret, struct blm_store *store, const char *name,
		       const struct blm_exchange *how,
		       int64_t (*read)(void *context, void *buffer, size_t bytes), void *context);

/** blm_import_file() - make a new filter from a file, which is only read; else as blm_import() */
BLM_API int blm_import_file(struct blm_filter **ret, struct blm_store *store, const char *name,
			    const struct blm_exchange *how,
			    const char *path);

/** blm_import_bytes() - make a new filter from bytes in memory; else as blm_import() */
BLM_API int blm_import_bytes(struct blm_filter **ret, struct blm_store *store, const char *name,
			     const struct blm_exchange *how,
			     const void *bytes, size_t len);

/**
 * blm_export() - a filter as bytes of a format
 * @write: takes all `bytes` bytes and returns 0, or a negative errno, which is passed on
 *
 * The file is read as a stream, and holes are read as zeros. Keys that others add meanwhile may or
 * may not be in the output. If the kind moves or removes keys, and the filter is not sealed, a copy
 * in memory is exported. The same filter gives the same bytes. The secret of a keyed filter is not
 * in the output (see blm_store_drop()).
 * Return: 0, or -EOPNOTSUPP where the format has no room for such a filter (blm_error_message()
 * says for which it has), or -EUCLEAN: it is damaged, which blm_verify() repairs where that can be
 * done; part of it may be written.
 */
BLM_API int blm_export(const struct blm_filter *f, const struct blm_exchange *how,
		       int (*write)(void *context, const void *bytes, size_t count), void *context);

/**
 * blm_export_file() - to a file, which appears whole, in the place of one that had the name;
 * -EEXIST if that is a filter
 */
BLM_API int blm_export_file(const struct blm_filter *f, const struct blm_exchange *how,
			    const char *path);

/** blm_export_bytes() - to memory: *ret is the caller's, to be given to blm_free() */
BLM_API int blm_export_bytes(const struct blm_filter *f, const struct blm_exchange *how, void **ret,
			     size_t *ret_len);

/** blm_free() - what blm_export_bytes() gave; takes NULL */
BLM_API void blm_free(void *bytes);

/**
 * blm_open_foreign() - open a file of another program's format for reading
 * @how: format, strict, hash, known, seeds, cells, probes, record, everything, max_bytes, column
 * and row_group are looked at
 *
 * Where its bits lie as ours do (struct blm_format_info, in_place) the file is mapped as it is;
 * else it is read into memory. blm_open() does the same with `how` NULL where a file is of a known
 * format and opened for reading. The handle can be asked, compared, copied and combined like any
 * other, but does not notice when the file is replaced.
 * Return: as blm_import().
 */
BLM_API int blm_open_foreign(struct blm_filter **ret, const char *path,
			     const struct blm_exchange *how);

/* ---- Checking ---- */

/** struct blm_finding - one thing that is wrong; the strings are valid during the call only */
struct blm_finding {
	const char *file;	/* path */
	const char *what;	/* in words */
	bool repaired;
	/*
	 * keys were lost that no repair brings back: what the repair took away is in `what`
	 */
	bool lost;
	/*
	 * of the filter in the store whose file that is; NULL: not known, or of a file that was
	 * named itself
	 */
	const char *name;
};

/** enum blm_verify_flags */
enum blm_verify_flags {
	BLM_VERIFY_REPAIR   = 1 << 0,
	BLM_VERIFY_DISTRUST = 1 << 1,	/* do not open the catalog: it is known to be damaged */
	/*
	 * that every user may write to the store, or to a filter's file, is meant, and nothing
	 * wrong
	 */
	BLM_VERIFY_ANYONE   = 1 << 2,
};

/**
 * blm_verify() - check all of one filter: its header, its records, and its data as far as possible
 * @flags:   BLM_VERIFY_REPAIR: set all bits of damaged blocks, in the kinds that only set bits, so
 *           that no key is denied, and more are taken for there; and for a path remove what a
 *           process left in that folder that died while it replaced the file
 * @finding: called for each thing that is wrong, and with the rate that a repair results in
 *
 * In kinds whose bits are only set, each block is checked that was synced after its last change,
 * and no bit may be set where none can be. In other kinds damage to the data is found only if the
 * filter is sealed (struct blm_info, unchecked). Kinds with BLM_CAN_BUILD are always sealed, and
 * never repaired. Others may add and sync in the meantime. bloomery-verify(1) says which damage is
 * found in which kind.
 * Return: how many things are wrong and not repaired, or a negative errno.
 */
BLM_API int blm_verify(struct blm_store *store, const char *name, unsigned flags,
		       void (*finding)(void *context, const struct blm_finding *found),
		       void *context);

/**
 * blm_store_verify() - check a whole store: the catalog, every file, and each against the other
 * @flags: BLM_VERIFY_REPAIR: build the catalog anew from the files, names included, where it is
 *         damaged or lost or disagrees; delete what a dead process left behind; give files of
 *         filters that the catalog knows the name that their header says, and secrets that a
 *         filter needs the name of their id; fill damaged blocks as blm_verify() does. Then it
 *         looks again, and what it finds is left.
 *
 * bloomery-verify(1) says what a repair deletes and which names it gives: it deletes no file that
 * can hold keys. One repair at a time: -EBUSY after five seconds. A store that every user may write
 * to is reported, and is not repaired: -EPERM. If a damaged page makes LMDB crash in spite of the
 * checks before, only another process can go on: `bloomery verify` calls this function in a process
 * of its own, and again with BLM_VERIFY_DISTRUST after a crash.
 */
BLM_API int blm_store_verify(const char *dir, unsigned flags,
			     void (*finding)(void *context, const struct blm_finding *found),
			     void *context);

/* ---- Banks: one file of many filters or fingerprints of one template ---- */

/**
 * A bank is a file that holds the data of many filters. It appears whole, and never changes. Each
 * filter has an id, which is one line without tabs. Their kind is one with one array of bits, like
 * classic and blocked, without a secret key, or it is range. A bank of bits takes twice the data of
 * its filters, in rows of a multiple of 64 bytes, and numbers them from 0 in the order of their
 * numbers of ones (equal ones in the order in which they were added). Rows of a bank of range
 * filters have the size of its largest filter, and are in the order of their sizes.
 */
struct blm_bank;
struct blm_bank_build;

/**
 * blm_bank_begin(), blm_bank_add(), blm_bank_finish() - put a bank together in memory, write it,
 * and give it its name in one step
 * @path:    relative: as for filters
 * @replace: replace the file that is there; else -EEXIST
 * @mode:    as in struct blm_params
 *
 * blm_bank_add() reads the filter's data as they are at that moment. All filters must have the
 * template of the first one (-EMEDIUMTYPE), a kind of the above, and no secret key (-EOPNOTSUPP).
 * An add that fails adds nothing, and the caller may go on. blm_bank_finish() and blm_bank_cancel()
 * free the builder, also on failure. blm_bank_finish() fails with -ENODATA if nothing was added.
 * Threads: one at a time.
 */
BLM_API int blm_bank_begin(struct blm_bank_build **ret, const char *path, bool replace,
			   unsigned mode);
BLM_API int blm_bank_add(struct blm_bank_build *b, const struct blm_filter *f, const char *id);
BLM_API int blm_bank_finish(struct blm_bank_build *b);

/** blm_bank_cancel() - forget it all; takes NULL, returns NULL */
BLM_API struct blm_bank_build *blm_bank_cancel(struct blm_bank_build *b);

/**
 * blm_bank_add_fps() - add all the fingerprints of a file of chemfp's FPS format, each as a bitmap;
 * all or none
 * @bytes: the file
 * @display: the name of the file in messages
 *
 * The bank keeps the first such file's header, and what else a line has behind its id.
 * Return: how many there were.
 */
BLM_API int64_t blm_bank_add_fps(struct blm_bank_build *b, const void *bytes, size_t count,
				 const char *display);

/**
 * blm_bank_open() - map a bank for reading
 *
 * A handle is for any number of threads, until it is closed. One whose file is replaced meanwhile
 * goes on with the old one.
 */
BLM_API int blm_bank_open(struct blm_bank **ret, const char *path);

/** blm_bank_close() - unmap; takes NULL, returns NULL */
BLM_API struct blm_bank *blm_bank_close(struct blm_bank *b);

struct blm_bank_info {
	uint64_t rows;
	/* of data, as blm_data_read() gives them; a multiple of 64 */
	uint64_t row_bytes;
	uint64_t file_bytes;
	uint64_t cells;			/* m of each */
	uint32_t probes;		/* k */
	const char *kind, *family;	/* static */
	uint8_t template_id[16], uuid[16];
};

/** blm_bank_info() - what a bank is */
BLM_API void blm_bank_info(const struct blm_bank *b, struct blm_bank_info *ret);

/**
 * blm_bank_text() - a row's id, and what follows it
 * @ret:          in the map: good until the bank is closed; no NUL at its end
 * @ret_id_bytes: the id's length
 * @ret_bytes:    NULL, or that of all: a tab comes after the id where there is more
 */
BLM_API int blm_bank_text(const struct blm_bank *b, uint64_t row, const char **ret,
			  size_t *ret_id_bytes, size_t *ret_bytes);

/** blm_bank_find() - the row of that id. -ENOENT: none; -ENOTUNIQ: several. Looks at all. */
BLM_API int blm_bank_find(const struct blm_bank *b, const char *id, uint64_t *ret);

/**
 * blm_bank_read() - the data of a row
 * blm_bank_read_filter() - the data of a filter of the same template, else -EMEDIUMTYPE
 * @ret: room for row_bytes
 */
BLM_API int blm_bank_read(const struct blm_bank *b, uint64_t row, void *ret);
BLM_API int blm_bank_read_filter(const struct blm_bank *b, const struct blm_filter *f, void *ret);

/**
 * blm_bank_which() - in which of them may this key be?
 * @ret_bits: NULL, or room for (rows + 63) / 64 words: bit i % 64 of word i / 64 for row i
 *
 * The answer for each row is that of blm_contains() for its filter. For each probe the call reads
 * one bit per row, in lines of 64 bytes for 512 rows, and skips lines in which no row can have the
 * key any more.
 * Return: in how many.
 */
BLM_API int64_t blm_bank_which(struct blm_bank *b, const void *key, size_t len, uint64_t *ret_bits);

/**
 * blm_bank_which_range() - in which of them, range filters, may there be a key from `first` to
 * `last`, those two included?
 * @ret_bits: as blm_bank_which()
 *
 * The answer for each is what blm_contains_range() says of that filter; each one is asked.
 * Return: in how many, or a negative errno: -EOPNOTSUPP for a bank of other kinds, -EINVAL for a
 * key that such filters do not take and for a range that ends before it begins.
 */
BLM_API int64_t blm_bank_which_range(const struct blm_bank *b, const void *first, size_t first_len,
				     const void *last, size_t last_len, uint64_t *ret_bits);

/**
 * How alike two sets of bits are, by Tversky's index: c / (alpha (a - c) + beta (b - c) + c). The
 * question has a bits, the row b, and c bits are in both. 0 / 0 counts as 0.
 */
struct blm_likeness {
	/*
	 * "tanimoto" (NULL) or "jaccard": alpha = beta = 1; "containment": 1 and 0, the share of a;
	 * "tversky"
	 */
	const char *measure;
	double alpha, beta;	/* for "tversky" only: 0 to 10^6 */
	double threshold;	/* rows less alike than this are left out */
};

struct blm_bank_hit {
	uint64_t row, ones, common;	/* b and c */
	double score;
};

/**
 * blm_bank_similar() - the rows that are most like these bits, best first; those as good as each
 * other in the order they came in
 * @bits: row_bytes of data, see blm_bank_read(); -EOPNOTSUPP for a bank of range filters
 * @ret:  space for `capacity` of them
 *
 * The answer is the same as if all rows were compared, but rows whose numbers of ones differ too
 * much to be similar enough are skipped.
 * Return: how many it found, at most `capacity`.
 */
BLM_API int64_t blm_bank_similar(const struct blm_bank *b, const void *bits,
				 const struct blm_likeness *how, struct blm_bank_hit *ret,
				 size_t capacity);

/**
 * blm_bank_export_fps() - write it as an FPS file, in the order it was put together; of one that
 * was made of such a file, the same again, in lower case and with LF at the ends of lines
 * @write: as for blm_export(): 0, or a negative errno, which is then returned
 */
BLM_API int blm_bank_export_fps(const struct blm_bank *b, int (*write)(void *context,
	const void *bytes, size_t count), void *context);

/**
 * blm_bank_verify() - check it against its checksums, and whether rows, slices, numbers of ones,
 * order and ids agree
 * Return: how many findings there were.
 */
BLM_API int64_t blm_bank_verify(const struct blm_bank *b, void (*finding)(void *context,
	const struct blm_finding *found), void *context);

/* ---- What there is: kinds, options, hashes, schemes ---- */

/** enum blm_can - what a kind of filter can do, and what it is like; a set of bits */
enum blm_can {
	BLM_CAN_ADD       = 1 << 0,
	BLM_CAN_CLAIM     = 1 << 1,
	BLM_CAN_REMOVE    = 1 << 2,
	BLM_CAN_PUT       = 1 << 3,
	BLM_CAN_GET       = 1 << 4,
	BLM_CAN_BUILD     = 1 << 5,
	BLM_CAN_EXCLUDE   = 1 << 6,	/* blm_build_exclude_many(), blm_update_begin() */
	BLM_CAN_MERGE     = 1 << 7,	/* blm_merge(), blm_update_begin() */
	BLM_CAN_UNION     = 1 << 8,
	BLM_CAN_INTERSECT = 1 << 9,
	BLM_CAN_ESTIMATE  = 1 << 10,
	BLM_CAN_FOLD      = 1 << 11,
	BLM_CAN_GROW      = 1 << 12,
	BLM_CAN_ROTATE    = 1 << 13,
	BLM_CAN_ADVANCE   = 1 << 14,
	BLM_CAN_SPLIT     = 1 << 15,	/* blm_split(), blm_join_begin() */
	BLM_CAN_RANGE     = 1 << 16,	/* blm_contains_range() */
	BLM_CAN_AGE       = 1 << 17,	/* keeps when each key was last seen: struct blm_when */
	/*
	 * blm_difference_list(); holds keys themselves, up to a length, and takes no hashes for
	 * them
	 */
	BLM_CAN_LIST      = 1 << 18,

	BLM_EXACT         = 1 << 19,	/* never wrong; its keys are numbers */
	BLM_FORGETS       = 1 << 20,	/* may say no to a key that was given */
	BLM_GROWS         = 1 << 21,	/* keeps its rate however many keys come */
	BLM_ONLY_SETS     = 1 << 22,	/* its data are bits, and each only goes from 0 to 1 */
	BLM_KEY_IN_PART   = 1 << 23,	/* a key belongs to one part, see blm_part_owners() */
};

/** struct blm_kind_info - a kind of filter; the strings are static */
struct blm_kind_info {
	const char *name, *summary;
	const char *caveat;	/* what to know before relying on it, in one line; NULL: nothing */
	const char *hash;	/* the hash of new filters, see blm_params.hash */
	const char *becomes;	/* the kind that blm_convert() can make of it; NULL: none */
	uint32_t id;		/* in the file */
	unsigned can;		/* of enum blm_can */
};

/**
 * struct blm_option_info - a parameter of a kind other than its sizes: struct blm_params,
 * options; the strings are static
 */
struct blm_option_info {
	const char *name, *summary;
	double least, most, usual;	/* spans of time are in seconds */
	bool whole;			/* only whole numbers */
	bool seconds;			/* a span of time */
	/* NULL, or what its values 0 to `most` are called: then only these are taken */
	const char *const *names;
};

/** struct blm_hash_info - a hash family; the strings are static */
struct blm_hash_info {
	const char *name, *summary;
	uint32_t id;		/* in the file */
	/*
	 * 128: serves every kind of hashed keys; fewer: classic with m up to 2^bits, and some other
	 * kinds
	 */
	unsigned bits;
	bool keyed;		/* needs a secret of BLM_SECRET_BYTES */
	/* takes as many seeds as a filter has probes, each less than 2^32 (js: 2^21) */
	bool seeds_by_probe;
	/*
	 * of all that it gives, for schemes that take more than 128 bits of it, or hash a longer
	 * key; 0: none
	 */
	unsigned digest_bytes;
};

/**
 * struct blm_scheme_info - a way to make the cells of a key of its hash, other than our own; the
 * strings are static
 */
struct blm_scheme_info {
	const char *name, *summary;
	const char *caveat;	/* what to know before relying on it, in one line; NULL: nothing */
	uint32_t id;		/* in the file, as index_rule */
	/* that a hash family must have; 0: it must have a digest (struct blm_hash_info) */
	unsigned bits;
	unsigned slice_bits;	/* of the digest that go into one probe; 0: it is not cut so */
	/* hashes keys anew for each question: blm_hash_many() cannot be used */
	bool by_key;
	bool ranges;		/* each probe has a range of its own: m is a multiple of k */
};

/** blm_kind_list() - the i-th kind of filter, from 0. Return: 0, or -ENOENT past the last */
BLM_API int blm_kind_list(size_t i, struct blm_kind_info *ret);

/**
 * blm_option_list() - the i-th option of a kind, from 0. Return: 0, -ENOENT past the last, or for
 * an unknown kind
 */
BLM_API int blm_option_list(const char *kind, size_t i, struct blm_option_info *ret);

/** blm_hash_list() - the i-th hash family, from 0. Return: 0, or -ENOENT past the last */
BLM_API int blm_hash_list(size_t i, struct blm_hash_info *ret);

/**
 * blm_scheme_list() - the i-th scheme, from 0; classic and scalable filters can have one. Return:
 * 0, or -ENOENT
 * past the last
 */
BLM_API int blm_scheme_list(size_t i, struct blm_scheme_info *ret);

/**
 * blm_simd() - the instruction set in use: "scalar", "avx2", "avx512". $BLOOMERY_SIMD names a lower
 * one; static
 */
BLM_API const char *blm_simd(void);

/* ---- The process: threads, waiting, files that others cut ---- */

/**
 * blm_use_threads() - how many threads a call may use that goes over all data of filters
 * @threads: 0, as at first: as many as this process may run on, at most 8; 1: none but the caller's
 * own
 *
 * Combining, copying, counting. Only filters of many megabytes are divided; the threads end with
 * the call, and block all signals. For all calls of the process that begin afterwards.
 */
BLM_API void blm_use_threads(unsigned threads);

/**
 * blm_use_progress() - have a function called while long calls of this thread work
 * @tell:    NULL, as at first: none. `phase` is a static word such as "copying"; done and total are
 *           bytes, and total is 0 where it is not known. It must return soon, and not by longjmp()
 *           or an exception. It must not call the library, because the call can hold locks.
 * @context: for tell(); it must stay valid until another function is set
 *
 * It is called when a phase begins, then each time that a piece of the data is done, which is about
 * every 64 KiB to 64 MiB. These calls report, and so do the variants of export and import:
 *
 *	blm_advance()        blm_copy()                  blm_export()      blm_split()
 *	blm_bank_finish()    blm_count()                 blm_fold()        blm_store_publish()
 *	blm_bank_similar()   blm_create_many()           blm_grow()        blm_store_verify()
 *	blm_bank_verify()    blm_delta_apply()           blm_import()      blm_sync()
 *	blm_combine()        blm_delta_make()            blm_join_part()   blm_update_finish()
 *	blm_combine_into()   blm_difference_estimate()   blm_merge()       blm_verify()
 *	blm_compare()        blm_difference_list()       blm_rotate()
 *	blm_convert()        blm_estimate()              blm_seal()
 *
 * All others report only when they copy the data of a filter, write a new file to the disk, or sync
 * because of blm_sync_every(). A build counts its keys by a function of its own: struct
 * blm_build_options, progress. With a function, syncs of more than 64 MiB are made in pieces.
 * Threads: it is set for the calling thread, and called by that thread alone.
 */
BLM_API void blm_use_progress(void (*tell)(void *context, const char *phase, uint64_t done,
					   uint64_t total), void *context);

/**
 * blm_stop_waiting_if() - end waits for locks when the program was asked to end, as by a signal
 * @asked: called by any thread that waits for a lock of a filter's file, some hundred times a
 *         second; NULL, as at first: never. Returns 0, or 1 if the program was asked to end. It
 *         calls nothing of this library.
 *
 * The call that waits then fails with -EINTR. Without this function a signal whose handler returns
 * ends no wait. A handler with SA_RESETHAND or SA_NOCLDWAIT is an exception, because it counts as
 * the end of the program: its signal ends the wait of a call that names a new filter in a store.
 * A wait for a writer has no limit. A wait for a process that only reads the file, and holds a lock
 * that writers need, ends after some seconds with -EBUSY.
 */
BLM_API void blm_stop_waiting_if(int (*asked)(void));

/**
 * blm_survive_truncation() - keep the process alive if a mapped file is truncated or unreadable
 *
 * Without this such a file ends the process with SIGBUS. With it, a handler of that signal,
 * installed once and for the whole process, puts pages of ones in the place of those that are
 * missing: questions about them get the answer yes, and every later change, sync and
 * blm_status() of the filter fails with -EIO. Other faults go to the handler that was there before.
 * If a store's catalog is truncated while it is read, the call fails with -EUCLEAN, and leaks the
 * memory that it was using. bloomery-durability(7) says what memory this takes.
 */
BLM_API int blm_survive_truncation(void);

/** blm_truncated() - the first file that had missing pages; NULL: none so far. Static */
BLM_API const char *blm_truncated(void);

#ifdef __cplusplus
}
#endif
#endif
