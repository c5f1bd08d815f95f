/* handle.c - bloomery._core.Handle: one filter */
#include "handle.h"

PyTypeObject *handle_type;

struct blm_filter *filter_of(PyObject *self)
{
	struct handle *handle = (struct handle *)self;

	if (handle->f && !handle->closing)
		return handle->f;
	fail_closed();
	return NULL;
}

struct blm_filter *use(struct handle *handle)
{
	struct blm_filter *f = filter_of((PyObject *)handle);

	handle->users += f != NULL;
	return f;
}

void unuse(struct handle *handle)
{
	if (--handle->users || !handle->closing)
		return;
	handle->f = blm_close(handle->f);
}

/* ---- One key ---- */

/*
 * To convert a key may run code of Python, which may close the filter. So each call converts its
 * key first. The filter that it fetches then stays open, because these calls keep the GIL.
 */

static int contains(PyObject *self, PyObject *object)
{
	struct blm_filter *f;
	struct key key;
	int r = -1;

	if (key_from(object, &key) < 0)
		return -1;
	f = filter_of(self);
	if (f)
		r = blm_contains(f, key.key.bytes, key.key.len);
	key_done(&key);
	return r;
}

static PyObject *change(PyObject *self, PyObject *object,
			int (*what)(struct blm_filter *f, const void *bytes, size_t len))
{
	struct blm_filter *f;
	struct key key;
	int r = 0;

	if (key_from(object, &key) < 0)
		return NULL;
	f = filter_of(self);
	if (f)
		r = what(f, key.key.bytes, key.key.len);
	if (r < 0)
		fail(r, NULL);
	key_done(&key);
	return !f || r < 0 ? NULL : PyBool_FromLong(r);
}

static PyObject *add(PyObject *self, PyObject *key)
{
	return change(self, key, blm_add);
}

static PyObject *claim(PyObject *self, PyObject *key)
{
	return change(self, key, blm_claim);
}

static PyObject *remove_key(PyObject *self, PyObject *key)
{
	return change(self, key, blm_remove);
}

static PyObject *put(PyObject *self, PyObject *args)
{
	struct blm_filter *f;
	unsigned long long value;
	PyObject *object, *number;
	struct key key;
	int r = 0;

	if (!PyArg_ParseTuple(args, "OO:put", &object, &number))
		return NULL;
	value = PyLong_AsUnsignedLongLong(number);
	if (PyErr_Occurred() || key_from(object, &key) < 0)
		return NULL;
	f = filter_of(self);
	if (f)
		r = blm_put(f, key.key.bytes, key.key.len, value);
	if (r < 0)
		fail(r, NULL);
	key_done(&key);
	return !f || r < 0 ? NULL : PyBool_FromLong(r);
}

static PyObject *get(PyObject *self, PyObject *args)
{
	PyObject *object, *otherwise = Py_None;
	struct blm_filter *f;
	struct key key;
	uint64_t value;
	int r = 0;

	if (!PyArg_ParseTuple(args, "O|O:get", &object, &otherwise)
	    || key_from(object, &key) < 0)
		return NULL;
	f = filter_of(self);
	if (f)
		r = blm_get(f, key.key.bytes, key.key.len, &value);
	if (r < 0)
		fail(r, NULL);
	key_done(&key);
	if (!f || r < 0)
		return NULL;
	if (r)
		return PyLong_FromUnsignedLongLong(value);
	Py_INCREF(otherwise);
	return otherwise;
}

/* ---- Many keys ---- */

static PyObject *many(PyObject *self, PyObject *args)
{
	struct handle *handle = (struct handle *)self;
	PyObject *keys, *more = NULL, *ret;
	struct target target;
	int op;

	if (!PyArg_ParseTuple(args, "iO|O:many", &op, &keys, &more))
		return NULL;
	target = (struct target){ use(handle), &handle->closing };
	if (!target.what)
		return NULL;
	ret = run_many(target, (enum op)op, keys, more);
	unuse(handle);
	return ret;
}

static PyObject *packed(PyObject *self, PyObject *args)
{
	struct handle *handle = (struct handle *)self;
	PyObject *data, *offsets, *more = NULL, *ret;
	struct target target;
	int op;

	if (!PyArg_ParseTuple(args, "iOO|O:packed", &op, &data, &offsets, &more))
		return NULL;
	target = (struct target){ use(handle), &handle->closing };
	if (!target.what)
		return NULL;
	ret = run_packed(target, (enum op)op, data, offsets, more);
	unuse(handle);
	return ret;
}

static PyObject *ranges(PyObject *self, PyObject *args)
{
	struct handle *handle = (struct handle *)self;
	PyObject *first, *last, *ret;
	struct target target;

	if (!PyArg_ParseTuple(args, "O!O!:ranges", &PyTuple_Type, &first, &PyTuple_Type, &last))
		return NULL;
	target = (struct target){ use(handle), &handle->closing };
	if (!target.what)
		return NULL;
	ret = run_ranges(target, first, last);
	unuse(handle);
	return ret;
}

