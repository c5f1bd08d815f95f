/*
 * earlier.h - files of an earlier run of the server, which it goes on with when it loads its data
 *
 * A value that is loaded goes on with the file that has the label of its key, under whatever name,
 * if the file has every bit of the value. The list of files is made once for each loading.
 */
#ifndef BLOOMERY_REDIS_EARLIER_H
#define BLOOMERY_REDIS_EARLIER_H

#include "value.h"

/* The server begins or ends to load data. */
void earlier_forget(void);

/* The file with that uuid, if no value has it. Return: false if there is none */
bool earlier_by_uuid(const uint8_t uuid[16], char ret_name[BLM_NAME_MAX + 1]);

/* Is a file that no value has labelled so? */
bool earlier_has(const char *label);

/*
 * Opens a file with that label that no value has and that can stand for `like`. @drop: files with
 * the label that cannot are dropped. Return: NULL if there is none
 */
struct blm_filter *earlier_open(const char *label, const struct blm_filter *like, bool drop,
				char ret_name[BLM_NAME_MAX + 1]);

#endif
