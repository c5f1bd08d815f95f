/* replace.c - a new filter where another one is: made whole under another name first, so that a failure loses nothing */
#include "replace.h"
#include "params.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

static int over_path(const char *new, const char *path)
{
	char new_key[PATH_MAX + 8], key[PATH_MAX + 8];

	snprintf(new_key, sizeof(new_key), "%s.key", new);
	snprintf(key, sizeof(key), "%s.key", path);
	if ((access(new_key, F_OK) < 0 || rename(new_key, key) == 0) && rename(new, path) == 0)
		return DONE;
	return broken("%s: cannot replace it: %s; the new filter is %s", path, strerror(errno), new);
}

static int over_name(const struct place *new, const struct place *old)
{
	int r = blm_store_drop(old->store, old->name);

	if (r == 0 || r == -ENOENT)
		r = blm_store_rename(old->store, new->name, old->name);
	return r < 0 ? fail(r) : DONE;
}

int make_over(const struct place *place)
{
	char name[PATH_MAX];
	struct place new = { place->store, name };
	struct blm_filter *f;
	int r;

	if (snprintf(name, sizeof(name), "%.*s.%ld.new", place->store ? BLM_NAME_MAX - 24 : (int)sizeof(name) - 32, place->name,
		     (long)getpid()) >= (int)sizeof(name))
		return broken("%s: the name is too long", place->name);
	r = make_filter(&f, &new);
	if (r < 0)
		return fail(r);
	blm_close(f);
	return place->store ? over_name(&new, place) : over_path(name, place->name);
}
