/* inject_banks.c - inject.c's cases of banks */
#include "inject.h"

static int finish_bank(struct blm_bank_build *b, int r)
{
	if (r >= 0)
		return blm_bank_finish(b);
	blm_bank_cancel(b);
	return r;
}

static int build_bank(struct world *w)
{
	struct blm_bank_build *b;
	int r = blm_bank_begin(&b, "bank", true, 0640);

	if (r < 0)
		return r;
	r = blm_bank_add(b, w->f, "a");
	if (r == 0)
		r = blm_bank_add(b, w->g, "b");
	return finish_bank(b, r);
}

static void build_bank_before(struct world *w)
{
	FIXTURE(build_bank(w));
}

static int build_bank_of_fps(struct world *w)
{
	static const char text[] = "#FPS1\n#num_bits=24\n0f0a01\tx\nffffff\ty\tmore\n000000\tz\n";
	struct blm_bank_build *b;
	int r = blm_bank_begin(&b, "bank", true, 0);

	return r < 0 ? r : finish_bank(b, (int)blm_bank_add_fps(b, text, sizeof(text) - 1, "set"));
}

static void build_bank_of_fps_before(struct world *w)
{
	FIXTURE(build_bank_of_fps(w));
}

static int ask_bank(struct world *w)
{
	static _Alignas(64) uint8_t bits[1 << 16];
	struct blm_bank_hit hits[2];
	struct blm_bank_info about;
	struct blm_bank *bank;
	const char *id;
	size_t id_bytes;
	uint64_t row;
	int64_t r = blm_bank_open(&bank, "bank");

	if (r < 0)
		return (int)r;
	blm_bank_info(bank, &about);
	r = about.row_bytes <= sizeof(bits) ? blm_bank_find(bank, "a", &row) : -EILSEQ;
	if (r == 0)
		r = blm_bank_text(bank, row, &id, &id_bytes, NULL);
	if (r == 0)
		r = id_bytes == 1 && *id == 'a' ? blm_bank_read(bank, row, bits) : -EILSEQ;
	if (r == 0)
		r = blm_bank_read_filter(bank, w->f, bits);
	if (r == 0)
		r = blm_bank_similar(bank, bits, &(struct blm_likeness){ .threshold = 0.1 }, hits,
				     2);
	if (r >= 0 && r != 2)
		r = -EILSEQ;
	if (r >= 0)
		r = blm_bank_which(bank, "key 150", 7, NULL);
	if (r >= 0)
		r = r == 2 ? blm_bank_verify(bank, NULL, NULL) : -EILSEQ;
	blm_bank_close(bank);
	return (int)r;
}

/* Two range filters of one template, of different sizes. */
static int add_ranges(struct blm_bank_build *b, unsigned keys, const char *id)
{
	static const uint64_t seed = 3;
	struct blm_params params = BLM_PARAMS(.kind = "range", .hash = "ordered-uint",
					      .capacity = 200, .seeds = &seed, .seed_count = 1);
	struct blm_build *build;
	struct blm_filter *f;
	int r = blm_build_begin(&build, NULL, NULL, &params, NULL);

	if (r < 0)
		return r;
	for (unsigned i = 0; r >= 0 && i < keys; i++) {
		char key[16];
		size_t len = (size_t)snprintf(key, sizeof(key), "%u", 150 + i * 1000000);

		r = blm_build_add_many(build, &(struct blm_key){ key, len }, 1);
	}
	if (r < 0) {
		blm_build_cancel(build);
		return r;
	}
	r = blm_build_finish(build, &f);
	if (r < 0)
		return r;
	r = blm_bank_add(b, f, id);
	blm_close(f);
	return r;
}

static int build_bank_of_ranges(struct world *w)
{
	struct blm_bank_build *b;
	int r = blm_bank_begin(&b, "bank", true, 0);

	if (r < 0)
		return r;
	r = add_ranges(b, 1, "a");
	if (r == 0)
		r = add_ranges(b, 200, "b");
	return finish_bank(b, r);
}

static void build_bank_of_ranges_before(struct world *w)
{
	FIXTURE(build_bank_of_ranges(w));
}

static int ask_bank_for_ranges(struct world *w)
{
	struct blm_bank *bank;
	int64_t r = blm_bank_open(&bank, "bank");

	if (r < 0)
		return (int)r;
	r = blm_bank_which_range(bank, "140", 3, "160", 3, NULL);
	if (r >= 0)
		r = r == 2 ? blm_bank_which(bank, "150", 3, NULL) : -EILSEQ;
	if (r >= 0)
		r = r == 2 ? blm_bank_verify(bank, NULL, NULL) : -EILSEQ;
	blm_bank_close(bank);
	return (int)r;
}

static int export_bank(struct world *w)
{
	struct blm_bank *bank;
	int r = blm_bank_open(&bank, "bank");

	if (r < 0)
		return r;
	r = blm_bank_export_fps(bank, ignore_bytes, NULL);
	blm_bank_close(bank);
	return r;
}

const struct one_case banks_cases[] = {
	{ "bank-build", IN_PATH | OPEN_F | OPEN_G, build_bank, NULL, 0, 0 },
	{ "bank-build-of-fps", IN_PATH, build_bank_of_fps, NULL, 0, 0 },
	{ "bank-ask", IN_PATH | OPEN_F | OPEN_G, ask_bank, build_bank_before, 0, 0 },
	{ "bank-of-ranges-build", IN_PATH, build_bank_of_ranges, NULL, 0, 0 },
	{ "bank-of-ranges-ask", IN_PATH, ask_bank_for_ranges, build_bank_of_ranges_before, 0, 0 },
	{ "bank-export", IN_PATH, export_bank, build_bank_of_fps_before, 0, 0 },
	{ .name = NULL },
};
