/* filter.c - files: very large ones, modes, and what is no place for a filter */
#include "handle/handle.h"
#include "suite.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct blm_params small = BLM_PARAMS(.capacity = 1000);

static struct blm_filter *create(const char *path, const struct blm_params *params)
{
	struct blm_filter *f;

	ck_assert_msg(blm_create(&f, NULL, path, params) == 0, "%s", blm_error_message());
	return f;
}

static int files_in(const char *folder)	/* what `ls -A` would show */
{
	char command[700];
	FILE *p;
	int n = -1;

	snprintf(command, sizeof(command), "ls -A '%s' | wc -l", folder);
	p = popen(command, "r");
	ck_assert_int_eq(fscanf(p, "%d", &n), 1);
	pclose(p);
	return n;
}

/* ---- 2^36 bits ---- */

enum { KEYS = 40 };	/* few: some file systems take a megabyte for each page that is touched */

static void add_keys(struct blm_filter *f, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		ck_assert_int_eq(blm_add(f, &i, sizeof(i)), 1);
}

static uint32_t found(const struct blm_filter *f, uint32_t from, uint32_t to)
{
	uint32_t n = 0;

	for (uint32_t i = from; i < to; i++)
		n += blm_contains(f, &i, sizeof(i));
	return n;
}

/* Bits in the file, at cells from `from` on; reads only where it has data. */
static uint64_t ones_from(const struct blm_filter *f, uint64_t from)
{
	const struct blm_view *view = current_view(f);
	uint64_t base = (uint64_t)(view->part[0].bytes - (const uint8_t *)view->image.header)
		      + from / 8,
		 ones = 0;
	off_t data = (off_t)base, hole;

	while ((data = lseek(view->image.fd, data, SEEK_DATA)) >= 0) {
		hole = lseek(view->image.fd, data, SEEK_HOLE);
		for (; data < hole; data++)
			ones += (uint64_t)__builtin_popcount(
				((const uint8_t *)view->image.header)[data]);
	}
	return ones;
}

START_TEST(a_sparse_filter_of_2_to_the_36_bits_works)
{
	const uint64_t cells = UINT64_C(1) << 36, seed = 5;
	struct blm_params p = BLM_PARAMS(.kind = _i ? "blocked" : "classic", .cells = cells,
					 .probes = 7, .capacity = KEYS, .seeds = &seed,
					 .seed_count = 1, .sparse = true);
	char path[600];
	struct blm_filter *a, *b, *either;
	struct blm_estimate e;
	struct blm_comparison c;
	struct stat st;
	uint64_t all, high;

	snprintf(path, sizeof(path), "%s", a_path());
	a = create(path, &p);
	ck_assert_int_eq(blm_template(&b, NULL, a_path(), a, 0), 0);
	add_keys(a, 0, KEYS);
	add_keys(b, KEYS / 2, KEYS + KEYS / 2);
	ck_assert_uint_eq(found(a, 0, KEYS), KEYS);
	ck_assert_uint_eq(found(a, KEYS, 1000), 0);
	all = ones_from(a, 0);
	high = ones_from(a, UINT64_C(1) << 32);
	ck_assert_uint_gt(all, 6 * KEYS);
	ck_assert_double_eq_tol((double)high / (double)all, 15.0 / 16, 0.06);

	ck_assert_int_eq(blm_estimate(a, true, &e), 0);
	ck_assert_double_eq((double)e.fill.value, (double)all / (double)cells);
	ck_assert_uint_eq(e.sampled_bytes, cells / 8);
	ck_assert_double_eq_tol(e.keys.value, _i ? (double)all / 7 : KEYS, _i ? 3 : 0.1);
	ck_assert(!e.saturated);

	ck_assert_msg(blm_combine(&either, NULL, a_path(), BLM_UNION,
				  (const struct blm_filter *[]){ a, b }, 2, 0, NULL)
			      == 0,
		      "%s", blm_error_message());
	ck_assert_uint_eq(found(either, 0, KEYS + KEYS / 2), KEYS + KEYS / 2);
	ck_assert_uint_eq(found(either, 2 * KEYS, 1000), 0);
	ck_assert_int_eq(fstat(current_view(either)->image.fd, &st), 0);
	ck_assert_uint_lt((uint64_t)st.st_blocks * 512, UINT64_C(1) << 31);	/* still sparse */
	if (test_full()) {	/* reads 3 x 8 GiB of zeros */
		ck_assert_int_eq(blm_compare(a, b, &c), 0);
		ck_assert_double_eq_tol(c.common.value, KEYS / 2, 3);
	}
	blm_close(either), blm_close(b), blm_close(a);

	ck_assert_int_eq(blm_open(&a, NULL, path, 0), 0);
	ck_assert_uint_eq(found(a, 0, KEYS), KEYS);
	ck_assert_uint_eq(ones_from(a, 0), all);
	blm_close(a);
}
END_TEST

