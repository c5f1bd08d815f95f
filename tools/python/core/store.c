/* store.c - bloomery._core.StoreHandle, struct blm_info as a dict, and checking */
#include "core.h"

PyTypeObject *store_type;

int use_store(PyObject *object, struct blm_store **ret)
{
	struct store *store = (struct store *)object;

	*ret = NULL;
	if (object == Py_None)
		return 0;
	if (PyObject_TypeCheck(object, store_type) && store->store && !store->closing) {
		store->users++;
		*ret = store->store;
		return 0;
	}
	PyErr_SetString(PyExc_ValueError, "the store is closed, or is no Store");
	return -1;
}

void unuse_store(PyObject *object)
{
	struct store *store = (struct store *)object;

	if (object == Py_None || --store->users || !store->closing)
		return;
	store->store = blm_store_close(store->store);
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
	NUMBER(data_bytes); NUMBER(checkpoint_bytes); NUMBER(synced); NUMBER(lost_blocks);
	NUMBER(can);
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

	if (!PyArg_ParseTuple(args, "O&I:StoreHandle", text_of, &dir, &flags))
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

	store->closing = 1;
	if (!store->users)
		store->store = blm_store_close(store->store);
	Py_RETURN_NONE;
}

/*
 * What a function that calls back gets. The function runs without the GIL, because other calls wait
 * for its locks. Each callback takes the GIL back, in the thread that gave it up.
 */
struct listing {
	PyObject *list;
	PyThreadState *thread;
};

static int each(void *context, const struct blm_info *info, int err)
{
	struct listing *listing = context;
	PyObject *item;
	int r;

	PyEval_RestoreThread(listing->thread);
	item = err ? Py_BuildValue("{s:N}", "name", text(info->name)) : info_dict(info);
	r = item ? PyList_Append(listing->list, item) : -1;
	Py_XDECREF(item);
	listing->thread = PyEval_SaveThread();
	return r < 0;
}

/* Return: the list, or NULL with an exception. r: what the function that called back returned. */
static PyObject *listed(struct listing *listing, int r)
{
	if (r >= 0 && !PyErr_Occurred())
		return listing->list;
	if (!PyErr_Occurred())
		fail(r, NULL);
	Py_DECREF(listing->list);
	return NULL;
}

static PyObject *store_list(PyObject *self, PyObject *args)
{
	struct listing listing;
	struct blm_store *store;
	const char *pattern;
	int r;

	if (!PyArg_ParseTuple(args, "O&:list", text_of,
		      &pattern) || !(listing.list = PyList_New(0)))
		return NULL;
	if (use_store(self, &store) < 0)
		return listed(&listing, 0);
	listing.thread = PyEval_SaveThread();
	r = blm_store_list(store, pattern, each, &listing);
	PyEval_RestoreThread(listing.thread);
	unuse_store(self);
	return listed(&listing, r);
}

static PyObject *store_find(PyObject *self, PyObject *args)
{
	struct blm_info *info = info_new();
	struct blm_store *store;
	PyObject *ret = NULL;
	const char *name;
	int r;

	if (!info)
		return PyErr_NoMemory();
	if (PyArg_ParseTuple(args, "O&:find", text_of, &name) && use_store(self, &store) == 0) {
		WITHOUT_GIL(r = blm_store_find(store, name, info);)
		ret = r < 0 ? fail(r, NULL) : info_dict(info);
		unuse_store(self);
	}
	free(info);
	return ret;
}

static PyObject *store_change(PyObject *self, PyObject *args)
{
	const char *name, *to, *value;
	struct blm_store *store;
	int what, r;

	if (!PyArg_ParseTuple(args, "iO&O&z:change", &what, text_of, &name, text_of, &to,
			      &value)
	    || use_store(self, &store) < 0)
		return NULL;
	WITHOUT_GIL(r = what == 0 ? blm_store_drop(store, name)
		    : what == 1 ? blm_store_rename(store, name, to)
		    : blm_store_label(store, name, to, value);)
	unuse_store(self);
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
	int r = 0;

	if (!PyArg_ParseTuple(args, "O&O!II:publish", text_of, &name, handle_type, &handle, &mode,
		      &flags)
	    || use_store(self, &store) < 0)
		return NULL;
	f = use(handle);
	if (f) {
		WITHOUT_GIL(r = blm_store_publish(store, name, f, mode, flags);)
		unuse(handle);
	}
	unuse_store(self);
	if (!f)
		return NULL;
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
	struct listing *listing = context;
	PyObject *item;

	PyEval_RestoreThread(listing->thread);
	item = PyErr_Occurred() ? NULL
		: Py_BuildValue("NNNNN", text(found->file), text(found->what),
				PyBool_FromLong(found->repaired), PyBool_FromLong(found->lost),
				text(found->name));
	if (item)
		PyList_Append(listing->list, item);
	Py_XDECREF(item);
	listing->thread = PyEval_SaveThread();
}

/* store None and dir: a whole store. */
PyObject *verify(PyObject *self, PyObject *args)
{
	struct listing listing;
	struct blm_store *store;
	const char *name, *dir;
	PyObject *where;
	unsigned flags;
	int r;

	if (!PyArg_ParseTuple(args, "OO&O&I:verify", &where, text_of, &name, text_of, &dir,
			      &flags)
	    || !(listing.list = PyList_New(0)))
		return NULL;
	if (use_store(where, &store) < 0)
		return listed(&listing, 0);
	listing.thread = PyEval_SaveThread();
	r = dir ? blm_store_verify(dir, flags, finding, &listing)
		: blm_verify(store, name, flags, finding, &listing);
	PyEval_RestoreThread(listing.thread);
	unuse_store(where);
	return listed(&listing, r);
}
