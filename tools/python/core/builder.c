/* builder.c - bloomery._core.Builder: filters from all their keys at once, and updates of these */
#include "core.h"

PyTypeObject *builder_type;

PyObject *builder_new(struct blm_build *build, struct blm_update *update)
{
	allocfunc alloc = (allocfunc)PyType_GetSlot(builder_type, Py_tp_alloc);
	PyObject *self = alloc(builder_type, 0);

	if (self) {
		((struct builder *)self)->build = build;
		((struct builder *)self)->update = update;
	} else {
		blm_build_cancel(build);
		blm_update_cancel(update);
	}
	return self;
}

/*
 * (op, keys), or (op, data, offsets) of packed keys. The operation is BUILD or EXCLUDE of a build,
 * COMING or GOING of an update.
 */
static PyObject *build_use(PyObject *self, PyObject *args)
{
	struct builder *builder = (struct builder *)self;
	PyObject *keys, *offsets = NULL, *ret;
	struct target target = { builder->build ? (void *)builder->build : builder->update, NULL };
	int op;

	if (!PyArg_ParseTuple(args, "iO|O:use", &op, &keys, &offsets))
		return NULL;
	if (!target.what)
		return fail_closed();
	if ((op == COMING || op == GOING) != !builder->build || op < BUILD || op > GOING) {
		PyErr_SetString(PyExc_ValueError, "use(): this operation belongs to another "
						  "builder");
		return NULL;
	}
	builder->users++;
	ret = offsets ? run_packed(target, (enum op)op, keys, offsets, NULL)
		: run_many(target, (enum op)op, keys, NULL);
	builder->users--;
	return ret;
}

static PyObject *build_finish(PyObject *self, PyObject *unused)
{
	struct builder *builder = (struct builder *)self;
	struct blm_build *build = builder->build;
	struct blm_update *update = builder->update;
	struct blm_filter *f;
	int r;

	if (!build && !update)
		return fail_closed();
	if (builder->users) {
		PyErr_SetString(PyExc_ValueError, "finish(): another thread is in a call of use(); "
				"wait until it ends");
		return NULL;
	}
	builder->build = NULL;
	builder->update = NULL;
	WITHOUT_GIL(r = build ? blm_build_finish(build, &f) : blm_update_finish(update);)
	if (r < 0)
		return fail(r, NULL);
	if (build)
		return handle_new(f);
	Py_RETURN_NONE;
}

static void build_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	blm_build_cancel(((struct builder *)self)->build);
	blm_update_cancel(((struct builder *)self)->update);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
	Py_DECREF(type);
}

static PyMethodDef build_methods[] = {
	{ "use", build_use, METH_VARARGS, NULL },
	{ "finish", build_finish, METH_NOARGS, NULL },
	{ 0 }
};
static PyType_Slot build_slots[] = {
	{ Py_tp_dealloc, build_dealloc }, { Py_tp_methods, build_methods }, { 0, NULL }
};
PyType_Spec builder_spec = {
	.name = "bloomery._core.Builder", .basicsize = sizeof(struct builder),
	.flags = Py_TPFLAGS_DEFAULT, .slots = build_slots,
};

/* ---- Updates and deltas ---- */

static int secret_fits(const char *secret, Py_ssize_t len)
{
	if (!secret || len == BLM_SECRET_BYTES)
		return 1;
	PyErr_SetString(PyExc_ValueError, "secret: 16 bytes are needed");
	return 0;
}

PyObject *update_begin(PyObject *module, PyObject *args)
{
	struct blm_update *update;
	struct blm_store *store;
	const char *name, *secret;
	Py_ssize_t len;
	PyObject *where;
	int r;

	if (!PyArg_ParseTuple(args, "OO&z#:update", &where, text_of, &name, &secret, &len)
	    || !secret_fits(secret, len) || use_store(where, &store) < 0)
		return NULL;
	WITHOUT_GIL(r = blm_update_begin(&update, store, name, (const uint8_t *)secret, NULL);)
	unuse_store(where);
	return r < 0 ? fail(r, NULL) : builder_new(NULL, update);
}

PyObject *apply_delta(PyObject *module, PyObject *args)
{
	struct blm_store *store;
	const char *name, *secret, *bytes;
	Py_ssize_t secret_len, len;
	PyObject *where;
	int r;

	if (!PyArg_ParseTuple(args, "OO&z#y#:apply_delta", &where, text_of, &name, &secret,
			      &secret_len, &bytes, &len)
	    || !secret_fits(secret, secret_len) || use_store(where, &store) < 0)
		return NULL;
	WITHOUT_GIL(r = blm_delta_apply(store, name, (const uint8_t *)secret, bytes,
					(size_t)len);)
	unuse_store(where);
	return r < 0 ? fail(r, NULL) : PyBool_FromLong(r);
}
