/*
 * dice.h - random bytes that are the same in every run, so that what one input does it does again
 */
#ifndef BLM_FUZZ_DICE_H
#define BLM_FUZZ_DICE_H

#include <sodium.h>

static uint64_t dice_state;

static const char *dice_name(void)
{
	return "dice";
}

static uint32_t dice_random(void)
{
	dice_state = dice_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(dice_state >> 32);
}

static void dice_bytes(void *to, const size_t count)
{
	for (size_t i = 0; i < count; i++)
		((uint8_t *)to)[i] = (uint8_t)dice_random();
}

/*
 * From here on the library draws the sequence of that number: before it makes anything, and again
 * where the same is to come.
 */
static inline void throw_dice(uint64_t sequence)
{
	static randombytes_implementation dice = { .implementation_name = dice_name,
						   .random = dice_random,
						   .buf = dice_bytes };

	dice_state = sequence;
	randombytes_set_implementation(&dice);
}

#endif
