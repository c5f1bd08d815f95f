/*
 * store_batch.c - many new filters that appear in a store together, or not at all
 *
 * | step | | a process that dies in this step leaves |
 * |---|---|---|
 * | 1 | each file is written, and gets a temporary name | temporary files |
 * | 2 | the files are synced, all in one go | temporary files |
 * | 3 | each file gets its final name; its state is UNNAMED | temporary files, and such files |
 * | 4 | the folder is synced | UNNAMED files |
 * | 5 | one transaction enters all of them into the catalog | UNNAMED files, or all filters |
 * | 6 | each state becomes NAMED, and the files are synced in one go | all filters |
 *
 * So a file that has a final name has its whole header on the disk, as after blm_store_put(), and
 * `verify --repair` deletes what steps 1 to 5 leave. Until step 6 is done the maker holds the locks
 * of every file, as blm_store_put() does of one: those say that the maker lives. A process may have
 * fewer descriptors than new files, so maps hold the locks (blm_new_file_park()).
 */
#include "base/phase.h"
#include "bloomery.h"
#include "file/filesystem.h"
#include "file/ofd_lock.h"
#include "file/os.h"
#include "place/store_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

struct member {
	const char *name;	/* of the filter; the caller's */
	void *map;
	bool named;		/* the file has the name `file`, not the temporary one */
	char file[BLM_FILE_TEXT];
	char temporary[BLM_TEMPORARY_NAME];
};

struct blm_store_batch {
	struct blm_store *store;
	struct blm_header *header;	/* memory for one */
	bool in_catalog;
	size_t count;
	struct member member[];
};

struct blm_store_batch *blm_store_batch_new(struct blm_store *s, size_t most)
{
	struct blm_store_batch *b = calloc(1, sizeof(*b) + most * sizeof(b->member[0]));

	if (b)
		b->header = malloc(sizeof(*b->header));
	if (!b || !b->header) {
		free(b);
		blm_fail(-ENOMEM, "%s: out of memory for %zu new filters", s->dir, most);
		return NULL;
	}
	b->store = s;
	return b;
}

static int failed(const struct blm_store_batch *b, const struct member *m, int err)
{
	return blm_fail(err, "%s (%s): cannot put its new file in place: %s", m->name,
			b->store->dir, strerror(-err));
}

/* A signal that ends the process waits for the batch, so steps 1 to 5 ask for one. */
static int go_on(const struct blm_store_batch *b)
{
	return !b->in_catalog && blm_end_came()
		? blm_fail(-EINTR, "%s: asked to stop while new filters were made", b->store->dir)
		: 0;
}

int blm_store_batch_add(struct blm_store_batch *b, const char *name, struct blm_new_file *file,
			struct blm_header *header)
{
	struct member *m = &b->member[b->count];
	int r = go_on(b);

	if (r == 0)
		r = blm_ofd_lock(file->fd, BLM_LOCK_REPLACE, true);
	if (r == 0)
		r = blm_ofd_lock(file->fd, BLM_LOCK_SYNC, true);
	if (r < 0)
		return r;
	store_release(&header->live.state.word, BLM_UNNAMED);
	m->name = name;
	blm_uuid_file(header->constant.uuid, m->file);
	r = blm_new_file_park(file, m->temporary, &m->map, name);
	b->count += r == 0;
	return r;
}

/* ---- The files ---- */

static int open_member(const struct blm_store_batch *b, const struct member *m, int how)
{
	int fd = openat(b->store->filters, m->named ? m->file : m->temporary,
			how | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

/*
 * A new descriptor of the folder gets only later failures. Before Linux 5.8 the system's answer for
 * the file system does not include the failures of single files, so each file is asked too, which
 * does not wait after a sync of everything.
 */
static int sync_files(const struct blm_store_batch *b)
{
	int folder = openat(b->store->filters, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0, fd;
	bool whole;

	BLM_PHASE(blm_writing, 0);
	if (folder < 0)
		return failed(b, b->member, -errno);
	whole = blm_sync_all(folder, &r);
	close(folder);
	if (r < 0)
		return failed(b, b->member, r);
	for (const struct member *m = b->member; r == 0 && m < b->member + b->count; m++) {
		fd = open_member(b, m, O_RDONLY);
		r = fd;
		if (fd >= 0)
			r = (whole ? sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE)
			     : fsync(fd)) < 0 ? -errno : 0;
		if (fd >= 0)
			close(fd);
		r = r < 0 ? failed(b, m, r) : go_on(b);
	}
	return r;
}

static int name_files(struct blm_store_batch *b)
{
	int r = 0;

	for (struct member *m = b->member; r == 0 && m < b->member + b->count; m++) {
		r = blm_rename_new(b->store->filters, m->temporary, m->file);
		m->named = r == 0;
		r = r < 0 ? failed(b, m, r) : go_on(b);
	}
	return r == 0 && fsync(b->store->filters) < 0 ? failed(b, b->member, -errno) : r;
}

/* ---- The catalog ---- */

static int give(void *context, size_t i, const char **ret_name, struct blm_entry *ret)
{
	struct blm_store_batch *b = context;
	const struct member *m = &b->member[i];
	int fd = open_member(b, m, O_RDONLY), r = fd;
	struct stat st;

	if (fd >= 0) {
		int64_t n = blm_read_at(fd, b->header, sizeof(*b->header), 0);

		r = n < 0 ? (int)n : n < (int64_t)sizeof(*b->header) ? -ENODATA
			: fstat(fd, &st) < 0 ? -errno : 0;
		close(fd);
	}
	if (r < 0)
		return failed(b, m, r);
	*ret_name = m->name;
	blm_entry_of(ret, b->header, (uint64_t)st.st_size);
	return go_on(b);
}

/* A word of each file's header that changes; its offset in the live part. */
static void write_words(const struct blm_store_batch *b, size_t at, uint64_t word)
{
	word = htole64(word);
	for (const struct member *m = b->member; m < b->member + b->count; m++) {
		int fd = open_member(b, m, O_WRONLY);

		if (fd < 0)
			continue;	/* the catalog has it, whatever its mark says */
		blm_write_at(fd, &word, sizeof(word), offsetof(struct blm_header, live) + at);
		close(fd);
	}
}

/* As blm_store_put() says NAMED: a failure makes the files suspect. They are in their epoch 1. */
static void say_named(const struct blm_store_batch *b)
{
	write_words(b, offsetof(struct blm_live, state), BLM_STATE_NAMED);
	if (sync_files(b) < 0)
		write_words(b, offsetof(struct blm_live, failed), 1);
}

int blm_store_batch_publish(struct blm_store_batch *b)
{
	int r = sync_files(b);

	if (r == 0)
		r = name_files(b);
	if (r == 0)
		r = blm_catalog_put_many(b->store->catalog, b->count, give, b);
	if (r < 0)
		return r;
	b->in_catalog = true;
	say_named(b);
	return 0;
}

void blm_store_batch_end(struct blm_store_batch *b)
{
	for (struct member *m = b->member; m < b->member + b->count; m++) {
		if (!b->in_catalog)
			unlinkat(b->store->filters, m->named ? m->file : m->temporary, 0);
		munmap(m->map, BLM_PARKED_BYTES);
	}
	free(b->header);
	free(b);
}
