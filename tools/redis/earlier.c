/* earlier.c - files of an earlier run of the server */
#include "earlier.h"
#include "label.h"
#include "persist.h"
#include "store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20 };

struct file {
	char *name, *label;
	uint8_t uuid[16];
};

static struct file *files;
static size_t count, capacity;
static bool listed;

/* ---- The list ---- */

void earlier_forget(void)
{
	for (size_t i = 0; i < count; i++) {
		free(files[i].name);
		free(files[i].label);
	}
	count = 0;
	listed = false;
}

static int note(void *context, const struct blm_info *info, int err)
{
	char label[LABEL_MOST] = "";
	struct file *more;

	if (err < 0)
		return 0;
	label_read(label, info);
	if (count == capacity) {
		more = realloc(files, (capacity + 64) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		files = more;
		capacity += 64;
	}
	files[count] = (struct file){ .name = strdup(info->name), .label = strdup(label) };
	if (!files[count].name || !files[count].label) {
		free(files[count].name);
		free(files[count].label);
		return -ENOMEM;
	}
	memcpy(files[count].uuid, info->uuid, sizeof(info->uuid));
	count++;
	return 0;
}

static void make_list(void)
{
	if (!listed)
		blm_store_list(store, STORE_PREFIX "*", note, NULL);
	listed = true;
}

static bool is_free(const char *name)
{
	return !store_uses(name) && !persist_goes(name);
}

/* From `at` on, the next file with that label that no value has. NULL: there is none. */
static const struct file *find(const char *label, size_t *at)
{
	make_list();
	for (; *at < count; ++*at)
		if (!strcmp(files[*at].label, label) && is_free(files[*at].name))
			return &files[(*at)++];
	return NULL;
}

bool earlier_by_uuid(const uint8_t uuid[16], char ret_name[BLM_NAME_MAX + 1])
{
	make_list();
	for (size_t i = 0; i < count; i++)
		if (!memcmp(files[i].uuid, uuid, sizeof(files[i].uuid))
		    && is_free(files[i].name)) {
			strcpy(ret_name, files[i].name);
			return true;
		}
	return false;
}

bool earlier_has(const char *label)
{
	return find(label, &(size_t){ 0 });
}

/* ---- Comparing ---- */

/* True if a has every bit of b. Both have the same template; data of later stages come last. */
static bool holds(const struct blm_filter *a, const struct blm_filter *b)
{
	struct blm_info *info = malloc(2 * sizeof(*info));
	uint64_t *one = malloc(PIECE), *two = malloc(PIECE);
	bool good = info && one && two;

	if (good) {
		info[0] = info[1] = BLM_INFO;
		good = blm_info(a, &info[0]) == 0 && blm_info(b, &info[1]) == 0
			&& info[0].data_bytes >= info[1].data_bytes;
	}
	for (uint64_t at = 0; good && at < info[1].data_bytes; at += PIECE) {
		uint64_t left = info[1].data_bytes - at;
		size_t bytes = left < PIECE ? left : PIECE;

		good = blm_data_read(a, at, one, bytes) == 0
			&& blm_data_read(b, at, two, bytes) == 0;
		for (size_t i = 0; good && i < bytes / 8; i++)
			good = !(two[i] & ~one[i]);
	}
	free(info);
	free(one);
	free(two);
	return good;
}

struct blm_filter *earlier_open(const char *label, const struct blm_filter *like, bool drop,
				char ret_name[BLM_NAME_MAX + 1])
{
	const struct file *file;
	struct blm_filter *f;
	size_t at = 0;

	while ((file = find(label, &at))) {
		if (blm_open(&f, store, file->name, BLM_OPEN_WRITE) < 0)
			continue;	/* dropped since, or not to be changed */
		if (blm_same_template(f, like) == 0 && holds(f, like)) {
			strcpy(ret_name, file->name);
			return f;
		}
		blm_close(f);
		if (drop)
			blm_store_drop(store, file->name);
	}
	return NULL;
}
