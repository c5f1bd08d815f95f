/* keys.c - Python's objects as keys: one, an iterable of them, or a buffer of keys of one width */
#include "core.h"

enum { CHUNK = 1 << 16 };	/* keys that are taken from an iterator at a time */

int key_from(PyObject *object, struct key *ret)
{
	Py_ssize_t len = 0;
	const char *bytes;

	ret->held = 0;
	if (PyUnicode_Check(object)) {
		bytes = PyUnicode_AsUTF8AndSize(object, &len);
		if (!bytes)
			return -1;
	} else if (PyBytes_Check(object)) {
		bytes = PyBytes_AsString(object);
		len = PyBytes_Size(object);
	} else if (PyLong_Check(object) && !PyBool_Check(object)) {
		uint64_t number = (uint64_t)PyLong_AsLongLong(object);

		if (number == (uint64_t)-1 && PyErr_Occurred())
			return -1;
		for (int i = 0; i < 8; i++)
			ret->number[i] = (uint8_t)(number >> 8 * i);
		bytes = (const char *)ret->number;
		len = 8;
	} else if (PyObject_CheckBuffer(object) && !PyFloat_Check(object)) {
		if (PyObject_GetBuffer(object, &ret->view, PyBUF_SIMPLE) < 0)
			return -1;
		ret->held = 1;
		bytes = ret->view.buf;
		len = ret->view.len;
	} else {
		PyErr_Format(PyExc_TypeError, "a key is str, bytes-like or int, not %R; encode it "
			     "yourself", Py_TYPE(object));
		return -1;
	}
	ret->key = (struct blm_key){ bytes, (size_t)len };
	return 0;
}

void key_done(struct key *key)
{
	if (key->held)
		PyBuffer_Release(&key->view);
	key->held = 0;
}

/* ---- Answers ---- */

struct answers {
	uint64_t *bits;
	size_t count;
	int64_t yes;
};

static int more_answers(struct answers *a, size_t count)
{
	size_t words = (a->count + count + 63) / 64;
	uint64_t *bits = realloc(a->bits, (words + 1) * sizeof(*bits));

	if (!bits) {
		PyErr_NoMemory();
		return -1;
	}
	memset(bits + a->count / 64, 0, (words + 1 - a->count / 64) * sizeof(*bits));
	a->bits = bits;
	return 0;
}

/* Gives bytes; the library's words are as the machine has them, which is little-endian here. */
static PyObject *bitmap(const struct answers *a)
{
	return PyBytes_FromStringAndSize((const char *)a->bits, (Py_ssize_t)((a->count + 7) / 8));
}

static PyObject *done(struct answers *a, int64_t r)
{
	PyObject *bits = a->bits || !a->count ? bitmap(a) : NULL, *ret = NULL;

	if (r < 0 && !PyErr_Occurred())
		fail((int)r, bits);
	else if (r >= 0 && bits)
		ret = Py_BuildValue("LOn", (long long)a->yes, bits, (Py_ssize_t)a->count);
	Py_XDECREF(bits);
	free(a->bits);
	return ret;
}

/* ---- Many keys ---- */

static int64_t use_keys(void *target, enum op op, const struct blm_key *keys, size_t count,
			uint64_t *bits)
{
	switch (op) {
	case CONTAINS: return blm_contains_many(target, keys, count, bits);
	case ADD:      return blm_add_many(target, keys, count, bits);
	case CLAIM:    return blm_claim_many(target, keys, count, bits);
	case REMOVE:   return blm_remove_many(target, keys, count, bits);
	default:       return blm_build_add_many(target, keys, count);
	}
}

static int64_t use_fixed(void *target, enum op op, const char *keys, size_t width, size_t count,
			 uint64_t *bits)
{
	switch (op) {
	case CONTAINS: return blm_contains_fixed(target, keys, width, count, bits);
	case ADD:      return blm_add_fixed(target, keys, width, count, bits);
	case CLAIM:    return blm_claim_fixed(target, keys, width, count, bits);
	default:       return blm_build_add_fixed(target, keys, width, count);
	}
}

/* Whoever fails in the middle has the answers up to there. */
static int64_t took(struct answers *a, size_t count, int64_t r)
{
	a->count += count;
	a->yes += r > 0 ? r : 0;
	return r < 0 ? r : 0;
}

