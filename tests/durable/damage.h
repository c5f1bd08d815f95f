/*
 * damage.h - filters of each way that data are guarded, and what verifying them says
 */
#ifndef BLM_STORE_DAMAGE_H
#define BLM_STORE_DAMAGE_H

#include "suite.h"

#include "handle/handle.h"

#include <fcntl.h>

static const struct shape {
	const char *kind;
	uint64_t cells;
	unsigned keys;
	bool sparse;
} shapes[] = {
	{ "blocked", 51200, 700, false },
	{ "classic", 51111, 700, false },
	{ "blocked", 3 * 65536 * 8, 20000, false },
	{ "classic", 3 * 65536 * 8 - 77, 20000, false },
	{ "blocked", 3 << 23, 300000, false },		/* more than 2 MiB */
	{ "classic", 5 << 22, 200000, false },
	{ "classic", 3 << 23, 60, true },		/* most of its blocks are holes */
	{ "blocked", 3 << 23, 9, true },
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static inline struct blm_params params_of(const struct shape *s)
{
	static const uint64_t seed = 7;

	return BLM_PARAMS(.kind = s->kind, .cells = s->cells, .probes = 6, .sparse = s->sparse,
			  .seed_count = 1, .seeds = &seed);
}

static inline void add_range(struct blm_filter *f, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		OK(blm_add(f, &i, sizeof(i)));
}

static inline bool has_range(const struct blm_filter *f, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		if (!blm_contains(f, &i, sizeof(i)))
			return false;
	return true;
}

enum { SYNCED, SEALED };

static inline void make_shape(const struct shape *s, int how)
{
	struct blm_params params = params_of(s);
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "a.blm", &params));
	add_range(f, 0, s->keys);
	OK(how == SEALED ? blm_seal(f) : blm_sync(f));
	blm_close(f);
}

/* The bytes of the file, and where its part begins and ends in them. */
struct image {
	uint8_t *bytes;
	uint64_t at, end, blocks;
};

static inline struct image image_of(const char *path)
{
	size_t count;
	struct image i = { .bytes = read_all(path, &count) };
	const struct blm_part_entry *e = &((struct blm_header *)i.bytes)->part[0];

	i.at = le64toh(e->offset);
	i.end = i.at + le64toh(e->bytes);
	i.blocks = blocks_of_part(le64toh(e->bytes));
	return i;
}

static inline uint64_t begin_of(const struct image *i, uint64_t block)
{
	return i->at + block * BLM_BLOCK;
}

static inline uint64_t end_of(const struct image *i, uint64_t block)
{
	return begin_of(i, block) + BLM_BLOCK < i->end ? begin_of(i, block) + BLM_BLOCK : i->end;
}

static inline void put(const char *path, uint64_t at, const void *bytes, size_t count)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	ck_assert_int_eq((int)pwrite(fd, bytes, count, (off_t)at), (int)count);
	close(fd);
}

/* The first byte from `at` on that is neither 0 nor 0xff; `end` if none is. */
static inline uint64_t mixed_byte(const struct image *i, uint64_t at, uint64_t end)
{
	while (at < end && (i->bytes[at] == 0 || i->bytes[at] == 0xff))
		at++;
	return at;
}

static inline struct blm_info info_of(const struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;

	OK(blm_info(f, &info));
	return info;
}

enum damage { ONE_BIT_CLEARED, SECTOR_CLEARED, BLOCK_CLEARED, BITS_SWAPPED, BITS_SET, DAMAGES };

/* Damage a block; false if it has nothing to be damaged so. */
static inline bool damage(const struct image *i, uint64_t block, enum damage what)
{
	uint64_t from = begin_of(i, block), end = end_of(i, block), at = mixed_byte(i, from, end);
	uint8_t zeros[BLM_BLOCK] = { 0 }, byte;

	if (at == end)
		return false;
	byte = i->bytes[at];
	switch (what) {
	case ONE_BIT_CLEARED:
		byte &= (uint8_t)(byte - 1);
		break;
	case SECTOR_CLEARED:
		at = at / 512 * 512 < from ? from : at / 512 * 512;
		put("a.blm", at, zeros, end - at < 512 ? end - at : 512);
		return true;
	case BLOCK_CLEARED:
		put("a.blm", from, zeros, end - from);
		return true;
	case BITS_SWAPPED:
		byte = (uint8_t)(byte & (byte - 1)) | (uint8_t)(~byte & -(uint8_t)~byte);
		break;
	default:
		byte |= (uint8_t)(~byte & -(uint8_t)~byte);
		break;
	}
	put("a.blm", at, &byte, 1);
	return true;
}

/* ---- What verifying says ---- */

static char said[65536];
static int said_count, said_repaired;

static inline void hear(void *context, const struct blm_finding *found)
{
	size_t at = strlen(said);

	said_count++;
	said_repaired += found->repaired;
	snprintf(said + at, sizeof(said) - at, "%s\n", found->what);
}

static inline int verify(const char *path, bool repair)
{
	said[0] = '\0';
	said_count = said_repaired = 0;
	return blm_verify(NULL, path, repair ? BLM_VERIFY_REPAIR : 0, hear, NULL);
}

static inline void finds_nothing(const char *path)
{
	int r = verify(path, false);

	ck_assert_msg(r == 0, "%d: %s%s", r, said, r < 0 ? blm_error_message() : "");
}

static inline void finds_block(const char *path, uint64_t block)
{
	int r = verify(path, false);
	char words[64];

	snprintf(words, sizeof(words), "part 0, block %llu,", (unsigned long long)block);
	ck_assert_msg(r == 1 && strstr(said, words), "block %llu: %d: %s",
		      (unsigned long long)block, r, said);
}

#endif
