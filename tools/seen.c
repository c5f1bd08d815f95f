/*
 * seen.c - which blocks were seen, in this run and those before: a filter of their digests, and the
 * digests themselves where it says maybe
 *
 * A digest that the filter does not know is in no slot of the file, which is not looked at. New
 * ones wait in memory; then all of them go into the filter and into the file, in its order. When
 * the run ends the file notes a checksum of the filter. Where a filter has another, as a damaged
 * one, an older copy or that of a run that was killed, it is made anew from the file.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "seen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FRESH = 1 << 18, CAPACITY_LEAST = 1000000 };

/* ---- The filter ---- */

/* A sum of its data and its ids: the same bits mean other keys in a filter with another seed. */
static int sum_of_filter(const struct seen *s, uint64_t *ret)
{
	enum { SOME = 64 << 10 };
	XXH3_state_t *sum = XXH3_createState();
	uint8_t *some = malloc(SOME);
	struct blm_info info = BLM_INFO;
	int r = sum && some ? blm_info(s->f, &info) : -ENOMEM;

	if (r == 0) {
		XXH3_64bits_reset(sum);
		XXH3_64bits_update(sum, info.uuid, sizeof(info.uuid));
	}
	for (uint64_t at = 0, n; r == 0 && at < info.data_bytes; at += n) {
		n = info.data_bytes - at < SOME ? info.data_bytes - at : SOME;
		r = blm_data_read(s->f, at, some, n);
		XXH3_64bits_update(sum, some, n);
	}
	if (r == 0)
		*ret = XXH3_64bits_digest(sum);
	XXH3_freeState(sum);
	free(some);
	return r < 0 ? fail(r) : DONE;
}

static int settle(struct seen *s)
{
	uint64_t sum;
	int r = blm_sync(s->f), code = r ? fail(r) : sum_of_filter(s, &sum);

	return code == DONE ? hashes_settle(&s->hashes, sum) : code;
}

static int add_to(void *context, const struct digest *digests, size_t count)
{
	int r = blm_build_add_fixed(context, digests, sizeof(*digests), count);

	return r < 0 ? fail(r) : DONE;
}

static void close_filter(struct seen *s)
{
	s->f = blm_close(s->f);
	if (s->file >= 0)
		close(s->file);
	s->file = -1;
}

/*
 * With room for as many digests again as there are, those that wait included. The old one is
 * deleted and not replaced: others may write in the folder, and through a link of theirs, that came
 * at any moment, another filter of this user would be replaced.
 */
static int make_filter(struct seen *s)
{
	uint64_t keys = 2 * (hashes_count(&s->hashes) + s->fresh_count);
	const struct blm_params params = BLM_PARAMS(.capacity = keys > CAPACITY_LEAST ? keys
					   : CAPACITY_LEAST, .rate = 0.01);
	struct blm_build *b;
	int r, code;

	close_filter(s);
	if (unlinkat(s->dir, "filter.blm", 0) < 0 && errno != ENOENT)
		return broken("%s: %s", s->filter_path, strerror(errno));
	r = blm_build_begin(&b, NULL, s->filter_path, &params, NULL);
	if (r < 0)
		return fail(r);
	code = hashes_each(&s->hashes, add_to, b);
	if (code == DONE)
		code = add_to(b, s->fresh, s->fresh_count);
	if (code != DONE) {
		blm_build_cancel(b);
		return code;
	}
	r = blm_build_finish(b, &s->f);
	s->capacity = params.capacity;
	s->changed = true;
	return r < 0 ? fail(r) : DONE;
}

/*
 * Others may write in the folder: through a link of theirs another filter of this user would be
 * opened for changes. So it is opened by a descriptor that followed none. -1, after a message: it
 * is there and is no file; -2: it is not there.
 */
