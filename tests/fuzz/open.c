/*
 * open.c - whatever the bytes of a file are, opening, asking and changing it must not go wrong
 *
 * The input: one byte of choices, then patches of a real file, each {offset, 2 bytes; how many bytes, 1; the bytes}; or,
 * if FROM_NOTHING is chosen, the file itself. So a few bytes of input reach deep.
 */
#include "bloomery.h"
#include "file/image.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	BASE = 3,		/* which of the real files */
	MEND_CONSTANT = 1 << 2,	/* make the checksum of page 0 right again */
	MEND_TEMPLATE = 1 << 3,	/* and the template id */
	MEND_PARTS = 1 << 4,	/* and the checksums of the part table */
	WRITE = 1 << 5,
	CUT = 1 << 6,		/* the last two bytes of input say how much is cut off the end */
	FROM_NOTHING = 1 << 7,
	BYTES_MAX = 64 << 10,
};

static const struct blm_params bases[BASE + 1] = {
	{ .kind = "blocked", .capacity = 100, .rate = 0.01 },
	{ .kind = "classic", .cells = 1001, .probes = 7 },
	{ .kind = "classic", .hash = "murmur3-bip37", .cells = 999, .probes = 11, .tweak = 5 },
	{ .kind = "blocked", .hash = "siphash", .capacity = 50, .rate = 0.001 },
};
static const uint8_t secret[BLM_SECRET_BYTES] = "a fuzzer's own";
static uint8_t *base[BASE + 1];
static size_t base_bytes[BASE + 1];
static char folder[] = "/dev/shm/bloomery-fuzz-XXXXXX";

static void must(bool right)
{
	if (!right)
		__builtin_trap();
}

static void read_base(const char *path, int i)
{
	FILE *in = fopen(path, "re");

	must(in != NULL);
	base[i] = malloc(BYTES_MAX);
	base_bytes[i] = fread(base[i], 1, BYTES_MAX, in);
	fclose(in);
}

static void remove_folder(void)
{
	rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char path[sizeof(folder) + 16];

	if (!mkdtemp(folder)) {
		memcpy(folder, "/tmp", 4);
		memset(folder + 4, '/', 4);
		must(mkdtemp(folder) != NULL);
	}
	atexit(remove_folder);
	snprintf(path, sizeof(path), "%s/base", folder);
	for (int i = 0; i <= BASE; i++) {
		struct blm_params params = bases[i];
		struct blm_filter *f;

		if (params.hash && !strcmp(params.hash, "siphash"))
			params.secret = secret;
		must(blm_create(&f, NULL, path, &params) == 0);
		blm_add(f, "key", 3);
		blm_sync(f);
		blm_close(f);
		read_base(path, i);
		unlink(path);
		strcat(path, ".key");
		unlink(path);
		path[strlen(path) - 4] = '\0';
	}
	return 0;
}

static void patch(uint8_t *file, size_t bytes, const uint8_t *data, size_t size)
{
	while (size > 3) {
		size_t at = ((size_t)data[0] | (size_t)data[1] << 8) % bytes, n = data[2];

		data += 3;
		size -= 3;
		if (n > size)
			n = size;
		memcpy(file + at, data, n < bytes - at ? n : bytes - at);
		data += n;
		size -= n;
	}
}

static void mend(struct blm_header *h, unsigned choices)
{
	if (choices & MEND_TEMPLATE && le32toh(h->constant.template.seed_count) <= BLM_FORMAT_SEEDS)
		blm_template_id(&h->constant.template, h->constant.template_id);
	if (choices & MEND_CONSTANT)
		h->constant.check = blm_check_constant(&h->constant);
	if (choices & MEND_PARTS)
		for (unsigned i = 0; i < BLM_PARTS_MAX; i++)
			h->part[i].check = blm_check_part(&h->part[i], i, h->constant.uuid);
}

/* The file that the input means, in a memory file. */
static int file_of(const uint8_t *data, size_t size, unsigned choices)
{
	static _Alignas(struct blm_header) uint8_t file[BYTES_MAX];
	size_t bytes = base_bytes[choices & BASE], cut = 0;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (choices & CUT && size >= 2) {
		size -= 2;
		cut = (size_t)data[size] | (size_t)data[size + 1] << 8;
	}
	if (choices & FROM_NOTHING) {
		bytes = size < BYTES_MAX ? size : BYTES_MAX;
		memcpy(file, data, bytes);
	} else {
		memcpy(file, base[choices & BASE], bytes);
		patch(file, bytes, data, size);
	}
	if (bytes >= sizeof(struct blm_header))
		mend((struct blm_header *)file, choices);
	bytes -= cut < bytes ? cut : bytes;
	must(fd >= 0 && write(fd, file, bytes) == (ssize_t)bytes);
	return fd;
}

static void ask(const struct blm_filter *f)
{
	const struct blm_key keys[] = { { "key", 3 }, { NULL, 0 }, { "another key", 11 } };
	struct blm_estimate estimate;
	struct blm_comparison comparison;
	struct blm_info info;
	struct blm_hash hashes[3];
	uint64_t bits = 0, again = 0;

	blm_info(f, &info);
	must(strnlen(info.labels, sizeof(info.labels)) < sizeof(info.labels));
	must(blm_contains_many(f, keys, 3, &bits) >= 0);
	for (int i = 0; i < 3; i++)
		must(blm_contains(f, keys[i].bytes, keys[i].len) == (bits >> i & 1));
	if (blm_hash_many(f, keys, 3, hashes) == 0)
		must(blm_contains_hashes(f, blm_hash_id(f), hashes, 3, &again) >= 0 && again == bits);
	blm_estimate(f, true, &estimate);
	blm_estimate(f, false, &estimate);
	blm_compare(f, f, &comparison);
}

static void change(struct blm_filter *f)
{
	const struct blm_key keys[] = { { "new", 3 }, { "newer", 5 } };
	struct blm_filter *like = NULL;
	char path[sizeof(folder) + 16];

	if (blm_add(f, "added", 5) >= 0)
		must(blm_contains(f, "added", 5));
	if (blm_claim(f, "claimed", 7) >= 0)
		must(blm_contains(f, "claimed", 7));
	if (blm_add_many(f, keys, 2, NULL) >= 0)
		must(blm_contains_many(f, keys, 2, NULL) == 2);
	snprintf(path, sizeof(path), "%s/like", folder);
	if (blm_template(&like, NULL, path, f, 0600) == 0) {
		must(blm_same_template(f, like) == 0);
		blm_combine_into(f, BLM_UNION, (const struct blm_filter *const *)&like, 1, 0, NULL);
		blm_combine_into(like, BLM_UNION, (const struct blm_filter *const *)&f, 1, 0, NULL);
		must(blm_contains(like, "added", 5) == blm_contains(f, "added", 5));
		blm_close(like);
	}
	unlink(path);
	strcat(path, ".key");
	unlink(path);
	blm_sync(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned choices = size ? data[0] : 0;
	struct blm_filter *f = NULL;
	char path[32];
	int fd;

	if (!size)
		return 0;
	fd = file_of(data + 1, size - 1, choices);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (blm_open_keyed(&f, NULL, path, choices & WRITE, secret) == 0) {
		ask(f);
		if (choices & WRITE)
			change(f);
		else
			must(blm_add(f, "key", 3) == -EBADF);
		blm_close(f);
	} else {
		must(*blm_why() != '\0');
	}
	blm_verify(NULL, path, NULL, NULL);
	close(fd);
	return 0;
}
