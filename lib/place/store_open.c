/*
 * store_open.c - a store opened, held and closed; and created, if it does not exist
 */
#include "place/store_dir.h"
#include "bloomery.h"
#include "catalog/flock.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char *inside(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

/*
 * A new folder's name is on the disk before anything is put into it; as far as we may look at the
 * folder above.
 */
static int make_folder(const char *path, mode_t mode)
{
	char *above;
	int fd, r = 0;

	if (mkdir(path, mode) < 0)
		return errno == EEXIST ? 0 : blm_fail(-errno, "%s: cannot make the folder: %s",
						      path, strerror(errno));
	above = inside(path, "..");
	fd = above ? open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	free(above);
	if (fd >= 0) {
		if (fsync(fd) < 0 && errno != EINVAL)
			r = blm_fail(-errno, "%s: writing the folder that it is in failed: %s",
				     path, strerror(errno));
		close(fd);
	}
	return r;
}

/* The folders above it too. */
static int make_folders(const char *dir)
{
	char *path = strdup(dir);
	int r = path ? 0 : blm_fail(-ENOMEM, "%s: out of memory", dir);

	for (char *slash = path ? strchr(path + 1, '/') : NULL; r == 0 && slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		r = make_folder(path, 0755);
		*slash = '/';
	}
	free(path);
	return r < 0 ? r : make_folder(dir, 0755);
}

static int make_store(const char *dir)
{
	static const struct { const char *name; mode_t mode; } folders[] = { { "catalog", 0755 },
		{ "filters", 0755 }, { "keys", 0700 } };
	int r = make_folders(dir);

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(folders); i++) {
		char *path = inside(dir, folders[i].name);

		r = path ? make_folder(path, folders[i].mode)
			: blm_fail(-ENOMEM, "%s: out of memory", dir);
		free(path);
	}
	return r;
}

/*
 * An empty catalog is made only for a store without filters: files without a catalog mean that it
 * was lost. Under the catalog's lock, because several processes may be making one store.
 */
static int make_catalog(const char *folder, int filters)
{
	struct blm_catalog_lock lock = { .fd = -1, .queue = -1 };
	char *data = inside(folder, "data.mdb");
	struct stat st;
	int r = data ? 0 : blm_fail(-ENOMEM, "%s: out of memory", folder);

	/* it appears whole, so nothing is waited for */
	if (r == 0 && stat(data, &st) == 0 && st.st_size) {
		free(data);
		return 0;
	}
	if (r == 0)
		r = blm_catalog_lock_open(&lock, folder, true);
	if (r == 0)
		r = blm_catalog_lock(&lock, true);
	if (r == 0) {
		if ((stat(data, &st) < 0 || st.st_size == 0) && blm_folder_is_empty(filters))
			r = blm_catalog_make(folder, NULL, 0);
		blm_catalog_unlock(&lock);
	}
	blm_catalog_lock_close(&lock);
	free(data);
	return r;
}

bool blm_folder_is_empty(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	bool empty = list != NULL;

	errno = 0;
	for (struct dirent *e; empty && (e = readdir(list)); )
		empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	empty = empty && !errno;	/* what cannot be listed is not empty */
	if (list)
		closedir(list);
	else if (fd >= 0)
		close(fd);
	return empty;
}

static int open_folder(const char *dir, const char *name, int *ret)
{
	char *path = inside(dir, name);

	if (!path)
		return blm_fail(-ENOMEM, "%s: out of memory", dir);
	*ret = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(path);
	if (*ret >= 0)
		return 0;
	if (errno == ENOENT || errno == ENOTDIR)
		return blm_fail(-ENOENT, "%s: no store of filters there (there is no %s/%s)", dir,
				dir, name);
	return blm_fail(-errno, "%s/%s: %s", dir, name, strerror(errno));
}

