/* place.c - names, paths, the store, and the secret that opens a keyed filter */
#include "place.h"
#include "foreign.h"
#include "numbers.h"
#include "progress.h"
#include "terms.h"
#include "values.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *given_store, *key_file;
static bool anyone;
const struct opt store_option[] = {
	{ 0, "store", "DIR", "the store; else $BLOOMERY_STORE, else ~/.local/share/bloomery",
	  set_text, &given_store },
	{ 0, "anyone", NULL, "accept a store, or a filter in it, that every user of the machine "
	  "may change", set_flag, &anyone },
	{ 0 }
};
const struct opt key_option[] = {
	{ 0, "key-file", "FILE", "the secret of a keyed filter, 32 hexadecimal digits", set_text,
	  &key_file },
	{ 0 }
};

bool is_path(const char *name)
{
	return strchr(name, '/') != NULL;
}

/* ---- The store ---- */

static const char *environment(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : NULL;
}

static bool make_parents(const char *dir)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", dir);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return false;
		*slash = '/';
	}
	return true;
}

/* The folder of a person who named none; the XDG base directories say where. */
static const char *usual_dir(void)
{
	static char dir[PATH_MAX];
	const char *data = environment("XDG_DATA_HOME"), *home = environment("HOME");

	if (data && *data == '/')
		snprintf(dir, sizeof(dir), "%s/bloomery", data);
	else if (home)
		snprintf(dir, sizeof(dir), "%s/.local/share/bloomery", home);
	else
		return NULL;
	return dir;
}

static const char *chosen_dir(void)
{
	const char *dir = given_store ? given_store : environment("BLOOMERY_STORE");

	return dir ? dir : usual_dir();
}

bool is_store_missing(void)
{
	const char *dir = chosen_dir();
	struct stat st;

	return dir && *dir && stat(dir, &st) < 0 && errno == ENOENT;
}

const char *store_dir(void)
{
	const char *dir = chosen_dir();

	if (!dir)
		say("no store: neither $BLOOMERY_STORE nor $HOME is set; name one with --store "
		    "DIR");
	else if (!*dir || strlen(dir) >= PATH_MAX)
		say("--store: the name of a directory is needed");
	return dir && *dir && strlen(dir) < PATH_MAX ? dir : NULL;
}

bool store_given(void)
{
	return given_store != NULL;
}

const char *given_key_file(void)
{
	return key_file;
}

bool takes_anyones(void)
{
	return anyone;
}

int find_store(struct blm_store **ret, unsigned flags)
{
	static struct blm_store *store;
	const char *dir = store ? NULL : store_dir();
	struct stat st;
	int r;

	if (!store && !dir)
		return FAILED;
	if (!store && !(flags & BLM_STORE_CREATE) && stat(dir, &st) < 0 && errno == ENOENT)
		return broken("%s: there is no store; 'bloomery create' makes one, and a path to a "
			      "filter has a '/'", dir);
	if (!store && flags & BLM_STORE_CREATE && dir == usual_dir() && !make_parents(dir))
		return broken("%s: cannot make the folders above it: %s", dir, strerror(errno));
	r = store ? 0 : blm_store_open(&store, dir, flags | (anyone ? BLM_STORE_ANYONE : 0));
	if (r < 0)
		return fail(r);
	*ret = store;
	return DONE;
}

int find_place(struct place *ret, const char *name, unsigned flags)
{
	*ret = (struct place){ .name = name };
	return is_path(name) ? DONE : find_store(&ret->store, flags);
}

/* ---- Secrets ---- */

/* Memory in no core dump and on no swap, as far as the system allows. */
struct kept {
	uint8_t secret[BLM_SECRET_BYTES];
	char text[4096 - BLM_SECRET_BYTES];
};

