/*
 * recent_sweep.c - advances the time of a recent filter, and empties cells that are too old
 */
#include "kind/recent_cells.h"

static void sweep(const struct look *l, uint64_t from, uint64_t to)
{
	for (uint64_t cell = from; cell < to; cell++) {
		uint64_t stamp = stamp_in(l, cell);

		if (stamp && !is_live(l, stamp))
			set_stamp(l, cell, 0);
	}
}

/*
 * NOW is to be later. Each pass is spread over half the ticks of the guard. Each word is true when
 * it is stored, also if the writer dies before the next one; NOW comes last.
 */
static void sweep_for(const struct look *l, uint64_t now)
{
	const struct blm_part *part = l->part;
	uint64_t cells = part->shape.cells, guard = guard_of(l), half = guard / 2;
	uint64_t begun = load_relaxed(word_at(part, BEGUN)), at = load_relaxed(word_at(part, AT));

	if (at > cells)
		at = cells;
	if (now - load_relaxed(word_at(part, PREVIOUS)) > guard || now - begun > guard) {
		sweep(l, 0, cells);
		begun = now;
	} else if (now - begun < half) {
		uint64_t to = (uint64_t)((unsigned __int128)cells * (now - begun) / half);

		sweep(l, at, to);
		if (to > at)
			set_word(part, AT, to);
		return;
	} else {
		sweep(l, at, cells);
	}
	set_word(part, PREVIOUS, begun);
	set_word(part, AT, 0);
	set_word(part, BEGUN, now);
}

struct look blm_recent_advance(struct blm_part *part, const struct blm_when *when)
{
	uint64_t word = now_word(part), now = told(part, when),
		begun = load_relaxed(word_at(part, BEGUN));
	struct look l;

	/* by a writer that died before it stored NOW */
	if (word && begun > word && begun > now)
		now = begun;
	l = look_at(part, word, now);
	if (now <= word)
		return l;
	if (word) {
		sweep_for(&l, now);
	} else {
		set_word(part, PREVIOUS, now);
		set_word(part, BEGUN, now);
	}
	set_word(part, NOW, now);
	set_now(&l, now, now);
	return l;
}
