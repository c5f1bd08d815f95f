/*
 * files.c - files, sizes, names and rights that a filter should not have, and the answers to them
 */
#include "suite.h"
#include "../info.h"

#include "file/mapping.h"
#include "handle/handle.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

enum { KEYS = 200 };

static void fill(const char *path, const struct blm_params *params)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, path, params));
	for (int i = 0; i < KEYS; i++)
		OK(blm_add(f, &i, sizeof(i)));
	OK(blm_sync(f));
	blm_close(f);
}

static bool all_there(const struct blm_filter *f)
{
	for (int i = 0; i < KEYS; i++)
		if (!blm_contains(f, &i, sizeof(i)))
			return false;
	return true;
}

static void is_refused(const char *path, int err)
{
	struct blm_filter *f;

	for (int write = 0; write < 2; write++) {
		FAILS(blm_open(&f, NULL, path, write ? BLM_OPEN_WRITE : 0), err);
		ck_assert_ptr_nonnull(strstr(blm_error_message(), path));
	}
}

/* ---- Files ---- */

START_TEST(a_header_on_another_filters_data_is_refused)
{
	size_t bytes, other_bytes;
	uint8_t *a, *b;

	fill("a.blm", &BLM_PARAMS(.capacity = KEYS, .rate = 0.01));
	fill("b.blm", &BLM_PARAMS(.capacity = KEYS, .rate = 0.01));
	a = read_all("a.blm", &bytes);
	b = read_all("b.blm", &other_bytes);
	ck_assert_uint_eq(bytes, other_bytes);
	memcpy(b, a, BLM_PAGE);
	write_all("mixed.blm", b, bytes);
	is_refused("mixed.blm", -EBADMSG);
	free(a);
	free(b);
}
END_TEST

START_TEST(a_header_in_the_other_order_of_bytes_is_refused)
{
	uint64_t words[(BLM_HEADER_BYTES + BLM_PAGE) / 8] = { 0 };
	size_t bytes;
	uint8_t *a;

	fill("a.blm", &BLM_PARAMS(.capacity = KEYS, .rate = 0.01));
	a = read_all("a.blm", &bytes);
	memcpy(words, a, bytes < sizeof(words) ? bytes : sizeof(words));
	for (size_t i = 1; i < BLM_PAGE / 8; i++)
		words[i] = __builtin_bswap64(words[i]);
	write_all("swapped.blm", words, sizeof(words));
	is_refused("swapped.blm", -EPROTONOSUPPORT);
	words[0] = __builtin_bswap64(words[0]);
	write_all("swapped.blm", words, sizeof(words));
	is_refused("swapped.blm", -EBADMSG);
	free(a);
}
END_TEST

/* How files begin that are of other programs, and of no format that is known here. */
START_TEST(the_files_of_other_programs_are_refused)
{
	static const struct { const char *bytes; size_t count;
	} others[] = {
		{ "\xcb\x1c\xad\xde\x03\0\0\0", 8 },
		{ "CBLOOM\0", 7 },
		{ "SQLite format 3\0", 16 },
		{ "\x1f\x8b\x08", 3 },
		{ "\x28\xb5\x2f\xfd", 4 },
		{ "PK\3\4", 4 },
		{ "REDIS0011", 9 },
		{ "%PDF-1.7", 8 },
	};
	char file[BLM_HEADER_BYTES * 2] = { 0 };

	memcpy(file, others[_i].bytes, others[_i].count);
	write_all("other", file, sizeof(file));
	is_refused("other", -EBADMSG);
	write_all("short", file, 512);
	is_refused("short", -EBADMSG);
}
END_TEST

static int count_found(const char *path, bool repair)
{
	int64_t r = blm_verify(NULL, path, repair ? BLM_VERIFY_REPAIR : 0, NULL, NULL);

	ck_assert_msg(r >= 0, "%d: %s", (int)r, blm_error_message());
	return (int)r;
}

