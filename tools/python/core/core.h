/* core.h - the types of the module bloomery._core, and what its files share */
#ifndef BLOOMERY_PYTHON_CORE_H
#define BLOOMERY_PYTHON_CORE_H

#include "abi.h"

#include <bloomery.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A filter's handle. Calls that give up the GIL count themselves in `users`. close() of a handle
 * that is in use only marks it, and the last user closes it. Both are changed under the GIL.
 */
struct handle {
	PyObject_HEAD
	struct blm_filter *f;
	Py_ssize_t users;
	Py_ssize_t views;	/* of memoryview(), onto the map: close() is refused */
	int closing;
};

/* As a handle: a call may give up the GIL or run code of Python, so close() may only mark it. */
struct store {
	PyObject_HEAD
	struct blm_store *store;
	Py_ssize_t users;
	int closing;
};

/* finish() is refused while another thread is in add_many(). */
struct builder {
	PyObject_HEAD
	struct blm_build *build;	/* or */
	struct blm_update *update;
	Py_ssize_t users;
};

extern PyTypeObject *handle_type, *store_type, *builder_type;
extern PyType_Spec handle_spec, store_spec, builder_spec;

/* A key's bytes while it is used. */
struct key {
	struct blm_key key;
	uint8_t number[8];
	Py_buffer view;
	int held;		/* view is to be released */
};

/* Return: 0, or -1 with TypeError, OverflowError or UnicodeEncodeError. */
int key_from(PyObject *object, struct key *ret);
void key_done(struct key *key);

/*
 * The letter of a buffer's format, if its items are bytes or whole numbers of this machine's byte
 * order: then the same key has the same bytes everywhere. 0: another format.
 */
int plain_format(const char *format);

/* numpy shows the bytes of some types as if they were plain bytes. Is this of such a type? */
int is_no_plain_numpy(PyObject *object);

/* The operations on many keys. The order is that of _filter.py. */
enum op {
	CONTAINS, ADD, CLAIM, REMOVE, PUT, GET, WITHIN, AGAIN, ADD_AT, AGES, BUILD, EXCLUDE, COMING,
	GOING,
};

/* A filter or a builder, in use until the call ends. closing: NULL, or set by close(). */
struct target {
	void *what;
	const int *closing;
};

/*
 * more: the values of PUT; what GET has for a key without a value; (nanoseconds within which, time
 * at which, what AGES has for a key that was not seen) of WITHIN, AGAIN, ADD_AT and AGES; else
 * NULL. Return: (yes, bits, count), GET and AGES: a list; or NULL with an exception that has
 * `answers` and `used`.
 */
PyObject *run_many(struct target target, enum op op, PyObject *keys, PyObject *more);
PyObject *run_packed(struct target target, enum op op, PyObject *data, PyObject *offsets,
		     PyObject *more);
/* Range i is from item i of the tuple `first` to that of `last`. Return: as run_many(). */
PyObject *run_ranges(struct target target, PyObject *first, PyObject *last);

/* Raise what the library failed with. bits: NULL, or the answers so far. Return: NULL. */
PyObject *fail(int r, PyObject *bits);
PyObject *fail_closed(void);
/* An errno value with words, as PyUnicode_FromFormat() has them. Return: -1. */
int fail_with(int code, const char *format, ...);

/* The filter, or NULL with an exception. */
struct blm_filter *filter_of(PyObject *self);
struct blm_filter *use(struct handle *handle);
void unuse(struct handle *handle);

/*
 * None's store is NULL. The store stays open until the object is given to unuse_store(). Return: 0,
 * or -1 with an exception.
 */
int use_store(PyObject *object, struct blm_store **ret);
void unuse_store(PyObject *object);
PyObject *handle_new(struct blm_filter *f);
/* One of them, which then belongs to the object; the other is NULL. */
PyObject *builder_new(struct blm_build *build, struct blm_update *update);
/* For free(); NULL: no memory. */
struct blm_info *info_new(void);
PyObject *info_dict(const struct blm_info *info);
PyObject *verify(PyObject *self, PyObject *args);
PyObject *update_begin(PyObject *module, PyObject *args);
PyObject *apply_delta(PyObject *module, PyObject *args);

/* A converter for "O&": text as UTF-8, or bytes as they are, without NUL; None is NULL. */
int text_of(PyObject *object, const char **ret);

/* Statements that may wait, so other threads of Python run meanwhile. */
#define WITHOUT_GIL(statements) { Py_BEGIN_ALLOW_THREADS statements Py_END_ALLOW_THREADS }

#endif
