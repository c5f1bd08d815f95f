/*
 * libbloom.c - libbloom 1: `add CAPACITY RATE` makes a filter of the lines on stdin and writes its
 * bits to stdout, and m and k to stderr; `check CAPACITY RATE FILE` reads the bits, and prints the
 * lines that are in it
 */
#include <bloom.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what)
{
	fprintf(stderr, "libbloom: %s\n", what);
	return 2;
}

int main(int argc, char **argv)
{
	bool adds = argc == 4 && !strcmp(argv[1], "add"),
	     checks = argc == 5 && !strcmp(argv[1], "check");
	struct bloom b;
	char line[4096];
	FILE *file;

	if ((!adds && !checks) || bloom_init(&b, atoi(argv[2]), atof(argv[3])))
		return fail("add CAPACITY RATE, or check CAPACITY RATE FILE");
	if (checks) {
		file = fopen(argv[4], "rb");
		if (!file || fread(b.bf, 1, (size_t)b.bytes, file) != (size_t)b.bytes)
			return fail("cannot read the bits");
		fclose(file);
	}
	while (fgets(line, sizeof(line), stdin)) {
		int len = (int)strcspn(line, "\n");

		if (adds)
			bloom_add(&b, line, len);
		else if (bloom_check(&b, line, len))
			printf("%.*s\n", len, line);
	}
	if (adds) {
		fwrite(b.bf, 1, (size_t)b.bytes, stdout);
		fprintf(stderr, "%d %d\n", b.bits, b.hashes);
	}
	bloom_free(&b);
	return 0;
}
