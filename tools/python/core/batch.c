/* batch.c - many keys in one call: the calls of the library, and the answers */
#include "batch.h"

/* ---- Answers ---- */

static int more_answers(struct batch *b, size_t count)
{
	size_t words = (b->count + count + 63) / 64;
	uint64_t *bits = realloc(b->bits, (words + 1) * sizeof(*bits));

	if (!bits) {
		PyErr_NoMemory();
		return -1;
	}
	memset(bits + b->count / 64, 0, (words + 1 - b->count / 64) * sizeof(*bits));
	b->bits = bits;
	return 0;
}

/* Gives bytes; the library's words are as the machine has them, which is little-endian here. */
static PyObject *bitmap(const struct batch *b)
{
	return PyBytes_FromStringAndSize((const char *)b->bits, (Py_ssize_t)((b->count + 7) / 8));
}

/* Every exception that ends a batch says which keys were used. */
static void add_answers(const struct batch *b)
{
	PyObject *type, *error, *trace, *bits, *used;

	PyErr_Fetch(&type, &error, &trace);
	PyErr_NormalizeException(&type, &error, &trace);
	bits = bitmap(b);
	used = PyLong_FromSize_t(b->count);
	if (!error || !bits || !used || PyObject_SetAttrString(error, "answers", bits) < 0
	    || PyObject_SetAttrString(error, "used", used) < 0)
		PyErr_Clear();		/* a class may have no room for attributes */
	Py_XDECREF(bits);
	Py_XDECREF(used);
	PyErr_Restore(type, error, trace);
}

static PyObject *found_values(const struct batch *b, PyObject *otherwise)
{
	PyObject *list = PyList_New((Py_ssize_t)b->count);

	for (size_t i = 0; list && i < b->count; i++) {
		int has = b->bits[i / 64] >> i % 64 & 1;
		PyObject *item = !has ? otherwise : b->op == AGES
			? PyFloat_FromDouble((double)b->ret_values[i] / 1e9)
			: PyLong_FromUnsignedLongLong(b->ret_values[i]);

		if (!has)
			Py_INCREF(item);
		if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0)
			Py_CLEAR(list);
	}
	return list;
}

PyObject *done(struct batch *b, int64_t r, PyObject *more)
{
	PyObject *ret = NULL, *bits;

	if (r < 0 && !PyErr_Occurred())
		fail((int)r, NULL);
	if (r < 0) {
		add_answers(b);
	} else if (b->op == GET || b->op == AGES) {
		ret = found_values(b, b->op == GET ? more : PyTuple_GetItem(more, 2));
	} else {
		bits = bitmap(b);
		ret = bits ? Py_BuildValue("LNn", (long long)b->yes, bits, (Py_ssize_t)b->count)
			: NULL;
	}
	free(b->bits);
	free(b->ret_values);
	free((uint64_t *)b->values);
	return ret;
}

/* ---- The calls of the library ---- */

static int64_t use_keys(void *what, const struct batch *b, const struct blm_key *keys, size_t at,
			size_t count, uint64_t *bits)
{
	const struct blm_when *when = &b->when;

	if (b->last)
		return blm_contains_ranges(what, keys, b->last + at, count, bits);
	switch (b->op) {
	case CONTAINS: return blm_contains_many(what, keys, count, bits);
	case ADD:      return blm_add_many(what, keys, count, bits);
	case CLAIM:    return blm_claim_many(what, keys, count, bits);
	case REMOVE:   return blm_remove_many(what, keys, count, bits);
	case PUT:      return blm_put_many(what, keys, b->values + at, count, bits);
	case GET:      return blm_get_many(what, keys, count, b->ret_values + at, bits);
	case WITHIN:   return blm_contains_within(what, keys, count, when, bits);
	case AGAIN:    return blm_claim_again(what, keys, count, when, bits);
	case ADD_AT:   return blm_add_at(what, keys, count, when, bits);
	case AGES:     return blm_ages(what, keys, count, when, b->ret_values + at, bits);
	case EXCLUDE:  return blm_build_exclude_many(what, keys, count);
	case COMING:   return blm_update_add_many(what, keys, count);
	case GOING:    return blm_update_remove_many(what, keys, count);
	default:       return blm_build_add_many(what, keys, count);
	}
}

static int64_t use_fixed(void *what, enum op op, const char *keys, size_t width, size_t count,
			 uint64_t *bits)
{
	switch (op) {
	case CONTAINS: return blm_contains_fixed(what, keys, width, count, bits);
	case ADD:      return blm_add_fixed(what, keys, width, count, bits);
	case CLAIM:    return blm_claim_fixed(what, keys, width, count, bits);
	default:       return blm_build_add_fixed(what, keys, width, count);
	}
}

static int64_t use_packed(void *what, enum op op, const char *data, const char *offsets,
			  size_t bytes, size_t count, uint64_t *bits)
{
	switch (op) {
	case CONTAINS: return blm_contains_packed(what, data, offsets, bytes, count, bits);
	case ADD:      return blm_add_packed(what, data, offsets, bytes, count, bits);
	case CLAIM:    return blm_claim_packed(what, data, offsets, bytes, count, bits);
	default:       return blm_remove_packed(what, data, offsets, bytes, count, bits);
	}
}

int64_t offset_at(const struct batch *b, size_t at)
{
	int64_t wide;
	int32_t narrow;

	if (b->offset_bytes == 8) {
		memcpy(&wide, b->offsets + 8 * at, 8);
		return wide;
	}
	memcpy(&narrow, b->offsets + 4 * at, 4);
	return narrow;
}