static int check_mode(int top, const char *dir, const char *name)
{
	struct stat st;

	if (fstatat(top, *name ? name + 1 : ".", &st, 0) == 0 && st.st_mode & S_IWOTH)
		return blm_fail(-EPERM, "%s%s: every user may write there, and replace your "
				"filters; chmod o-w it, or allow that (BLM_STORE_ANYONE)",
				dir, name);
	return 0;
}

/*
 * A store that every user may change protects no user. The sticky bit does not help: names are
 * changed by adding to the catalog.
 */
int blm_store_check_modes(const char *dir)
{
	static const char *const parts[] = { "", "/filters", "/keys", "/catalog",
					     "/catalog/data.mdb" };
	int top = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), r = 0;

	for (size_t i = 0; top >= 0 && r == 0 && i < ARRAY_LEN(parts); i++)
		r = check_mode(top, dir, parts[i]);
	if (top >= 0)
		close(top);
	return r;
}

/* Not known where it may not be looked into. */
static bool has_no_keys(const struct blm_store *s)
{
	return s->keys < 0 ? s->keys_errno == ENOENT : blm_folder_is_empty(s->keys);
}

/*
 * Where nothing is in filters/, nor a secret in keys/, no catalog is lost: the maker of
 * the store failed or was killed before it made one.
 */
static int without_catalog(const struct blm_store *s, const char *dir, int r)
{
	struct stat st;
	int top = r == -EUCLEAN ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	if (top >= 0) {
		if (fstatat(top, "catalog/data.mdb", &st, 0) < 0 && errno == ENOENT
		    && blm_folder_is_empty(s->filters)
		    && has_no_keys(s))
			r = blm_fail(-ENOENT, "%s: no complete store: its creation was "
				     "interrupted; blm_store_open() with BLM_STORE_CREATE "
				     "completes it",
				     dir);
		close(top);
	}
	return r;
}

static int open_store(struct blm_store *s, const char *dir, unsigned flags)
{
	/* it is opened again now and then, from any working directory */
	char *catalog = inside(s->path, "catalog");
	int r = catalog ? 0 : blm_fail(-ENOMEM, "%s: out of memory", dir);

	s->write = !(flags & BLM_STORE_READ);
	s->anyone = flags & BLM_STORE_ANYONE;
	if (r == 0 && flags & BLM_STORE_CREATE)
		r = make_store(dir);
	if (r == 0)
		r = open_folder(dir, "filters", &s->filters);
	if (r == 0 && !s->anyone)
		r = blm_store_check_modes(dir);
	if (r == 0)
		/* its keyed filters cannot be read, the others can */
		s->keys_errno = -open_folder(dir, "keys", &s->keys);
	if (r == 0 && flags & BLM_STORE_CREATE)
		r = make_catalog(catalog, s->filters);
	if (r == 0)
		r = without_catalog(s, dir, blm_catalog_open(&s->catalog, catalog, s->write));
	free(catalog);
	return r;
}

BLM_API int blm_store_open(struct blm_store **ret, const char *dir, unsigned flags)
{
	int r = blm_must_have(dir, "dir");
	struct blm_store *s = r == 0 ? calloc(1, sizeof(*s)) : NULL;

	if (r < 0)
		return r;
	if (!s || !(s->dir = strdup(dir)) || !(s->path = blm_absolute_path(dir))) {
		free(s ? s->dir : NULL);
		free(s);
		return blm_fail(-ENOMEM, "%s: out of memory", dir);
	}
	atomic_init(&s->references, 1);
	s->filters = s->keys = -1;
	r = open_store(s, dir, flags);
	if (r < 0)
		blm_store_close(s);
	else
		*ret = s;
	return r;
}

BLM_API struct blm_store *blm_store_close(struct blm_store *s)
{
	if (!s || atomic_fetch_sub(&s->references, 1) != 1)
		return NULL;
	blm_catalog_close(s->catalog);
	if (s->filters >= 0)
		close(s->filters);
	if (s->keys >= 0)
		close(s->keys);
	free(s->dir);
	free(s->path);
	free(s);
	return NULL;
}

BLM_API const char *blm_store_dir(const struct blm_store *store)
{
	return store->dir;
}
