/* bank.h - what the commands on banks share */
#ifndef BLOOMERY_TOOLS_BANK_H
#define BLOOMERY_TOOLS_BANK_H

#include "command.h"

/* These give an exit code, with a message where it is not DONE. */
int open_bank(struct blm_bank **ret, const char *path);
bool is_bank(const char *path);	/* does the file begin like one? */
/* A line, or with --json an object: its id, and of a hit (or NULL) how alike it is. */
int print_row(const struct blm_bank *bank, uint64_t row, const struct blm_bank_hit *hit);

#endif
