/*
 * cut.c - the power fails at a random moment, on ext4 and on XFS
 *
 * Workers use filters on a file system of their own, on a loop device, and report each step through
 * a pipe. Then the file system is shut down without a flush, which is a power cut for it: data that
 * is not on the disk at that moment is lost. The file system is mounted again, which replays its
 * journal, and the effect of all calls that had returned must be there. Some are cut again in the
 * middle of the recovery.
 */
#include "disk.h"
#include "fault.h"
#include "work.h"

#include "bloomery.h"
#include "file/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPORTS = 65536, RECOVER_EVERY = 5, GO_ON_EVERY = 3 };

static const char *const types[] = { "ext4", "xfs" };
static const char *const says[WORKS] = {
	[WORK_NAMES] = "names: what was created, published, renamed, dropped, cleared, rebuilt, "
		       "sealed or synced is as it was told",
	[WORK_PATHS] = "paths: what was created, replaced, cleared, rebuilt, sealed or synced is "
		       "as it was told",
	[WORK_WRITERS] = "writers: what adders and claimers synced is there, also where the file "
			 "was replaced under them",
	[WORK_UNSYNCED] = "keys that nobody synced are lost, so a cut is one",
};

#define LAST_WORDS "/mnt/words"	/* a worker's last words */

static struct report reports[REPORTS];

/* Return: how many there are, after the `count` that were there before. */
static size_t read_all(int fd, size_t count)
{
	size_t bytes = count * sizeof(reports[0]);

	while (bytes < sizeof(reports)) {
		ssize_t got = read(fd, (uint8_t *)reports + bytes, sizeof(reports) - bytes);

		if (got > 0)
			bytes += (size_t)got;
		else if (got == 0 || errno != EINTR)
			break;
	}
	return bytes / sizeof(reports[0]);
}

static void reap(pid_t pid)
{
	kill(-pid, SIGKILL);		/* its children too */
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/*
 * Work, and a cut at a moment between the first and the 250th millisecond. Return: how many reports
 * came; -1: it failed by itself.
 */
static long work_until_cut(struct disk *disk, enum work work, const char *folder, size_t count,
			   uint64_t *random)
{
	uint64_t seed = next_random(random);
	size_t from;
	bool failed;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[0], F_SETPIPE_SZ, 1 << 20) < 0)
		return -1;
	*work_power_goes = 0;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		dup2(open(LAST_WORDS, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600), 2);
		close(ends[0]);
		work_do(work, folder, reports, count, seed, 5000, ends[1]);
	}
	close(ends[1]);
	usleep(1000 + one_of(random, 250000));
	failed = waitpid(pid, NULL, WNOHANG) != 0;
	*work_power_goes = 1;
	disk_cut(disk);
	if (!failed)
		reap(pid);
	/* workers do not report failures after the cut */
	for (from = count, count = read_all(ends[0], count); from < count; from++)
		failed |= reports[from].op == OP_FAILED;
	close(ends[0]);
	work_boots++;
	disk_unmount(disk);
	return failed ? -1 : (long)count;
}

static void cut_recovery(struct disk *disk, const char *folder, uint64_t *random)
{
	pid_t pid = fork();

	if (pid == 0)
		work_recover(folder);
	usleep(200 + one_of(random, 30000));
	disk_cut(disk);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	disk_unmount(disk);
	work_boots++;
}

static const char *last_words(void)
{
	static char words[500];
	FILE *file = fopen(LAST_WORDS, "r");

	if (!file || !fgets(words, sizeof(words), file))
		strcpy(words, "without words");
	if (file)
		fclose(file);
	words[strcspn(words, "\n")] = '\0';
	return words;
}

static void cut(struct disk *disk, enum work work, unsigned number, uint64_t *random,
		struct tally *t)
{
	char folder[400];
	long count;

	disk_mount(disk);
	disk_folder(disk, folder, sizeof(folder));
	count = work_until_cut(disk, work, folder, 0, random);
	/* without a repair the work goes on, and the power fails again */
	if (count >= 0 && (work == WORK_NAMES || work == WORK_PATHS) && number % GO_ON_EVERY == 0) {
		disk_mount(disk);
		count = work_until_cut(disk, work, folder, (size_t)count, random);
		t->went_on++;
	}
	if (count < 0) {
		printf("# the worker failed before the cut: %s\n", last_words());
		t->wrong++;
		return;
	}
	disk_mount(disk);
	if ((work == WORK_NAMES || work == WORK_WRITERS)
	    && number % RECOVER_EVERY == RECOVER_EVERY - 1) {
		cut_recovery(disk, folder, random);
		disk_mount(disk);
		t->twice++;
	}
	t->cuts++;
	if (work_check(work, folder, reports, (size_t)count, t) < 0) {
		printf("# %s, cut %u: not as it must be\n", disk->type, number);
		t->wrong++;
	}
	disk_unmount(disk);
}