/* ---- Names that are taken, or no place for a file ---- */

START_TEST(a_name_in_use_keeps_its_filter)
{
	struct blm_filter *f, *again = NULL;
	const char *path = a_path(), *text = a_path();
	char line[8] = "";
	FILE *file = fopen(text, "w");

	fputs("mine", file);
	fclose(file);
	ck_assert_int_eq(blm_create(&again, NULL, text, &small), -EEXIST);
	file = fopen(text, "r");
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
	fclose(file);
	ck_assert_str_eq(line, "mine");

	f = create(path, &small);
	ck_assert_int_eq(blm_add(f, "x", 1), 1);
	ck_assert_int_eq(blm_create(&again, NULL, path, &small), -EEXIST);
	ck_assert_int_eq(blm_copy(&again, NULL, path, f, 0), -EEXIST);
	ck_assert_int_eq(blm_template(&again, NULL, path, f, 0), -EEXIST);
	ck_assert_ptr_null(again);
	ck_assert(blm_contains(f, "x", 1));
	blm_close(f);
}
END_TEST

/* ---- A filter that is there, or a new one ---- */

static int open_or_create(struct blm_params params)
{
	struct blm_filter *f = NULL;
	int r = blm_open_or_create(&f, NULL, "shared.blm", &params);

	if (r >= 0) {
		ck_assert_ptr_nonnull(f);
		ck_assert_int_ge(blm_add(f, "a", 1), 0);
	}
	blm_close(f);
	return r;
}

START_TEST(an_existing_filter_keeps_its_parameters_and_reports_differences)
{
	const char *message = "shared.blm: exists with capacity 1000, rate 0.01, kind blocked; "
		"blm_params.capacity, blm_params.rate, blm_params.kind were not used";
	struct blm_filter *f;

	ck_assert_int_eq(chdir(test_dir), 0);
	ck_assert_int_eq(open_or_create(BLM_PARAMS()), -EINVAL);
	ck_assert_int_eq(open_or_create(BLM_PARAMS(.capacity = 1000, .rate = 0.01)), BLM_CREATED);
	ck_assert_int_eq(open_or_create(BLM_PARAMS(.capacity = 1000)), BLM_OPENED);
	ck_assert_int_eq(open_or_create(BLM_PARAMS()), BLM_OPENED);
	ck_assert_int_eq(open_or_create(BLM_PARAMS(.capacity = 5, .rate = 0.5, .kind = "classic",
						   .replace = true)),
			 BLM_DIFFERS);
	ck_assert_str_eq(blm_error_message(), message);
	ck_assert_int_eq(open_or_create(BLM_PARAMS(.capacity = 5, .rate = 2)), -EINVAL);
	ck_assert_int_eq(blm_open_or_create(&f, NULL, "shared.blm", NULL), -EINVAL);
	OK(blm_open(&f, NULL, "shared.blm", 0));
	ck_assert(blm_contains(f, "a", 1));
	blm_close(f);
	ck_assert_int_eq(blm_open_or_create(&f, NULL, NULL, &small), BLM_CREATED);
	blm_close(f);
	unlink("shared.blm");
}
END_TEST

static int reopen(struct blm_params made, struct blm_params asked)
{
	struct blm_filter *f;
	int r;

	OK(blm_create(&f, NULL, "as.blm", &made));
	blm_close(f);
	r = blm_open_or_create(&f, NULL, "as.blm", &asked);
	blm_close(r < 0 ? NULL : f);
	ck_assert_int_eq(unlink("as.blm"), 0);
	return r;
}