/* All of a tuple, whose items live as long as it does. Keys that are not bytes or str have room. */
static int64_t run_tuple(void *target, enum op op, PyObject *tuple, struct answers *a)
{
	size_t count = (size_t)PyTuple_Size(tuple), kept = 0, room = 0;
	struct blm_key *keys = malloc((count + 1) * sizeof(*keys));
	struct key one, **keep = NULL;
	int64_t r = keys && more_answers(a, count) == 0 ? 0 : -ENOMEM;

	if (!keys)
		PyErr_NoMemory();
	for (size_t i = 0; r == 0 && i < count; i++) {
		PyObject *item = PyTuple_GetItem(tuple, (Py_ssize_t)i);

		r = key_from(item, &one) < 0 ? -EINVAL : 0;
		if (r < 0)
			break;
		keys[i] = one.key;
		if (PyUnicode_Check(item) || PyBytes_Check(item))
			continue;
		if (kept == room) {
			struct key **larger = realloc(keep, (room = 2 * room + 64) * sizeof(*keep));

			keep = larger ? larger : keep;
			r = larger ? 0 : -ENOMEM;
		}
		if (r == 0 && (keep[kept] = malloc(sizeof(one)))) {
			*keep[kept] = one;
			if (!one.held)
				keys[i].bytes = keep[kept]->number;
			kept++;
		} else {
			r = -ENOMEM;
			key_done(&one);
			PyErr_NoMemory();
		}
	}
	if (r == 0 && count) {
		Py_BEGIN_ALLOW_THREADS
		r = use_keys(target, op, keys, count, a->bits + a->count / 64);
		Py_END_ALLOW_THREADS
		r = took(a, count, r);
	}
	for (size_t i = 0; i < kept; i++) {
		key_done(keep[i]);
		free(keep[i]);
	}
	free(keep);
	free(keys);
	return r;
}

/* Up to CHUNK items. Return: a tuple, or NULL with an exception. */
static PyObject *take(PyObject *iterator)
{
	PyObject *list = PyList_New(0), *item = NULL, *tuple;

	for (int i = 0; list && i < CHUNK && (item = PyIter_Next(iterator)); i++) {
		int r = PyList_Append(list, item);

		Py_DECREF(item);
		if (r < 0)
			break;
	}
	tuple = list && !PyErr_Occurred() ? PyList_AsTuple(list) : NULL;
	Py_XDECREF(list);
	return tuple;
}

static int64_t run_iterable(void *target, enum op op, PyObject *keys, struct answers *a)
{
	PyObject *iterator = PyObject_GetIter(keys), *tuple;
	int64_t r = iterator ? 0 : -EINVAL;
	Py_ssize_t count = CHUNK;

	while (r == 0 && count == CHUNK) {
		tuple = take(iterator);
		count = tuple ? PyTuple_Size(tuple) : 0;
		r = tuple ? run_tuple(target, op, tuple, a) : -EINVAL;
		Py_XDECREF(tuple);
	}
	Py_XDECREF(iterator);
	return r;
}

/* Whole numbers of this machine's byte order, and bytes: what is the same key everywhere. */
static int is_plain(const char *format)
{
	if (!format)
		return 1;
	format += strspn(format, "@=<");
	format += strspn(format, "0123456789");
	return *format && !format[1] && strchr("cbBhHiIlLqQnNsp", *format);
}

