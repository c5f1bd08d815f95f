/* foreign.c - a file of another program, opened as it is; and which hash made it */
#include "base/sized.h"
#include "exchange/exchange.h"
#include "file/os.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SNIFF = 64 };		/* bytes of unpacked gzip: enough to recognise every format */

/* ---- Recognising a format ---- */

static bool is_it(bool (*begins)(const uint8_t *bytes, size_t count), const uint8_t *bytes,
		  size_t count)
{
	return begins && begins(bytes, count);
}

bool blm_looks_like_gzip(const uint8_t *bytes, size_t count)
{
	return count > 2 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8;
}

int blm_find_format(const struct blm_format **ret, const char *name, const uint8_t *bytes,
		    size_t count, bool text, const char *display)
{
	*ret = name ? blm_format_by_name(name) : NULL;
	if (name)
		return *ret ? 0 : blm_fail(-ENOENT, "there is no format \"%s\"; see "
					   "blm_format_list()", name);
	for (size_t i = 0; text && !*ret && blm_format_at(i); i++)
		if (is_it(blm_format_at(i)->text_begins, bytes, count))
			*ret = blm_format_at(i);
	for (size_t i = 0; !*ret && blm_format_at(i); i++)
		if (is_it(blm_format_at(i)->begins, bytes, count))
			*ret = blm_format_at(i);
	if (*ret)
		return 0;
	return blm_fail(-EBADMSG, "%s: %s of no known format; name the format "
			"(blm_exchange.format), see blm_format_list()", display, text
			? "the contents of its base64 are" : "it is");
}

/* ---- Which hash? ---- */

/*
 * A file that was imported, or is open as it is, has the widest one for the time being; the
 * possible ones are tried on its bits.
 */
static bool holds(const struct blm_view *view, const struct blm_family *family,
		  const struct blm_key *key)
{
	struct blm_hasher by = view->hasher;
	struct blm_hashed hashed = { .key = key, .by = &by };

	by.family = family;
	if (!wants_keys(&by))
		family->hash(&by, key, &hashed.hash);
	for (unsigned i = 0; i < view->parts; i++)
		if (view->part[i].kind->contains(&view->part[i], &hashed))
			return true;
	return false;
}

static bool holds_all(const struct blm_view *view, const struct blm_family *family,
		      const struct blm_exchange *how)
{
	for (size_t i = 0; i < how->known_count; i++)
		if (!holds(view, family, &how->known[i]))
			return false;
	return true;
}

/* NAME (PROGRAM), with commas. */
static const char *list(const struct blm_candidate *candidates, unsigned count, char *buffer,
			size_t bytes)
{
	size_t at = 0;

	*buffer = '\0';
	for (unsigned i = 0; i < count && at < bytes; i++)
		at += (size_t)snprintf(buffer + at, bytes - at, "%s%s (%s)", i ? ", " : "",
				       candidates[i].family->name, candidates[i].who);
	return buffer;
}

/* The family that the caller names: any of the format's, whatever the numbers say. */
static int named(const struct blm_format *format, const char *name, struct blm_outline *o,
		 const char *display)
{
	const struct blm_family *family = blm_family_by_name(name);
	char names[256];

	if (!family || !blm_format_takes(format, family))
		return blm_fail(-EINVAL, "%s: \"%s\" is not a hash of the format %s; it has: %s",
				display, name,
				format->name,
				blm_format_families(format, names, sizeof(names)));
	o->candidate[0] = (struct blm_candidate){ family, "named" };
	o->candidates = 1;
	return 0;
}

static bool has(const struct blm_view *view, const struct blm_key *key)
{
	struct blm_hashed hashed = { .key = key, .by = &view->hasher };

	if (!wants_keys(&view->hasher))
		view->hasher.family->hash(&view->hasher, key, &hashed.hash);
	return view->root.kind->contains(&view->root, &hashed);
}

