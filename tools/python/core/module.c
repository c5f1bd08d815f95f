/* module.c - bloomery._core: bloomery.h for Python, over the limited API */
#include "core.h"

static PyObject *error_of;	/* bloomery._errors.error_of(code, message, bits) */

PyObject *fail(int r, PyObject *bits)
{
	const char *message = blm_error_message();
	PyObject *error = NULL, *words;

	if (r == -ENOMEM && !(message && *message))
		return PyErr_NoMemory();
	/* a path in it need not be UTF-8 */
	words = PyUnicode_DecodeFSDefault(message && *message ? message : blm_strerror(r));
	if (words)
		error = PyObject_CallFunction(error_of, "iNO", -r, words, bits ? bits : Py_None);
	if (error)
		PyErr_SetObject((PyObject *)Py_TYPE(error), error);
	Py_XDECREF(error);
	return NULL;
}

PyObject *fail_closed(void)
{
	PyObject *error = PyObject_CallFunction(error_of, "isO", 0, "the filter is closed",
						Py_None);

	if (error)
		PyErr_SetObject((PyObject *)Py_TYPE(error), error);
	Py_XDECREF(error);
	return NULL;
}

int text_of(PyObject *object, const char **ret)
{
	Py_ssize_t len;

	*ret = NULL;
	if (object == Py_None)
		return 1;
	if (PyBytes_Check(object)) {
		*ret = PyBytes_AsString(object);
		len = PyBytes_Size(object);
	} else if (PyUnicode_Check(object)) {
		*ret = PyUnicode_AsUTF8AndSize(object, &len);
	} else {
		PyErr_Format(PyExc_TypeError, "str or bytes are needed, not %R", Py_TYPE(object));
	}
	if (!*ret || strlen(*ret) == (size_t)len)
		return *ret != NULL;
	PyErr_SetString(PyExc_ValueError, "embedded null byte");
	return 0;
}

int fail_with(int code, const char *format, ...)
{
	PyObject *message, *error = NULL;
	va_list args;

	va_start(args, format);
	message = PyUnicode_FromFormatV(format, args);
	va_end(args);
	if (message)
		error = PyObject_CallFunction(error_of, "iNO", code, message, Py_None);
	if (error)
		PyErr_SetObject((PyObject *)Py_TYPE(error), error);
	Py_XDECREF(error);
	return -1;
}

PyObject *handle_new(struct blm_filter *f)
{
	allocfunc alloc = (allocfunc)PyType_GetSlot(handle_type, Py_tp_alloc);
	PyObject *self = alloc(handle_type, 0);

	if (self)
		((struct handle *)self)->f = f;
	else
		blm_close(f);
	return self;
}

/* ---- Making and opening ---- */

enum { SEEDS = BLM_SEEDS_MAX };

/* What all of them have in common: how, store, name, and the parameters. */
static int params_from(PyObject *args, int *how, PyObject **where, const char **name,
		       struct blm_params *p, uint64_t *seeds)
{
	int replace, sparse, no_checkpoint;
	unsigned long long capacity, cells, tweak;
	Py_ssize_t secret_len = 0, count;
	const char *secret = NULL;
	PyObject *list;

	*p = BLM_PARAMS();
	if (!PyArg_ParseTuple(args, "iOO&zzzzzKdKIO!Kz#Ippp:open", how, where, text_of, name,
			      &p->kind, &p->options, &p->hash, &p->scheme, &p->format, &capacity,
				      &p->rate,
			      &cells, &p->probes, &PyTuple_Type, &list, &tweak, &secret,
			      &secret_len, &p->mode, &replace, &sparse, &no_checkpoint))
		return -1;
	count = PyTuple_Size(list);
	for (Py_ssize_t i = 0; i < count && i < SEEDS; i++)
		seeds[i] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(list, i));
	if (PyErr_Occurred())
		return -1;
	if (count > SEEDS || (secret && secret_len != BLM_SECRET_BYTES)) {
		PyErr_SetString(PyExc_ValueError, count > SEEDS ? "seeds: at most 256"
				: "secret: 16 bytes are needed");
		return -1;
	}
	p->capacity = capacity;
	p->cells = cells;
	p->tweak = tweak;
	p->seeds = seeds;
	p->seed_count = (uint32_t)count;
	p->secret = (const uint8_t *)secret;
	p->replace = replace;
	p->sparse = sparse;
	p->no_checkpoint = no_checkpoint;
	return 0;
}

/* how: 0 create, 1 open or create, 2 build. Return: (handle or builder, message or None). */
static PyObject *make(PyObject *module, PyObject *args)
{
	uint64_t seeds[SEEDS];
	struct blm_params p = BLM_PARAMS();
	struct blm_store *store;
	struct blm_filter *f = NULL;
	struct blm_build *build = NULL;
	PyObject *where, *ret;
	const char *name;
	int how, r;

	if (params_from(args, &how, &where, &name, &p, seeds) < 0 || use_store(where, &store) < 0)
		return NULL;
	if (how == 2) {
		WITHOUT_GIL(r = blm_build_begin(&build, store, name, &p, NULL);)
	} else {
		WITHOUT_GIL(r = (how ? blm_open_or_create : blm_create)(&f, store, name, &p);)
	}
	unuse_store(where);
	if (r < 0)
		return fail(r, NULL);
	if (how == 2)
		return builder_new(build, NULL);
	/* the message first: closing and allocating may overwrite it */
	ret = r == BLM_DIFFERS && how ? PyUnicode_DecodeFSDefault(blm_error_message()) : NULL;
	if (!ret)
		ret = Py_None, Py_INCREF(ret);
	return Py_BuildValue("NN", handle_new(f), ret);
}

