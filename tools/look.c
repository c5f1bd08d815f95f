/* look.c - what all filters of a store are like at one moment */
#include "look.h"
#include "numbers.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <time.h>

struct taking {
	struct blm_store *store;
	struct looks *looks;
};

static int look_at(void *context, const struct blm_info *info, int err)
{
	const struct taking *taking = context;
	struct looks *looks = taking->looks;
	struct blm_info now = *info;
	struct look *look;

	if (err < 0) {
		looks->damaged++;
		return 0;
	}
	if (looks->count == looks->room) {
		size_t room = looks->room ? 2 * looks->room : 64;
		struct look *all = realloc(looks->all, room * sizeof(*all));

		if (!all)
			return -ENOMEM;
		looks->all = all;
		looks->room = room;
	}
	look = &looks->all[looks->count++];
	*look = (struct look){ .unread = blm_store_refresh(taking->store, &now) < 0 };
	strcpy(look->name, now.name);
	snprintf(look->file, sizeof(look->file), "%s.blm", show_uuid(now.uuid));
	look->kind = now.kind;
	look->hash = now.hash;
	look->keys = (double)now.keys;
	look->capacity = (double)now.capacity;
	look->rate = now.rate;
	look->predicted = now.rate_at_keys;
	look->bytes = (double)now.bytes;
	look->data_bytes = (double)now.data_bytes;
	look->synced = (double)now.synced / 1e9;
	look->dirty = now.dirty;
	return 0;
}

double look_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int looks_take(struct looks *ret, struct blm_store *store, const char *pattern)
{
	int r;

	*ret = (struct looks){ .when = look_clock() };
	r = blm_store_list(store, pattern, look_at, &(struct taking){ store, ret });
	if (r == 0)
		return DONE;
	looks_free(ret);
	return r == -ENOMEM ? broken("out of memory for the list of filters") : fail(r);
}

/* A file that was replaced is mapped with " (deleted)" behind its name, so it is not found. */
static void count_process(struct looks *looks, int process)
{
	char path[32], line[PATH_MAX + 128];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", process);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		const char *file = strrchr(line, '/');

		line[strcspn(line, "\n")] = '\0';
		if (!file || strlen(file) < 5 || strcmp(file + strlen(file) - 4, ".blm"))
			continue;
		for (size_t i = 0; i < looks->count; i++) {
			struct look *look = &looks->all[i];

			if (look->last_process != process && !strcmp(look->file, file + 1)) {
				look->last_process = process;
				look->processes++;
			}
		}
	}
	if (maps)
		fclose(maps);
}

void looks_find_processes(struct looks *looks)
{
	DIR *processes = opendir("/proc");

	for (const struct dirent *d; processes && (d = readdir(processes)); )
		if (isdigit((unsigned char)d->d_name[0]))
			count_process(looks, atoi(d->d_name));
	if (processes)
		closedir(processes);
}

void looks_pace(struct looks *now, const struct looks *before)
{
	double seconds = now->when - before->when;

	/* both are in the order of the names */
	for (size_t i = 0, j = 0; i < now->count && seconds > 0; i++) {
		struct look *look = &now->all[i];

		while (j < before->count && strcmp(before->all[j].name, look->name) < 0)
			j++;
		if (j < before->count && !strcmp(before->all[j].file, look->file)
		    && look->keys > before->all[j].keys)
			look->pace = (look->keys - before->all[j].keys) / seconds;
	}
}

void looks_free(struct looks *looks)
{
	free(looks->all);
	*looks = (struct looks){ 0 };
}
