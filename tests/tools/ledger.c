/*
 * ledger.c - processes that decide which units are kept, and die at every step of it: the program's
 * corpus/ledger.c and corpus/journal.c
 */
#include "corpus/ledger.h"
#include "signals.h"

#include "suite.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- In the place of the program's other files ---- */

#undef fail	/* Check's */
bool quiet;
bool stopping(void) { return false; }
int stop_descriptor(void) { return -1; }
int fail(int64_t err) { return broken("%s: %s", blm_strerror((int)err), blm_error_message()); }

static char said[1000];

int broken(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(said, sizeof(said), format, ap);
	va_end(ap);
	return FAILED;
}

/* Die at the n-th time that this step is reached. */
static struct { int step, times; } death;

void LEDGER_STEP(int n);

void LEDGER_STEP(int n)
{
	if (n == death.step && --death.times == 0)
		kill(getpid(), SIGKILL);
}

/* ---- Files of units: each is one key, and a file has none twice ---- */

enum { UNITS = 24, GROUP = 4, STEPS = 11, KEYS = 40 };

static char filter_path[600];

/* File 0 has the keys 0 to 23, and file 1 the keys 16 to 39, each in an order of its own. */
static uint64_t key_of_unit(int file, int unit)
{
	return file ? (uint64_t)(KEYS - 1 - unit * 7 % UNITS) : (uint64_t)(unit * 5 % UNITS);
}

static void journal_path(int file, char ret[700])
{
	snprintf(ret, 700, "%s.file%d.journal", filter_path, file);
}

/* What file 0 has, and file 1, from its journal: bit k is set where the key k was kept. */
static uint64_t kept_of(struct ledger *l, int file)
{
	static const uint8_t mark[MARK] = { 1 };
	struct journal j;
	char path[700];
	uint64_t kept = 0;
	bool busy;

	journal_path(file, path);
	ck_assert_int_eq(journal_open(&j, l, path, mark, false, &busy), DONE);
	ck_assert_int_eq(j.units, UNITS);
	for (int i = 0; i < UNITS; i++)
		if (!journal_seen(&j, (uint64_t)i))
			kept |= UINT64_C(1) << key_of_unit(file, i);
	journal_close(&j, false);
	return kept;
}

static int decide(struct ledger *l, struct journal *j, int file, int from)
{
	struct blm_hash hashes[GROUP], kept[GROUP];
	uint32_t seen[GROUP];
	uint64_t keys[GROUP], bits;
	size_t many = 0;

	for (int i = 0; i < GROUP; i++)
		keys[i] = key_of_unit(file, from + i);
	MUST(blm_hash_fixed(l->f, keys, sizeof(*keys), GROUP, hashes) == 0);
	MUST(blm_contains_hashes(l->f, l->hash_id, hashes, GROUP, &bits) >= 0);
	for (int i = 0; i < GROUP; i++) {
		seen[i] = bits >> i & 1;
		if (!seen[i])
			kept[many++] = hashes[i];
	}
	return ledger_commit(l, j, seen, GROUP, kept, many);
}

/* All of a file, or the rest of it: two groups under one lock. */
static int do_file(void *context)
{
	static const uint8_t mark[MARK] = { 1 };
	int file = *(int *)context;
	struct blm_filter *f;
	struct ledger l;
	struct journal j;
	char path[700];
	bool busy;

	journal_path(file, path);
	MUST(blm_open(&f, NULL, filter_path, BLM_OPEN_WRITE) == 0);
	MUST(ledger_open(&l, f) == DONE);
	MUST(journal_open(&j, &l, path, mark, false, &busy) == DONE && !busy);
	for (int at = (int)j.units; at < UNITS; at = (int)j.units) {
		MUST(ledger_begin(&l, &j) == DONE);
		MUST(decide(&l, &j, file, at) == DONE);
		if (j.units % (2 * GROUP))
			MUST(decide(&l, &j, file, at + GROUP) == DONE);
		MUST(ledger_end(&l, DONE) == DONE);
	}
	journal_close(&j, false);
	ledger_close(&l);
	blm_close(f);
	return 0;
}

/* ---- Disks ---- */

/*
 * A copy of the file, PATH.disk, of its last fdatasync() has the data that is certainly on the
 * disk. PATH.named says that the name of a journal is on the disk, since the last fsync() of the
 * folder.
 */
