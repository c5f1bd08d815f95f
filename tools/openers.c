/* openers.c - what others have of the files of a store: processes that map them, pages in memory */
#include "look.h"
#include "place.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Processes ---- */

static bool space_for(void **array, size_t *capacity, size_t count, size_t each)
{
	void *larger;

	if (count < *capacity)
		return true;
	larger = realloc(*array, (*capacity ? 2 * *capacity : 64) * each);
	if (!larger)
		return false;
	*array = larger;
	*capacity = *capacity ? 2 * *capacity : 64;
	return true;
}

/* The last name that was asked for, because most processes are of one user. */
static void name_user(char name[33], uid_t id)
{
	static char last[33];
	static uid_t last_id;

	if (!*last || last_id != id) {
		const struct passwd *user = getpwuid(id);

		snprintf(last, sizeof(last), "%u", (unsigned)id);
		if (user)
			snprintf(last, sizeof(last), "%s", user->pw_name);
		last_id = id;
	}
	strcpy(name, last);
}

static struct opener *add_opener(struct looks *looks, int process)
{
	struct opener *opener;
	char path[32];
	struct stat st;
	FILE *name;

	if (!space_for((void **)&looks->openers, &looks->opener_capacity, looks->opener_count,
		       sizeof(*looks->openers)))
		return NULL;
	opener = &looks->openers[looks->opener_count++];
	*opener = (struct opener){ .process = process, .name = "?", .user = "?" };
	snprintf(path, sizeof(path), "/proc/%d/comm", process);
	name = fopen(path, "re");
	if (name) {
		if (fgets(opener->name, sizeof(opener->name), name))
			opener->name[strcspn(opener->name, "\n")] = '\0';
		fclose(name);
	}
	snprintf(path, sizeof(path), "/proc/%d", process);
	if (stat(path, &st) == 0)
		name_user(opener->user, st.st_uid);
	return opener;
}

/* A filter that is mapped in several pieces has lines one behind the other. */
static void add_opening(struct looks *looks, int process, size_t look)
{
	const struct opener *last = looks->opener_count ? &looks->openers[looks->opener_count - 1]
		: NULL;

	if (!last || last->process != process)
		last = add_opener(looks, process);
	for (size_t i = looks->opening_count; last && i-- > 0; ) {
		if (&looks->openers[looks->openings[i].opener] != last)
			break;
		if (looks->openings[i].look == look)
			return;
	}
	if (!last || !space_for((void **)&looks->openings, &looks->opening_capacity,
				looks->opening_count, sizeof(*looks->openings)))
		return;
	looks->openings[looks->opening_count++] = (struct opening){
		.look = (uint32_t)look, .opener = (uint32_t)(last - looks->openers),
	};
	looks->all[look].processes++;
}

static int by_file(const void *a, const void *b)
{
	const struct look *const *x = a, *const *y = b;

	return strcmp((*x)->file, (*y)->file);
}

/*
 * Is the line of /proc/PID/maps, whose path begins at `path`, of this store's file, and not of the
 * equal name in a copy of the store? Some file systems show another inode there than stat(2) does,
 * so the path is asked as well. It may mean nothing here if the process has another root.
 */
static bool is_file_of(const char *file, const char *line, const char *path)
{
	char ours[PATH_MAX];
	unsigned long long inode = 0;
	struct stat own, mapped;

	snprintf(ours, sizeof(ours), "%s/filters/%s", store_dir(), file);
	if (stat(ours, &own) < 0)
		return false;
	if (sscanf(line, "%*s %*s %*s %*s %llu", &inode) == 1 && inode == own.st_ino)
		return true;
	return stat(path, &mapped) == 0 && mapped.st_dev == own.st_dev
	       && mapped.st_ino == own.st_ino;
}

/* A file that was replaced is mapped with " (deleted)" behind its name, so it is not found. */
static void find_in(struct looks *looks, const struct look **sorted, int process)
{
	char path[32], line[PATH_MAX + 128];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", process);
	maps = fopen(path, "re");
	if (!maps && (errno == EACCES || errno == EPERM))
		looks->hidden++;
	errno = 0;
	while (maps && fgets(line, sizeof(line), maps)) {
		struct look wanted, *key = &wanted;
		const struct look **found;
		const char *file = strrchr(line, '/');

		line[strcspn(line, "\n")] = '\0';
		if (!file || strlen(file) < 5 || strcmp(file + strlen(file) - 4, ".blm")
		    || strlen(file) > sizeof(wanted.file))
			continue;
		strcpy(wanted.file, file + 1);
		found = bsearch(&key, sorted, looks->count, sizeof(*sorted), by_file);
		if (found && is_file_of((*found)->file, line, strchr(line, '/')))
			add_opening(looks, process, (size_t)(*found - looks->all));
	}
	if (maps && ferror(maps) && (errno == EACCES || errno == EPERM))
		looks->hidden++;
	if (maps)
		fclose(maps);
}

void looks_find_processes(struct looks *looks)
{
	const struct look **sorted = malloc((looks->count + 1) * sizeof(*sorted));
	DIR *processes = opendir("/proc");

	for (size_t i = 0; sorted && i < looks->count; i++) {
		sorted[i] = &looks->all[i];
		looks->all[i].processes = 0;
	}
	if (sorted)
		qsort(sorted, looks->count, sizeof(*sorted), by_file);
	for (const struct dirent *d; sorted && processes && (d = readdir(processes)); )
		if (isdigit((unsigned char)d->d_name[0]))
			find_in(looks, sorted, atoi(d->d_name));
	if (processes)
		closedir(processes);
	free(sorted);
}

/* ---- Pages ---- */

enum { WINDOW_PAGES = 64 << 10 };

/* Negative: not known. Where we may not write to the file, the kernel says that all pages are. */
static double pages_of(int fd, size_t bytes)
{
	static unsigned char in[WINDOW_PAGES];
	size_t page = (size_t)sysconf(_SC_PAGESIZE), window = WINDOW_PAGES * page;
	char *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	double resident = 0;

	if (map == MAP_FAILED)
		return -1;
	for (size_t at = 0; at < bytes && resident >= 0; at += window) {
		size_t piece = bytes - at < window ? bytes - at : window;

		if (mincore(map + at, piece, in) < 0)
			resident = -1;
		for (size_t i = 0; resident >= 0 && i * page < piece; i++)
			if (in[i] & 1)
				resident += (double)page;
	}
	munmap(map, bytes);
	return resident < (double)bytes ? resident : (double)bytes;
}

void looks_find_pages(struct looks *looks)
{
	for (size_t i = 0; i < looks->count; i++) {
		struct look *look = &looks->all[i];
		char path[PATH_MAX];
		struct stat st;
		int fd;

		look->resident = -1;
		snprintf(path, sizeof(path), "%s/filters/%s", store_dir(), look->file);
		if (access(path, W_OK) < 0)
			continue;
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
			look->resident = pages_of(fd, (size_t)st.st_size);
		if (fd >= 0)
			close(fd);
	}
}
