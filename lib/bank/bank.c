/* bank.c - a bank of filters: opened, checked, and asked which of them may hold a key */
#include "bank/bank.h"
#include "file/sigbus.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

/* ---- Where everything lies ---- */

bool blm_bank_lay_out(struct blm_bank_layout *ret, uint64_t rows, uint64_t row_bytes,
		      uint64_t text_bytes)
{
	const uint64_t most = UINT64_C(1) << 40;
	struct blm_bank_layout at = { .slice_bytes = round_up(rows, 512) / 8 };
	unsigned __int128 bytes = (unsigned __int128)rows * row_bytes + (unsigned __int128)row_bytes
		* 8 * at.slice_bytes;

	if (!rows || rows > most || !row_bytes || row_bytes > most || row_bytes % 64
	    || text_bytes > UINT64_C(1) << 60 || bytes >> 60)
		return false;
	at.ones = BLM_BANK_HEADER_BYTES;
	at.order = round_up(at.ones + 8 * rows, 64);
	at.ids = round_up(at.order + 8 * rows, 64);
	at.text = round_up(at.ids + 8 * (rows + 1), 64);
	at.rows = round_up(at.text + text_bytes, BLM_PAGE);
	at.slices = round_up(at.rows + rows * row_bytes, BLM_PAGE);
	at.checks = at.slices + row_bytes * 8 * at.slice_bytes;
	at.end = at.checks + 8 * blocks_of_part(at.checks - at.ones);
	*ret = at;
	return true;
}

void blm_bank_leave_out_slices(struct blm_bank_layout *at)
{
	at->slice_bytes = 0;
	at->checks = at->slices;
	at->end = at->checks + 8 * blocks_of_part(at->checks - at->ones);
}

uint64_t blm_bank_check_sizes(const struct blm_bank_header *h)
{
	uint64_t seed;

	memcpy(&seed, h->constant.uuid, 8);
	return blm_check_bytes(&h->sizes, offsetof(struct blm_bank_sizes, check), le64toh(seed));
}

/* ---- Opening ---- */

/* Each key is some bits of one array. */
static bool is_bits(const struct blm_kind *kind)
{
	return kind_only_sets(kind) && kind->add && kind->probe && !kind->compose && !kind->forgets;
}

static bool is_banked(const struct blm_kind *kind)
{
	return is_bits(kind) || kind->contains_ranges;
}

static const char *banked_kinds(char *buffer, size_t bytes)
{
	size_t len = 0;

	for (size_t i = 0; blm_kind_at(i) && len < bytes; i++)
		if (is_banked(blm_kind_at(i)))
			len += (size_t)snprintf(buffer + len, bytes - len, "%s%s", len ? ", " : "",
						blm_kind_at(i)->name);
	return buffer;
}

int blm_bank_takes(const struct blm_kind *kind, const struct blm_template_fields *t,
		   const char *display)
{
	const struct blm_family *family = blm_family_by_id(le32toh(t->family));
	char names[256];

	if (!is_banked(kind))
		return blm_fail(-EOPNOTSUPP, "%s: %s filters cannot be in a bank; these kinds can: "
				"%s", display, kind->name,
				banked_kinds(names, sizeof(names)));
	if (family && family->keyed)
		return blm_fail(-EOPNOTSUPP, "%s: its hash %s has a secret key, which a bank "
				"cannot hold; use a hash without one", display, family->name);
	return 0;
}

