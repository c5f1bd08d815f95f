/*
 * writeback.c - a disk that fails to write, or to read, and works again later
 *
 * The system drops pages that it could not write: a later msync() succeeds, and the pages are lost
 * with the next power cut. So a failed sync returns an error, the filter is suspect, and the next
 * sync writes all pages again. Here the disk fails the writes to the filter's blocks, and only
 * those, once; then, after a sync that returned 0, the power is cut. As a control the test does the
 * same with a plain msync() instead of that sync, which must lose keys. The next sync may be that
 * of a process that opens the file later, when the system has dropped the header's pages.
 *
 * A page that was never written before, and fails, is a case of its own (extents.c): ext4 may not
 * keep it although a later sync writes it. That sync then returns an error, too, and a copy of the
 * filter has all keys.
 *
 * Unreadable data is no answer: a process that asked to survive it gets an error from every call
 * that returns an answer, and no key is denied.
 */
#include "bloomery.h"
#include "../info.h"
#include "fault.h"
#include "handle/handle.h"
#include "logdisk.h"
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BEFORE = 4000, DURING = 3000, AFTER = 1 };

static const struct {
	const char *name;
	struct blm_params params;
} shapes[] = {
	{ "one block, from the middle of a page on",
	  BLM_PARAMS(.kind = "blocked", .cells = 32768, .probes = 2) },
	{ "one block", BLM_PARAMS(.kind = "classic", .cells = 100003, .probes = 7) },
	{ "several blocks", BLM_PARAMS(.kind = "blocked", .capacity = 150000, .rate = 0.001) },
	{ "sparse", BLM_PARAMS(.kind = "classic", .cells = 18000000, .probes = 3, .sparse = true) },
	{ "holes before",
	  BLM_PARAMS(.kind = "classic", .cells = 40000000, .probes = 1, .sparse = true) },
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static void must(bool good, const char *what)
{
	if (!good) {
		printf("Bail out! %s: %s (%s)\n", what, strerror(errno), blm_error_message());
		exit(EXIT_FAILURE);
	}
}

static void add(struct blm_filter *f, uint64_t from, uint64_t count)
{
	for (uint64_t key = from; key < from + count; key++)
		must(blm_add(f, &key, sizeof(key)) >= 0, "adding");
}

static uint64_t missing(const struct blm_filter *f, uint64_t from, uint64_t count)
{
	uint64_t lost = 0;

	for (uint64_t key = from; key < from + count; key++)
		lost += !blm_contains(f, &key, sizeof(key));
	return lost;
}

/* Where on the disk the file lies, from this byte of it on. */
static void break_blocks_of(const char *path, uint64_t first, struct faults *faults)
{
	enum { EXTENTS = 4096 };
	struct fiemap *map = calloc(1, sizeof(*map) + EXTENTS * sizeof(map->fm_extents[0]));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned count = 0;

	must(map && fd >= 0, path);
	map->fm_length = FIEMAP_MAX_OFFSET;
	map->fm_flags = FIEMAP_FLAG_SYNC;
	map->fm_extent_count = EXTENTS;
	must(ioctl(fd, FS_IOC_FIEMAP, map) == 0 && map->fm_mapped_extents > 0,
	     "where a file lies on the disk");
	for (unsigned i = 0; i < map->fm_mapped_extents; i++) {
		const struct fiemap_extent *e = &map->fm_extents[i];
		uint64_t before = first > e->fe_logical ? first - e->fe_logical : 0;

		if (before >= e->fe_length)
			continue;
		/* written and unwritten pages beside each other */
		if (count && faults->at[count - 1].to == e->fe_physical + before) {
			faults->at[count - 1].to += e->fe_length - before;
			continue;
		}
		must(count < FAULTS_MAX, "a file of few stretches");
		faults->at[count].from = e->fe_physical + before;
		faults->at[count++].to = e->fe_physical + e->fe_length;
	}
	must(count, "blocks to break");
	faults->hits = 0;
	faults->count = count;
	close(fd);
	free(map);
}

static bool is_suspect(const struct blm_filter *f)
{
	struct blm_info *info = info_buffer();
	bool suspect;

	must(info && blm_info(f, info) == 0, "asking what it is");
	suspect = info->suspect;
	free(info);
	return suspect;
}

struct outcome {
	unsigned runs, unnoticed, still_suspect, refused;
	uint64_t hits, keys, lost, damage;
};

/* A sync that wrote all pages again fails once more; the path becomes that of a copy. */
static void copy_refused(struct blm_filter *f, char path[500], struct outcome *o)
{
	struct blm_filter *copy;

	o->refused++;
	o->unnoticed += !strstr(blm_error_message(), "blm_copy()") || !is_suspect(f);
	strcat(path, ".copy");
	must(blm_copy(&copy, NULL, path, f, 0600) == 0, "copying");
	blm_close(copy);
}

/*
 * Who syncs after the failure: the same handle; another one that was open, as that of another
 * process would be; or one that was opened after the first was closed, and after the system dropped
 * the header and kept the data. Its adds change nothing, as the keys are in memory.
 */
enum who { SAME, OTHER, LATER, WHOS };

static void close_and_drop_header(struct blm_filter *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	blm_close(f);
	must(fd >= 0 && posix_fadvise(fd, 0, BLM_HEADER_BYTES, POSIX_FADV_DONTNEED) == 0,
	     "dropping the pages of the header");
	close(fd);
}

static void fail_once(struct logdisk *l, unsigned shape, bool control, enum who who,
		      struct outcome *o)
{
	struct blm_filter *f, *g;
	char path[500];
	struct blm_view *view;
	int r;

	logdisk_mount(l);
	disk_folder(&l->disk, path, 400);
	strcat(path, "/f.blm");
	must(blm_create(&f, NULL, path, &shapes[shape].params) == 0, "creating");
	add(f, 0, BEFORE);
	must(blm_sync(f) == 0, "syncing");
	l->faults->of_reads = false;
	break_blocks_of(path, 0, l->faults);
	add(f, BEFORE, DURING);
	r = blm_sync(f);
	l->faults->count = 0;
	o->hits += l->faults->hits;
	o->unnoticed += r != -EIO || !is_suspect(f);
	if (who == LATER)
		close_and_drop_header(f, path);
	must(blm_open(&g, NULL, path, BLM_OPEN_WRITE) == 0, "opening");
	f = who == LATER ? g : f;
	if (!control)
		add(g, BEFORE, DURING + AFTER);
	view = current_view(f);
	if (control)
		r = msync(view->image.map, view->image.bytes, MS_SYNC);
	else
		r = blm_sync(who == OTHER ? g : f);
	if (r == -EIO && !control)
		copy_refused(f, path, o);
	else
		must(r == 0, "syncing on a disk that is well again");
	o->still_suspect += r == 0 && !control && (is_suspect(f) || is_suspect(g));
	disk_cut(&l->disk);
	if (f != g)
		blm_close(f);
	blm_close(g);
	disk_unmount(&l->disk);

	logdisk_mount(l);
	must(blm_open(&f, NULL, path, 0) == 0, "opening after the cut");
	o->runs++;
	o->keys += BEFORE + DURING + (control ? 0 : AFTER);
	o->lost += missing(f, 0, BEFORE + DURING + (control ? 0 : AFTER));
	blm_close(f);
	r = blm_verify(NULL, path, 0, NULL, NULL);
	must(r >= 0, "verifying");
	o->damage += (uint64_t)r;
	disk_unmount(&l->disk);
}

/* The context is a path, until a finding is of that file. */
static void note_name(void *context, const struct blm_finding *found)
{
	const char **path = context;

	if (*path && !strcmp(found->file, *path) && strstr(found->what, "could not be read"))
		*path = NULL;
}

/* In a process of its own, which survives for good. Returns what is wrong; NULL: nothing. */
static const char *ask_of_bad_blocks(const char *path, const struct faults *faults)
{
	const char *named = path;
	struct blm_filter *f;

	if (blm_survive_truncation() < 0 || blm_open(&f, NULL, path, 0) < 0)
		return "it cannot be opened";
	if (missing(f, 0, BEFORE))
		return "a key is denied";
	if (!faults->hits)
		return "nothing was read";
	if (!blm_truncated() || strcmp(blm_truncated(), path) != 0)
		return "the file is not named";
	if (blm_status(f) != -EIO)
		return "it is said to be well";
	blm_close(f);
	return blm_verify(NULL, path, 0, note_name, &named) == 1 && !named
		     ? NULL
		     : "verify does not name it";
}

/* The page of numbers can be read, the data behind the first 128 KiB cannot. */
static void fail_reads(struct logdisk *l, const char *type)
{
	enum { SEVERAL_BLOCKS = 2, FIRST = 128 << 10 };
	const char **wrong = work_shared(4096);
	struct blm_filter *f;
	char path[500];
	bool well;
	pid_t pid;

	logdisk_mount(l);
	disk_folder(&l->disk, path, 400);
	strcat(path, "/g.blm");
	must(blm_create(&f, NULL, path, &shapes[SEVERAL_BLOCKS].params) == 0, "creating");
	add(f, 0, BEFORE);
	must(blm_sync(f) == 0, "syncing");
	blm_close(f);
	disk_unmount(&l->disk);

	logdisk_mount(l);
	l->faults->of_reads = true;
	break_blocks_of(path, FIRST, l->faults);
	*wrong = "it died";
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		*wrong = ask_of_bad_blocks(path, l->faults);
		_exit(0);
	}
	must(waitpid(pid, NULL, 0) == pid, "waiting");
	l->faults->count = 0;
	disk_unmount(&l->disk);

	logdisk_mount(l);
	must(blm_open(&f, NULL, path, 0) == 0, "opening on a disk that is well again");
	well = !missing(f, 0, BEFORE);
	blm_close(f);
	well &= blm_verify(NULL, path, 0, NULL, NULL) == 0;
	disk_unmount(&l->disk);
	tap(!*wrong && well,
	    "%s: of pages that cannot be read no key is denied, and status and verify tell of the "
	    "file%s%s",
	    type, *wrong ? ": " : "", *wrong ? *wrong : "");
}