START_TEST(a_filter_opens_with_the_parameters_it_was_made_with)
{
	static const uint64_t seeds[] = { 1, 2, 3 };
	const struct blm_params as[] = {
		BLM_PARAMS(.cells = 1024, .probes = 4, .kind = "blocked"),
		BLM_PARAMS(.capacity = 1000, .rate = 0.03, .kind = "redis-cuckoo"),
		BLM_PARAMS(.cells = 1000, .kind = "bitmap"),
		BLM_PARAMS(.capacity = 1000, .kind = "split-block"),
		BLM_PARAMS(.capacity = 1000, .kind = "window", .options = "slots=4"),
		BLM_PARAMS(.capacity = 1000, .format = "redisbloom", .options = "tightening=0.50"),
		BLM_PARAMS(.capacity = 1000, .rate = 0.001, .kind = "stable",
			   .options = "fade=0,bits=02"),
		BLM_PARAMS(.capacity = 1000, .seeds = seeds, .seed_count = 1),
		BLM_PARAMS(.capacity = 1000, .kind = "blocked", .seeds = seeds, .seed_count = 1,
			   .split_parts = 4, .split_part = 1),
		BLM_PARAMS(.cells = 480, .probes = 3, .kind = "classic", .hash = "mm3_64",
			   .seeds = seeds, .seed_count = 3),
	};

	ck_assert_int_eq(chdir(test_dir), 0);
	for (size_t i = 0; i < ARRAY_LEN(as); i++)
		ck_assert_msg(reopen(as[i], as[i]) == BLM_OPENED, "%zu: %s", i,
			      blm_error_message());
	ck_assert_int_eq(reopen(BLM_PARAMS(.cells = 1000, .kind = "bitmap"),
				BLM_PARAMS(.rate = 0.5)),
			 BLM_OPENED);
	ck_assert_int_eq(reopen(BLM_PARAMS(.capacity = 1000, .kind = "window",
					   .options = "slots=4"),
				BLM_PARAMS(.options = "slots=4")),
			 BLM_OPENED);
	ck_assert_int_eq(reopen(BLM_PARAMS(.capacity = 1000, .kind = "recent",
					   .options = "span=7d"),
				BLM_PARAMS(.options = "tick=0")),
			 BLM_OPENED);
	ck_assert_int_eq(reopen(BLM_PARAMS(.capacity = 10, .hash = "mm3_64"),
				BLM_PARAMS(.hash = "mm3-64")),
			 BLM_OPENED);
}
END_TEST

START_TEST(a_built_filter_opens_with_options_that_are_spelled_differently)
{
	const struct blm_params as = BLM_PARAMS(.capacity = 10, .kind = "golomb",
						.options = "counted=01");
	const struct blm_key key = { "a", 1 };
	struct blm_build *b;
	struct blm_filter *f;

	ck_assert_int_eq(chdir(test_dir), 0);
	OK(blm_build_begin(&b, NULL, "built.blm", &as, NULL));
	OK(blm_build_add_many(b, &key, 1));
	OK(blm_build_finish(b, &f));
	blm_close(f);
	ck_assert_int_eq(blm_open_or_create(&f, NULL, "built.blm", &as), BLM_OPENED);
	blm_close(f);
	ck_assert_int_eq(blm_open_or_create(&f, NULL, "built.blm",
					    &BLM_PARAMS(.options = "counted=0")),
			 BLM_DIFFERS);
	ck_assert_msg(strstr(blm_error_message(), "counted 1"), "%s", blm_error_message());
	blm_close(f);
	ck_assert_int_eq(unlink("built.blm"), 0);
}
END_TEST

