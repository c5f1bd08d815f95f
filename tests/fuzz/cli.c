/*
 * cli.c - the program ends with one of its exit codes for any command line
 *
 * The input: words, one a line, up to an empty line; the rest is standard input. Several command
 * lines may follow each other, divided by a byte of 1. They share a folder, which begins with a
 * filter f and a store with a filter named a. The folder is restored after some inputs, and before
 * one that begins with such a byte. A slash counts only in "./": nothing outside of the folder is
 * touched. The program's variables are in sections of their own (sections.h), so that they can be
 * restored before each command line. Run it with -close_fd_mask=3, which keeps the program's output
 * out of the fuzzer's.
 */
#include "bloomery.h"
#include "dice.h"
#include "must.h"

#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

int tool_main(int argc, char **argv);
int LLVMFuzzerInitialize(int *argc, char ***argv);
const char *__asan_default_options(void);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern char __start_tool_data[], __stop_tool_data[], __start_tool_bss[], __stop_tool_bss[];
static char *data_before, folder[] = "/tmp/bloomery-cli-XXXXXX";
static bool mounted;		/* a file system of its own is mounted there */
static unsigned runs;
static int in;			/* what standard input is read from */
static size_t in_bytes;

/* A program leaves it to the system to free its memory. */
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

/* Without memcpy() and memset(), which would look at what the sanitizer puts between variables. */
__attribute__((no_sanitize("address", "undefined", "coverage"))) static void put_back(void)
{
	typedef uint64_t line __attribute__((vector_size(64), aligned(1)));
	volatile char *c = __start_tool_bss;

	/* large: the program's buffers are there, too */
	for (; c + sizeof(line) <= __stop_tool_bss; c += sizeof(line))
		*(volatile line *)c = (line){ 0 };
	while (c < __stop_tool_bss)
		*c++ = 0;
	c = __start_tool_data;
	for (volatile char *from = data_before; c < __stop_tool_data; )
		*c++ = *from++;
	optind = 0;
}

__attribute__((no_sanitize("address", "undefined"))) static void keep(void)
{
	data_before = malloc((size_t)(__stop_tool_data - __start_tool_data) + 1);
	must(data_before != NULL);
	for (volatile char *c = __start_tool_data, *to = data_before; c < __stop_tool_data; )
		*to++ = *c++;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type;
	return at->level ? remove(path) : 0;
}

static void remove_folder(void)
{
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	if (mounted)
		umount2(folder, MNT_DETACH);
	rmdir(folder);
}

/*
 * The folder as it begins: made once, since sizing filters and writing a catalog take longer than
 * most command lines.
 */
static struct {
	char path[128];
	void *bytes;		/* NULL: a folder */
	size_t count;
	mode_t mode;
} first[16];
static unsigned firsts;

static int remember_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	int fd;

	if (!at->level)
		return 0;
	must(firsts < sizeof(first) / sizeof(first[0]) && strlen(path) < sizeof(first[0].path));
	strcpy(first[firsts].path, path);
	first[firsts].mode = st->st_mode & 0777;
	if (type == FTW_F) {
		first[firsts].count = (size_t)st->st_size;
		first[firsts].bytes = malloc(first[firsts].count + 1);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		must(first[firsts].bytes
		     && read(fd, first[firsts].bytes, first[firsts].count) == st->st_size);
		close(fd);
	}
	firsts++;
	return 0;
}

static void make_first(void)
{
	struct blm_params params = BLM_PARAMS(.capacity = 100, .rate = 0.01);
	struct blm_store *store;
	struct blm_filter *f;

	must(blm_create(&f, NULL, "./f", &params) == 0);
	blm_close(f);
	must(blm_store_open(&store, "./s", BLM_STORE_CREATE) == 0
	     && blm_create(&f, store, "a", &params) == 0);
	blm_close(f);
	blm_store_close(store);
	must(nftw(folder, remember_one, 8, FTW_PHYS) == 0);
}

/*
 * What the program calls to open its store and its pipe, which it leaves open, as a process that
 * ends may.
 */
int open_and_note(struct blm_store **ret, const char *dir, unsigned flags);
int pipe_and_note(int ends[2], int flags);
static struct blm_store *left_open;
static int left_ends[2];

int open_and_note(struct blm_store **ret, const char *dir, unsigned flags)
{
	int r = blm_store_open(ret, dir, flags);

	if (r == 0)
		left_open = *ret;
	return r;
}

int pipe_and_note(int ends[2], int flags)
{
	int r = pipe2(ends, flags);

	if (r == 0)
		memcpy(left_ends, ends, sizeof(left_ends));
	return r;
}

static void close_what_is_left(void)
{
	left_open = blm_store_close(left_open);
	for (int i = 0; i < 2; i++) {
		if (left_ends[i] > 0)
			close(left_ends[i]);
		left_ends[i] = 0;
	}
}

static void fresh_folder(void)
{
	throw_dice(2);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	for (unsigned i = 0; i < firsts; i++) {
		int fd;

		if (!first[i].bytes) {
			must(mkdir(first[i].path, first[i].mode) == 0);
			continue;
		}
		fd = open(first[i].path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, first[i].mode);
		must(write(fd, first[i].bytes, first[i].count) == (ssize_t)first[i].count);
		close(fd);
	}
}

