/* whole.c - what a call does to a whole filter, and what the filter says of itself */
#include "handle.h"

PyObject *sync_filter(PyObject *self, PyObject *unused)
{
	RUN(self, blm_sync(f));
	Py_RETURN_NONE;
}

PyObject *clear_filter(PyObject *self, PyObject *unused)
{
	RUN(self, blm_clear(f));
	Py_RETURN_NONE;
}

PyObject *seal(PyObject *self, PyObject *unused)
{
	RUN(self, blm_seal(f));
	Py_RETURN_NONE;
}

PyObject *rotate(PyObject *self, PyObject *unused)
{
	RUN(self, blm_rotate(f));
	Py_RETURN_NONE;
}

PyObject *grow(PyObject *self, PyObject *args)
{
	int force;

	if (!PyArg_ParseTuple(args, "p:grow", &force))
		return NULL;
	RUN(self, blm_grow(f, force ? BLM_GROW_FORCE : 0));
	Py_RETURN_NONE;
}

PyObject *status(PyObject *self, PyObject *unused)
{
	RUN(self, blm_status(f));
	Py_RETURN_NONE;
}

PyObject *sync_every(PyObject *self, PyObject *args)
{
	unsigned long long keys;
	double seconds;

	if (!PyArg_ParseTuple(args, "Kd:sync_every", &keys, &seconds))
		return NULL;
	RUN(self, blm_sync_every(f, keys, seconds));
	Py_RETURN_NONE;
}

PyObject *count(PyObject *self, PyObject *unused)
{
	uint64_t keys;
	bool estimated;

	RUN(self, blm_count(f, &keys, &estimated));
	return Py_BuildValue("KN", (unsigned long long)keys, PyBool_FromLong(estimated));
}

PyObject *info(PyObject *self, PyObject *unused)
{
	struct blm_info *info = info_new();
	struct blm_filter *f = filter_of(self);
	int r = info && f ? blm_info(f, info) : -ENOMEM;
	PyObject *ret = !f ? NULL : r < 0 ? fail(r, NULL) : info_dict(info);

	free(info);
	return ret;
}

PyObject *estimate(PyObject *self, PyObject *args)
{
	struct blm_estimate e;
	int exact;

	if (!PyArg_ParseTuple(args, "p:estimate", &exact))
		return NULL;
	RUN(self, blm_estimate(f, exact, &e));
	return Py_BuildValue("(dd)(dd)(dd)NK", e.fill.value, e.fill.error, e.rate.value,
			     e.rate.error, e.keys.value, e.keys.error,
			     PyBool_FromLong(e.saturated), (unsigned long long)e.ones);
}