/* Nothing is left open: the caller's parameters must agree with the file. */
static int agree(const struct blm_view *view, const struct blm_exchange *how, const char *display)
{
	const struct blm_family *family = how->hash ? blm_family_by_name(how->hash) : NULL;

	if (how->hash && !family)
		return blm_fail(-ENOENT, "there is no hash \"%s\"; see blm_hash_list()", how->hash);
	if (how->strict && family && family != view->hasher.family)
		return blm_fail(-EINVAL, "%s: its hash is %s, not %s; leave out blm_exchange.hash",
				display, view->hasher.family->name,
				family->name);
	for (size_t i = 0; i < how->known_count; i++)
		if (!has(view, &how->known[i]))
			return blm_fail(-EINVAL, "%s: does not have key %zu of the known keys "
					"(blm_exchange.known)", display, i + 1);
	return 0;
}

static int choose(const struct blm_view *view, struct blm_outline *left,
		  const struct blm_exchange *how, const char *display)
{
	unsigned count = 0;
	char names[512];

	for (unsigned i = 0; i < left->candidates; i++) {
		const struct blm_family *family = left->candidate[i].family;
		const char *reason = family->need ? family->need() : NULL;

		if (reason)
			return blm_fail(-ELIBACC, "%s: the hash %s: %s", display, family->name,
					reason);
		if (holds_all(view, family, how))
			left->candidate[count++] = left->candidate[i];
	}
	if (!count)
		return blm_fail(-ENOTUNIQ, "%s: the key of blm_exchange.known is not found with "
				"any of the possible hashes: %s",
				display, list(left->candidate, left->candidates, names,
					      sizeof(names)));
	if (count > 1)
		return blm_fail(-ENOTUNIQ, "%s: does not say which hash made it, and its numbers%s "
				"fit several: %s; name one (blm_exchange.hash), or %s key in it "
				"(blm_exchange.known)", display,
				how->known_count ? " and the known keys" : "",
				list(left->candidate, count, names, sizeof(names)), how->known_count
				? "another" : "a");
	return 0;
}

/* Known keys that are in it say more than its numbers do. */
static int check_numbers(const struct blm_view *view, const struct blm_outline *outline,
			 const struct blm_exchange *how, const char *display)
{
	const char *name = view->hasher.family->name;
	bool fits = !how->strict || how->known_count;
	char names[512];

	for (unsigned i = 0; i < outline->candidates && !fits; i++)
		fits = !strcmp(outline->candidate[i].family->name, name)
			|| (outline->candidate[i].also
			    && !strcmp(outline->candidate[i].also, name));
	return fits ? 0 : blm_fail(-EINVAL,
				   "%s: its numbers rule out the hash %s; they fit %s; if it is "
				   "right, give a key that is in the filter (blm_exchange.known)",
				   display, name, list(outline->candidate, outline->candidates,
						       names, sizeof(names)));
}

int blm_resolve_family(struct blm_view *view, const struct blm_outline *outline,
		      const struct blm_format *format,
		      const struct blm_exchange *how, const char *display)
{
	struct blm_constant *constant;
	struct blm_outline *left;
	int r = 0;

	if (!outline->candidates)
		return agree(view, how, display);
	left = malloc(sizeof(*left));
	constant = malloc(sizeof(*constant));
	if (!left || !constant)
		r = blm_fail(-ENOMEM, "%s: out of memory", display);
	if (r == 0) {
		*left = *outline;
		if (how->hash)
			r = named(format, how->hash, left, display);
	}
	if (r == 0)
		r = choose(view, left, how, display);
	if (r == 0) {
		*constant = view->constant;
		blm_outline_set_family(&constant->template, left->candidate[0].family);
		r = blm_view_set_constant(view, constant, display);
	}
	if (r == 0)
		r = check_numbers(view, outline, how, display);
	free(constant);
	free(left);
	return r;
}

/* ---- Behind the last bit ---- */

bool blm_padding_is_set(const struct blm_part *part)
{
	for (uint64_t bit = padding_from(part); bit < part->shape.bytes * 8; bit++)
		if (is_padding(part, bit) && part->bytes[bit / 8] >> bit % 8 & 1)
			return true;
	return false;
}