static void run(const char *type, unsigned long rounds)
{
	struct disk made;
	struct logdisk l;
	const char *reason = disk_make(&made, type);

	if (!reason)
		reason = logdisk_begin(&l, &made);
	if (reason) {
		printf("ok %u - %s # SKIP %s\n", ++tap_count, type, reason);
		return;
	}
	for (unsigned s = 0; s < SHAPES; s++) {
		struct outcome o = { 0 }, control = { 0 };

		for (unsigned long i = 0; i < rounds; i++)
			fail_once(&l, s, false, (enum who)(i % WHOS), &o);
		tap(!o.lost && !o.unnoticed && !o.still_suspect && !o.damage && o.hits
		    && (!o.refused || !strcmp(type, "ext4")),
		    "%s, %s: after a sync that failed the next one writes "
		    "all pages again: %u cuts, %llu failed writes, %llu of %llu synced keys lost, "
		    "%u failures unnoticed, %u times suspect afterwards, %u times refused and "
		    "copied", type, shapes[s].name, o.runs, (unsigned long long)o.hits,
		    (unsigned long long)o.lost, (unsigned long long)o.keys, o.unnoticed,
		    o.still_suspect, o.refused);
		fail_once(&l, s, true, SAME, &control);
		tap(control.lost > 0, "%s, %s: a second msync() alone loses keys: %llu of %llu",
		    type, shapes[s].name, (unsigned long long)control.lost,
		    (unsigned long long)control.keys);
	}
	fail_reads(&l, type);
	logdisk_end(&l);
	close(l.image);
	close(l.log);
}

int main(int argc, char **argv)
{
	unsigned long rounds = number_of(argc, argv, "--rounds", WHOS);
	const char *reason = disks_begin();

	if (reason)
		return tap_skip(reason);
	run("ext4", rounds);
	run("xfs", rounds);
	return tap_end();
}
