/*
 * bank.c - makes the golden bank: classic.bank, and what its maker said of it, in classic-bank.txt
 */
#include "bloomery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 6, KEYS = 30 };

static void must(int64_t r)
{
	if (r < 0) {
		fprintf(stderr, "golden-bank: %s\n", blm_error_message());
		exit(1);
	}
}

/*
 * Key number i is in the rows by whose number and one i can be divided; of row 5 another has the
 * same number of ones, it is a copy.
 */
static void make(const char *path)
{
	const struct blm_params params = BLM_PARAMS(.kind = "classic", .cells = 400, .probes = 5,
						    .seed_count = 1,
						    .seeds = (const uint64_t[]){ 7 });
	struct blm_bank_build *b;

	unlink(path);
	must(blm_bank_begin(&b, path, false, 0644));
	for (unsigned row = 0; row <= ROWS; row++) {
		struct blm_filter *f;
		char key[16], id[16];

		must(blm_create(&f, NULL, NULL, &params));
		for (unsigned i = 0; row && i < KEYS; i++)
			if (i % (row < ROWS ? row : ROWS - 1) == 0)
				must(blm_add(f, key,
					     (size_t)snprintf(key, sizeof(key), "key %u", i)));
		snprintf(id, sizeof(id), "row-%u", row);
		must(blm_bank_add(b, f, id));
		blm_close(f);
	}
	must(blm_bank_finish(b));
}

static void print_id(FILE *to, const struct blm_bank *bank, uint64_t row)
{
	const char *text;
	size_t bytes;

	must(blm_bank_text(bank, row, &text, &bytes, NULL));
	fprintf(to, " %.*s", (int)bytes, text);
}

static void tell_key(FILE *to, struct blm_bank *bank, const char *key)
{
	uint64_t bits = 0;

	must(blm_bank_which(bank, key, strlen(key), &bits));
	fprintf(to, "which ");
	for (; *key; key++)
		fprintf(to, "%02x", (unsigned char)*key);
	for (uint64_t row = 0; row <= ROWS; row++)
		if (bits >> row & 1)
			print_id(to, bank, row);
	fputc('\n', to);
}

static void tell_like(FILE *to, const struct blm_bank *bank, uint64_t row, size_t bytes)
{
	struct blm_bank_hit hits[ROWS + 1];
	void *bits = malloc(bytes);
	int64_t found;

	must(blm_bank_read(bank, row, bits));
	found = blm_bank_similar(bank, bits, &(struct blm_likeness){ .measure = NULL }, hits,
				 ROWS + 1);
	must(found);
	free(bits);
	fprintf(to, "like");
	print_id(to, bank, row);
	for (int64_t i = 0; i < found; i++) {
		print_id(to, bank, hits[i].row);
		fprintf(to, " %.17g", hits[i].score);
	}
	fputc('\n', to);
}

int main(int argc, char **argv)
{
	struct blm_bank_info info;
	struct blm_bank *bank;
	char path[4096], key[16];
	FILE *to;

	if (argc != 2) {
		fprintf(stderr, "usage: golden-bank FOLDER\n");
		return 64;
	}
	snprintf(path, sizeof(path), "%s/classic.bank", argv[1]);
	make(path);
	must(blm_bank_open(&bank, path));
	blm_bank_info(bank, &info);
	snprintf(path, sizeof(path), "%s/classic-bank.txt", argv[1]);
	to = fopen(path, "w");
	if (!to)
		return 1;
	fprintf(to,
		"# classic.bank: which rows may hold a key, in their order; those most like a row; "
		"made by bank.c\nrows %llu\nuuid ",
		(unsigned long long)info.rows);
	for (int i = 0; i < 16; i++)
		fprintf(to, "%02x", info.uuid[i]);
	fputc('\n', to);
	for (unsigned i = 0; i < KEYS + 10; i++) {
		snprintf(key, sizeof(key), "key %u", i);
		tell_key(to, bank, key);
	}
	for (uint64_t row = 0; row <= ROWS; row++)
		tell_like(to, bank, row, info.row_bytes);
	blm_bank_close(bank);
	return fclose(to) != 0;
}
