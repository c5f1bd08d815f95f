/* places.c - where the output of an input goes */
#include "run.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

static const char *base_of(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

/* dolma's: each /documents/ becomes /attributes/NAME/. */
static char *attributes_place(const char *name)
{
	static const char from[] = "/documents/";
	size_t bytes = strlen(name) + 1;
	char *ret, *at;

	for (const char *found = name; (found = strstr(found, from)); found += strlen(from) - 1)
		bytes += strlen(corpus.attributes) + sizeof("/attributes/");
	ret = at = malloc(bytes);
	for (const char *found; ret && (found = strstr(name, from)); name = found + strlen(from))
		at += sprintf(at, "%.*s/attributes/%s/", (int)(found - name), name,
			      corpus.attributes);
	if (ret)
		strcpy(at, name);
	return ret;
}

static int make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			return broken("%s: %s", path, strerror(errno));
		*slash = '/';
	}
	return DONE;
}

int output_place(const char *name, char **ret)
{
	*ret = NULL;
	if (!strcmp(name, "-"))
		return misuse("corpus: standard input has no name to write under; name its file, "
			      "or leave out -o");
	if (!corpus.dir && !strstr(name, "/documents/"))
		return misuse("corpus: %s: has no /documents/ in its path, which becomes "
			      "/attributes/%s/; give -o DIR", name, corpus.attributes);
	if (!corpus.dir)
		*ret = attributes_place(name);
	else if (asprintf(ret, "%s/%s", corpus.dir, base_of(name)) < 0)
		*ret = NULL;
	if (!*ret)
		return broken("out of memory");
	return make_folders(*ret);
}

char *absolute_place(const char *name)
{
	const char *base = base_of(name);
	char *dir = base > name ? strndup(name, (size_t)(base - name)) : strdup("."), *ret = NULL;
	char *whole = dir ? realpath(dir, NULL) : NULL;

	if (!whole)
		broken("%s: its folder: %s", name, strerror(dir ? errno : ENOMEM));
	else if (asprintf(&ret, "%s/%s", whole, base) < 0)
		broken("out of memory"), ret = NULL;
	free(dir);
	free(whole);
	if (ret && strlen(ret) >= PATH_MAX - 32) {
		broken("%s: the path is too long", name);
		free(ret);
		return NULL;
	}
	return ret;
}