static void change_bytes(const char *path, off_t at, size_t count, uint8_t flip, bool zero)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t bytes[512] = { 0 };

	if (!zero) {
		ck_assert_int_eq((int)pread(fd, bytes, count, at), (int)count);
		bytes[0] ^= flip;
	}
	ck_assert_int_eq((int)pwrite(fd, bytes, count, at), (int)count);
	close(fd);
}

/* It names the block, of a filter of one part that ends where the file does. */
struct flipped {
	uint64_t block;
	unsigned named, others;
};

static void look_for_block(void *context, const struct blm_finding *found)
{
	struct flipped *flipped = context;
	char words[80];

	snprintf(words, sizeof(words), "part 0, block %llu, bytes ",
		 (unsigned long long)flipped->block);
	*(strstr(found->what, words) ? &flipped->named : &flipped->others) += 1;
}

START_TEST(each_of_1000_flipped_bits_is_found_when_sealed)
{
	struct blm_filter *f;
	struct stat st;

	fill("a.blm", &BLM_PARAMS(.kind = "classic", .cells = 1 << 20, .probes = 7));
	OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
	OK(blm_seal(f));
	blm_close(f);
	ck_assert_int_eq(stat("a.blm", &st), 0);
	ck_assert_int_eq(count_found("a.blm", false), 0);
	srandom(5);
	for (int i = 0; i < 1000; i++) {
		off_t at = st.st_size - (1 << 17) + random() % (1 << 17);
		uint8_t bit = (uint8_t)(1 << random() % 8);
		struct flipped flipped = { .block = (uint64_t)(at - (st.st_size - (1 << 17)))
						  / BLM_BLOCK };

		change_bytes("a.blm", at, 1, bit, false);
		ck_assert_int_eq(blm_verify(NULL, "a.blm", 0, look_for_block, &flipped), 1);
		ck_assert_msg(flipped.named == 1 && flipped.others == 0,
			      "block %llu was named %u times, others %u",
			      (unsigned long long)flipped.block, flipped.named, flipped.others);
		if (i % 250 == 0) {
			/* the block is all ones now: no key is denied */
			ck_assert_int_eq(count_found("a.blm", true), 0);
			OK(blm_open(&f, NULL, "a.blm", 0));
			ck_assert(all_there(f));
			blm_close(f);
			unlink("a.blm");
			fill("a.blm",
			     &BLM_PARAMS(.kind = "classic", .cells = 1 << 20, .probes = 7));
			OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
			OK(blm_seal(f));
			blm_close(f);
			ck_assert_int_eq(stat("a.blm", &st), 0);
		} else {
			change_bytes("a.blm", at, 1, bit, false);
		}
	}
}
END_TEST

/* Its halves change places: as many bits as before, but others. */
static void swap_halves(const char *path, off_t at)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t half[2][256];

	ck_assert_int_eq((int)pread(fd, half, sizeof(half), at), (int)sizeof(half));
	ck_assert_mem_ne(half[0], half[1], sizeof(half[0]));
	ck_assert_int_eq((int)pwrite(fd, half[1], sizeof(half[1]), at), (int)sizeof(half[1]));
	ck_assert_int_eq((int)pwrite(fd, half[0], sizeof(half[0]), at + (off_t)sizeof(half[0])),
			 (int)sizeof(half[0]));
	close(fd);
}

/* _i: of zeros, or of another order */
START_TEST(a_zeroed_sector_is_found_and_its_keys_are_kept)
{
	struct blm_filter *f;
	struct stat st;

	fill("a.blm", &BLM_PARAMS(.kind = "blocked", .cells = 1 << 14, .probes = 7));
	ck_assert_int_eq(stat("a.blm", &st), 0);
	if (_i)
		swap_halves("a.blm", st.st_size - 1024);
	else
		change_bytes("a.blm", st.st_size - 1024, 512, 0, true);
	ck_assert_int_eq(count_found("a.blm", false), 1);
	ck_assert_int_eq(count_found("a.blm", true), 0);
	OK(blm_open(&f, NULL, "a.blm", 0));
	ck_assert(all_there(f));
	blm_close(f);
}
END_TEST

