/*
 * redis.h - what the tests of RedisBloom's two kinds of filters share: cases, chunks that go out as
 * they came, and the end of a dump
 */
#ifndef BLM_TEST_FORMAT_REDIS_H
#define BLM_TEST_FORMAT_REDIS_H

#include "format/format.h"
#include "keys.h"
#include "reads.h"
#include "scarce.h"

enum { FILE_MOST = 8192 };

/* A case: header and cells one after the other, its keys and questions. */
struct one {
	char name[32];
	const char *json, *end;
	uint8_t file[FILE_MOST];
	size_t bytes, header;
};

static struct keys in, asked;

/* The case of that name, whose cells are in the file of that name. */
static inline void load_case(struct one *c, const char *json, const char *name,
			     const char *cells_of)
{
	const char *at = json;
	char path[200], keys[64], *cells;
	size_t bytes;

	do
		c->json = next_case(&at, c->name);
	while (c->json && strcmp(c->name, name));
	ck_assert_msg(c->json != NULL, "%s", name);
	c->end = at;
	c->header = from_hex(field(c->json, c->end, "header_hex"), c->file, FILE_MOST);
	snprintf(path, sizeof(path), DATA "/redisbloom/%s.%s", name, cells_of);
	cells = file_of(path, &bytes);
	ck_assert(cells && bytes <= FILE_MOST - c->header);
	memcpy(c->file + c->header, cells, bytes);
	c->bytes = c->header + bytes;
	load_lines(&in, text_field(c->json, c->end, "keys", keys, sizeof(keys)),
		   number(c->json, c->end, "n_insert"));
	load_lines(&asked, text_field(c->json, c->end, "probes", keys, sizeof(keys)), KEYS_MOST);
	free(cells);
}

static inline void goes_out_to(const struct blm_filter *f, const char *format, const void *file,
			       size_t bytes)
{
	void *out;
	size_t out_bytes;

	OK(blm_export_bytes(f, &BLM_EXCHANGE(.format = format), &out, &out_bytes));
	ck_assert_uint_eq(out_bytes, bytes);
	ck_assert_mem_eq(out, file, bytes);
	blm_free(out);
}

/* The commands that load it: each has one chunk, and the number that the server gave with it. */
static inline void goes_out_as_commands(const struct blm_filter *f, const char *format,
					const char *command, const struct one *c)
{
	const struct blm_exchange how = BLM_EXCHANGE(.format = format, .redis_key = "a key");
	uint64_t iters[16] = { 1 };
	uint32_t chunks = numbers_of(c->json, c->end, "chunk_iters", iters + 1, 15) + 1;
	size_t bytes, done = 0;
	uint8_t *out, *at;

	OK(blm_export_bytes(f, &how, (void **)&out, &bytes));
	at = out;
	for (uint32_t i = 0; i < chunks; i++) {
		size_t count = i ? (size_t)(iters[i] - iters[i - 1]) : c->header;
		char expected[200], iter[24];
		int len;

		ck_assert_ptr_nonnull(memchr(at, '*', 1));
		snprintf(iter, sizeof(iter), "%llu", (unsigned long long)iters[i]);
		len = snprintf(expected, sizeof(expected),
			       "*4\r\n$%zu\r\n%s\r\n$5\r\na key\r\n$%zu\r\n%s\r\n$%zu\r\n",
			       strlen(command), command, strlen(iter), iter, count);
		ck_assert_mem_eq(at, expected, (size_t)len);
		at += len;
		ck_assert_mem_eq(at, c->file + done, count);
		done += count;
		at += count;
		ck_assert_mem_eq(at, "\r\n", 2);
		at += 2;
	}
	ck_assert_uint_eq(done, c->bytes);
	ck_assert_uint_eq((size_t)(at - out), bytes);
	blm_free(out);
}

/* ---- Dumps: the last eight bytes are the CRC-64/Jones of those before ---- */

static inline uint64_t crc64(const uint8_t *bytes, size_t count)
{
	uint64_t crc = 0;

	for (size_t i = 0; i < count; i++) {
		crc ^= bytes[i];
		for (int b = 0; b < 8; b++)
			crc = crc >> 1 ^ (crc & 1 ? UINT64_C(0x95ac9329ac4bc9b5) : 0);
	}
	return crc;
}

static inline void seal(uint8_t *dump, size_t count)
{
	uint64_t crc = htole64(crc64(dump, count - 8));

	memcpy(dump + count - 8, &crc, 8);
}

static inline size_t put_length(uint8_t *to, uint64_t n)
{
	to[0] = n < 64 ? (uint8_t)n : n < 16384 ? (uint8_t)(0x40 | n >> 8) : 0x80;
	to[1] = (uint8_t)n;
	for (int i = 0; n >= 16384 && i < 4; i++)
		to[1 + i] = (uint8_t)(n >> (24 - 8 * i));
	return n < 64 ? 1 : n < 16384 ? 2 : 5;
}

static inline size_t put_number(uint8_t *to, uint64_t n)
{
	*to = 2;
	return 1 + put_length(to + 1, n);
}

/* ---- Chunks, by the functions of a format ---- */

/* The output: the bytes of short pieces, and the number of the others. */
struct written {
	struct blm_writer writer;
	char words[4096];
	size_t count, data;
};

static inline int write_here(struct blm_writer *writer, const void *bytes, size_t count)
{
	struct written *w = (struct written *)writer;

	if (count >= 256) {
		w->data += count;
		return 0;
	}
	ck_assert_uint_lt(w->count + count, sizeof(w->words));
	memcpy(w->words + w->count, bytes, count);
	w->count += count;
	return 0;
}

#endif
