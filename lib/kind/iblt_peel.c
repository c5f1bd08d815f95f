/*
 * iblt_peel.c - peeling two invertible Bloom lookup tables: the keys that only one of them has
 *
 * When the second table is subtracted from the first, the keys that differ are left: those of the
 * first count +1, those of the second -1. A cell with one key identifies it: its hash must be the
 * check in the cell, and this cell one of its four. So the remains of two or more keys in a cell
 * are mistaken for a key with a probability of 2^-64. Removing the key from its other cells leaves
 * some of them with one key, and so on, until nothing is left, or no cell has one key: too many
 * keys differ. Each cell gives one key at most. Intact tables need no more, and for forged ones
 * this is the limit.
 */
#include "kind/iblt.h"
#include "base/phase.h"

struct peeling {
	const struct blm_part *of;	/* for its shape */
	const struct blm_hasher *by;
	size_t words;			/* of a cell */
	uint64_t *cells;		/* the one less the other, as numbers of this machine */
	uint64_t left;			/* cells with contents */
	/* cells that may have one key: each is in here once at most */
	uint64_t *waiting, count;
	uint8_t *state;
};

enum { WAITS = 1, GAVE = 2 };
enum { CELLS_A_REPORT = 1 << 14 };	/* of how far it is */

static uint64_t *cell_of(const struct peeling *p, uint64_t cell)
{
	return p->cells + cell * p->words;
}

/* ---- Subtracting ---- */

/* The current place of a cell: in the journal, if its writer died while it changed it. */
static const uint64_t *settled(const struct blm_part *part, uint64_t cell)
{
	const uint64_t *journal = iblt_journal(part);

	if (load_acquire(&journal[IBLT_CHANGING]))
		for (unsigned i = 0; i < IBLT_PROBES; i++)
			if (load_relaxed(&journal[IBLT_NUMBERS + i]) == cell)
				return &journal[IBLT_BEFORE + i * iblt_words(&part->shape)];
	return iblt_cell(part, cell);
}

static bool is_full(const struct peeling *p, uint64_t cell)
{
	const uint64_t *words = cell_of(p, cell);

	for (size_t w = 0; w < p->words; w++)
		if (words[w])
			return true;
	return false;
}

static void look_later(struct peeling *p, uint64_t cell)
{
	int64_t count = iblt_count(cell_of(p, cell)[IBLT_COUNT]);

	if ((count == 1 || count == -1) && !p->state[cell]) {
		p->state[cell] = WAITS;
		p->waiting[p->count++] = cell;
	}
}

/*
 * Equal cells are neither written nor read, here and later: a huge sparse file takes no memory.
 * Reading would, if the system allocates a page even for a read.
 */
static void subtract(struct peeling *p, const struct blm_part *a, const struct blm_part *b)
{
	BLM_PHASE("comparing", a->shape.bytes);
	for (uint64_t cell = 0; cell < a->shape.cells; cell++) {
		const uint64_t *x = settled(a, cell), *y = settled(b, cell);
		uint64_t *to = cell_of(p, cell), of_b = load_relaxed(&y[IBLT_COUNT]);
		uint64_t count = iblt_counted(load_relaxed(&x[IBLT_COUNT]), -iblt_count(of_b),
					      iblt_length(of_b));
		bool differ = count != 0;

		if (cell % CELLS_A_REPORT == 0)
			blm_phase_at(cell * p->words * 8);
		if (count)
			to[IBLT_COUNT] = count;
		for (size_t w = IBLT_CHECK; w < p->words; w++) {
			uint64_t word = load_relaxed(&x[w]) ^ load_relaxed(&y[w]);

			if (word)
				to[w] = word;
			differ |= word != 0;
		}
		if (differ) {
			p->left++;
			look_later(p, cell);
		}
	}
	blm_phase_at(a->shape.bytes);
}

/* ---- Keys ---- */

