/* cmd_which.c - bloomery which: the filters of a bank that may hold a key */
#include "bank.h"

static int print_all(const struct blm_bank *bank, const uint64_t *bits, uint64_t rows)
{
	int code = DONE;

	for (uint64_t row = 0; code == DONE && row < rows; row++)
		if (bits[row / 64] >> row % 64 & 1)
			code = print_row(bank, row, NULL);
	return code;
}

static int run(int count, char **operands)
{
	struct blm_bank_info info;
	struct blm_bank *bank;
	uint64_t *bits, *all;
	int code = open_bank(&bank, operands[0]);

	if (code != DONE)
		return code;
	blm_bank_info(bank, &info);
	bits = calloc((info.rows + 63) / 64, sizeof(*bits));
	all = calloc((info.rows + 63) / 64, sizeof(*all));
	code = bits && all ? DONE : broken("which: out of memory");
	for (int i = 1; code == DONE && i < count; i++) {
		int64_t r = blm_bank_which(bank, operands[i], strlen(operands[i]), bits);

		code = r < 0 ? fail(r) : DONE;
		for (uint64_t w = 0; code == DONE && w < (info.rows + 63) / 64; w++)
			all[w] = i == 1 ? bits[w] : all[w] & bits[w];
	}
	if (code == DONE) {
		bool any = false;

		for (uint64_t w = 0; w < (info.rows + 63) / 64; w++)
			any |= all[w] != 0;
		code = print_all(bank, all, info.rows);
		code = code == DONE && !any ? NO : code;
	}
	free(bits);
	free(all);
	blm_bank_close(bank);
	return code;
}

static const struct opt *const options[] = { json_option, NULL };

const struct command cmd_which = {
	.name = "which",
	.group = ON_SETS,
	.summary = "print the filters of a bank that may hold all of these keys; exit 1 if there are none",
	.operands = "BANK KEY...",
	.least = 2, .most = -1,
	.notes = "What is printed is what asking each of the filters would say, in the order of their numbers of ones. Of 10,000 filters it reads a\n"
		 "fiftieth of what that would, or less.",
	.example = "bloomery which ./week.bank http://example.org/",
	.options = options,
	.run = run,
};
