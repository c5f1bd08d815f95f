/*
 * bank.c - whatever the bytes of a bank are, opening it, asking it and checking it must not go
 * wrong
 *
 * The input: a byte that says which real bank, one of choices, then patches of that file, each
 * {offset, 2 bytes; how many bytes, 1; the bytes}; or, if FROM_NOTHING is chosen, the file itself.
 */
#include "bank/bank.h"
#include "dice.h"
#include "held.h"
#include "patch.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	MEND = 1 << 0,		/* make the checksums right again */
	MEND_TEMPLATE = 1 << 1,	/* and the template id */
	CUT = 1 << 2,		/* the last two bytes of input say how much is cut off the end */
	FROM_NOTHING = 1 << 3,
	BYTES_MAX = 128 << 10,
	BASES = 4,
};

static uint8_t *base[BASES];
static size_t base_bytes[BASES];
/* one for each real bank, and one that is made from nothing: so most keep their size */
static struct held files[BASES + 1];

static void take_base(unsigned which, struct blm_bank_build *b, const char *path)
{
	must(blm_bank_finish(b) == 0);
	base[which] = take_file(path, BYTES_MAX, &base_bytes[which]);
}

static struct blm_bank_build *begin(const char *path)
{
	struct blm_bank_build *b;

	must(blm_bank_begin(&b, path, false, 0) == 0);
	return b;
}

static void make_base(unsigned which, const char *path, const char *kind, const char *hash)
{
	struct blm_bank_build *b = begin(path);
	struct blm_filter *f;
	char id[8];

	must(blm_create(&f, NULL, NULL,
			&BLM_PARAMS(.kind = kind, .hash = hash, .cells = 512, .probes = 5))
	     == 0);
	for (int i = 0; i < 5; i++) {
		snprintf(id, sizeof(id), "f%d", i);
		must(blm_add(f, id, strlen(id)) >= 0);
		must(blm_bank_add(b, f, id) == 0);
	}
	blm_close(f);
	take_base(which, b, path);
}

