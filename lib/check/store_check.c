/*
 * store_check.c - check a store: the catalog against the files, and the files against the catalog
 *
 * A whole catalog wins, and of a lost one the files' own name records make a new one. orphans.c
 * says which files stay that no record means. Records that are damaged, or mean a file that is not
 * there, are taken out last: a repair that is killed before leaves the next one the same doubt. One
 * repair at a time: looking for a file's record and making one is not one step.
 */
#include "catalog/flock.h"
#include "check/store_check.h"
#include "base/phase.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- One at a time ---- */

enum { WAIT_SECONDS = 5 };

/*
 * Held on the folder of the filters, for as long as *ret_fd is open; -1: none is needed, or there
 * is no such folder.
 */
static int lock_repairs(const char *dir, int *ret_fd)
{
	char *folder;
	int fd;

	*ret_fd = -1;
	if (asprintf(&folder, "%s/filters", dir) < 0)
		return blm_fail(-ENOMEM, "%s: out of memory", dir);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	for (int tries = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	     tries++) {
		if (tries == WAIT_SECONDS * 100) {
			close(fd);
			return blm_fail(-EBUSY, "%s: another process has been repairing it for "
					"more than %d seconds; try again when it is done", dir,
					WAIT_SECONDS);
		}
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	*ret_fd = fd;
	return 0;
}

/* ---- The whole ---- */

/* Damaged entries of a list are not honoured, so they cause nothing but false positives. */
static int check_lists(struct repair *r)
{
	int damaged = blm_catalog_check_lists(r->store->catalog, r->repair);

	if (damaged > 0)
		blm_found(r->to, r->dir, r->repair, "%d %s damaged on its lists of false positives",
			  damaged, damaged == 1 ? "key is" : "keys are");
	return damaged < 0 ? damaged : 0;
}

static int with_catalog(struct repair *r, bool *ret_lost)
{
	int err;

	r->filters = r->store->filters;
	err = blm_catalog_verify(r->store->catalog);
	if (err == 0)
		err = blm_repair_places(r);
	if (err == 0)
		err = blm_store_list(r->store, NULL, blm_repair_record, r);
	/* not one record, which blm_repair_record() gets, but the table itself */
	*ret_lost = err == -EUCLEAN;
	if (err == 0)
		err = blm_repair_files(r);
	if (err == 0 && r->doubt)
		err = blm_store_list(r->store, NULL, blm_repair_take_out, r);
	if (err == 0)
		err = check_lists(r);
	if (err == 0 && r->repair)
		err = blm_store_forget_gone(r->store);
	return err;
}

/*
 * A catalog made by another user, for example root, must belong to the old catalog's owner, or to
 * the owner of the folder.
 */
static void give_to(int folder, const char *file, const struct stat *owner, unsigned mode)
{
	int fd = openat(folder, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && fchown(fd, owner->st_uid, owner->st_gid) == 0)
		fchmod(fd, mode);
	if (fd >= 0)
		close(fd);
}

static int make_anew(const char *catalog, const struct repair *r)
{
	int folder = open(catalog, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;
	struct stat above = { 0 }, old = { 0 };
	bool was_there;

	if (folder < 0 || fstat(folder, &above) < 0)
		err = blm_fail(-errno, "%s: %s", catalog, strerror(errno));
	else
		err = 0;
	was_there = err == 0 && fstatat(folder, "data.mdb", &old, AT_SYMLINK_NOFOLLOW) == 0
		&& S_ISREG(old.st_mode);
	if (err == 0)
		err = blm_catalog_make(catalog, r->entries, r->count);
	if (err == 0) {
		give_to(folder, "data.mdb", was_there ? &old : &above,
			was_there ? old.st_mode & 0777 : 0644 | (above.st_mode & 0020));
		give_to(folder, "lock", was_there ? &old : &above, 0644);
	}
	if (folder >= 0)
		close(folder);
	return err;
}

/* All other processes wait, or give up, while the catalog is rebuilt. */
static int without_catalog(struct repair *r, const char *reason)
{
	struct blm_catalog_lock lock = { .fd = -1, .queue = -1 };
	char *catalog = NULL, *data = NULL, *filters = NULL;
	int err = asprintf(&catalog, "%s/catalog", r->dir) < 0
		|| asprintf(&data, "%s/catalog/data.mdb", r->dir) < 0
		|| asprintf(&filters, "%s/filters", r->dir) < 0 ? -ENOMEM : 0;

	r->filters = err ? -1 : open(filters, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->filters < 0)
		err = blm_fail(-errno, "%s: no store of filters there: %s", r->dir,
			       strerror(errno));
	if (err == 0 && r->repair) {
		if (mkdir(catalog, 0755) < 0 && errno != EEXIST)
			err = blm_fail(-errno, "%s: %s", catalog, strerror(errno));
		if (err == 0)
			err = blm_catalog_lock_open(&lock, catalog, true);
		if (err == 0)
			err = blm_catalog_lock(&lock, true);
	}
	if (err == 0)
		err = blm_repair_places(r);
	if (err == 0)
		err = blm_repair_files(r);
	if (err == 0 && r->repair)
		err = make_anew(catalog, r);
	if (err == 0) {
		reason = blm_reason_of(blm_reason_of(reason, catalog), data);
		blm_found(r->to, catalog, r->repair, "%.*s%s",
			  (int)(r->repair ? strcspn(reason, ";") : strlen(reason)), reason,
			  r->repair ? "; it was made anew from the filters' files, without lists "
			  "of false positives (blm_allowlist_add()), which only it had" : "");
	}
	if (lock.fd >= 0)
		blm_catalog_unlock(&lock);
	blm_catalog_lock_close(&lock);
	if (r->filters >= 0)
		close(r->filters);
	free(catalog);
	free(data);
	free(filters);
	return err;
}

/* The bytes that blm_verify_view() reads; 0: not known. */
static uint64_t bytes_of_files(const char *dir)
{
	uint64_t bytes = 0;
	struct dirent *entry;
	struct stat st;
	char *path;
	DIR *list;
	int fd;

	if (asprintf(&path, "%s/filters", dir) < 0)
		return 0;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(path);
	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list && fd >= 0)
		close(fd);
	while (list && (entry = readdir(list)))
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0
		    && S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
	if (list)
		closedir(list);
	return bytes;
}

/* One pass. shallow: without the filters' data. ret_lost: there was no intact catalog. */
static int look_over(const char *dir, unsigned flags, bool shallow, struct blm_findings *to,
		     bool *ret_lost)
{
	bool repair = flags & BLM_VERIFY_REPAIR;
	struct repair r = { .dir = dir, .repair = repair, .shallow = shallow,
			    .anyone = flags & BLM_VERIFY_ANYONE, .to = to, .filters = -1 };
	int err = flags & BLM_VERIFY_DISTRUST
		? blm_fail(-EUCLEAN, "%s/catalog: damaged: reading it crashed",
			   dir)
		: blm_store_open(&r.store, dir, (repair ? 0 : BLM_STORE_READ) | BLM_STORE_ANYONE);
	bool lost = err == -EUCLEAN || (err == -ENOENT && repair);

	BLM_PHASE(shallow ? "checking again" : "checking", shallow ? 0 : bytes_of_files(dir));
	if (err == 0) {
		err = with_catalog(&r, &lost);
		blm_store_close(r.store);
	}
	if (lost) {
		char reason[1024];

		snprintf(reason, sizeof(reason), "%s", blm_error_message());
		r.store = NULL;
		err = without_catalog(&r, reason);
	}
	*ret_lost = lost;
	free(r.entries);
	free(r.broken);
	return err;
}

static bool is_all_repaired(const struct blm_findings *to)
{
	return to->found && to->found == to->repaired;
}

/*
 * A repair must be complete: the check runs again and reports what is left. A repair that rebuilt a
 * lost catalog is repeated before that, because without a store it did not see the secrets; but not
 * if LMDB crashed, because the repetition opens the catalog by LMDB.
 */
static int repair_all(const char *dir, unsigned flags, struct blm_findings *to)
{
	int lock, err = lock_repairs(dir, &lock);
	bool lost = false;

	if (err == 0)
		err = look_over(dir, flags, false, to, &lost);
	if (err == 0 && lost && !(flags & BLM_VERIFY_DISTRUST) && is_all_repaired(to))
		err = look_over(dir, flags, true, to, &lost);
	if (err == 0 && is_all_repaired(to))
		err = look_over(dir, flags & BLM_VERIFY_ANYONE, true, to, &lost);
	if (lock >= 0)
		close(lock);
	return err;
}

BLM_API int blm_store_verify(const char *dir, unsigned flags,
			     void (*finding)(void *context, const struct blm_finding *found),
			     void *context)
{
	BLM_CRITICAL_SECTION;
	struct blm_findings findings = { .tell = finding, .context = context };
	int err = blm_must_have(dir, "dir");
	bool lost;

	if (err < 0)
		return err;
	err = flags & BLM_VERIFY_ANYONE ? 0 : blm_store_check_modes(dir);
	if (err < 0 && flags & BLM_VERIFY_REPAIR)
		return err;
	if (err < 0)
		blm_found_broken(&findings, dir);
	err = flags & BLM_VERIFY_REPAIR ? repair_all(dir, flags, &findings)
		: look_over(dir, flags, false, &findings, &lost);
	return err < 0 ? err : findings.found - findings.repaired;
}