/* ---- Sizes ---- */

START_TEST(every_small_number_of_cells_makes_a_correct_filter)
{
	for (uint64_t cells = 1; cells <= 130; cells++)
		for (uint32_t probes = 1; probes <= 256; probes += 51) {
			struct blm_filter *f;

			OK(blm_create(&f, NULL, "a.blm",
				      &BLM_PARAMS(.kind = "classic", .cells = cells,
						  .probes = probes)));
			OK(blm_add(f, "key", 3));
			ck_assert(blm_contains(f, "key", 3));
			OK(blm_sync(f));
			blm_close(f);
			ck_assert_int_eq(blm_verify(NULL, "a.blm", 0, NULL, NULL), 0);
			unlink("a.blm");
		}
}
END_TEST

START_TEST(sizes_around_512_mib_keep_keys_and_combine)
{
	static const uint64_t cells[] = { (UINT64_C(1) << 32) - 64, UINT64_C(1) << 32,
					  (UINT64_C(1) << 32) + 64, UINT64_C(1) << 33,
					  UINT64_C(1) << 35 };
	struct blm_params params = BLM_PARAMS(.kind = "classic", .cells = cells[_i], .probes = 3,
					      .sparse = true, .seeds = &cells[0], .seed_count = 1);
	const uint64_t last = cells[_i] / 8 - 8, top = UINT64_C(1) << 63;
	struct blm_filter *f, *g;
	struct blm_estimate e;
	uint64_t word = 0;

	fill("a.blm", &params);
	OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
	ck_assert(all_there(f));
	OK(blm_create(&g, NULL, "b.blm", &params));
	OK(blm_add(g, "other", 5));
	OK(blm_data_unite(g, last, &top, 8));	/* the last cell of all */
	OK(blm_combine_into(f, BLM_UNION, (const struct blm_filter *const[]){ g }, 1, 0, NULL));
	blm_close(f);
	blm_close(g);
	OK(blm_open(&f, NULL, "a.blm", 0));
	ck_assert(all_there(f) && blm_contains(f, "other", 5));
	OK(blm_data_read(f, last, &word, 8));
	ck_assert_uint_eq(word & top, top);
	OK(blm_estimate(f, true, &e));
	ck_assert_uint_ge(e.ones, 3 * KEYS);
	ck_assert_uint_le(e.ones, 3 * KEYS + 4);
	blm_close(f);
}
END_TEST

START_TEST(a_rate_that_is_too_small_is_refused_at_creation)
{
	static const double rates[] = { 1e-300, 1e-100, 5e-324, 1, 1.5, -0.1 };
	struct blm_filter *f;
	struct blm_plan plan;
	int r = blm_create(&f, NULL, "a.blm", &BLM_PARAMS(.capacity = 1000, .rate = rates[_i]));

	ck_assert_msg(r == -EINVAL || r == -EFBIG, "%g: %d", rates[_i], r);
	ck_assert_int_eq(access("a.blm", F_OK), -1);
	OK(blm_plan(&plan, &BLM_PARAMS(.capacity = 1000, .rate = 1e-15)));
	ck_assert_double_le(plan.predicted_rate, 1e-15);
	ck_assert_uint_le(plan.probes, BLM_PROBES_MAX);
}
END_TEST

static int make_under_limit(int unused)
{
	struct rlimit limit = { 512 << 20, 512 << 20 };
	struct blm_filter *f;
	int r;

	MUST(setrlimit(RLIMIT_AS, &limit) == 0);
	r = blm_create(&f, NULL, "a.blm",
		       &BLM_PARAMS(.kind = "classic", .cells = UINT64_C(1) << 34, .probes = 3,
				   .sparse = true));
	MUST(r == -ENOMEM && access("a.blm", F_OK) < 0);
	MUST(blm_create(&f, NULL, "b.blm", &BLM_PARAMS(.capacity = 100)) == 0
	     && blm_add(f, "key", 3) == 1);
	return 0;
}

