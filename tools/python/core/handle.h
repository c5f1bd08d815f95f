/* handle.h - the calls of bloomery._core.Handle that handle.c has in its table, by their files */
#ifndef BLOOMERY_PYTHON_HANDLE_H
#define BLOOMERY_PYTHON_HANDLE_H

#include "core.h"

/* A call that may wait: r = call, without the GIL. Return: its answer, or NULL. */
#define RUN(self, call) \
	struct handle *handle = (struct handle *)(self); \
	struct blm_filter *f = use(handle); \
	int64_t r; \
	if (!f) \
		return NULL; \
	WITHOUT_GIL(r = (call);) \
	unuse(handle); \
	if (r < 0) \
		return fail((int)r, NULL)

/* ---- whole.c ---- */

PyObject *sync_filter(PyObject *self, PyObject *args);
PyObject *clear_filter(PyObject *self, PyObject *args);
PyObject *seal(PyObject *self, PyObject *args);
PyObject *rotate(PyObject *self, PyObject *args);
PyObject *grow(PyObject *self, PyObject *args);
PyObject *status(PyObject *self, PyObject *args);
PyObject *sync_every(PyObject *self, PyObject *args);
PyObject *count(PyObject *self, PyObject *args);
PyObject *info(PyObject *self, PyObject *args);
PyObject *estimate(PyObject *self, PyObject *args);

/* ---- data.c ---- */

PyObject *data(PyObject *self, PyObject *args);
PyObject *unite(PyObject *self, PyObject *args);
/* The slots of the buffer protocol: a view onto the map, or onto a copy for several parts. */
int get_buffer(PyObject *self, Py_buffer *view, int flags);
void release_buffer(PyObject *self, Py_buffer *view);

/* ---- several.c ---- */

PyObject *combine_into(PyObject *self, PyObject *args);
PyObject *same_template(PyObject *self, PyObject *args);
PyObject *compare(PyObject *self, PyObject *args);
PyObject *template_or_copy(PyObject *self, PyObject *args);
PyObject *delta(PyObject *self, PyObject *other);
PyObject *export_filter(PyObject *self, PyObject *args);

#endif