/* 1: it was a buffer; 0: it is to be iterated; or -1 with an exception. */
static int fixed_from(PyObject *keys, Py_buffer *view, size_t *width, size_t *count)
{
	if (!PyObject_CheckBuffer(keys))
		return 0;
	if (PyObject_GetBuffer(keys, view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0)
		return -1;
	if (view->format && !strcmp(view->format, "O")) {
		PyBuffer_Release(view);
		return 0;
	}
	if (!is_plain(view->format) || view->ndim < 1 || view->ndim > 2
	    || (view->ndim == 2 && view->itemsize != 1)) {
		PyErr_Format(PyExc_TypeError, "an array of keys has one dimension of whole numbers "
			     "or bytes, or two of bytes; not %d of format '%s'", view->ndim,
			     view->format ? view->format : "B");
		PyBuffer_Release(view);
		return -1;
	}
	*width = (size_t)(view->ndim == 2 ? view->shape[1] : view->itemsize);
	*count = (size_t)view->shape[0];
	return 1;
}

static int64_t run_fixed(void *target, enum op op, Py_buffer *view, size_t width, size_t count,
			 struct answers *a)
{
	int64_t r = more_answers(a, count) < 0 ? -ENOMEM : 0;

	if (r == 0 && op == REMOVE) {
		PyErr_SetString(PyExc_TypeError, "remove_many() takes no array of keys of one "
				"width; give it a list of bytes");
		r = -EINVAL;
	}
	if (r == 0) {
		Py_BEGIN_ALLOW_THREADS
		r = use_fixed(target, op, view->buf, width, count, a->bits);
		Py_END_ALLOW_THREADS
		r = took(a, count, r);
	}
	return r;
}

PyObject *run_many(void *target, enum op op, PyObject *keys)
{
	struct answers a = { 0 };
	size_t width = 0, count = 0;
	Py_buffer view;
	int64_t r;
	int is;

	if (PyUnicode_Check(keys) || PyBytes_Check(keys)) {
		PyErr_Format(PyExc_TypeError, "many keys are an iterable or an array; %R is one "
			     "key", Py_TYPE(keys));
		return NULL;
	}
	if (PyTuple_Check(keys) || PyList_Check(keys)) {
		PyObject *tuple = PySequence_Tuple(keys);

		r = tuple ? run_tuple(target, op, tuple, &a) : -ENOMEM;
		Py_XDECREF(tuple);
		return done(&a, r);
	}
	is = fixed_from(keys, &view, &width, &count);
	if (is < 0)
		return NULL;
	r = is ? run_fixed(target, op, &view, width, count, &a)
		: run_iterable(target, op, keys, &a);
	if (is)
		PyBuffer_Release(&view);
	return done(&a, r);
}

/* ---- Packed keys ---- */

static int64_t use_packed(struct blm_filter *f, enum op op, const void *data, const void *offsets,
			  size_t bytes, size_t count, uint64_t *bits)
{
	switch (op) {
	case CONTAINS: return blm_contains_packed(f, data, offsets, bytes, count, bits);
	case ADD:      return blm_add_packed(f, data, offsets, bytes, count, bits);
	case CLAIM:    return blm_claim_packed(f, data, offsets, bytes, count, bits);
	default:       return blm_remove_packed(f, data, offsets, bytes, count, bits);
	}
}

/* The last offset is checked here, since the library does not know how long the data are. */
static int fits(const Py_buffer *data, const Py_buffer *offsets)
{
	const char *last = (const char *)offsets->buf + offsets->len - offsets->itemsize;
	int64_t end = 0;
	int32_t narrow;

	if (offsets->len && offsets->itemsize == 4) {
		memcpy(&narrow, last, 4);
		end = narrow;
	} else if (offsets->len && offsets->itemsize == 8) {
		memcpy(&end, last, 8);
	}
	if (end <= data->len)
		return 1;
	PyErr_Format(PyExc_ValueError, "offsets: the last one is %lld, but data has %zd bytes",
		     (long long)end, data->len);
	return 0;
}

PyObject *run_packed(struct blm_filter *f, enum op op, PyObject *data, PyObject *offsets)
{
	struct answers a = { 0 };
	Py_buffer bytes, at;
	int64_t r = -EINVAL;
	size_t count;

	if (PyObject_GetBuffer(data, &bytes, PyBUF_SIMPLE) < 0)
		return NULL;
	if (PyObject_GetBuffer(offsets, &at, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0) {
		PyBuffer_Release(&bytes);
		return NULL;
	}
	count = at.len > at.itemsize ? (size_t)(at.len / at.itemsize - 1) : 0;
	if (fits(&bytes, &at) && more_answers(&a, count) == 0) {
		Py_BEGIN_ALLOW_THREADS
		r = use_packed(f, op, bytes.buf, at.buf, (size_t)at.itemsize, count, a.bits);
		Py_END_ALLOW_THREADS
		r = took(&a, count, r);
	}
	PyBuffer_Release(&bytes);
	PyBuffer_Release(&at);
	return done(&a, r);
}