/* An empty filter as all in the bank are, in memory. */
static int make_like(struct blm_bank *b, const struct blm_constant *c)
{
	const struct blm_template_fields *t = &c->template;
	struct blm_view *like = b->like;
	struct blm_part *part = &like->part[0];
	void *bytes;
	int r = 0;

	like->constant = *c;
	like->parts = 1;
	*part = (struct blm_part){
		.kind = blm_kind_known(le32toh(t->kind), b->display, &r), .simd = blm_simd_best(),
		.unshared = true,
		.shape = { .cells = le64toh(t->cells), .bytes = b->row_bytes,
			   .probes = le32toh(t->probes), .cell_bits = le32toh(t->cell_bits),
			   .capacity = le64toh(c->capacity),
			   .rate = blm_double_of(le64toh(c->rate)) },
	};
	for (int i = 0; i < BLM_KIND_ARGS; i++)
		part->shape.args[i] = le64toh(t->args[i]);
	r = r < 0 ? r : blm_hasher_set(&like->hasher, like->seeds, t, NULL, b->display);
	r = r < 0 ? r : blm_bank_takes(part->kind, t, b->display);
	if (r < 0)
		return r;
	if (!blm_order_xor(le32toh(t->bit_order), part->shape.cells, &part->order_xor)
	    || !part->kind->valid(&part->shape))
		return blm_fail(-EBADMSG, "%s: no %s filter has m=%llu, k=%u, %u-bit cells in %llu "
				"bytes", b->display, part->kind->name,
				(unsigned long long)part->shape.cells, part->shape.probes,
				part->shape.cell_bits, (unsigned long long)b->row_bytes);
	like->root = *part;
	r = blm_view_check_template(like, b->display);
	if (r < 0)
		return r;
	if (!bank_has_slices(part->kind))	/* no key is added to it */
		return 0;
	/* zeros that take no memory before they are touched, whatever a file says of its size */
	bytes = mmap(NULL, b->row_bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bytes == MAP_FAILED)
		return blm_fail(-ENOMEM, "%s: out of memory", b->display);
	part->bytes = bytes;
	like->root = *part;
	return 0;
}

/* Unknown kinds are make_like()'s to refuse. */
static bool says_slices(const struct blm_bank_header *h)
{
	const struct blm_kind *kind = blm_kind_by_id(le32toh(h->constant.template.kind));

	return !kind || bank_has_slices(kind);
}

static int check(struct blm_bank *b)
{
	struct blm_bank_header h;
	int r;

	if (b->image.bytes < sizeof(h))
		return blm_fail(b->image.bytes < 8
				|| memcmp(b->image.map, BLM_BANK_MAGIC, 8) ? -EBADMSG : -ENODATA,
				"%s: has %llu bytes, too few for a bank", b->display,
				(unsigned long long)b->image.bytes);
	memcpy(&h, b->image.map, sizeof(h));
	r = blm_constant_check(&h.constant, BLM_BANK_MAGIC, BLM_BANK_HEADER_BYTES, b->display);
	if (r < 0)
		return r;
	b->rows = le64toh(h.sizes.rows);
	b->row_bytes = le64toh(h.sizes.row_bytes);
	b->text_bytes = le64toh(h.sizes.text_bytes);
	if (h.sizes.check != blm_bank_check_sizes(&h)
	    || !blm_bank_lay_out(&b->at, b->rows, b->row_bytes, b->text_bytes))
		return blm_fail(-EBADMSG, "%s: the sizes in the header are damaged", b->display);
	if (!says_slices(&h))
		blm_bank_leave_out_slices(&b->at);
	if (b->image.bytes < b->at.end)
		return blm_fail(-ENODATA, "%s: has %llu bytes, but %llu by its header: it is "
				"truncated",
				b->display, (unsigned long long)b->image.bytes,
				(unsigned long long)b->at.end);
	return make_like(b, &h.constant);
}

BLM_API int blm_bank_open(struct blm_bank **ret, const char *path)
{
	int fd = -1, r = blm_must_have(path, "path");
	struct blm_bank *b = r == 0 ? calloc(1, sizeof(*b)) : NULL;

	if (r < 0)
		return r;
	if (!b || !(b->display = strdup(path)) || !(b->like = calloc(1, sizeof(*b->like))))
		r = blm_fail(-ENOMEM, "%s: out of memory", path);
	if (r == 0)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (r == 0 && fd < 0)
		r = blm_fail(-errno, "%s: %s", path, errno == ENOENT ? "no such bank; "
			     "blm_bank_begin() makes one of filters" : strerror(errno));
	if (r == 0)
		r = blm_image_map_foreign(&b->image, fd, path);
	if (b)
		pthread_mutex_init(&b->adding, NULL);
	if (r == 0)
		r = check(b);
	if (r < 0) {
		blm_bank_close(b);
		return r;
	}
	*ret = b;
	return 0;
}

