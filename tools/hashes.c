/*
 * hashes.c - an exact set of digests as a file: a table with linear probing, in the order of the
 * digests
 *
 * A header of 4096 bytes, then pages of 4096: 127 slots of 32 bytes, and a checksum of them. A
 * digest's first bits are the number of its slot, or of the first of those behind it that was free;
 * so digests that come in order are written in the order of the file. It is at most three quarters
 * full: beyond that a file of twice the pages is made and takes its place by rename(2).
 *
 * A page is checked before it is believed, so what the disk has damaged is an error, and no digest
 * that was forgotten. While a run puts digests the header says so, durably before the first of
 * them; where it still does at the next opening that run was killed, or the power was cut. Then any
 * mix of old and new slots is there (each is old or new: it is within one sector), all checksums
 * are made anew, and the digests are counted. A digest that was durable before is still found,
 * because all slots before it are durable too.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "hashes.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, SLOTS = PAGE / sizeof(struct digest) - 1, PAGES_LEAST = 32 };

/* the last: found while at work, so that no later run takes it for a power cut */
enum { SETTLED, AT_WORK, DAMAGED };

static const char magic[8] = "BLMHASH1";

struct hashes_page {
	struct digest slot[SLOTS];
	uint64_t sum, zeros[3];
};

_Static_assert(sizeof(struct hashes_page) == PAGE, "as large as it is on disk");

static uint64_t offset_of(uint64_t page)
{
	return PAGE + page * PAGE;
}

static int failed(const struct hashes *h, const char *doing)
{
	return broken("%s/hashes: %s: %s", h->path, doing, strerror(errno));
}

/* ---- Checksums ---- */

static uint64_t header_sum(const struct hashes_header *header)
{
	return htole64(XXH3_64bits(header, offsetof(struct hashes_header, sum)));
}

/* With its number, so that no page passes for another. */
static uint64_t page_sum(const struct hashes *h, uint64_t page)
{
	return htole64(XXH3_64bits_withSeed(h->pages[page].slot, sizeof(h->pages[page].slot),
					    page + 1));
}

static void seal(struct hashes *h, uint64_t page)
{
	h->pages[page].sum = page_sum(h, page);
}

/* In one piece: a kill leaves the one before or this one. */
static int put_header(struct hashes *h)
{
	h->header.sum = header_sum(&h->header);
	errno = EIO;	/* where it is not all of it */
	if (pwrite(h->fd, &h->header, sizeof(h->header), 0) != (ssize_t)sizeof(h->header)
	    || fsync(h->fd) < 0)
		return failed(h, "cannot be written");
	return DONE;
}

static int damaged(struct hashes *h, uint64_t page)
{
	if (le64toh(h->header.state) == AT_WORK) {
		h->header.state = htole64(DAMAGED);
		put_header(h);
	}
	return broken("%s/hashes: damaged at byte %llu, so blocks that were seen could be called "
		      "new: begin with a new index", h->path,
		      (unsigned long long)offset_of(page));
}

static int check_page(struct hashes *h, uint64_t page)
{
	return h->pages[page].sum == page_sum(h, page) ? DONE : damaged(h, page);
}

/* ---- Slots ---- */

static uint64_t most_of(uint64_t pages)
{
	return pages * SLOTS / 4 * 3;
}

static bool is_free(const struct digest *slot)
{
	static const struct digest none;

	return !memcmp(slot, &none, sizeof(none));
}

/*
 * The slot where it is or would be, and its page. Pages are checked but where they are still being
 * filled. Return: an exit code.
 */
static int look(struct hashes *h, const struct digest *digest, bool check, struct digest **ret,
		uint64_t *ret_page)
{
	uint64_t at;
	int code = DONE;

	memcpy(&at, digest->bytes, sizeof(at));
	at = (uint64_t)((unsigned __int128)be64toh(at) * h->slot_count >> 64);
	for (uint64_t i = 0; i < h->slot_count; i++, at = at + 1 < h->slot_count ? at + 1 : 0) {
		if (check && (i == 0 || at % SLOTS == 0))
			code = check_page(h, at / SLOTS);
		if (code != DONE)
			return code;
		*ret_page = at / SLOTS;
		*ret = &h->pages[*ret_page].slot[at % SLOTS];
		if (is_free(*ret) || !memcmp(*ret, digest, sizeof(*digest)))
			return DONE;
	}
	return damaged(h, 0);	/* no slot is free: its count was wrong */
}

