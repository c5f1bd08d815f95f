/*
 * parquet_file.c - where in a Parquet file a column's Bloom filter is
 *
 *	0	"PAR1"
 *		pages, filters and more
 *	-8 - n	a FileMetaData in Thrift's compact protocol, n bytes
 *	-8	n, 4 bytes, little-endian; "PAR1"
 *
 * Only the column chunks of the metadata are looked at: their names, with dots between the parts,
 * and where their filters are.
 */
#include "format/parquet.h"
#include "format/thrift.h"

enum { MAGIC = 4, TAIL = 8, NAME_MOST = 512, NAMES_MOST = 256 };

/* The question, and the answer. */
struct search {
	struct blm_thrift thrift;
	const char *column;		/* NULL: any */
	uint64_t row_group;		/* plus 1; 0: any */
	uint64_t group, groups;		/* which is looked at; of those with filters */
	uint64_t filters, matches;
	uint64_t at;			/* of the first match */
	char names[NAMES_MOST];		/* of columns that have one */
	bool more;			/* than fit */
};

/* One column chunk's. */
struct chunk {
	char name[NAME_MOST];
	/* may be more than fit: then it cannot be requested */
	size_t name_bytes;
	int64_t at;			/* 0: it has no filter */
	bool elsewhere;			/* in another file */
};

bool blm_parquet_within(const uint8_t *bytes, size_t count)
{
	return count >= MAGIC && (!memcmp(bytes, "PAR1", MAGIC) || !memcmp(bytes, "PARE", MAGIC));
}

static void read_name(struct blm_thrift *t, struct chunk *c)
{
	uint64_t parts = blm_thrift_list(t, BLM_THRIFT_BINARY);

	for (uint64_t i = 0; i < parts && !t->failed; i++) {
		size_t at;

		if (i && c->name_bytes < NAME_MOST)
			c->name[c->name_bytes] = '.';
		c->name_bytes += i != 0;
		at = c->name_bytes < NAME_MOST ? c->name_bytes : NAME_MOST;
		c->name_bytes += blm_thrift_binary(t, c->name + at, NAME_MOST - at);
	}
}

static void read_metadata(struct blm_thrift *t, struct chunk *c)
{
	struct blm_thrift_field field = { 0 };

	while (blm_thrift_next(t, &field)) {
		if (blm_thrift_is(&field, 3, BLM_THRIFT_LIST))
			read_name(t, c);
		else if (blm_thrift_is(&field, 14, BLM_THRIFT_I64))
			c->at = blm_thrift_number(t);
		else
			blm_thrift_pass(t, field.type);
	}
}

/* Adds it to the list of names for the message, if it is not there. */
static void note_name(struct search *s, const struct chunk *c)
{
	size_t used = strlen(s->names), len = c->name_bytes;
	const char *end;

	for (const char *at = s->names; *at; at = *end ? end + 2 : end) {
		end = at + strcspn(at, ",");
		if ((size_t)(end - at) == len && !memcmp(at, c->name, len))
			return;
	}
	for (size_t i = 0; i < len && i < NAME_MOST; i++)
		if ((uint8_t)c->name[i] < ' ' || c->name[i] == 0x7f || c->name[i] == ',')
			len = NAMES_MOST;	/* nothing for a message */
	if (used + len + 3 > NAMES_MOST) {
		s->more = true;
		return;
	}
	if (used)
		used = (size_t)(stpcpy(s->names + used, ", ") - s->names);
	memcpy(s->names + used, c->name, len);
	s->names[used + len] = '\0';
}

static void take_chunk(struct search *s, const struct chunk *c)
{
	if (!c->at || c->elsewhere)
		return;
	s->filters++;
	s->groups = s->group + 1;
	note_name(s, c);
	if (s->row_group && s->row_group != s->group + 1)
		return;
	if (s->column && (strlen(s->column) != c->name_bytes || c->name_bytes > NAME_MOST
			  || memcmp(s->column, c->name, c->name_bytes)))
		return;
	if (!s->matches++)
		s->at = (uint64_t)c->at;
}

static void read_chunk(struct search *s)
{
	struct blm_thrift *t = &s->thrift;
	struct blm_thrift_field field = { 0 };
	struct chunk c = { 0 };

	while (blm_thrift_next(t, &field)) {
		c.elsewhere |= field.id == 1;
		if (blm_thrift_is(&field, 3, BLM_THRIFT_STRUCT))
			read_metadata(t, &c);
		else
			blm_thrift_pass(t, field.type);
	}
	take_chunk(s, &c);
}

static void read_row_group(struct search *s)
{
	struct blm_thrift *t = &s->thrift;
	struct blm_thrift_field field = { 0 };

	while (blm_thrift_next(t, &field)) {
		uint64_t chunks = blm_thrift_is(&field, 1, BLM_THRIFT_LIST)
			? blm_thrift_list(t, BLM_THRIFT_STRUCT) : 0;

		if (!blm_thrift_is(&field, 1, BLM_THRIFT_LIST))
			blm_thrift_pass(t, field.type);
		while (chunks-- && !t->failed)
			read_chunk(s);
	}
}