START_TEST(each_parameter_that_a_filter_does_not_have_is_named)
{
	static const uint64_t seeds[] = { 1, 2, 3 };
	const struct blm_params part = BLM_PARAMS(.capacity = 1000, .kind = "blocked",
						  .seeds = seeds, .seed_count = 1,
						  .split_parts = 4);
	const struct { struct blm_params made, asked; const char *said;
	} all[] = {
		{ small, BLM_PARAMS(.kind = "-locked"), "kind blocked" },
		{ small, BLM_PARAMS(.kind = "blocked2"), "kind blocked" },
		{ small, BLM_PARAMS(.seeds = seeds, .seed_count = 1), "seed " },
		{ BLM_PARAMS(.capacity = 1000, .hash = "mm3_64", .seeds = seeds, .seed_count = 3),
		  BLM_PARAMS(.hash = "mm3_64", .seeds = seeds, .seed_count = 2),
		  "other seeds, the first 1" },
		{ BLM_PARAMS(.capacity = 1000, .kind = "window", .options = "slots=4"),
		  BLM_PARAMS(.capacity = 1000, .kind = "window", .options = "slots=16"),
		  "slots 4" },
		{ BLM_PARAMS(.capacity = 1000, .kind = "window", .options = "slots=4"),
		  BLM_PARAMS(.options = "slots=16"), "slots 4" },
		{ small, BLM_PARAMS(.options = "slots=4"), "slots none" },
		{ small, BLM_PARAMS(.options = "nothing=1"), "nothing none" },
		/* a slot lasts at least a millisecond */
		{ BLM_PARAMS(.capacity = 1000, .kind = "window", .options = "span=1h"),
		  BLM_PARAMS(.options = "span=0.001"), "span 3600" },
		{ BLM_PARAMS(.capacity = 1000, .kind = "window", .options = "span=1h"),
		  BLM_PARAMS(.kind = "stable", .options = "span=60m"), "exists with kind window;" },
		{ BLM_PARAMS(.capacity = 1000, .kind = "window", .options = "span=1h"),
		  BLM_PARAMS(.hash = "mm3_64", .seeds = seeds, .seed_count = 2,
			     .options = "span=60m"), "exists with hash xxh3, seed" },
		{ small, BLM_PARAMS(.capacity = 1000, .kind = "window", .options = "slots=4"),
		  "slots none" },
		{ small, BLM_PARAMS(.split_parts = 4), "part none" },
		{ part, BLM_PARAMS(.split_parts = 4, .split_part = 3), "part 1 of 4" },
		{ part, BLM_PARAMS(.split_parts = 2), "part 1 of 4" },
	};

	ck_assert_int_eq(chdir(test_dir), 0);
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		ck_assert_msg(reopen(all[i].made, all[i].asked) == BLM_DIFFERS, "%zu: %s", i,
			      blm_error_message());
		ck_assert_msg(strstr(blm_error_message(), all[i].said), "%zu: %s", i,
			      blm_error_message());
	}
}
END_TEST

START_TEST(a_dangling_links_target_is_not_created)
{
	struct blm_filter *f = NULL;
	const char *link = a_path(), *target = a_path();

	ck_assert_int_eq(symlink(target, link), 0);
	ck_assert_int_eq(blm_create(&f, NULL, link, &small), -EEXIST);
	ck_assert_int_eq(access(target, F_OK), -1);
	ck_assert_int_eq(blm_open(&f, NULL, link, 0), -ENOENT);
	ck_assert_ptr_null(f);
}
END_TEST