/* The digests of one page, in their order. Return: how many there are. */
static size_t digests_of(const struct hashes *h, uint64_t page, struct digest *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < SLOTS; i++)
		if (!is_free(&h->pages[page].slot[i]))
			ret[count++] = h->pages[page].slot[i];
	return count;
}

/* ---- A file that is cut, or cannot be read, under its map ---- */

static struct mapped {
	uintptr_t begin, end;		/* 0: free */
	const char *path;
} mapped[2];				/* one, and a larger one that is to take its place */

static struct sigaction other_fault;	/* SIGBUS, as it was: the library's guard of filters */

/*
 * Without the page nothing can be said of its digests. The file is left as by a kill, of another
 * length, so no later run believes it.
 */
static _Noreturn void end_with(const struct mapped *m)
{
	char text[512];
	int count = snprintf(text, sizeof(text), "bloomery: %.300s/hashes: damaged: was cut, or "
			     "cannot be read any more, so blocks that were seen could be called "
			     "new: begin with a new index\n", m->path);

	if (write(STDERR_FILENO, text, (size_t)count) < 0)
		_exit(FAILED);
	_exit(FAILED);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;

	for (size_t i = 0; info->si_code > 0 && i < ARRAY_LEN(mapped); i++)
		if (mapped[i].begin <= at && at < mapped[i].end)
			end_with(&mapped[i]);
	if (other_fault.sa_flags & SA_SIGINFO)
		other_fault.sa_sigaction(number, info, context);
	else
		sigaction(number, &other_fault, NULL);
}

static void note(const char *at, uint64_t bytes, const char *path)
{
	const struct sigaction mine = { .sa_sigaction = on_fault,
					.sa_flags = SA_SIGINFO | SA_NODEFER };

	mapped[mapped[0].end != 0] = (struct mapped){ (uintptr_t)at, (uintptr_t)at + bytes, path };
	if (!other_fault.sa_flags)	/* the library's has some */
		sigaction(SIGBUS, &mine, &other_fault);
}

static void forget(const char *at)
{
	for (size_t i = 0; i < ARRAY_LEN(mapped); i++)
		if (mapped[i].begin == (uintptr_t)at)
			mapped[i] = (struct mapped){ 0 };
}

/* ---- The file ---- */

static int map(struct hashes *h)
{
	uint64_t pages = le64toh(h->header.pages);
	/* its header is not used there */
	char *at = mmap(NULL, offset_of(pages), PROT_READ | PROT_WRITE, MAP_SHARED, h->fd, 0);

	if (at == MAP_FAILED)
		return failed(h, "cannot be mapped");
	note(at, offset_of(pages), h->path);
	h->pages = (struct hashes_page *)(at + PAGE);
	h->page_count = pages;
	h->slot_count = pages * SLOTS;
	return DONE;
}

/*
 * Under another name until it is whole: what a killed run left there goes first. Others may write
 * in the folder too, so what has come there since, a link to any file of ours say, is not opened.
 * All of its space is taken now: a full disk is an error here, and not a signal later.
 */
static int make(struct hashes *h, uint64_t pages)
{
	h->header.pages = htole64(pages);
	if (unlinkat(h->dir, "hashes.new", 0) < 0 && errno != ENOENT)
		return broken("%s/hashes.new: cannot be removed to make the table: %s", h->path,
			      strerror(errno));
	h->fd = openat(h->dir, "hashes.new", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       0666);
	if (h->fd < 0)
		return broken("%s/hashes.new: cannot be made: %s", h->path, strerror(errno));
	errno = posix_fallocate(h->fd, 0, (off_t)offset_of(pages));
	return errno ? failed(h, "cannot be made") : map(h);
}