static int read_footer(struct search *s)
{
	struct blm_thrift *t = &s->thrift;
	struct blm_thrift_field field = { 0 };

	while (blm_thrift_next(t, &field)) {
		uint64_t groups = blm_thrift_is(&field, 4, BLM_THRIFT_LIST)
			? blm_thrift_list(t, BLM_THRIFT_STRUCT) : 0;

		if (!blm_thrift_is(&field, 4, BLM_THRIFT_LIST))
			blm_thrift_pass(t, field.type);
		for (; s->group < groups && !t->failed; s->group++)
			read_row_group(s);
	}
	return t->failed;
}

/* Its offset and its length. */
static int find_footer(const struct blm_bytes_at *file, uint64_t *ret_at, uint64_t *ret_bytes,
		       const char *display)
{
	uint8_t tail[TAIL];
	int64_t n;

	if (file->count < MAGIC + TAIL)
		return blm_fail(-ENODATA, "%s: %llu bytes are no Parquet file: it is truncated",
				display,
				(unsigned long long)file->count);
	n = file->read(file, tail, TAIL, file->count - TAIL);
	if (n < TAIL)
		return n < 0 ? blm_fail((int)n, "%s: cannot be read: %s", display,
					strerror((int)-n)) : blm_fail(-ENODATA,
						"%s: was truncated while it was read", display);
	if (!memcmp(tail + 4, "PARE", MAGIC))
		return blm_fail(-EPROTONOSUPPORT, "%s: its metadata are encrypted", display);
	if (memcmp(tail + 4, "PAR1", MAGIC))
		return blm_fail(-EBADMSG, "%s: begins like a Parquet file, but does not end like "
				"one: it is truncated", display);
	*ret_bytes = blm_get_little(tail, 4);
	if (*ret_bytes > file->count - MAGIC - TAIL)
		return blm_fail(-EBADMSG, "%s: its end states %llu bytes of metadata, more than "
				"the file has", display, (unsigned long long)*ret_bytes);
	*ret_at = file->count - TAIL - *ret_bytes;
	return 0;
}

static int check_matches(const struct search *s, const char *display)
{
	const char *more = !s->more ? "" : *s->names ? ", ..." : "...";

	if (!s->filters)
		return blm_fail(-ENOENT, "%s: a Parquet file without Bloom filters", display);
	if (!s->matches)
		return blm_fail(-ENOENT, "%s: has no such Bloom filter; there are some of the "
				"columns: %s%s; of the row groups up to %llu", display, s->names,
				more,
				(unsigned long long)s->groups - 1);
	if (s->matches > 1)
		return blm_fail(-ENOTUNIQ, "%s: has %llu Bloom filters%s, of the columns: %s%s; of "
				"the row groups up to %llu: name one (blm_exchange.column, "
				"blm_exchange.row_group)",
				display, (unsigned long long)s->matches, s->column
				|| s->row_group ? " of that name or number" : "", s->names, more,
				(unsigned long long)s->groups - 1);
	return 0;
}

/*
 * From its header, which says more than the metadata's bloom_filter_length: older files do not have
 * that.
 */
static int measure(const struct blm_bytes_at *file, uint64_t at, uint64_t *ret_bytes,
		   const char *display)
{
	uint8_t head[PARQUET_HEADER_MOST];
	size_t header;
	uint64_t bits;
	int64_t n;
	int r;

	if (at < MAGIC || at > file->count)
		return blm_fail(-EBADMSG, "%s: the metadata places the Bloom filter at byte "
				"%llu, outside of its data", display, (unsigned long long)at);
	n = file->read(file, head, sizeof(head), at);
	if (n < 0)
		return blm_fail((int)n, "%s: cannot be read: %s", display, strerror((int)-n));
	r = blm_parquet_header(head, (size_t)n, display, &header, &bits);
	if (r < 0)
		return r;
	if (bits > file->count - at || header > file->count - at - bits)
		return blm_fail(-ENODATA, "%s: the Bloom filter has %llu bytes by its header, more "
				"than the file has: it is truncated", display,
				(unsigned long long)(header + bits));
	*ret_bytes = header + bits;
	return 0;
}

int blm_parquet_locate(struct blm_piece *ret, const struct blm_bytes_at *file,
		       const struct blm_exchange *how, const char *display)
{
	struct search *s = calloc(1, sizeof(*s));
	uint64_t footer = 0, bytes = 0;
	int r = s ? find_footer(file, &footer, &bytes, display)
		: blm_fail(-ENOMEM, "%s: out of memory", display);

	if (r == 0) {
		s->column = how->column;
		s->row_group = how->row_group;
		blm_thrift_file(&s->thrift, file, footer, bytes, display);
		r = read_footer(s);
	}
	if (r == 0)
		r = check_matches(s, display);
	if (r == 0)
		r = measure(file, ret->at = s->at, &ret->bytes, display);
	free(s);
	return r;
}
