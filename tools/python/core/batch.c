/* batch.c - many keys: a list, an iterator, an array of keys of one width, or packed keys */
#include "core.h"

/*
 * Keys that are taken from an iterator at a time, and that are used before the batch looks for a
 * signal or for close(). A multiple of 64, because each chunk's answers begin with a whole word.
 */
enum { CHUNK = 1 << 16 };

/* One of keys, fixed and packed is set, while a batch runs. */
struct batch {
	struct target target;
	enum op op;
	const struct blm_key *keys;
	const char *fixed;
	size_t width;
	const char *packed;
	const char *offsets;		/* a copy: the caller may change its own at any time */
	size_t offset_bytes;
	const uint64_t *values;		/* PUT */
	uint64_t *ret_values;		/* GET, AGES */
	struct blm_when when;		/* WITHIN, AGAIN, ADD_AT, AGES */
	const struct blm_key *last;	/* of ranges, whose first ones are keys; else NULL */

	uint64_t *bits;
	size_t count;			/* keys that were used */
	int64_t yes;
};

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

static PyObject *done(struct batch *b, int64_t r, PyObject *more)
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

static int64_t offset_at(const struct batch *b, size_t at)
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

/* The next `count` keys. The answers of a batch that fails are those up to its failure. */
static int64_t run(struct batch *b, size_t count)
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

/* Room for what a batch has beside the keys, before the first key is used. */
static int values_from(struct batch *b, PyObject *more, size_t count)
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

/* ---- Lists and iterators ---- */

/* The keys of a tuple. Keys that are neither bytes nor str have a struct key. */
struct held {
	struct blm_key *keys;
	struct key **kept;
	size_t kept_count, room;
};

static int hold(struct held *h, struct blm_key *key, struct key *one)
{
	if (h->kept_count == h->room) {
		size_t room = 2 * h->room + 64;
		struct key **larger = realloc(h->kept, room * sizeof(*larger));

		if (!larger)
			return -1;
		h->kept = larger;
		h->room = room;
	}
	h->kept[h->kept_count] = malloc(sizeof(*one));
	if (!h->kept[h->kept_count])
		return -1;
	*h->kept[h->kept_count] = *one;
	if (!one->held)
		key->bytes = h->kept[h->kept_count]->number;
	h->kept_count++;
	return 0;
}

static int hold_all(struct held *h, PyObject *tuple, size_t count)
{
	h->keys = malloc((count + 1) * sizeof(*h->keys));
	if (!h->keys)
		return PyErr_NoMemory(), -1;
	for (size_t i = 0; i < count; i++) {
		PyObject *item = PyTuple_GetItem(tuple, (Py_ssize_t)i);
		struct key one;

		if (key_from(item, &one) < 0)
			return -1;
		h->keys[i] = one.key;
		if (PyUnicode_Check(item) || PyBytes_Check(item) || hold(h, &h->keys[i], &one) == 0)
			continue;
		key_done(&one);
		return PyErr_NoMemory(), -1;
	}
	return 0;
}

static void let_go(struct held *h)
{
	for (size_t i = 0; i < h->kept_count; i++) {
		key_done(h->kept[i]);
		free(h->kept[i]);
	}
	free(h->kept);
	free(h->keys);
}

/* All of a tuple, whose items live as long as it does. */
static int64_t run_tuple(struct batch *b, PyObject *tuple, PyObject *more)
{
	size_t count = (size_t)PyTuple_Size(tuple);
	struct held h = { 0 };
	int64_t r = -EINVAL;

	if (hold_all(&h, tuple, count) == 0 && values_from(b, more, count) == 0) {
		b->keys = h.keys;
		r = run(b, count);
		b->keys = NULL;
	}
	/* before Python's code runs again, which may take the words of a failure away */
	if (r < 0 && !PyErr_Occurred())
		fail((int)r, NULL);
	let_go(&h);
	return r;
}

PyObject *run_ranges(struct target target, PyObject *first, PyObject *last)
{
	struct batch b = { .target = target, .op = CONTAINS };
	size_t count = (size_t)PyTuple_Size(first);
	struct held from = { 0 }, to = { 0 };
	int64_t r = -EINVAL;

	if ((size_t)PyTuple_Size(last) != count) {
		PyErr_SetString(PyExc_ValueError, "each range has a first key and a last one");
	} else if (hold_all(&from, first, count) == 0 && hold_all(&to, last, count) == 0) {
		b.keys = from.keys;
		b.last = to.keys;
		r = run(&b, count);
	}
	if (r < 0 && !PyErr_Occurred())
		fail((int)r, NULL);
	let_go(&from);
	let_go(&to);
	return done(&b, r, NULL);
}

/* Up to CHUNK items. Return: a tuple, or NULL with an exception. */
static PyObject *take(PyObject *iterator)
{
	PyObject *list = PyList_New(0), *item = NULL, *tuple;

	for (int i = 0; list && i < CHUNK && (item = PyIter_Next(iterator)); i++) {
		int r = PyList_Append(list, item);

		Py_DECREF(item);
		if (r < 0)
			break;
	}
	tuple = list && !PyErr_Occurred() ? PyList_AsTuple(list) : NULL;
	Py_XDECREF(list);
	return tuple;
}

static int64_t run_iterable(struct batch *b, PyObject *keys)
{
	PyObject *iterator = PyObject_GetIter(keys), *tuple;
	int64_t r = iterator ? 0 : -EINVAL;
	Py_ssize_t count = CHUNK;

	while (r == 0 && count == CHUNK) {
		tuple = take(iterator);
		count = tuple ? PyTuple_Size(tuple) : 0;
		r = tuple ? run_tuple(b, tuple, NULL) : -EINVAL;
		Py_XDECREF(tuple);
	}
	Py_XDECREF(iterator);
	return r;
}