static int publish(struct hashes *h)
{
	for (uint64_t page = 0; page < h->page_count; page++)
		seal(h, page);
	if (put_header(h) != DONE)
		return FAILED;
	if (renameat(h->dir, "hashes.new", h->dir, "hashes") < 0 || fsync(h->dir) < 0)
		return failed(h, "cannot be written");
	return DONE;
}

static int check(const struct hashes *h, uint64_t block_bytes)
{
	uint64_t pages = le64toh(h->header.pages), own = le64toh(h->header.block_bytes),
		count = le64toh(h->header.count);
	struct stat st;

	if (fstat(h->fd, &st) < 0)
		return failed(h, "cannot be read");
	if (memcmp(h->header.magic, magic, sizeof(magic)) || h->header.sum != header_sum(&h->header)
	    || !pages || pages > UINT64_C(1) << 40 ||
	    (uint64_t)st.st_size != offset_of(pages) || count > most_of(pages) || !own
	    || own > SIZE_MAX || le64toh(h->header.state) > AT_WORK)
		return broken("%s/hashes: not a table of hashes of this program, or damaged",
			      h->path);
	if (block_bytes && own != block_bytes)
		return broken("%s: is of blocks of %llu bytes, not %llu", h->path,
			      (unsigned long long)own, (unsigned long long)block_bytes);
	return DONE;
}

/*
 * Was it left by a run that was killed in make_first()? Then it has no digest yet; one that was to
 * be larger may have some.
 */
static bool is_half_made(const struct hashes *h)
{
	int fd = openat(h->dir, "hashes.new",
			O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	struct stat st = { 0 };
	struct digest slot[SLOTS + 1];
	bool half = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)
		&& (uint64_t)st.st_size <= offset_of(PAGES_LEAST);

	for (uint64_t at = 0; half && at < (uint64_t)st.st_size; at += PAGE) {
		memset(slot, 0, sizeof(slot));
		half = pread(fd, slot, sizeof(slot), (off_t)at) > 0;
		if (at == 0 && !memcmp(slot, magic, sizeof(magic)))
			continue;
		for (size_t i = 0; i < SLOTS; i++)
			half &= is_free(&slot[i]);
	}
	if (fd >= 0)
		close(fd);
	return half;
}

/*
 * The table is made first and never deleted. Other files without it belong to another program, or
 * are the rest of a lost index.
 */
static int check_nothing_there(const struct hashes *h)
{
	static const char *const names[] = { "filter.blm", "hashes.new", "hashes" };
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (fstatat(h->dir, names[i], &st, AT_SYMLINK_NOFOLLOW) < 0
		    || (i == 1 && is_half_made(h)))
			continue;
		return broken("%s/%s: is there without the table %s/hashes: name another "
			      "folder, or move this file away to begin a new index", h->path,
			      names[i], h->path);
	}
	return DONE;
}

static int make_first(struct hashes *h, uint64_t block_bytes)
{
	int code = check_nothing_there(h);

	if (code != DONE)
		return code;
	if (!block_bytes)
		return misuse("dedup: %s is new: give the size of its blocks, --blocks 8Ki",
			      h->path);
	memcpy(h->header.magic, magic, sizeof(magic));
	h->header.block_bytes = htole64(block_bytes);
	code = make(h, PAGES_LEAST);
	return code == DONE ? publish(h) : code;
}

/*
 * After a run that was killed. It stays at work: that there is a filter for it is for
 * hashes_settle() to say.
 */
static int recover(struct hashes *h)
{
	struct digest digests[SLOTS];
	uint64_t count = 0;

	for (uint64_t page = 0; page < h->page_count; page++) {
		count += digests_of(h, page, digests);
		seal(h, page);
	}
	h->header.count = htole64(count);
	return put_header(h);
}