extern const char *ledger_boot;
const char *ledger_boot;

static char boot_path[700];

static void with_end(const char *path, const char *end, char ret[800])
{
	snprintf(ret, 800, "%.700s%s", path, end);
}

static void name_files(void)
{
	for (int file = 0; file < 2; file++) {
		char path[700], named[800];

		journal_path(file, path);
		with_end(path, ".named", named);
		if (access(path, F_OK) == 0)
			close(open(named, O_WRONLY | O_CREAT, 0600));
	}
}

/* The files of the world are in one folder. */
static int flush(int fd)
{
	char link[64], path[700], disk[800], folder[700];
	ssize_t n;
	struct stat st;

	if (*filter_path == 0 || fstat(fd, &st) < 0)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return 0;
	path[n] = 0;
	snprintf(folder, sizeof(folder), "%s", filter_path);
	*strrchr(folder, '/') = 0;
	with_end(path, ".disk", disk);
	if (S_ISDIR(st.st_mode) && !strcmp(path, folder))
		name_files();
	else if (S_ISREG(st.st_mode) && !strncmp(path, filter_path, strlen(filter_path)))
		copy_file(path, disk);
	return 0;
}

/* In the place of the C library's. */
int fdatasync(int fd)
{
	return flush(fd);
}

int fsync(int fd)
{
	return flush(fd);
}

enum { SECTOR = 512 };
enum of_file { OLD, NEW, MIXED };

/* Each sector of a file as it is on the disk for certain, or as it was written last. */
static void cut_file(const char *path, enum of_file how, uint64_t *seed)
{
	char disk[800];
	uint8_t old[SECTOR];
	int to = open(path, O_RDWR), from;

	if (to < 0)
		return;
	with_end(path, ".disk", disk);
	from = open(disk, O_RDONLY);
	for (off_t at = 0, end = lseek(to, 0, SEEK_END); at < end; at += SECTOR) {
		memset(old, 0, sizeof(old));
		MUST(from < 0 || pread(from, old, SECTOR, at) >= 0);
		if (how == OLD || (how == MIXED && next_random(seed) % 2))
			MUST(pwrite(to, old, SECTOR, at) == SECTOR);
	}
	close(from);
	close(to);
}

/* All processes are dead. The power was off, and the machine starts. */
static void cut_power(enum of_file filter, enum of_file journals, uint64_t seed)
{
	char path[700], other[800];
	FILE *boot = fopen(boot_path, "w");

	cut_file(filter_path, filter, &seed);
	with_end(filter_path, ".claims", other);
	cut_file(other, MIXED, &seed);
	for (int file = 0; file < 2; file++) {
		journal_path(file, path);
		with_end(path, ".named", other);
		if (access(other, F_OK) < 0 && journals == OLD)
			unlink(path);
		cut_file(path, journals, &seed);
	}
	MUST(boot && fprintf(boot, "%llu", (unsigned long long)seed) > 0 && fclose(boot) == 0);
}

/* As a run begins: the keys that the journal of a file knows as kept are added again. */
static int restore_file(void *context)
{
	static const uint8_t mark[MARK] = { 1 };
	int file = *(int *)context;
	struct blm_filter *f;
	struct ledger l;
	struct journal j;
	struct blm_hash hash;
	char path[700];
	bool busy;

	journal_path(file, path);
	if (!journal_is_old(path))
		return 0;
	MUST(blm_open(&f, NULL, filter_path, BLM_OPEN_WRITE) == 0);
	MUST(ledger_open(&l, f) == DONE);
	MUST(journal_open(&j, &l, path, mark, false, &busy) == DONE && !busy && j.other_boot);
	for (uint64_t i = 0; i < j.units; i++) {
		uint64_t key = key_of_unit(file, (int)i);

		MUST(blm_hash_fixed(f, &key, sizeof(key), 1, &hash) == 0);
		MUST(journal_seen(&j, i) || ledger_add(&l, &hash, 1) == DONE);
	}
	MUST(journal_restored(&j) == DONE);
	MUST(!journal_is_old(path));
	journal_close(&j, false);
	ledger_close(&l);
	blm_close(f);
	return 0;
}

