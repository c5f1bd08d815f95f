/* store.c - bloomery._core.StoreHandle, struct blm_info as a dict, and checking */
#include "core.h"

PyTypeObject *store_type;

int store_of(PyObject *object, struct blm_store **ret)
{
	*ret = NULL;
	if (object == Py_None)
		return 0;
	if (PyObject_TypeCheck(object, store_type) && (*ret = ((struct store *)object)->store))
		return 0;
	PyErr_SetString(PyExc_ValueError, "the store is closed, or is no Store");
	return -1;
}

/* ---- struct blm_info ---- */

static int set(PyObject *dict, const char *name, PyObject *value)
{
	int r = value ? PyDict_SetItemString(dict, name, value) : -1;

	Py_XDECREF(value);
	return r;
}

static PyObject *text(const char *s)
{
	if (s)
		return PyUnicode_DecodeFSDefault(s);
	Py_INCREF(Py_None);
	return Py_None;
}

static PyObject *numbers(const uint64_t *words, uint32_t count)
{
	PyObject *ret = PyTuple_New(count);

	for (uint32_t i = 0; ret && i < count; i++)
		PyTuple_SetItem(ret, i, PyLong_FromUnsignedLongLong(words[i]));
	return ret;
}

struct blm_info *info_new(void)
{
	struct blm_info *info = malloc(sizeof(*info));

	if (info)
		*info = BLM_INFO;
	return info;
}

PyObject *info_dict(const struct blm_info *i)
{
	PyObject *d = PyDict_New();
	int r = d ? 0 : -1;

#define TEXT(field) r = r < 0 ? r : set(d, #field, text(i->field))
#define NUMBER(field) r = r < 0 ? r : set(d, #field, PyLong_FromUnsignedLongLong(i->field))
#define REAL(field) r = r < 0 ? r : set(d, #field, PyFloat_FromDouble(i->field))
#define FLAG(field) r = r < 0 ? r : set(d, #field, PyBool_FromLong(i->field))
#define BYTES(field) \
	r = r < 0 ? r : set(d, #field, PyBytes_FromStringAndSize((const char *)i->field, \
								 sizeof(i->field)))
	TEXT(format); TEXT(origin); TEXT(name); TEXT(path); TEXT(kind); TEXT(hash); TEXT(scheme);
	TEXT(bit_order); TEXT(options); TEXT(caveat); TEXT(caution); TEXT(labels);
	NUMBER(cells); NUMBER(probes); NUMBER(cell_bits); NUMBER(parts); NUMBER(version);
	NUMBER(tweak); NUMBER(capacity); NUMBER(keys); NUMBER(created); NUMBER(bytes);
	NUMBER(data_bytes); NUMBER(shadow_bytes); NUMBER(synced); NUMBER(lost_blocks); NUMBER(can);
	REAL(rate); REAL(rate_at_capacity); REAL(rate_at_keys);
	FLAG(keyed); FLAG(keys_estimated); FLAG(sparse); FLAG(sealed); FLAG(foreign); FLAG(dirty);
	FLAG(older); FLAG(suspect); FLAG(from_catalog);
	BYTES(template_id); BYTES(uuid);
	r = r < 0 ? r : set(d, "seeds", numbers(i->seeds, i->seed_count));
	if (r < 0)
		Py_CLEAR(d);
	return d;
}

/* ---- Stores ---- */

static PyObject *store_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
	allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct blm_store *store;
	const char *dir;
	unsigned flags;
	PyObject *self;
	int r;

	if (!PyArg_ParseTuple(args, "sI:StoreHandle", &dir, &flags))
		return NULL;
	WITHOUT_GIL(r = blm_store_open(&store, dir, flags);)
	if (r < 0)
		return fail(r, NULL);
	self = alloc(type, 0);
	if (self)
		((struct store *)self)->store = store;
	else
		blm_store_close(store);
	return self;
}

static void store_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	blm_store_close(((struct store *)self)->store);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
	Py_DECREF(type);
}

static PyObject *store_close(PyObject *self, PyObject *unused)
{
	struct store *store = (struct store *)self;

	store->store = blm_store_close(store->store);
	Py_RETURN_NONE;
}