void blm_clear_padding(const struct blm_part *part)
{
	for (uint64_t bit = padding_from(part); bit < part->shape.bytes * 8; bit++)
		if (is_padding(part, bit) && part->bytes[bit / 8] >> bit % 8 & 1)
			part->bytes[bit / 8] &= (uint8_t)~(1 << bit % 8);
}

/*
 * Some files have bytes after their bits, or ones in padding. The last page of such a file is
 * mapped as a copy without those; later additions of another program are not seen in that page.
 */
static int hide_padding(struct blm_view *view, const char *display)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (unsigned i = 0; i < view->parts; i++) {
		const struct blm_part *part = &view->part[i];
		uint64_t from = (uint64_t)(part->bytes - view->image.map) + padding_from(part) / 8;
		uint64_t to = (uint64_t)(part->bytes - view->image.map) + part->shape.bytes;
		uint8_t *at = view->image.map + from / page * page;
		size_t bytes = (size_t)(to - from / page * page);

		if (!blm_padding_is_set(part))
			continue;
		if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, view->image.fd,
			 (off_t)(from / page * page)) == MAP_FAILED)
			return blm_fail(-errno, "%s: cannot map its last page: %s", display,
					strerror(errno));
		blm_clear_padding(part);
		mprotect(at, bytes, PROT_READ);
	}
	return 0;
}

/* ---- As it is ---- */

static int map(struct blm_view **ret, int fd, const struct blm_format *format,
	       const struct blm_outline *outline, const char *display)
{
	struct blm_image image;
	int r = blm_image_map_foreign(&image, fd, display);

	if (r < 0)
		return r;
	if (image.bytes < outline->end) {
		r = blm_fail(-ENODATA, "%s: has %llu bytes, but %llu by its header: it is "
			     "truncated",
			     display, (unsigned long long)image.bytes,
			     (unsigned long long)outline->end);
		blm_image_unmap(&image);
		return r;
	}
	return blm_view_make_foreign(ret, &image, &outline->contents, display);
}

static int view_of(struct blm_view **ret, int fd, const struct blm_format *format,
		   const uint8_t *head, size_t count,
		   const struct blm_exchange *how, const char *display)
{
	struct blm_outline *outline = calloc(1, sizeof(*outline));
	int r = outline ? blm_outline_of(outline, format, head, count < format->head_bytes ? count
					 : format->head_bytes, display)
			: blm_fail(-ENOMEM, "%s: out of memory", display);

	if (r < 0) {
		free(outline);
		close(fd);
		return r;
	}
	r = map(ret, fd, format, outline, display);
	if (r == 0) {
		r = hide_padding(*ret, display);
		if (r == 0)
			r = blm_resolve_family(*ret, outline, format, how, display);
		if (r < 0)
			blm_view_free(*ret);
	}
	free(outline);
	return r;
}

/*
 * The view of a file that is imported into memory. It never changes, since the handle that gets it
 * is for reading.
 */
static int read_in(struct blm_view **ret, const struct blm_format *format,
		   const struct blm_place *place, const struct blm_exchange *how)
{
	struct blm_exchange named = *how;
	struct blm_filter *f;
	int r;

	named.format = format->name;
	r = blm_import_file(&f, NULL, NULL, &named, place->name);
	if (r < 0)
		return r;
	*ret = atomic_exchange(&f->view, NULL);
	(*ret)->read_in = true;
	blm_close(f);
	return 0;
}

/*
 * For formats whose files are often in gzip. A damaged file is of none. Fails with words: -ENOMEM.
 */
static int gzipped_format(const struct blm_format **ret, const uint8_t *head, size_t count,
			  const char *display)
{
	struct blm_reader *from;
	uint8_t bytes[SNIFF];
	int64_t n = blm_reader_memory(&from, head, count);

	*ret = NULL;
	if (n < 0)
		return (int)n;
	n = blm_reader_stage(&from, &blm_stage_gzip, display);
	if (n == 0)
		n = blm_read_full(from, bytes, sizeof(bytes));
	for (size_t i = 1; n > 0 && !*ret && blm_format_at(i); i++)
		if (blm_format_at(i)->gzipped && is_it(blm_format_at(i)->begins, bytes, (size_t)n))
			*ret = blm_format_at(i);
	blm_reader_close(from);
	return n == -ENOMEM ? (int)n : 0;
}

