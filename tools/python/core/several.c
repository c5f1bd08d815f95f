/* several.c - filters with filters, and in other forms */
#include "handle.h"

/* ---- Of several filters ---- */

PyObject *combine_into(PyObject *self, PyObject *args)
{
	const struct blm_filter *from[2];
	PyObject *other;
	int op;

	if (!PyArg_ParseTuple(args, "O!i:combine_into", handle_type, &other, &op))
		return NULL;
	from[0] = filter_of(self);
	from[1] = from[0] ? use((struct handle *)other) : NULL;
	if (!from[1])
		return NULL;
	{
		struct handle *handle = (struct handle *)self;
		int r;

		handle->users++;
		WITHOUT_GIL(r = blm_combine_into((struct blm_filter *)from[0], (enum blm_op)op,
						 from, 2, 0, NULL);)
		unuse(handle);
		unuse((struct handle *)other);
		if (r < 0)
			return fail(r, NULL);
	}
	Py_RETURN_NONE;
}

PyObject *same_template(PyObject *self, PyObject *other)
{
	const struct blm_filter *a = filter_of(self), *b;

	if (!a || !PyObject_TypeCheck(other, handle_type) || !(b = filter_of(other)))
		return PyErr_Occurred() ? NULL : PyBool_FromLong(0);
	return PyBool_FromLong(blm_same_template(a, b) == 0);
}

#define PAIR(v) (v).value, (v).error

PyObject *compare(PyObject *self, PyObject *other)
{
	struct blm_comparison c;
	struct blm_filter *g;

	if (!PyObject_TypeCheck(other, handle_type)) {
		PyErr_SetString(PyExc_TypeError, "a filter is compared with a filter");
		return NULL;
	}
	g = use((struct handle *)other);
	if (!g)
		return NULL;
	{
		struct handle *handle = (struct handle *)self;
		struct blm_filter *f = use(handle);
		int r = 0;

		if (f) {
			WITHOUT_GIL(r = blm_compare(f, g, &c);)
			unuse(handle);
		}
		unuse((struct handle *)other);
		if (!f || r < 0)
			return f ? fail(r, NULL) : NULL;
	}
	return Py_BuildValue("(dd)(dd)(dd)(dd)(dd)(dd)(dd)N", PAIR(c.a), PAIR(c.b), PAIR(c.both),
			     PAIR(c.common), PAIR(c.jaccard), PAIR(c.tanimoto), PAIR(c.difference),
			     PyBool_FromLong(c.saturated));
}

PyObject *template_or_copy(PyObject *self, PyObject *args)
{
	struct handle *handle = (struct handle *)self;
	struct blm_filter *made, *f;
	struct blm_store *store;
	PyObject *where;
	const char *name;
	unsigned mode;
	int copy, r = 0;

	if (!PyArg_ParseTuple(args, "pOO&I:template", &copy, &where, text_of, &name, &mode)
	    || use_store(where, &store) < 0)
		return NULL;
	f = use(handle);
	if (f) {
		WITHOUT_GIL(r = (copy ? blm_copy : blm_template)(&made, store, name, f, mode);)
		unuse(handle);
	}
	unuse_store(where);
	if (!f)
		return NULL;
	return r < 0 ? fail(r, NULL) : handle_new(made);
}

PyObject *delta(PyObject *self, PyObject *other)
{
	struct handle *now = (struct handle *)self, *before = (struct handle *)other;
	struct blm_filter *f, *old;
	PyObject *ret;
	size_t len = 0;
	void *bytes;
	int r = 0;

	if (!PyObject_TypeCheck(other, handle_type)) {
		PyErr_SetString(PyExc_TypeError, "a delta is made from the filter as it was");
		return NULL;
	}
	old = use(before);
	if (!old)
		return NULL;
	f = use(now);
	if (f) {
		WITHOUT_GIL(r = blm_delta_make(f, old, &bytes, &len);)
		unuse(now);
	}
	unuse(before);
	if (!f || r < 0)
		return f ? fail(r, NULL) : NULL;
	ret = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)len);
	blm_free(bytes);
	return ret;
}

/* ---- Other forms ---- */

PyObject *export_filter(PyObject *self, PyObject *args)
{
	struct blm_exchange how = BLM_EXCHANGE();
	const char *path;
	int base64, fresh, replace;
	void *bytes = NULL;
	size_t len = 0;
	PyObject *ret;

	if (!PyArg_ParseTuple(args, "O&zpppIz:export", text_of, &path, &how.format, &base64, &fresh,
			      &replace, &how.mode, &how.redis_key))
		return NULL;
	how.base64 = base64;
	how.fresh = fresh;
	how.replace = replace;
	RUN(self, path ? blm_export_file(f, &how, path) : blm_export_bytes(f, &how, &bytes, &len));
	ret = PyBytes_FromStringAndSize(bytes, path ? 0 : (Py_ssize_t)len);
	blm_free(bytes);
	return ret;
}