static struct kept *make_kept(void)
{
	struct kept *kept = mmap(NULL, sizeof(*kept), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (kept == MAP_FAILED)
		return NULL;
	madvise(kept, sizeof(*kept), MADV_DONTDUMP);
	mlock(kept, sizeof(*kept));
	return kept;
}

static ssize_t read_key_file(char *text, size_t capacity)
{
	int fd = open(key_file, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? -1 : 1;
	size_t count = 0;

	while (bytes > 0 && count < capacity) {
		bytes = read(fd, text + count, capacity - count);
		count += bytes > 0 ? (size_t)bytes : 0;
	}
	if (fd >= 0)
		close(fd);
	return bytes < 0 ? -1 : (ssize_t)count;
}

/* One line is it, the others are blank. */
static bool take_secret(struct kept *kept, size_t count)
{
	int found = 0;

	for (size_t at = 0, len; at < count; at += len + 1) {
		const char *line = kept->text + at, *end = memchr(line, '\n', count - at);
		size_t used;

		used = len = end ? (size_t)(end - line) : count - at;
		while (used && (line[used - 1] == ' ' || line[used - 1] == '\r'))
			used--;
		if (used && (found++ || used != 2 * BLM_SECRET_BYTES
			     || !parse_hex(line, used, kept->secret)))
			return false;
	}
	return found == 1;
}

int find_secret(const uint8_t **ret)
{
	static struct kept *kept;
	ssize_t bytes;

	*ret = NULL;
	if (!key_file)
		return DONE;
	if (!kept && !(kept = make_kept()))
		return broken("--key-file %s: out of memory", key_file);
	bytes = read_key_file(kept->text, sizeof(kept->text));
	if (bytes < 0)
		return broken("--key-file %s: %s", key_file, strerror(errno));
	if (!take_secret(kept, (size_t)bytes))
		return broken("--key-file %s: must hold %d hexadecimal digits and nothing else",
			      key_file, 2 * BLM_SECRET_BYTES);
	*ret = kept->secret;
	return DONE;
}

/* ---- Filters ---- */

int open_place(struct blm_filter **ret, const struct place *place, bool write,
	       const uint8_t *secret)
{
	if (secret)
		return blm_open_keyed(ret, place->store, place->name,
				      write ? BLM_OPEN_WRITE : 0, secret);
	if (!write && !place->store && foreign_given())
		return blm_open_foreign(ret, place->name, &foreign);
	return blm_open(ret, place->store, place->name, write ? BLM_OPEN_WRITE : 0);
}

/* About the place once: most likely the same is true of all filters there. */
void warn_of_place(const struct blm_filter *f, const char *name)
{
	static bool warned;
	struct blm_info info = BLM_INFO;

	if (quiet || blm_info(f, &info) < 0)
		return;
	if (info.older)
		say("warning: %s: its file is older than the catalog: it has %" PRIu64 " keys, and "
		    "the catalog %" PRIu64 "; keys added in between are gone; see `bloomery info "
		    "%s`", name, info.keys, info.catalog_keys, name);
	if (warned || !info.caution)
		return;
	warned = true;
	say("warning: %s: %s", name, own_terms(info.caution));
}

int open_filter(struct blm_filter **ret, const char *name, bool write, unsigned flags)
{
	const uint8_t *secret;
	struct place place;
	int code = find_secret(&secret), r;

	if (code == DONE)
		code = find_place(&place, name, flags);
	if (code != DONE)
		return code;
	r = open_place(ret, &place, write, secret);
	if (r < 0)
		return fail(r);
	if (write)
		warn_of_place(*ret, name);
	return DONE;
}

int open_all(struct blm_filter **ret, char **names, size_t count, bool first_for_writing,
	     unsigned flags)
{
	for (size_t i = 0; i < count; i++) {
		int code = open_filter(&ret[i], names[i], first_for_writing && i == 0, flags);

		if (code != DONE) {
			close_all(ret, i);
			return code;
		}
	}
	return DONE;
}

void close_all(struct blm_filter **filters, size_t count)
{
	for (size_t i = 0; i < count; i++)
		filters[i] = blm_close(filters[i]);
}

static int one_filter(const char *name, int (*what)(struct blm_filter *f))
{
	struct blm_filter *f;
	int code = open_filter(&f, name, true, 0), r;

	if (code != DONE)
		return code;
	progress_of_next_call();
	r = what(f);
	code = r < 0 ? fail(r) : DONE;
	blm_close(f);
	return code;
}

/* A fault of one filter is no reason to skip the others. */
int each_filter(char **names, int count, int (*what)(struct blm_filter *f))
{
	const uint8_t *secret;
	int code = find_secret(&secret);

	if (code != DONE)
		return code;
	progress_of_calls();
	for (int i = 0; i < count; i++) {
		int one = one_filter(names[i], what);

		code = code == DONE ? one : code;
	}
	progress_end_of_call(code == DONE ? 0 : -1);
	return code;
}