static void begin_world(void)
{
	FILE *boot;
	char disk[800];

	const struct blm_params params = BLM_PARAMS(.capacity = 1000, .rate = 1e-9,
		.seeds = (const uint64_t[]){ 1 }, .seed_count = 1);
	struct blm_filter *f;

	snprintf(filter_path, sizeof(filter_path), "%s", a_path());
	snprintf(boot_path, sizeof(boot_path), "%s.boot", filter_path);
	ledger_boot = boot_path;
	boot = fopen(boot_path, "w");
	ck_assert(boot && fputs("first", boot) >= 0 && fclose(boot) == 0);
	OK(blm_create(&f, NULL, filter_path, &params));
	blm_close(f);
	with_end(filter_path, ".disk", disk);
	copy_file(filter_path, disk);
}

/* Exactly one copy of each key is kept, and the filter has it. */
static void one_copy_of_each_is_kept(int step, int times)
{
	struct blm_filter *f;
	struct ledger l;
	uint64_t a, b, all = 0;

	OK(blm_open(&f, NULL, filter_path, BLM_OPEN_WRITE));
	ck_assert_int_eq(ledger_open(&l, f), DONE);
	a = kept_of(&l, 0);
	b = kept_of(&l, 1);
	for (int file = 0; file < 2; file++)
		for (int i = 0; i < UNITS; i++) {
			uint64_t key = key_of_unit(file, i);

			all |= UINT64_C(1) << key;
			ck_assert(blm_contains(f, &key, sizeof(key)));
		}
	ck_assert_msg((a & b) == 0, "step %d, time %d: two copies: %llx", step, times,
		      (unsigned long long)(a & b));
	ck_assert_msg((a | b) == all, "step %d, time %d: no copy: %llx", step, times,
		      (unsigned long long)(all & ~(a | b)));
	ledger_close(&l);
	blm_close(f);
}

/* ---- The tests ---- */

static const struct { enum of_file filter, journals; } cut_cases[] = {
	{ NEW, OLD }, { OLD, OLD }, { OLD, NEW }, { NEW, MIXED }, { MIXED, MIXED },
};

static void die_at(int step, int times, int *file)
{
	death.step = step;
	death.times = times;
	join(spawn(do_file, file));
	death.step = 0;
}

static void start_again(int step, int times, uint64_t seed)
{
	int a = 0, b = 1;

	cut_power(cut_cases[seed % 5].filter, cut_cases[seed % 5].journals,
		  1000 * seed + (uint64_t)times);
	ck_assert_int_eq(join(spawn(restore_file, &a)), 0);
	ck_assert_int_eq(join(spawn(restore_file, &b)), 0);
	ck_assert_int_eq(join(spawn(do_file, seed % 2 ? &b : &a)), 0);
	ck_assert_int_eq(join(spawn(do_file, seed % 2 ? &a : &b)), 0);
	one_copy_of_each_is_kept(step, times);
}

/* A process died at that step before, another one at that step, and then the power is cut. */
static void cut_at(int step, int times, int before, uint64_t seed)
{
	int a = 0, b = 1;

	begin_world();
	die_at(before, 1 + times % 3, &b);
	die_at(step, times, &a);
	start_again(step, times, seed);
}

/*
 * The system writes what a process leaves that dies before its decision holds. The next process
 * decides otherwise, for another file was quicker.
 */
static void cut_after_a_decision_that_does_not_hold(int times, uint64_t seed)
{
	char path[700], disk[800];
	int a = 0, b = 1;

	begin_world();
	die_at(5, times, &b);
	journal_path(b, path);
	with_end(path, ".disk", disk);
	copy_file(path, disk);
	ck_assert_int_eq(join(spawn(do_file, &a)), 0);
	die_at(6, 1, &b);
	start_again(6, times, seed);
}

START_TEST(after_a_power_cut_at_any_step_one_copy_stays)
{
	uint64_t seed = 1;

	for (int step = 4; step <= STEPS; step++)
		for (int times = 1; times <= 3; times += 2)
			for (int way = 0; way < 5; way++)
				cut_at(step, times, (int)(seed * 7 % STEPS) + 1, seed), seed++;
}
END_TEST