START_TEST(a_filter_larger_than_the_address_space_leaves_nothing)
{
	if (SANITIZED)
		SKIP("sanitizers take all addresses for themselves");
	ck_assert_int_eq(run_apart(make_under_limit, 0), 0);
}
END_TEST

START_TEST(keys_may_have_any_length)
{
	static const size_t lengths[] = { 0,
					  1,
					  7,
					  8,
					  15,
					  16,
					  17,
					  128,
					  129,
					  240,
					  241,
					  1 << 16,
					  (size_t)1 << 24,
					  ((size_t)1 << 31) + 1 };
	static const char *const hashes[] = { "xxh3", "siphash", "mm3_64", "murmur3-bip37" };
	size_t most = lengths[ARRAY_LEN(lengths) - 1];
	uint8_t *zeros = mmap(NULL, most, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			      -1, 0);
	struct blm_filter *f;

	ck_assert(zeros != MAP_FAILED);
	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.kind = _i < 2 ? "blocked" : "classic", .hash = hashes[_i],
				  .capacity = 100, .rate = 1e-6)));
	/* the longest once: it takes a second */
	for (size_t i = 0; i < ARRAY_LEN(lengths) - (_i != 0); i++) {
		ck_assert(!blm_contains(f, zeros, lengths[i]));
		ck_assert_int_eq(blm_add(f, zeros, lengths[i]), 1);
		ck_assert(blm_contains(f, zeros, lengths[i]));
	}
	blm_close(f);
	munmap(zeros, most);
}
END_TEST

/* ---- Names and rights ---- */

