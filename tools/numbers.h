/* numbers.h - numbers as people write and read them */
#ifndef BLOOMERY_NUMBERS_H
#define BLOOMERY_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

/*
 * 10000, 10k, 1.5m, 1e6, 4Ki. Return: 0, -EINVAL (no whole number), -ERANGE (negative, or 2^64 and
 * more).
 */
int parse_number(const char *text, uint64_t *ret);

/*
 * Hexadecimal digits to bytes, in as many bytes as half the digits. Return: are they all digits,
 * and even in number?
 */
int parse_hex(const char *digits, size_t count, uint8_t *ret);

/* These give a text that stays valid for the next seven calls. */
const char *show_count(uint64_t n);			/* "1,000,000" */
const char *show_number(uint64_t n);			/* with commas in a window only */
const char *show_bytes(uint64_t bytes);			/* "1.5 MiB" */
/* "[######....]", with > at its end beyond 1; at most 50 columns within the brackets */
const char *show_bar(double share, unsigned columns);
const char *show_rate(double rate);			/* "0.01", "2.67e-05" */
const char *show_time(uint64_t nanoseconds);		/* since 1970, as ISO 8601 in UTC */
const char *show_hex(const uint8_t *bytes, size_t count);
const char *show_uuid(const uint8_t uuid[16]);

#endif