static int open_file(const struct seen *s)
{
	int fd = openat(s->dir, "filter.blm",
			O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return -2;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	if (fd >= 0 || errno == ELOOP || errno == EISDIR || errno == ENXIO)
		broken("%s: not a regular file; remove it, and the filter is made anew",
		       s->filter_path);
	else
		broken("%s: %s", s->filter_path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/*
 * The descriptor stays as long as the filter is open: its path is the filter's, and a sync looks
 * whether the filter is there still.
 */
static int open_by(struct seen *s, int fd)
{
	char path[40];

	s->file = fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return blm_open(&s->f, NULL, path, BLM_OPEN_WRITE);
}

static int open_filter_of(struct seen *s)
{
	struct blm_info info = BLM_INFO;
	uint64_t sum;
	int fd = open_file(s), r;

	if (fd == -1)
		return FAILED;
	r = fd < 0 ? -ENOENT : open_by(s, fd);
	/* not damaged, or not all there */
	if (r < 0 && r != -ENOENT && r != -EBADMSG && r != -ENODATA && r != -EUCLEAN)
		return broken("%s: %s", s->filter_path, blm_strerror(r));
	if (r == 0 && blm_info(s->f, &info) == 0 && sum_of_filter(s, &sum) == DONE
	    && hashes_filter_is(&s->hashes, sum)) {
		s->capacity = info.capacity;
		return DONE;
	}
	return make_filter(s);
}

/* ---- The digests of this run ---- */

static uint32_t *fresh_slot(const struct seen *s, const struct digest *digest)
{
	uint32_t at;

	memcpy(&at, digest->bytes + 8, sizeof(at));
	for (;; at++) {
		uint32_t *slot = &s->slots[at % (2 * FRESH)];

		if (!*slot || !memcmp(&s->fresh[*slot - 1], digest, sizeof(*digest)))
			return slot;
	}
}

static int in_order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct digest));
}

static int store_fresh(struct seen *s)
{
	int code = DONE;
	int64_t r;

	if (!s->fresh_count)
		return DONE;
	qsort(s->fresh, s->fresh_count, sizeof(*s->fresh), in_order);
	if (hashes_count(&s->hashes) + s->fresh_count > s->capacity) {
		code = make_filter(s);
	} else {
		r = blm_add_fixed(s->f, s->fresh, sizeof(*s->fresh), s->fresh_count, NULL);
		code = r < 0 ? fail(r) : DONE;
	}
	if (code == DONE)
		code = hashes_put(&s->hashes, s->fresh, s->fresh_count);
	s->changed = true;
	memset(s->slots, 0, 2 * FRESH * sizeof(*s->slots));
	s->fresh_count = 0;
	return code;
}

/* ---- All of it ---- */

static int lock_dir(struct seen *s, const char *dir)
{
	if (mkdir(dir, 0777) < 0 && errno != EEXIST)
		return broken("%s: %s", dir, strerror(errno));
	s->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir < 0)
		return broken("%s: %s", dir, strerror(errno));
	if (flock(s->dir, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? broken("%s: another dedup is at work with it", dir)
			: broken("%s: %s", dir, strerror(errno));
	return DONE;
}

int seen_open(struct seen *ret, const char *dir, uint64_t block_bytes)
{
	int code;

	*ret = (struct seen){ .dir = -1, .file = -1 };
	ret->fresh = malloc(FRESH * sizeof(*ret->fresh));
	ret->slots = calloc(2 * FRESH, sizeof(*ret->slots));
	if (!ret->fresh || !ret->slots || asprintf(&ret->filter_path, "%s/filter.blm", dir) < 0) {
		ret->filter_path = NULL;
		return broken("out of memory");
	}
	code = lock_dir(ret, dir);
	if (code == DONE)
		code = hashes_open(&ret->hashes, ret->dir, dir, block_bytes);
	return code == DONE ? open_filter_of(ret) : code;
}

static int look_up(struct seen *s, const struct digest *digest, bool maybe, bool *ret_seen)
{
	uint32_t *slot;
	int code = DONE;

	*ret_seen = false;
	if (maybe)
		code = hashes_find(&s->hashes, digest, ret_seen);
	if (code != DONE || *ret_seen)
		return code;
	slot = fresh_slot(s, digest);
	*ret_seen = *slot;
	if (*slot)
		return DONE;
	s->alarms += maybe;
	memcpy(&s->fresh[s->fresh_count++], digest, sizeof(*digest));
	*slot = (uint32_t)s->fresh_count;
	return DONE;
}

int seen_ask(struct seen *s, const struct digest *digests, size_t count, bool *ret_seen)
{
	uint64_t bits[SEEN_MANY / 64];
	int code = s->fresh_count + count > FRESH ? store_fresh(s) : DONE;
	int64_t r = code == DONE ? blm_contains_fixed(s->f, digests, sizeof(*digests), count, bits)
		: 0;

	if (r < 0)
		code = fail(r);
	s->asked += count;
	s->maybe += (uint64_t)r;
	for (size_t i = 0; i < count && code == DONE; i++)
		code = look_up(s, &digests[i], bits[i / 64] >> i % 64 & 1, &ret_seen[i]);
	s->failed |= code != DONE;
	return code;
}

int seen_close(struct seen *s)
{
	int code = s->f && !s->failed ? store_fresh(s) : DONE;

	if (s->f && !s->failed && s->changed && code == DONE)
		code = settle(s);
	close_filter(s);
	hashes_close(&s->hashes);
	if (s->dir >= 0)
		close(s->dir);
	free(s->fresh);
	free(s->slots);
	free(s->filter_path);
	return code;
}