START_TEST(one_of_twenty_racing_creators_makes_the_file)
{
	const char *path = a_path();
	int made = 0, status;

	for (int i = 0; i < 20; i++)
		if (fork() == 0) {
			struct blm_filter *f;
			int r = blm_create(&f, NULL, path, &small);

			_exit(r == 0 ? 1 : r == -EEXIST ? 0 : 2);
		}
	for (int i = 0; i < 20; i++) {
		ck_assert_int_gt(wait(&status), 0);
		ck_assert(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
		made += WEXITSTATUS(status);
	}
	ck_assert_int_eq(made, 1);
}
END_TEST

START_TEST(a_special_file_is_refused_at_once)
{
	const char *fifo = a_path();
	const char *const others[] = { test_dir, "/dev/null",	   "/dev/zero",
				       "/",	 "/proc/self/mem", fifo };
	struct blm_filter *f = NULL;
	double begun = seconds();

	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		for (int write = 0; write < 2; write++) {
			ck_assert_msg(blm_open(&f, NULL, others[i], write ? BLM_OPEN_WRITE : 0) < 0,
				      "%s", others[i]);
			ck_assert_uint_gt(strlen(blm_error_message()), 10);
		}
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		ck_assert_int_lt(blm_create(&f, NULL, others[i], &small), 0);
	ck_assert_int_eq(blm_open(&f, NULL, "/nowhere/at/all", 0), -ENOENT);
	ck_assert_int_eq(blm_create(&f, NULL, "/nowhere/at/all", &small), -ENOENT);
	ck_assert_int_lt(blm_create(&f, NULL, "", &small), 0);
	ck_assert_int_lt(blm_open(&f, NULL, "", 0), 0);
	ck_assert_ptr_null(f);
	ck_assert_double_lt(seconds() - begun, TOO_LONG);
}
END_TEST

START_TEST(empty_short_and_foreign_files_do_not_open)
{
	static const char *const contents[] = { "", "B", "BLOOMERY",
						"#!/bin/sh\necho this is a script\n" };

	for (size_t i = 0; i < ARRAY_LEN(contents); i++) {
		struct blm_filter *f = NULL;
		const char *path = a_path();
		FILE *file = fopen(path, "w");
		int r;

		fputs(contents[i], file);
		fclose(file);
		r = blm_open(&f, NULL, path, BLM_OPEN_WRITE);
		ck_assert_msg(r == -EBADMSG || r == -ENODATA, "\"%s\": %d", contents[i], r);
		ck_assert_ptr_null(f);
	}
}
END_TEST

/* ---- Modes ---- */

START_TEST(an_exchange_of_an_impossible_size_is_refused)
{
	struct blm_exchange how = BLM_EXCHANGE();
	struct blm_filter *f;

	how.size = 1;
	FAILS(blm_open_foreign(&f, "x", &how), -EINVAL);
}
END_TEST

START_TEST(flags_that_are_unknown_are_refused)
{
	const char *path = a_path();
	struct blm_filter *f;

	OK(blm_create(NULL, NULL, path, &BLM_PARAMS(.capacity = 100)));
	for (unsigned flags = 2; flags; flags <<= 1) {
		bool is_known = flags == BLM_OPEN_EXCLUSIVE;

		FAILS(blm_open(&f, NULL, path, flags << is_known), -EINVAL);
		FAILS(blm_open(&f, NULL, path, flags << is_known | BLM_OPEN_WRITE), -EINVAL);
		FAILS(blm_verify(NULL, path, flags, NULL, NULL), -EINVAL);
	}
}
END_TEST

START_TEST(a_given_mode_is_exact_and_otherwise_the_umask_rules)
{
	static const unsigned masks[] = { 0, 022, 027, 077, 0777 },
			      modes[] = { 0, 0600, 0640, 0644, 0660, 0666, 0400, 0444 };

	for (size_t u = 0; u < ARRAY_LEN(masks); u++)
		for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
			struct blm_params p = BLM_PARAMS(.capacity = 1000, .mode = modes[m]);
			const char *path = a_path(), *twin = a_path();
			mode_t before = umask(masks[u]);
			struct blm_filter *f = create(path, &p), *t;
			struct stat st;

			ck_assert_int_eq(blm_template(&t, NULL, twin, f, modes[m]), 0);
			umask(before);
			ck_assert_int_eq(stat(path, &st), 0);
			ck_assert_uint_eq(st.st_mode & 07777,
					  modes[m] ? modes[m] : 0644 & ~masks[u]);
			ck_assert_int_eq(stat(twin, &st), 0);
			ck_assert_uint_eq(st.st_mode & 07777,
					  modes[m] ? modes[m] : 0644 & ~masks[u]);
			blm_close(f), blm_close(t);
		}
}
END_TEST

START_TEST(an_intersection_in_place_keeps_the_mode)
{
	const char *path = a_path();
	struct blm_filter *f = create(path, &BLM_PARAMS(.capacity = 1000, .mode = 0640)), *t;
	mode_t before = umask(077);
	struct stat st;

	ck_assert_int_eq(blm_template(&t, NULL, a_path(), f, 0), 0);
	ck_assert_int_eq(blm_combine_into(f, BLM_INTERSECT, (const struct blm_filter *[]){ t }, 1,
					  0, NULL),
			 0);
	umask(before);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0640);
	blm_close(f), blm_close(t);
}
END_TEST