/* ---- Arrays ---- */

/* Is it an array, which has items? A buffer of bytes without items is one key, as mmap's. */
static int has_items(PyObject *keys)
{
	return PyObject_HasAttrString(keys, "dtype") || PyObject_HasAttrString(keys, "typecode")
		|| PyObject_HasAttrString(keys, "_type_");
}

static int one_key(PyObject *keys)
{
	PyErr_Format(PyExc_TypeError, "many keys are an iterable or an array; %R is one key",
		     Py_TYPE(keys));
	return -1;
}

static int no_array(const char *format, int dimensions)
{
	PyErr_Format(PyExc_TypeError, "an array of keys has one dimension of whole numbers of this "
		     "machine's byte order or of bytes, or two dimensions of bytes; not %d of "
		     "format '%s'; give a list of keys", dimensions, format ? format : "B");
	return -1;
}

/* 1: it was a buffer; 0: it is to be iterated; or -1 with an exception. */
static int fixed_from(PyObject *keys, Py_buffer *view, size_t *width, size_t *count)
{
	int letter, r = 1;

	if (!PyObject_CheckBuffer(keys))
		return 0;
	if (is_no_plain_numpy(keys)) {
		PyErr_Format(PyExc_TypeError, "an array of keys is of whole numbers or bytes; not "
			     "%R of another type; give a list of keys", Py_TYPE(keys));
		return -1;
	}
	if (PyObject_GetBuffer(keys, view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0)
		return -1;
	letter = plain_format(view->format);
	if (!letter || view->ndim < 1 || view->ndim > 2
	    || (view->ndim == 2 && (view->itemsize != 1 || !strchr("cbB", letter))))
		r = no_array(view->format, view->ndim);
	else if (view->ndim == 1 && strchr("cbB", letter) && !has_items(keys))
		r = one_key(keys);
	if (r < 0) {
		PyBuffer_Release(view);
		return r;
	}
	*width = (size_t)(view->ndim == 2 ? view->shape[1] : view->itemsize);
	*count = (size_t)view->shape[0];
	return 1;
}

static int64_t run_fixed(struct batch *b, Py_buffer *view, size_t count, PyObject *more)
{
	if (b->op == REMOVE) {
		PyErr_SetString(PyExc_TypeError, "remove_many() takes no array of keys of one "
				"width; give it a list of bytes");
		return -EINVAL;
	}
	b->fixed = view->buf ? view->buf : "";
	return values_from(b, more, count) < 0 ? -EINVAL : run(b, count);
}

/* The times of WITHIN, AGAIN, ADD_AT and AGES. Return: 0, or -1 with an exception. */
static int begin(struct batch *b, struct target target, enum op op, PyObject *more)
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

/* ---- Packed keys ---- */

/* All offsets, before the first key is used. The library does not know how long the data are. */
static int check_offsets(const struct batch *b, size_t count, Py_ssize_t len)
{
	int64_t last = offset_at(b, 0);

	if (last < 0)
		return fail_with(EINVAL, "offsets: the first one is %lld, but no offset is "
				 "negative", (long long)last);
	for (size_t i = 1; i <= count; i++) {
		int64_t next = offset_at(b, i);

		if (next < last)
			return fail_with(EINVAL, "offsets: number %zu is %lld, and the one before "
					 "it is %lld; no offset may be less than the one before "
					 "it", i, (long long)next, (long long)last);
		last = next;
	}
	return last <= len ? 0
		: fail_with(EINVAL, "offsets: the last one is %lld, but data has %zd bytes",
			    (long long)last, len);
}

/* A copy, so that what was checked is what is used. Return: 0, or -1 with an exception. */
static int copy_offsets(struct batch *b, PyObject *offsets, size_t *ret_count)
{
	Py_buffer view;
	char *copy;
	int letter;

	if (PyObject_GetBuffer(offsets, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0)
		return -1;
	letter = plain_format(view.format);
	if (!letter || !strchr("ilq", letter) || view.ndim != 1
	    || (view.itemsize != 4 && view.itemsize != 8)) {
		PyErr_Format(PyExc_TypeError, "offsets are a buffer of one dimension of signed "
			     "numbers of 4 or 8 bytes (format i, l or q); not %d of format '%s'",
			     view.ndim, view.format ? view.format : "B");
		PyBuffer_Release(&view);
		return -1;
	}
	copy = malloc((size_t)view.len + 1);
	if (copy) {
		memcpy(copy, view.buf, (size_t)view.len);
		b->offsets = copy;
		b->offset_bytes = (size_t)view.itemsize;
		*ret_count = view.len ? (size_t)(view.len / view.itemsize - 1) : 0;
	} else {
		PyErr_NoMemory();
	}
	PyBuffer_Release(&view);
	return copy ? 0 : -1;
}

PyObject *run_packed(struct target target, enum op op, PyObject *data, PyObject *offsets,
		     PyObject *more)
{
	struct batch b;
	int64_t r = -EINVAL;
	size_t count = 0;
	Py_buffer bytes;

	if (begin(&b, target, op, more) < 0 || PyObject_GetBuffer(data, &bytes, PyBUF_SIMPLE) < 0)
		return NULL;
	b.packed = bytes.buf ? bytes.buf : "";
	if (copy_offsets(&b, offsets, &count) == 0
	    && (count == 0 || check_offsets(&b, count, bytes.len) == 0)
	    && values_from(&b, more, count) == 0)
		r = run(&b, count);
	if (r < 0 && !PyErr_Occurred())
		fail((int)r, NULL);
	PyBuffer_Release(&bytes);
	free((char *)b.offsets);
	return done(&b, r, more);
}