BLM_API struct blm_bank *blm_bank_close(struct blm_bank *b)
{
	if (!b)
		return NULL;
	blm_image_unmap(&b->image);
	if (b->like && b->like->part[0].bytes)
		munmap(b->like->part[0].bytes, b->row_bytes);
	free(b->like);
	free(b->display);
	pthread_mutex_destroy(&b->adding);
	free(b);
	return NULL;
}

/* ---- What is in it ---- */

BLM_API void blm_bank_info(const struct blm_bank *b, struct blm_bank_info *ret)
{
	const struct blm_view *like = b->like;

	*ret = (struct blm_bank_info){
		.rows = b->rows, .row_bytes = b->row_bytes, .file_bytes = b->at.end,
		.cells = like->root.shape.cells,
		.probes = like->root.shape.probes, .kind = like->root.kind->name,
		.family = like->hasher.family->name,
	};
	memcpy(ret->template_id, like->constant.template_id, 16);
	memcpy(ret->uuid, like->constant.uuid, 16);
}

static int check_row(const struct blm_bank *b, uint64_t row)
{
	return row < b->rows ? 0 : blm_fail(-EINVAL, "%s: there is no row %llu: it has %llu rows, "
					    "numbered from 0", b->display,
					    (unsigned long long)row, (unsigned long long)b->rows);
}

/* The numbers are the file's, so they are looked at each time. */
BLM_API int blm_bank_text(const struct blm_bank *b, uint64_t row, const char **ret,
			  size_t *ret_id_bytes, size_t *ret_bytes)
{
	int r = check_row(b, row);
	uint64_t from, to;
	const char *text, *tab;

	if (r < 0)
		return r;
	from = le64toh(bank_words(b, b->at.ids)[row]);
	to = le64toh(bank_words(b, b->at.ids)[row + 1]);
	if (from > to || to > b->text_bytes)
		return blm_fail(-EBADMSG, "%s: the id of row %llu is damaged", b->display,
				(unsigned long long)row);
	text = (const char *)b->image.map + b->at.text + from;
	tab = memchr(text, '\t', to - from);
	*ret = text;
	*ret_id_bytes = tab ? (size_t)(tab - text) : to - from;
	if (ret_bytes)
		*ret_bytes = to - from;
	return 0;
}

BLM_API int blm_bank_find(const struct blm_bank *b, const char *id, uint64_t *ret)
{
	uint64_t found = 0;

	if (!id)
		return blm_must_have(id, "id");
	for (uint64_t row = 0; row < b->rows; row++) {
		const char *text;
		size_t bytes;
		int r = blm_bank_text(b, row, &text, &bytes, NULL);

		if (r < 0)
			return r;
		if (bytes != strlen(id) || memcmp(text, id, bytes))
			continue;
		if (found++)
			return blm_fail(-ENOTUNIQ, "%s: several rows have the id \"%s\"",
					b->display,
					id);
		*ret = row;
	}
	return found ? 0 : blm_fail(-ENOENT, "%s: no row has the id \"%s\"", b->display, id);
}

int blm_bank_check_bits(const struct blm_bank *b)
{
	return bank_has_slices(b->like->root.kind) ? 0
		: blm_fail(-EOPNOTSUPP, "%s: a bank of %s filters, whose data cannot be compared; "
			   "ask which of them have a key or a range", b->display,
			   b->like->root.kind->name);
}

BLM_API int blm_bank_read(const struct blm_bank *b, uint64_t row, void *ret)
{
	int r = check_row(b, row);

	if (r == 0)
		memcpy(ret, bank_row(b, row), b->row_bytes);
	return r;
}

