/* lists.c - many keys in a list, a tuple or an iterator */
#include "batch.h"

/* ---- The keys of a tuple ---- */

static int hold(struct held *h, struct blm_key *key, struct key *one)
{
	if (h->kept_count == h->capacity) {
		size_t capacity = 2 * h->capacity + 64;
		struct key **larger = realloc(h->kept, capacity * sizeof(*larger));

		if (!larger)
			return -1;
		h->kept = larger;
		h->capacity = capacity;
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

int hold_all(struct held *h, PyObject *tuple, size_t count)
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

void let_go(struct held *h)
{
	for (size_t i = 0; i < h->kept_count; i++) {
		key_done(h->kept[i]);
		free(h->kept[i]);
	}
	free(h->kept);
	free(h->keys);
}

/* ---- Batches ---- */

int64_t run_tuple(struct batch *b, PyObject *tuple, PyObject *more)
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

int64_t run_iterable(struct batch *b, PyObject *keys)
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