START_TEST(answers_without_a_decision_are_discarded_after_power_cuts)
{
	for (int times = 1; times <= 6; times++)
		for (uint64_t seed = 0; seed < 10; seed++)
			cut_after_a_decision_that_does_not_hold(times, seed);
}
END_TEST

START_TEST(a_death_at_any_step_keeps_one_copy)
{
	int a = 0, b = 1, deaths = 0;

	for (int step = 1; step <= STEPS; step++)
		for (int times = 1; times <= UNITS / GROUP; times++) {
			int code;

			begin_world();
			death.step = step;
			death.times = times;
			code = join(spawn(do_file, &a));
			death.step = 0;
			ck_assert(code == 0 || code == 1000 + SIGKILL);
			deaths += code != 0;
			/* the other file first, then the rest of this one; and the reverse */
			ck_assert_int_eq(join(spawn(do_file, times % 2 ? &b : &a)), 0);
			ck_assert_int_eq(join(spawn(do_file, times % 2 ? &a : &b)), 0);
			one_copy_of_each_is_kept(step, times);
		}
	/* steps 1 to 3, 10, 11 are reached 3 times, the others 6 times */
	ck_assert_int_eq(deaths, 5 * 3 + 6 * 6);
}
END_TEST

START_TEST(a_process_that_completes_a_decision_may_die_as_well)
{
	int a = 0, b = 1;

	for (int step = 4; step <= 9; step++)
		for (int second = 1; second <= STEPS; second++) {
			begin_world();
			death.step = step;
			death.times = 2;
			ck_assert_int_eq(join(spawn(do_file, &a)), 1000 + SIGKILL);
			death.step = second;
			death.times = 1;
			ck_assert_int_eq(join(spawn(do_file, &b)), 1000 + SIGKILL);
			death.step = 0;
			ck_assert_int_eq(join(spawn(do_file, second % 2 ? &b : &a)), 0);
			ck_assert_int_eq(join(spawn(do_file, second % 2 ? &a : &b)), 0);
			one_copy_of_each_is_kept(step, second);
		}
}
END_TEST

START_TEST(an_output_that_was_deleted_does_not_stop_others)
{
	int a = 0, b = 1;
	char path[700];

	begin_world();
	death.step = 8;
	death.times = 1;
	ck_assert_int_eq(join(spawn(do_file, &a)), 1000 + SIGKILL);
	death.step = 0;
	journal_path(0, path);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(join(spawn(do_file, &b)), 0);
}
END_TEST