/* ---- Its life ---- */

static PyObject *close_handle(PyObject *self, PyObject *unused)
{
	struct handle *handle = (struct handle *)self;
	struct blm_filter *f = handle->f;

	if (handle->views) {
		PyErr_Format(PyExc_BufferError, "the filter cannot be closed while memoryviews "
			     "of it exist (%zd); release them first", handle->views);
		return NULL;
	}
	handle->closing = 1;
	if (!handle->users) {
		handle->f = NULL;
		WITHOUT_GIL(blm_close(f);)
	}
	Py_RETURN_NONE;
}

static PyObject *is_closed(PyObject *self, PyObject *unused)
{
	struct handle *handle = (struct handle *)self;

	return PyBool_FromLong(!handle->f || handle->closing);
}

static void dealloc(PyObject *self)
{
	struct handle *handle = (struct handle *)self;
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	blm_close(handle->f);
	release(self);
	Py_DECREF(type);
}

/* Takes the filter of another handle: how a class in Python becomes what was opened. */
static PyObject *adopt(PyObject *self, PyObject *other)
{
	struct handle *mine = (struct handle *)self, *theirs = (struct handle *)other;

	if (!PyObject_TypeCheck(other, handle_type) || mine->f || theirs->users || theirs->views) {
		PyErr_SetString(PyExc_ValueError, "adopt(): give a new handle, and a handle that "
				"is not in use");
		return NULL;
	}
	mine->f = theirs->f;
	theirs->f = NULL;
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{ "add", add, METH_O, "add($self, key, /)\n--\n\nAdd a key. True: the filter changed; "
	  "False: it held the key, or seemed to." },
	{ "claim", claim, METH_O, "claim($self, key, /)\n--\n\nAdd a key. True: this caller is "
	  "the first of all threads and processes to claim it." },
	{ "remove", remove_key, METH_O, "remove($self, key, /)\n--\n\nTake a key out. Remove only "
	  "what was added. True: it was there." },
	{ "put", put, METH_VARARGS, "put($self, key, value, /)\n--\n\nGive a key a value, a whole "
	  "number. True: the filter changed." },
	{ "get", get, METH_VARARGS, "get($self, key, default=None, /)\n--\n\nThe value of a key." },
	{ "close", close_handle, METH_NOARGS, "close($self, /)\n--\n\nClose the file. Syncs "
	  "nothing. A call in another thread ends first." },
	{ "sync", sync_filter, METH_NOARGS, "sync($self, /)\n--\n\nMake all keys added before "
	  "this call survive a power cut." },
	{ "clear", clear_filter, METH_NOARGS, "clear($self, /)\n--\n\nTake all keys out, in one "
	  "step for all processes." },
	{ "seal", seal, METH_NOARGS, "seal($self, /)\n--\n\nMake it read-only for good, with "
	  "checksums." },
	{ "rotate", rotate, METH_NOARGS, "rotate($self, /)\n--\n\nBegin the next slot of a window "
	  "and forget the oldest." },
	{ "status", status, METH_NOARGS, "status($self, /)\n--\n\nRaise Stale if the file was "
	  "deleted or dropped." },
	{ "_grow", grow, METH_VARARGS, NULL },
	{ "_sync_every", sync_every, METH_VARARGS, NULL },
	{ "_many", many, METH_VARARGS, NULL },
	{ "_packed", packed, METH_VARARGS, NULL },
	{ "_ranges", ranges, METH_VARARGS, NULL },
	{ "_is_closed", is_closed, METH_NOARGS, NULL },
	{ "_count", count, METH_NOARGS, NULL },
	{ "_info", info, METH_NOARGS, NULL },
	{ "_estimate", estimate, METH_VARARGS, NULL },
	{ "_data", data, METH_NOARGS, NULL },
	{ "_unite", unite, METH_VARARGS, NULL },
	{ "_combine_into", combine_into, METH_VARARGS, NULL },
	{ "_same_template", same_template, METH_O, NULL },
	{ "_compare", compare, METH_O, NULL },
	{ "_template", template_or_copy, METH_VARARGS, NULL },
	{ "_export", export_filter, METH_VARARGS, NULL },
	{ "_delta", delta, METH_O, NULL },
	{ "_adopt", adopt, METH_O, NULL },
	{ 0 }
};

static PyType_Slot slots[] = {
	{ Py_tp_doc, (char *)"A filter of the library; bloomery.Filter is the class to use." },
	{ Py_tp_dealloc, dealloc },
	{ Py_tp_methods, methods },
	{ Py_sq_contains, contains },
	{ Py_bf_getbuffer, get_buffer },
	{ Py_bf_releasebuffer, release_buffer },
	{ 0, NULL }
};

PyType_Spec handle_spec = {
	.name = "bloomery._core.Handle", .basicsize = sizeof(struct handle),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, .slots = slots,
};
