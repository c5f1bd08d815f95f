/*
 * again.c - the corpus of a fuzz target once more, without a fuzzer: each of its files as it is,
 * then changed in many ways
 *
 * usage: again FOLDER. A target ends with a signal where something goes wrong. The changes are the
 * same in every run; $BLOOMERY_TEST_SCALE says how many of them, 1: 100 for each file.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILE_MOST = 1 << 16, CAPACITY = FILE_MOST + 256 };

static uint64_t dice = 1;

static uint64_t below(uint64_t n)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return n ? (dice >> 33) % n : 0;
}

/* Numbers at which something ends, as files have them. */
static uint64_t edge(void)
{
	static const uint64_t edges[] = { 0,	 1,	    2,		7,	  8,	 9,
					  63,	 64,	    65,		127,	  128,	 255,
					  256,	 257,	    1000,	32767,	  32768, 65535,
					  65536, INT32_MAX, UINT32_MAX, INT64_MAX };

	return below(8) ? edges[below(sizeof(edges) / sizeof(*edges))] : UINT64_MAX - below(9);
}

/* Most often where files have their numbers and names: at either end. */
static size_t place(size_t count)
{
	size_t at = below(3) ? below(count < 96 ? count : 96) : below(count);

	return below(4) ? at : count - 1 - at;
}

static void set_number(uint8_t *at, size_t left)
{
	static const unsigned widths[] = { 1, 2, 4, 8 };
	unsigned width = widths[below(4)];
	uint64_t number = edge();
	bool big = below(2);

	for (unsigned i = 0; i < width && i < left; i++)
		at[big ? width - 1 - i < left ? width - 1 - i : i : i] = (uint8_t)(number >> 8 * i);
}

static size_t change(uint8_t *bytes, size_t count)
{
	static const char letters[] = "0123456789-,:;.\"'{}[]()# \t\r\n\\AZaz_=+/%";
	size_t at = count ? place(count) : 0, some = 1 + below(below(4) ? 4 : 64);

	if (!count)
		return 1;
	switch (below(7)) {
	case 0:
		bytes[at] ^= (uint8_t)(1u << below(8));
		break;
	case 1:
		bytes[at] = (uint8_t)letters[below(sizeof(letters) - 1)];
		break;
	case 2:
		bytes[at] = (uint8_t)below(256);
		break;
	case 3:
		set_number(bytes + at, count - at);
		break;
	case 4:		/* some go */
		some = some < count - at ? some : count - at;
		memmove(bytes + at, bytes + at + some, count - at - some);
		return count - some;
	case 5:		/* some come twice */
		some = some < count - at ? some : count - at;
		if (count + some > CAPACITY)
			break;
		memmove(bytes + at + some, bytes + at, count - at);
		return count + some;
	default:	/* it ends early */
		return below(2) ? at : count - (some < count ? some : count);
	}
	return count;
}

static unsigned try(const char *path, unsigned changes)
{
	static uint8_t was[FILE_MOST], now[CAPACITY];
	FILE *in = fopen(path, "re");
	size_t count = in ? fread(was, 1, sizeof(was), in) : 0;

	if (!in || fclose(in)) {
		printf("Bail out! %s\n", path);
		exit(EXIT_FAILURE);
	}
	LLVMFuzzerTestOneInput(was, count);
	for (unsigned i = 0; i < changes; i++) {
		size_t left = count;

		memcpy(now, was, count);
		for (uint64_t times = 1 + below(3); times; times--)
			left = change(now, left);
		LLVMFuzzerTestOneInput(now, left);
	}
	return 1;
}

int main(int argc, char **argv)
{
	const char *scale = getenv("BLOOMERY_TEST_SCALE");
	unsigned files = 0, changes = (unsigned)(100 * (scale ? atof(scale) : 1));
	struct dirent **entries;
	int n = argc > 1 ? scandir(argv[1], &entries, NULL, alphasort) : -1;

	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 0; i < n; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", argv[1], entries[i]->d_name);
		if (entries[i]->d_name[0] != '.')
			files += try(path, changes);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	printf("%sok 1 - nothing goes wrong with the files of the corpus, nor with %u changed ones "
	       "of each\n1..1\n",
	       files ? "" : "not ", changes);
	return files ? EXIT_SUCCESS : EXIT_FAILURE;
}