BLM_API int blm_bank_read_filter(const struct blm_bank *b, const struct blm_filter *f, void *ret)
{
	BLM_CRITICAL_SECTION;
	const struct blm_view *view = current_view(f);

	if (memcmp(view->constant.template_id, b->like->constant.template_id, 16)
	    || (bank_has_slices(view->root.kind) ? view->root.shape.bytes != b->row_bytes
		: view->root.shape.bytes > b->row_bytes))
		return blm_fail(-EMEDIUMTYPE, "%s: does not have the template of the filters in %s",
				f->place.display, b->display);
	bank_copy(ret, &view->root);
	memset((uint8_t *)ret + view->root.shape.bytes, 0, b->row_bytes - view->root.shape.bytes);
	return blm_check_sigbus(view, f->place.display);
}

/* ---- Which of them may hold a key? ---- */

/*
 * The bits of a key: those that an empty filter has when it was added. They are in the lines of 64
 * bytes that a question looks at. Return: how many; -1: a key that this kind takes nowhere.
 */
static int bits_of_key(struct blm_bank *b, const struct blm_key *key, uint64_t ret[BLM_PROBES_MAX])
{
	struct blm_part *part = &b->like->part[0];
	struct blm_hashed hashed = { .key = key, .by = &b->like->hasher };
	const uint64_t *place;
	uint64_t mask;
	int count = 0;

	if (!wants_keys(hashed.by))
		hashed.by->family->hash(hashed.by, key, &hashed.hash);
	pthread_mutex_lock(&b->adding);
	if (part->kind->add(part, &hashed) < 0)
		count = -1;
	/* which places those are follows from the hash alone */
	for (unsigned i = 0; count >= 0 && (place = part->kind->probe(part, &hashed, i, &mask));
	     i++) {
		uint64_t line = (uint64_t)((const uint8_t *)place - part->bytes) / 64 * 8;

		for (uint64_t w = line; w < line + 8; w++) {
			uint64_t *word = (uint64_t *)part->bytes + w, bits = le64toh(*word);

			*word = 0;
			for (; bits && count < BLM_PROBES_MAX; bits &= bits - 1)
				ret[count++] = 64 * w + (uint64_t)__builtin_ctzll(bits);
		}
	}
	pthread_mutex_unlock(&b->adding);
	return count;
}

/* 512 rows at a time, of each slice one line, until none of them is left. */
int64_t blm_bank_ask(struct blm_bank *b, const struct blm_key *key, uint64_t *ret_bits,
		     uint64_t *ret_lines)
{
	uint64_t bits[BLM_PROBES_MAX], lines = 0, words = (b->rows + 63) / 64;
	const uint8_t *slices = b->image.map + b->at.slices;
	int64_t found = 0;
	int count;

	if (!bank_has_slices(b->like->root.kind)) {
		struct blm_hash hash;

		b->like->hasher.family->hash(&b->like->hasher, key, &hash);
		if (ret_lines)
			*ret_lines = 0;
		return blm_bank_ask_range(b, &hash, &hash, ret_bits);
	}
	count = bits_of_key(b, key, bits);
	for (uint64_t at = 0; at < words; at += 8) {
		uint64_t left[8], any = count > 0;

		memset(left, count > 0 ? 0xff : 0, sizeof(left));
		for (int i = 0; i < count && any; i++, lines++) {
			const uint64_t *line = (const uint64_t *)(slices + bits[i]
				* b->at.slice_bytes) + at;

			any = 0;
			for (int w = 0; w < 8; w++)
				any |= left[w] &= line[w];
		}
		for (int w = 0; w < 8 && at + (uint64_t)w < words; w++) {
			uint64_t rows = b->rows - 64 * (at + (uint64_t)w), word = le64toh(left[w]);

			word &= rows < 64 ? (UINT64_C(1) << rows) - 1 : UINT64_MAX;
			found += __builtin_popcountll(word);
			if (ret_bits)
				ret_bits[at + (uint64_t)w] = word;
		}
	}
	if (ret_lines)
		*ret_lines = lines;
	return blm_sigbus_hit(b->image.map)
		? blm_fail(-EIO, "%s: truncated, or cannot be read", b->display) : found;
}

BLM_API int64_t blm_bank_which(struct blm_bank *b, const void *key, size_t len, uint64_t *ret_bits)
{
	return blm_bank_ask(b, &(struct blm_key){ key, len }, ret_bits, NULL);
}
