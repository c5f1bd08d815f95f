/*
 * images.c - every state in which a power cut may leave the disk is a good one
 *
 * Workers use filters on a disk that records its writes. Afterwards the test makes disks as a cut
 * at a random moment can leave them: everything before the last flush, and of the later writes any
 * sectors of 512 bytes, or any complete writes, or the first ones. Each disk is mounted, and the
 * effect of every call that had returned before the moment must be there.
 */
#include "fault.h"
#include "logdisk.h"
#include "work.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECTOR = 512, SUPERBLOCK = 1024, CONTROLS = 12 };

static const char *const types[] = { "ext4", "xfs" };
static const char *const says[WORKS] = {
	[WORK_NAMES] = "names: any sectors may be lost after the last flush, and what returned is "
		       "there, what was under way done or not",
	[WORK_PATHS] = "paths: any sectors may be lost after the last flush, and what returned is "
		       "there, what was under way done or not",
	[WORK_WRITERS] = "writers: any sectors may be lost after the last flush, and what was "
			 "synced is there",
};

static void must(bool good, const char *what)
{
	if (!good) {
		printf("Bail out! %s: %s\n", what, strerror(errno));
		exit(EXIT_FAILURE);
	}
}

/* ---- Images ---- */

/* A new file with the same bytes, and holes where they are. */
static int copy_of(int from)
{
	static char piece[1 << 20];
	int to = open("/mnt", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct stat st;
	off_t at = 0, end;

	must(to >= 0 && fstat(from, &st) == 0 && ftruncate(to, st.st_size) == 0, "an image");
	while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
		end = lseek(from, at, SEEK_HOLE);
		while (at < end) {
			size_t most = (size_t)(end - at) < sizeof(piece) ? (size_t)(end - at)
									 : sizeof(piece);
			ssize_t got = pread(from, piece, most, at);

			must(got > 0 && pwrite(to, piece, (size_t)got, at) == got,
			     "copying an image");
			at += got;
		}
	}
	return to;
}

struct recording {
	const uint8_t *log;
	size_t log_bytes, count;
	size_t *record;			/* where each begins */
	/*
	 * number of records before the work: until the last of them the folder to work in may not
	 * exist
	 */
	size_t begun;
};

static_assert(sizeof(struct report) % alignof(struct log_record) == 0,
	      "the record behind a report is aligned");

static const struct log_record *record_at(const struct recording *r, size_t i)
{
	return (const struct log_record *)(r->log + r->record[i]);
}

static size_t bytes_of(int log)
{
	struct stat st;

	must(fstat(log, &st) == 0 && st.st_size > 0, "the log");
	return (size_t)st.st_size;
}

/* The work began after this many bytes of it. */
static void read_log(struct recording *r, int log, size_t begun)
{
	r->log_bytes = bytes_of(log);
	r->log = mmap(NULL, r->log_bytes, PROT_READ, MAP_PRIVATE, log, 0);
	must(r->log != MAP_FAILED, "the log");
	r->record = malloc(r->log_bytes / sizeof(struct log_record) * sizeof(*r->record));
	must(r->record != NULL, "memory");
	for (size_t at = 0; at < r->log_bytes; ) {
		struct log_record head;

		memcpy(&head, r->log + at, sizeof(head));
		r->record[r->count++] = at;
		at += sizeof(head) + head.bytes;
		if (at <= begun)
			r->begun = r->count;
	}
	must(r->begun > 0 && r->begun < r->count, "what the log holds");
}

/* unmountable: images over which the file system itself gave up, see give_up(). */
struct lost {
	uint64_t sectors, dropped, unmountable;
};

/*
 * The possible results of a cut for a write without a later flush. The two sectors of ext4's
 * superblock stay together: they are under one checksum and in no journal, so ext4 itself does not
 * mount if they are torn apart.
 */