START_TEST(a_special_file_in_a_stores_folder_is_not_followed)
{
	static const char *const what[] = { "link",   "dangling link", "fifo",
					    "socket", "folder",	       "link to a folder" };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;
	char path[512];
	struct stat before, after;
	int fd;

	make_with(store, "a", "key");
	fill("outside.blm", &BLM_PARAMS(.capacity = KEYS, .rate = 0.01));
	path_of(store, "a", path);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkdir("folder", 0755), 0);
	switch (_i) {
	case 0: ck_assert_int_eq(symlink("../../outside.blm", path), 0); break;
	case 1: ck_assert_int_eq(symlink("../../nothing", path), 0); break;
	case 2: ck_assert_int_eq(mkfifo(path, 0644), 0); break;
	case 3:
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		snprintf(at.sun_path, sizeof(at.sun_path), "%.100s", path);
		ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
		break;
	case 4: ck_assert_int_eq(mkdir(path, 0755), 0); break;
	default: ck_assert_int_eq(symlink("../../folder", path), 0);
	}
	ck_assert_int_eq(stat("outside.blm", &before), 0);
	alarm(TOO_LONG);
	for (int write = 0; write < 2; write++) {
		int r = blm_open(&f, store, "a", write ? BLM_OPEN_WRITE : 0);

		ck_assert_msg(r < 0, "%s: opened", what[_i]);
	}
	ck_assert_int_ge((int)blm_store_verify("s", 0, NULL, NULL), 1);
	ck_assert_int_ge((int)blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	alarm(0);
	ck_assert_int_eq(stat("outside.blm", &after), 0);
	ck_assert_int_eq(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	ck_assert_int_eq(access("nothing", F_OK), -1);
	blm_store_close(store);
}
END_TEST

START_TEST(a_hard_linked_file_is_one_filter_until_a_replacement)
{
	struct blm_filter *a, *b;

	fill("a.blm", &BLM_PARAMS(.capacity = KEYS, .rate = 0.01));
	ck_assert_int_eq(link("a.blm", "b.blm"), 0);
	OK(blm_open(&a, NULL, "a.blm", BLM_OPEN_WRITE));
	OK(blm_open(&b, NULL, "b.blm", BLM_OPEN_WRITE));
	OK(blm_add(a, "through a", 9));
	ck_assert(has(b, "through a"));
	OK(blm_add(b, "through b", 9));
	ck_assert(has(a, "through b"));
	OK(blm_clear(a));
	ck_assert(!has(a, "through a"));
	OK(blm_add(b, "later", 5));
	blm_close(b);
	OK(blm_open(&b, NULL, "b.blm", BLM_OPEN_WRITE));
	ck_assert(has(b, "through a") && has(b, "through b") && has(b, "later") && all_there(b));
	OK(blm_add(b, "again", 5));
	blm_close(a);
	blm_close(b);
}
END_TEST

START_TEST(a_path_can_be_as_long_as_the_system_allows)
{
	char path[BLM_PATH_MAX + 600], name[300];
	struct blm_filter *f;
	int r;

	memset(name, 'n', sizeof(name));
	for (size_t len = 250; len <= 256; len++) {
		name[len] = '\0';
		snprintf(path, sizeof(path), "./%s", name);
		r = blm_create(&f, NULL, path, &BLM_PARAMS(.capacity = 10));
		ck_assert_msg(len <= 255 ? r == 0 : r == -ENAMETOOLONG, "%d bytes: %d, %s",
			      (int)len, r, blm_error_message());
		if (r == 0)
			blm_close(f);
		name[len] = 'n';
	}
	strcpy(path, ".");
	while (strlen(path) < BLM_PATH_MAX + 500)
		strcat(path, "/.");
	r = blm_create(&f, NULL, path, &BLM_PARAMS(.capacity = 10));
	ck_assert_int_lt(r, 0);
	ck_assert_int_lt(blm_open(&f, NULL, path, 0), 0);
}
END_TEST

static int open_keyed_without_its_key(int in_store)
{
	struct blm_store *store = NULL;
	struct blm_filter *f;
	int r;

	if (setgid(65534) < 0 || setuid(65534) < 0)
		return 77;
	if (in_store)
		MUST(blm_store_open(&store, "s", BLM_STORE_READ) == 0);
	r = blm_open(&f, store, in_store ? "a" : "a.blm", 0);
	MUST(r == -ENOKEY || r == -EACCES);
	MUST(*blm_error_message());
	return 0;
}

START_TEST(an_unreadable_secret_is_an_error_and_no_key_serves)
{
	struct blm_store *store = NULL;
	struct blm_filter *f;
	int r;

	if (cannot_become(65534, 65534))
		SKIP(cannot_become(65534, 65534));
	if (_i)
		store = open_store(BLM_STORE_CREATE);
	OK(blm_create(&f, store, _i ? "a" : "a.blm",
		      &BLM_PARAMS(.capacity = 10, .hash = "siphash")));
	OK(blm_add(f, "key", 3));
	blm_close(f);
	blm_store_close(store);
	r = run_apart(open_keyed_without_its_key, _i);
	if (r == 77)
		SKIP("nobody can be somebody else here");
	ck_assert_int_eq(r, 0);
}
END_TEST

/*
 * Is the memory at this address kept out of core dumps? By its "dd" among the flags of
 * /proc/self/smaps.
 */
static bool left_out_of_dumps(const void *at)
{
	FILE *in = fopen("/proc/self/smaps", "re");
	unsigned long from, to;
	bool here = false, out = false;
	char line[512];

	ck_assert_ptr_nonnull(in);
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = (uintptr_t)at >= from && (uintptr_t)at < to;
		else if (here && !strncmp(line, "VmFlags:", 8))
			out = strstr(line, " dd") != NULL;
	}
	fclose(in);
	return out;
}

START_TEST(a_secret_is_kept_out_of_core_dumps_and_messages)
{
	static const uint8_t secret[BLM_SECRET_BYTES] = "not to be shown!";
	struct blm_info *info = info_buffer();
	struct blm_filter *f, *g;

	OK(blm_create(&f, NULL, "a.blm",
		      &BLM_PARAMS(.capacity = 10, .hash = "siphash", .secret = secret)));
	ck_assert_ptr_nonnull(current_view(f)->secret);
	ck_assert_int_eq(memcmp(current_view(f)->secret, secret, BLM_SECRET_BYTES), 0);
	ck_assert(left_out_of_dumps(current_view(f)->secret));
	OK(blm_info(f, info));
	ck_assert_ptr_null(memmem(info, sizeof(*info), secret, 8));
	FAILS(blm_open_keyed(&g, NULL, "a.blm", 0, (const uint8_t *)"WXYZ, which is wrong"),
	      -ENOKEY);
	ck_assert(!strstr(blm_error_message(), "WXYZ") && !strstr(blm_error_message(), "5758595a"));
	ck_assert(!strstr(blm_error_message(), "not to")
		  && !strstr(blm_error_message(), "6e6f7420"));
	blm_close(f);
	free(info);
}
END_TEST