/*
 * On a disk it takes twice as long. One in memory that only this process sees, where it may have
 * such a one, or everybody's.
 */
static void make_folder(void)
{
	must(mkdtemp(folder) != NULL);
	if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0
	    && mount("bloomery", folder, "tmpfs", MS_NOSUID | MS_NODEV, "mode=700") == 0)
		mounted = true;
	else if (access("/dev/shm", W_OK) == 0) {
		rmdir(folder);
		memcpy(folder, "/dev/shm/bloom-cl-XXXXXX", sizeof(folder));
		must(mkdtemp(folder) != NULL);
	}
	must(chdir(folder) == 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	/* or a file that is read as keys takes seconds */
	struct rlimit limit = { 256 << 10, 256 << 10 };

	(void)argc, (void)argv;
	throw_dice(1);
	make_folder();
	atexit(remove_folder);
	setenv("BLOOMERY_STORE", "./s", 1);
	setenv("HOME", folder, 1);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	umask(0);
	/* memory once had is kept, or most of the time goes into its first touch */
	mallopt(M_MMAP_THRESHOLD, 64 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	make_first();
	in = memfd_create("in", MFD_CLOEXEC);
	must(in >= 0);
	keep();
	return 0;
}

/* A slash is one after a dot that begins the word or its value. */
static void tame(char *word)
{
	for (char *c = word; *c; c++)
		if (*c == '/' && !(c > word && c[-1] == '.' && (c - 1 == word || c[-2] == '=')))
			*c = '_';
}

/*
 * What measures takes as long as the numbers say: these are of at most three digits, without k, m
 * or an exponent.
 */
static void tame_numbers(char *word)
{
	for (char *c = word; (c = strpbrk(c, "0123456789")); ) {
		size_t digits = strspn(c, "0123456789");

		c += digits < 3 ? digits : 3;
		if (digits > 3 || (*c && strchr("kKmMgGtTeE", *c)))
			*c = '\0';
	}
}

/*
 * The time to size blocks for a rate grows with the square of the probes: 1e-50 takes a fifth of a
 * second. A rate that is refused as too small takes none.
 */
static void tame_rate(char *word)
{
	for (char *c = word; (c = strpbrk(c, "eEpP")); c++) {
		bool binary = *c == 'p' || *c == 'P';
		unsigned long exponent = c[1] == '-' && c[2] >= '0' && c[2] <= '9'
					       ? strtoul(c + 2, NULL, 10)
					       : 0;

		/* with up to 80 digits before it */
		if (exponent >= (binary ? 64 : 20) && exponent < (binary ? 1400 : 410))
			c[3] = '\0';
	}
}

/*
 * Rows of one key in two tables make as many as their product: of two large ones no join would end.
 */
static bool joins_large_ones(char **words, int count)
{
	struct stat st;
	int large = 0;

	for (int i = 2; i < count && words[1][0] == 'j'; i++)
		large += stat(words[i], &st) == 0 && st.st_size > 1024;
	return large > 1;
}

/* Nothing ends `watch --every` here. */
static bool goes_on(char **words, int count)
{
	bool watches = false, again = false;

	for (int i = 1; i < count; i++) {
		watches |= !strcmp(words[i], "watch");
		again |= !strncmp(words[i], "--e", 3);
	}
	return watches && again;
}

static void run_one(char *text, size_t size)
{
	char *words[34] = { (char *)"bloomery" }, *end = text + size, *at = text;
	int count = 1, code;

	while (at < end && *at != '\n' && count < 32) {
		char *stop = memchr(at, '\n', (size_t)(end - at));

		if (!stop)
			stop = end;
		*stop = '\0';
		tame(at);
		tame_rate(at);
		if (count > 1 && !strcmp(words[1], "measure"))
			tame_numbers(at);
		words[count++] = at;
		/* before all others, or an option that lacks its value takes it */
		/* this is not the program that it would call */
		if (count == 2 && !strcmp(at, "verify"))
			words[count++] = (char *)"--here";
		if (count == 2 && !strcmp(at, "measure"))
			words[count++] = (char *)"--questions=999";
		at = stop + 1;
	}
	if (goes_on(words, count) || (count > 1 && joins_large_ones(words, count)))
		return;
	if (at < end)
		at++;
	if (at < end || in_bytes) {
		in_bytes = at < end ? (size_t)(end - at) : 0;
		must(ftruncate(in, 0) == 0 && pwrite(in, at, in_bytes, 0) == (ssize_t)in_bytes);
	}
	must(lseek(in, 0, SEEK_SET) == 0);
	must(dup2(in, STDIN_FILENO) == STDIN_FILENO);
	clearerr(stdin);
	put_back();
	code = tool_main(count, words);
	close_what_is_left();
	must(code == 0 || code == 1 || code == 2 || code == 64);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1), *at = copy;

	must(copy != NULL);
	memcpy(copy, data, size);
	copy[size] = '\1';
	if (runs++ % 16 == 0 || (size && data[0] == '\1'))
		fresh_folder();
	for (char *stop; (stop = memchr(at, '\1', (size_t)(copy + size + 1 - at))); at = stop + 1)
		if (stop > at)
			run_one(at, (size_t)(stop - at));
	free(copy);
	return 0;
}