START_TEST(a_secret_is_readable_by_its_owner_only)
{
	static const uint8_t secret[BLM_SECRET_BYTES] = "sixteen bytes .";
	char key[700];
	const char *path = a_path();
	mode_t before = umask(0);
	struct blm_filter *f = create(path, &BLM_PARAMS(.capacity = 1000, .hash = "siphash",
							.secret = secret)),
			  *again = NULL;
	struct stat st;
	const struct blm_view *view = current_view(f);

	umask(before);
	snprintf(key, sizeof(key), "%s.key", path);
	ck_assert_int_eq(stat(key, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert_ptr_null(memmem(view->image.header, view->image.bytes, secret, 8));
	ck_assert_int_eq(blm_add(f, "x", 1), 1);
	ck_assert_int_eq(unlink(key), 0);
	ck_assert_int_eq(blm_open(&again, NULL, path, 0), -ENOKEY);
	ck_assert_int_eq(blm_open_keyed(&again, NULL, path, 0, (const uint8_t *)"another's secret"),
			 -ENOKEY);
	ck_assert_int_eq(blm_open_keyed(&again, NULL, path, 0, secret), 0);
	ck_assert(blm_contains(again, "x", 1));
	blm_close(f), blm_close(again);
}
END_TEST

/* Made while another of the same secret got the name, and lost the file of that secret. */
START_TEST(an_unneeded_secret_of_a_path_stays_in_place)
{
	static const uint8_t secret[BLM_SECRET_BYTES] = "sixteen bytes .";
	const struct blm_params params = BLM_PARAMS(.capacity = 1000, .hash = "siphash",
						    .secret = secret);
	char key[700];
	const char *path = a_path();
	struct blm_filter *f, *again = NULL;
	struct blm_build *b;

	OK(blm_build_begin(&b, NULL, path, &params, NULL));
	f = create(path, &params);
	ck_assert_int_eq(blm_add(f, "x", 1), 1);
	snprintf(key, sizeof(key), "%s.key", path);
	ck_assert_int_eq(unlink(key), 0);
	FAILS(blm_build_finish(b, NULL), -EEXIST);
	OK(blm_open(&again, NULL, path, 0));
	ck_assert(blm_contains(again, "x", 1));
	blm_close(f), blm_close(again);
}
END_TEST

/* ---- No room ---- */

static void in_a_child(void (*body)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		body();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status), "killed by signal %d", WTERMSIG(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}

static char folder[600];

static void create_too_large(void)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };
	struct blm_filter *f;
	struct blm_params p = BLM_PARAMS(.cells = 1 << 24, .probes = 5);
	char path[700];

	setrlimit(RLIMIT_FSIZE, &limit);
	snprintf(path, sizeof(path), "%s/f", folder);
	for (int sparse = 0; sparse < 2; sparse++) {
		p.sparse = sparse;
		if (blm_create(&f, NULL, path, &p) != -EFBIG)
			_exit(1 + sparse);
	}
	p.cells = 1 << 12;
	if (blm_create(&f, NULL, path, &p) != 0)
		_exit(3);
}

START_TEST(creation_past_the_file_size_limit_fails_and_leaves_nothing)
{
	snprintf(folder, sizeof(folder), "%s", a_path());
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	in_a_child(create_too_large);
	ck_assert_int_eq(files_in(folder), 1);		/* the small one */
}
END_TEST

