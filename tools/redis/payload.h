/*
 * payload.h - the bytes of values: headers and chunks as SCANDUMP gives them, RDB, AOF
 *
 * All that comes in is untrusted: RESTORE and LOADCHUNK take bytes of any client.
 */
#ifndef BLOOMERY_REDIS_PAYLOAD_H
#define BLOOMERY_REDIS_PAYLOAD_H

#include "value.h"

enum {
	BLOOM_HEAD = 20, BLOOM_LINK = 53, CUCKOO_HEAD = 38,
	HEAD_MOST = BLOOM_HEAD + LINKS_MOST * BLOOM_LINK,
};

/* ---- Numbers of RedisBloom ---- */

double bloom_bits_each(double error);
unsigned bloom_probes(double bits_each);	/* 0: more than a filter can have */

/* The header of a chain, and its numbers. */
struct head {
	uint8_t bytes[HEAD_MOST];
	size_t count;
	uint64_t data;			/* bytes that follow it, in all links or tables */
	/* SORT_BLOOM */
	uint64_t keys;
	unsigned links, options, growth;
	/* SORT_CUCKOO */
	struct cuckoo_tables tables;
};

/* The numbers of link i of a chain. */
struct link {
	uint64_t bytes, bits, keys, entries;
	double error, bits_each;
	unsigned probes, n2;
};

void link_get(struct link *ret, const struct head *h, unsigned i);
void link_put(struct head *h, unsigned i, const struct link *link);
/* Write the numbers that all links, or all tables, have in common; chain_put() sets count. */
void chain_put(struct head *h);
void tables_put(struct head *h);

/* Checks it, but for what only the library knows. Return: false if it cannot be one. */
bool head_read(struct head *ret, enum sort sort, const void *bytes, size_t count);
/* The header of a whole value. Return: 0, or a negative errno. */
int head_of(struct head *ret, const struct value *v);
/* That of a value that cannot be read. Without data it loads as one whose chunks are missing. */
void head_blank(struct head *ret, const struct value *v);
/* May it take no more keys than it was made for? */
bool head_is_fixed(const struct head *h);
/* The bytes of data in link or table i. */
uint64_t head_piece(const struct head *h, enum sort sort, unsigned i);
unsigned head_pieces(const struct head *h, enum sort sort);

/* ---- Streams ---- */

/*
 * Gives the header, then the data in pieces that end where a link or table ends, at the latest
 * after CHUNK_MOST bytes. What put() returns other than 0 ends it and is returned.
 */
struct stream {
	int (*put)(struct stream *s, const void *bytes, size_t count);
	bool head;			/* is this piece the header? */
	uint64_t from;			/* bytes of data before this are not looked at by put() */
	void *context;
};

int value_stream(const struct value *v, struct stream *s);

/* ---- Values that arrive in chunks ---- */

/* NULL: out of memory, or no header. A value without data is whole at once. */
struct value *pending_begin(enum sort sort, const void *head, size_t count);
/*
 * @end: of these bytes in all data, from 1: the iterator that came with them
 * Return: 0; -ERANGE where they begin after those that are there, or before the first;
 * -EFBIG where they go over the end; -ENOMEM. With the last one the value becomes whole:
 * -EBADMSG where the library refuses it.
 */
int pending_take(struct value *v, uint64_t end, const void *bytes, size_t count,
		 const struct spot *spot);
struct pending *pending_copy(const struct pending *p);
uint64_t pending_bytes(const struct pending *p);
void pending_free(struct pending *p);
/* As value_stream(), of what has come so far. */
int pending_stream(const struct pending *p, enum sort sort, struct stream *s);

/* A value of a header and its data in pieces, with zeros after them. NULL: blm_error_message() */
struct piece {
	const void *bytes;
	size_t count;
};
struct value *value_import(enum sort sort, const struct head *h, const struct piece *pieces,
			   unsigned count, const struct spot *spot);
/* The same of one piece, as a filter in memory. */
int payload_import(struct blm_filter **ret, enum sort sort, const struct head *h,
		   const struct piece *piece);

#endif