/*
 * ---- A program that runs with its owner's rights does not let its caller's environment choose
 * ----
 */

static void copy_myself(const char *to)
{
	size_t bytes;
	uint8_t *all = read_all("/proc/self/exe", &bytes);

	write_all(to, all, bytes);
	free(all);
}

static int run_as_nobody(int unused)
{
	if (setgid(65534) < 0 || setuid(65533) < 0)
		return 77;
	setenv("BLOOMERY_SIMD", "scalar", 1);
	execl("./myself", "myself", "--which-loops", NULL);
	return 78;
}

START_TEST(a_set_uid_program_does_not_look_at_the_environment)
{
	int r;

	if (SANITIZED)
		SKIP("sanitizers take the environment for themselves");
	if (cannot_give_away(65534, 65534))
		SKIP(cannot_give_away(65534, 65534));
	if (!strcmp(blm_simd(), "scalar") || getenv("BLOOMERY_SIMD"))
		SKIP("there is no choice of loops here");
	copy_myself("myself");
	ck_assert_int_eq(chown("myself", 65534, 65534), 0);
	ck_assert_int_eq(chmod("myself", 04755), 0);
	r = run_apart(run_as_nobody, 0);
	if (r == 77 || r == 78 || r == 79)
		SKIP("nobody can be somebody else here, or set-uid programs are not given their "
		     "owner's rights");
	ck_assert_int_eq(r, 0);
}
END_TEST

/*
 * 0: not scalar although the environment asks for it; 79: these rights were not given (a mount
 * without set-uid)
 */
static int which_loops(void)
{
	return getuid() == geteuid() ? 79 : strcmp(blm_simd(), "scalar") == 0;
}

/* ---- Export during writes ---- */

enum { WRITERS = 4, KEYS_A_ROUND = 2000000 };
/* Writer w has added all its keys up to last[w], and adds those below `end`. */
static struct {
	_Atomic int last[WRITERS], end;
	_Atomic unsigned syncs;
	_Atomic bool stop;
} *shared;

static int add_until_told(int which)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE) == 0);
	for (int i = which; !shared->stop; ) {
		if (i >= shared->end) {
			usleep(100);
			continue;
		}
		MUST(blm_add(f, &i, sizeof(i)) >= 0);
		shared->last[which] = i;
		i += WRITERS;
	}
	return 0;
}

/* The writers add from here on, and each has added some. They do until the end of the call. */
static void let_them_add(int ret_last[WRITERS])
{
	int most = 0;

	for (int w = 0; w < WRITERS; w++) {
		ret_last[w] = shared->last[w];
		most = ret_last[w] > most ? ret_last[w] : most;
	}
	shared->end = most + KEYS_A_ROUND;
	for (int w = 0; w < WRITERS; w++) {
		while (shared->last[w] == ret_last[w])
			usleep(100);
		ret_last[w] = shared->last[w];
	}
}

