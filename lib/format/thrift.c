/* thrift.c - Thrift's compact protocol, read piece by piece */
#include "format/thrift.h"

enum { DEPTH_MOST = 32 };

void blm_thrift_memory(struct blm_thrift *t, const uint8_t *bytes, size_t count,
		       const char *display)
{
	t->file = NULL;
	t->at = t->end = 0;
	t->next = bytes;
	t->left = count;
	t->display = display;
	t->failed = 0;
}

void blm_thrift_file(struct blm_thrift *t, const struct blm_bytes_at *file, uint64_t at,
		     uint64_t bytes, const char *display)
{
	blm_thrift_memory(t, t->window, 0, display);
	t->file = file;
	t->at = at;
	t->end = at + bytes;
}

static uint64_t fail(struct blm_thrift *t, int r, const char *reason)
{
	if (!t->failed)
		t->failed = blm_fail(r, "%s: its Thrift %s", t->display, reason);
	t->left = 0;
	t->at = t->end;
	return 0;
}

/* The rest of the message. */
static uint64_t rest(const struct blm_thrift *t)
{
	return t->left + (t->end - t->at);
}

static void fill(struct blm_thrift *t)
{
	size_t want = t->end - t->at < sizeof(t->window) ? (size_t)(t->end - t->at)
		: sizeof(t->window);
	int64_t n = want ? t->file->read(t->file, t->window, want, t->at) : 0;

	if (n < 0 && !t->failed)
		t->failed = blm_fail((int)n, "%s: cannot be read: %s", t->display,
				     strerror((int)-n));
	if (n <= 0) {
		fail(t, -ENODATA, "message ends too early: it is truncated");
		return;
	}
	t->next = t->window;
	t->left = (size_t)n;
	t->at += (uint64_t)n;
}

static uint8_t take(struct blm_thrift *t)
{
	if (!t->left)
		fill(t);
	if (!t->left)
		return 0;
	t->left--;
	return *t->next++;
}

static uint64_t varint(struct blm_thrift *t)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = take(t);

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	return fail(t, -EBADMSG, "message has a number of more than 64 bits");
}

int64_t blm_thrift_number(struct blm_thrift *t)
{
	uint64_t x = varint(t);

	return (int64_t)(x >> 1 ^ -(x & 1));
}

bool blm_thrift_next(struct blm_thrift *t, struct blm_thrift_field *field)
{
	uint8_t byte = take(t);

	/* whatever the rest of a byte without a type says, there is no field */
	if (t->failed || !(byte & 15))
		return false;
	field->type = byte & 15;
	field->id = byte >> 4 ? field->id + (byte >> 4) : (int16_t)blm_thrift_number(t);
	if (field->type > BLM_THRIFT_UUID || field->id < INT16_MIN || field->id > INT16_MAX)
		fail(t, -EBADMSG, "message has a field of no known type");
	return !t->failed;
}

/* The number of elements and their type; each of them takes a byte at least. */
static uint64_t elements(struct blm_thrift *t, unsigned *ret_type)
{
	uint8_t byte = take(t);
	uint64_t count = byte >> 4 < 15 ? byte >> 4 : varint(t);

	*ret_type = byte & 15;
	return count <= rest(t) ? count : fail(t, -EBADMSG, "message has a list with more elements "
					       "than bytes are left");
}

uint64_t blm_thrift_list(struct blm_thrift *t, unsigned type)
{
	unsigned found;
	uint64_t count = elements(t, &found);

	return found == type || !count ? count
		: fail(t, -EBADMSG, "message has a list whose elements are of another type than "
		       "they should be");
}

static void pass_bytes(struct blm_thrift *t, uint64_t count)
{
	size_t here = count < t->left ? (size_t)count : t->left;

	if (count > rest(t)) {
		fail(t, -EBADMSG, "message has a string that is longer than what is left");
		return;
	}
	t->next += here;
	t->left -= here;
	t->at += count - here;
}

uint64_t blm_thrift_binary(struct blm_thrift *t, void *buffer, size_t bytes)
{
	uint64_t count = varint(t);
	uint8_t *to = buffer;

	if (count > rest(t))
		return fail(t, -EBADMSG, "message has a string that is longer than what is left");
	for (uint64_t i = 0; i < count && i < bytes; i++)
		to[i] = take(t);
	if (count > bytes)
		pass_bytes(t, count - bytes);
	return t->failed ? 0 : count;
}

static void scan(struct blm_thrift *t, unsigned type, unsigned depth);

static void pass_elements(struct blm_thrift *t, uint64_t count, unsigned first, unsigned second,
			  unsigned depth)
{
	for (uint64_t i = 0; i < count && !t->failed; i++) {
		/* in a list a boolean has a byte of its own, in a struct it is its type */
		scan(t, first <= BLM_THRIFT_FALSE ? BLM_THRIFT_I8 : first, depth);
		if (second)
			scan(t, second <= BLM_THRIFT_FALSE ? BLM_THRIFT_I8 : second, depth);
	}
}

static void pass_map(struct blm_thrift *t, unsigned depth)
{
	uint64_t count = varint(t);
	uint8_t types = count ? take(t) : 0;

	if (count > rest(t))
		fail(t, -EBADMSG, "message has a map with more elements than bytes are left");
	else if (count && !(types & 15))
		fail(t, -EBADMSG, "message has an element of no known type");
	else
		pass_elements(t, count, types >> 4, types & 15, depth);
}

static void scan(struct blm_thrift *t, unsigned type, unsigned depth)
{
	struct blm_thrift_field field = { 0 };
	uint64_t count;
	unsigned of;

	if (depth > DEPTH_MOST) {
		fail(t, -EBADMSG, "message is nested too deeply");
		return;
	}
	switch (type) {
	case BLM_THRIFT_TRUE:
	case BLM_THRIFT_FALSE:
		break;
	case BLM_THRIFT_I8:
		take(t);
		break;
	case BLM_THRIFT_I16:
	case BLM_THRIFT_I32:
	case BLM_THRIFT_I64:
		varint(t);
		break;
	case BLM_THRIFT_DOUBLE:
		pass_bytes(t, 8);
		break;
	case BLM_THRIFT_UUID:
		pass_bytes(t, 16);
		break;
	case BLM_THRIFT_BINARY:
		pass_bytes(t, varint(t));
		break;
	case BLM_THRIFT_LIST:
	case BLM_THRIFT_SET:
		count = elements(t, &of);
		pass_elements(t, count, of, 0, depth + 1);
		break;
	case BLM_THRIFT_MAP:
		pass_map(t, depth + 1);
		break;
	case BLM_THRIFT_STRUCT:
		while (blm_thrift_next(t, &field))
			scan(t, field.type, depth + 1);
		break;
	default:
		fail(t, -EBADMSG, "message has an element of no known type");
	}
}

void blm_thrift_pass(struct blm_thrift *t, unsigned type)
{
	scan(t, type, 0);
}
