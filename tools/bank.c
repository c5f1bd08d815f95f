/* bank.c - what the commands on banks share */
#include "bank.h"
#include "json.h"
#include "output.h"

#include <fcntl.h>
#include <unistd.h>

bool is_bank(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char magic[8];
	bool is = fd >= 0 && pread(fd, magic, sizeof(magic), 0) == sizeof(magic)
		&& !memcmp(magic, "BLOOMBNK", sizeof(magic));

	if (fd >= 0)
		close(fd);
	return is;
}

int open_bank(struct blm_bank **ret, const char *path)
{
	int r = blm_bank_open(ret, path);

	return r < 0 ? fail(r) : DONE;
}

int print_row(const struct blm_bank *bank, uint64_t row, const struct blm_bank_hit *hit)
{
	const char *text;
	size_t bytes;
	int r = blm_bank_text(bank, row, &text, &bytes, NULL);

	if (r < 0)
		return fail(r);
	if (!json) {
		if (hit)
			printf("%.6g\t", hit->score);
		print_data(text, bytes);
		putchar('\n');
		return DONE;
	}
	json_begin();
	json_bytes("id", text, bytes);
	if (hit) {
		json_real("score", hit->score);
		json_count("ones", hit->ones);
		json_count("common", hit->common);
	}
	json_end();
	return DONE;
}
