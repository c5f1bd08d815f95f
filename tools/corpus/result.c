/*
 * result.c - a file that is written under another name, and renamed when it is complete and on the
 * disk. So a file that has its name is finished.
 */
#include "result.h"
#include "../output.h"
#include "folder.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

enum { BUFFER_BYTES = 256 << 10 };

/* Where a copy to the buffer takes longer than another call of the system. */
enum { DIRECT_BYTES = 32 << 10 };

char *beside(const char *name, const char *suffix)
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	char *ret;

	return asprintf(&ret, "%.*s.%s.%s", (int)(base - name), name, base, suffix) < 0 ? NULL
		: ret;
}

static int start(struct result *r, const char *packing)
{
	const char *reason;

	r->bytes = malloc(BUFFER_BYTES);
	r->capacity = BUFFER_BYTES;
	r->packer = find_packer(packing);
	if (!r->bytes)
		return broken("out of memory");
	if (!r->name)
		return DONE;
	reason = r->packer ? r->packer->need() : NULL;
	if (reason)
		return broken("%s: to be packed with %s: %s", r->name, packing, reason);
	r->part = beside(r->name, "part");
	r->packed = malloc(BUFFER_BYTES);
	r->state = r->packer ? r->packer->start() : NULL;
	if (!r->part || !r->packed || (r->packer && !r->state))
		return broken("out of memory");
	/* A killed run left it; or it is a link, a pipe or a second name of another file. */
	unlink(r->part);
	r->fd = open(r->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	return r->fd < 0 ? broken("%s: %s", r->part, strerror(errno)) : DONE;
}

int result_begin(struct result *ret, const char *name, const char *packing)
{
	int code;

	*ret = (struct result){ .name = name, .fd = -1 };
	code = start(ret, name ? packing : NULL);
	if (code != DONE)
		result_drop(ret);
	return code;
}

static int write_out(struct result *r, const void *bytes, size_t count)
{
	const char *at = bytes;

	if (!r->name)
		return print_bytes(at, count);
	while (count) {
		ssize_t n = write(r->fd, at, count);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return broken("%s: %s", r->part, strerror(errno));
		at += n;
		count -= (size_t)n;
	}
	return DONE;
}

static int pack(struct result *r, const char *bytes, size_t count, bool end)
{
	int code = DONE;
	size_t n = 1;

	if (!r->state)
		return write_out(r, bytes, count);
	while (code == DONE && (count || (end && n))) {
		n = r->packer->pack(r->state, &bytes, &count, end, r->packed, BUFFER_BYTES);
		if (n == (size_t)-1)
			return broken("%s: cannot be packed with %s", r->part, r->packer->name);
		code = n ? write_out(r, r->packed, n) : DONE;
	}
	return code;
}

static int flush(struct result *r, bool end)
{
	size_t count = r->count;

	r->count = 0;
	return count || end ? pack(r, r->bytes, count, end) : DONE;
}

int result_write(struct result *r, const void *bytes, size_t count)
{
	int code = DONE;

	r->written += count;
	if (count >= DIRECT_BYTES || count > r->capacity - r->count)
		code = flush(r, false);
	if (code == DONE && count >= DIRECT_BYTES)
		return pack(r, bytes, count, false);
	if (code == DONE && count) {
		memcpy(r->bytes + r->count, bytes, count);
		r->count += count;
	}
	return code;
}

int result_space(struct result *r, size_t count, char **ret_at)
{
	int code = count > r->capacity - r->count ? flush(r, false) : DONE;

	if (code == DONE && count > r->capacity) {
		char *bytes = realloc(r->bytes, count);

		if (!bytes)
			return broken("out of memory");
		r->bytes = bytes;
		r->capacity = count;
	}
	*ret_at = r->bytes + r->count;
	return code;
}

void result_wrote(struct result *r, size_t count)
{
	r->count += count;
	r->written += count;
}

int result_print(struct result *r, const char *format, ...)
{
	char text[128];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return result_write(r, text, (size_t)n);
}

/*
 * Of 8 bytes, how many come before the first quote, backslash or control character. A borrow can
 * mark bytes behind that one, but none before it.
 */
static size_t plain_bytes(uint64_t x)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
	uint64_t quote = x ^ ones * '"', slash = x ^ ones * '\\';
	uint64_t found = (((x - ones * ' ') & ~x) | ((quote - ones) & ~quote)
			  | ((slash - ones) & ~slash)) & high;

	return found ? (size_t)__builtin_ctzll(found) / 8 : 8;
}

static char *put_character(char *to, unsigned char c)
{
	static const char letters[' '] = { ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r',
					   ['\t'] = 't' };

	if (c >= ' ' && c != '"' && c != '\\') {
		*to++ = (char)c;
		return to;
	}
	*to++ = '\\';
	if (c < ' ' && !letters[c])
		return to + sprintf(to, "u%04x", c);
	*to++ = c < ' ' ? letters[c] : (char)c;
	return to;
}

/* There is room for 6 bytes for each, and for 8 more. */
static char *put_string(char *to, const char *text, size_t length)
{
	const char *end = text + length;

	while (end - text >= 8) {
		uint64_t x;
		size_t plain;

		memcpy(&x, text, sizeof(x));
		memcpy(to, &x, sizeof(x));
		plain = plain_bytes(le64toh(x));
		to += plain;
		text += plain;
		if (plain < 8)
			to = put_character(to, (unsigned char)*text++);
	}
	while (text < end)
		to = put_character(to, (unsigned char)*text++);
	return to;
}

int result_string(struct result *r, const char *text, size_t length)
{
	enum { PIECE = BUFFER_BYTES / 16 };
	char *to, *end;
	int code = DONE;

	for (size_t piece; code == DONE && length; text += piece, length -= piece) {
		piece = length < PIECE ? length : PIECE;
		if (6 * piece + 8 > r->capacity - r->count)
			code = flush(r, false);
		if (code != DONE)
			break;
		to = r->bytes + r->count;
		end = put_string(to, text, piece);
		r->count = (size_t)(end - r->bytes);
		r->written += (size_t)(end - to);
	}
	return code;
}

int result_finish(struct result *r)
{
	int code = flush(r, true);

	if (code != DONE || !r->name)
		return code;
	if (fsync(r->fd) < 0 || rename(r->part, r->name) < 0)
		return broken("%s: %s", r->part, strerror(errno));
	free(r->part);
	r->part = NULL;
	return sync_folder(r->name);
}

void result_drop(struct result *r)
{
	if (r->state)
		r->packer->stop(r->state);
	if (r->fd >= 0)
		close(r->fd);
	if (r->part)
		unlink(r->part);
	free(r->part);
	free(r->packed);
	free(r->shortened.map);
	free(r->bytes);
	*r = (struct result){ .fd = -1 };
}
