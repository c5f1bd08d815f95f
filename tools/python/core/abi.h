/*
 * abi.h - Python.h for extensions that every CPython from 3.9 on loads
 *
 * The buffer protocol and PyUnicode_AsUTF8AndSize() entered the limited API later than 3.9. Their
 * symbols and the layout of Py_buffer are the same in all these versions, so this file declares
 * them.
 */
#ifndef BLOOMERY_PYTHON_ABI_H
#define BLOOMERY_PYTHON_ABI_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#if Py_LIMITED_API < 0x030b0000
typedef struct {
	void *buf;
	PyObject *obj;
	Py_ssize_t len, itemsize;
	int readonly, ndim;
	char *format;
	Py_ssize_t *shape, *strides, *suboffsets;
	void *internal;
} Py_buffer;

int PyObject_CheckBuffer(PyObject *object);
int PyObject_GetBuffer(PyObject *object, Py_buffer *view, int flags);
void PyBuffer_Release(Py_buffer *view);
int PyBuffer_FillInfo(Py_buffer *view, PyObject *object, void *buf, Py_ssize_t len, int readonly,
		      int flags);
const char *PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *size);

enum {
	PyBUF_SIMPLE = 0, PyBUF_FORMAT = 4, PyBUF_ND = 8,
	PyBUF_C_CONTIGUOUS = 0x20 | 0x10 | PyBUF_ND,
};
#ifndef Py_bf_getbuffer
#define Py_bf_getbuffer 1
#define Py_bf_releasebuffer 2
#endif
#endif

#endif
