/*
 * relocation.h - what the kinds share that move fingerprints: cells which one writer changes, each
 * at once, while readers look
 *
 * One writer at a time; readers take no lock. Each change is of one cell, and own word IN_FLIGHT
 * names that cell, plus 1, as long as its contents do not count: a writer that dies leaves a cell
 * that the next writer clears (recover()). A fingerprint that moves is never out of the table:
 *
 *   writer   IN_FLIGHT := the new cell; writes it; own word MOVES + 1; IN_FLIGHT := the old cell;
 *            clears that; IN_FLIGHT := 0.
 *   reader   loads MOVES; looks wherever it may be; loads MOVES again, and if it is another one
 *            looks again: a fingerprint may have gone from the place not yet looked at to the one
 *            that was.
 *
 * All stores release and all loads acquire, in this order. A cell may straddle two words. If
 * a reader sees half of a change, IN_FLIGHT names that cell.
 */
#ifndef BLM_KIND_RELOCATION_H
#define BLM_KIND_RELOCATION_H

#include "kind/kind.h"

/* own words */
enum { MOVES, IN_FLIGHT };

static inline uint64_t mask_of(const struct blm_part *part)
{
	return (UINT64_C(1) << part->shape.cell_bits) - 1;
}

static inline uint64_t get_cell(const struct blm_part *part, uint64_t cell)
{
	uint64_t bit = cell * part->shape.cell_bits;
	const uint64_t *word = (const uint64_t *)part->bytes + bit / 64;
	uint64_t value = load_acquire(word) >> bit % 64;

	if (bit % 64 + part->shape.cell_bits > 64)
		value |= load_acquire(word + 1) << (64 - bit % 64);
	return value & mask_of(part);
}

static inline void set_bits(uint64_t *word, uint64_t mask, uint64_t value)
{
	store_release(word, (load_relaxed(word) & ~mask) | value);
}

static inline void set_cell(struct blm_part *part, uint64_t cell, uint64_t value)
{
	uint64_t bit = cell * part->shape.cell_bits, mask = mask_of(part);
	uint64_t *word = (uint64_t *)part->bytes + bit / 64;

	mark(part, word);
	set_bits(word, mask << bit % 64, value << bit % 64);
	if (bit % 64 + part->shape.cell_bits > 64) {
		mark(part, word + 1);
		set_bits(word + 1, mask >> (64 - bit % 64), value >> (64 - bit % 64));
	}
}

static inline void set_in_flight(struct blm_part *part, uint64_t cell_plus_1)
{
	store_release(own_word(part, IN_FLIGHT), cell_plus_1);
}

static inline void recover(struct blm_part *part)
{
	uint64_t in_flight = load_acquire(own_word(part, IN_FLIGHT));

	if (in_flight - 1 < part->shape.cells && get_cell(part, in_flight - 1))
		set_cell(part, in_flight - 1, 0);
	if (in_flight)
		set_in_flight(part, 0);
}

static inline void place(struct blm_part *part, uint64_t cell, uint64_t print)
{
	set_in_flight(part, cell + 1);
	set_cell(part, cell, print);
	set_in_flight(part, 0);
}

/* `value` is moved to the new cell. */
static inline void move_as(struct blm_part *part, uint64_t from, uint64_t to, uint64_t value)
{
	set_in_flight(part, to + 1);
	set_cell(part, to, value);
	store_release(own_word(part, MOVES), load_relaxed(own_word(part, MOVES)) + 1);
	set_in_flight(part, from + 1);
	set_cell(part, from, 0);
	set_in_flight(part, 0);
}

static inline void move(struct blm_part *part, uint64_t from, uint64_t to)
{
	move_as(part, from, to, get_cell(part, from));
}

#endif