int hashes_open(struct hashes *ret, int dir, const char *path, uint64_t block_bytes)
{
	int code;

	*ret = (struct hashes){ .dir = dir, .path = path };
	ret->fd = openat(dir, "hashes", O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	if (ret->fd < 0 && errno == ELOOP)
		return broken("%s/hashes: a symbolic link, which is not followed; name the folder "
			      "that it leads to", path);
	if (ret->fd < 0)
		return errno == ENOENT ? make_first(ret, block_bytes)
			: failed(ret, "cannot be opened");
	if (pread(ret->fd, &ret->header, sizeof(ret->header), 0) != (ssize_t)sizeof(ret->header))
		return broken("%s/hashes: not a table of hashes of this program, or damaged", path);
	code = check(ret, block_bytes);
	if (code == DONE)
		code = map(ret);
	return code == DONE && le64toh(ret->header.state) == AT_WORK ? recover(ret) : code;
}

void hashes_close(struct hashes *h)
{
	if (h->pages) {
		forget((char *)h->pages - PAGE);
		munmap((char *)h->pages - PAGE, offset_of(h->page_count));
	}
	if (h->fd > 0)		/* 0: it was not opened yet */
		close(h->fd);
	*h = (struct hashes){ 0 };
}

uint64_t hashes_block_bytes(const struct hashes *h)
{
	return le64toh(h->header.block_bytes);
}

uint64_t hashes_count(const struct hashes *h)
{
	return le64toh(h->header.count);
}

/* ---- Questions and changes ---- */

int hashes_find(struct hashes *h, const struct digest *digest, bool *ret_found)
{
	struct digest *slot = NULL;
	uint64_t page;
	int code = look(h, digest, true, &slot, &page);

	if (code == DONE)
		*ret_found = !is_free(slot);
	return code;
}

int hashes_each(struct hashes *h, int (*give)(void *context, const struct digest *digests,
					      size_t count), void *context)
{
	struct digest digests[SLOTS];
	int code = DONE;

	for (uint64_t page = 0; page < h->page_count && code == DONE; page++) {
		code = check_page(h, page);
		if (code == DONE)
			code = give(context, digests, digests_of(h, page, digests));
	}
	return code;
}

static int put_into_larger(void *context, const struct digest *digests, size_t count)
{
	struct digest *slot = NULL;
	uint64_t page;
	int code = DONE;

	for (size_t i = 0; i < count && code == DONE; i++) {
		code = look(context, &digests[i], false, &slot, &page);
		if (code == DONE)
			*slot = digests[i];
	}
	return code;
}

static int enlarge(struct hashes *h, uint64_t count)
{
	struct hashes larger = { .dir = h->dir, .path = h->path, .header = h->header };
	uint64_t pages = h->page_count;
	int code;

	while (count > most_of(pages))
		pages *= 2;
	if (pages == h->page_count)
		return DONE;
	code = make(&larger, pages);
	if (code == DONE)
		code = hashes_each(h, put_into_larger, &larger);
	if (code == DONE)
		code = publish(&larger);
	hashes_close(code == DONE ? h : &larger);
	if (code == DONE)
		*h = larger;
	return code;
}

static int begin_work(struct hashes *h)
{
	if (le64toh(h->header.state) == AT_WORK)
		return DONE;
	h->header.state = htole64(AT_WORK);
	return put_header(h);
}

int hashes_put(struct hashes *h, const struct digest *digests, size_t count)
{
	struct digest *slot = NULL;
	uint64_t page;
	int code = begin_work(h);

	if (code == DONE)
		code = enlarge(h, hashes_count(h) + count);
	for (size_t i = 0; i < count && code == DONE; i++) {
		code = look(h, &digests[i], true, &slot, &page);
		if (code != DONE)
			return code;
		h->header.count = htole64(hashes_count(h) + is_free(slot));
		*slot = digests[i];
		seal(h, page);
	}
	return code;
}

int hashes_settle(struct hashes *h, uint64_t filter_sum)
{
	if (fsync(h->fd) < 0)		/* before the header that believes it */
		return failed(h, "cannot be written");
	h->header.state = htole64(SETTLED);
	h->header.filter_sum = htole64(filter_sum);
	return put_header(h);
}

bool hashes_filter_is(const struct hashes *h, uint64_t filter_sum)
{
	return le64toh(h->header.state) == SETTLED && le64toh(h->header.filter_sum) == filter_sum;
}