/* Of different sizes, with keys that ask() has. */
static void make_ranges(unsigned which, const char *path)
{
	const struct blm_params params = BLM_PARAMS(.kind = "range", .hash = "ordered-uint",
						    .capacity = 100, .seed_count = 1,
						    .seeds = &(uint64_t){ 7 });
	struct blm_bank_build *b = begin(path);

	for (unsigned i = 0; i < 3; i++) {
		struct blm_filter *f;
		struct blm_build *build;
		char key[16];

		must(blm_build_begin(&build, NULL, NULL, &params, NULL) == 0);
		for (unsigned j = 0; j < 45 * i; j++) {
			snprintf(key, sizeof(key), "%u", 17 + j * 12345);
			must(blm_build_add_many(build, &(struct blm_key){ key, strlen(key) }, 1)
			     == 0);
		}
		must(blm_build_finish(build, &f) == 0);
		snprintf(key, sizeof(key), "f%u", i);
		must(blm_bank_add(b, f, key) == 0);
		blm_close(f);
	}
	take_base(which, b, path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char set[] =
		"#FPS1\n#num_bits=20\n030100\tone\n030301\ttwo\tmore\n000000\tnone\n";
	char folder[] = "/tmp/bloomery-fuzz-XXXXXX", path[64];
	struct blm_bank_build *b;

	throw_dice(1);
	must(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/bank", folder);
	make_base(0, path, "classic", NULL);
	make_base(1, path, "classic", "murmur3-bip37");
	b = begin(path);
	must(blm_bank_add_fps(b, set, sizeof(set) - 1, "set") == 3);
	take_base(2, b, path);
	make_ranges(3, path);
	rmdir(folder);
	for (unsigned i = 0; i <= BASES; i++)
		must(hold(&files[i], BYTES_MAX));
	return 0;
}

static void mend(uint8_t *bytes, size_t count, unsigned choices)
{
	struct blm_bank_header *h = (struct blm_bank_header *)bytes;
	struct blm_bank_layout at;

	if (choices & MEND_TEMPLATE && le32toh(h->constant.template.seed_count) <= BLM_FORMAT_SEEDS)
		blm_template_id(&h->constant.template, h->constant.template_id);
	h->constant.check = blm_check_constant(&h->constant);
	h->sizes.check = blm_bank_check_sizes(h);
	if (!blm_bank_lay_out(&at, le64toh(h->sizes.rows), le64toh(h->sizes.row_bytes),
			      le64toh(h->sizes.text_bytes))
	    || at.end > count)
		return;
	for (uint64_t i = 0, from = at.ones; from < at.checks; i++, from += BLM_BLOCK)
		((uint64_t *)(bytes + at.checks))[i] = blm_check_bytes(
			bytes + from, at.checks - from < BLM_BLOCK ? at.checks - from : BLM_BLOCK,
			i);
}

static const char *write_file(unsigned which, const uint8_t *data, size_t size, unsigned choices)
{
	const struct held *file = &files[choices & FROM_NOTHING ? BASES : which];
	size_t count = base_bytes[which], cut = 0;

	if (choices & CUT && size >= 2) {
		size -= 2;
		cut = (size_t)data[size] | (size_t)data[size + 1] << 8;
	}
	if (choices & FROM_NOTHING) {
		count = size < BYTES_MAX ? size : BYTES_MAX;
		must(resize(file, count));
		memcpy(file->bytes, data, count);
	} else {
		must(resize(file, count));
		memcpy(file->bytes, base[which], count);
		patch(file->bytes, count, data, size);
	}
	if (choices & MEND && count >= sizeof(struct blm_bank_header))
		mend(file->bytes, count, choices);
	count -= cut < count ? cut : count;
	must(resize(file, count));
	return file->path;
}

static int discard(void *context, const void *bytes, size_t count)
{
	*(size_t *)context += count;
	return *(size_t *)context > (4 << 20) ? -EFBIG : 0;
}

static void ask(struct blm_bank *bank)
{
	static const char *const measures[] = { NULL, "containment", "tversky" };
	struct blm_bank_hit hits[4];
	struct blm_bank_info info;
	uint64_t row, *which;
	size_t written = 0;
	void *bits;

	blm_bank_info(bank, &info);
	which = calloc((info.rows + 63) / 64, sizeof(*which));
	bits = calloc(1, info.row_bytes);
	must(which && bits);
	for (int i = 0; i < 3; i++) {
		static const char *const keys[] = { "f1", "", "17" };
		int64_t found = blm_bank_which(bank, keys[i], strlen(keys[i]), which), bit = 0;

		must(found >= 0 && (uint64_t)found <= info.rows);
		for (uint64_t w = 0; w < (info.rows + 63) / 64; w++)
			bit += __builtin_popcountll(which[w]);
		must(bit == found);
	}
	for (int i = 0; i < 3; i++) {
		static const char *const ends[] = { "0", "50", "2000000" };
		int64_t found = blm_bank_which_range(bank, ends[0], 1, ends[i], strlen(ends[i]),
						     which);

		must(found <= (int64_t)info.rows && (found >= 0 || *blm_error_message()));
	}
	for (int i = 0; i < 3; i++) {
		int64_t found;

		must(blm_bank_read(bank, (uint64_t)i % info.rows, bits) == 0);
		found = blm_bank_similar(bank, bits,
					 &(struct blm_likeness){ .measure = measures[i],
								 .alpha = 0.5,
								 .threshold = i * 0.25 },
					 hits, 4);
		/* of ranges there is none */
		must((found >= 0 && found <= 4) || found == -EOPNOTSUPP);
		for (int64_t h = 0; h < found; h++)
			must(hits[h].row < info.rows);
	}
	blm_bank_find(bank, "f1", &row);
	blm_bank_export_fps(bank, discard, &written);
	blm_bank_verify(bank, NULL, NULL);
	free(which);
	free(bits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned choices = size > 1 ? data[1] : 0;
	struct blm_bank *bank;
	const char *path;

	if (size < 2)
		return 0;
	path = write_file(data[0] % BASES, data + 2, size - 2, choices);
	if (blm_bank_open(&bank, path) == 0) {
		ask(bank);
		blm_bank_close(bank);
	} else {
		must(*blm_error_message() != '\0');
	}
	return 0;
}
