/* json.h - objects of JSON on stdout, one a line */
#ifndef BLOOMERY_JSON_H
#define BLOOMERY_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Names of fields are ours and plain. In an array the name is NULL. */
void json_begin(void);
void json_end(void);
void json_open(const char *name);	/* an array */
void json_close(void);
void json_open_object(const char *name);
void json_close_object(void);
/* NULL gives null; bytes that are not UTF-8 become U+FFFD */
void json_text(const char *name, const char *value);
void json_count(const char *name, uint64_t value);
void json_real(const char *name, double value);		/* NaN and infinity give null */
void json_bool(const char *name, bool value);

/* Without loss: bytes that are no UTF-8 are the field NAME_hex, in hexadecimal digits. */
void json_bytes(const char *name, const void *bytes, size_t count);
/* The same field without a comma, anywhere. By any thread, unlike the calls above. */
void json_write(FILE *out, const char *name, const void *bytes, size_t count);

#endif
