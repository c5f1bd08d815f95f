/* text.h - the parsers of bench-text that are files of their own */
#ifndef BENCH_TEXT_H
#define BENCH_TEXT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes of the string "text" of one line; 0: there is none. */
size_t by_json_c(const char *line, size_t length);
size_t by_simdjson(const char *line, size_t length);

#ifdef __cplusplus
}
#endif

#endif