/*
 * On a busy machine a cut may come before the first key or step, and then nothing was reported. And
 * another process may make the system write all of its disks back just before the cut.
 */
static bool shows_nothing(enum work work, const struct tally *t)
{
	return work == WORK_UNSYNCED ? !t->lost : !t->keys && !t->steps;
}

static void cut_often(struct disk *disk, enum work work, unsigned long cuts, uint64_t seed)
{
	struct tally *t = work_shared(sizeof(*t));

	for (unsigned i = 0; i < cuts && t->wrong < 5; i++)
		cut(disk, work, i, &seed, t);
	for (unsigned i = 0; shows_nothing(work, t) && !t->wrong && i < 50; i++)
		cut(disk, work, i, &seed, t);
	if (work == WORK_UNSYNCED)
		tap(t->lost && !t->wrong, "%s: %s: %llu cuts, %llu of %llu lost", disk->type,
		    says[work], (unsigned long long)t->cuts, (unsigned long long)t->lost,
		    (unsigned long long)t->keys);
	else
		tap(!t->wrong && !t->lost && t->cuts >= cuts && t->steps + t->keys > 0,
		    "%s: %s: %llu cuts (%llu also after work that went on, %llu "
		    "also in the recovery), %llu steps, "
		    "%llu synced keys lost of %llu, %llu leftovers taken away, %llu cuts after "
		    "which something was wrong",
		    disk->type, says[work], (unsigned long long)t->cuts,
		    (unsigned long long)t->went_on, (unsigned long long)t->twice,
		    (unsigned long long)t->steps, (unsigned long long)t->lost,
		    (unsigned long long)t->keys, (unsigned long long)t->findings,
		    (unsigned long long)t->wrong);
}

/* Said by the maker, read after the power went when the maker had been told that it is made. */
static bool says_that_it_is_named(struct disk *disk)
{
	static struct blm_info info = BLM_INFO;
	struct blm_filter *from, *f;
	struct blm_store *store;
	char folder[400], path[500];
	uint64_t state = 0;
	bool done;
	int fd;

	disk_mount(disk);
	disk_folder(disk, folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/store", folder);
	done = blm_store_open(&store, path, BLM_STORE_CREATE) == 0
		&& blm_create(&from, NULL, NULL, &BLM_PARAMS(.capacity = 1000)) == 0
		&& blm_create(&f, store, "before", &BLM_PARAMS(.capacity = 10)) == 0;
	if (!done)
		return false;
	done = blm_close(f) == NULL && blm_add(from, "key", 3) == 1
	    && blm_store_publish(store, "a", from, 0, 0) == 0;
	disk_cut(disk);
	blm_close(from);
	blm_store_close(store);
	disk_unmount(disk);
	disk_mount(disk);
	done = done && blm_store_open(&store, path, BLM_STORE_READ) == 0;
	if (done) {
		done = blm_store_find(store, "a", &info) == 0;
		fd = open(info.path, O_RDONLY | O_CLOEXEC);
		done = done && fd >= 0
		    && pread(fd, &state, sizeof(state), offsetof(struct blm_header, live.state))
			       == sizeof(state);
		if (fd >= 0)
			close(fd);
		blm_store_close(store);
	}
	disk_unmount(disk);
	return done && (le64toh(state) & 0xff) == BLM_LIVE;
}

int main(int argc, char **argv)
{
	unsigned long cuts = number_of(argc, argv, "--cuts", 40),
		      seed = number_of(argc, argv, "--seed", (unsigned long)getpid());
	const char *reason = disks_begin();

	if (reason)
		return tap_skip(reason);
	work_power_goes = work_shared(sizeof(*work_power_goes));
	if (!work_power_goes)
		return EXIT_FAILURE;
	printf("# seed %lu\n", seed);
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct disk disk;

		reason = disk_make(&disk, types[i]);
		if (reason) {
			printf("ok %u - %s # SKIP %s\n", ++tap_count, types[i], reason);
			continue;
		}
		for (unsigned work = 0; work < WORKS; work++)
			cut_often(&disk, (enum work)work,
				  work == WORK_UNSYNCED ? 2 : (cuts + 5) / 6,
				  mixed(seed + WORKS * i + work));
		tap(says_that_it_is_named(&disk),
		    "%s: who made a filter in a store and returned had it written that it has its "
		    "name",
		    disk.type);
		close(disk.image);
	}
	return tap_end();
}
