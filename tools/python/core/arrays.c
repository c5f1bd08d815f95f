/* arrays.c - many keys in one buffer: an array of keys of one width, or packed keys */
#include "batch.h"

/* ---- Arrays ---- */

/* Is it an array, which has items? A buffer of bytes without items is one key, as mmap's. */
static int has_items(PyObject *keys)
{
	return PyObject_HasAttrString(keys, "dtype") || PyObject_HasAttrString(keys, "typecode")
		|| PyObject_HasAttrString(keys, "_type_");
}

int one_key(PyObject *keys)
{
	PyErr_Format(PyExc_TypeError, "many keys are an iterable or an array; %R is one key",
		     Py_TYPE(keys));
	return -1;
}

static int no_array(const char *format, int dimensions)
{
	PyErr_Format(PyExc_TypeError, "an array of keys has one dimension of whole numbers of this "
		     "machine's byte order or of bytes, or two dimensions of bytes; not %d of "
		     "format '%s'; give a list of keys", dimensions, format ? format : "B");
	return -1;
}

int fixed_from(PyObject *keys, Py_buffer *view, size_t *width, size_t *count)
{
	int letter, r = 1;

	if (!PyObject_CheckBuffer(keys))
		return 0;
	if (is_no_plain_numpy(keys)) {
		PyErr_Format(PyExc_TypeError, "an array of keys is of whole numbers or bytes; not "
			     "%R of another type; give a list of keys", Py_TYPE(keys));
		return -1;
	}
	if (PyObject_GetBuffer(keys, view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0)
		return -1;
	letter = plain_format(view->format);
	if (!letter || view->ndim < 1 || view->ndim > 2
	    || (view->ndim == 2 && (view->itemsize != 1 || !strchr("cbB", letter))))
		r = no_array(view->format, view->ndim);
	else if (view->ndim == 1 && strchr("cbB", letter) && !has_items(keys))
		r = one_key(keys);
	if (r < 0) {
		PyBuffer_Release(view);
		return r;
	}
	*width = (size_t)(view->ndim == 2 ? view->shape[1] : view->itemsize);
	*count = (size_t)view->shape[0];
	return 1;
}

int64_t run_fixed(struct batch *b, Py_buffer *view, size_t count, PyObject *more)
{
	if (b->op == REMOVE) {
		PyErr_SetString(PyExc_TypeError, "remove_many() takes no array of keys of one "
				"width; give it a list of bytes");
		return -EINVAL;
	}
	b->fixed = view->buf ? view->buf : "";
	return values_from(b, more, count) < 0 ? -EINVAL : run(b, count);
}

/* ---- Packed keys ---- */

/* All offsets, before the first key is used. The library does not know how long the data are. */
static int check_offsets(const struct batch *b, size_t count, Py_ssize_t len)
{
	int64_t last = offset_at(b, 0);

	if (last < 0)
		return fail_with(EINVAL, "offsets: the first one is %lld, but no offset is "
				 "negative", (long long)last);
	for (size_t i = 1; i <= count; i++) {
		int64_t next = offset_at(b, i);

		if (next < last)
			return fail_with(EINVAL, "offsets: number %zu is %lld, and the one before "
					 "it is %lld; no offset may be less than the one before "
					 "it", i, (long long)next, (long long)last);
		last = next;
	}
	return last <= len ? 0
		: fail_with(EINVAL, "offsets: the last one is %lld, but data has %zd bytes",
			    (long long)last, len);
}

/* A copy, so that what was checked is what is used. Return: 0, or -1 with an exception. */
static int copy_offsets(struct batch *b, PyObject *offsets, size_t *ret_count)
{
	Py_buffer view;
	char *copy;
	int letter;

	if (PyObject_GetBuffer(offsets, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0)
		return -1;
	letter = plain_format(view.format);
	if (!letter || !strchr("ilq", letter) || view.ndim != 1
	    || (view.itemsize != 4 && view.itemsize != 8)) {
		PyErr_Format(PyExc_TypeError, "offsets are a buffer of one dimension of signed "
			     "numbers of 4 or 8 bytes (format i, l or q); not %d of format '%s'",
			     view.ndim, view.format ? view.format : "B");
		PyBuffer_Release(&view);
		return -1;
	}
	copy = malloc((size_t)view.len + 1);
	if (copy) {
		memcpy(copy, view.buf, (size_t)view.len);
		b->offsets = copy;
		b->offset_bytes = (size_t)view.itemsize;
		*ret_count = view.len ? (size_t)(view.len / view.itemsize - 1) : 0;
	} else {
		PyErr_NoMemory();
	}
	PyBuffer_Release(&view);
	return copy ? 0 : -1;
}

PyObject *run_packed(struct target target, enum op op, PyObject *data, PyObject *offsets,
		     PyObject *more)
{
	struct batch b;
	int64_t r = -EINVAL;
	size_t count = 0;
	Py_buffer bytes;

	if (begin(&b, target, op, more) < 0 || PyObject_GetBuffer(data, &bytes, PyBUF_SIMPLE) < 0)
		return NULL;
	b.packed = bytes.buf ? bytes.buf : "";
	if (copy_offsets(&b, offsets, &count) == 0
	    && (count == 0 || check_offsets(&b, count, bytes.len) == 0)
	    && values_from(&b, more, count) == 0)
		r = run(&b, count);
	if (r < 0 && !PyErr_Occurred())
		fail((int)r, NULL);
	PyBuffer_Release(&bytes);
	free((char *)b.offsets);
	return done(&b, r, more);
}
