/* data.c - the raw data of a filter, and its buffer */
#include "handle.h"

static int fail_overwritten(const struct blm_info *info)
{
	return fail_with(EUCLEAN, "%s: the header was overwritten while the file was open; put a "
			 "copy in its place", info->path);
}

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
		r = fail_overwritten(info);
	if (r == 0 && (ret = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)info->data_bytes))) {
		char *buffer = PyBytes_AsString(ret);

		WITHOUT_GIL(r = blm_data_read(f, 0, buffer, (size_t)info->data_bytes);)
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

/* ---- The buffer protocol ---- */

/*
 * A view onto the map holds a reference to the handle, and the library keeps the map until it is
 * given back, also if another file takes the filter's place. The GIL is kept, so close() comes
 * before or after. Return: as get_buffer(), or 1 if the data are not in one piece.
 */
static int map_view(PyObject *self, Py_buffer *view, int flags)
{
	struct handle *handle = (struct handle *)self;
	struct blm_filter *f = filter_of(self);
	struct blm_info *info = f ? info_new() : NULL;
	const void *data;
	size_t bytes;
	int r;

	if (!info)
		return f ? (PyErr_NoMemory(), -1) : -1;
	r = blm_info(f, info);
	if (r == 0)
		r = blm_data_map(f, &data, &bytes);
	if (r == 0 && info->data_bytes != bytes) {
		blm_data_unmap(f, data);
		r = fail_overwritten(info);
	}
	free(info);
	if (r == -EOPNOTSUPP)
		return 1;
	if (r < 0)
		return PyErr_Occurred() ? -1 : (fail(r, NULL), -1);
	if (PyBuffer_FillInfo(view, self, (void *)data, (Py_ssize_t)bytes, 1, flags) < 0) {
		blm_data_unmap(f, data);
		return -1;
	}
	handle->views++;
	return 0;
}

int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
	PyObject *bytes;
	int r = map_view(self, view, flags);

	if (r <= 0) {
		if (r < 0)
			view->obj = NULL;
		return r;
	}
	/* of several parts: a copy of the data as they are now, which the view then belongs to */
	bytes = data(self, NULL);
	r = bytes ? PyObject_GetBuffer(bytes, view, flags) : -1;
	Py_XDECREF(bytes);
	return r;
}

void release_buffer(PyObject *self, Py_buffer *view)
{
	struct handle *handle = (struct handle *)self;

	blm_data_unmap(handle->f, view->buf);
	handle->views--;
}