START_TEST(on_a_full_disk_creating_fails_and_leaves_nothing)
{
	struct blm_params p = BLM_PARAMS(.cells = 1 << 24, .probes = 5);
	struct blm_filter *f = NULL, *small_one;
	char path[700];

	snprintf(folder, sizeof(folder), "%s", a_path());
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	if (mount("none", folder, "tmpfs", 0, "size=1m") < 0)
		SKIP("only root may mount");
	snprintf(path, sizeof(path), "%s/f", folder);
	ck_assert_int_eq(blm_create(&f, NULL, path, &p), -ENOSPC);
	ck_assert_int_eq(files_in(folder), 0);
	p.cells = 1 << 21;
	small_one = create(path, &p);			/* a quarter of it */
	snprintf(path, sizeof(path), "%s/g", folder);
	p.cells = 3 << 21;
	ck_assert_int_eq(blm_create(&f, NULL, path, &p), -ENOSPC);
	ck_assert_int_eq(files_in(folder), 1);
	ck_assert_int_eq(blm_add(small_one, "x", 1), 1);
	blm_close(small_one);
	ck_assert_int_eq(umount(folder), 0);
}
END_TEST

/* ---- A filter that is full ---- */

static int claims_left;

static int claim_while_there_is_space(struct blm_part *part, const struct blm_hashed *key)
{
	return claims_left-- > 0 ? 1 : -EXFULL;
}

START_TEST(a_failed_batch_of_claims_says_which_were_won)
{
	struct blm_filter *f = create(NULL, &small);
	struct blm_view *view = atomic_load(&f->view);
	struct blm_kind small_kind = *view->root.kind;
	struct blm_key keys[1000];
	uint64_t bits[16], claimed = 0, counted;
	char words[48];

	small_kind.claim_many = NULL;
	small_kind.claim = claim_while_there_is_space;
	view->root.kind = &small_kind;
	claims_left = _i;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		keys[i] = (struct blm_key){ &keys[i], i % 8 };
	memset(bits, 0xff, sizeof(bits));
	ck_assert_int_eq((int)blm_claim_many(f, keys, ARRAY_LEN(keys), bits), -EXFULL);
	for (int i = 0; i < 1024; i++) {
		ck_assert_int_eq((int)(bits[i / 64] >> i % 64 & 1), i < _i);
		claimed += bits[i / 64] >> i % 64 & 1;
	}
	snprintf(words, sizeof(words), "is full: %d keys are in it", _i);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), words));
	OK(blm_count(f, &counted, NULL));
	ck_assert_uint_eq(counted, claimed);
	ck_assert_int_eq((int)blm_claim_many(f, keys, 1, bits), -EXFULL);
	ck_assert_uint_eq(bits[0], 0);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("filter");
	TCase *tc = tcase_create("large"), *names = tcase_create("names"),
	      *modes = tcase_create("modes"), *full_disk = tcase_create("full disk");

	tcase_add_loop_test(tc, a_sparse_filter_of_2_to_the_36_bits_works, 0,
			    2);
	tcase_add_test(names, a_name_in_use_keeps_its_filter);
	tcase_add_test(names, an_existing_filter_keeps_its_parameters_and_reports_differences);
	tcase_add_test(names, a_filter_opens_with_the_parameters_it_was_made_with);
	tcase_add_test(names, a_built_filter_opens_with_options_that_are_spelled_differently);
	tcase_add_test(names, each_parameter_that_a_filter_does_not_have_is_named);
	tcase_add_test(names, a_dangling_links_target_is_not_created);
	tcase_add_test(names, one_of_twenty_racing_creators_makes_the_file);
	tcase_add_test(names, a_special_file_is_refused_at_once);
	tcase_add_test(names, empty_short_and_foreign_files_do_not_open);
	tcase_add_test(names, an_exchange_of_an_impossible_size_is_refused);
	tcase_add_test(names, flags_that_are_unknown_are_refused);
	tcase_add_test(modes, a_given_mode_is_exact_and_otherwise_the_umask_rules);
	tcase_add_test(modes, an_intersection_in_place_keeps_the_mode);
	tcase_add_test(modes, a_secret_is_readable_by_its_owner_only);
	tcase_add_test(modes,
		       an_unneeded_secret_of_a_path_stays_in_place);
	tcase_add_test(
		full_disk,
		creation_past_the_file_size_limit_fails_and_leaves_nothing);
	tcase_add_test(full_disk, on_a_full_disk_creating_fails_and_leaves_nothing);
	tcase_add_loop_test(names,
			    a_failed_batch_of_claims_says_which_were_won, 0,
			    300);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, names);
	suite_add_tcase(s, modes);
	suite_add_tcase(s, full_disk);
	return run_suite(s);
}