static PyObject *open_filter(PyObject *module, PyObject *args)
{
	struct blm_filter *f;
	struct blm_store *store;
	const char *name, *secret;
	Py_ssize_t len;
	PyObject *where;
	int write, r;

	if (!PyArg_ParseTuple(args, "OO&pz#:open", &where, text_of, &name, &write, &secret, &len))
		return NULL;
	if (secret && len != BLM_SECRET_BYTES) {
		PyErr_SetString(PyExc_ValueError, "secret: 16 bytes are needed");
		return NULL;
	}
	if (use_store(where, &store) < 0)
		return NULL;
	WITHOUT_GIL(r = secret ? blm_open_keyed(&f, store, name, write ? BLM_OPEN_WRITE : 0,
						(const uint8_t *)secret)
		    : blm_open(&f, store, name, write ? BLM_OPEN_WRITE : 0);)
	unuse_store(where);
	return r < 0 ? fail(r, NULL) : handle_new(f);
}

/* Imports a path or bytes. open: the file of another program is opened as it is. */
static PyObject *import_filter(PyObject *module, PyObject *args)
{
	struct blm_exchange how = BLM_EXCHANGE();
	struct blm_filter *f = NULL;
	struct blm_store *store;
	const char *name, *path, *bytes, *known;
	Py_ssize_t len, known_len;
	struct blm_key key;
	unsigned long long most;
	PyObject *where;
	int open, base64, r;

	if (!PyArg_ParseTuple(args, "pOO&O&z#zpzz#IKz:import_", &open, &where, text_of, &name,
			      text_of, &path, &bytes, &len, &how.format, &base64, &how.hash,
			      &known, &known_len, &how.mode, &most, &how.record)
	    || use_store(where, &store) < 0)
		return NULL;
	key = (struct blm_key){ known, (size_t)known_len };
	how.known = known ? &key : NULL;
	how.known_count = known != NULL;
	how.base64 = base64;
	how.max_bytes = most;
	WITHOUT_GIL(r = open ? blm_open_foreign(&f, path, &how)
		    : path ? blm_import_file(&f, store, name, &how, path)
		    : blm_import_bytes(&f, store, name, &how, bytes, (size_t)len);)
	unuse_store(where);
	return r < 0 ? fail(r, NULL) : handle_new(f);
}

static PyObject *plan(PyObject *module, PyObject *args)
{
	uint64_t seeds[SEEDS];
	struct blm_params p = BLM_PARAMS();
	struct blm_plan plan;
	PyObject *where;
	const char *name;
	int how, r;

	if (params_from(args, &how, &where, &name, &p, seeds) < 0)
		return NULL;
	r = blm_plan(&plan, &p);
	return r < 0 ? fail(r, NULL)
		: Py_BuildValue("sKIKKKddd", plan.kind, plan.cells, plan.probes, plan.data_bytes,
				plan.file_bytes, plan.capacity, plan.rate, plan.predicted_rate,
				plan.bits_per_key);
}

/* ---- The module ---- */

static PyMethodDef functions[] = {
	{ "make", make, METH_VARARGS, NULL },
	{ "open", open_filter, METH_VARARGS, NULL },
	{ "import_", import_filter, METH_VARARGS, NULL },
	{ "plan", plan, METH_VARARGS, NULL },
	{ "verify", verify, METH_VARARGS, NULL },
	{ "update", update_begin, METH_VARARGS, NULL },
	{ "apply_delta", apply_delta, METH_VARARGS, NULL },
	{ 0 }
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT, .m_name = "bloomery._core", .m_size = -1, .m_methods = functions,
	.m_doc = "The library under bloomery.Filter and bloomery.Store; not for direct use.",
};

static int add_type(PyObject *module, PyType_Spec *spec, const char *name, PyTypeObject **ret)
{
	*ret = (PyTypeObject *)PyType_FromSpec(spec);
	if (!*ret)
		return -1;
	Py_INCREF(*ret);
	return PyModule_AddObject(module, name, (PyObject *)*ret);
}

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
	PyObject *module = PyModule_Create(&definition);
	PyObject *errors = PyImport_ImportModule("bloomery._errors");

	error_of = errors ? PyObject_GetAttrString(errors, "error_of") : NULL;
	Py_XDECREF(errors);
	/* a file that is truncated while it is open raises Damaged, instead of ending Python */
	if (!module || !error_of || (blm_survive_truncation() < 0 && !fail(-EIO, NULL))
	    || add_type(module, &handle_spec, "Handle", &handle_type) < 0
	    || add_type(module, &store_spec, "StoreHandle", &store_type) < 0
	    || add_type(module, &builder_spec, "Builder", &builder_type) < 0
	    || PyModule_AddStringConstant(module, "VERSION", blm_version()) < 0
	    || PyModule_AddIntConstant(module, "FORGETS", BLM_FORGETS) < 0
	    || PyModule_AddIntConstant(module, "CAN_EXCLUDE", BLM_CAN_EXCLUDE) < 0) {
		Py_XDECREF(module);
		return NULL;
	}
	return module;
}