/* A process that decided about more units made it longer and died. Another one had it open. */
START_TEST(an_intent_that_became_longer_is_mapped_anew)
{
	enum { LONGER = 1 << 20 };
	struct blm_filter *f;
	struct ledger l;
	char path[700];
	int a = 0, b = 1;
	void *behind;

	begin_world();
	OK(blm_open(&f, NULL, filter_path, BLM_OPEN_WRITE));
	ck_assert_int_eq(ledger_open(&l, f), DONE);
	/* so it cannot grow in its place */
	behind = mmap(l.intent.at + l.intent.bytes, 4096, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	die_at(8, 1, &a);
	snprintf(path, sizeof(path), "%s.claims", filter_path);
	ck_assert_int_eq(truncate(path, LONGER), 0);
	ck_assert_int_eq(ledger_begin(&l, NULL), DONE);
	ck_assert_int_eq(ledger_end(&l, DONE), DONE);
	ck_assert_uint_ge(l.intent.bytes, LONGER);
	if (behind != MAP_FAILED)
		munmap(behind, 4096);
	ledger_close(&l);
	blm_close(f);
	ck_assert_int_eq(join(spawn(do_file, &b)), 0);
	ck_assert_int_eq(join(spawn(do_file, &a)), 0);
	one_copy_of_each_is_kept(8, 1);
}
END_TEST

/* A filter of the same hash, whose keys would be removed where a new one is meant. */
START_TEST(another_filter_at_the_path_inherits_no_keys)
{
	struct blm_filter *f;
	struct ledger l;
	int a = 0;

	begin_world();
	death.step = 8;
	death.times = 1;
	ck_assert_int_eq(join(spawn(do_file, &a)), 1000 + SIGKILL);
	death.step = 0;
	OK(blm_open(&f, NULL, filter_path, BLM_OPEN_WRITE));
	OK(blm_clear(f));
	ck_assert_int_eq(ledger_open(&l, f), DONE);
	ck_assert_int_eq(ledger_begin(&l, NULL), DONE);
	ck_assert_int_eq(ledger_end(&l, DONE), DONE);
	for (int i = 0; i < GROUP; i++) {
		uint64_t key = key_of_unit(0, i);

		ck_assert(!blm_contains(f, &key, sizeof(key)));
	}
	ledger_close(&l);
	blm_close(f);
}
END_TEST

START_TEST(an_intent_with_too_few_hashes_is_refused)
{
	struct blm_filter *f;
	struct ledger l;
	char path[700];
	int a = 0, fd;
	const uint64_t count = 1 << 20, at = 24;	/* in intent_head */

	begin_world();
	die_at(8, 1, &a);
	snprintf(path, sizeof(path), "%s.claims", filter_path);
	fd = open(path, O_RDWR);
	ck_assert_int_eq(pwrite(fd, &count, sizeof(count), at), sizeof(count));
	OK(blm_open(&f, NULL, filter_path, BLM_OPEN_WRITE));
	ck_assert_int_eq(ledger_open(&l, f), DONE);
	ck_assert_int_eq(ledger_begin(&l, NULL), FAILED);
	ck_assert_ptr_nonnull(strstr(said, "is damaged"));
	ck_assert_int_lt(lseek(fd, 0, SEEK_END), 1 << 20);
	close(fd);
	ledger_close(&l);
	blm_close(f);
}
END_TEST

/* ---- Damage ---- */

enum { REFUSED = 3 };

static bool is_refusal(void)
{
	return strstr(said, "is damaged") || strstr(said, "other options")
		|| strstr(said, "another version");
}

/* As a run does it: the keys after a power cut, then the rest of the file. */
static int resume(void *context)
{
	static const uint8_t mark[MARK] = { 1 };
	int file = *(int *)context;
	struct blm_filter *f;
	struct ledger l;
	struct journal j;
	char path[700];
	bool busy;

	journal_path(file, path);
	MUST(blm_open(&f, NULL, filter_path, BLM_OPEN_WRITE) == 0);
	if (ledger_open(&l, f) != DONE || journal_open(&j, &l, path, mark, false, &busy) != DONE) {
		MUST(is_refusal());
		return REFUSED;
	}
	journal_close(&j, false);
	ledger_close(&l);
	blm_close(f);
	return restore_file(context) || do_file(context);
}

/* A process dies at the step, and one byte of a file changes. It is noticed, or changes nothing. */
static void damage_at(int step, int file, off_t at)
{
	static const char *const names[] = { ".file0.journal", ".claims" };
	char path[800];
	uint8_t byte;
	int a = 0, b = 1, fd, code;

	begin_world();
	die_at(step, 3, &a);
	with_end(filter_path, names[file], path);
	fd = open(path, O_RDWR);
	MUST(pread(fd, &byte, 1, at) == 1);
	byte ^= (uint8_t)(1 << at % 8);
	MUST(pwrite(fd, &byte, 1, at) == 1);
	close(fd);
	code = join(spawn(resume, &a));
	if (code == 0)
		code = join(spawn(resume, &b));
	ck_assert_msg(code == 0 || code == REFUSED, "step %d, file %d, byte %lld", step, file,
		      (long long)at);
	if (code == 0)
		one_copy_of_each_is_kept(step, (int)at);
}

START_TEST(a_damaged_journal_is_refused_or_changes_nothing)
{
	enum { HEAD = 96, RECORDS = MAPPED_LEAST, ANSWERS = 3 * GROUP };
	const off_t step = test_scale() < 1 ? 3 : 1;	/* each byte of a number in one of three */

	for (off_t at = 0; at < HEAD; at += step)
		damage_at(at % 2 ? 9 : 8, 0, at);
	for (off_t at = 0; at < 8 * ANSWERS; at += step)
		damage_at(at % 2 ? 9 : 8, 0, RECORDS + at);
}
END_TEST

START_TEST(a_damaged_intent_is_refused_or_changes_nothing)
{
	enum { HEAD = 256, PATH = 120, HASHES = MAPPED_LEAST };
	const off_t step = test_scale() < 1 ? 3 : 1;

	for (off_t at = 0; at < HEAD; at += at < PATH ? step : 7)
		damage_at(8, 1, at);
	for (off_t at = 0; at < 16 * GROUP; at += step)
		damage_at(8, 1, HASHES + at);
}
END_TEST

/* The answers of a synced decision are zeros, also after another boot. */
START_TEST(answers_that_were_on_the_disk_are_not_missing)
{
	const uint64_t none[2 * GROUP] = { 0 };
	char path[700];
	int a = 0, fd;

	for (int boots = 1; boots <= 2; boots++) {
		begin_world();
		die_at(9, 3, &a);
		if (boots == 2)
			cut_power(NEW, NEW, 1);
		journal_path(a, path);
		fd = open(path, O_RDWR);
		ck_assert_int_eq(pwrite(fd, none, sizeof(none), MAPPED_LEAST + 8 * GROUP),
				 sizeof(none));
		close(fd);
		ck_assert_int_eq(join(spawn(resume, &a)), REFUSED);
	}
}
END_TEST

START_TEST(a_journal_without_its_head_is_refused)
{
	const uint8_t none[512] = { 0 };
	char path[700];
	int a = 0, fd;

	begin_world();
	die_at(9, 3, &a);
	journal_path(a, path);
	fd = open(path, O_RDWR);
	ck_assert_int_eq(pwrite(fd, none, sizeof(none), 0), sizeof(none));
	close(fd);
	ck_assert_int_eq(join(spawn(resume, &a)), REFUSED);
}
END_TEST

START_TEST(a_journal_of_the_version_before_is_refused)
{
	static const uint8_t mark[MARK] = { 1 };
	struct blm_filter *f;
	struct journal j;
	struct ledger l;
	char path[700];
	bool busy;
	int a = 0, fd;

	begin_world();
	die_at(9, 3, &a);
	journal_path(a, path);
	fd = open(path, O_RDWR);
	ck_assert_int_eq(pwrite(fd, "blmclm02", 8, 0), 8);
	close(fd);
	OK(blm_open(&f, NULL, filter_path, BLM_OPEN_WRITE));
	ck_assert_int_eq(ledger_open(&l, f), DONE);
	ck_assert_int_eq(journal_open(&j, &l, path, mark, false, &busy), FAILED);
	ck_assert_ptr_nonnull(strstr(said, "another version"));
	ledger_close(&l);
	blm_close(f);
}
END_TEST

/* It is as long as the filter is, so it is there also where each run was finished. */
START_TEST(an_intent_of_the_previous_version_is_accepted_when_decided)
{
	struct blm_filter *f;
	struct ledger l;
	char path[700];
	int a = 0, fd;

	for (int step = 8; step <= 11; step += 3) {	/* `busy` is 1, then 0 */
		begin_world();
		die_at(step, 1, &a);
		snprintf(path, sizeof(path), "%s.claims", filter_path);
		fd = open(path, O_RDWR);
		ck_assert_int_eq(pwrite(fd, "blmint02", 8, 0), 8);
		close(fd);
		OK(blm_open(&f, NULL, filter_path, BLM_OPEN_WRITE));
		ck_assert_int_eq(ledger_open(&l, f), step == 8 ? FAILED : DONE);
		ck_assert(step != 8 || strstr(said, "another version"));
		ledger_close(&l);
		blm_close(f);
	}
	ck_assert_int_eq(join(spawn(do_file, &a)), 0);
	ck_assert_int_eq(join(spawn(do_file, &(int){ 1 })), 0);
	one_copy_of_each_is_kept(11, 1);
}
END_TEST

/* The decision of a journal that was deleted is no decision of the one that is there now. */
START_TEST(another_journal_at_the_path_keeps_its_own_decision)
{
	static const uint8_t other[MARK] = { 2 };
	struct journal j;
	char path[700];
	bool busy;
	int a = 0, b = 1;
	uint64_t commit = 1;

	begin_world();
	death.step = 8;
	death.times = 1;
	ck_assert_int_eq(join(spawn(do_file, &a)), 1000 + SIGKILL);
	death.step = 0;
	journal_path(0, path);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(journal_open(&j, NULL, path, other, false, &busy), DONE);
	memcpy(j.file.at + 8, &commit, sizeof(commit));		/* another filter's */
	ck_assert_int_eq(join(spawn(do_file, &b)), 0);
	ck_assert_int_eq(j.file.at[8], 1);
	journal_close(&j, true);
}
END_TEST

START_TEST(a_journal_of_another_command_is_refused)
{
	static const uint8_t other[MARK] = { 2 };
	struct blm_filter *f;
	struct ledger l;
	struct journal j;
	char path[700];
	bool busy;
	int a = 0;

	begin_world();
	ck_assert_int_eq(join(spawn(do_file, &a)), 0);
	OK(blm_open(&f, NULL, filter_path, BLM_OPEN_WRITE));
	ck_assert_int_eq(ledger_open(&l, f), DONE);
	journal_path(0, path);
	ck_assert_int_eq(journal_open(&j, &l, path, other, false, &busy), FAILED);
	ck_assert_ptr_nonnull(strstr(said, "other options"));
	ledger_close(&l);
	blm_close(f);
}
END_TEST

START_TEST(one_process_uses_a_journal)
{
	static const uint8_t mark[MARK] = { 1 };
	struct journal j, other;
	char path[700];
	bool busy;

	begin_world();
	journal_path(0, path);
	ck_assert_int_eq(journal_open(&j, NULL, path, mark, false, &busy), DONE);
	ck_assert(!busy);
	ck_assert_int_eq(journal_open(&other, NULL, path, mark, false, &busy), DONE);
	ck_assert(busy);
	journal_close(&j, true);
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert_int_eq(journal_open(&other, NULL, path, mark, false, &busy), DONE);
	ck_assert(!busy);
	journal_close(&other, true);
}
END_TEST

START_TEST(another_file_than_a_journal_is_refused_and_left)
{
	static const uint8_t mark[MARK] = { 1 };
	struct blm_filter *f;
	struct journal j;
	struct ledger l;
	char path[700];
	bool busy;
	FILE *file;

	begin_world();
	journal_path(0, path);
	file = fopen(path, "w");
	ck_assert(file && fputs("somebody's\n", file) >= 0 && fclose(file) == 0);
	ck_assert_int_eq(journal_open(&j, NULL, path, mark, false, &busy), FAILED);
	ck_assert_ptr_nonnull(strstr(said, "no file of this program"));
	snprintf(path, sizeof(path), "%s.claims", filter_path);
	ck_assert_int_eq(symlink("elsewhere", path), 0);
	OK(blm_open(&f, NULL, filter_path, BLM_OPEN_WRITE));
	ck_assert_int_eq(ledger_open(&l, f), FAILED);
	ck_assert_ptr_nonnull(strstr(said, ".claims"));
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s;
	TCase *t = tcase_create("ledger");

	prefer_memory();
	s = begin_suite("ledger");
	tcase_add_test(t, a_death_at_any_step_keeps_one_copy);
	tcase_add_test(t, a_process_that_completes_a_decision_may_die_as_well);
	tcase_add_test(t, after_a_power_cut_at_any_step_one_copy_stays);
	tcase_add_test(t, answers_without_a_decision_are_discarded_after_power_cuts);
	tcase_add_test(t, an_output_that_was_deleted_does_not_stop_others);
	tcase_add_test(t, another_filter_at_the_path_inherits_no_keys);
	tcase_add_test(t, an_intent_that_became_longer_is_mapped_anew);
	tcase_add_test(t, an_intent_with_too_few_hashes_is_refused);
	tcase_add_test(t, a_damaged_journal_is_refused_or_changes_nothing);
	tcase_add_test(t, a_damaged_intent_is_refused_or_changes_nothing);
	tcase_add_test(t, answers_that_were_on_the_disk_are_not_missing);
	tcase_add_test(t, a_journal_without_its_head_is_refused);
	tcase_add_test(t, a_journal_of_the_version_before_is_refused);
	tcase_add_test(t, an_intent_of_the_previous_version_is_accepted_when_decided);
	tcase_add_test(t, another_journal_at_the_path_keeps_its_own_decision);
	tcase_add_test(t, a_journal_of_another_command_is_refused);
	tcase_add_test(t, one_process_uses_a_journal);
	tcase_add_test(t, another_file_than_a_journal_is_refused_and_left);
	suite_add_tcase(s, t);
	return run_suite(s);
}