/* Which foreign format is it? NULL: none. Fails as gzipped_format() does. */
static int foreign_format(const struct blm_format **ret, const char *name, const uint8_t *head,
			  size_t count, const char *display)
{
	if (!name && blm_looks_like_gzip(head, count))
		return gzipped_format(ret, head, count, display);
	*ret = NULL;
	for (size_t i = 0; blm_format_at(i); i++) {
		const struct blm_format *f = blm_format_at(i);

		if (name ? !strcmp(f->name, name) : is_it(f->begins, head, count)) {
			*ret = i ? f : NULL;
			break;
		}
	}
	return 0;
}

int blm_exchange_take(struct blm_exchange *ret, const struct blm_exchange *given)
{
	*ret = BLM_EXCHANGE();
	return given ? blm_sized_take(ret, sizeof(*ret),
				      BLM_FIRST_SIZE(struct blm_exchange, redis_key), given,
				      "blm_exchange") : 0;
}

int blm_format_check_given(const struct blm_format *format, const struct blm_exchange *how,
			   const char *display)
{
	if (how->seed_count && !format->seeded)
		return blm_fail(-EINVAL, "%s: a file of %s takes no seeds; leave out "
				"blm_exchange.seeds",
				display, format->name);
	if ((how->column || how->row_group) && !format->columns)
		return blm_fail(-EINVAL, "%s: a file of %s has no columns and row groups; leave "
				"out blm_exchange.column and blm_exchange.row_group", display,
				format->name);
	if (how->strict && (how->cells || how->probes) && !format->unsized)
		return blm_fail(-EINVAL, "%s: a file of %s has its own numbers of bits and probes; "
				"leave out blm_exchange.cells and blm_exchange.probes", display,
				format->name);
	if (how->strict && how->record && !format->records)
		return blm_fail(-EINVAL, "%s: a file of %s has one filter only: leave out "
				"blm_exchange.record", display, format->name);
	return 0;
}

int blm_foreign_view(struct blm_view **ret, const struct blm_place *place, bool write,
		     const struct blm_exchange *how)
{
	const char *display = place->display;
	const struct blm_format *format = NULL;
	uint8_t head[BLM_ORIGIN_BYTES] = { 0 };
	int fd = blm_place_open(place, false, NULL), r;
	int64_t n;

	if (fd < 0)
		return fd;
	n = blm_read_at(fd, head, sizeof(head), 0);
	if (n < 0 && n != -ESPIPE && n != -EISDIR) {
		close(fd);
		return blm_fail((int)n, "%s: cannot be read: %s", display, strerror((int)-n));
	}
	r = n > 0 ? foreign_format(&format, how->format, head, (size_t)n, display) : 0;
	if (r < 0) {
		close(fd);
		return r;
	}
	if (format && format->in_place && !write) {
		r = blm_format_check_given(format, how, display);
		if (r == 0)
			return view_of(ret, fd, format, head, (size_t)n, how, display);
		close(fd);
		return r;
	}
	close(fd);
	if (!format)
		return 1;
	if (write)
		return blm_fail(-EOPNOTSUPP, "%s: a file of %s, which is opened only for reading; "
				"import it to change it", display, format->name);
	return read_in(ret, format, place, how);
}

BLM_API int blm_open_foreign(struct blm_filter **ret, const char *path,
			     const struct blm_exchange *how)
{
	struct blm_exchange ours;
	struct blm_place place;
	int r = blm_exchange_take(&ours, how);

	if (r < 0)
		return r;
	if (!path)
		return blm_fail(-EINVAL, "the path of a file is needed");
	if (ours.format && !blm_format_by_name(ours.format))
		return blm_fail(-ENOENT, "there is no format \"%s\"; see blm_format_list()",
				ours.format);
	r = blm_place_set(&place, NULL, path);
	return r < 0 ? r : blm_open_any(ret, &place, false, NULL, &ours);
}
