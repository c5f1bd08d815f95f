/*
 * stubs.h - what locks and slots need of the rest of lib/, and what the tests of them have in
 * common; included behind their code
 */
#ifndef STUBS_H
#define STUBS_H

int blm_fail(int err, const char *format, ...)
{
	return err;
}

int blm_lock_holder(int fd, enum blm_lock_of what, bool *ret_writer)
{
	return 0;
}

/* The word of the slot at this address, which the first processes own; NO_WORD: it is none. */
static unsigned word_of_slot(const struct blm_live *live, const void *address, unsigned owners)
{
	size_t from = (size_t)((const char *)address - (const char *)live->slots);
	size_t slot = from / sizeof(live->slots[0]);

	return from < sizeof(live->slots) && from % sizeof(live->slots[0]) == 0
		&& slot - 1 < owners ? SLOT + (unsigned)(slot - 1) : NO_WORD;
}

/* Words that the scheduler keeps as they are, unless the test says otherwise. */
#ifndef ENCODES_WORDS
static unsigned encoded(unsigned word, uint64_t value)
{
	return (unsigned)value;
}

static uint64_t decoded(unsigned word, unsigned value)
{
	return value;
}
#endif

#endif