/* The library has no such call for arrays, so the keys get pointers. */
static int64_t use_as_keys(const struct batch *b, size_t at, size_t count, uint64_t *bits)
{
	struct blm_key *keys = malloc(count * sizeof(*keys));
	int64_t r = -ENOMEM;

	for (size_t i = 0; keys && i < count; i++) {
		int64_t from = b->packed ? offset_at(b, at + i) : 0;

		keys[i] = b->packed
			? (struct blm_key){ b->packed + from,
					    (size_t)(offset_at(b, at + i + 1) - from) }
			: (struct blm_key){ b->fixed + (at + i) * b->width, b->width };
	}
	if (keys)
		r = use_keys(b->target.what, b, keys, at, count, bits);
	free(keys);
	return r;
}

static int64_t use_chunk(const struct batch *b, size_t at, size_t count, uint64_t *bits)
{
	void *what = b->target.what;

	if (b->keys)
		return use_keys(what, b, b->keys + at, at, count, bits);
	if (b->fixed && (b->op <= CLAIM || b->op == BUILD))
		return use_fixed(what, b->op, b->fixed + at * b->width, b->width, count, bits);
	if (b->packed && b->op <= REMOVE)
		return use_packed(what, b->op, b->packed, b->offsets + at * b->offset_bytes,
				  b->offset_bytes, count, bits);
	return use_as_keys(b, at, count, bits);
}

/* Return: -1 with an exception if a signal's handler raised one, or if close() was called. */
static int interrupted(const struct batch *b)
{
	if (PyErr_CheckSignals() < 0)
		return -1;
	if (b->target.closing && *b->target.closing) {
		fail_closed();
		return -1;
	}
	return 0;
}

int64_t run(struct batch *b, size_t count)
{
	int64_t r = more_answers(b, count) < 0 ? -ENOMEM : 0;

	for (size_t at = 0, now; r == 0 && at < count; at += now) {
		uint64_t *bits = b->bits + b->count / 64;

		now = count - at < CHUNK ? count - at : CHUNK;
		if (b->count && interrupted(b) < 0)
			return -EINTR;
		WITHOUT_GIL(r = use_chunk(b, at, now, bits);)
		b->count += now;
		b->yes += r > 0 ? r : 0;
		r = r < 0 ? r : 0;
	}
	return r;
}

/* ---- Values ---- */

int values_from(struct batch *b, PyObject *more, size_t count)
{
	PyObject *tuple = b->op == PUT ? PySequence_Tuple(more) : NULL;
	bool gets = b->op == GET || b->op == AGES;
	uint64_t *values = b->op == PUT || gets ? malloc((count + 1) * sizeof(*values)) : NULL;

	if (gets)
		b->ret_values = values;
	if (b->op != PUT)
		return gets && !values ? (PyErr_NoMemory(), -1) : 0;
	b->values = values;
	if (!values && tuple)
		PyErr_NoMemory();
	if (tuple && values && (size_t)PyTuple_Size(tuple) != count)
		PyErr_Format(PyExc_ValueError, "there are %zu keys, but %zd values", count,
			     PyTuple_Size(tuple));
	for (size_t i = 0; tuple && i < count && !PyErr_Occurred(); i++) {
		PyObject *number = PyNumber_Index(PyTuple_GetItem(tuple, (Py_ssize_t)i));

		if (number)
			values[i] = PyLong_AsUnsignedLongLong(number);
		Py_XDECREF(number);
	}
	Py_XDECREF(tuple);
	return PyErr_Occurred() ? -1 : 0;
}

/* ---- The whole call ---- */

int begin(struct batch *b, struct target target, enum op op, PyObject *more)
{
	unsigned long long within, at;
	PyObject *otherwise;

	*b = (struct batch){ .target = target, .op = op };
	if (op < WITHIN || op > AGES)
		return 0;
	if (!PyArg_ParseTuple(more, "KKO", &within, &at, &otherwise))
		return -1;
	b->when = (struct blm_when){ .size = sizeof(b->when), .within = within, .at = at };
	return 0;
}

PyObject *run_many(struct target target, enum op op, PyObject *keys, PyObject *more)
{
	struct batch b;
	size_t count = 0;
	Py_buffer view;
	int64_t r;
	int is;

	if (begin(&b, target, op, more) < 0)
		return NULL;
	if (PyUnicode_Check(keys) || PyBytes_Check(keys) || PyByteArray_Check(keys)
	    || PyObject_TypeCheck(keys, handle_type)) {
		one_key(keys);
		return NULL;
	}
	is = PyTuple_Check(keys) || PyList_Check(keys) ? 0
		: fixed_from(keys, &view, &b.width, &count);
	if (is < 0)
		return NULL;
	if (is) {
		r = run_fixed(&b, &view, count, more);
		if (r < 0 && !PyErr_Occurred())
			fail((int)r, NULL);
		PyBuffer_Release(&view);
	} else if (PyTuple_Check(keys) || PyList_Check(keys) || op == PUT || op == GET
		   || op == AGES) {
		PyObject *tuple = PySequence_Tuple(keys);

		r = tuple ? run_tuple(&b, tuple, more) : -EINVAL;
		Py_XDECREF(tuple);
	} else {
		r = run_iterable(&b, keys);
	}
	return done(&b, r, more);
}
