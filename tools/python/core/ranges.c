/* ranges.c - many questions for ranges of keys */
#include "batch.h"

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