/* Are these the words of one key? Its bytes, in order. */
static bool is_key(const struct peeling *p, uint64_t cell, const uint64_t *words,
		   uint64_t *ret_bytes, struct blm_key *ret, struct blm_hash *ret_hash)
{
	uint64_t len = iblt_length(words[IBLT_COUNT]), most = p->of->shape.args[IBLT_KEY_BYTES];
	const uint8_t *bytes = (const uint8_t *)ret_bytes;
	bool mine = false;

	if (len > most)
		return false;
	for (size_t w = IBLT_KEY; w < p->words; w++)
		ret_bytes[w - IBLT_KEY] = htole64(words[w]);
	for (size_t i = len; i < 8 * (p->words - IBLT_KEY); i++)
		if (bytes[i])
			return false;
	*ret = (struct blm_key){ bytes, len };
	p->by->family->hash(p->by, ret, ret_hash);
	for (unsigned i = 0; i < IBLT_PROBES; i++)
		mine |= iblt_spot(&p->of->shape, ret_hash, i) == cell;
	return mine && iblt_check(ret_hash) == words[IBLT_CHECK];
}

static void take_out(struct peeling *p, const struct blm_hash *hash, const uint64_t *words)
{
	int64_t count = iblt_count(words[IBLT_COUNT]);

	for (unsigned i = 0; i < IBLT_PROBES; i++) {
		uint64_t cell = iblt_spot(&p->of->shape, hash, i), *from = cell_of(p, cell);
		bool was_full = is_full(p, cell);

		from[IBLT_COUNT] = iblt_counted(from[IBLT_COUNT], -count,
						iblt_length(words[IBLT_COUNT]));
		for (size_t w = IBLT_CHECK; w < p->words; w++)
			from[w] ^= words[w];
		p->left += (uint64_t)is_full(p, cell) - was_full;
		look_later(p, cell);
	}
}

static int peel(struct peeling *p, int (*each)(void *context, const struct blm_key *key, bool in_b),
		void *context)
{
	uint64_t words[IBLT_WORDS_MOST], bytes[IBLT_KEY_BYTES_MOST / 8], listed = 0;
	const uint64_t cells = p->left;
	int r = 0;

	BLM_PHASE("listing", cells * p->words * 8);
	while (r == 0 && p->count) {
		uint64_t cell = p->waiting[--p->count];
		int64_t count = iblt_count(cell_of(p, cell)[IBLT_COUNT]);
		struct blm_hash hash;
		struct blm_key key;

		p->state[cell] = 0;
		memcpy(words, cell_of(p, cell), 8 * p->words);
		if ((count != 1 && count != -1) || !is_key(p, cell, words, bytes, &key, &hash))
			continue;
		p->state[cell] = GAVE;
		take_out(p, &hash, words);
		r = each(context, &key, count < 0);
		if (++listed % CELLS_A_REPORT == 0 && p->left < cells)
			blm_phase_at((cells - p->left) * p->words * 8);
	}
	if (!p->left)
		blm_phase_at(cells * p->words * 8);
	return r == 0 && p->left ? -EXFULL : r;
}

int blm_iblt_differences(const struct blm_part *a, const struct blm_part *b,
			 const struct blm_hasher *by,
			 int (*each)(void *context, const struct blm_key *key, bool in_b),
			 void *context)
{
	struct peeling p = { .of = a, .by = by, .words = iblt_words(&a->shape) };
	int r = -ENOMEM;

	p.cells = calloc(a->shape.cells, 8 * p.words);
	p.waiting = calloc(a->shape.cells, sizeof(*p.waiting));
	p.state = calloc(a->shape.cells, sizeof(*p.state));
	if (p.cells && p.waiting && p.state) {
		subtract(&p, a, b);
		if (p.left)
			r = peel(&p, each, context);
		else
			r = 0;
	}
	free(p.cells);
	free(p.waiting);
	free(p.state);
	return r;
}