static void apply_part(int image, const struct log_record *w, unsigned habit, bool early,
		       uint64_t *random, struct lost *lost)
{
	const uint8_t *data = (const uint8_t *)(w + 1);
	bool all = habit == 1 ? one_of(random, 2) : early, kept = false;

	for (uint64_t at = 0; at < w->bytes; at += SECTOR) {
		size_t bytes = w->bytes - at < SECTOR ? (size_t)(w->bytes - at) : SECTOR;

		lost->sectors++;
		if (at == 0 || w->offset + at != SUPERBLOCK + SECTOR)
			kept = habit == 0 ? one_of(random, 2) : all;
		if (kept)
			must(pwrite(image, data + at, bytes, (off_t)(w->offset + at))
				     == (ssize_t)bytes,
			     "an image");
		else
			lost->dropped++;
	}
}

static void apply(int image, const struct log_record *w)
{
	must(pwrite(image, w + 1, w->bytes, (off_t)w->offset) == (ssize_t)w->bytes, "an image");
}

/* ---- Recording ---- */

static const char *record(struct logdisk *l, const char *type, enum work work, uint64_t seed,
			  char *folder, size_t capacity, int *ret_base, size_t *ret_begun)
{
	struct disk made;
	const char *reason = disk_make(&made, type);
	int status;
	pid_t pid;

	if (reason)
		return reason;
	*ret_base = copy_of(made.image);
	reason = logdisk_begin(l, &made);
	if (reason)
		return reason;
	logdisk_mount(l);
	disk_folder(&l->disk, folder, capacity);
	*ret_begun = bytes_of(l->log);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		work_boots = 0;
		work_do(work, folder, NULL, 0, seed, work == WORK_WRITERS ? 60 : 150, l->mark);
	}
	work_boots = 1;
	must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0,
	     "working on a disk that remembers");
	disk_unmount(&l->disk);
	logdisk_end(l);
	return NULL;
}

/* ---- Cuts ---- */

