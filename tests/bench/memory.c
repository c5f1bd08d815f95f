/*
 * memory.c - what the placement of a filter in memory costs: opening; questions, changes and syncs
 * with pages of 2 MiB and of 4 KiB; questions to a filter that is not in memory, one by one and
 * many at once
 *
 * Bytes written are those of the file's device in that time, also by other processes. On a busy
 * machine give the folder a file system of its own.
 */
#include <bloomery.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum { FAILED = 2, MISUSED = 64, ROUNDS = 7, MANY = 1 << 16 };

static const char usage[] = "usage: bench-memory [MIB]\n"
			    "\n"
			    "Makes filters of MIB mebibytes (1024 by default) in $TMPDIR, or where "
			    "that is not set in the current folder, and removes them.\n";

static char path[4096];

static void must(int64_t r)
{
	if (r >= 0)
		return;
	fprintf(stderr, "bench-memory: %s\n", blm_error_message());
	unlink(path);
	exit(FAILED);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct blm_filter *make(uint64_t bytes, bool sparse)
{
	struct blm_params p = BLM_PARAMS(.kind = "blocked", .cells = bytes * 8, .probes = 7,
					 .capacity = bytes, .sparse = sparse, .replace = true);
	struct blm_filter *f;

	must(blm_create(&f, NULL, path, &p));
	return f;
}

/* ---- Opening ---- */

static long faults(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return use.ru_minflt + use.ru_majflt;
}

static void opening(const char *size, uint64_t bytes)
{
	double time[101];
	long count = 0;

	blm_close(make(bytes, true));
	for (int i = 0; i < 101; i++) {
		struct blm_filter *f;
		long before = faults();

		time[i] = now();
		must(blm_open(&f, NULL, path, 0));
		blm_contains(f, "key", 3);
		blm_close(f);
		time[i] = now() - time[i];
		count = faults() - before;
	}
	qsort(time, 101, sizeof(*time), by_size);
	printf("open + one question + close, %-6s  %8.1f us  %ld page faults\n", size,
	       time[50] * 1e6, count);
}

/* ---- Keys ---- */

static uint64_t numbers[MANY], next_number;
static struct blm_key keys[MANY];

static void take_keys(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		numbers[i] = next_number++;
		keys[i] = (struct blm_key){ &numbers[i], sizeof(numbers[i]) };
	}
}

static void add(struct blm_filter *f, uint64_t count)
{
	for (uint64_t i = 0; i < count; i += MANY) {
		size_t here = count - i < MANY ? (size_t)(count - i) : MANY;

		take_keys(here);
		must(blm_add_many(f, keys, here, NULL));
	}
}

/* ns a question; absent keys, which are as good as any */
static double ask(const struct blm_filter *f)
{
	double time[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		take_keys(MANY);
		time[i] = now();
		must(blm_contains_many(f, keys, MANY, NULL));
		time[i] = now() - time[i];
	}
	qsort(time, ROUNDS, sizeof(*time), by_size);
	return time[ROUNDS / 2] / MANY * 1e9;
}

/* ---- Pages and syncs ---- */

static double written(void)	/* MiB, by the device; 0 where the system does not tell */
{
	unsigned long sectors = 0;
	char stat_path[64];
	struct stat st;
	FILE *file;

	if (stat(path, &st) < 0)
		return 0;
	snprintf(stat_path, sizeof(stat_path), "/sys/dev/block/%u:%u/stat", major(st.st_dev),
		 minor(st.st_dev));
	file = fopen(stat_path, "re");
	if (file && fscanf(file, "%*u %*u %*u %*u %*u %*u %lu", &sectors) != 1)
		sectors = 0;
	if (file)
		fclose(file);
	return (double)sectors * 512 / (1 << 20);
}

static double huge_share(uint64_t bytes)
{
	FILE *smaps = fopen("/proc/self/smaps", "re");
	unsigned long kib, sum = 0;
	char line[4400];

	while (smaps && fgets(line, sizeof(line), smaps))
		if (sscanf(line, "FilePmdMapped: %lu", &kib) == 1)
			sum += kib;
	if (smaps)
		fclose(smaps);
	return 100.0 * (double)sum * 1024 / (double)bytes;
}

static void sync_after(struct blm_filter *f, uint64_t count)
{
	double before = written(), start;

	add(f, count);
	start = now();
	must(blm_sync(f));
	printf("  %8llu new keys, sync  %9.1f ms  %8.1f MiB written\n", (unsigned long long)count,
	       (now() - start) * 1e3, written() - before);
}

static void pages(const char *name, uint64_t bytes, unsigned flags)
{
	double start = now();
	struct blm_filter *f = make(bytes, false);

	printf("pages %s: created in %.1f ms\n", name, (now() - start) * 1e3);
	must(blm_load(f, flags));
	start = now();
	add(f, bytes / 64);
	printf("  %8llu keys, the first         %9.1f ms\n", (unsigned long long)bytes / 64,
	       (now() - start) * 1e3);
	must(blm_sync(f));
	printf("  a question of many  %.1f ns; %.0f %% of the data in huge pages\n", ask(f),
	       huge_share(bytes));
	for (uint64_t count = 20; count <= 200000; count *= 10)
		sync_after(f, count);
	blm_close(f);
}

/* ---- Not in memory ---- */

static void forget(void)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		fprintf(stderr, "bench-memory: %s: %s\n", path, strerror(errno));
	close(fd);
}

static void cold(const char *name, unsigned flags, size_t at_once)
{
	struct blm_filter *f;
	uint64_t asked = 0;
	double start, took;

	forget();
	must(blm_open(&f, NULL, path, 0));
	must(blm_load(f, flags));
	start = now();
	do {
		take_keys(at_once);
		if (at_once > 1)
			must(blm_contains_many(f, keys, at_once, NULL));
		else
			blm_contains(f, keys[0].bytes, keys[0].len);
		asked += at_once;
		took = now() - start;
	} while (took < 2 && asked < MANY / 2);
	printf("not in memory, pages %-5s  %5zu at once  %9.1f us a question\n", name, at_once,
	       took / (double)asked * 1e6);
	blm_close(f);
}

int main(int argc, char **argv)
{
	const char *in = getenv("TMPDIR");
	uint64_t mib = argc > 1 ? strtoull(argv[1], NULL, 10) : 1024;

	if (argc > 2 || mib < 16 || mib > 1 << 20) {
		fputs(usage, stderr);
		return MISUSED;
	}
	snprintf(path, sizeof(path), "%s/bench-memory-%d", in && *in ? in : ".", (int)getpid());
	opening("1 MiB", 1 << 20);
	opening("1 GiB", 1 << 30);
	opening("1 TiB", UINT64_C(1) << 40);
	pages("small", mib << 20, BLM_SMALL_PAGES);
	for (int i = 0; i < 2; i++) {
		cold("small", BLM_SMALL_PAGES, 1);
		cold("small", BLM_SMALL_PAGES, 4096);
		cold("huge", BLM_HUGE_PAGES, 1);
	}
	pages("huge", mib << 20, BLM_HUGE_PAGES);
	unlink(path);
	return 0;
}