static int each(void *context, const struct blm_info *info, int err)
{
	PyObject *item = err ? Py_BuildValue("{s:s}", "name", info->name) : info_dict(info);
	int r = item ? PyList_Append(context, item) : -1;

	Py_XDECREF(item);
	return r < 0;
}

static PyObject *store_list(PyObject *self, PyObject *args)
{
	struct blm_store *store;
	const char *pattern;
	PyObject *list;
	int r;

	if (!PyArg_ParseTuple(args, "z:list", &pattern) || store_of(self, &store) < 0
	    || !(list = PyList_New(0)))
		return NULL;
	r = blm_store_list(store, pattern, each, list);
	if (r == 0)
		return list;
	Py_DECREF(list);
	return r < 0 ? fail(r, NULL) : NULL;
}

static PyObject *store_find(PyObject *self, PyObject *args)
{
	struct blm_info *info = info_new();
	struct blm_store *store;
	PyObject *ret = NULL;
	const char *name;
	int r;

	if (info && PyArg_ParseTuple(args, "s:find", &name) && store_of(self, &store) == 0) {
		r = blm_store_find(store, name, info);
		ret = r < 0 ? fail(r, NULL) : info_dict(info);
	}
	free(info);
	return ret;
}

static PyObject *store_change(PyObject *self, PyObject *args)
{
	const char *name, *to, *value;
	struct blm_store *store;
	int what, r;

	if (!PyArg_ParseTuple(args, "iszz:change", &what, &name, &to, &value)
	    || store_of(self, &store) < 0)
		return NULL;
	WITHOUT_GIL(r = what == 0 ? blm_store_drop(store, name)
		    : what == 1 ? blm_store_rename(store, name, to)
		    : blm_store_label(store, name, to, value);)
	if (r < 0)
		return fail(r, NULL);
	Py_RETURN_NONE;
}

static PyObject *store_publish(PyObject *self, PyObject *args)
{
	struct blm_store *store;
	struct handle *handle;
	struct blm_filter *f;
	const char *name;
	unsigned mode, flags;
	int r;

	if (!PyArg_ParseTuple(args, "sO!II:publish", &name, handle_type, &handle, &mode, &flags)
	    || store_of(self, &store) < 0 || !(f = use(handle)))
		return NULL;
	WITHOUT_GIL(r = blm_store_publish(store, name, f, mode, flags);)
	unuse(handle);
	if (r < 0)
		return fail(r, NULL);
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{ "close", store_close, METH_NOARGS, NULL },
	{ "list", store_list, METH_VARARGS, NULL },
	{ "find", store_find, METH_VARARGS, NULL },
	{ "change", store_change, METH_VARARGS, NULL },
	{ "publish", store_publish, METH_VARARGS, NULL },
	{ 0 }
};
static PyType_Slot slots[] = {
	{ Py_tp_new, store_new }, { Py_tp_dealloc, store_dealloc }, { Py_tp_methods, methods },
	{ 0, NULL }
};
PyType_Spec store_spec = {
	.name = "bloomery._core.StoreHandle", .basicsize = sizeof(struct store),
	.flags = Py_TPFLAGS_DEFAULT, .slots = slots,
};

/* ---- Checking ---- */

static void finding(void *context, const struct blm_finding *found)
{
	PyObject *item;

	if (PyErr_Occurred())
		return;
	item = Py_BuildValue("NNNNN", text(found->file), text(found->what),
			     PyBool_FromLong(found->repaired), PyBool_FromLong(found->lost),
			     text(found->name));
	if (item)
		PyList_Append(context, item);
	Py_XDECREF(item);
}

/* It calls back, so it keeps the GIL. store None and dir: a whole store. */
PyObject *verify(PyObject *self, PyObject *args)
{
	PyObject *where, *list;
	struct blm_store *store;
	const char *name, *dir;
	unsigned flags;
	int r;

	if (!PyArg_ParseTuple(args, "OzzI:verify", &where, &name, &dir, &flags)
	    || store_of(where, &store) < 0 || !(list = PyList_New(0)))
		return NULL;
	r = dir ? blm_store_verify(dir, flags, finding, list)
		: blm_verify(store, name, flags, finding, list);
	if (r >= 0 && !PyErr_Occurred())
		return list;
	Py_DECREF(list);
	return r < 0 ? fail(r, NULL) : NULL;
}