static int compare(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

/*
 * A file system may rely on pieces of several sectors that a disk writes completely or not at all,
 * as ext4 does for its superblock. An image with such a torn piece does not mount, whatever its
 * files contain. It does not count, and another one is drawn; but many such images mean that
 * something else is wrong.
 */
static bool give_up(const struct disk *disk, struct lost *lost, bool forgetful)
{
	if (forgetful)
		return false;
	printf("# a %s that does not mount any more, its own metadata torn: %s\n", disk->type,
	       strerror(errno));
	lost->unmountable++;
	return true;
}

/* forgetful: nothing is left of what came after the last flush but thirty, which no disk may do. */
static void cut_at(const struct recording *r, struct disk *disk, int durable, size_t *durable_to,
		   size_t point, bool forgetful, enum work work, const char *folder,
		   uint64_t *random, struct tally *t, struct lost *lost)
{
	struct report *reports = malloc((r->count + 1) * sizeof(*reports));
	size_t flushed = 0, count = 0, flushes = 0;
	unsigned habit = one_of(random, 3);
	size_t prefix;

	must(reports != NULL, "memory");
	for (size_t i = 0; i < point; i++)
		if (record_at(r, i)->what == LOG_MARK)
			memcpy(&reports[count++], record_at(r, i) + 1, sizeof(*reports));
	for (size_t i = point; i-- > 0 && !flushed; )
		if (record_at(r, i)->what == LOG_FLUSH && ++flushes > (forgetful ? 30 : 0))
			flushed = i;
	for (; *durable_to < flushed; ++*durable_to)
		if (record_at(r, *durable_to)->what == LOG_WRITE)
			apply(durable, record_at(r, *durable_to));
	prefix = forgetful ? flushed
			   : flushed + (size_t)(next_random(random) % (point - flushed + 1));
	habit = forgetful ? 2 : habit;
	disk->image = copy_of(durable);
	for (size_t i = flushed; i < point; i++)
		if (record_at(r, i)->what == LOG_WRITE)
			apply_part(disk->image, record_at(r, i), habit, i < prefix, random, lost);
	if (!disk_try_mount(disk)) {
		if (!give_up(disk, lost, forgetful)) {
			t->cuts++;
			t->wrong++;
		}
	} else {
		t->cuts++;
		if (work_check(work, folder, reports, count, t) < 0)
			t->wrong++;
		disk_unmount(disk);
	}
	close(disk->image);
	free(reports);
}

static void cut_often(const struct recording *r, const struct disk *like, int base, bool forgetful,
		      enum work work, const char *folder, unsigned long images, uint64_t seed,
		      struct tally *t, struct lost *lost)
{
	size_t *point = calloc(images + 1, sizeof(*point)), durable_to = 0;
	struct disk disk = *like;
	int durable = copy_of(base);

	must(point != NULL, "memory");
	for (unsigned long i = 0; i < images; i++)
		point[i] = forgetful ? r->count / 2 + (size_t)(next_random(&seed) % (r->count / 2))
				     : r->begun
					       + (size_t)(next_random(&seed)
							  % (r->count - r->begun + 1));
	qsort(point, images, sizeof(*point), compare);
	for (unsigned long i = 0;
	     i < images && t->wrong < (forgetful ? 1 : 5) && lost->unmountable <= 1 + images / 20;
	     i++) {
		uint64_t before = t->cuts;

		while (t->cuts == before && lost->unmountable <= 1 + images / 20)
			cut_at(r, &disk, durable, &durable_to, point[i], forgetful, work, folder,
			       &seed, t, lost);
	}
	close(durable);
	free(point);
}

struct tallies {
	struct tally *good, *forgetful;
	struct lost lost;
	size_t records;
};

static const char *record_and_cut(const char *type, enum work work, unsigned long images,
				  uint64_t seed, struct tallies *to)
{
	struct recording r = { 0 };
	struct lost unused = { 0 };
	struct logdisk l;
	char folder[400];
	size_t begun;
	int base;
	const char *reason = record(&l, type, work, seed, folder, sizeof(folder), &base, &begun);

	if (reason)
		return reason;
	read_log(&r, l.log, begun);
	to->records += r.count;
	cut_often(&r, &l.disk, base, false, work, folder, images, mixed(seed), to->good, &to->lost);
	if (!to->forgetful->cuts)
		cut_often(&r, &l.disk, base, true, work, folder, CONTROLS, mixed(seed + 1),
			  to->forgetful, &unused);
	munmap((void *)r.log, r.log_bytes);
	free(r.record);
	close(base);
	close(l.image);
	close(l.log);
	return NULL;
}

/* A recording for every hundred images. */
static void run(const char *type, enum work work, unsigned long images, uint64_t seed)
{
	struct tallies to = { .good = work_shared(sizeof(*to.good)),
			      .forgetful = work_shared(sizeof(*to.forgetful)) };
	struct tally *t = to.good;

	must(t && to.forgetful, "memory");
	to.forgetful->quiet = true;
	for (unsigned long done = 0, these; done < images && t->wrong < 5 && t->cuts == done;
	     done += these) {
		const char *reason;

		these = images - done < 100 ? images - done : 100;
		reason = record_and_cut(type, work, these, mixed(seed + done), &to);
		if (reason) {
			printf("ok %u - %s # SKIP %s\n", ++tap_count, type, reason);
			return;
		}
	}
	tap(!t->wrong && !t->lost && t->cuts == images,
	    "%s: %s: %llu images from %zu records, %llu of %llu unflushed sectors dropped, "
	    "%llu steps, %llu synced keys lost of %llu, %llu images in which something was wrong",
	    type, says[work], (unsigned long long)t->cuts, to.records,
	    (unsigned long long)to.lost.dropped, (unsigned long long)to.lost.sectors,
	    (unsigned long long)t->steps, (unsigned long long)t->lost, (unsigned long long)t->keys,
	    (unsigned long long)t->wrong);
	tap(to.forgetful->wrong > 0,
	    "%s: a disk that forgets flushed writes is caught: in %llu of %llu images", type,
	    (unsigned long long)to.forgetful->wrong, (unsigned long long)to.forgetful->cuts);
}

int main(int argc, char **argv)
{
	unsigned long images = number_of(argc, argv, "--images", 24),
		      seed = number_of(argc, argv, "--seed", (unsigned long)getpid());
	const char *reason = disks_begin();

	if (reason)
		return tap_skip(reason);
	printf("# seed %lu\n", seed);
	for (unsigned i = 0; i < 2; i++) {
		run(types[i], WORK_NAMES, (images + 5) / 6, mixed(seed + 3 * i));
		run(types[i], WORK_PATHS, (images + 5) / 6, mixed(seed + 3 * i + 1));
		run(types[i], WORK_WRITERS, (images + 5) / 6, mixed(seed + 3 * i + 2));
	}
	return tap_end();
}
