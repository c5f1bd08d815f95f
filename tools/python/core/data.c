/* data.c - the raw data of a filter, and its buffer */
#include "handle.h"

PyObject *data(PyObject *self, PyObject *unused)
{
	struct handle *handle = (struct handle *)self;
	struct blm_info *info = info_new();
	struct blm_filter *f = info ? use(handle) : NULL;
	PyObject *ret = NULL;
	int r = f ? blm_info(f, info) : -ENOMEM;

	/* the header may have been written over since the filter was opened */
	if (r == 0 && (info->data_bytes > PTRDIFF_MAX
		       || blm_data_read(f, info->data_bytes, NULL, 0) < 0))
		r = fail_with(EUCLEAN, "%s: the header was overwritten while the file was open; "
			      "put a copy in its place", info->path);
	if (r == 0 && (ret = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)info->data_bytes))) {
		char *room = PyBytes_AsString(ret);

		WITHOUT_GIL(r = blm_data_read(f, 0, room, (size_t)info->data_bytes);)
	}
	if (f)
		unuse(handle);
	free(info);
	if (r < 0)
		Py_CLEAR(ret);
	if (r < 0 && !PyErr_Occurred())
		fail(r, NULL);
	return ret;
}

PyObject *unite(PyObject *self, PyObject *args)
{
	const char *bytes;
	Py_ssize_t len;

	if (!PyArg_ParseTuple(args, "y#:unite", &bytes, &len))
		return NULL;
	RUN(self, blm_data_unite(f, 0, bytes, (size_t)len));
	Py_RETURN_NONE;
}

/* The data as they are now, as bytes. */
int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
	PyObject *bytes = data(self, NULL);
	int r = bytes ? PyObject_GetBuffer(bytes, view, flags) : -1;

	Py_XDECREF(bytes);
	return r;
}
