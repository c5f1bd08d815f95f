/* look.c - what all filters of a store are like at one moment */
#include "look.h"
#include "describe.h"
#include "numbers.h"
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
	HEADER = 20 << 10,		/* bytes; format-spec.md */
	STALE_EVERY = 10,		/* looks */
};

static int look_at(void *context, const struct blm_info *info, int err)
{
	struct looks *looks = context;
	struct look *look;

	if (err < 0) {
		looks->damaged++;
		return 0;
	}
	if (looks->count == looks->capacity) {
		size_t capacity = looks->capacity ? 2 * looks->capacity : 64;
		struct look *all = realloc(looks->all, capacity * sizeof(*all));

		if (!all)
			return -ENOMEM;
		looks->all = all;
		looks->capacity = capacity;
	}
	look = &looks->all[looks->count++];
	*look = (struct look){ .fd = -1, .unread = true, .resident = -1 };
	strcpy(look->name, info->name);
	memcpy(look->uuid, info->uuid, sizeof(look->uuid));
	snprintf(look->file, sizeof(look->file), "%s.blm", show_uuid(info->uuid));
	look->kind = info->kind;
	look->hash = info->hash;
	look->keys = (double)info->keys;
	look->capacity = (double)info->capacity;
	look->has_limit = has_limit(info->can, look->capacity);
	look->rate = info->rate;
	look->predicted = info->rate_at_keys;
	look->bytes = (double)info->bytes;
	look->data_bytes = (double)info->data_bytes;
	look->synced = (double)info->synced / 1e9;
	look->dirty = info->dirty;
	return 0;
}

static void refresh(struct look *look, struct blm_store *store)
{
	struct blm_info now = BLM_INFO;

	strcpy(now.name, look->name);
	memcpy(now.uuid, look->uuid, sizeof(look->uuid));
	look->unread = blm_store_refresh(store, &now) < 0;
	if (look->unread) {
		look->header = 0;	/* it is asked for again at the next look */
		return;
	}
	look->keys = (double)now.keys;
	look->predicted = now.rate_at_keys;
	look->bytes = (double)now.bytes;
	look->data_bytes = (double)now.data_bytes;
	look->synced = (double)now.synced / 1e9;
	look->dirty = now.dirty;
}

double look_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int list(struct looks *ret, struct blm_store *store, const char *pattern)
{
	int r = blm_store_list(store, pattern, look_at, ret);

	if (r == 0)
		return DONE;
	looks_free(ret);
	return r == -ENOMEM ? broken("out of memory for the list of filters") : fail(r);
}

int looks_take(struct looks *ret, struct blm_store *store, const char *pattern)
{
	int code;

	*ret = (struct looks){ .when = look_clock() };
	code = list(ret, store, pattern);
	for (size_t i = 0; code == DONE && i < ret->count; i++)
		refresh(&ret->all[i], store);
	return code;
}

/* ---- Again and again ---- */

/*
 * LMDB writes its file with each change. A change that comes within one tick of the clock after
 * another has the same time, so a time of just now does not count.
 */
static struct catalog_stamp stamp(void)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/catalog/data.mdb", store_dir());
	if (stat(path, &st) < 0 || time(NULL) - st.st_mtim.tv_sec < 2)
		return (struct catalog_stamp){ 0 };
	return (struct catalog_stamp){ st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
				       st.st_ino };
}

static bool is_same_catalog(const struct catalog_stamp *a, const struct catalog_stamp *b)
{
	return a->file && a->file == b->file && a->size == b->size && a->seconds == b->seconds
	    && a->nanoseconds == b->nanoseconds;
}

/* Both lists are in the order of the names. */
static void take_over(struct looks *now, struct looks *before)
{
	for (size_t i = 0, j = 0; i < now->count; i++) {
		struct look *look = &now->all[i], *old;

		while (j < before->count && strcmp(before->all[j].name, look->name) < 0)
			j++;
		old = j < before->count ? &before->all[j] : NULL;
		if (!old || strcmp(old->file, look->file))
			continue;
		look->fd = old->fd;
		old->fd = -1;
		look->resident = old->resident;
	}
}

static void path_of(char path[PATH_MAX], const struct look *look)
{
	snprintf(path, PATH_MAX, "%s/filters/%s", store_dir(), look->file);
}

/* A backup that is put back can be another file under the same name. */
static void close_stale(struct look *look)
{
	struct stat open, named;
	char path[PATH_MAX];

	path_of(path, look);
	if (look->fd < 0 || (fstat(look->fd, &open) == 0 && stat(path, &named) == 0
			     && open.st_ino == named.st_ino && open.st_dev == named.st_dev))
		return;
	close(look->fd);
	look->fd = -1;
}

/* A descriptor for each, as far as they go, and some for all else. */
static void open_file(struct look *look)
{
	static bool raised;
	struct rlimit most;
	char path[PATH_MAX];

	if (!raised && getrlimit(RLIMIT_NOFILE, &most) == 0) {
		most.rlim_cur = most.rlim_max;
		setrlimit(RLIMIT_NOFILE, &most);
	}
	raised = true;
	path_of(path, look);
	look->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (look->fd > 0 && getrlimit(RLIMIT_NOFILE, &most) == 0
	    && (rlim_t)look->fd + 64 > most.rlim_cur) {
		close(look->fd);
		look->fd = -1;
	}
}

/* The header is as large as a page of counters for each; most filters of a store do not change. */
static bool is_changed(struct look *look)
{
	static char header[HEADER];
	uint64_t hash;

	if (look->fd < 0)
		open_file(look);
	if (look->fd < 0 || pread(look->fd, header, sizeof(header), 0) != sizeof(header))
		return true;
	hash = XXH3_64bits(header, sizeof(header));
	if (hash == look->header)
		return false;
	look->header = hash;
	return true;
}

int looks_take_again(struct looks *ret, struct looks *before, struct blm_store *store,
		     const char *pattern)
{
	int code = DONE;

	*ret = (struct looks){ .when = look_clock(), .again = true, .catalog = stamp(),
			       .number = before->again ? before->number + 1 : 0 };
	if (before->again && is_same_catalog(&ret->catalog, &before->catalog))
		ret->all = malloc((before->count + 1) * sizeof(*ret->all));
	if (ret->all) {
		memcpy(ret->all, before->all, before->count * sizeof(*ret->all));
		ret->count = ret->capacity = before->count;
		ret->damaged = before->damaged;
		for (size_t i = 0; i < before->count; i++)
			before->all[i].fd = -1;
	} else {
		code = list(ret, store, pattern);
		if (code == DONE)
			take_over(ret, before);
	}
	for (size_t i = 0; code == DONE && i < ret->count; i++) {
		ret->all[i].pace = 0;
		if (ret->number % STALE_EVERY == 0)
			close_stale(&ret->all[i]);
		if (is_changed(&ret->all[i]))
			refresh(&ret->all[i], store);
	}
	return code;
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
	for (size_t i = 0; i < looks->count; i++)
		if (looks->all[i].fd >= 0)
			close(looks->all[i].fd);
	free(looks->all);
	free(looks->openers);
	free(looks->openings);
	*looks = (struct looks){ 0 };
}
