/* keys.c - an object of Python as a key, and which buffers are keys */
#include "core.h"

static int no_key(PyObject *object)
{
	PyErr_Format(PyExc_TypeError, "a key is str, bytes-like or int, not %R; encode it yourself",
		     Py_TYPE(object));
	return -1;
}

int plain_format(const char *format)
{
	size_t digits;
	int letter;

	if (!format)
		return 'B';
	format += *format && strchr("@=<", *format);
	digits = strspn(format, "0123456789");
	letter = format[digits];
	if (!letter || format[digits + 1] || (digits && letter != 's' && letter != 'x'))
		return 0;
	return strchr("cbBhHiIlLqQnNsx", letter) ? letter : 0;
}

int is_no_plain_numpy(PyObject *object)
{
	PyObject *dtype = PyObject_GetAttrString(object, "dtype");
	PyObject *kind = dtype ? PyObject_GetAttrString(dtype, "kind") : NULL;
	const char *text = kind && PyUnicode_Check(kind) ? PyUnicode_AsUTF8AndSize(kind, NULL)
		: NULL;
	int ret = text && !strchr("iuSV", *text);

	PyErr_Clear();
	Py_XDECREF(kind);
	Py_XDECREF(dtype);
	return ret;
}

/* A buffer of bytes is a key, and so is one number of 8 bytes, as numpy's int64. */
static int buffer_from(PyObject *object, struct key *ret)
{
	int letter, is_key;

	if (!PyObject_CheckBuffer(object) || PyFloat_Check(object)
	    || PyObject_TypeCheck(object, handle_type) || is_no_plain_numpy(object))
		return no_key(object);
	if (PyObject_GetBuffer(object, &ret->view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0)
		return -1;
	letter = plain_format(ret->view.format);
	is_key = letter && strchr("cbB", letter) ? ret->view.ndim <= 1
		: ret->view.ndim == 0 && letter
		  && (strchr("sx", letter)
		      || (strchr("lLqQnN", letter) && ret->view.itemsize == 8));
	if (is_key) {
		ret->held = 1;
		return 0;
	}
	PyErr_Format(PyExc_TypeError, "a key is str, bytes-like or int, not %R of format '%s' with "
		     "%d dimensions; encode it yourself", Py_TYPE(object),
		     ret->view.format ? ret->view.format : "B", ret->view.ndim);
	PyBuffer_Release(&ret->view);
	return -1;
}

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
	} else {
		if (buffer_from(object, ret) < 0)
			return -1;
		bytes = ret->view.buf;
		len = ret->view.len;
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