START_TEST(an_export_during_writes_holds_every_acknowledged_key)
{
	struct blm_filter *f, *copy;
	pid_t writers[WRITERS];

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	fill("a.blm", &BLM_PARAMS(.capacity = 1000000, .rate = 0.01));
	OK(blm_open(&f, NULL, "a.blm", 0));
	for (int w = 0; w < WRITERS; w++) {
		shared->last[w] = -1;
		writers[w] = spawn(add_until_told, w);
	}
	for (int round = 0; round < 5; round++) {
		int before[WRITERS], missing = 0;
		void *bytes;
		size_t len;

		let_them_add(before);
		OK(blm_export_bytes(f, &BLM_EXCHANGE(.base64 = round % 2), &bytes, &len));
		shared->end = 0;
		OK(blm_import_bytes(&copy, NULL, NULL, &BLM_EXCHANGE(.base64 = round % 2), bytes,
				    len));
		for (int w = 0; w < WRITERS; w++)
			for (int i = w; i <= before[w]; i += WRITERS)
				missing += !blm_contains(copy, &i, sizeof(i));
		ck_assert_int_eq(missing, 0);
		blm_free(bytes);
		blm_close(copy);
	}
	shared->stop = true;
	for (int w = 0; w < WRITERS; w++)
		ck_assert_int_eq(join(writers[w]), 0);
	blm_close(f);
}
END_TEST

/* ---- Readers while others sync ---- */

static int add_and_sync_until_told(int unused)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE) == 0);
	for (int i = 0; !shared->stop; i++) {
		MUST(blm_add(f, &i, sizeof(i)) >= 0);
		if (i % 100 == 0) {
			shared->syncs++;	/* odd: a sync is under way */
			MUST(blm_sync(f) == 0);
			shared->syncs++;
		}
	}
	return 0;
}

/* A reader that had to wait for a sync would get no answer while one is under way. */
START_TEST(readers_are_not_held_up_by_a_sync)
{
	enum { ANSWERS = 20000 };
	struct blm_filter *f;
	pid_t writer;
	int within = 0;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	fill("a.blm", &BLM_PARAMS(.capacity = 1000000, .rate = 0.01));
	OK(blm_open(&f, NULL, "a.blm", 0));
	writer = spawn(add_and_sync_until_told, 0);
	alarm(TOO_LONG);
	for (int key = 0; within < ANSWERS; key++) {
		unsigned sync = shared->syncs;

		blm_contains(f, &key, sizeof(key));
		within += sync % 2 && sync == shared->syncs;
	}
	alarm(0);
	shared->stop = true;
	ck_assert_int_eq(join(writer), 0);
	blm_close(f);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s;
	TCase *tc;

	if (argc == 2 && !strcmp(argv[1], "--which-loops"))
		return which_loops();
	s = suite_create("files");
	tc = tcase_create("files");
	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_test(tc, a_header_on_another_filters_data_is_refused);
	tcase_add_test(tc, a_header_in_the_other_order_of_bytes_is_refused);
	tcase_add_loop_test(tc, the_files_of_other_programs_are_refused, 0, 8);
	tcase_add_test(tc, each_of_1000_flipped_bits_is_found_when_sealed);
	tcase_add_loop_test(tc, a_zeroed_sector_is_found_and_its_keys_are_kept,
			    0, 2);
	tcase_add_test(tc, every_small_number_of_cells_makes_a_correct_filter);
	tcase_add_loop_test(tc, sizes_around_512_mib_keep_keys_and_combine,
			    0, 5);
	tcase_add_loop_test(tc, a_rate_that_is_too_small_is_refused_at_creation, 0, 6);
	tcase_add_test(tc, a_filter_larger_than_the_address_space_leaves_nothing);
	tcase_add_loop_test(tc, keys_may_have_any_length, 0, 4);
	tcase_add_loop_test(tc, a_special_file_in_a_stores_folder_is_not_followed, 0, 6);
	tcase_add_test(tc, a_hard_linked_file_is_one_filter_until_a_replacement);
	tcase_add_test(tc, a_path_can_be_as_long_as_the_system_allows);
	tcase_add_loop_test(tc, an_unreadable_secret_is_an_error_and_no_key_serves, 0,
			    2);
	tcase_add_test(tc, a_secret_is_kept_out_of_core_dumps_and_messages);
	tcase_add_test(tc, a_set_uid_program_does_not_look_at_the_environment);
	tcase_add_test(tc,
		       an_export_during_writes_holds_every_acknowledged_key);
	tcase_add_test(tc, readers_are_not_held_up_by_a_sync);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
